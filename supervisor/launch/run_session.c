/*
 * One session: connects one server to an agent on descriptors 0 and 1, transparently.
 * The agent of "kennel run" is its caller, that of "kennel serve" is the hub.
 *
 * Process: kennel. Holds the agent's stdio, no secret. Loop: MCP, leash, signals, log.
 *
 * The end, whatever its cause (the agent closes, a signal, the server exits): the server's
 * stdin is closed; then it gets SIGTERM, and SIGKILL within two seconds.
 *
 * A server that ends after it has answered, otherwise than with status 0, does not end the
 * session: `down` is set, and a request starts it again (restart.c). A hub does that itself.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "leash/audit/writer.h"
#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "shim/base/loop.h"
#include "supervisor/approve/approve.h"
#include "supervisor/audit/audit.h"
#include "supervisor/audit/log/kept_payloads.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/launch/failed_start.h"
#include "supervisor/launch/launch.h"
#include "supervisor/launch/leash_approvals.h"
#include "supervisor/launch/leash_client.h"
#include "supervisor/launch/policy_watch.h"
#include "supervisor/launch/restart.h"
#include "supervisor/launch/run_session.h"
#include "supervisor/launch/starter.h"
#include "supervisor/mcp/mcp.h"

#define EOF_GRACE_MS  800 /* after closing stdin, before SIGTERM */
#define TERM_GRACE_MS 400 /* after SIGTERM, before SIGKILL */
/* How long the agent may take to read remaining output: as long as it makes progress,
 * or this long in all if the session was to end. */
#define LAST_BYTES_MS        700
#define LAST_BYTES_ENDING_MS 200
#define REFUSE_WAIT_MS       20000
#define ENDS_TEXT_MAX        6144 /* failed_start_put writes 5 KB */
#define LAST_NEWS_MS         1000 /* for the leash to say how a server ended */
/* The large members are last, and in this order: most are never written. */
struct run {
	struct session *session;
	struct control *control;
	struct child_news last; /* the leash's last message, if received early */
	bool heard_last;
	struct payloads *payloads; /* NULL: the policy keeps no payloads */
	int signals, report_slot, channel_slot, end_timer;
	bool ending, gone;
	bool down; /* the server is lost to the session, which goes on */
	struct restart restart;
	bool failed_start, ended_first; /* the server, before kennel ended it */
	size_t left;                    /* bytes left for the agent at the last check */
	int status;
	struct opened_end end; /* end.why: the first cause of the session's end */
	struct loop loop;
	struct opened o;
	char lost[CAUSE_MAX];      /* how the cell's PID 1 ended, if by itself */
	char cause[ENDS_TEXT_MAX]; /* why the leash itself ended the server */
	char last_lines[LEASH_LAST_MAX + 1]; /* the end of its standard error */
	struct {
		char program[PATH_MAX], target[280], grant[512];
	} refused; /* the last of each */
};

static void watch_report(struct run *);
static void on_term(struct loop *, void *);
static void on_too_long(struct loop *, void *);
static void on_channel(struct loop *, int fd, short revents, void *);

/* Only the first cause counts, and its first line. */
static void
ends_by(struct run *u, const char *why)
{
	if (u->end.why[0] != '\0')
		return;
	(void)snprintf(
	    u->end.why, sizeof(u->end.why), "%.*s", (int)strcspn(why, "\n"), why);
}

static void
wait_for_agent(struct run *u)
{
	uint64_t ms = u->ending ? LAST_BYTES_ENDING_MS : LAST_BYTES_MS;

	u->left = session_left(u->session);
	u->end_timer = loop_timer_at(&u->loop, loop_now() + ms * LOOP_MS, on_too_long, u);
	if (u->end_timer < 0)
		loop_stop(&u->loop);
}

static void
on_too_long(struct loop *loop, void *arg)
{
	struct run *u = arg;

	if (!u->ending && session_left(u->session) < u->left)
		wait_for_agent(u);
	else
		loop_stop(loop);
}

static void
stop_when_drained(struct run *u)
{
	if (session_drained(u->session))
		loop_stop(&u->loop);
	else if (u->end_timer < 0)
		wait_for_agent(u);
}

/* The process is gone, and the session goes on. */
static void
between(struct run *u, const char *why)
{
	u->heard_last = u->failed_start = false;
	u->last_lines[0] = '\0';
	u->refused.program[0] = u->refused.target[0] = u->refused.grant[0] = '\0';
	restart_ended(&u->restart, why);
}

/* The server or its leash is gone: answers the agent's open requests. */
static void
server_gone(struct run *u, const char *why)
{
	if (u->gone)
		return;
	u->gone = true;
	loop_remove(&u->loop, u->channel_slot);
	u->channel_slot = -1;
	loop_timer_stop(&u->loop, u->end_timer);
	u->end_timer = -1;
	/* status 0: it has decided to end; lost: a part of kennel has */
	if (u->ending || (u->status == 0 && !session_server_hung(u->session)) ||
	    u->cause[0] != '\0' || u->lost[0] != '\0') {
		u->ended_first |= !u->ending;
		ends_by(u, why);
		session_give_up(u->session, why);
	} else if (!u->down && !session_outlives(u->session)) {
		u->ended_first = true;
		ends_by(u, why);
	}
	session_server_gone(u->session, why);
	if (u->down && !u->ending)
		between(u, why);
	else
		stop_when_drained(u);
}

/* Callback of the session: the server is lost. Its process may still be there. */
static void
on_session_lost(void *arg, const char *why)
{
	struct run *u = arg;

	log_debug("the server is lost: %s", why);
	u->down = true;
	if (!u->gone)
		u->end_timer = loop_timer_at(
		    &u->loop, loop_now() + EOF_GRACE_MS * LOOP_MS, on_term, u);
}

/* Callback of the session: the agent has a request for it. */
static bool
on_session_need(void *arg, char *text, size_t cap)
{
	struct run *u = arg;

	return restart_need(&u->restart, text, cap);
}

/* Callback of the restart. */
static void
on_restart(void *arg, bool runs)
{
	struct run *u = arg;
	struct child *c = &u->o.child;
	int r = 0;

	if (!runs) {
		session_down(u->session);
		return;
	}
	u->channel_slot = loop_add(&u->loop, c->channel, POLLIN, on_channel, u);
	u->gone = u->down = false;
	if (u->channel_slot >= 0)
		r = session_back(u->session, c->server_in, c->server_out);
	if (u->channel_slot < 0 || r < 0)
		die("no room for the descriptors of a server");
	c->server_in = c->server_out = -1;
}

/* The leash ended without its last message, and the server with it: this is the cause. */
static void
leash_gone(struct run *u)
{
	loop_remove(&u->loop, u->channel_slot);
	u->channel_slot = -1;
	opened_leash_gone(&u->o, &u->end);
	log_error("lost kennel-leash: %s; stopped the server", u->end.why);
	u->status = EXIT_FAILED;
	u->ending = true;
	restart_stop(&u->restart);
	server_gone(u, u->end.why);
}

static void
on_term(struct loop *loop, void *arg)
{
	struct run *u = arg;

	u->end_timer = -1;
	if (!u->gone && child_end(&u->o.child, TERM_GRACE_MS) == -EPIPE)
		leash_gone(u);
}

/* Callback of the session: the agent closed, or the session cannot continue. */
static void
on_session_end(void *arg, const char *why)
{
	struct run *u = arg;

	log_debug("session ends: %s", why);
	u->ended_first |= !u->ending && session_server_ended(u->session);
	ends_by(u, why);
	restart_stop(&u->restart);
	loop_timer_stop(&u->loop, u->end_timer);
	u->end_timer = -1;
	if (u->gone) {
		u->ended_first |= u->down && !u->ending; /* and was not needed again */
		u->down = false;
		stop_when_drained(u);
		return;
	}
	if (u->ending)
		return;
	u->ending = true;
	u->end_timer =
	    loop_timer_at(&u->loop, loop_now() + EOF_GRACE_MS * LOOP_MS, on_term, u);
}

static void
on_signal(struct loop *loop, int fd, short revents, void *arg)
{
	struct signalfd_siginfo info;
	struct run *u = arg;
	char why[32];

	while (read(fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		(void)snprintf(why, sizeof(why), "signal %u", info.ssi_signo);
		log_debug("%s", why);
		ends_by(u, why);
		if (u->gone)
			loop_stop(&u->loop);
		if (u->ending)
			continue;
		u->ending = true;
		on_term(loop, u);
	}
}

/* The server is about to end; every sign of that has this cause. */
static void
on_ends(struct run *u, const char *text, const char *reason)
{
	if (u->cause[0] != '\0')
		return;
	(void)snprintf(u->cause, sizeof(u->cause), "%.*s; stopped the server",
	    ENDS_TEXT_MAX - 64, text);
	log_error("%s", u->cause);
	ends_by(u, reason);
	session_cause(u->session, u->cause);
}

/* Callback of the watch: the signed policy may not be in force any more. */
static void
on_withdrawn(void *arg, const char *why)
{
	struct run *u = arg;

	on_ends(u, why, why);
	restart_stop(&u->restart);
	if (u->gone)
		loop_stop(&u->loop);
	u->ending = true;
	on_term(&u->loop, u);
}

/* Until the server has answered, a refusal may be why it cannot. */
static void
keep_refused(struct run *u, const struct child_news *news)
{
	const struct child_unreached *net = &news->unreached;

	if (news->type == LEASH_DENIED)
		(void)snprintf(u->refused.program, sizeof(u->refused.program), "%s",
		    news->refusal.program);
	if (news->type != LEASH_UNREACHED)
		return;
	(void)snprintf(u->refused.target, sizeof(u->refused.target), "%.250s:%u",
	    net->name, net->port);
	(void)snprintf(u->refused.grant, sizeof(u->refused.grant), "%s", net->hint);
}

/* True: this was the leash's last message. */
static bool
on_news(struct run *u, const struct child_news *news)
{
	char why[AUDIT_WRITE_WHY_MAX];
	int r;

	if (news->type == LEASH_EXITED) {
		/* its text is valid until the next message */
		(void)snprintf(u->lost, sizeof(u->lost), "%s", news->lost);
		(void)snprintf(u->last_lines, sizeof(u->last_lines), "%s", news->last);
		return true;
	}
	if (news->type == LEASH_ENDS)
		on_ends(u, news->text, news->reason);
	else if (news->type != LEASH_NEEDS_RECORDER) {
		keep_refused(u, news);
		control_news(u->control, news);
	}
	/* without an answer, the leash ends the server itself */
	else if ((r = opened_recorder(&u->o)) < 0)
		log_error("unable to restart the recorder: %s",
		    audit_write_why(u->o.place.log_dir, r, why));
	return false;
}

/* Callback of the session: before passing on an answer, it needs the leash's earlier
 * reports. The leash's last message waits, because the session is busy. */
static void
hear(void *arg)
{
	struct run *u = arg;
	struct child_news news;

	while (!u->gone && !u->heard_last && child_answer(&u->o.child, &news) == 0)
		if (on_news(u, &news)) {
			u->last = news;
			u->heard_last = true;
		}
}

/* Waits a moment for the leash's last message. False: it has not come. */
static bool
hear_exited(struct run *u)
{
	struct pollfd p = {.fd = u->o.child.channel, .events = POLLIN};
	uint64_t until = loop_now() + LAST_NEWS_MS * LOOP_MS, now;

	while (!u->gone && !u->heard_last && (now = loop_now()) < until) {
		/* syscalls: poll */
		if (poll(&p, 1, (int)((until - now) / LOOP_MS) + 1) < 0 && errno != EINTR)
			break;
		hear(u);
		if ((p.revents & (POLLHUP | POLLERR)) != 0)
			break;
	}
	return u->heard_last;
}

/* Callback of the session: the server closed its output before it answered anything. */
static void
on_failed_start(void *arg)
{
	struct run *u = arg;
	struct failed_start failed = {.policy = &u->o.found.policy,
	    .server = u->o.found.server,
	    .last = u->last_lines,
	    .program = u->refused.program,
	    .target = u->refused.target,
	    .grant = u->refused.grant};
	struct buf text;

	u->failed_start = !u->ending; /* what kennel ends has not failed */
	if (u->ending || !hear_exited(u) || u->lost[0] != '\0' || u->cause[0] != '\0')
		return;
	failed.status = u->last.status;
	buf_init(&text, sizeof(u->cause) - 1);
	if (failed_start_put(&failed, &text) == 0) {
		(void)snprintf(
		    u->cause, sizeof(u->cause), "%.*s", (int)text.len, (char *)text.data);
		failed_start_log(
		    policy_str(failed.policy, failed.server->name), u->cause);
		session_cause(u->session, u->cause);
	}
	buf_free(&text);
}

static void
on_channel(struct loop *loop, int fd, short revents, void *arg)
{
	struct child_news news;
	struct run *u = arg;
	char why[64 + CAUSE_MAX];
	int r = 0;

	if (u->heard_last)
		news = u->last;
	else
		r = child_answer(&u->o.child, &news);
	if (r == -EAGAIN)
		return;
	if (r < 0) {
		leash_gone(u);
		return;
	}
	if (!on_news(u, &news))
		return;
	u->status = exit_status(news.status);
	if (u->lost[0] != '\0') {
		log_error("%s; the server ended with it", u->lost);
		(void)snprintf(why, sizeof(why), "%s", u->lost);
		/* the cause, even if the end of output was noticed first */
		(void)snprintf(u->end.why, sizeof(u->end.why), "%s", u->lost);
	} else
		(void)snprintf(
		    why, sizeof(why), "the server ended with status %d", u->status);
	server_gone(u, why);
}

static void
on_report(struct loop *loop, int fd, short revents, void *arg)
{
	char why[AUDIT_WRITE_WHY_MAX];
	struct run *u = arg;
	int r;

	if (report_ready(u->o.report) == 0) {
		if (u->control != NULL) /* else there is no server */
			control_recorded(u->control);
		session_recorded(u->session);
		return;
	}
	loop_remove(&u->loop, u->report_slot);
	u->report_slot = -1;
	/* a recorder that connects and then writes nothing does not count */
	r = report_late(u->o.report) ? -ETIMEDOUT : open_report(&u->o);
	if (r == 0) {
		watch_report(u);
		return;
	}
	log_error("lost the audit recorder: %s; ending the session",
	    audit_write_why(u->o.place.log_dir, r, why));
	on_session_end(u, "no recorder");
}

static void
watch_report(struct run *u)
{
	u->report_slot = loop_add(&u->loop, report_fd(u->o.report), POLLIN, on_report, u);
}

static int
make_session(struct run *u)
{
	struct session_order order = {.loop = &u->loop,
	    .policy = &u->o.found.policy,
	    .server = u->o.found.server,
	    .agent_in = STDIN_FILENO,
	    .agent_out = STDOUT_FILENO,
	    .server_in = u->o.child.server_in,
	    .server_out = u->o.child.server_out,
	    .report = u->o.report,
	    .questions = u->o.questions,
	    .hub = u->o.hub != 0,
	    .keep = u->payloads == NULL ? NULL : payloads_keep,
	    .keep_arg = u->payloads,
	    .hear = hear,
	    .hear_arg = u,
	    .failed_start = on_failed_start,
	    .end = on_session_end,
	    .end_arg = u,
	    .lost = u->o.starter < 0 ? NULL : on_session_lost,
	    .need = on_session_need};
	struct control_order control = {.policy = &u->o.found.policy,
	    .server = u->o.found.server,
	    .report = u->o.report,
	    .questions = u->o.questions,
	    .child = &u->o.child,
	    .factor = u->o.factor};
	int r = session_new(&order, &u->session);

	if (r < 0)
		return r;
	u->o.child.server_in = u->o.child.server_out = -1;
	control.session = u->session;
	u->o.serving = u->session;
	u->restart = (struct restart){.loop = &u->loop,
	    .o = &u->o,
	    .session = u->session,
	    .control = &u->control,
	    .done = on_restart,
	    .arg = u,
	    .healthy_at = loop_now(),
	    .slot = -1,
	    .timer = -1};
	return control_new(&control, &u->control);
}

/* Serves until the session ends. The session is ready. */
static void
serve(struct run *u)
{
	watch_report(u);
	u->channel_slot = loop_add(&u->loop, u->o.child.channel, POLLIN, on_channel, u);
	if (u->report_slot < 0 || u->channel_slot < 0 ||
	    loop_add(&u->loop, u->signals, POLLIN, on_signal, u) < 0 ||
	    policy_watch_add(&u->o, &u->loop, on_withdrawn, u) < 0)
		die("no slot in the loop");
	while (!u->loop.stopping) {
		if (u->report_slot >= 0)
			loop_events(&u->loop, u->report_slot,
			    report_wants_write(u->o.report) ? POLLIN | POLLOUT : POLLIN);
		if (loop_once(&u->loop, -1) < 0)
			die("unable to wait for events");
		if (u->gone && (u->ending || !u->down) && session_drained(u->session))
			loop_stop(&u->loop);
	}
}

static void
run_to_the_end(struct run *u)
{
	open_confine(&u->o);
	drop_start_soon(&u->loop);
	serve(u);
	u->end.status = u->status;
	u->end.late = session_server_hung(u->session);
	u->end.crashed = u->failed_start || (u->ended_first && u->status != 0);
	control_free(u->control); /* its last records come before the end */
	u->control = NULL;
	opened_record_end(&u->o, &u->end);
}

int
run_session(const struct run_order *order)
{
	static char why[LEASH_TEXT_MAX];
	static struct run u; /* without an initializer: each page that stays 0 is free */
	int status, r;

	loop_init(&u.loop);
	u.signals = u.report_slot = u.channel_slot = u.end_timer = -1;
	u.status = EXIT_FAILED;
	/* blocked from here on: a signal during the start takes effect after it */
	if (open_signals(&u.signals) < 0)
		die("unable to set up signals");
	status = open_server(&(struct open_order){.file = order->file,
				 .name = order->name,
				 .purpose = order->purpose,
				 .found = order->found,
				 .caller = order->caller,
				 .one_call = order->one_call,
				 .hub = order->hub,
				 .approved = order->approved,
				 .copy = order->copy,
				 .placeholders = order->placeholders,
				 .mode = LEASH_RUN,
				 .argc = order->argc,
				 .argv = order->argv,
				 .loop = &u.loop,
				 .signals = u.signals},
	    &u.o, why);
	if (status != 0) {
		log_error("unable to start %s: %s", order->name, why);
		opened_refused(&u.o, why, REFUSE_WAIT_MS);
		return status;
	}
	if (u.o.child.lacks[0] != '\0')
		log_info("%s runs without: %s", order->name, u.o.child.lacks);
	if (order->hub == 0 && order->copy == 0 && restart_possible(&u.o) &&
	    starter_fork(&u.o, order->file) < 0)
		log_warn("%s will not be started again if it ends", order->name);
	open_person_sockets(&u.o);
	r = opened_payloads(&u.o, &u.payloads);
	if (r == 0)
		r = make_session(&u);
	if (r < 0)
		log_error("unable to serve %s: %s", order->name, strerror(-r));
	else
		run_to_the_end(&u);
	control_free(u.control);
	u.o.serving = NULL;
	session_free(u.session);
	close_person_sockets(&u.o);
	payloads_close(u.payloads);
	opened_last_records(&u.o);
	opened_free(&u.o);
	fd_close(&u.signals);
	return r < 0 ? EXIT_FAILED : u.status;
}
