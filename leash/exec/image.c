/*
 * Which granted file is this?  Files are known by device and inode of the
 * descriptors that the cell opened, never by a path; the descriptors stay
 * open, so an inode number cannot come back as another file.
 *
 * Process: the leash, outside the cell's namespaces.  What a path means for
 * the caller decides only whether the call may go on: the exec stop asks again
 * what is mapped, so a path that moves in between gains nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "leash/exec/flight.h"
#include "shim/base/fd.h"

#define RESOLVE_TRIES 4 /* a rename beside "..": openat2 says EAGAIN */

int
image_load(struct gate *g)
{
	g->image = calloc(g->order.image_n + 1, sizeof(*g->image));
	if (!g->image)
		return -ENOMEM;
	for (size_t i = 0; i < g->order.image_n; i++) {
		struct stat st;

		if (g->order.image_fd[i] < 0)
			continue; /* optional, and not there */
		/* syscalls: fstat newfstatat */
		if (fstat(g->order.image_fd[i], &st) < 0)
			return -errno;
		g->image[i] =
		    (struct image_key){.dev = st.st_dev, .ino = st.st_ino, .known = true};
	}
	return 0;
}

bool
image_same(const struct image_key *a, const struct image_key *b)
{
	return a->known && b->known && a->dev == b->dev && a->ino == b->ino;
}

/* What a link of the caller's /proc folder leads to; the link is the kernel's
 * own and needs no walk through anybody's tree. */
static int
key_of_link(const char *link, struct image_key *ret)
{
	struct stat st;

	/* syscalls: newfstatat */
	if (stat(link, &st) < 0)
		return -errno;
	*ret = (struct image_key){.dev = st.st_dev, .ino = st.st_ino, .known = true};
	return 0;
}

int
image_mapped(pid_t pid, struct image_key *ret)
{
	char link[64];

	snprintf(link, sizeof(link), "/proc/%d/exe", pid);
	return key_of_link(link, ret);
}

/* The folder a relative path starts in, as text in the caller's own view. */
static int
base_of(const struct call *c, char *ret, size_t cap)
{
	char link[64];
	ssize_t n;

	if (c->dirfd == AT_FDCWD)
		snprintf(link, sizeof(link), "/proc/%d/cwd", c->tid);
	else
		snprintf(link, sizeof(link), "/proc/%d/fd/%d", c->tid, c->dirfd);
	/* syscalls: readlink readlinkat */
	n = readlink(link, ret, cap);
	if (n < 0)
		return c->dirfd == AT_FDCWD ? -EACCES : -EBADF;
	if ((size_t)n >= cap)
		return -ENAMETOOLONG;
	ret[n] = '\0';
	return ret[0] == '/' ? 0 : -ENOTDIR;
}

static int
root_open(struct gate *g, pid_t tid)
{
	char link[64];

	if (g->root_fd >= 0)
		return 0;
	snprintf(link, sizeof(link), "/proc/%d/root", tid);
	/* syscalls: openat */
	g->root_fd = open(link, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return g->root_fd < 0 ? -EACCES : 0;
}

/*
 * Walk the caller's tree.  A magic link would be followed as the leash, not
 * as the caller ("self" is us there): such a path is refused.
 */
static int
walk(struct gate *g, const struct call *c, const char *path, struct image_key *ret)
{
	struct open_how how = {
	    .flags = O_PATH | O_CLOEXEC,
	    .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	struct stat st;
	int fd, r = 0;

	if (c->flags & AT_SYMLINK_NOFOLLOW)
		how.flags |= O_NOFOLLOW;
	for (int i = 0; i < RESOLVE_TRIES; i++) {
		/* syscalls: openat2 */
		fd = (int)syscall(SYS_openat2, g->root_fd, path, &how, sizeof(how));
		if (fd >= 0 || errno != EAGAIN)
			break;
	}
	if (fd < 0)
		return errno == ELOOP || errno == EAGAIN ? -EACCES : -errno;
	if (fstat(fd, &st) < 0)
		r = -errno;
	else if (S_ISLNK(st.st_mode))
		r = -ELOOP;
	else
		*ret =
		    (struct image_key){.dev = st.st_dev, .ino = st.st_ino, .known = true};
	fd_close(&fd);
	return r;
}

/* /proc/self and its like name the leash when the leash walks there; in the
 * cell's own proc they are not even there.  Refused by name, so that the log
 * tells it. */
static bool
path_through_proc(const char *path)
{
	path += strspn(path, "/");
	return strncmp(path, "proc/", 5) == 0;
}

int
image_asked(struct gate *g, const struct call *c, struct image_key *ret)
{
	char text[2 * PATH_MAX];
	char link[64];
	const char *path = c->path;
	size_t n;
	int r;

	if (c->flags & ~(unsigned int)(AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW))
		return -EINVAL;
	if (path[0] == '\0') {
		if (!(c->flags & AT_EMPTY_PATH))
			return -ENOENT;
		if (c->dirfd < 0)
			return -EACCES;
		snprintf(link, sizeof(link), "/proc/%d/fd/%d", c->tid, c->dirfd);
		r = key_of_link(link, ret);
		return r == -ENOENT ? -EBADF : r;
	}
	if (path[0] != '/') {
		r = base_of(c, text, PATH_MAX);
		if (r < 0)
			return r;
		n = strlen(text);
		snprintf(text + n, sizeof(text) - n, "/%s", path);
		path = text;
	}
	if (path_through_proc(path))
		return -EACCES;
	r = root_open(g, c->tid);
	return r < 0 ? r : walk(g, c, path, ret);
}
