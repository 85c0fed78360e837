/*
 * The reader of real files: those named by `include` and `pins`, when a user
 * compiles a policy or a server starts.
 */
#include "policy/base/source.h"
#include "policy/compile/compile.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "shim/host/path_open.h"

static int
file_read(void *arg, const char *path, size_t max, char **ret_text, size_t *ret_len)
{
	struct stat st;
	int fd, r;

	r = path_open(path, &fd);
	if (r < 0)
		return r;
	/* syscalls: fstat newfstatat read lseek close */
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
const struct policy_reader policy_files_unpinned = {.read = file_read, .no_pins = true};
