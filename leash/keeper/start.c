/*
 * Start the keeper where none runs.
 *
 * Process: kennel-secret.  There is one keeper for a run folder because it holds
 * keeper.lock there for its life, and one for a vault because it holds a lock on
 * the vault's folder, too.
 *
 *	reach: nobody is there
 *	lock keeper.lock, lock the vault's folder    held: it starts or ends; again
 *	unlink, bind, listen
 *	fork, fork, exec --------> 3 socket, 4 lock, 5 vault's folder, 6 run folder
 *	reach -------------------> waits in the backlog until it is up
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "leash/keeper/keeper.h"
#include "shim/base/fd.h"
#include "shim/base/loop.h"

#define RETRY_NS      2000000
#define START_WAIT_MS 10000
#define BACKLOG       64
#define FD_SAFE_MIN   16 /* above every descriptor that a keeper is given */
#define LOG_BYTES     (1 << 20)
#define STARTS_MAX    3 /* one that ends at once does so again */

/* Must not return; says on report what kept it from becoming a keeper. */
static void __attribute__((noreturn))
become(const char *path, const int give[KEEPER_FDS], int log, int report)
{
	char *argv[] = {(char *)"kennel-keeper", NULL}, *envp[] = {NULL};
	int high[KEEPER_FDS], null, failed;
	sigset_t none;

	for (int i = 0; i < KEEPER_FDS; i++) {
		high[i] = fcntl(give[i], F_DUPFD, FD_SAFE_MIN);
		if (high[i] < 0)
			goto fail;
	}
	report = fcntl(report, F_DUPFD_CLOEXEC, FD_SAFE_MIN);
	log = fcntl(log, F_DUPFD_CLOEXEC, FD_SAFE_MIN);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (report < 0 || log < 0 || null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 ||
	    dup2(log, 2) < 0)
		goto fail;
	for (int i = 0; i < KEEPER_FDS; i++) {
		if (dup2(high[i], KEEPER_FD_FIRST + i) < 0)
			goto fail;
	}
	/* CLOEXEC for all others: report included */
	if (syscall(SYS_close_range, KEEPER_FD_FIRST + KEEPER_FDS, ~0u, 4) < 0)
		goto fail;
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL); /* it sets its own */
	if (chdir("/") < 0)
		goto fail;
	execve(path, argv, envp);
fail:
	failed = errno;
	/* if nobody reads it, the missing welcome says it */
	(void)!write(report, &failed, sizeof(failed));
	_exit(127);
}

/* Forked twice: it is nobody's child here and has no terminal. */
static int
spawn(const char *path, const int give[KEEPER_FDS], int log)
{
	int pipe_fd[2], failed = 0, status;
	pid_t child;
	ssize_t n;

	if (pipe2(pipe_fd, O_CLOEXEC) < 0)
		return -errno;
	child = fork();
	if (child == 0) {
		if (setsid() < 0)
			_exit(127);
		child = fork();
		if (child == 0)
			become(path, give, log, pipe_fd[1]);
		_exit(child < 0 ? 127 : 0);
	}
	fd_close(&pipe_fd[1]);
	if (child < 0) {
		fd_close(&pipe_fd[0]);
		return -EAGAIN;
	}
	do
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

/* What it says of itself, beside the vault; begun anew when it has become long. */
static int
open_log(int vault, int *ret_fd)
{
	struct stat st;
	int fd = openat(vault, "keeper.log",
	    O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    (st.st_size > LOG_BYTES && ftruncate(fd, 0) < 0)) {
		fd_close(&fd);
		return -EACCES;
	}
	*ret_fd = fd;
	return 0;
}

static int
listen_at(int run, int *ret_fd)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd, r = 0;
	mode_t mask;

	if (unlinkat(run, KEEPER_SOCKET, 0) < 0 && errno != ENOENT)
		return -errno;
	(void)snprintf(address.sun_path, sizeof(address.sun_path),
	    "/proc/self/fd/%d/" KEEPER_SOCKET, run);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	mask = umask(0177);
	if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(fd, BACKLOG) < 0)
		r = -errno;
	(void)umask(mask);
	if (r < 0)
		fd_close(&fd);
	else
		*ret_fd = fd;
	return r;
}

/* -EAGAIN: somebody else holds a lock.  0: one was started. */
static int
lock_and_start(const char *program, int run, int vault)
{
	int lock, log = -1, listener = -1, r;

	lock =
	    openat(run, "keeper.lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (lock < 0)
		return -errno;
	if (flock(lock, LOCK_EX | LOCK_NB) < 0 || flock(vault, LOCK_EX | LOCK_NB) < 0)
		r = errno == EWOULDBLOCK ? -EAGAIN : -errno;
	else
		r = open_log(vault, &log);
	if (r == 0)
		r = listen_at(run, &listener);
	if (r == 0) {
		int give[KEEPER_FDS] = {listener, lock, vault, run};

		r = spawn(program, give, log);
	}
	fd_close(&listener);
	fd_close(&log);
	fd_close(&lock);
	return r;
}

/* Until somebody answers, or it is no use.  A keeper that just ends answers
 * nobody who was still waiting. */
int
keeper_start(const char *program, const char *run_dir, const char *vault_dir,
    const char *who, int *ret_fd, enum keeper_state *ret_state)
{
	struct timespec pause = {.tv_nsec = RETRY_NS};
	uint64_t end = loop_now() + START_WAIT_MS * LOOP_MS;
	int run = -1, vault = -1, started = 0, r;

	do {
		/* opened anew: the lock of one that is tried again is let go */
		fd_close(&vault);
		fd_close(&run);
		r = keeper_folder(vault_dir, true, &vault);
		if (r == 0)
			r = keeper_folder(run_dir, true, &run);
		if (r < 0)
			break;
		r = keeper_reach(run_dir, vault, who, ret_fd, ret_state);
		if ((r != -ENOENT && r != -EPIPE && r != -EAGAIN) || started > STARTS_MAX)
			break;
		r = lock_and_start(program, run, vault);
		if (r < 0 && r != -EAGAIN)
			break;
		started += r == 0;
		(void)nanosleep(&pause, NULL);
		r = -ETIMEDOUT;
	} while (loop_now() < end);
	fd_close(&vault);
	fd_close(&run);
	return r;
}
