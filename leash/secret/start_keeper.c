/*
 * Starts the keeper if none is running.
 *
 * Process: kennel-secret.  There is one keeper per run directory, because it holds
 * keeper.lock there until it exits; and one per vault, because it holds a lock on
 * the vault's directory, too.
 *
 *	reach: not running
 *	lock keeper.lock, lock the vault's directory   held: it starts or ends; again
 *	unlink, bind, listen
 *	fork, fork, exec --------> 3 socket, 4 lock, 5 vault's directory, 6 run directory
 *	reach -------------------> waits in the backlog until it is up
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "leash/keeper/keeper.h"
#include "shim/base/detach.h"
#include "shim/base/fd.h"
#include "shim/base/loop.h"

#define RETRY_NS      2000000
#define START_WAIT_MS 10000
#define BACKLOG       64
#define LOG_BYTES     (1 << 20)
#define STARTS_MAX    3 /* a keeper that exits at once would do so again */

/* Its own log, in the vault's directory; truncated once it is too long. */
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

/* -EAGAIN: another process holds a lock.  0: one was started. */
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
		const int give[KEEPER_FDS] = {listener, lock, vault, run};
		const struct apart keeper = {.path = program,
		    .name = "kennel-keeper",
		    .give = give,
		    .give_n = KEEPER_FDS,
		    .log = log};

		r = apart_start(&keeper);
	}
	fd_close(&listener);
	fd_close(&log);
	fd_close(&lock);
	return r;
}

/* Repeats until a keeper answers, or cannot be started.  One that is just exiting
 * closes the connections that wait for it. */
int
keeper_start(const char *program, const char *run_dir, const char *vault_dir,
    const char *who, int *ret_fd, enum keeper_state *ret_state)
{
	struct timespec pause = {.tv_nsec = RETRY_NS};
	uint64_t end = loop_now() + START_WAIT_MS * LOOP_MS;
	int run = -1, vault = -1, started = 0, r;

	do {
		/* open again: this releases the lock of the attempt before */
		fd_close(&vault);
		fd_close(&run);
		r = keeper_dir(vault_dir, true, &vault);
		if (r == 0)
			r = keeper_dir(run_dir, true, &run);
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
