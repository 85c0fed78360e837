/*
 * kennel-leash: one server on its leash.
 *
 * Holds: that server's secrets, its sealed policy, its namespaces, its exec gate,
 * its stdio.  Trusts: the sealed policy as the loader checked it, and the
 * supervisor for when to start and when to end.  Must never: speak to the agent,
 * reach the network, or outlive its cell.
 *
 * One thread, one loop.  It ends when the cell is gone, every traced task is
 * reaped, and all output of the server has been passed on.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "leash/launch.h"
#include "leash/network.h"
#include "leash/private.h"
#include "leash/refresh.h"
#include "shim/base/confine.h"
#include "shim/base/fd.h"
#include "shim/base/log.h"

#define TABLE_BYTES_MIN (32 << 10)

static struct leash leash = {
    .channel = LEASH_CHANNEL_FD,
    .channel_slot = -1,
    .signals = -1,
    .signals_slot = -1,
    .log_dir = -1,
    .policy_fd = -1,
    .shim_image = -1,
    .report_slot = -1,
    .report_timer = -1,
    .scrub_timer = -1,
    .mounts_slot = -1,
    .moves_slot = -1,
    .shim_slot = -1,
    .pidfd_slot = -1,
    .grace_timer = -1,
    .gate_slot = -1,
    .out = {.in = -1, .out = -1, .in_slot = -1, .out_slot = -1},
    .err = {.in = -1, .out = -1, .in_slot = -1, .out_slot = -1},
    .server_in = {-1, -1},
    .server_out = {-1, -1},
    .server_err = {-1, -1},
    .pass_out = {-1, -1},
    .pass_err = {-1, -1},
    .cell = {.pid = -1,
	.pidfd = -1,
	.channel = -1,
	.mounts_fd = -1,
	.moves_fd = -1,
	.place_fd = -1},
};

void
leash_end(struct leash *l, const char *why)
{
	if (l->phase == PHASE_GONE)
		return;
	log_debug("ending the cell: %s", why);
	if (l->end_why == NULL)
		l->end_why = why;
	l->phase = PHASE_ENDING;
	if (l->cell_up)
		cell_kill(&l->cell);
}

/* ---- the cell ------------------------------------------------------------------ */

static void
on_reaped(void *arg, pid_t pid, int status)
{
	struct leash *l = arg;

	if (pid != l->cell.pid)
		return;
	l->pid1_reaped = true;
	l->pid1_status = status;
	/* the shim's own report, if any, is more precise: which signal */
	if (l->status < 0)
		l->status = status;
}

static void
on_gate(struct loop *loop, int fd, short revents, void *arg)
{
	struct leash *l = arg;

	l->gate_turn = (revents & POLLIN) != 0;
	if (gate_notified(l->gate, revents) == -EPIPE) {
		loop_remove(loop, l->gate_slot);
		l->gate_slot = -1;
	}
}

static void
on_pidfd(struct loop *loop, int fd, short revents, void *arg)
{
	struct leash *l = arg;

	loop_remove(loop, l->pidfd_slot);
	l->pidfd_slot = -1;
}

static void
on_signal(struct loop *loop, int fd, short revents, void *arg)
{
	struct signalfd_siginfo info[4]; /* at most one of each */
	struct leash *l = arg;
	ssize_t n;

	n = read(fd, info, sizeof(info));
	for (size_t i = 0; n > 0 && i < (size_t)n / sizeof(*info); i++)
		if (info[i].ssi_signo != SIGCHLD) {
			l->ordered = true;
			leash_end(l, "signalled");
		}
	l->signal_turn = true; /* serve() reaps */
}

/* ---- the sequence -------------------------------------------------------------- */

int
leash_watch_output(struct leash *l)
{
	int log_fd = -1, r;

	r = l->mode == LEASH_RUN ? pump_open_log(l, &log_fd, &l->err.log_len) : 0;
	if (r < 0)
		return r;
	r = pump_start(&l->out, l, l->server_out[0], l->pass_out[1], false);
	l->server_out[0] = l->pass_out[1] = -1;
	if (r == 0) {
		r = pump_start(&l->err, l, l->server_err[0],
		    l->mode == LEASH_RUN ? log_fd : l->pass_err[1], l->mode == LEASH_RUN);
		l->server_err[0] = l->pass_err[1] = -1;
	}
	return r;
}

static int
watch_all(struct leash *l)
{
	struct loop *loop = &l->loop;
	int r = cover_watch(l); /* first: it is urgent */

	if (r == 0)
		r = dispatch_add(l);
	if (r == 0)
		r = leash_watch_report(l);
	if (r == 0)
		r = l->shim_slot =
		    loop_add(loop, l->cell.channel, POLLIN, leash_on_shim, l);
	if (r >= 0)
		r = l->pidfd_slot = loop_add(loop, l->cell.pidfd, POLLIN, on_pidfd, l);
	if (r >= 0)
		r = l->gate_slot = loop_add(loop, gate_fd(l->gate), POLLIN, on_gate, l);
	if (r >= 0)
		r = network_watch(l);
	if (r >= 0)
		r = refresh_watch(l);
	if (r >= 0)
		r = l->signals_slot = loop_add(loop, l->signals, POLLIN, on_signal, l);
	if (r < 0)
		return r;
	if (l->secret_n > 0)
		leash_watch_scrubs(loop, l);
	return 0;
}

/*
 * Until the server runs there is no loop.  A termination signal, or the
 * supervisor's end (or its next message, which can only be "end"), ends the leash
 * at once, and with it the helper or the partial cell (PDEATHSIG, and the end of
 * their channel).
 */
int
leash_die_with_supervisor(struct leash *l, bool yes)
{
	struct pollfd p = {.fd = l->channel, .events = 0};
	int flags = fcntl(l->channel, F_GETFL);

	if (flags < 0 || signal(SIGIO, SIG_DFL) == SIG_ERR ||
	    fcntl(l->channel, F_SETOWN, getpid()) < 0 ||
	    fcntl(l->channel, F_SETFL, yes ? flags | O_ASYNC : flags & ~O_ASYNC) < 0)
		return -errno;
	/* A supervisor that exited before the line above sent no signal. */
	if (poll(&p, 1, 0) < 0)
		return -errno;
	return (p.revents & (POLLHUP | POLLERR)) != 0 ? -EPIPE : 0;
}

/* SIGCHLD and the termination signals arrive through the loop. */
static int
take_signals(struct leash *l)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return -errno;
	/* syscalls: signalfd4 */
	l->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return l->signals < 0 ? -errno : 0;
}

/* Takes over from above: earlier messages and signals are still pending. */
static int
watch_begin(struct leash *l)
{
	int r = take_signals(l);

	if (r == 0)
		r = leash_die_with_supervisor(l, false);
	return r == 0 ? watch_all(l) : r;
}

/* The cell is gone when PID 1 is reaped and no traced task is left. */
static bool
cell_gone(struct leash *l)
{
	if (l->pid1_reaped)
		return gate_busy(l->gate) == 0;
	return false;
}

static void
serve(struct leash *l)
{
	int r = 0;

	while (r == 0 && !cell_gone(l)) {
		/* back-pressure: a full gate receives nothing more */
		loop_events(&l->loop, l->gate_slot, gate_wants(l->gate) ? POLLIN : 0);
		leash_poll_report(l);
		l->gate_turn = l->signal_turn = false;
		r = loop_once(&l->loop, gate_wait_ms(l->gate));
		gate_tick(l->gate);
		/* A child may have died before the signal was unblocked, so every turn
		 * checks, except one that only handled a notification, whose caller is
		 * waiting. */
		if (l->signal_turn || !l->gate_turn)
			(void)gate_reap(l->gate, on_reaped, l);
	}
	if (r < 0)
		die("unable to wait for events: %s", strerror(-r));
	cover_unwatch(l);
	network_last(l);
	leash_drain(l);
}

static void
release(struct leash *l)
{
	gate_free(l->gate);
	network_end(l); /* before their cgroup is removed */
	refresh_end(l);
	if (l->cell_up)
		cell_free(&l->cell);
	pump_free(&l->out);
	pump_free(&l->err);
	scrub_free(l->scrub);
	env_free(l->env);
	vault_free(l->vault);
	report_free(l->report);
	policy_unload(&l->policy);
	fd_close(&l->policy_fd);
	fd_close(&l->shim_image);
	fd_close(&l->log_dir);
	fd_close(&l->channel);
	free(l->argv);
	free(l->memory);
}

int
main(void)
{
	static char why[LEASH_TEXT_MAX];
	struct leash *l = &leash;
	int status = LOG_EXIT_FAILED, r;

	/* Map large tables, so that untouched pages are never allocated.  The heap must
	 * keep no room for one: calloc would use that, and clear it. */
	(void)mallopt(M_MMAP_THRESHOLD, TABLE_BYTES_MIN); /* else: more memory */
	(void)mallopt(M_TOP_PAD, TABLE_BYTES_MIN / 2);    /* the same */
	log_open("kennel-leash", getenv("KENNEL_DEBUG") != NULL ? LOG_DEBUG : LOG_INFO);
	if (confine_core() < 0)
		die("unable to forbid dumps");
	/* early: close_range */
	if (syscall(SYS_close_range, LEASH_CHANNEL_FD + 1, ~0u, 0) < 0)
		die("unable to close inherited descriptors: %s", strerror(errno));
	if (fd_cloexec(l->channel, true) < 0)
		die("no supervisor on descriptor %d", LEASH_CHANNEL_FD);
	l->status = -1;
	loop_init(&l->loop);
	/* A supervisor that is gone causes a write error, not a signal. */
	(void)signal(SIGPIPE, SIG_IGN);      /* a valid signal: cannot fail */
	l->shim_image = helper_shim_image(); /* while the order is on its way */
	r = dispatch_launch(l);
	/* Only the program that maps a subordinate uid needs privileges of its own; if
	 * one is required, the leash drops them when it is sandboxed (launch.c). */
	if (r == 0 && policy_require(&l->policy, l->server, REQUIRE_SUBUID) == NULL &&
	    confine_no_dumps() < 0)
		die("unable to give up new privileges");
	if (r == 0)
		r = leash_die_with_supervisor(l, true);
	if (r == 0) {
		r = l->live ? live(l, &status, why) : launch(l, &status, why);
		if (r < 0)
			dispatch_refuse(l,
			    r == -ESTALE && l->stale ? LEASH_STALE : LEASH_REFUSED,
			    status, why);
	}
	if (r == 0 && l->live)
		status = 0;
	else if (r == 0) {
		l->phase = PHASE_RUNNING;
		r = watch_begin(l);
		if (r == 0)
			r = dispatch_started(l);
		if (r == 0)
			r = dispatch_go(l);
		if (r < 0)
			dispatch_refuse(l, LEASH_REFUSED, LOG_EXIT_FAILED,
			    "unable to let the server run");
	}
	if (r == 0) {
		confine_drop_start();
		serve(l);
		leash_record_stop(l);
		dispatch_exited(l);
		status = 0;
	}
	release(l);
	return status;
}
