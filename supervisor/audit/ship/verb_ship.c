/*
 * "kennel audit ship": starts kennel-ship, and restarts it after it lost its
 * collector. kennel itself opens no network socket.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "shim/base/array.h"
#include "shim/base/fd.h"
#include "shim/base/hex.h"
#include "shim/base/log.h"
#include "supervisor/audit/report/disclosure.h"
#include "supervisor/audit/query/query.h"
#include "supervisor/audit/query/table.h"
#include "supervisor/audit/ship/ship.h"
#include "supervisor/base/paths.h"

#define WAIT_FIRST_S 1
#define WAIT_MOST_S  30

/* Path of the position file: next to the log directory, named after the collector. */
static int
place_of(const char *log, const char *to, char ret[AUDIT_PATH_MAX])
{
	uint8_t digest[MERKLE_HASH_LEN];
	char hex[2 * MERKLE_HASH_LEN + 1], folder[AUDIT_PATH_MAX];
	int n = snprintf(folder, sizeof(folder), "%s.ship", log);

	if (n < 0 || (size_t)n >= sizeof(folder) - 64)
		return -ENAMETOOLONG;
	n = fd_make_dirs(folder);
	if (n < 0)
		return n;
	merkle_digest(to, strlen(to), digest);
	(void)snprintf(ret, AUDIT_PATH_MAX, "%.4000s/%.16s", folder,
	    hex_put(hex, digest, sizeof(digest)));
	return 0;
}

/* SIGTERM, SIGINT and SIGHUP end the shipping, which is recorded like its beginning. */
static volatile sig_atomic_t ended_by;
static volatile pid_t shipper; /* 0: none */

static void
on_end(int sig)
{
	int error = errno;

	ended_by = sig;
	if (shipper > 0)
		(void)kill(shipper, SIGTERM); /* not yet reaped: still ours */
	errno = error;
}

static const int end_signal[] = {SIGTERM, SIGINT, SIGHUP};

static void
hear_ends(sigset_t *ret_set)
{
	struct sigaction act = {.sa_handler = on_end}; /* interrupts a wait */

	(void)sigemptyset(ret_set);
	for (size_t i = 0; i < ARRAY_LEN(end_signal); i++) {
		(void)sigaddset(ret_set, end_signal[i]);
		(void)sigaction(end_signal[i], &act, NULL); /* cannot fail: known */
	}
}

static int
wait_for(pid_t child)
{
	int status;
	pid_t pid;

	do
		pid = waitpid(child, &status, 0); /* syscalls: wait4 */
	while (pid < 0 && errno == EINTR);
	shipper = 0;
	if (pid < 0)
		return ASK_FAILED;
	if (WIFSIGNALED(status) && ended_by == 0)
		log_error("kennel-ship was killed by signal %d", WTERMSIG(status));
	return WIFEXITED(status) ? WEXITSTATUS(status)
	       : ended_by != 0   ? 128 + ended_by
				 : ASK_FAILED;
}

static int
run_once(char *const give[], const char *path, const sigset_t *ends)
{
	pid_t parent = getpid(), child;
	sigset_t before;

	/* block the signals until the pid is known */
	(void)sigprocmask(SIG_BLOCK, ends, &before);
	if (ended_by != 0) {
		(void)sigprocmask(SIG_SETMASK, &before, NULL);
		return 128 + ended_by;
	}
	child = fork(); /* syscalls: clone fork vfork */
	if (child == 0) {
		for (size_t i = 0; i < ARRAY_LEN(end_signal); i++)
			(void)signal(end_signal[i], SIG_DFL);
		(void)sigprocmask(SIG_SETMASK, &before, NULL);
		/* it does not outlive the verb; syscalls: prctl */
		if (prctl(PR_SET_PDEATHSIG, SIGTERM) < 0 || getppid() != parent)
			_exit(ASK_FAILED);
		(void)execv(path, give); /* syscalls: execve */
		log_error("unable to run %s: %s", path, strerror(errno));
		_exit(ASK_FAILED);
	}
	shipper = child < 0 ? 0 : child;
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	return child < 0 ? ASK_FAILED : wait_for(child);
}

/* Not 0: a signal ended it. */
static int
rest(unsigned int seconds, const sigset_t *ends)
{
	const struct timespec wait = {.tv_sec = seconds};
	sigset_t before;

	(void)sigprocmask(SIG_BLOCK, ends, &before);
	if (ended_by == 0)
		(void)ppoll(NULL, 0, &wait, &before); /* syscalls: ppoll */
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	return ended_by;
}

/* Restarts kennel-ship whenever it loses its collector, until a signal ends it. */
static int
run(char *const give[], const char *path, bool once)
{
	unsigned int wait_s = WAIT_FIRST_S;
	sigset_t ends;

	hear_ends(&ends);
	for (;;) {
		int status = run_once(give, path, &ends);

		if (status == SHIP_ON) {
			wait_s = WAIT_FIRST_S;
			continue;
		}
		if (status != SHIP_AGAIN || once)
			return status == SHIP_AGAIN ? ASK_FAILED : status;
		if (rest(wait_s, &ends) != 0)
			return 128 + ended_by;
		wait_s = 2 * wait_s < WAIT_MOST_S ? 2 * wait_s : WAIT_MOST_S;
	}
}

/* Records the beginning and the end; the beginning before any data is sent. */
static int
record(const struct query *q, const char *outcome)
{
	struct query now = {.verb = q->verb, .log = q->log, .to_ns = INT64_MAX};
	struct handout h = {
	    .what = "ship", .to = q->argv[0], .format = q->report, .outcome = outcome};
	static struct log_view view;
	int r = 0, status = log_view_open(&now, &view);

	if (status == ASK_OK) {
		h.folder = view.folder;
		h.first = view.first;
		h.size = view.size;
		h.root = view.root;
		r = disclosure_record(&h);
	}
	log_view_close(&view);
	if (r < 0)
		log_error("audit ship: unable to record in the audit log that it %s: %s",
		    outcome, strerror(-r));
	/* kennel-ship reports an unreadable log itself, and ships nothing */
	return r;
}

int
ship_main(int argc, char **argv)
{
	const char *found = paths_libexec("kennel-ship"), *log = paths_audit_dir();
	char place[AUDIT_PATH_MAX], path[AUDIT_PATH_MAX];
	char *give[] = {(char *)"kennel-ship", NULL, place, NULL, NULL, NULL, NULL, NULL};
	struct query q;
	int status, r;

	if (options_read(argc, argv, "x1A", &q) < 0)
		return ASK_USAGE;
	if (q.argc != 1 || (q.report != NULL && export_find(q.report) == NULL)) {
		verb_complain(&q, ASK_USAGE,
		    "expected a destination: unix:PATH, unix-stream:PATH or "
		    "tcp:ADDRESS:PORT");
		return ASK_USAGE;
	}
	if (q.log != NULL)
		log = q.log;
	if (q.report == NULL)
		q.report = "jsonl";
	r = log != NULL && found != NULL ? place_of(log, q.argv[0], place) : -ENOENT;
	if (r < 0) {
		verb_complain(&q, ASK_FAILED, strerror(-r));
		return ASK_FAILED;
	}
	/* the next lookup overwrites found */
	(void)snprintf(path, sizeof(path), "%s", found);
	if (record(&q, "began") < 0)
		return ASK_FAILED;
	give[1] = (char *)log;
	give[3] = q.argv[0];
	give[4] = (char *)q.report;
	give[5] = (char *)(q.once ? "once" : "follow");
	give[6] = (char *)(q.absent ? "absent" : "present");
	status = run(give, path, q.once);
	/* already reported, and nothing is sent any more */
	(void)record(&q, status == SHIP_TWO ? "refused: two histories" : "ended");
	return status == SHIP_TWO ? ASK_TAMPERED : status;
}
