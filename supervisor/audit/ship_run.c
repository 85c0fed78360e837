/*
 * "kennel audit ship": starts kennel-ship, and again when its collector was
 * gone.  kennel itself opens no socket to the world.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "supervisor/audit/ship.h"
#include "supervisor/cli/paths.h"

#define WAIT_FIRST_S 1
#define WAIT_MOST_S  30

/* Where the place is kept: beside the log's folder, by the collector's name. */
static int
place_of(const char *log, const char *to, char ret[AUDIT_PATH_MAX])
{
	uint8_t digest[CHAIN_HASH_LEN];
	char hex[2 * CHAIN_HASH_LEN + 1], folder[AUDIT_PATH_MAX];
	int n = snprintf(folder, sizeof(folder), "%s.ship", log);

	if (n < 0 || (size_t)n >= sizeof(folder) - 64)
		return -ENAMETOOLONG;
	n = fd_make_dirs(folder);
	if (n < 0)
		return n;
	chain_digest(to, strlen(to), digest);
	sheet_hex(hex, digest);
	(void)snprintf(ret, AUDIT_PATH_MAX, "%.4000s/%.16s", folder, hex);
	return 0;
}

static int
run_once(char *const give[], const char *path)
{
	int status;
	pid_t parent = getpid(), child = fork(); /* syscalls: clone fork vfork */

	if (child == 0) {
		/* it does not outlive the verb; syscalls: prctl */
		if (prctl(PR_SET_PDEATHSIG, SIGTERM) < 0 || getppid() != parent)
			_exit(ASK_FAILED);
		(void)execv(path, give); /* syscalls: execve */
		log_error("unable to run %s: %s", path, strerror(errno));
		_exit(ASK_FAILED);
	}
	if (child < 0 || waitpid(child, &status, 0) < 0) /* syscalls: wait4 */
		return ASK_FAILED;
	if (WIFSIGNALED(status))
		log_error("kennel-ship was ended by signal %d", WTERMSIG(status));
	return WIFEXITED(status) ? WEXITSTATUS(status) : ASK_FAILED;
}

int
ship_main(int argc, char **argv)
{
	const char *path = paths_libexec("kennel-ship"), *log = paths_audit_dir();
	unsigned int wait_s = WAIT_FIRST_S;
	char place[AUDIT_PATH_MAX];
	struct question q;
	int status, r;

	if (options_read(argc, argv, "x1", &q) < 0)
		return ASK_USAGE;
	if (q.argc != 1 || (q.report != NULL && export_find(q.report) == NULL)) {
		verb_complain(&q, ASK_USAGE,
		    "it wants where to: unix:PATH, unix-stream:PATH or tcp:ADDRESS:PORT");
		return ASK_USAGE;
	}
	if (q.log != NULL)
		log = q.log;
	r = log != NULL && path != NULL ? place_of(log, q.argv[0], place) : -ENOENT;
	if (r < 0) {
		verb_complain(&q, ASK_FAILED, strerror(-r));
		return ASK_FAILED;
	}
	for (;;) {
		char *give[] = {(char *)"kennel-ship", (char *)log, place, q.argv[0],
		    (char *)(q.report != NULL ? q.report : "jsonl"),
		    (char *)(q.once ? "once" : "follow"), NULL};

		status = run_once(give, path);
		if (status != SHIP_AGAIN || q.once)
			return status == SHIP_AGAIN ? ASK_FAILED : status;
		(void)sleep(wait_s); /* syscalls: clock_nanosleep nanosleep */
		wait_s = 2 * wait_s < WAIT_MOST_S ? 2 * wait_s : WAIT_MOST_S;
	}
}
