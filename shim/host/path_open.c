/*
 * Opens files by path_resolve, and explains refused links.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "shim/host/path_open.h"
#include "shim/host/path_resolve.h"

#define READ_FLAGS (O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)

int
path_open(const char *path, int *ret_fd)
{
	char real[PATH_MAX];

	return path_open_named(path, real, ret_fd);
}

int
path_open_in(int dir, const char *path, int *ret_fd)
{
	const char *slash = strrchr(path, '/');
	int fd = openat(dir, slash != NULL ? slash + 1 : path, READ_FLAGS | O_NOFOLLOW);

	if (fd < 0)
		return errno == ELOOP ? path_open(path, ret_fd) : -errno;
	*ret_fd = fd;
	return 0;
}

int
path_reopen(int fd)
{
	char link[32];
	int r;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd); /* it fits */
	r = open(link, READ_FLAGS);                                 /* syscalls: openat */
	return r < 0 ? -errno : r;
}

int
path_open_named(const char *path, char ret_real[PATH_MAX], int *ret_fd)
{
	struct path_resolved p;
	int fd, r = path_resolve(path, 0, NULL, NULL, &p);

	if (r != 0)
		return r;
	fd = path_reopen(p.fd);
	fd_close(&p.fd);
	if (fd < 0)
		return fd;
	*ret_fd = fd;
	memcpy(ret_real, p.real, sizeof(p.real));
	return 0;
}

int
path_open_real(const char *real, int *ret_fd)
{
	struct open_how how = {
	    .flags = READ_FLAGS, .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
	/* early: openat2 */
	long fd = syscall(SYS_openat2, AT_FDCWD, real, &how, sizeof(how));

	if (fd < 0)
		return -errno;
	*ret_fd = (int)fd;
	return 0;
}

const char *
path_link_why(const struct path_resolved *p, int error, char *out, size_t out_cap)
{
	if (error == -EXDEV)
		(void)snprintf(out, out_cap,
		    "symbolic link %s is not followed: it is one of /proc", p->link);
	else if (error == -ELOOP && p->target[0] != '\0')
		(void)snprintf(out, out_cap,
		    "symbolic link %s is not followed: others than root can change it; "
		    "write %s, where it leads now, if that is meant",
		    p->link, p->target);
	else if (error == -ELOOP)
		(void)snprintf(out, out_cap,
		    "symbolic link %s is not followed: others than root can change it, "
		    "and it leads to nothing now",
		    p->link);
	else
		(void)snprintf(out, out_cap, "%s", strerror(-error));
	return out;
}

const char *
path_why(const char *path, int error, char *out, size_t out_cap)
{
	struct path_resolved p = {.fd = -1};
	int again = error;

	/* Resolves again: the caller has only the error number. */
	if (error == -ELOOP || error == -EXDEV)
		again = path_resolve(path, PATH_MISSING_OK, NULL, NULL, &p);
	fd_close(&p.fd);
	return path_link_why(&p, again == 0 ? error : again, out, out_cap);
}
