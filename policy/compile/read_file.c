/*
 * The reader that opens files: what `include` and `pins` name, when a policy is
 * compiled by a person or for a start.
 */
#include "policy/sealed/policy.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/base/fd.h"

static int
file_read(void *arg, const char *path, size_t max, char **ret_text, size_t *ret_len)
{
	struct stat st;
	int fd, r;

	(void)arg;
	/* syscalls: openat fstat newfstatat read lseek close */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) != 0)
		r = -errno;
	else if (!S_ISREG(st.st_mode))
		r = -EINVAL;
	else if ((st.st_mode & S_IWOTH) != 0)
		r = -EPERM;
	else
		r = fd_slurp(fd, max, ret_text, ret_len);
	fd_close(&fd);
	return r;
}

const struct policy_reader policy_files = {.read = file_read};
