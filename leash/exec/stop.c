/*
 * The exec stop: traces the caller, lets it continue, and checks the new image
 * before its first instruction.
 *
 *	gate				caller
 *	SEIZE, reply, INTERRUPT ----->	execve continues
 *	   <----- EVENT_EXEC		new image, no instruction has run:
 *					compared; continued, or killed
 *	   <----- any other stop	back from a failed exec: continued
 *	   <----- it ended		reaped
 *
 * Process: the leash.  Never blocks: waitpid(-1, WNOHANG) only.  A thread whose id
 * changed with its exec (it takes over the leader's tid) is found by its old id,
 * which the kernel reports.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "leash/exec/private.h"
#include "leash/vault/vault.h"
#include "policy/sealed/policy.h"
#include "shim/base/fd.h"

#define LEADER_TICKS 10 /* ticks; then a flight that others wait for is checked */

struct flight *
flight_of_thread(struct gate *g, pid_t tid)
{
	for (size_t i = 0; i < g->flight_n; i++) {
		if (g->flight[i].tid == tid)
			return &g->flight[i];
	}
	return NULL;
}

bool
flight_in_group(const struct gate *g, pid_t tgid)
{
	for (size_t i = 0; i < g->flight_n; i++) {
		if (g->flight[i].tgid == tgid && g->flight[i].state == EXEC_RUNNING)
			return true;
	}
	return false;
}

/*
 * Which flight does this wait status belong to?  A thread that dies inside execve
 * may have taken over its leader's id already, without an exec stop that reports
 * it.
 */
static struct flight *
flight_of_status(struct gate *g, pid_t pid)
{
	struct flight *f = flight_of_thread(g, pid);

	for (size_t i = 0; !f && i < g->flight_n; i++) {
		if (g->flight[i].tgid == pid)
			f = &g->flight[i];
	}
	return f;
}

static void
flight_forget_words(struct flight *f)
{
	if (f->argv)
		explicit_bzero(f->argv, f->argv_len);
	free(f->argv);
	f->argv = NULL;
	f->argv_len = 0;
}

void
flight_drop(struct gate *g, struct flight *f)
{
	flight_forget_words(f);
	*f = g->flight[--g->flight_n];
}

void
flight_event(struct gate *g, struct flight *f, enum exec_event event)
{
	enum exec_state next = exec_next(f->state, event);

	if (next == EXEC_NONE) {
		(void)kill(f->tid, SIGKILL); /* its end is reaped like any other */
		next = EXEC_OVER;
	}
	if (event == EXEC_SAME)
		g->counts.allowed++;
	else if (event == EXEC_DIFFERS)
		g->counts.killed++;
	else if (f->state != EXEC_OVER && (next == EXEC_OVER || next == EXEC_GONE))
		g->counts.failed++;
	f->state = next;
}

/* Stores what the exec stop must find. */
static int
flight_expect(struct flight *f, const struct call *c, const struct sealed_exec *row,
    const struct subject *subject)
{
	size_t path_len = row->prefix.n > 0 ? strlen(c->path) : 0;
	char *argv = malloc(c->argv_len + path_len + 1);

	if (!argv)
		return -ENOMEM;
	memcpy(argv, c->text, c->argv_len);
	memcpy(argv + c->argv_len, c->path, path_len);
	argv[c->argv_len + path_len] = '\0';
	flight_forget_words(f);
	f->script = argv + c->argv_len;
	f->argv = argv;
	f->argv_len = c->argv_len;
	f->row = row;
	f->caller = c->caller;
	f->subject = subject ? *subject : (struct subject){.set = false};
	return 0;
}

int
flight_start(struct gate *g, const struct call *c, pid_t tgid,
    const struct sealed_exec *row, struct flight *again, const struct subject *subject)
{
	struct flight fresh = {.tid = c->tid, .tgid = tgid, .state = EXEC_RUNNING};
	int r;

	if (again) {
		/* Its seize and its interrupt are still in effect: the next stop is
		 * compared with this verdict, or the exec has failed again. */
		r = flight_expect(again, c, row, subject);
		if (r == 0)
			flight_event(g, again, EXEC_RELEASED);
		return r < 0 ? r : notify_reply(g, c->id, 0);
	}
	if (g->flight_n == GATE_FLIGHTS_MAX)
		return -ENOBUFS;
	r = flight_expect(&fresh, c, row, subject);
	if (r < 0)
		return r;
	/* syscalls: ptrace */
	if (ptrace(PTRACE_SEIZE, c->tid, NULL,
		(void *)(uintptr_t)(PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL)) < 0) {
		r = -errno;
		flight_forget_words(&fresh);
		return r;
	}
	/* The reply fails with ENOENT if the caller is gone.  If it succeeds, the
	 * thread has waited all the time and is the one that was seized.  If the
	 * caller died meanwhile, the seized thread is ending, or its id was reused at
	 * once by another: that thread continues at the interrupt, and gains no grant. */
	if (notify_reply(g, c->id, 0) < 0)
		fresh.row = NULL;
	(void)ptrace(PTRACE_INTERRUPT, c->tid, NULL, NULL); /* the same */
	g->flight[g->flight_n++] = fresh;
	return 0;
}

/* Lets a stopped thread continue; one that is being killed is kept until reaped. */
static void
let_go(struct gate *g, struct flight *f, int sig)
{
	if (ptrace(PTRACE_DETACH, f->tid, NULL, (void *)(intptr_t)sig) == 0)
		flight_drop(g, f);
}

/* The judged arguments are those of the call.  In a script's process the interpreter's
 * arguments replace the first. */
static bool
argv_as_judged(const struct flight *f, const struct call *c)
{
	const char *want = f->argv, *have = c->text;
	size_t want_len = f->argv_len, have_len = c->argv_len, n;

	if (f->row->prefix.n > 0) {
		if (c->argc < f->row->prefix.n || want_len == 0)
			return false;
		n = c->argc == f->row->prefix.n
			? have_len
			: (size_t)(c->argv[f->row->prefix.n] - have);
		have += n;
		have_len -= n;
		n = strlen(want) + 1;
		want += n;
		want_len -= n;
	}
	return want != NULL && want_len == have_len && memcmp(want, have, want_len) == 0;
}

/* NULL: this process is what was granted.  Else what differs. */
static const char *
differs(struct gate *g, const struct flight *f, struct call *c)
{
	const struct policy *p = g->order.policy;
	struct image_key mapped;
	struct policy_argv argv;
	uint8_t rest[ASK_DIGEST_LEN];
	size_t image;

	if (!f->row)
		return "an exec that was not released";
	image = f->row->mapped - g->order.server->images.first;
	if (image >= g->order.image_n || image_mapped(f->tid, &mapped) < 0 ||
	    !image_same(&mapped, &g->image[image]))
		return "another program than the one checked";
	if (call_read_process(c, f->tid) < 0)
		return "unable to read arguments or environment";
	if (!grant_script(g, f, c))
		return "a script by another path than the one checked";
	argv = (struct policy_argv){.v = c->argv, .n = c->argc};
	if (!policy_match_exec_stop(p, f->row, f->row->mapped, argv) ||
	    !argv_as_judged(f, c))
		return "other arguments than those checked";
	for (size_t i = 0; i < c->envc; i++) {
		size_t name_len = strcspn(c->envp[i], "=");

		if (!env_permits(g->order.env, c->envp[i], strlen(c->envp[i])) &&
		    (c->envp[i][name_len] == 0 ||
			!policy_exec_env(p, f->row, c->envp[i], name_len)))
			return "another environment than the one checked";
	}
	/* Every variable and the directory: everything that the user approved. */
	if (f->subject.set && (ask_rest(c, f->tid, rest) < 0 ||
				  memcmp(rest, f->subject.rest, sizeof(rest)) != 0))
		return "another environment or directory than the one approved";
	return grant_stands(g, f, c);
}

static void
stop_kill(struct gate *g, struct flight *f, const char *reason)
{
	const struct policy *p = g->order.policy;
	struct verdict v = {.verdict = VERDICT_DENY, .row = f->row, .reason = reason};

	g->call->caller = f->caller;
	g->call->tid = f->tid;
	kin_of(g, g->call);
	v.program = f->row ? policy_str(p, p->image[f->row->asked].path) : "";
	verdict_tell(g, &v); /* while the process that waits for its end still waits */
	/* syscalls: kill */
	(void)kill(f->tid, SIGKILL); /* stopped by us, so it exists */
	flight_event(g, f, EXEC_DIFFERS);
	/* The process is dead already; the recorder detects a lost record as a gap. */
	(void)grant_record(g, f->tid, g->call, &v, "killed");
}

static void
stop_exec(struct gate *g, pid_t pid)
{
	struct flight *f = NULL;
	unsigned long old = 0;
	const char *reason;

	if (ptrace(PTRACE_GETEVENTMSG, pid, NULL, &old) == 0)
		f = flight_of_thread(g, (pid_t)old);
	if (!f) {
		(void)kill(pid, SIGKILL); /* no such exec was allowed */
		return;
	}
	f->tid = f->tgid = pid;
	/* No other thread of the group is left.  A leader ends without a report to its
	 * tracer, so its flight would never end. */
	for (size_t i = g->flight_n; i-- > 0;) {
		struct flight *o = &g->flight[i];

		if (o == f || o->tgid != pid)
			continue;
		if (f == &g->flight[g->flight_n - 1])
			f = o; /* the last one fills the gap */
		flight_drop(g, o);
	}
	reason = differs(g, f, g->call);
	if (!reason) {
		flight_event(g, f, EXEC_SAME);
		kin_exec(g, pid, f->row->mapped);
		let_go(g, f, 0);
	} else if (ptrace(PTRACE_GETEVENTMSG, pid, NULL, &old) < 0) {
		flight_event(g, f, EXEC_FAILED); /* it was killed while we looked */
	} else {
		stop_kill(g, f, reason);
	}
	call_wipe(g->call);
}

/*
 * Any other stop is on the way back to user mode: the exec has failed (a successful
 * one first stops at EVENT_EXEC).  A pending signal is delivered with the detach.
 * The kernel resumes a group stop.
 */
static void
stop_other(struct gate *g, pid_t tid, int status)
{
	struct flight *f = flight_of_status(g, tid);
	int sig = status >> 16 == PTRACE_EVENT_STOP ? 0 : WSTOPSIG(status);

	if (!f) {
		(void)ptrace(PTRACE_DETACH, tid, NULL, (void *)(intptr_t)sig);
		return;
	}
	flight_event(g, f, EXEC_FAILED);
	ask_keep(g, f->tgid, &f->subject);
	f->tid = tid;
	let_go(g, f, sig);
}

/* A leader's status comes last: with it, its whole group is gone.  True if only we
 * wait for this thread. */
static bool
ended(struct gate *g, pid_t pid)
{
	struct flight *f = flight_of_thread(g, pid);
	bool thread = f && f->tgid != pid;

	while ((f = flight_of_status(g, pid)) != NULL) {
		flight_event(g, f, EXEC_REAPED);
		flight_drop(g, f);
	}
	return thread;
}

int
gate_reap(struct gate *g, gate_reaped_fn *other, void *arg)
{
	for (;;) {
		int status;
		/* syscalls: wait4 waitid */
		pid_t pid = waitpid(-1, &status, __WALL | WNOHANG);

		if (pid < 0 && errno == EINTR)
			continue;
		if (pid <= 0)
			break; /* none now, or no child at all */
		if (!WIFSTOPPED(status)) {
			if (!ended(g, pid) && other)
				other(arg, pid, status);
		} else if (status >> 16 == PTRACE_EVENT_EXEC) {
			stop_exec(g, pid);
		} else {
			stop_other(g, pid, status);
		}
	}
	held_run(g);
	return 0;
}

/* A leader that ended before its group stays a zombie without a status until the last
 * thread is gone; its exec is over nevertheless. */
static bool
is_dead(pid_t tid)
{
	char path[64], text[512];
	const char *p;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", tid);
	/* syscalls: openat read */
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return true;
	n = read(fd, text, sizeof(text) - 1);
	fd_close(&fd);
	if (n <= 0)
		return true;
	text[n] = '\0';
	p = strrchr(text, ')');
	return p && (strncmp(p, ") Z", 3) == 0 || strncmp(p, ") X", 3) == 0);
}

void
flight_tick(struct gate *g, pid_t tgid)
{
	struct flight *f = flight_of_thread(g, tgid);

	if (!f || f->state == EXEC_OVER || f->tgid != tgid || ++f->ticks < LEADER_TICKS)
		return;
	f->ticks = 0;
	if (is_dead(tgid))
		flight_event(g, f, EXEC_LEADER_DEAD);
}
