/*
 * How kennel-recorder is started: the descriptors that it is given and the name of its
 * socket (startup.c).  connect.c, which starts it, includes this too.
 */
#ifndef KENNEL_SUPERVISOR_AUDIT_RECORDER_STARTUP_H
#define KENNEL_SUPERVISOR_AUDIT_RECORDER_STARTUP_H

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

struct writer;

enum {
	RECORDER_FD_FIRST = 3,
	RECORDER_FD_LISTENER = 3,
	RECORDER_FD_LOCK = 4, /* flock held; never touched; closed at process exit */
	RECORDER_FD_LOG_DIR = 5,
	RECORDER_FD_RUN_DIR = 6,
	RECORDER_FD_KEPT = 7, /* directory of kept checkpoints; closed: unavailable */
	RECORDER_FDS = 5,
};
#define RECORDER_NAME_MAX 64

/* Disk space that a recorder keeps for the records that report a full disk. */
#define RECORDER_RESERVE_NAME "audit.reserve"
#define RECORDER_RESERVE_LEN  (256u << 10) /* a transaction's pages, with a margin */

/* Name of the socket in the run directory: one per log, whatever its path. Inline,
 * because the two programs that need it share no other object file. */
static inline int
recorder_socket_name(int log_dir, char ret[RECORDER_NAME_MAX])
{
	struct stat st;

	if (fstat(log_dir, &st) < 0)
		return -errno;
	(void)snprintf(ret, RECORDER_NAME_MAX, "recorder-%llx-%llx.sock",
	    (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
	return 0;
}

/* Checks that connect.c made the descriptors; otherwise ends the process. *ret_kept is
 * RECORDER_FD_KEPT, or -1. */
void given_check(int *ret_kept);
/* Applies Landlock and the seccomp filter of this program; on failure ends the
 * process. */
void given_confine(int kept);
/* Fills in the recorder as the writer of its own records. */
void given_name(struct writer *ret);

#endif
