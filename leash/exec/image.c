/*
 * Which granted file is this?  Files are identified by device and inode of the
 * descriptors that the cell opened, never by a path.  The descriptors stay open, so
 * an inode number cannot be reused for another file.
 *
 * Process: the leash, outside the cell's namespaces.  The caller's meaning of a
 * path only decides whether the call may continue.  The exec stop checks which file
 * is mapped, so changing the path in between gains nothing.
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

#include "leash/exec/private.h"
#include "shim/base/fd.h"

#define RESOLVE_TRIES 4 /* openat2 returns EAGAIN for a rename during ".." */

int
image_load(struct gate *g)
{
	g->image = calloc(g->order.image_n + 1, sizeof(*g->image));
	if (!g->image)
		return -ENOMEM;
	for (size_t i = 0; i < g->order.image_n; i++) {
		struct stat st;

		if (g->order.image_fd[i] < 0)
			continue; /* optional, and absent */
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

/* The file that a link in the caller's /proc directory leads to.  The kernel itself
 * resolves the link; no path of the caller is walked. */
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

int
call_base(const struct call *c, char *ret, size_t cap)
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
	if (g->root_fd < 0)
		return -EACCES;
	caller_folders(g);
	return 0;
}

/*
 * Walks a path in the caller's tree.  Magic links would resolve for the leash, not
 * for the caller ("self" is the leash here), so such a path is refused.
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

/* The number after this key in the status of a task, for the innermost pid namespace
 * if there are several; -1. */
static long
number_inside(pid_t tid, const char *word)
{
	char path[64], text[2048], *at, *tab;
	ssize_t n;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", tid);
	/* syscalls: openat read */
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	n = read(fd, text, sizeof(text) - 1);
	fd_close(&fd);
	if (n <= 0)
		return -1;
	text[n] = '\0';
	at = strstr(text, word);
	if (!at)
		return -1;
	at += strlen(word);
	at[strcspn(at, "\n")] = '\0';
	tab = strrchr(at, '\t');
	return tab ? strtol(tab + 1, NULL, 10) : -1;
}

/* The part after "self/", "thread-self/" or the caller's own pid, else NULL: links of
 * other processes are not followed. */
static const char *
past_self(const struct call *c, const char *path)
{
	char *end;
	long n;

	if (strncmp(path, "self/", 5) == 0)
		return path + 5;
	if (strncmp(path, "thread-self/", 12) == 0)
		return path + 12;
	if (path[0] < '1' || path[0] > '9')
		return NULL;
	n = strtol(path, &end, 10);
	if (*end != '/' || n != number_inside(c->tid, "\nNStgid:"))
		return NULL;
	return end + 1;
}

/*
 * /proc/self and the like name the leash when the leash walks them, and in the
 * cell's own proc they do not exist.  A program's references to itself (its image,
 * one of its descriptors) are resolved through the caller's directory in our /proc.
 * Any other path below /proc is refused.
 */
static int
own_link(const struct call *c, const char *path, struct image_key *ret)
{
	char link[64];
	size_t n;

	if (!path || (c->flags & AT_SYMLINK_NOFOLLOW))
		return -EACCES;
	if (strcmp(path, "exe") == 0)
		return image_mapped(c->tid, ret);
	if (strncmp(path, "fd/", 3) != 0)
		return -EACCES;
	path += 3;
	n = strspn(path, "0123456789");
	if (n == 0 || n > 9 || path[n] != '\0')
		return -EACCES;
	(void)snprintf(link, sizeof(link), "/proc/%d/fd/%s", c->tid, path);
	return key_of_link(link, ret);
}

/* True if the path leads there; *ret_r is then the result of own_link(). */
static bool
through_proc(const struct call *c, const char *path, struct image_key *ret, int *ret_r)
{
	path += strspn(path, "/");
	if (strncmp(path, "dev/fd/", 7) == 0) /* a link to /proc/self/fd */
		*ret_r = own_link(c, path + 4, ret);
	else if (strncmp(path, "proc/", 5) == 0)
		*ret_r = own_link(c, past_self(c, path + 5), ret);
	else
		return false;
	return true;
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
		r = call_base(c, text, PATH_MAX);
		if (r < 0)
			return r;
		n = strlen(text);
		snprintf(text + n, sizeof(text) - n, "/%s", path);
		path = text;
	}
	if (through_proc(c, path, ret, &r))
		return r;
	r = root_open(g, c->tid);
	return r < 0 ? r : walk(g, c, path, ret);
}
