/*
 * Connects to the recorder of a log, or starts one.
 *
 * Runs in kennel. There is one recorder per log, because it holds audit.lock for its
 * life. A process that starts one takes the lock first and passes it on with the
 * descriptors:
 *
 *	client				recorder
 *	connect -------------------->	running: done
 *	refused, or no socket
 *	flock audit.lock		held: it is starting or ending; try again
 *	unlink, bind, listen
 *	fork, exec ----------------->	3 socket, 4 lock, 5 log dir, 6 run dir,
 *					7 directory of kept checkpoints
 *	connect -------------------->	waits in the backlog until it runs
 *
 * A recorder that ends stops listening before it unlinks its socket. So a connection
 * that it never accepted closes without a WELCOME, and the caller tries again. The
 * lock is released only when a process ends.
 *
 * A recorder started by a confined process stays under that process's seccomp filter
 * as well. So this list includes its calls (main.c, store.c):
 * syscalls: accept4 epoll_create1 epoll_ctl epoll_wait signalfd4 setsockopt
 * syscalls: getdents64 lseek read
 * syscalls: getsockopt pread64 pwrite64 fdatasync fsync ftruncate fallocate
 * syscalls: unlink unlinkat renameat access faccessat faccessat2 fchmod fchown
 * syscalls: lstat stat fstatfs readlink shutdown sysinfo uname getcwd arch_prctl
 * syscalls: set_tid_address prlimit64 setrlimit prctl seccomp sched_getaffinity
 * syscalls: landlock_create_ruleset landlock_add_rule landlock_restrict_self
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "shim/base/detach.h"
#include "shim/base/fd.h"
#include "shim/base/loop.h"
#include "supervisor/audit/audit.h"
#include "supervisor/audit/kept/kept_checkpoint.h"
#include "supervisor/audit/recorder/startup.h"

#define RETRY_NS 2000000 /* between two checks of a recorder that starts or ends */
#define BACKLOG  128

struct reach {
	int log_dir, run_dir, lock;
	struct sockaddr_un address;
	char name[RECORDER_NAME_MAX];
};

/* ---- directories ---------------------------------------------------------- */

/* Opens a directory; refuses one that another user owns. */
static int
open_folder(const char *path, int *ret_fd)
{
	struct stat st;
	int fd, r;

	r = fd_make_dirs(path); /* syscalls: mkdir */
	if (r < 0)
		return r;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* syscalls: openat */
	if (fd < 0)
		return -errno;
	r = fstat(fd, &st) < 0 ? -errno : st.st_uid != geteuid() ? -EACCES : 0;
	/* syscalls: fchmod */
	if (r == 0 && (st.st_mode & 077) != 0 && fchmod(fd, 0700) < 0)
		r = -errno;
	if (r < 0) {
		fd_close(&fd);
		return r;
	}
	*ret_fd = fd;
	return 0;
}

static void
reach_close(struct reach *reach)
{
	fd_close(&reach->log_dir);
	fd_close(&reach->run_dir);
	fd_close(&reach->lock);
}

static int
reach_open(const struct audit_place *place, struct reach *ret)
{
	struct reach reach = {.log_dir = -1, .run_dir = -1, .lock = -1};
	int r;

	r = open_folder(place->log_dir, &reach.log_dir);
	if (r == 0)
		r = open_folder(place->run_dir, &reach.run_dir);
	if (r == 0)
		r = recorder_socket_name(reach.log_dir, reach.name);
	if (r < 0) {
		reach_close(&reach);
		return r;
	}
	/* Through the descriptor: a path may be longer than sun_path allows. */
	reach.address.sun_family = AF_UNIX;
	(void)snprintf(reach.address.sun_path, sizeof(reach.address.sun_path),
	    "/proc/self/fd/%d/%s", reach.run_dir, reach.name);
	*ret = reach;
	return 0;
}

/* ---- connecting to a running recorder --------------------------------------- */

static int
new_socket(int *ret_fd)
{
	/* syscalls: socket */
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}

static int
try_connect(const struct reach *reach, int *ret_fd)
{
	int fd = -1, r;

	r = new_socket(&fd);
	if (r < 0)
		return r;
	/* syscalls: connect */
	if (connect(fd, (const struct sockaddr *)&reach->address,
		sizeof(reach->address)) < 0) {
		r = -errno;
		fd_close(&fd);
		return r;
	}
	*ret_fd = fd;
	return 0;
}

/* ---- starting one ----------------------------------------------------------- */

/* The lock is held, so any socket at this path is dead. */
static int
start_recorder(const struct audit_place *place, struct reach *reach)
{
	int give[RECORDER_FDS], listener = -1, kept = -1, r;
	struct apart recorder = {.path = place->recorder,
	    .name = "kennel-recorder",
	    .give = give,
	    .give_n = RECORDER_FDS,
	    .log = -1};
	char path[PATH_MAX];
	mode_t mask;

	/* syscalls: unlinkat */
	if (unlinkat(reach->run_dir, reach->name, 0) < 0 && errno != ENOENT)
		return -errno;
	r = new_socket(&listener);
	if (r < 0)
		return r;
	mask = umask(0177); /* syscalls: umask */
	/* syscalls: bind listen */
	if (bind(listener, (const struct sockaddr *)&reach->address,
		sizeof(reach->address)) < 0 ||
	    listen(listener, BACKLOG) < 0)
		r = -errno;
	(void)umask(mask);
	if (r == 0) {
		give[0] = listener;
		give[1] = reach->lock;
		give[2] = reach->log_dir;
		give[3] = reach->run_dir;
		/* without it the log is written, and not compared (continues.c) */
		if ((size_t)snprintf(path, sizeof(path), "%s" KEPT_DIR_TAIL,
			place->log_dir) < sizeof(path) &&
		    open_folder(path, &kept) == 0)
			give[4] = kept;
		else
			recorder.give_n--;
		r = apart_start(&recorder);
	}
	fd_close(&listener);
	fd_close(&kept);
	return r;
}

/* -EAGAIN: another process holds the lock. 0: a recorder was started. */
static int
lock_and_start(const struct audit_place *place, struct reach *reach)
{
	int r;

	reach->lock = openat(reach->log_dir, "audit.lock",
	    O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (reach->lock < 0)
		return -errno;
	if (flock(reach->lock, LOCK_EX | LOCK_NB) < 0) /* syscalls: flock */
		r = errno == EWOULDBLOCK ? -EAGAIN : -errno;
	else
		r = start_recorder(place, reach);
	fd_close(&reach->lock);
	return r;
}

static bool
nobody_listens(int error)
{
	return error == -ENOENT || error == -ECONNREFUSED;
}

int
audit_connect(const struct audit_place *place, int wait_ms, int *ret_fd)
{
	struct timespec pause = {.tv_nsec = RETRY_NS};
	struct reach reach;
	uint64_t deadline = loop_now() + (uint64_t)(wait_ms > 0 ? wait_ms : 0) * LOOP_MS;
	int r;

	r = reach_open(place, &reach);
	if (r < 0)
		return r;
	for (;;) {
		r = try_connect(&reach, ret_fd);
		/* EAGAIN: its backlog is full, which is temporary */
		if (r == 0 || (r != -EAGAIN && !nobody_listens(r)))
			break;
		if (nobody_listens(r)) {
			r = lock_and_start(place, &reach);
			if (r < 0 && r != -EAGAIN)
				break; /* it cannot be started; waiting will not help */
			if (r == 0)
				r = try_connect(&reach, ret_fd);
			if (r == 0)
				break;
		}
		if (loop_now() >= deadline) {
			r = -ETIMEDOUT;
			break;
		}
		(void)nanosleep(&pause, NULL); /* syscalls: nanosleep clock_nanosleep */
	}
	reach_close(&reach);
	return r;
}
