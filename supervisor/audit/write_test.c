/*
 * Can the log be written?  A file in the log's directory, as large as what a recorder
 * needs before it takes the first record, and removed at once.  A recorder that ends
 * closes its connections without a reason ("Broken pipe"), and on a full disk it cannot
 * leave one in its own log either.
 *
 * Runs in kennel, also once it is confined.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "shim/base/array.h"
#include "shim/base/fd.h"
#include "supervisor/audit/audit.h"
#include "supervisor/audit/recorder/startup.h"

#define FIRST_LEN  (64u << 10) /* what a recorder writes at its start */
#define LAST_LEN   2048        /* of recorder.log: its last line */
#define LAST_AGE_S 10          /* an older line is about an earlier recorder */
#define DENIED \
	"make the directory writable for this user, or set KENNEL_HOME to another " \
	"directory; a new log begins there"

/* ---- the test ----------------------------------------------------------------------- */

/* A limit of file sizes would end this process instead of failing the write. */
static int
write_zeros(int fd, size_t len)
{
	static const uint8_t zero[4096];
	struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
	int r = 0;

	/* syscalls: rt_sigaction pwrite64 fsync */
	if (sigaction(SIGXFSZ, &ignore, &before) < 0)
		return -errno;
	for (size_t at = 0; r == 0 && at < len; at += sizeof(zero)) {
		ssize_t n = pwrite(fd, zero, sizeof(zero), (off_t)at);

		if (n != (ssize_t)sizeof(zero))
			r = n < 0 ? -errno : -ENOSPC;
	}
	if (r == 0 && fsync(fd) < 0)
		r = -errno;
	(void)sigaction(SIGXFSZ, &before, NULL); /* cannot fail: it was valid */
	return r;
}

static size_t
needed(int dir)
{
	struct stat st;

	/* syscalls: newfstatat */
	if (fstatat(dir, RECORDER_RESERVE_NAME, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    st.st_size >= (off_t)RECORDER_RESERVE_LEN)
		return FIRST_LEN;
	return FIRST_LEN + RECORDER_RESERVE_LEN;
}

static int
write_in(int dir, size_t len)
{
	char name[40];
	int fd, r;

	(void)snprintf(name, sizeof(name), "audit.test.%d", (int)getpid());
	/* syscalls: openat unlinkat getpid */
	fd =
	    openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	r = unlinkat(dir, name, 0) < 0 ? -errno : write_zeros(fd, len);
	fd_close(&fd);
	return r;
}

/* ---- the reason --------------------------------------------------------------------- */

/* Shortens a path to where its file system is mounted. */
static void
mount_point(char path[PATH_MAX])
{
	struct stat here, above;
	char up[PATH_MAX];

	if (stat(path, &here) < 0)
		return;
	for (;;) {
		char *slash;

		(void)snprintf(up, sizeof(up), "%s", path);
		slash = strrchr(up, '/');
		if (slash == NULL || up[1] == '\0')
			return;
		slash[slash == up ? 1 : 0] = '\0';
		if (stat(up, &above) < 0 || above.st_dev != here.st_dev)
			return;
		(void)snprintf(path, PATH_MAX, "%s", up);
	}
}

static void
explain(
    const char *log_dir, int dir, size_t len, int error, char why[AUDIT_WRITE_WHY_MAX])
{
	/* syscalls: readlink lstat getcwd fstatfs geteuid */
	char *real = realpath(log_dir, NULL), at[PATH_MAX];
	struct statfs fs = {0};
	uint64_t free_n;

	(void)snprintf(at, sizeof(at), "%s", real != NULL ? real : log_dir);
	free(real);
	mount_point(at);
	(void)snprintf(why, AUDIT_WRITE_WHY_MAX, "%s", strerror(-error));
	if (error == -EACCES || error == -EPERM || error == -EROFS || dir < 0 ||
	    fstatfs(dir, &fs) < 0)
		return;
	free_n =
	    (uint64_t)(geteuid() == 0 ? fs.f_bfree : fs.f_bavail) * (uint64_t)fs.f_bsize;
	(void)snprintf(why, AUDIT_WRITE_WHY_MAX,
	    "%s: the file system at %.1000s has %" PRIu64
	    " bytes free, and %zu must be written",
	    strerror(-error), at, free_n, len);
}

int
audit_write_test(const char *log_dir, char why[AUDIT_WRITE_WHY_MAX])
{
	int dir = open(log_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	size_t len = FIRST_LEN;
	int r = dir < 0 ? -errno : 0;

	if (r == 0) {
		len = needed(dir);
		r = write_in(dir, len);
	}
	if (r < 0)
		explain(log_dir, dir, len, r, why);
	fd_close(&dir);
	return r;
}

/* ---- what the recorder left --------------------------------------------------------- */

/* "kennel-recorder: TIME: TEXT", if it is new. */
static bool
last_complaint(const char *log_dir, char why[AUDIT_WRITE_WHY_MAX])
{
	char path[PATH_MAX], text[LAST_LEN + 1] = "", *line, *end;
	long then;
	ssize_t n = -1;
	off_t size;
	int fd;

	(void)snprintf(path, sizeof(path), "%s/recorder.log", log_dir);
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return false;
	size = lseek(fd, 0, SEEK_END); /* syscalls: lseek pread64 */
	if (size > 0)
		n = pread(fd, text, LAST_LEN, size > LAST_LEN ? size - LAST_LEN : 0);
	fd_close(&fd);
	if (n <= 0 || text[n - 1] != '\n')
		return false;
	text[n - 1] = '\0';
	line = strrchr(text, '\n');
	line = strstr(line != NULL ? line + 1 : text, ": ");
	if (line == NULL)
		return false;
	then = strtol(line + 2, &end, 10);
	if (strncmp(end, ": ", 2) != 0 || time(NULL) - then > LAST_AGE_S)
		return false;
	(void)snprintf(why, AUDIT_WRITE_WHY_MAX, "kennel-recorder: %.1000s", end + 2);
	return true;
}

int
audit_write_cause(const char *log_dir, int error, char why[AUDIT_WRITE_WHY_MAX])
{
	int r = 0;

	/* no test if it does not answer: a disk that is stuck would hold us too */
	if (error != -ETIMEDOUT)
		r = audit_write_test(log_dir, why);
	if (r < 0)
		return r;
	if (!last_complaint(log_dir, why))
		(void)snprintf(why, AUDIT_WRITE_WHY_MAX, "%s",
		    error == -EPIPE       ? "kennel-recorder ended"
		    : error == -ETIMEDOUT ? "kennel-recorder does not answer"
					  : strerror(-error));
	return error;
}

const char *
audit_write_fix(int error)
{
	static const struct {
		int error;
		const char *fix;
	} fixes[] = {
	    {-ENOSPC, "free space there, or set KENNEL_HOME to a directory on another "
		      "file system; a new log begins there"},
	    {-EDQUOT, "free space there, or set KENNEL_HOME to a directory on another "
		      "file system; a new log begins there"},
	    {-EFBIG, "ulimit -f unlimited"},
	    {-EACCES, DENIED},
	    {-EPERM, DENIED},
	    {-EROFS, DENIED},
	};

	for (size_t i = 0; i < ARRAY_LEN(fixes); i++)
		if (fixes[i].error == error)
			return fixes[i].fix;
	return "see recorder.log there, or set KENNEL_HOME to another directory; a new "
	       "log begins there";
}

const char *
audit_write_why(const char *log_dir, int error, char why[AUDIT_WRITE_WHY_MAX])
{
	char cause[AUDIT_WRITE_WHY_MAX];
	int r = audit_write_cause(log_dir, error, cause);

	(void)snprintf(why, AUDIT_WRITE_WHY_MAX, "%.1500s (to correct it: %s)", cause,
	    audit_write_fix(r)); /* fits: a path has at most 1000 bytes */
	return why;
}
