/*
 * The listeners of a cell: which of them a connection arrived at, and how many are
 * accepted per second.  The others wait in the listen queues.
 *
 * Process: kennel-egress.
 */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "leash/egress/private.h"

#define EVENTS_AT_A_TIME 64

static void
accepting(struct relay *r, bool yes)
{
	struct epoll_event e = {
	    .events = yes ? EPOLLIN : 0, .data.u64 = (uint64_t)WATCH_LISTENERS << 32};

	if (r->accepting == yes)
		return;
	r->accepting = yes;
	/* syscalls: epoll_ctl */
	if (epoll_ctl(r->epoll, EPOLL_CTL_MOD, r->listeners, &e) < 0)
		relay_end("unable to pause the listeners");
}

/* Tokens return with time, and connections with the end of others. */
void
listen_pace(struct relay *r, uint64_t now)
{
	uint64_t more = (now - r->tokens_ns) / (1000 * LOOP_MS / ACCEPT_A_S);

	if (more > 0) {
		r->tokens = r->tokens + more > ACCEPT_BURST
				? ACCEPT_BURST
				: (uint32_t)(r->tokens + more);
		r->tokens_ns += more * (1000 * LOOP_MS / ACCEPT_A_S);
		if (r->tokens == ACCEPT_BURST)
			r->tokens_ns = now;
	}
	if (r->serving)
		accepting(r, r->tokens > 0 && r->conn_n < r->conn_max);
}

static int
local_address(int fd, uint8_t ret[ADDRESS_LEN], uint16_t *ret_port)
{
	struct sockaddr_in6 six = {0};
	struct sockaddr_in four;
	socklen_t len = sizeof(six);

	/* syscalls: getsockname */
	if (getsockname(fd, (struct sockaddr *)&six, &len) < 0)
		return -errno;
	if (six.sin6_family == AF_INET) {
		memcpy(&four, &six, sizeof(four));
		address_of_v4((const uint8_t *)&four.sin_addr, ret);
	} else
		memcpy(ret, &six.sin6_addr, ADDRESS_LEN);
	*ret_port = ntohs(six.sin6_port); /* at the same offset in both */
	return 0;
}

static void
take(struct relay *r, int listener)
{
	uint8_t addr[ADDRESS_LEN];
	uint16_t port = 0;
	int fd;

	while (r->tokens > 0 && r->conn_n < r->conn_max) {
		/* syscalls: accept4 */
		fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0)
			return; /* none; or one that ended before it was accepted */
		r->tokens--;
		if (local_address(fd, addr, &port) < 0)
			(void)close(fd); /* it has ended already */
		else
			conn_begin(r, fd, addr, port);
	}
}

void
listen_ready(struct relay *r)
{
	struct epoll_event e[EVENTS_AT_A_TIME];
	int n;

	/* syscalls: epoll_wait epoll_pwait */
	n = epoll_wait(r->listeners, e, EVENTS_AT_A_TIME, 0);
	for (int i = 0; i < n; i++)
		take(r, e[i].data.fd);
}

int
listen_start(struct relay *r)
{
	struct epoll_event e = {.events = EPOLLIN};

	r->tokens = ACCEPT_BURST;
	r->tokens_ns = loop_now();
	for (size_t i = 0; i < r->plan.listener_n; i++) {
		e.data.fd = r->socket[i];
		/* empty: the kernel could not make it (no IPv6) */
		if (r->socket[i] >= 0 &&
		    epoll_ctl(r->listeners, EPOLL_CTL_ADD, r->socket[i], &e) < 0)
			return -errno;
	}
	return 0;
}
