/*
 * Starts a server by name: policy, recorder, leash. Shared by "kennel run" and
 * "kennel exec", because a second way to launch would sooner or later omit a check.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "leash/audit/writer.h"
#include "policy/sealed/policy.h"
#include "shim/base/array.h"
#include "shim/base/confine.h"
#include "shim/base/fd.h"
#include "shim/base/hex.h"
#include "shim/base/log.h"
#include "supervisor/approve/approve.h"
#include "supervisor/audit/audit.h"
#include "supervisor/audit/kept/kept_checkpoint.h"
#include "supervisor/audit/log/kept_payloads.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/base/paths.h"
#include "supervisor/launch/launch.h"
#include "supervisor/launch/leash_client.h"
#include "supervisor/launch/regrant.h"
#include "supervisor/launch/policy_watch.h"
#include "supervisor/launch/starter.h"

#include "kennel_syscalls.h"

#define SESSION_ID_CAP   17
#define RECORDER_WAIT_MS 5000
#define RECORDER_TRIES   5
#define REFUSAL_WAIT_MS  1000
#define FILES_ENOUGH     65536 /* secret helpers inherit it, and some iterate up to it */
#define START_MARGIN_MS  15000 /* secret helpers take up to ten seconds each */

static int
draw_session(char out[SESSION_ID_CAP])
{
	uint8_t raw[8];

	/* syscalls: getrandom */
	if (getrandom(raw, sizeof(raw), 0) != (ssize_t)sizeof(raw))
		return -EIO;
	(void)hex_put(out, raw, sizeof(raw));
	return 0;
}

/* Finds the audit log's place and creates its directories, and the log directory of
 * servers. */
static int
make_places(struct opened *o, char *why)
{
	static char recorder[PATH_MAX + 64]; /* the other paths are valid until the end */
	const char *audit = paths_audit_dir(), *run = paths_run_dir();
	const char *log = paths_log_dir();
	int r;

	if (audit == NULL || run == NULL || log == NULL) {
		(void)snprintf(why, LEASH_TEXT_MAX, "%.4000s", paths_why());
		return -ENOENT;
	}
	(void)snprintf(
	    recorder, sizeof(recorder), "%s", paths_libexec("kennel-recorder"));
	o->place = (struct audit_place){audit, run, recorder};
	r = fd_make_dirs(audit);
	if (r == 0)
		r = fd_make_dirs(run);
	if (r == 0)
		r = fd_make_dirs(log);
	if (r == 0) {
		o->log_dir_fd = open(log, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		r = o->log_dir_fd < 0 ? -errno : 0;
	}
	if (r < 0)
		(void)snprintf(why, LEASH_TEXT_MAX,
		    "unable to create %s, %s, %s: %s; set KENNEL_HOME elsewhere", audit,
		    run, log, strerror(-r));
	return r;
}

/*
 * Opens our own connection first: while it is open, the recorder does not exit as
 * unused, so that the leash's connection, opened next, is accepted. A recorder that
 * is just exiting sends no WELCOME; then the next attempt finds a new one.
 */
int
open_report(struct opened *o)
{
	int r = -EPIPE;

	for (int i = 0; r == -EPIPE && i < RECORDER_TRIES; i++) {
		int sock = -1;

		r = audit_connect(&o->place, RECORDER_WAIT_MS, &sock);
		if (r < 0)
			return r;
		r = o->report == NULL ? report_open(sock, REPORT_SUPERVISOR, o->session,
					    RECORDER_WAIT_MS, &o->report)
				      : report_replace(o->report, sock, RECORDER_WAIT_MS);
	}
	return r;
}

int
open_recorder(int *ret_fd, char why[LEASH_TEXT_MAX])
{
	struct opened o = {.log_dir_fd = -1};
	char reason[AUDIT_WRITE_WHY_MAX];
	int r = make_places(&o, why);

	fd_close(&o.log_dir_fd);
	if (r < 0)
		return r;
	r = audit_connect(&o.place, RECORDER_WAIT_MS, ret_fd);
	if (r < 0)
		(void)snprintf(why, LEASH_TEXT_MAX, "%s",
		    audit_write_why(o.place.log_dir, r, reason)); /* fits */
	return r;
}

/* Where the leash finds the keeper and counts plugin failures; passed if a secret or a
 * refresh token comes from them. */
static const char *
run_at(const struct opened *o)
{
	static char out[PATH_MAX + 16];
	struct sealed_range rows = o->found.server->secrets;
	bool needed = (o->found.server->flags & SERVER_LOGIN) != 0;

	for (uint32_t i = rows.first; !needed && i < rows.first + rows.n; i++)
		needed = o->found.policy.secret[i].source == SOURCE_VAULT ||
			 o->found.policy.secret[i].source == SOURCE_PLUGIN;
	if (!needed)
		return NULL;
	(void)snprintf(out, sizeof(out), "KENNEL_RUN_AT=%s", o->place.run_dir);
	return out;
}

/* Where the leash finds the fingerprint key; creates the directory. Passed if there
 * is a secret. */
static const char *
trace_at(const struct opened *o)
{
	static char out[PATH_MAX + 16];
	const char *folder = paths_vault_dir();

	if (o->found.server->secrets.n == 0 || folder == NULL)
		return NULL;
	(void)fd_make_dirs(folder); /* the leash reports an error */
	(void)snprintf(out, sizeof(out), "KENNEL_TRACE_AT=%s", folder);
	return out;
}

/* Records the policy and its origin, before the leash's own records, which refer to
 * it. It is on disk together with the first of those that waits for the disk. */
static int
record_policy(struct opened *o, const struct open_order *order)
{
	struct event e; /* not static: the stack of a start is given back */

	event_begin(&e, EVENT_POLICY);
	event_identity(
	    &e, policy_str(&o->found.policy, o->found.server->name), o->found.policy.id);
	policy_found_record(&o->found, &e);
	launcher_record(&e, order->caller);
	if (order->purpose != NULL)
		event_text(&e, KEY_PURPOSE, order->purpose);
	event_text(&e, KEY_OUTCOME,
	    policy_found_keep(&o->found, o->place.log_dir) ? "kept" : "not kept");
	return report_send(o->report, &e, EVENT_FLOW, NULL);
}

static int
launch(struct opened *o, const struct open_order *order, struct child_order *child,
    char why[LEASH_TEXT_MAX], int *ret_status)
{
	static struct asked_approve approve; /* large */
	uint64_t ms = policy_limit(&o->found.policy, o->found.server, TIMEOUT_START) +
		      START_MARGIN_MS;
	bool asks = false;
	int r = asked_approves(&o->found, &approve, &asks, why);

	if (r < 0) {
		*ret_status = r == -EPERM ? EXIT_CONFIG : EXIT_INPUT;
		return r;
	}
	o->factor = approve.factor;
	child->approve = asks ? approve.of : NULL;
	child->format = approve.format;
	return asks ? asked_launch(o, child, order, ms, ret_status, why)
		    : child_launch(child, (int)ms, &o->child, ret_status, why);
}

static bool
recorder_gone(const struct opened *o)
{
	struct pollfd p = {.fd = report_fd(o->report), .events = POLLIN};

	return p.fd < 0 || (poll(&p, 1, 0) == 1 && (p.revents & POLLHUP) != 0);
}

/* For child_spawn to come next: the paths are valid until the next ones are asked for. */
static struct child_order
order_of(const struct opened *o)
{
	return (struct child_order){.leash = paths_libexec("kennel-leash"),
	    .policy = &o->found.policy,
	    .server = o->found.server,
	    .policy_fd = o->found.fd,
	    .recorder_fd = -1,
	    .log_dir_fd = o->log_dir_fd,
	    .run_at = run_at(o),
	    .trace_at = trace_at(o),
	    .session = o->session,
	    .mode = o->one_call ? LEASH_CALL : o->mode,
	    .copy = o->copy,
	    .placeholders = o->placeholders};
}

static int
spawn_leash(struct opened *o, const struct child_order *order, char why[LEASH_TEXT_MAX])
{
	int r = child_spawn(order, &o->child);

	if (r < 0)
		(void)snprintf(why, LEASH_TEXT_MAX, "unable to start the leash");
	return r;
}

/* Returns this error. */
static int
no_log(const struct opened *o, int error, char why[LEASH_TEXT_MAX])
{
	char reason[AUDIT_WRITE_WHY_MAX];

	(void)snprintf(why, LEASH_TEXT_MAX,
	    "unable to write the audit log in %s: %s; nothing was started",
	    o->place.log_dir, audit_write_why(o->place.log_dir, error, reason));
	return error;
}

static int
start_child(struct opened *o, const struct open_order *given, bool stale,
    char why[LEASH_TEXT_MAX], int *ret_status)
{
	struct child_order order = order_of(o);
	char reason[AUDIT_WRITE_WHY_MAX];
	int r;

	order.argv = given->argv;
	order.argc = given->argc;
	order.resolved = given->resolved;
	order.refused = &o->refused;
	order.stale = stale;
	/* Needs only the policy, and starts up while we find the recorder. A leash
	 * does nothing without its order. */
	r = spawn_leash(o, &order, why);
	if (r < 0)
		return r;
	r = open_report(o);
	if (r == 0)
		r = record_policy(o, given);
	if (r == 0)
		r = audit_connect(&o->place, RECORDER_WAIT_MS, &order.recorder_fd);
	if (r < 0)
		return no_log(o, r, why);
	r = launch(o, given, &order, why, ret_status);
	fd_close(&order.recorder_fd);
	/* the leash knows only that its records are not kept */
	if (r < 0 && recorder_gone(o) && audit_write_test(o->place.log_dir, reason) < 0)
		(void)snprintf(
		    why + strlen(why), LEASH_TEXT_MAX - strlen(why), " (%s)", reason);
	return r;
}

int
start_again(struct opened *o, const char *file, bool *ret_asks, char why[LEASH_TEXT_MAX])
{
	static struct asked_approve approve; /* large */
	struct child_order order;
	int r = self_protect_check(&o->found, file, &o->place, why, LEASH_TEXT_MAX);

	if (r == 0)
		r = asked_approves(&o->found, &approve, ret_asks, why);
	if (r < 0)
		return r;
	order = order_of(o);
	order.approve = *ret_asks ? approve.of : NULL;
	order.format = approve.format;
	r = spawn_leash(o, &order, why);
	if (r < 0)
		return r;
	r = audit_connect(&o->place, RECORDER_WAIT_MS, &order.recorder_fd);
	if (r < 0)
		(void)no_log(o, r, why);
	else if ((r = child_order(&order, &o->child)) < 0)
		(void)snprintf(why, LEASH_TEXT_MAX, "lost the leash: %s", strerror(-r));
	if (r < 0)
		child_free(&o->child);
	fd_close(&order.recorder_fd);
	return r;
}

/*
 * Records a start that failed before a leash could record it: no policy, one that
 * does not compile or load, no leash. If the log is unreachable too, reports the
 * original error to the user first.
 */
static void
record_refusal(
    struct opened *o, const struct open_order *order, int status, const char *why)
{
	static struct event e;
	uint64_t number = 0;
	char other[LEASH_TEXT_MAX];

	if (o->session[0] == '\0' && draw_session(o->session) < 0)
		return;
	if (o->report == NULL && (make_places(o, other) < 0 || open_report(o) < 0))
		return;
	event_begin(&e, EVENT_REFUSED);
	if (o->found.server != NULL)
		event_identity(&e, order->name, o->found.policy.id);
	else
		event_text(&e, KEY_SERVER, order->name);
	event_text(&e, KEY_MODE, order->mode == LEASH_RUN ? "run" : "exec");
	if (order->argc > 0)
		event_text(&e, KEY_PROGRAM, order->argv[0]);
	event_text(&e, KEY_VERDICT, "deny");
	event_text(&e, KEY_REASON, why);
	event_number(&e, KEY_STATUS, (uint64_t)status);
	launcher_record(&e, order->caller);
	if (order->purpose != NULL)
		event_text(&e, KEY_PURPOSE, order->purpose);
	if (report_send(o->report, &e, EVENT_GATE, &number) < 0 ||
	    report_wait(o->report, number, REFUSAL_WAIT_MS) < 0)
		log_warn("unable to record that the start was refused");
}

/* The kernel counts descriptors in flight between processes per user, and a process may
 * pass none if its limit is below that count. A server of the same user could otherwise
 * block every further start (tested). */
static void
room_for_descriptors(void)
{
	struct rlimit files;

	/* early: prlimit64 */
	if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < FILES_ENOUGH) {
		files.rlim_cur =
		    files.rlim_max < FILES_ENOUGH ? files.rlim_max : FILES_ENOUGH;
		(void)setrlimit(RLIMIT_NOFILE, &files); /* then passing them fails */
	}
}

/* A session has one process for all calls; `kennel exec` starts its own, and the hub decides
 * which calls get one. The leash refuses, and records, a secret that is approved per call. */
static int
oneshot_check(const struct open_order *order, const struct policy_found *f, char *why,
    int *ret_status)
{
	enum policy_oneshot oneshot = ONESHOT_NO;
	char at[256];
	int r;

	if (order->mode != LEASH_RUN || order->one_call || order->hub != 0)
		return 0;
	r = asked_oneshot(f, &oneshot, why);
	if (r < 0)
		*ret_status = r == -EPERM ? EXIT_CONFIG : EXIT_INPUT;
	if (r < 0 || oneshot != ONESHOT_STATED)
		return r;
	*ret_status = EXIT_CONFIG;
	(void)snprintf(why, LEASH_TEXT_MAX,
	    "server `%s` (%s) is `oneshot`: each call needs its own process, but `kennel "
	    "run` starts one for all calls of a session; use `kennel serve`",
	    order->name,
	    policy_at(&f->policy, f->server->at, at, sizeof(at))); /* may be truncated */
	return -EPERM;
}

static struct opened
opened_of(const struct open_order *order)
{
	return (struct opened){.found = {.fd = -1},
	    .log_dir_fd = -1,
	    .starter = -1,
	    .watch = -1,
	    .loop = order->loop,
	    .mode = order->mode,
	    .hub = order->hub,
	    .one_call = order->one_call && order->mode == LEASH_RUN,
	    .copy = order->copy,
	    .placeholders = order->placeholders,
	    .child = CHILD_NONE};
}

/* session: "", then that of this attempt; or that of the attempt before, after
 * *ret_granted: it failed, and has a grant now that it did not have. */
static int
open_once(const struct open_order *order, char session[SESSION_ID_CAP],
    struct opened *ret, char why[LEASH_TEXT_MAX], bool *ret_granted)
{
	bool again = session[0] != '\0';
	int status = EXIT_FAILED, r = 0;

	*ret = opened_of(order);
	why[0] = '\0';
	/* before the first secret in the environment could be in a core dump */
	if (confine_core() < 0) {
		(void)snprintf(why, LEASH_TEXT_MAX, "unable to forbid dumps");
		return EXIT_FAILED;
	}
	status =
	    order->found != NULL
		? policy_found_copy(order->found, &ret->found, why, LEASH_TEXT_MAX)
		: find_policy(order->file, order->name, &ret->found, why, LEASH_TEXT_MAX);
	if (status != 0)
		goto out;
	status = EXIT_FAILED;
	r = oneshot_check(order, &ret->found, why, &status);
	if (r < 0)
		goto out;
	/* A leash inherits no_new_privs, and newuidmap, which it may start, works
	 * only without. open_confine() sets it later. */
	if (policy_require(&ret->found.policy, ret->found.server, REQUIRE_SUBUID) == NULL)
		r = confine_no_dumps();
	room_for_descriptors();
	if (r == 0 && !again)
		r = draw_session(session);
	memcpy(ret->session, session, SESSION_ID_CAP);
	if (r == 0 && (r = make_places(ret, why)) == 0) {
		r = self_protect_check(
		    &ret->found, order->file, &ret->place, why, LEASH_TEXT_MAX);
		status = r == 0 ? EXIT_FAILED : EXIT_CONFIG;
	}
	if (r == 0)
		r = start_child(
		    ret, order, !again && regrant_possible(&ret->found), why, &status);
	if (r == 0)
		return 0;
out:
	*ret_granted = r == -ESTALE && !again && regrant(ret, order->file);
	/* -ECONNREFUSED: the leash refused, and recorded it */
	if (r != -ECONNREFUSED && !*ret_granted)
		record_refusal(ret, order, status, why);
	opened_free(ret);
	return status;
}

int
open_server(const struct open_order *order, struct opened *ret, char why[LEASH_TEXT_MAX])
{
	char session[SESSION_ID_CAP] = "";
	bool granted = false;
	int status = open_once(order, session, ret, why, &granted);

	return granted ? open_once(order, session, ret, why, &granted) : status;
}

int
opened_payloads(const struct opened *o, struct payloads **ret)
{
	const struct sealed_range *audits = &o->found.server->audits;
	uint32_t flags = 0;

	for (uint32_t i = 0; i < audits->n; i++)
		flags |= o->found.policy.audit[audits->first + i].flags;
	if ((flags & (AUDIT_ARGS_FULL | AUDIT_RESULT_FULL)) == 0)
		return 0;
	return payloads_open(o->place.log_dir, true, ret);
}

void
opened_free(struct opened *o)
{
	child_free(&o->child);
	starter_end(o);
	policy_watch_end(o);
	close_person_sockets(o);
	report_free(o->report);
	o->report = NULL;
	fd_close(&o->log_dir_fd);
	policy_found_free(&o->found);
}

int
open_signals(int *ret_fd)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return -errno;
	(void)signal(SIGPIPE, SIG_IGN); /* cannot fail: valid signal */
	/* syscalls: signalfd4 */
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}

int
opened_recorder(struct opened *o)
{
	int fd = -1;
	int r = audit_connect(&o->place, RECORDER_WAIT_MS, &fd);

	if (r == 0)
		r = child_recorder(&o->child, fd);
	fd_close(&fd);
	return r;
}

/*
 * Remaining rights: kennel's own helpers may be started (a restarted recorder
 * inherits this confinement, so its calls are in our list), and the log and socket
 * directories.
 */
void
open_confine(struct opened *o)
{
	char kept[PATH_MAX];
	struct {
		const char *path;
		unsigned int may;
	} paths[] = {
	    {paths_libexec(""), CONFINE_READ | CONFINE_EXEC},
	    {o->place.log_dir, CONFINE_READ | CONFINE_WRITE},
	    {o->place.run_dir, CONFINE_READ | CONFINE_WRITE},
	    {"/dev/null", CONFINE_READ | CONFINE_WRITE},
	    {"/proc", CONFINE_READ},
	    {kept, CONFINE_READ | CONFINE_WRITE},
	};
	struct confine_path may[ARRAY_LEN(paths)];
	size_t n = ARRAY_LEN(paths);
	int r = 0;

	/* the last moment: a confined process cannot read what is watched */
	r = policy_watch_fork(o);
	if (r < 0)
		die("unable to watch the signed policies: %s", strerror(-r));
	(void)snprintf(kept, sizeof(kept), "%s" KEPT_DIR_TAIL, o->place.log_dir);
	for (size_t i = 0; i < n; i++) {
		may[i].fd = open(paths[i].path, O_PATH | O_CLOEXEC);
		may[i].may = paths[i].may;
		/* the last may be missing: a recorder runs without it (connect.c) */
		if (may[i].fd < 0 && paths[i].path == kept && i == n - 1)
			n--;
		else if (may[i].fd < 0)
			die("unable to open %s: %s", paths[i].path, strerror(errno));
	}
	r = confine_paths(may, n);
	for (size_t i = 0; i < n; i++)
		fd_close(&may[i].fd);
	if (r < 0)
		die("unable to confine kennel's files: %s", strerror(-r));
	r = confine_syscalls(kennel_syscalls, ARRAY_LEN(kennel_syscalls));
	if (r < 0)
		die("unable to confine kennel's system calls: %s", strerror(-r));
}
