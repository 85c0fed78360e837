/*
 * Where the programs of this installation are: beside the binary that asks.
 */
#include "shim/host/install_path.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

const char *
install_prefix(void)
{
	static char dir[PATH_MAX];

	if (dir[0] == '\0') {
		/* syscalls: readlink readlinkat */
		ssize_t n = readlink("/proc/self/exe", dir, sizeof(dir) - 1);

		if (n < 0)
			return NULL;
		dir[n] = '\0';
		for (int cut = 0; cut < 2; cut++) {
			char *slash = strrchr(dir, '/');

			if (slash == NULL)
				return NULL;
			*slash = '\0';
		}
	}
	return dir;
}
