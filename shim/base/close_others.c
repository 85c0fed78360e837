/*
 * Closes what a process inherited and must not keep. An object of its own, because most
 * programs never call this.
 */
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shim/base/fd.h"

int
fd_close_others(const int *keep, size_t n)
{
	unsigned int from = STDERR_FILENO + 1, next;

	do {
		next = ~0u; /* the lowest one to keep from here on */
		for (size_t i = 0; i < n; i++)
			if (keep[i] >= 0 && (unsigned int)keep[i] >= from &&
			    (unsigned int)keep[i] < next)
				next = (unsigned int)keep[i];
		/* early: close_range */
		if (next > from && syscall(SYS_close_range, from, next - 1, 0) < 0)
			return -errno;
		from = next + 1;
	} while (next != ~0u);
	return 0;
}
