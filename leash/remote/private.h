/*
 * Private to kennel-remote.
 *
 *	main.c			the command line, stdin and stdout, the loop
 *	session.c		what a message of the agent becomes
 *	exchange.c		one message and its answer: streams, redirects, repetitions
 *	answers.c		which requests the server has answered
 *	request_headers.c	the headers of a request
 *	tool_headers.c		arguments of a call that are headers, too
 *	oauth.c and others	access tokens (oauth.h)
 *	fetch.c			one file, for `kennel secret catalog fetch`
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
#include "leash/remote/oauth.h"
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
#define EXIT_DIFFERS     75 /* a new session is not like the first one */
#define EXIT_REFUSED     78

enum exchange_kind {
	EXCHANGE_FREE = 0,
	EXCHANGE_REQUEST, /* expects a response */
	EXCHANGE_NOTE,    /* a notification, or a response of the agent */
	EXCHANGE_STREAM,  /* the GET stream of a legacy session */
};

struct remote;

/* A request in the message of an exchange: one, or more of a batch. */
struct asked {
	struct slice id; /* as written, in the message */
	bool done;       /* answered or cancelled */
};

struct exchange {
	struct remote *remote;
	enum exchange_kind kind;
	struct http_call *call; /* NULL: it waits */
	struct buf body;        /* the message */
	struct message message; /* its parts, in body */
	struct asked *asked;    /* asked_n requests; of these, open are not done */
	size_t asked_n, open;
	struct response_head head;
	struct sse sse;
	struct buf json;
	char *url;            /* after a redirect; NULL: that of the command line */
	unsigned int session; /* in which it was sent (remote.session_n); 0: in none */
	bool internal;        /* its response is not for the agent */
	bool sent;            /* the server may have the message */
	bool answered;        /* nothing of it is open, or its stream is of no use */
	bool agreed;          /* `initialize`: the server began a session */
	bool resuming;        /* a GET that goes on with the stream of a request */
	bool again;           /* sent a second time, in a new session */
	bool needs_session;   /* waits for a new session */
	bool heard;           /* this connection had an event */
	uint64_t token;       /* serial of the access token that was sent; 0: none */
	uint64_t renewed;     /* of the one it was sent again with; 0: it was not */
	unsigned int hops, tries;
	uint64_t at_ns;     /* when it goes on; 0: not waiting for a time */
	uint64_t until_ns;  /* when it fails; 0: the agent's deadline ends it */
	const char *broken; /* why its bytes were refused; NULL */
};

struct remote {
	struct http *http;
	struct oauth *oauth; /* NULL: no `auth oauth2` */
	const char *url, *ca, *host;
	char own[OWN_MAX][2048]; /* headers of the command line, with the credential */
	size_t own_n;
	struct exchange *exchange;     /* EXCHANGES_MAX of them */
	struct exchange *barrier;      /* no message is read before it ends; or NULL */
	struct exchange *renewal;      /* begins a new session; or NULL */
	struct exchange *stream;       /* the GET stream, or NULL */
	char session[SESSION_MAX + 1]; /* "": none */
	unsigned int session_n;        /* of these sessions, in their order */
	char version[VERSION_CAP];     /* as `initialize` settled it; "": not yet */
	struct buf init, initialized;  /* both messages, for a new session */
	struct buf agreed;             /* version and capabilities of the first one */
	struct buf lists;              /* of tools that have headers (tool_headers.c) */
	bool modern;                   /* the last request was of 2026-07-28 */
	bool served;                   /* the server has answered a request */
	bool differs;                  /* a new session is not like the first one */
	bool ended;                    /* stdin */
	bool fetches;                  /* --fetch: one file, no MCP */
	int status;                    /* exit status; -1: go on */
};

/* ---- session.c ---- */

/* One line of stdin. */
void session_message(struct remote *, const char *, size_t);
/* The exchange of a request or note is over.  It is free when this returns. */
void session_done(struct remote *, struct exchange *);
/* The server has no such session: begins another, then sends x again. */
void session_renew(struct remote *, struct exchange *x);
/* The response to `initialize`. */
void session_answered(struct remote *, struct exchange *, const struct message *);
/* DELETE, as the last request. */
void session_close(struct remote *);

/* ---- exchange.c ---- */

struct exchange *exchange_new(struct remote *, enum exchange_kind);
void exchange_send(struct exchange *);
void exchange_free(struct exchange *);
/* Goes on with those whose time has come; returns the ms until the next, or -1. */
int exchanges_due(struct remote *);
/* Its requests get this error, and it ends. */
void exchange_fail(struct exchange *, const char *, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- answers.c ---- */

/* Finds the requests in the message of an exchange.  0 or -ENOMEM. */
int answers_begin(struct exchange *);
/* A message of the server's: to kennel, and the requests that it answers are done. */
void answers_message(struct exchange *, char *, size_t);
/* An error as the response to this request; to each that is open. */
void answers_error(struct remote *, struct slice id, const char *why);
void answers_fail(struct exchange *, const char *why);
/* The agent has cancelled this request.  True if nothing of the exchange is open. */
bool answers_cancel(struct exchange *, struct slice id);

/* ---- request_headers.c ---- */

struct header_list {
	const char *line[HEADERS_MAX + OWN_MAX + 1]; /* 1: the access token */
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

/* ---- fetch.c ---- */

/* --fetch: gets the file at the URL, and prints it after a line with the outcome. Returns
 * the exit status. */
int fetch(struct remote *);

/* ---- main.c ---- */

/* A message to kennel, without its line end. */
void remote_put(struct remote *, const char *, size_t);

#endif
