#include "shim/host/http_heads.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "shim/base/array.h"
#include "shim/base/fd.h"
#include "shim/base/loop.h"

enum http_head
http_head_check(const uint8_t *head, size_t len)
{
	size_t line = 0; /* bytes of it so far */

	for (size_t i = 0; i < len; i++) {
		uint8_t c = head[i];

		if (c != '\r') {
			if ((c < ' ' && c != '\t') || c == 0x7f)
				return HTTP_HEAD_BAD;
			line++;
			continue;
		}
		if (i + 1 == len)
			return i == 0 ? HTTP_HEAD_BAD : HTTP_HEAD_PART;
		if (head[++i] != '\n' || i == 1)
			return HTTP_HEAD_BAD; /* also an empty line before the request's */
		if (line == 0)
			return HTTP_HEAD_WHOLE;
		line = 0;
	}
	return HTTP_HEAD_PART;
}

static int
watch(struct http_heads *h, int fd, size_t number)
{
	struct epoll_event e = {
	    .events = EPOLLIN | EPOLLRDHUP | EPOLLET, .data.u64 = number};

	return epoll_ctl(h->epoll, EPOLL_CTL_ADD, fd, &e) < 0 ? -errno : 0;
}

int
http_heads_open(struct http_heads *h, const int listen[LOOPBACK_SOCKETS])
{
	int r = 0;

	/* early: epoll_create1 */
	h->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (h->epoll < 0)
		return -errno;
	for (size_t i = 0; r == 0 && i < LOOPBACK_SOCKETS; i++) {
		h->listen[i] = listen[i];
		if (listen[i] >= 0)
			r = watch(h, listen[i], HTTP_CONNECTIONS_MAX);
	}
	return r;
}

void
http_heads_ended(struct http_connection *c)
{
	if (c == NULL)
		return;
	loopback_peers_ended(c->other);
	*c = (struct http_connection){.fd = -1};
}

/* A socket that is closed with bytes in it resets the connection, which loses a reply. */
static void
drop(struct http_heads *h, struct http_connection *c)
{
	(void)recv(c->fd, h->head, sizeof(h->head), MSG_DONTWAIT);
	fd_close(&c->fd);
	http_heads_ended(c);
}

/* What still arrives after a refusal is read and discarded, for a bounded time and number of
 * bytes: a close while bytes arrive resets the connection, and its peer can lose the reply
 * before it has read it. */
static void
discard(struct http_heads *h, struct http_connection *c)
{
	ssize_t n;

	while ((n = recv(c->fd, h->head, sizeof(h->head), MSG_DONTWAIT)) > 0) {
		c->taken += (size_t)n;
		if (c->taken > HTTP_LINGER_MAX)
			break;
	}
	if (n >= 0 || (errno != EAGAIN && errno != EINTR))
		drop(h, c);
}

/* The end of this side ends the text. */
static void
refuse(struct http_heads *h, struct http_connection *c)
{
	static const char reply[] =
	    "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\n"
	    "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
	    "Connection: close\r\n\r\n"
	    "the head of the request is too large, or has a control byte\n";

	(void)send(c->fd, reply, sizeof(reply) - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
	/* a peer that does not take the reply goes without one; syscalls: shutdown */
	if (shutdown(c->fd, SHUT_WR) < 0) {
		drop(h, c);
		return;
	}
	c->state = HTTP_REFUSED;
	c->end = loop_now() + HTTP_LINGER_MS * LOOP_MS;
	discard(h, c);
}

/* Looks at the head, and leaves it in the socket; ended: no more of it will come. Was the
 * connection given? */
static bool
look(struct http_heads *h, struct http_connection *c, bool ended)
{
	ssize_t n = recv(c->fd, h->head, sizeof(h->head), MSG_PEEK | MSG_DONTWAIT);
	enum http_head head;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n <= 0) {
		drop(h, c);
		return false;
	}
	/* each time from its beginning: a few bytes, or a peer that spends its own time */
	head = http_head_check(h->head, (size_t)n);
	if (head == HTTP_HEAD_BAD ||
	    (head == HTTP_HEAD_PART && (size_t)n == sizeof(h->head))) {
		refuse(h, c);
		return false;
	}
	if (head == HTTP_HEAD_PART) {
		if (ended)
			drop(h, c);
		return false;
	}
	c->state = HTTP_GIVEN;
	(void)epoll_ctl(h->epoll, EPOLL_CTL_DEL, c->fd, NULL); /* it is there */
	if (h->fn(h->arg, c->fd, (struct sockaddr *)&c->peer, c->peer_len))
		return true;
	http_heads_ended(c);
	return false;
}

/* Free for one more connection; NULL: there are as many as may be. */
static struct http_connection *
find_free(struct http_heads *h)
{
	for (size_t i = 0; i < h->most; i++)
		if (h->at[i].state == HTTP_FREE)
			return &h->at[i];
	return NULL;
}

static void
take(struct http_heads *h, int listener)
{
	struct http_connection *c, taken;

	while (listener >= 0 && (c = find_free(h)) != NULL) {
		taken = (struct http_connection){
		    .state = HTTP_ARRIVES, .peer_len = sizeof(taken.peer)};
		taken.fd = accept4(listener, (struct sockaddr *)&taken.peer,
		    &taken.peer_len, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (taken.fd < 0 && (errno == EINTR || errno == ECONNABORTED))
			continue;
		if (taken.fd < 0)
			return;
		if (!loopback_peers_take(&h->peers, (struct sockaddr *)&taken.peer) ||
		    watch(h, taken.fd, (size_t)(c - h->at)) < 0) {
			fd_close(&taken.fd);
			continue;
		}
		taken.other = loopback_peers_began(&h->peers);
		taken.end = loop_now() + h->wait_s * NS_PER_S;
		*c = taken;
	}
}

static bool
is_ours(const struct http_connection *c)
{
	return c->state == HTTP_ARRIVES || c->state == HTTP_REFUSED;
}

/* Closes connections whose head, or whose rest after a refusal, did not arrive in time. */
static void
expire(struct http_heads *h)
{
	uint64_t now = loop_now();

	for (size_t i = 0; i < h->most; i++)
		if (is_ours(&h->at[i]) && h->at[i].end <= now)
			drop(h, &h->at[i]);
}

static void
lower_to_next_end(const struct http_heads *h, uint64_t *ret_ms)
{
	uint64_t now = loop_now(), left;

	for (size_t i = 0; i < h->most; i++) {
		if (!is_ours(&h->at[i]))
			continue;
		left = h->at[i].end > now ? (h->at[i].end - now) / LOOP_MS + 1 : 0;
		*ret_ms = left < *ret_ms ? left : *ret_ms;
	}
}

size_t
http_heads_run(struct http_heads *h, uint64_t *ret_ms)
{
	struct epoll_event got[HTTP_CONNECTIONS_MAX + LOOPBACK_SOCKETS];
	size_t given_n = 0;
	int n;

	/* syscalls: epoll_wait epoll_ctl accept4 recvfrom sendto shutdown close */
	for (size_t i = 0; i < h->most; i++) /* given, but the library did not start it */
		if (h->at[i].state == HTTP_GIVEN)
			http_heads_ended(&h->at[i]);
	n = epoll_wait(h->epoll, got, (int)ARRAY_LEN(got), 0);
	for (int i = 0; i < n; i++) {
		size_t number = (size_t)got[i].data.u64;

		if (number < h->most && h->at[number].state == HTTP_REFUSED)
			discard(h, &h->at[number]);
		else if (number < h->most && h->at[number].state == HTTP_ARRIVES)
			given_n += look(h, &h->at[number],
			    (got[i].events & (EPOLLRDHUP | EPOLLHUP)) != 0);
	}
	explicit_bzero(h->head, sizeof(h->head)); /* it has the key of a page */
	expire(h);
	/* Last: what ended makes room for those that wait, and they raise no event again. */
	for (size_t i = 0; i < LOOPBACK_SOCKETS; i++)
		take(h, h->listen[i]);
	lower_to_next_end(h, ret_ms);
	return given_n;
}

struct http_connection *
http_heads_started(struct http_heads *h, int fd)
{
	for (size_t i = 0; i < h->most; i++)
		if (h->at[i].state == HTTP_GIVEN && h->at[i].fd == fd) {
			h->at[i].state = HTTP_STARTED;
			return &h->at[i];
		}
	return NULL;
}
