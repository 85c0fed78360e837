/*
 * The resolver of a cell: granted names have an A record and an empty response for
 * every other type; no other name exists.  It forwards nothing: lookups leave the
 * cell only as records.
 *
 * Process: kennel-egress.
 */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "leash/egress/private.h"
#include "shim/base/fd.h"

#define QUERIES_A_TURN 64
#define RESOLVE_MS     5000

static bool
ends_with(const struct dns_query *q, const char *end)
{
	size_t n = strlen(end);

	return q->name_len >= n && memcmp(q->name + q->name_len - n, end, n) == 0;
}

/* Clients look up the names of addresses they have seen; this needs no record. */
static bool
is_reverse(const struct dns_query *q)
{
	return ends_with(q, ".in-addr.arpa") || ends_with(q, ".ip6.arpa");
}

static void
tell(struct relay *r, const struct dns_query *q, const struct name_found *f)
{
	struct egress_report e = {.row = f->row, .why = f->why};

	if (q->name_len == 0 || is_reverse(q))
		return;
	memcpy(e.name, q->name, q->name_len + 1);
	tell_refused(r, &e);
}

static size_t
answer(struct relay *r, const uint8_t *query, size_t len, uint8_t out[DNS_ANSWER_MAX])
{
	enum dns_rcode rcode = DNS_NOERROR;
	const uint8_t *addr = NULL;
	struct name_found f = {
	    .number = -1, .why = EGRESS_NO_GRANT, .row = EGRESS_NO_ROW};
	struct dns_query q;

	if (dns_query_read(query, len, &q) < 0)
		return 0;
	rcode = q.rcode;
	if (rcode == DNS_NOERROR) {
		if (q.is_host)
			name_resolve(r, q.name, q.name_len, &f);
		if (f.why == EGRESS_FULL)
			rcode = DNS_SERVFAIL;
		else if (f.why != EGRESS_OK)
			rcode = DNS_NXDOMAIN;
		else if (q.type == DNS_A && q.class == 1)
			addr = f.addr + 12;
		if (f.why != EGRESS_OK)
			tell(r, &q, &f);
	}
	return dns_answer_write(&q, query, rcode, addr, out);
}

/* ---- datagrams ------------------------------------------------------------------ */

/* Replies from the queried address: a client with a connected socket accepts no other. */
static void
reply(int fd, struct msghdr *m, const uint8_t *out, size_t len)
{
	struct iovec iov = {(void *)(uintptr_t)out, len};
	struct cmsghdr *c = CMSG_FIRSTHDR(m);

	m->msg_iov = &iov;
	m->msg_flags = 0;
	if (c != NULL && c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO) {
		struct in_pktinfo info;

		memcpy(&info, CMSG_DATA(c), sizeof(info));
		info.ipi_ifindex = 0;
		info.ipi_spec_dst = info.ipi_addr;
		memcpy(CMSG_DATA(c), &info, sizeof(info));
	} else if (c != NULL && c->cmsg_level == IPPROTO_IPV6 &&
		   c->cmsg_type == IPV6_PKTINFO) {
		struct in6_pktinfo info;

		memcpy(&info, CMSG_DATA(c), sizeof(info));
		info.ipi6_ifindex = 0;
		memcpy(CMSG_DATA(c), &info, sizeof(info));
	} else
		goto out;
	/* syscalls: sendmsg */
	(void)sendmsg(fd, m, MSG_DONTWAIT | MSG_NOSIGNAL); /* lost: the client retries */
out:
	m->msg_iov = NULL;
}

void
resolver_datagram(struct relay *r, int fd)
{
	uint8_t query[DNS_MESSAGE_MAX], out[DNS_ANSWER_MAX];
	char control[CMSG_SPACE(sizeof(struct in6_pktinfo))] __attribute__((aligned(8)));
	struct sockaddr_in6 from;
	ssize_t n;
	size_t len;

	for (int i = 0; i < QUERIES_A_TURN; i++) {
		struct iovec iov = {query, sizeof(query)};
		struct msghdr m = {.msg_name = &from,
		    .msg_namelen = sizeof(from),
		    .msg_iov = &iov,
		    .msg_iovlen = 1,
		    .msg_control = control,
		    .msg_controllen = sizeof(control)};

		/* syscalls: recvmsg */
		n = recvmsg(fd, &m, MSG_DONTWAIT);
		if (n < 0)
			return;
		len =
		    (m.msg_flags & MSG_TRUNC) != 0 ? 0 : answer(r, query, (size_t)n, out);
		if (len > 0)
			reply(fd, &m, out, len);
	}
}

/* ---- connections ------------------------------------------------------------------ */

static void
resolve_end(struct resolve *q)
{
	fd_close(&q->fd);
	q->until_ns = 0;
}

void
resolver_accept(struct relay *r, int fd)
{
	struct resolve *q = r->resolve;
	int sock;

	sock = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (sock < 0)
		return;
	while (q < r->resolve + RESOLVES_MAX && q->until_ns != 0)
		q++;
	if (q == r->resolve + RESOLVES_MAX) {
		(void)close(sock); /* the client retries */
		return;
	}
	q->fd = sock;
	q->len = 0;
	q->until_ns = loop_now() + RESOLVE_MS * LOOP_MS;
	if (relay_watch(r, sock, EPOLLIN | EPOLLRDHUP, WATCH_RESOLVE,
		(size_t)(q - r->resolve)) < 0)
		resolve_end(q);
}

/* Answers all complete queries received.  False: the connection ends. */
static bool
answer_all(struct relay *r, struct resolve *q)
{
	uint8_t out[2 + DNS_ANSWER_MAX];
	size_t want, len;

	while (q->len >= 2) {
		want = (size_t)q->data[0] << 8 | q->data[1];
		if (want > DNS_TCP_MAX)
			return false;
		if (q->len < 2 + want)
			return true;
		len = answer(r, q->data + 2, want, out + 2);
		out[0] = (uint8_t)(len >> 8);
		out[1] = (uint8_t)len;
		/* drop a client that does not read its responses */
		if (len == 0 || send(q->fd, out, 2 + len, MSG_DONTWAIT | MSG_NOSIGNAL) !=
				    (ssize_t)(2 + len))
			return false;
		memmove(q->data, q->data + 2 + want, q->len - 2 - want);
		q->len -= 2 + want;
		q->until_ns = loop_now() + RESOLVE_MS * LOOP_MS;
	}
	return true;
}

void
resolver_event(struct relay *r, size_t index)
{
	struct resolve *q = &r->resolve[index];
	ssize_t n;

	if (q->until_ns == 0)
		return;
	n = recv(q->fd, q->data + q->len, sizeof(q->data) - q->len, MSG_DONTWAIT);
	if (n < 0 && errno == EAGAIN)
		return;
	if (n > 0)
		q->len += (size_t)n;
	if (n <= 0 || !answer_all(r, q))
		resolve_end(q);
}

void
resolver_timers(struct relay *r, uint64_t now)
{
	for (size_t i = 0; i < RESOLVES_MAX; i++)
		if (r->resolve[i].until_ns != 0 && now >= r->resolve[i].until_ns)
			resolve_end(&r->resolve[i]);
}
