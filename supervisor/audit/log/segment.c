/*
 * The closed files of a log, by their names.
 *
 * Process: kennel, kennel-recorder, kennel-verify, kennel-ship.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "supervisor/audit/log/segment.h"

bool
segment_is_name(const char *name)
{
	return strlen(name) == 6 + SEGMENT_DIGITS + 3 && memcmp(name, "audit-", 6) == 0 &&
	       strspn(name + 6, "0123456789") == SEGMENT_DIGITS &&
	       strcmp(name + 6 + SEGMENT_DIGITS, ".db") == 0;
}

int
segment_list(int log_dir, char (*name)[SEGMENT_NAME_MAX], size_t *ret_n)
{
	/* syscalls: openat getdents64 lseek fstat */
	int fd = openat(log_dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	size_t n = 0;

	if (dir == NULL)
		return -errno;
	while (n < SEGMENTS_MAX && (e = readdir(dir)) != NULL) {
		if (segment_is_name(e->d_name))
			(void)snprintf(name[n++], SEGMENT_NAME_MAX, "%s", e->d_name);
	}
	(void)closedir(dir); /* read-only */
	*ret_n = n;
	return 0;
}
