/*
 * kennel-egress: the relay and the resolver of one server's cell.
 *
 * Holds: the cell's listeners, and connected descriptors; no secret, no file.
 * Trusts: the sealed policy, the leash, and kennel-dial's descriptors.  Must never:
 * open a socket, forward a byte that is not granted, or decide anything that the
 * sealed policy does not.
 *
 * One thread, one loop.  It ends when its leash or its dialer does, and with it all
 * connections and listeners.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "leash/egress/private.h"
#include "policy/sealed/policy.h"
#include "shim/base/array.h"
#include "shim/base/confine.h"
#include "shim/base/fd.h"
#include "shim/base/log.h"

#include "egress_syscalls.h"

#define EVENTS_MAX   256
#define TICK_MS      250
#define PACE_MS      10
#define OTHERS_FDS   (2 * PIPES_MAX + RESOLVES_MAX + 16)
#define CONNS_MIN    8
#define NAME_LEN_MAX 127
#define SEND_WAIT_MS 5000
#define LEASH_A_TURN 64

static struct relay relay = {.leash = EGRESS_CHANNEL_FD,
    .dial = -1,
    .epoll = -1,
    .listeners = -1,
    .policy_fd = -1,
    .accepting = true};

void
relay_end(const char *why)
{
	log_debug("ends: %s", why);
	_exit(LOG_EXIT_FAILED); /* syscalls: exit_group */
}

int
relay_watch(struct relay *r, int fd, uint32_t events, enum watch watch, size_t index)
{
	struct epoll_event e = {
	    .events = events, .data.u64 = (uint64_t)watch << 32 | (uint32_t)index};

	return epoll_ctl(r->epoll, EPOLL_CTL_ADD, fd, &e) < 0 ? -errno : 0;
}

/* Siblings read before anything else, so it waits for a slow one. */
int
relay_send(int sock, const struct wire_out *out)
{
	struct pollfd room = {sock, POLLOUT, 0};
	int e = wire_send(sock, out, NULL, 0);

	if (e == -EAGAIN && poll(&room, 1, SEND_WAIT_MS) > 0) /* syscalls: poll */
		e = wire_send(sock, out, NULL, 0);
	return e;
}

/* ---- the leash ------------------------------------------------------------------- */

static int
start(struct relay *r)
{
	char memory[EGRESS_PACKET_MAX], why[256] = "";
	int fds[2] = {-1, -1}, e;
	size_t len = 0, fds_n = 0;
	struct wire_in in;
	struct sealed_at at;
	const char *name;
	uint32_t type, version;

	e = wire_recv(r->leash, memory, sizeof(memory), &len, fds, 2, &fds_n);
	if (e < 0)
		return e;
	wire_in_init(&in, memory, len);
	type = wire_get_u32(&in);
	version = wire_get_u32(&in);
	name = wire_get_str(&in, NAME_LEN_MAX);
	r->socket_want = wire_get_u32(&in);
	if (wire_end(&in) < 0 || type != EGRESS_START || version != EGRESS_VERSION ||
	    fds_n == 0)
		return -EBADMSG;
	r->policy_fd = fds[0];
	r->dial = fds[1];
	e = policy_load(r->policy_fd, &r->policy, why, sizeof(why));
	if (e < 0)
		die("unable to load the policy: %s", why);
	r->server = policy_server(&r->policy, name);
	if (r->server == NULL)
		return -ENOENT;
	e = plan_make(&r->policy, r->server, &r->plan, &at);
	/* both computed the plan themselves: if the numbers differ, no socket matches */
	if (e == 0 && r->socket_want != r->plan.listener_n + 2 * (size_t)PLAN_SOCKET_END)
		e = -EBADMSG;
	if (e == 0 && plan_grants(&r->policy, r->server) != (r->dial >= 0))
		e = -EBADMSG;
	return e;
}

/* bytes: one per socket, 1 if it exists; the descriptors of those. */
static int
more_sockets(struct relay *r, struct wire_in *in, int *fds, size_t fds_n)
{
	struct span there = wire_get_bytes(in, WIRE_FDS_MAX);
	size_t k = 0;

	if (r->serving || wire_end(in) < 0 || there.len > r->socket_want - r->socket_n)
		return -EBADMSG;
	for (size_t i = 0; i < there.len; i++) {
		if (there.data[i] != 0 && k == fds_n)
			return -EBADMSG;
		r->socket[r->socket_n++] = there.data[i] != 0 ? fds[k] : -1;
		if (there.data[i] != 0)
			fds[k++] = -1;
	}
	return k == fds_n ? 0 : -EBADMSG;
}

static int
serve(struct relay *r)
{
	static const enum watch watch[PLAN_SOCKET_END] = {
	    [PLAN_DNS_UDP] = WATCH_DNS_UDP,
	    [PLAN_DNS_TCP] = WATCH_DNS_TCP,
	    [PLAN_SEEN_TCP] = WATCH_SEEN_TCP,
	    [PLAN_SEEN_UDP] = WATCH_SEEN_UDP,
	};
	int e;

	if (r->serving || r->socket_n != r->socket_want)
		return -EBADMSG;
	e = listen_start(r);
	for (size_t i = r->plan.listener_n; e == 0 && i < r->socket_n; i++)
		if (r->socket[i] >= 0)
			e = relay_watch(r, r->socket[i], EPOLLIN,
			    watch[(i - r->plan.listener_n) % PLAN_SOCKET_END], i);
	r->serving = true;
	return e;
}

static int
leash_message(struct relay *r, struct wire_in *in, int *fds, size_t fds_n)
{
	uint32_t type = wire_get_u32(in), id, yes;

	if (type == EGRESS_SOCKETS)
		return more_sockets(r, in, fds, fds_n);
	if (type == EGRESS_READY)
		return wire_end(in) < 0 ? -EBADMSG : serve(r);
	id = wire_get_u32(in);
	yes = wire_get_u32(in);
	if ((type != EGRESS_GO && type != EGRESS_PING) || wire_end(in) < 0 || fds_n > 0 ||
	    !r->serving)
		return -EBADMSG;
	if (type == EGRESS_PING)
		tell_serving(r, id);
	else
		conn_go(r, id, yes == 1);
	return 0;
}

static void
on_leash(struct relay *r)
{
	char memory[EGRESS_PACKET_MAX];
	int fds[WIRE_FDS_MAX], e;
	size_t len = 0, fds_n = 0;
	struct wire_in in;

	/*
	 * A few at a time: each may be a request to kennel-dial, whose answers are to be
	 * read in between. Else both wait for room in the other's channel.
	 */
	for (int i = 0; i < LEASH_A_TURN; i++) {
		e = wire_recv(
		    r->leash, memory, sizeof(memory), &len, fds, WIRE_FDS_MAX, &fds_n);
		if (e == -EAGAIN)
			return;
		if (e < 0) {
			conn_close_all(r);
			relay_end("the leash is gone");
		}
		wire_in_init(&in, memory, len);
		e = leash_message(r, &in, fds, fds_n);
		if (e < 0)
			relay_end("unexpected message from the leash");
	}
}

static void
on_dial(struct relay *r)
{
	char memory[DIAL_PACKET_MAX];
	struct dial_answer a;
	size_t len = 0, fds_n = 0;
	int fd = -1, e;

	do {
		fd = -1;
		e = wire_recv(r->dial, memory, sizeof(memory), &len, &fd, 1, &fds_n);
		if (e == -EAGAIN)
			return;
		if (e < 0 || dial_answer_read(memory, len, &a) < 0 ||
		    (a.type == DIAL_OPENED) != (fds_n == 1))
			relay_end("kennel-dial is gone");
		conn_dialled(r, &a, &fd);
		fd_close(&fd);
	} while (true);
}

/* ---- the loop ---------------------------------------------------------------------- */

static void
on_event(struct relay *r, const struct epoll_event *e)
{
	size_t i = (uint32_t)e->data.u64;

	switch ((enum watch)(e->data.u64 >> 32)) {
	case WATCH_LEASH:
		on_leash(r);
		break;
	case WATCH_DIAL:
		on_dial(r);
		break;
	case WATCH_LISTENERS:
		listen_ready(r);
		break;
	case WATCH_DNS_UDP:
		resolver_datagram(r, r->socket[i]);
		break;
	case WATCH_DNS_TCP:
		resolver_accept(r, r->socket[i]);
		break;
	case WATCH_RESOLVE:
		resolver_event(r, i);
		break;
	case WATCH_SEEN_TCP:
		seen_tcp(r, r->socket[i]);
		break;
	case WATCH_SEEN_UDP:
		seen_udp(r, r->socket[i]);
		break;
	case WATCH_CLIENT:
	case WATCH_SERVER:
		conn_event(r, &r->conn[i],
		    e->data.u64 >> 32 == WATCH_CLIENT ? CLIENT : SERVER, e->events);
		break;
	}
}

static bool
resolving(const struct relay *r)
{
	for (size_t i = 0; i < RESOLVES_MAX; i++)
		if (r->resolve[i].until_ns != 0)
			return true;
	return false;
}

/* Milliseconds until the next timeout. */
static int
wait_ms(const struct relay *r)
{
	if (r->busy_n > 0)
		return 0;
	if (r->serving && !r->accepting && r->tokens == 0)
		return PACE_MS;
	if (r->starved_n > 0 || r->timed_n > 0 || resolving(r))
		return TICK_MS;
	return r->told_ns != 0 ? 4 * TICK_MS : -1;
}

static void
serve_all(struct relay *r)
{
	struct epoll_event e[EVENTS_MAX];
	uint64_t now, tick = 0;
	int n;

	for (;;) {
		n = epoll_wait(r->epoll, e, EVENTS_MAX, wait_ms(r));
		if (n < 0 && errno != EINTR)
			relay_end("unable to wait for events");
		for (int i = 0; i < n; i++)
			on_event(r, &e[i]);
		conn_busy(r);
		now = loop_now();
		listen_pace(r, now);
		if (now - tick < TICK_MS * LOOP_MS)
			continue;
		tick = now;
		conn_timers(r, now);
		resolver_timers(r, now);
		tell_timers(r, now);
	}
}

/* Two descriptors for each connection, within what the limit leaves. */
static int
count_conns(struct relay *r)
{
	struct rlimit files;
	size_t kept = r->socket_want + OTHERS_FDS;

	/* early: prlimit64 getrlimit setrlimit */
	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		return -errno;
	files.rlim_cur = files.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &files) < 0)
		return -errno;
	if (files.rlim_cur < kept + 2 * (size_t)CONNS_MIN)
		return -EMFILE;
	r->conn_max = (files.rlim_cur - kept) / 2;
	if (r->conn_max > EGRESS_CONNS_MAX)
		r->conn_max = EGRESS_CONNS_MAX;
	return 0;
}

int
main(void)
{
	struct relay *r = &relay;
	int e;

	log_open("kennel-egress", getenv("KENNEL_DEBUG") != NULL ? LOG_DEBUG : LOG_INFO);
	if (confine_no_dumps() < 0)
		die("unable to forbid dumps");
	(void)signal(SIGPIPE, SIG_IGN); /* a valid signal: cannot fail */
	/* early: close_range */
	if (syscall(SYS_close_range, EGRESS_CHANNEL_FD + 1, ~0u, 0) < 0 ||
	    fd_cloexec(r->leash, true) < 0)
		die("no leash on descriptor %d", EGRESS_CHANNEL_FD);
	e = start(r);
	if (e == -EPIPE)
		return LOG_EXIT_FAILED; /* the start was abandoned */
	if (e == 0)
		e = count_conns(r);
	if (e == 0)
		e = flow_pipes(r);
	/* early: epoll_create1 */
	r->epoll = epoll_create1(EPOLL_CLOEXEC);
	r->listeners = epoll_create1(EPOLL_CLOEXEC);
	if (e == 0 && (r->epoll < 0 || r->listeners < 0))
		e = -errno;
	if (e == 0)
		e = relay_watch(r, r->leash, EPOLLIN, WATCH_LEASH, 0);
	if (e == 0 && r->dial >= 0)
		e = relay_watch(r, r->dial, EPOLLIN, WATCH_DIAL, 0);
	if (e == 0)
		e = relay_watch(r, r->listeners, EPOLLIN, WATCH_LISTENERS, 0);
	if (e == 0)
		e = fd_nonblock(r->leash, true);
	if (e == 0 && r->dial >= 0)
		e = fd_nonblock(r->dial, true);
	if (e == 0)
		e = confine_paths(NULL, 0);
	if (e == 0)
		e = confine_syscalls(egress_syscalls, ARRAY_LEN(egress_syscalls));
	if (e < 0)
		die("unable to start the relay: %s", strerror(-e));
	serve_all(r);
}
