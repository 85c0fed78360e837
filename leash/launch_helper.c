/*
 * The programs of kennel that a leash starts, from this program's directory.
 *
 * Process: the leash, before it sandboxes itself.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "leash/launch.h"
#include "shim/base/fd.h"

#define SHIM_IMAGE_MAX (8u << 20) /* bytes */

int
helper_path(const char *name, char path[HELPER_PATH_CAP])
{
	/* early: readlink readlinkat */
	ssize_t n = readlink("/proc/self/exe", path, HELPER_PATH_CAP - 64);
	char *slash;

	if (n < 0)
		return -errno;
	path[n] = '\0';
	slash = strrchr(path, '/');
	if (slash == NULL)
		return -ENOENT;
	(void)snprintf(
	    slash + 1, (size_t)(path + HELPER_PATH_CAP - slash - 1), "%s", name);
	return 0;
}

static int
copy_sealed(int fd, int *ret_fd)
{
	struct stat st;
	void *image;
	size_t len;
	int r;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (st.st_size <= 0 || st.st_size > SHIM_IMAGE_MAX)
		return -EFBIG;
	len = (size_t)st.st_size;
	image = mmap(NULL, len, PROT_READ, MAP_PRIVATE, fd, 0);
	if (image == MAP_FAILED)
		return -errno;
	r = fd_sealed("kennel-shim", image, len, true, ret_fd);
	(void)munmap(image, len); /* cannot fail: our mapping */
	return r;
}

int
helper_shim_image(void)
{
	char path[HELPER_PATH_CAP];
	int fd, image = -1, r = helper_path("kennel-shim", path);

	if (r < 0)
		return r;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	r = copy_sealed(fd, &image);
	fd_close(&fd);
	return r < 0 ? r : image;
}
