/*
 * The gate's loop: notifications in, verdicts out.
 *
 *	NEW -- same thread in flight? --> judged at once, not seized again
 *	   |
 *	   +-- its group in flight? --> BEHIND until that flight is over
 *	   +-- granted, but the recorder is slow? --> LATE until it is not
 *	   +-- a person decides? --> PENDING (approval.c)
 *	   |
 *	   +--> refused: GONE; or continued: RUNNING, while its thread has no other
 *		call that waits, else PARKED --> OVER at its stop (stop.c)
 *
 * exec_state.c has every step.
 *
 * Process: the leash.  Holds the notify descriptor.  Trusts its own copies only.
 * Must never block, and must never let a thread continue that it does not trace.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "leash/exec/private.h"
#include "leash/scrub/scrub.h"
#include "policy/sealed/policy.h"
#include "shim/base/fd.h"
#include "shim/base/loop.h"

#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS      SECCOMP_IOW(4, __u64)
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1UL << 0)
#endif

#define CROWD 4 /* execs in progress */

/* Refusals are reported in bursts of 64, then at most 20 a second. */
#define TOLD_COST_NS  (50 * LOOP_MS)
#define TOLD_BURST_NS (64 * TOLD_COST_NS)

/* A future kernel may write a longer record. */
union notif {
	struct seccomp_notif n;
	uint8_t room[1024];
};

int
gate_new(const struct gate_order *order, struct gate **ret)
{
	const struct sealed_range images = order->server->images;
	struct gate *g = NULL;
	int r = -ENOMEM;

	if (order->image_n != images.n)
		return -EINVAL;
	g = calloc(1, sizeof(*g));
	if (!g)
		return -ENOMEM;
	g->order = *order;
	g->root_fd = -1;
	g->log_wait_ns = GATE_LOG_WAIT_NS;
	buf_init(&g->shown, GATE_COPY_MAX + PATH_MAX);
	buf_init(&g->shown_too, GATE_COPY_MAX + PATH_MAX);
	g->order.notify_fd = -1;
	g->flight = calloc(GATE_FLIGHTS_MAX, sizeof(*g->flight));
	g->held = calloc(GATE_FLIGHTS_MAX, sizeof(*g->held));
	if (!g->flight || !g->held)
		goto out;
	r = call_new(&g->call);
	if (r == 0)
		r = ask_init(g);
	if (r == 0)
		r = kin_new(&g->kin);
	if (r == 0)
		r = image_load(g);
	if (r == 0)
		r = pin_load(g);
	if (r == 0)
		r = caller_load(g);
	if (r == 0)
		r = named_new(g, &g->named);
	if (r < 0)
		goto out;
	if (order->notify_fd >= 0)
		gate_hear(g, order->notify_fd);
	*ret = g;
	g = NULL;
out:
	gate_free(g);
	return r;
}

/*
 * The caller sleeps until we reply: wake each other on the same processor (Linux 6.6;
 * otherwise only slower).
 */
static void
wake_on_same_cpu(struct gate *g, bool yes)
{
	if (yes == g->same_cpu)
		return;
	/* syscalls: ioctl */
	(void)ioctl(g->order.notify_fd, SECCOMP_IOCTL_NOTIF_SET_FLAGS,
	    yes ? SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP : 0);
	g->same_cpu = yes;
}

/*
 * Fast path: a single exec takes 6 to 17 % less time if caller and leash share
 * a processor.  Execs of many callers take 8 % more: all of them gather on one.
 */
static void
choose_cpu(struct gate *g)
{
	if (g->flight_n == 0)
		wake_on_same_cpu(g, true);
	else if (g->flight_n >= CROWD)
		wake_on_same_cpu(g, false);
}

void
gate_hear(struct gate *g, int notify_fd)
{
	g->order.notify_fd = notify_fd;
	g->same_cpu = false;
	wake_on_same_cpu(g, true);
}

void
gate_free(struct gate *g)
{
	if (!g)
		return;
	while (g->flight_n > 0)
		flight_drop(g, &g->flight[0]);
	call_free(g->call);
	ask_free(g);
	kin_free(g->kin);
	named_free(g->named);
	buf_free(&g->shown);
	buf_free(&g->shown_too);
	free(g->flight);
	free(g->held);
	free(g->image);
	free(g->pin);
	free(g->place);
	fd_close(&g->root_fd);
	fd_close(&g->order.notify_fd);
	free(g);
}

int
gate_fd(const struct gate *g)
{
	return g->order.notify_fd;
}

/*
 * A refusal costs the server nothing and us a record.  After a burst of refusals
 * the next call waits in the kernel, which limits the growth of the log.  A call
 * whose record could not be kept is not received either.
 */
static bool
may_judge(const struct gate *g)
{
	if (g->order.report &&
	    report_pending(g->order.report) > REPORT_QUEUE_MAX - GATE_RECORDS_KEPT)
		return false;
	return g->refused_until <= loop_now() + GATE_REFUSALS_BURST_NS;
}

static void
count_refusal(struct gate *g, bool absent)
{
	uint64_t now = loop_now();

	g->counts.denied += absent ? 0 : 1;
	if (g->refused_until < now)
		g->refused_until = now;
	g->refused_until += absent ? GATE_ABSENT_NS : GATE_REFUSAL_NS;
}

bool
gate_wants(const struct gate *g)
{
	return g->held_n < GATE_FLIGHTS_MAX && may_judge(g) && !named_waits(g);
}

size_t
gate_busy(const struct gate *g)
{
	return g->flight_n + g->held_n + g->pending_n;
}

struct gate_counts
gate_counts(const struct gate *g)
{
	return g->counts;
}

bool
notify_valid(const struct gate *g, uint64_t id)
{
	return ioctl(g->order.notify_fd, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

int
notify_reply(const struct gate *g, uint64_t id, int error)
{
	struct seccomp_notif_resp answer = {
	    .id = id,
	    .error = error,
	    .flags = error ? 0 : SECCOMP_USER_NOTIF_FLAG_CONTINUE,
	};

	if (ioctl(g->order.notify_fd, SECCOMP_IOCTL_NOTIF_SEND, &answer) < 0)
		return -errno;
	return 0;
}

/*
 * Reports the refusal to the process that talks to the agent before the caller gets
 * its reply, so that the two can be matched; at most as fast as it can read.
 */
void
verdict_tell(struct gate *g, const struct verdict *v)
{
	const struct policy *p = g->order.policy;
	struct gate_refusal told = {
	    .because = "", .instead = "", .reason = v->reason == NULL ? "" : v->reason};
	char rule[512] = "";
	uint64_t now = loop_now();

	if (v->absent || g->order.person == NULL || g->order.person->refused == NULL ||
	    g->told_until > now + TOLD_BURST_NS)
		return;
	g->told_until = (g->told_until < now ? now : g->told_until) + TOLD_COST_NS;
	told.program = foreign_text(g->order.scrub, v->program, &g->shown);
	told.rule = rule;
	if (v->row) {
		told.rule = policy_at(p, v->row->at, rule, sizeof(rule));
		told.because = policy_str(p, v->row->because);
		told.instead = policy_str(p, v->row->instead);
	}
	g->order.person->refused(g->order.person_arg, &told);
}

void
verdict_deny(struct gate *g, const struct call *c, const struct verdict *v)
{
	verdict_tell(g, v);
	count_refusal(g, v->absent);
	/* a full log stops execs; a refusal is not one */
	(void)grant_record(g, c->tid, c, v, v->missing ? "absent" : "deny");
	(void)notify_reply(g, c->id, v->error); /* a dead caller needs no reply */
}

enum exec_event
verdict_allow(struct gate *g, const struct call *c, struct verdict *v, pid_t tgid,
    struct flight *again, const struct subject *subject)
{
	int r = g->order.report != NULL && report_late(g->order.report) ? -ENOBUFS : 0;

	if (r == 0)
		r = grant_record(g, c->tid, c, v, "allow");

	if (r == 0) {
		r = flight_start(g, c, tgid, v->row, again, subject);
		if (r == 0)
			return EXEC_RELEASED;
		if (!notify_valid(g, c->id))
			return EXEC_DIED;
		v->reason = "unable to trace the process";
	} else {
		v->reason = "the audit log did not take the record";
	}
	v->verdict = VERDICT_DENY;
	v->error = -EACCES;
	verdict_deny(g, c, v);
	return EXEC_REFUSED;
}

bool
log_waits(struct gate *g)
{
	uint64_t now;

	if (g->order.report == NULL || !report_late(g->order.report) ||
	    report_fd(g->order.report) < 0) {
		g->log_since = 0;
		return false;
	}
	now = loop_now();
	if (g->log_since == 0 || now - g->log_seen > GATE_LOG_SEEN_NS)
		g->log_since = now;
	g->log_seen = now;
	return now - g->log_since < g->log_wait_ns;
}

/* Decides the call in g->call: refused, continued, sent for approval, or to be held. */
static enum exec_event
decide(struct gate *g, const struct held_call *h, struct flight *again)
{
	struct call *c = g->call;
	bool first = g->root_fd < 0;
	struct verdict v;

	grant_judge(g, c, &v);
	/* Everything read belonged to the caller if it still waits now: its thread id
	 * cannot have been reused in between. */
	if (!notify_valid(g, c->id)) {
		if (first)
			fd_close(&g->root_fd);
		return EXEC_DIED;
	}
	if (v.error) {
		verdict_deny(g, c, &v);
		return EXEC_REFUSED;
	}
	if (log_waits(g))
		return EXEC_SLOW;
	if (v.verdict == VERDICT_ASK)
		return ask_person(g, &h->notif, &v, h->tgid, again);
	return verdict_allow(g, c, &v, h->tgid, again, NULL);
}

/* Moves a call to its next state, and parks the flight of its thread if it must wait.
 * True: hold it. */
static bool
hold(struct gate *g, struct held_call *h, enum exec_event event, struct flight *again)
{
	h->state = exec_next(h->state, event);
	if (h->state == EXEC_NONE)
		(void)notify_reply(g, h->notif.id, -EACCES);
	if (again != NULL && (h->state == EXEC_LATE || h->state == EXEC_PENDING))
		flight_event(g, again, EXEC_WAITS);
	return h->state == EXEC_BEHIND || h->state == EXEC_LATE;
}

/* True: hold the call and judge it again. */
static bool
judge(struct gate *g, struct held_call *h, struct flight *again)
{
	enum exec_event event;

	call_begin(g->call, &h->notif);
	event = decide(g, h, again);
	call_wipe(g->call);
	return hold(g, h, event, again);
}

/* The thread group of a thread.  First the cheap way: signal 0 to (tid, tid) succeeds
 * only if the thread leads its group. */
static int
group_of(pid_t tid, pid_t *ret)
{
	char path[64], text[1024];
	const char *p;
	ssize_t n;
	int fd;

	/* syscalls: tgkill */
	if (syscall(SYS_tgkill, tid, tid, 0) == 0) {
		*ret = tid;
		return 0;
	}
	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	/* syscalls: openat read */
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, text, sizeof(text) - 1);
	fd_close(&fd);
	if (n <= 0)
		return -ESRCH;
	text[n] = '\0';
	p = strstr(text, "\nTgid:");
	if (!p)
		return -ESRCH;
	*ret = (pid_t)strtol(p + sizeof("\nTgid:") - 1, NULL, 10);
	return *ret > 0 ? 0 : -ESRCH;
}

static void
take(struct gate *g, const struct seccomp_notif *n)
{
	pid_t tid = (pid_t)n->pid, tgid = 0;
	struct flight *f = flight_of_thread(g, tid);
	struct held_call h = {.notif = *n, .state = EXEC_NEW};

	if (g->named != NULL && named_take(g, n))
		return;
	if (tid <= 0 || group_of(tid, &tgid) < 0) {
		(void)notify_reply(g, n->id, -EACCES); /* gone, or not in the cell */
		return;
	}
	h.tgid = tgid;
	if (f && f->state != EXEC_OVER) {
		/* A thread gives up its id inside its exec, before we see the stop.
		 * The id may now belong to another thread, which nothing traces. */
		if (f->tgid != tgid)
			(void)notify_reply(g, n->id, -EAGAIN);
		else if (judge(g, &h, f))
			g->held[g->held_n++] = h;
		return;
	}
	if (flight_in_group(g, tgid) || g->flight_n == GATE_FLIGHTS_MAX
		? hold(g, &h, EXEC_BUSY, NULL)
		: judge(g, &h, NULL))
		g->held[g->held_n++] = h;
}

int
gate_notified(struct gate *g, short revents)
{
	union notif u;

	if (!gate_wants(g)) {
		gate_tick(g);
		return 0;
	}
	/* Before Linux 6.11 a receive blocks forever once the last task under the
	 * filter is gone.  It never blocks after POLLIN, because this is the only
	 * receiver: a call that died meanwhile is still counted, and returns ENOENT. */
	if (!(revents & POLLIN))
		return revents ? -EPIPE : 0;
	memset(&u, 0, sizeof(u));
	if (ioctl(g->order.notify_fd, SECCOMP_IOCTL_NOTIF_RECV, &u) < 0)
		return errno == ENOENT || errno == EINTR ? 0 : -errno;
	choose_cpu(g);
	take(g, &u.n);
	return 0;
}

/* True: it stays held. */
static bool
held_stays(struct gate *g, struct held_call *h)
{
	struct flight *f = NULL;

	if (h->state == EXEC_LATE) { /* its thread may have a flight */
		if (log_waits(g))
			return true;
		f = flight_of_thread(g, (pid_t)h->notif.pid);
		if (f != NULL && (f->state != EXEC_PARKED || f->tgid != h->tgid))
			f = NULL;
	}
	if (flight_in_group(g, h->tgid) || !may_judge(g) ||
	    (f == NULL && g->flight_n == GATE_FLIGHTS_MAX))
		return true;
	if (f != NULL)
		flight_event(g, f, EXEC_RESUMED);
	return notify_valid(g, h->notif.id) && judge(g, h, f);
}

void
held_run(struct gate *g)
{
	size_t kept = 0;

	for (size_t i = 0; i < g->held_n; i++) {
		struct held_call h = g->held[i];

		if (held_stays(g, &h))
			g->held[kept++] = h;
	}
	g->held_n = kept;
	ask_settle(g);
}

int
gate_wait_ms(const struct gate *g)
{
	if (g->held_n > 0 || !may_judge(g) || named_waits(g))
		return GATE_TICK_MS;
	return g->pending_n > 0 ? ASK_TICK_MS : -1;
}

void
gate_tick(struct gate *g)
{
	size_t kept = 0;

	named_tick(g);
	for (size_t i = 0; i < g->held_n; i++) {
		if (!notify_valid(g, g->held[i].notif.id))
			continue;
		flight_tick(g, g->held[i].tgid);
		g->held[kept++] = g->held[i];
	}
	g->held_n = kept;
	ask_tick(g);
	held_run(g);
}
