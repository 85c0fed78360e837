/*
 * Start of the recorder: checks inherited descriptors, then confines the process.
 *
 * Process: kennel-recorder, before its loop. Must never: run with a descriptor that
 * connect.c did not make, or unconfined.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recorder_syscalls.h"
#include "shim/base/array.h"
#include "shim/base/confine.h"
#include "shim/base/log.h"
#include "supervisor/audit/log/record.h"
#include "supervisor/audit/recorder/own_log.h"
#include "supervisor/audit/recorder/startup.h"

void
given_check(int *ret_kept)
{
	struct stat st;
	int listens = 0;
	socklen_t len = sizeof(listens);

	/* syscalls: getsockopt */
	if (getsockopt(RECORDER_FD_LISTENER, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) <
		0 ||
	    listens == 0 || fstat(RECORDER_FD_LOG_DIR, &st) < 0 || !S_ISDIR(st.st_mode) ||
	    fstat(RECORDER_FD_RUN_DIR, &st) < 0 || !S_ISDIR(st.st_mode))
		die("started by kennel, not by hand");
	/* before anything else is opened, which would get its number */
	*ret_kept = -1;
	if (fstat(RECORDER_FD_KEPT, &st) == 0 && S_ISDIR(st.st_mode))
		*ret_kept = RECORDER_FD_KEPT;
}

void
given_confine(int kept)
{
	const struct confine_path path[] = {
	    {RECORDER_FD_LOG_DIR, CONFINE_READ | CONFINE_WRITE},
	    {RECORDER_FD_RUN_DIR, CONFINE_WRITE},
	    {kept, CONFINE_WRITE},
	};
	int r;

	r = confine_paths(path, ARRAY_LEN(path) - (kept < 0));
	if (r < 0)
		complain_and_end("confine itself by Landlock", r);
	r = confine_syscalls(recorder_syscalls, ARRAY_LEN(recorder_syscalls));
	if (r < 0)
		complain_and_end("confine itself by seccomp", r);
}

void
given_name(struct writer *ret)
{
	uint64_t drawn;

	/* syscalls: getrandom */
	if (getrandom(&drawn, sizeof(drawn), 0) != (ssize_t)sizeof(drawn))
		complain_and_end("draw a number", -EIO);
	(void)snprintf(ret->role, sizeof(ret->role), "recorder");
	(void)snprintf(
	    ret->instance, sizeof(ret->instance), "%016llx", (unsigned long long)drawn);
	ret->pid = (uint32_t)getpid();
}
