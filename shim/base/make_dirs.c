/*
 * Creates directories with their parents.  The caller lists mkdir in its own
 * syscalls note, because most programs never call this.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "shim/base/fd.h"

int
fd_make_dirs(const char *path)
{
	char part[PATH_MAX];
	size_t len = strlen(path);

	if (len == 0 || len >= sizeof(part))
		return -ENAMETOOLONG;
	/* usually the directory exists, or only the last component is missing */
	if (mkdir(path, 0700) == 0 || errno == EEXIST)
		return 0;
	if (errno != ENOENT)
		return -errno;
	memcpy(part, path, len + 1);
	for (size_t i = 1; i <= len; i++) {
		if (part[i] != '/' && part[i] != '\0')
			continue;
		part[i] = '\0';
		if (mkdir(part, 0700) < 0 && errno != EEXIST)
			return -errno;
		part[i] = path[i];
	}
	return 0;
}
