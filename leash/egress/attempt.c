/*
 * From the addresses of a name to one connection.  The addresses are checked and
 * tried in turn (RFC 8305: 250 ms apart, alternating between families); the relay
 * gets the first that connects.
 *
 * Process: kennel-dial.  Trusts the sealed policy's row, but no address of a
 * resolver.  Must never dial an address other than the one that it checked.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "leash/egress/dialer.h"
#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "shim/base/loop.h"

#define CONNECT_NS   (20000 * LOOP_MS)
#define NEXT_NS      (250 * LOOP_MS)
#define SEND_WAIT_MS 5000
#define KEEP_IDLE_S  60

/* ---- replies ------------------------------------------------------------------- */

static void
job_end(struct job *j, struct dial_answer *a, int fd)
{
	struct pollfd room = {dialer.relay, POLLOUT, 0};
	uint8_t memory[DIAL_PACKET_MAX];
	struct wire_out out;
	int e;

	wire_out_init(&out, memory, sizeof(memory));
	a->id = j->id;
	(void)dial_answer_write(a, &out); /* large enough */
	e = wire_send(dialer.relay, &out, &fd, fd >= 0);
	if (e == -EAGAIN && poll(&room, 1, SEND_WAIT_MS) > 0)
		e = wire_send(dialer.relay, &out, &fd, fd >= 0);
	if (e < 0)
		_exit(LOG_EXIT_FAILED); /* the relay is gone */
	for (size_t i = 0; i < ANSWERS_MAX; i++)
		fd_close(&j->fd[i]);
	j->state = JOB_FREE;
	dialer.job_n--;
}

void
job_fail(struct job *j, enum dial_why why, const uint8_t *addr)
{
	struct dial_answer a = {
	    .type = DIAL_FAILED, .why = why, .has_addr = addr != NULL};

	if (addr != NULL)
		memcpy(a.addr, addr, ADDRESS_LEN);
	job_end(j, &a, -1);
}

/* ---- connecting ------------------------------------------------------------------------ */

static enum dial_why
why_of(int error)
{
	switch (error) {
	case ECONNREFUSED:
		return DIAL_REFUSED;
	case ETIMEDOUT:
		return DIAL_TIMEOUT;
	case EMFILE:
	case ENFILE:
	case ENOBUFS:
	case ENOMEM:
	case EADDRNOTAVAIL: /* no port is free */
		return DIAL_LIMIT;
	default:
		return DIAL_UNREACHABLE;
	}
}

/* Detects a connection whose peer has vanished. */
static void
keep_alive(int fd)
{
	int one = 1, idle = KEEP_IDLE_S;

	/* without it: detected when the connection is used */
	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
}

/* 0: in progress; else -errno. */
static int
dial(struct job *j, size_t i)
{
	const uint8_t *addr = j->addr[i];
	bool v4 = address_is_v4(addr);
	struct sockaddr_in6 six = {
	    .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)j->port)};
	struct sockaddr_in four = {
	    .sin_family = AF_INET, .sin_port = htons((uint16_t)j->port)};
	int fd;

	memcpy(&six.sin6_addr, addr, ADDRESS_LEN);
	memcpy(&four.sin_addr, addr + 12, 4);
	fd = socket(
	    v4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	keep_alive(fd);
	j->fd[i] = fd;
	if (dialer_watch(fd, EPOLLOUT, WATCH_TRY,
		(size_t)(j - dialer.job) * ANSWERS_MAX + i) < 0 ||
	    (connect(fd, v4 ? (struct sockaddr *)&four : (struct sockaddr *)&six,
		 v4 ? sizeof(four) : sizeof(six)) < 0 &&
		errno != EINPROGRESS)) {
		int e = -errno;

		fd_close(&j->fd[i]);
		return e;
	}
	return 0;
}

static bool
trying(const struct job *j)
{
	for (size_t i = 0; i < j->tried; i++)
		if (j->fd[i] >= 0)
			return true;
	return false;
}

/* Tries the next address; without one, and with none in progress, the attempt has
 * failed. */
void
job_next(struct job *j, uint64_t now)
{
	int e;

	while (j->tried < j->addr_n) {
		size_t i = j->tried++;

		e = dial(j, i);
		if (e == 0) {
			j->next_ns = now + NEXT_NS;
			return;
		}
		j->why = why_of(-e);
		memcpy(j->last, j->addr[i], ADDRESS_LEN);
	}
	j->next_ns = UINT64_MAX;
	if (!trying(j))
		job_fail(j, j->why, j->last);
}

void
job_tried(size_t index, uint64_t now)
{
	struct job *j = &dialer.job[index / ANSWERS_MAX];
	size_t i = index % ANSWERS_MAX;
	struct dial_answer a = {.type = DIAL_OPENED, .has_addr = true};
	struct sockaddr_in6 peer;
	int error = 0, fd = j->fd[i];
	socklen_t len = sizeof(error);

	if (j->state != JOB_CONNECT || fd < 0)
		return;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
		error = errno;
	len = sizeof(peer);
	if (error == 0 && getpeername(fd, (struct sockaddr *)&peer, &len) < 0)
		return; /* an event of an earlier attempt in this slot */
	if (error != 0) {
		j->why = why_of(error);
		memcpy(j->last, j->addr[i], ADDRESS_LEN);
		fd_close(&j->fd[i]);
		job_next(j, now);
		return;
	}
	memcpy(a.addr, j->addr[i], ADDRESS_LEN);
	(void)epoll_ctl(
	    dialer.epoll, EPOLL_CTL_DEL, fd, NULL); /* it belongs to the relay now */
	j->fd[i] = -1;
	job_end(j, &a, fd);
	fd_close(&fd);
}

/* ---- checks -------------------------------------------------------------------- */

static enum dial_why
why_refused(const uint8_t addr[ADDRESS_LEN], const struct address_host *h)
{
	static const enum dial_why why[] = {
	    [ADDRESS_PUBLIC] = DIAL_PUBLIC,
	    [ADDRESS_LOOPBACK] = DIAL_LOOPBACK,
	    [ADDRESS_PRIVATE] = DIAL_PRIVATE,
	    [ADDRESS_METADATA] = DIAL_METADATA,
	    [ADDRESS_SPECIAL] = DIAL_SPECIAL,
	};
	enum address_class class = address_class_of(addr);

	if (class == ADDRESS_LOOPBACK || class == ADDRESS_METADATA)
		return why[class];
	if (h->own)
		return DIAL_OWN;
	return class == ADDRESS_PUBLIC && h->on_link ? DIAL_NEAR : why[class];
}

static void
take(struct job *j, const struct lookup_result *result, bool v4, uint64_t now)
{
	const struct sealed_net *n = &dialer.policy.net[j->row];
	struct address_scope scope = {n->scope, n->scope_addr, n->scope_prefix};
	struct address_host h;

	for (uint32_t i = 0; i < result->n; i++) {
		const uint8_t *addr = result->addr[i];

		if (address_is_v4(addr) != v4)
			continue;
		host_facts(addr, now, &h);
		if (address_refused(addr, &scope, &h) == NULL) {
			memcpy(j->addr[j->addr_n++], addr, ADDRESS_LEN);
			continue;
		}
		if (j->why == 0 || j->why == DIAL_UNREACHABLE) {
			j->why = why_refused(addr, &h);
			memcpy(j->last, addr, ADDRESS_LEN);
		}
	}
}

/* Alternates between the families: a family that does not work costs 250 ms. */
static void
interleave(struct job *j, size_t six)
{
	uint8_t all[ANSWERS_MAX][ADDRESS_LEN];
	size_t four = six, end = six, n = 0, i = 0;

	memcpy(all, j->addr, sizeof(all));
	while (n < j->addr_n) {
		if (i < end)
			memcpy(j->addr[n++], all[i++], ADDRESS_LEN);
		if (four < j->addr_n)
			memcpy(j->addr[n++], all[four++], ADDRESS_LEN);
	}
}

void
job_resolved(struct job *j, const struct lookup_result *result, uint64_t now)
{
	size_t six;

	if (result->why != 0) {
		job_fail(j, (enum dial_why)result->why, NULL);
		return;
	}
	take(j, result, false, now);
	six = j->addr_n;
	take(j, result, true, now);
	if (j->addr_n == 0) {
		job_fail(j, j->why, j->last);
		return;
	}
	interleave(j, six);
	j->state = JOB_CONNECT;
	j->why = DIAL_UNREACHABLE;
	j->until_ns = now + CONNECT_NS;
	job_next(j, now);
}
