/*
 * kennel-dial: resolves granted names, checks their addresses, and connects.
 *
 * Holds: access to the network, and to the host's resolver.  Trusts: the sealed
 * policy and the leash.  Must never: dial an address other than the one that it
 * checked, trust the relay about grants, or read data that a server sends.
 *
 * One loop; other processes do the lookups (lookup.c).  It ends when its leash or
 * its relay does.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "leash/egress/dialer.h"
#include "policy/sealed/policy.h"
#include "shim/base/array.h"
#include "shim/base/confine.h"
#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "shim/base/loop.h"

#include "dial_syscalls.h"

#define EVENTS_MAX   64
#define TICK_MS      50
#define LOOKUP_NS    (20000 * LOOP_MS)
#define AGREED_MAX   256
#define NAME_LEN_MAX 127

/* The user approved a row with `ask`. */
struct agreed {
	uint32_t row, port;
	uint64_t until_ns;
	char name[DIAL_NAME_MAX + 1];
};

static struct {
	struct agreed agreed[AGREED_MAX];
	size_t n;
} agreements;

struct dialer dialer = {.leash = DIAL_CHANNEL_FD, .relay = -1, .epoll = -1};

int
dialer_watch(int fd, uint32_t events, enum watch what, size_t index)
{
	struct epoll_event e = {
	    .events = events, .data.u64 = (uint64_t)what << 32 | (uint32_t)index};

	return epoll_ctl(dialer.epoll, EPOLL_CTL_ADD, fd, &e) < 0 ? -errno : 0;
}

static void
resolve(struct job *j, uint64_t now)
{
	struct lookup_result result = {.n = 1};

	if (address_read(j->name, result.addr[0]) || lookup(j->name, now, &result) == 0)
		job_resolved(j, &result, now);
}

/* ---- the leash ---------------------------------------------------------------------------- */

/* The same one, a free one, or the one that ends first. */
static struct agreed *
agreed_slot(const struct agreed *a)
{
	struct agreed *first = &agreements.agreed[0];

	for (size_t i = 0; i < agreements.n; i++) {
		struct agreed *b = &agreements.agreed[i];

		if (a->row == b->row && a->port == b->port &&
		    strcmp(a->name, b->name) == 0)
			return b;
		if (b->until_ns < first->until_ns)
			first = b;
	}
	return agreements.n < AGREED_MAX ? &agreements.agreed[agreements.n++] : first;
}

/* u32 row, u32 port, u32 seconds, str name */
static void
read_leash(uint64_t now)
{
	char memory[DIAL_PACKET_MAX];
	struct agreed a;
	struct wire_in in;
	const char *name;
	uint32_t type;
	size_t len = 0;
	int e;

	while ((e = wire_recv(
		    dialer.leash, memory, sizeof(memory), &len, NULL, 0, NULL)) == 0) {
		a = (struct agreed){0};
		wire_in_init(&in, memory, len);
		type = wire_get_u32(&in);
		a.row = wire_get_u32(&in);
		a.port = wire_get_u32(&in);
		a.until_ns = now + wire_get_u32(&in) * 1000ull * LOOP_MS;
		name = wire_get_str(&in, DIAL_NAME_MAX);
		if (wire_end(&in) < 0 || type != DIAL_AGREED)
			_exit(LOG_EXIT_FAILED);
		memcpy(a.name, name, strlen(name) + 1);
		*agreed_slot(&a) = a;
	}
	if (e != -EAGAIN)
		_exit(0); /* the leash is gone */
}

/* ---- requests ---------------------------------------------------------------------------- */

static bool
is_agreed(const struct dial_request *q, uint64_t now)
{
	for (size_t i = 0; i < agreements.n; i++) {
		const struct agreed *a = &agreements.agreed[i];

		if (a->row == q->row && a->port == q->port && now < a->until_ns &&
		    strcmp(a->name, q->name) == 0)
			return true;
	}
	return false;
}

/* Checks the relay's request against the policy; the relay is not trusted. */
static bool
granted(const struct dial_request *q, uint64_t now)
{
	struct policy_net_ask ask = {q->name, strlen(q->name), q->port};
	struct policy_answer a = policy_match_net(&dialer.policy, dialer.server, &ask);

	if (a.net == NULL || a.verdict == VERDICT_DENY ||
	    (uint32_t)(a.net - dialer.policy.net) != q->row)
		return false;
	if (a.verdict == VERDICT_ASK)
		read_leash(now); /* it was sent before the relay could know */
	return a.verdict == VERDICT_ALLOW || is_agreed(q, now);
}

static void
on_open(const struct dial_request *q, uint64_t now)
{
	struct job *j = dialer.job;

	while (j < dialer.job + DIAL_AT_A_TIME && j->state != JOB_FREE)
		j++;
	if (j == dialer.job + DIAL_AT_A_TIME)
		_exit(LOG_EXIT_FAILED); /* more than the relay can have */
	*j = (struct job){.state = JOB_LOOKUP,
	    .id = q->id,
	    .row = q->row,
	    .port = q->port,
	    .until_ns = now + LOOKUP_NS};
	memcpy(j->name, q->name, strlen(q->name) + 1);
	memset(j->fd, -1, sizeof(j->fd));
	dialer.job_n++;
	if (granted(q, now))
		resolve(j, now);
	else
		job_fail(j, DIAL_POLICY, NULL);
}

static void
on_cancel(uint32_t id)
{
	for (size_t i = 0; i < DIAL_AT_A_TIME; i++) {
		struct job *j = &dialer.job[i];

		if (j->state == JOB_FREE || j->id != id)
			continue;
		for (size_t k = 0; k < ANSWERS_MAX; k++)
			fd_close(&j->fd[k]);
		j->state = JOB_FREE;
		dialer.job_n--;
	}
}

static void
on_relay(uint64_t now)
{
	char memory[DIAL_PACKET_MAX];
	struct dial_request q;
	size_t len = 0;
	int e;

	for (;;) {
		e = wire_recv(dialer.relay, memory, sizeof(memory), &len, NULL, 0, NULL);
		if (e == -EAGAIN)
			return;
		if (e < 0 || dial_request_read(memory, len, &q) < 0)
			_exit(LOG_EXIT_FAILED); /* gone, or compromised */
		if (q.type == DIAL_OPEN)
			on_open(&q, now);
		else
			on_cancel(q.id);
	}
}

/* ---- the loop ------------------------------------------------------------------------------- */

/* Continues the requests whose names are known, and the names that wait for a worker. */
static void
look_again(uint64_t now)
{
	for (size_t i = 0; dialer.job_n > 0 && i < DIAL_AT_A_TIME; i++)
		if (dialer.job[i].state == JOB_LOOKUP)
			resolve(&dialer.job[i], now);
}

static void
on_time(uint64_t now)
{
	if (lookup_timers(now))
		look_again(now);
	for (size_t i = 0; dialer.job_n > 0 && i < DIAL_AT_A_TIME; i++) {
		struct job *j = &dialer.job[i];

		if (j->state != JOB_FREE && now >= j->until_ns)
			job_fail(j, j->state == JOB_LOOKUP ? DIAL_RESOLVER : DIAL_TIMEOUT,
			    j->state == JOB_LOOKUP ? NULL : j->addr[0]);
		else if (j->state == JOB_CONNECT && now >= j->next_ns)
			job_next(j, now);
	}
}

/* Workers start and end with the lookups. */
static void
watch_workers(void)
{
	for (size_t i = 0; i < LOOKUP_WORKERS; i++) {
		int fd = lookup_fd(i);

		if (fd >= 0)
			/* EEXIST: it is watched already; closing a descriptor removes
			 * it */
			(void)dialer_watch(fd, EPOLLIN, WATCH_WORKER, i);
	}
}

static void
on_event(const struct epoll_event *e, uint64_t now)
{
	size_t i = (uint32_t)e->data.u64;

	switch ((enum watch)(e->data.u64 >> 32)) {
	case WATCH_LEASH:
		read_leash(now);
		break;
	case WATCH_RELAY:
		on_relay(now);
		break;
	case WATCH_WORKER:
		lookup_ready(i, now);
		look_again(now);
		break;
	case WATCH_TRY:
		job_tried(i, now);
		break;
	}
}

static _Noreturn void
serve(void)
{
	struct epoll_event e[EVENTS_MAX];
	uint64_t now;
	int n;

	for (;;) {
		watch_workers();
		n = epoll_wait(
		    dialer.epoll, e, EVENTS_MAX, dialer.job_n > 0 ? TICK_MS : -1);
		now = loop_now();
		for (int i = 0; i < n; i++)
			on_event(&e[i], now);
		on_time(now);
	}
}

/* ---- the start ------------------------------------------------------------------------------- */

static int
start(void)
{
	char memory[DIAL_PACKET_MAX], why[256] = "";
	int fds[2] = {-1, -1}, e;
	size_t len = 0, fds_n = 0;
	uint32_t type, version;
	struct wire_in in;
	const char *name;

	e = wire_recv(dialer.leash, memory, sizeof(memory), &len, fds, 2, &fds_n);
	if (e < 0)
		return e;
	wire_in_init(&in, memory, len);
	type = wire_get_u32(&in);
	version = wire_get_u32(&in);
	name = wire_get_str(&in, NAME_LEN_MAX);
	if (wire_end(&in) < 0 || type != DIAL_START || version != DIAL_VERSION ||
	    fds_n != 2)
		return -EBADMSG;
	dialer.relay = fds[1];
	e = policy_load(fds[0], &dialer.policy, why, sizeof(why));
	fd_close(&fds[0]);
	if (e < 0)
		die("unable to load the policy: %s", why);
	dialer.server = policy_server(&dialer.policy, name);
	return dialer.server == NULL ? -ENOENT : 0;
}

/* The files that NSS reads: its configuration, with all its links, and its modules. */
static int
confine_files(void)
{
	static const char *const read[] = {"/etc", "/lib", "/lib64", "/usr/lib",
	    "/usr/lib64", "/run/systemd/resolve", "/run/NetworkManager",
	    "/run/resolvconf", "/run/nscd", "/var/lib/resolvconf"};
	struct confine_path path[ARRAY_LEN(read)];
	size_t n = 0;
	int e;

	for (size_t i = 0; i < ARRAY_LEN(read); i++) {
		int fd = open(read[i], O_PATH | O_DIRECTORY | O_CLOEXEC);

		if (fd >= 0)
			path[n++] = (struct confine_path){fd, CONFINE_READ};
	}
	e = confine_paths_of(path, n, CONFINE_NETWORK);
	for (size_t i = 0; i < n; i++)
		fd_close(&path[i].fd);
	return e;
}

int
main(void)
{
	struct nsswitch_hosts services;
	struct rlimit files;
	int e;

	log_open("kennel-dial", getenv("KENNEL_DEBUG") != NULL ? LOG_DEBUG : LOG_INFO);
	if (confine_no_dumps() < 0)
		die("unable to forbid dumps");
	(void)signal(SIGPIPE, SIG_IGN); /* a valid signal: cannot fail */
	/* early: close_range */
	if (syscall(SYS_close_range, DIAL_CHANNEL_FD + 1, ~0u, 0) < 0 ||
	    fd_cloexec(dialer.leash, true) < 0)
		die("no leash on descriptor %d", DIAL_CHANNEL_FD);
	e = start();
	if (e == -EPIPE)
		return LOG_EXIT_FAILED; /* the start was abandoned */
	if (e == 0 && getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files); /* else: fewer at a time */
	}
	if (e == 0)
		e = lookup_limit_nss(&services);
	if (e == 0 && services.left_out_n > 0)
		log_info("name services that are not used: %s", services.left_out);
	/* early: epoll_create1 */
	dialer.epoll = epoll_create1(EPOLL_CLOEXEC);
	if (e == 0 && dialer.epoll < 0)
		e = -errno;
	if (e == 0)
		e = fd_nonblock(dialer.leash, true);
	if (e == 0)
		e = fd_nonblock(dialer.relay, true);
	if (e == 0)
		e = dialer_watch(dialer.leash, EPOLLIN, WATCH_LEASH, 0);
	if (e == 0)
		e = dialer_watch(dialer.relay, EPOLLIN, WATCH_RELAY, 0);
	if (e == 0)
		e = confine_files();
	if (e == 0)
		e = confine_syscalls(dial_syscalls, ARRAY_LEN(dial_syscalls));
	if (e < 0)
		die("unable to start the dialer: %s", strerror(-e));
	serve();
}
