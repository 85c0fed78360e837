/*
 * Descriptors.  Nothing here allocates: the shim is linked with it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/base/fd.h"

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U /* linux/memfd.h, since Linux 6.3 */
#endif
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

void
fd_close(int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		close(*fd); /* syscalls: close */
	*fd = -1;
	errno = saved;
}

int
fd_nonblock(int fd, bool on)
{
	int flags = fcntl(fd, F_GETFL); /* syscalls: fcntl */

	if (flags < 0)
		return -errno;
	flags = on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK;
	return fcntl(fd, F_SETFL, flags) < 0 ? -errno : 0;
}

int
fd_cloexec(int fd, bool on)
{
	return fcntl(fd, F_SETFD, on ? FD_CLOEXEC : 0) < 0 ? -errno : 0;
}

int
fd_write_all(int fd, const void *bytes, size_t n)
{
	const uint8_t *at = bytes;

	while (n > 0) {
		ssize_t done = write(fd, at, n); /* syscalls: write */

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -errno;
		at += done;
		n -= (size_t)done;
	}
	return 0;
}

int
fd_may_replace(const char *path)
{
	struct stat st;

	/* syscalls: newfstatat lstat */
	return lstat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode)
		   ? -EINVAL
		   : 0;
}

int
fd_sealed(const char *name, const void *bytes, size_t len, bool exec, int *ret_fd)
{
	unsigned int flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	int fd, r;

	/* syscalls: memfd_create */
	fd = memfd_create(name, flags | (exec ? MFD_EXEC : MFD_NOEXEC_SEAL));
	if (fd < 0 && errno == EINVAL) /* before Linux 6.3 */
		fd = memfd_create(name, flags);
	if (fd < 0)
		return -errno;
	r = fd_write_all(fd, bytes, len);
	if (r == 0 && fcntl(fd, F_ADD_SEALS,
			  F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0)
		r = -errno;
	if (r != 0) {
		fd_close(&fd);
		return r;
	}
	*ret_fd = fd;
	return 0;
}

int
fd_pair(int ret[2])
{
	int pair[2];

	/* syscalls: socketpair */
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	ret[0] = pair[0];
	ret[1] = pair[1];
	return 0;
}
