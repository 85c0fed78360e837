/*
 * Starts a program that outlives its parent (kennel-recorder, kennel-keeper).
 *
 * Process: the one that starts it.  Gives it the named descriptors and nothing
 * else.
 */
#include "shim/base/detach.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/base/fd.h"

#define SAFE_MIN 16 /* above every descriptor that it is given */

/* The first three: /dev/null, and the log as standard error. */
static int
place_standard(int null, int log)
{
	for (int i = 0; i < APART_FIRST; i++) {
		int from = i == STDERR_FILENO && log >= 0 ? log : null;

		if (from != i && dup2(from, i) < 0) /* syscalls: dup2 dup3 */
			return -1;
	}
	return 0;
}

/* Does not return; if the program cannot start, writes the error to report. */
static void __attribute__((noreturn)) become(const struct apart *a, int report)
{
	char *argv[] = {(char *)a->name, NULL}, *envp[] = {NULL};
	int high[APART_GIVE_MAX], null, log = a->log, failed;
	sigset_t none;

	/* First out of the way, then into place: the numbers may overlap. */
	for (int i = 0; i < a->give_n; i++) {
		high[i] = fcntl(a->give[i], F_DUPFD, SAFE_MIN); /* syscalls: fcntl */
		if (high[i] < 0)
			goto fail;
	}
	report = fcntl(report, F_DUPFD_CLOEXEC, SAFE_MIN);
	if (log >= 0 && (log = fcntl(log, F_DUPFD_CLOEXEC, SAFE_MIN)) < 0)
		goto fail;
	null = open("/dev/null", O_RDWR | O_CLOEXEC); /* syscalls: openat */
	if (report < 0 || null < 0 || place_standard(null, log) < 0)
		goto fail;
	for (int i = 0; i < a->give_n; i++) {
		if (dup2(high[i], APART_FIRST + i) < 0)
			goto fail;
	}
	/* Everything else closes at the exec, report included.
	 * syscalls: close_range */
	if (syscall(SYS_close_range, APART_FIRST + a->give_n, ~0u, 4) < 0)
		goto fail;
	(void)sigemptyset(&none);
	/* if the mask cannot be set, ours stays, and the program sets its own */
	(void)sigprocmask(SIG_SETMASK, &none, NULL); /* syscalls: rt_sigprocmask */
	if (chdir("/") < 0)                          /* syscalls: chdir */
		goto fail;
	execve(a->path, argv, envp); /* syscalls: execve */
fail:
	failed = errno;
	/* if nothing reads it, the missing welcome shows the failure */
	(void)!write(report, &failed, sizeof(failed));
	_exit(127);
}

/*
 * Forks twice, so that the program is not a child of this process and has no
 * terminal.  Then reads an error, or the end of file after a successful exec.
 */
int
apart_start(const struct apart *a)
{
	int pipe_fd[2], failed = 0, status;
	pid_t child;
	ssize_t n;

	if (a->give_n < 0 || a->give_n > APART_GIVE_MAX)
		return -EINVAL;
	if (pipe2(pipe_fd, O_CLOEXEC) < 0) /* syscalls: pipe2 */
		return -errno;
	child = fork(); /* syscalls: clone fork vfork */
	if (child == 0) {
		if (setsid() < 0) /* syscalls: setsid */
			_exit(127);
		child = fork();
		if (child == 0)
			become(a, pipe_fd[1]);
		_exit(child < 0 ? 127 : 0);
	}
	fd_close(&pipe_fd[1]);
	if (child < 0) {
		fd_close(&pipe_fd[0]);
		return -EAGAIN;
	}
	do
		/* syscalls: wait4 */
		n = waitpid(child, &status, 0);
	while (n < 0 && errno == EINTR);
	do
		n = read(pipe_fd[0], &failed, sizeof(failed));
	while (n < 0 && errno == EINTR);
	fd_close(&pipe_fd[0]);
	if (n == (ssize_t)sizeof(failed))
		return -failed;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EAGAIN;
}
