/*
 * HTTP on the loopback sockets: a request with the fields that the console judges, and the
 * reply to it. The only user of libmicrohttpd is http.c.
 */
#ifndef KENNEL_SUPERVISOR_CONSOLE_HTTP_H
#define KENNEL_SUPERVISOR_CONSOLE_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/base/buf.h"
#include "shim/base/loop.h"
#include "shim/host/loopback.h"

/* Statuses (RFC 9110, section 15). */
enum {
	HTTP_OK = 200,
	HTTP_BAD = 400,
	HTTP_LOGIN = 401,
	HTTP_FORBIDDEN = 403,
	HTTP_NOT_FOUND = 404,
	HTTP_CONFLICT = 409,
	HTTP_INTERNAL = 500,
	HTTP_FAILED = 502, /* a command of kennel */
	HTTP_UNAVAILABLE = 503,
};

#define HTTP_BODY_MAX    8192 /* of a request */
#define HTTP_REPLY_MAX   (8u << 20)
#define HTTP_SOCKETS_MAX LOOPBACK_SOCKETS
#define HTTP_STREAMS_MAX 16
#define HTTP_EVENTS_MAX  1024 /* bytes of a stream that its reader has not taken */

struct http_wait; /* a request whose reply comes later */

/* A header that is missing is NULL; one that comes twice is not given, and sets
 * repeated. */
struct http_request {
	const char *method, *path;
	const char *host, *origin, *fetch_site, *type;
	const char *cookie;   /* the value of the console's cookie */
	const char *page_key; /* X-Kennel-Key */
	bool background;      /* X-Kennel-Background: the page asks, not a person */
	bool repeated;
	bool malformed;      /* a header, or two of them about the length of the body */
	bool too_large;      /* the body, which is not kept then */
	const uint8_t *body; /* never NULL */
	size_t body_len;
	struct http_wait *wait; /* for a reply that is later */
};

/* Whose stream it is: known to http_alive_fn. */
struct http_owner {
	const void *who;
	uint64_t mark;
};

struct http_reply {
	bool later; /* http_reply_of fills it, and http_reply_done sends it */
	/* The body begins a stream of events, which ends when its owner has ended: 503 if
	 * there are HTTP_STREAMS_MAX. */
	bool stream;
	struct http_owner owner;
	unsigned int status;
	const char *type; /* of the content */
	const void *page; /* static bytes; NULL: body */
	size_t page_len;
	struct buf body;
	char cookie[128]; /* Set-Cookie; "": none */
};

/* Fills the reply, which is 500 without content before. */
typedef void http_fn(void *arg, const struct http_request *, struct http_reply *ret);

struct http_order {
	struct loop *loop;
	const char *cookie; /* its name; borrowed */
	uint16_t port;
	http_fn *fn;
	void *arg;
};

/* The reply of a request that waits. It is filled and sent once. */
struct http_reply *http_reply_of(struct http_wait *);
void http_reply_done(struct http_wait *);

struct http;
/* Serves these listening sockets (-1: unset), which it owns from then on. 0 or -errno. */
int http_open(
    const struct http_order *, const int fd[HTTP_SOCKETS_MAX], struct http **ret);

/* Adds an event to every stream. A reader that does not take them misses some. */
void http_event(struct http *, const char *text);
typedef bool http_alive_fn(const struct http_owner *);
/* Ends the streams of owners that have ended; returns how many there were. */
size_t http_streams(struct http *, http_alive_fn *);

#endif
