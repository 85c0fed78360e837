/*
 * HTTP requests to one origin, through libcurl.  http.c is the only file that includes
 * its header.
 */
#ifndef KENNEL_LEASH_REMOTE_HTTP_H
#define KENNEL_LEASH_REMOTE_HTTP_H

#include <stdbool.h>
#include <stddef.h>

#define HTTP_WHY_MAX 256

struct http;
struct http_call;

/* How a request failed without an answer. */
enum http_failure {
	HTTP_UNREACHABLE, /* no connection, or it broke */
	HTTP_TIMEOUT,
	HTTP_TLS, /* the host answered, but not with TLS that is trusted */
};

/* What the caller hears of a request.  A result other than 0 aborts it. */
struct http_events {
	int (*head)(void *arg, const char *line, size_t len);
	int (*body)(void *arg, const char *bytes, size_t len);
	/* Once, at the end, and not after http_stop.  why: NULL, or what failed. */
	void (*done)(void *arg, const char *why);
	/* NULL, or called when the body of a POST leaves: the server may have it now. */
	void (*sent)(void *arg);
	/* NULL, or called before done, if why is not NULL. */
	void (*failed)(void *arg, enum http_failure);
};

struct http_request {
	const char *method;        /* POST, GET or DELETE */
	const char *url;           /* of the origin of http_new */
	const char *const *header; /* header_n lines, without CR LF; copied */
	size_t header_n;
	const void *body; /* of POST; must stay until the end */
	size_t body_len;
	long timeout_ms; /* of the whole; 0: none */
};

/* ca: a file of certificates; NULL for http://.  Strings stay the caller's. */
int http_new(const char *url, const char *ca, struct http **ret);
void http_free(struct http *);

/*
 * Begins a request, whose body is sent at most once, also if its connection breaks: no
 * request is repeated.  0 or -ENOMEM.
 */
int http_start(struct http *, const struct http_request *, const struct http_events *,
    void *arg, struct http_call **ret);
/* Ends the request without an event.  Not from inside of head and body. */
void http_stop(struct http *, struct http_call *);

/*
 * Goes on with all requests, and reports events.  Waits for at most wait_ms, or until
 * fd can be read (-1: none).  Returns whether it can.
 */
bool http_wait(struct http *, int fd, int wait_ms);

/*
 * Where a redirect leads, if that is the origin of http_new: 0 with the URL in out.
 * -EXDEV: another one.  -EINVAL: invalid, or longer than out_cap.
 */
int http_redirect(
    struct http *, const char *from, const char *location, char *out, size_t out_cap);

#endif
