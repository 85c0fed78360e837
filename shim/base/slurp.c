/*
 * fd_slurp.  Separate from fd.c because it allocates: the shim does not link
 * it.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "shim/base/fd.h"

int
fd_slurp(int fd, size_t max, char **ret_data, size_t *ret_len)
{
	size_t len = 0, cap = 0;
	char *data = NULL;
	int r = 0;

	for (;;) {
		ssize_t got;
		char *bigger;

		/* Reads one byte beyond max, to detect a longer file. */
		if (len + 1 >= cap) {
			cap = cap == 0 ? 4096 : cap * 2;
			bigger = realloc(data, cap);
			if (bigger == NULL) {
				r = -ENOMEM;
				goto out;
			}
			data = bigger;
		}
		got = read(fd, data + len, cap - len - 1);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			r = -errno;
			goto out;
		}
		if (got == 0)
			break;
		len += (size_t)got;
		if (len > max) {
			r = -EFBIG;
			goto out;
		}
	}
	data[len] = '\0';
	*ret_data = data;
	*ret_len = len;
	data = NULL;
out:
	free(data);
	return r;
}
