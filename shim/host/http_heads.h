/*
 * Connections to a page of loopback addresses, until the head of their request is here and
 * was checked: only then the HTTP library reads it, unchanged. The library ends a value at
 * a NUL and takes a lone CR or LF for the end of a line, so two readers of one head could
 * differ; here such a head is answered with 400.
 *
 * A connection has one request: its owner answers with "Connection: close", because the
 * head of a second request would not be checked.
 */
#ifndef KENNEL_SHIM_HOST_HTTP_HEADS_H
#define KENNEL_SHIM_HOST_HTTP_HEADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "shim/host/loopback.h"
#include "shim/host/loopback_peers.h"

#define HTTP_HEAD_MAX        (16u << 10) /* bytes of a head */
#define HTTP_CONNECTIONS_MAX 64
#define HTTP_LINGER_MS       2000         /* for the rest of a refused request */
#define HTTP_LINGER_MAX      (256u << 10) /* bytes of it */

enum http_head {
	HTTP_HEAD_PART, /* its end is not here yet */
	HTTP_HEAD_WHOLE, /* and it has no control byte but HTAB, and CR LF after each line */
	HTTP_HEAD_BAD,
};
enum http_head http_head_check(const uint8_t *, size_t);

struct http_connection {
	enum { HTTP_FREE, HTTP_ARRIVES, HTTP_REFUSED, HTTP_GIVEN, HTTP_STARTED } state;
	int fd; /* owned while HTTP_ARRIVES, HTTP_REFUSED */
	uint64_t end;
	size_t taken;        /* bytes that were discarded after the refusal */
	unsigned int *other; /* of loopback_peers */
	struct sockaddr_storage peer;
	socklen_t peer_len;
};

/* The library owns the socket from then on, also if it returns false. */
typedef bool http_head_fn(void *arg, int fd, const struct sockaddr *, socklen_t);

struct http_heads {
	int epoll; /* readable: http_heads_run has work */
	int listen[LOOPBACK_SOCKETS];
	unsigned int most, wait_s; /* connections; for a whole head */
	http_head_fn *fn;
	void *arg;
	struct loopback_peers peers;
	struct http_connection at[HTTP_CONNECTIONS_MAX];
	uint8_t head[HTTP_HEAD_MAX];
};

/* Takes connections of these listening sockets (-1: unset), which it owns from then on.
 * The caller has set most (of HTTP_CONNECTIONS_MAX), wait_s, fn, arg and opened peers. 0 or
 * -errno; after a failure the process ends. */
int http_heads_open(struct http_heads *, const int listen[LOOPBACK_SOCKETS]);
/* Takes what arrived, and gives connections to fn: how many. ret_ms is lowered to when there
 * is more to do. */
size_t http_heads_run(struct http_heads *, uint64_t *ret_ms);
/* The library reports a connection that fn gave it: its start, and its end. */
struct http_connection *http_heads_started(struct http_heads *, int fd);
void http_heads_ended(struct http_connection *); /* or NULL */

#endif
