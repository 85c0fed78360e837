/*
 * What the recorder has to say for itself: recorder.log in the log's folder,
 * since it has no terminal and its record is for the user.
 *
 * Must never: hold up the recorder, or let a stranger fill the disk.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "supervisor/audit/log/inside.h"

#define LOG_NAME      "recorder.log"
#define LOG_BYTES_MAX (1 << 20)
#define LOG_LINES_MAX 1000

static const struct store *store; /* once it is open: what SQLite said last */
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
		    LOG_NAME ".1"); /* or it grows: it is only our own log */
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
	char text[512];
	va_list ap;

	if (lines++ > LOG_LINES_MAX)
		return;
	va_start(ap, format);
	(void)vsnprintf(text, sizeof(text), format, ap); /* cut when it is long */
	va_end(ap);
	log_info("%lld: %s", (long long)time(NULL), text);
}

/* Nothing more can be promised: the writers see the end and do nothing that
 * wants a record. */
void
complain_and_end(const char *what, int error)
{
	char name[RECORDER_NAME_MAX];

	complain("unable to %s: %s (%s); no event is taken any more", what,
	    strerror(-error), store != NULL ? store_why(store) : "");
	/* if this fails, the next one finds a dead socket and removes it */
	if (recorder_socket_name(RECORDER_FD_LOG_DIR, name) == 0)
		(void)unlinkat(RECORDER_FD_RUN_DIR, name, 0); /* syscalls: unlinkat */
	_exit(LOG_EXIT_FAILED);
}
