/*
 * kennel-secret for a dialog of `kennel approve here`: a pinentry that asks, or a
 * notification. What is typed there goes from kennel-secret to the keeper.
 *
 * Process: kennel, which gets the answer, and never the value.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/base/paths.h"
#include "supervisor/cli/cli.h"

#define ARGS_MAX 24

/* Runs in the child. */
static void
become(const char *path, char **word, int out, int text, pid_t parent)
{
	/* a dialog must not outlive the process that reads its answer */
	if (prctl(PR_SET_PDEATHSIG, SIGTERM) == 0 && getppid() == parent &&
	    dup2(out, STDOUT_FILENO) >= 0 && fd_cloexec(text, false) == 0)
		(void)execv(path, word);
	fprintf(stderr, "kennel approve: unable to run %s: %s\n", path, strerror(errno));
	_exit(EXIT_FAILED);
}

/* The text is public: kennel has received it from a session. */
static int
open_text(const char *text, int *ret_fd)
{
	int r = fd_sealed("kennel-dialog", text, strlen(text), false, ret_fd);

	if (r == 0 && lseek(*ret_fd, 0, SEEK_SET) < 0) {
		r = -errno;
		fd_close(ret_fd);
	}
	return r;
}

int
secret_dialog_start(
    char *const *argv, const char *text, pid_t *ret_child, int *ret_answer)
{
	char *word[ARGS_MAX + 4], path[PATH_MAX], number[16];
	const char *own = paths_libexec("kennel-secret");
	int answer[2] = {-1, -1}, fd = -1, n = 0, r = 0;
	pid_t parent = getpid(), child = -1;

	if (own == NULL || strlen(own) >= sizeof(path) || secret_places() != 0)
		return -ENOENT;
	memcpy(path, own, strlen(own) + 1); /* the next call overwrites it */
	word[n++] = (char *)"kennel-secret";
	for (; *argv != NULL && n < ARGS_MAX; argv++)
		word[n++] = *argv;
	r = open_text(text, &fd);
	if (r == 0 && pipe2(answer, O_CLOEXEC) < 0)
		r = -errno;
	if (r < 0)
		goto out;
	(void)snprintf(number, sizeof(number), "%d", fd);
	word[n++] = (char *)"--text-fd";
	word[n++] = number;
	word[n] = NULL;
	(void)fflush(NULL); /* unwritten output stays with the parent */
	child = fork();
	if (child == 0)
		become(path, word, answer[1], fd, parent);
	r = child < 0 ? -errno : 0;
out:
	fd_close(&fd);
	fd_close(&answer[1]);
	if (r < 0) {
		fd_close(&answer[0]);
		return r;
	}
	*ret_child = child;
	*ret_answer = answer[0];
	return 0;
}
