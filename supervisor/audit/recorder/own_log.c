/*
 * recorder.log in the log directory: the recorder's messages for developers. The
 * recorder has no terminal, and the audit log is for the user.
 *
 * Must never: block the recorder, or let an untrusted peer fill the disk.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "supervisor/audit/recorder/own_log.h"
#include "supervisor/audit/recorder/startup.h"
#include "supervisor/audit/recorder/store.h"

#define LOG_NAME      "recorder.log"
#define LOG_BYTES_MAX (1 << 20)
#define LOG_LINES_MAX 1000

static const struct store *store; /* once open: source of SQLite's last error */
static size_t lines;

void
complain_open(void)
{
	struct stat st;
	int fd;

	/* syscalls: openat newfstatat renameat */
	if (fstatat(RECORDER_FD_LOG_DIR, LOG_NAME, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    st.st_size > LOG_BYTES_MAX)
		(void)renameat(RECORDER_FD_LOG_DIR, LOG_NAME, RECORDER_FD_LOG_DIR,
		    LOG_NAME ".1"); /* else it grows: only our own log */
	fd = openat(RECORDER_FD_LOG_DIR, LOG_NAME,
	    O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		_exit(LOG_EXIT_FAILED);
	if (dup2(fd, STDERR_FILENO) < 0) /* syscalls: dup2 dup3 */
		_exit(LOG_EXIT_FAILED);
	fd_close(&fd);
	log_open("kennel-recorder", LOG_INFO);
}

void
complain_for(const struct store *opened)
{
	store = opened;
}

void
complain(const char *format, ...)
{
	char text[1024];
	va_list ap;

	if (lines++ > LOG_LINES_MAX)
		return;
	va_start(ap, format);
	(void)vsnprintf(text, sizeof(text), format, ap); /* truncated if long */
	va_end(ap);
	log_info("%lld: %s", (long long)time(NULL), text);
}

/* "1234 bytes free on the file system of DIRECTORY", for a disk that may be full. */
static void
free_text(char out[640])
{
	char link[40], path[512];
	struct statfs fs;
	ssize_t n;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", RECORDER_FD_LOG_DIR);
	n = readlink(link, path, sizeof(path) - 1); /* syscalls: readlink readlinkat */
	path[n > 0 ? n : 0] = '\0';
	out[0] = '\0';
	/* syscalls: fstatfs geteuid */
	if (fstatfs(RECORDER_FD_LOG_DIR, &fs) == 0)
		(void)snprintf(out, 640, "; %llu bytes free on the file system of %s",
		    (unsigned long long)(geteuid() == 0 ? fs.f_bfree : fs.f_bavail) *
			(unsigned long long)fs.f_bsize,
		    path);
}

/* No more acknowledgements are possible. Writers see the connection close and do
 * nothing that requires a record. */
void
complain_and_end(const char *what, int error)
{
	char name[RECORDER_NAME_MAX], room[640];

	free_text(room);
	complain("unable to %s: %s (%s)%s; no more events are accepted", what,
	    strerror(-error), store != NULL ? store_why(store) : "not open", room);
	/* on failure, the next recorder finds a dead socket and removes it */
	if (recorder_socket_name(RECORDER_FD_LOG_DIR, name) == 0)
		(void)unlinkat(RECORDER_FD_RUN_DIR, name, 0); /* syscalls: unlinkat */
	_exit(LOG_EXIT_FAILED);
}
