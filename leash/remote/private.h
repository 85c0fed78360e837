/*
 * Private to kennel-remote.
 *
 *	main.c			the command line, stdin and stdout, the loop
 *	session.c		what a message of the agent becomes
 *	exchange.c		one message and its answer: streams, redirects, repetitions
 *	request_headers.c	the headers of a request
 *	tool_headers.c		arguments of a call that are headers, too
 *	http.c			libcurl
 *	response_head.c sse.c message.c		what the server sent
 */
#ifndef KENNEL_LEASH_REMOTE_PRIVATE_H
#define KENNEL_LEASH_REMOTE_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "leash/remote/http.h"
#include "leash/remote/message.h"
#include "leash/remote/response_head.h"
#include "leash/remote/sse.h"
#include "shim/base/buf.h"

/* The largest `limit output` and `limit input` of a policy, and room for a line end. */
#define MESSAGE_MAX   ((16u << 20) + 4096)
#define HEADERS_MAX   72 /* of a request */
#define OWN_MAX       64 /* of the command line */
#define EXCHANGES_MAX 320
#define REQUESTS_MAX  256 /* of these; kennel has no more under way per server */
#define VERSION_CAP   33
#define URL_CAP       4097
#define WHY_CAP       512

#define EXIT_UNREACHABLE 69
#define EXIT_REFUSED     78

enum exchange_kind {
	EXCHANGE_FREE = 0,
	EXCHANGE_REQUEST, /* expects a response */
	EXCHANGE_NOTE,    /* a notification, or a response of the agent */
	EXCHANGE_STREAM,  /* the GET stream of a legacy session */
};

struct remote;

struct exchange {
	struct remote *remote;
	enum exchange_kind kind;
	struct http_call *call; /* NULL: it waits */
	struct buf body;        /* the message */
	struct message message; /* its parts, in body */
	struct response_head head;
	struct sse sse;
	struct buf json;
	char *url;          /* after a redirect; NULL: that of the command line */
	bool internal;      /* its response is not for the agent */
	bool answered;      /* the response has come */
	bool resuming;      /* a GET that goes on with the stream of a request */
	bool again;         /* sent a second time, in a new session */
	bool needs_session; /* waits for a new session */
	bool heard;         /* this connection had an event */
	unsigned int hops, tries;
	uint64_t at_ns;     /* when it goes on; 0: not waiting for a time */
	const char *broken; /* why its bytes were refused; NULL */
};

struct remote {
	struct http *http;
	const char *url, *ca, *host;
	char own[OWN_MAX][2048]; /* headers of the command line, with the credential */
	size_t own_n;
	struct exchange *exchange;     /* EXCHANGES_MAX of them */
	struct exchange *barrier;      /* no message is read before it ends; or NULL */
	struct exchange *stream;       /* the GET stream, or NULL */
	char session[SESSION_MAX + 1]; /* "": none */
	char version[VERSION_CAP];     /* as `initialize` settled it; "": not yet */
	struct buf init, initialized;  /* both messages, for a new session */
	struct buf lists;              /* of tools that have headers (tool_headers.c) */
	bool modern;                   /* the last request was of 2026-07-28 */
	bool served;                   /* the server has answered a request */
	bool ended;                    /* stdin */
	int status;                    /* exit status; -1: go on */
};

/* ---- session.c ---- */

/* One line of stdin. */
void session_message(struct remote *, const char *, size_t);
/* The exchange of a request or note is over.  It is free when this returns. */
void session_done(struct remote *, struct exchange *);
/* The server has no such session: begins another, then sends x again. */
void session_renew(struct remote *, struct exchange *x);
/* DELETE, as the last request. */
void session_close(struct remote *);

/* ---- exchange.c ---- */

struct exchange *exchange_new(struct remote *, enum exchange_kind);
void exchange_send(struct exchange *);
void exchange_free(struct exchange *);
/* Goes on with those whose time has come; returns the ms until the next, or -1. */
int exchanges_due(struct remote *);
/* Its request gets this error, and it ends. */
void exchange_fail(struct exchange *, const char *, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- request_headers.c ---- */

struct header_list {
	const char *line[HEADERS_MAX + OWN_MAX];
	size_t n;
	struct buf text; /* of the lines made here */
};

/* 0, -EMSGSIZE or -ENOMEM; free text if it is 0. */
int request_headers(const struct exchange *, struct header_list *ret);

/* ---- tool_headers.c ---- */

/* Keeps a list of tools that came as the response to this request. */
void tool_headers_keep(
    struct remote *, const struct message *request, const char *, size_t);
/* Calls fn with the header and the value (JSON) of each marked argument of a call. */
typedef void tool_header_fn(void *arg, const char *name, struct slice value);
void tool_headers(const struct exchange *, tool_header_fn *, void *arg);

/* ---- main.c ---- */

/* A message to kennel, without its line end. */
void remote_put(struct remote *, const char *, size_t);

#endif
