/*
 * Path resolution, one component at a time.  Each is opened from the directory
 * before it, so a name that is replaced meanwhile cannot lead to a different
 * object than the one that was checked.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "shim/host/path_resolve.h"

/* path_resolution(7) */
#define LINKS_MAX 40

struct walk {
	struct path_resolved *r;
	unsigned flags;
	path_link_fn *fn;
	void *arg;
	size_t len;     /* of r->real so far, without a final slash */
	size_t trusted; /* length of the prefix of r->real whose directories are root's */
	int links;
	bool refused;        /* r->link is set: only r->target is still needed */
	bool want_dir;       /* a slash follows the last component */
	char rest[PATH_MAX]; /* the rest of the path */
};

/*
 * Only root can create a name in it.  A writable group is refused whichever it is: with
 * a POSIX ACL these bits are its mask, and show what any user or group of it may write.
 */
static bool
roots_alone(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == 0 &&
	       (st.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/*
 * Extends the trusted prefix by the current directory, if all before it is
 * trusted.
 */
static void
entered(struct walk *w, size_t before)
{
	if (w->trusted == before && roots_alone(w->r->fd))
		w->trusted = w->len;
}

static int
go_root(struct walk *w)
{
	fd_close(&w->r->fd);
	w->len = 0;
	w->trusted = 0;
	w->r->fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC); /* syscalls: openat */
	if (w->r->fd < 0)
		return -errno;
	/* No path below is trusted if "/" is not: no offset equals this one. */
	if (!roots_alone(w->r->fd))
		w->trusted = PATH_MAX;
	return 0;
}

static int
go_up(struct walk *w)
{
	int fd = openat(w->r->fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	fd_close(&w->r->fd);
	w->r->fd = fd;
	while (w->len > 0 && w->r->real[--w->len] != '/')
		continue;
	if (w->trusted != PATH_MAX && w->trusted > w->len)
		w->trusted = w->len;
	return 0;
}

/* Copies the next component of rest to name.  Its length; 0 at the end. */
static int
next(struct walk *w, char name[NAME_MAX + 1])
{
	size_t at = strspn(w->rest, "/"), n = strcspn(w->rest + at, "/"), after;

	if (n > NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(name, w->rest + at, n);
	name[n] = '\0';
	after = at + n + strspn(w->rest + at + n, "/");
	if (n > 0)
		w->want_dir = after > at + n && w->rest[after] == '\0';
	memmove(w->rest, w->rest + after, strlen(w->rest + after) + 1);
	return (int)n;
}

static int
append(struct walk *w, const char *name)
{
	size_t n = strlen(name);

	if (w->len + 1 + n >= PATH_MAX)
		return -ENAMETOOLONG;
	w->r->real[w->len] = '/';
	memcpy(w->r->real + w->len + 1, name, n + 1);
	w->len += 1 + n;
	return 0;
}

/*
 * Missing components are kept as text: no "..", because its meaning is unknown.
 */
static int
keep_missing(struct walk *w, char name[NAME_MAX + 1])
{
	int n = (int)strlen(name);

	if ((w->flags & PATH_MISSING_OK) == 0)
		return -ENOENT;
	w->r->missing = w->len + 1;
	for (; n > 0; n = next(w, name)) {
		if (strcmp(name, "..") == 0)
			return -ENOENT;
		if (strcmp(name, ".") != 0 && append(w, name) != 0)
			return -ENAMETOOLONG;
	}
	return n;
}

/* Puts a link's text before the rest of the path. */
static int
splice_text(struct walk *w, const char *text)
{
	size_t n = strlen(text), rest = strlen(w->rest), slash = w->want_dir || rest > 0;

	if (n == 0)
		return -ENOENT;
	if (n + slash + rest >= sizeof(w->rest))
		return -ENAMETOOLONG;
	memmove(w->rest + n + slash, w->rest, rest + 1);
	memcpy(w->rest, text, n);
	if (slash)
		w->rest[n] = '/';
	return text[0] == '/' ? go_root(w) : 0;
}

/* The link's own path, into to. */
static int
name_link(const struct walk *w, const char *name, char to[PATH_MAX])
{
	if (w->len + 1 + strlen(name) >= PATH_MAX)
		return -ENAMETOOLONG;
	memcpy(to, w->r->real, w->len);
	to[w->len] = '/';
	memcpy(to + w->len + 1, name, strlen(name) + 1);
	return 0;
}

static int
follow(struct walk *w, int fd, const struct stat *st, const char *name)
{
	char path[PATH_MAX], text[PATH_MAX];
	struct statfs fs;
	ssize_t n;
	int r;

	if (fstatfs(fd, &fs) != 0) /* syscalls: fstatfs */
		return -errno;
	r = name_link(w, name, path);
	if (r != 0)
		return r;
	if (fs.f_type == PROC_SUPER_MAGIC) {
		if (!w->refused)
			memcpy(w->r->link, path, sizeof(path));
		return -EXDEV;
	}
	n = readlinkat(fd, "", text, sizeof(text)); /* syscalls: readlinkat */
	if (n < 0)
		return -errno;
	if ((size_t)n >= sizeof(text))
		return -ENAMETOOLONG;
	text[n] = '\0';
	if (!w->refused &&
	    (st->st_uid != 0 || w->trusted != w->len || ++w->links > LINKS_MAX)) {
		memcpy(w->r->link, path, sizeof(path));
		w->refused = true;
		w->links = 0;
	} else if (w->refused && ++w->links > LINKS_MAX)
		return -ELOOP;
	if (!w->refused && w->fn != NULL)
		w->fn(w->arg, path);
	return splice_text(w, text);
}

static int
step(struct walk *w, char name[NAME_MAX + 1])
{
	bool last = w->rest[0] == '\0' && !w->want_dir;
	size_t before = w->len;
	struct stat st;
	int fd, r;

	if (strcmp(name, ".") == 0)
		return 0;
	if (strcmp(name, "..") == 0)
		return go_up(w);
	fd = openat(w->r->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? keep_missing(w, name) : -errno;
	if (fstat(fd, &st) != 0) /* syscalls: fstat newfstatat */
		r = -errno;
	else if (S_ISLNK(st.st_mode) && !(last && (w->flags & PATH_LAST_LINK) != 0))
		r = follow(w, fd, &st, name);
	else if ((r = append(w, name)) == 0) {
		fd_close(&w->r->fd);
		w->r->fd = fd;
		entered(w, before);
		return 0;
	}
	fd_close(&fd);
	return r;
}

/*
 * The start of the walk, from "/": a relative path is appended to the working
 * directory.
 */
static int
begin(struct walk *w, const char *path)
{
	size_t n = 0;

	if (path[0] == '\0')
		return -ENOENT;
	if (path[0] != '/') {
		if (getcwd(w->rest, sizeof(w->rest)) == NULL) /* syscalls: getcwd */
			return -errno;
		/* "(unreachable)": getcwd(3) */
		if (w->rest[0] != '/')
			return -ENOENT;
		n = strlen(w->rest);
		w->rest[n++] = '/';
	}
	if (n + strlen(path) >= sizeof(w->rest))
		return -ENAMETOOLONG;
	memcpy(w->rest + n, path, strlen(path) + 1);
	return go_root(w);
}

static int
walk_all(struct walk *w)
{
	char name[NAME_MAX + 1];
	struct stat st;
	int n, r = 0;

	while ((n = next(w, name)) > 0 && r == 0 && w->r->missing == 0)
		r = step(w, name);
	if (r == 0 && n < 0)
		r = n;
	if (r == 0 && w->want_dir && w->r->missing == 0 &&
	    (fstat(w->r->fd, &st) != 0 || !S_ISDIR(st.st_mode)))
		r = -ENOTDIR;
	if (w->len == 0)
		w->r->real[w->len++] = '/';
	w->r->real[w->len] = '\0';
	return r;
}

/* Absolute, and each component a name. */
static bool
is_canonical_text(const char *path)
{
	size_t n;

	if (path[0] != '/' || strlen(path) >= PATH_MAX)
		return false;
	while (*path == '/' && path[1] != '\0') {
		path++;
		n = strcspn(path, "/");
		if (n == 0 || strncmp(path, "..", n) == 0) /* "." too */
			return false;
		path += n;
	}
	return *path == '\0';
}

static int
open_linkless(const char *path, unsigned flags)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC,
	    .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};

	if ((flags & PATH_LAST_LINK) != 0)
		how.flags |= O_NOFOLLOW;
	/* syscalls: openat2 */
	return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
}

/* Only its last name is missing, in a directory that has no link on its way. */
static bool
missing_at_once(const char *path, struct path_resolved *ret)
{
	const char *name = strrchr(path, '/') + 1;
	size_t n = (size_t)(name - path);
	int fd = -1;

	if (n <= 1)
		return false;
	memcpy(ret->real, path, n - 1);
	ret->real[n - 1] = '\0';
	ret->fd = open_linkless(ret->real, 0);
	if (ret->fd < 0)
		return false;
	fd = openat(ret->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 || errno != ENOENT) {
		fd_close(&fd);
		fd_close(&ret->fd);
		return false;
	}
	ret->missing = n;
	return true;
}

/*
 * A path without any link is its own canonical path: the kernel says so in one call.
 * Anything else is walked step by step.
 */
static bool
at_once(const char *path, unsigned flags, struct path_resolved *ret)
{
	if (!is_canonical_text(path) || path[1] == '\0')
		return false;
	ret->fd = open_linkless(path, flags);
	if (ret->fd < 0 && (errno != ENOENT || (flags & PATH_MISSING_OK) == 0 ||
			       !missing_at_once(path, ret))) {
		ret->fd = -1;
		return false;
	}
	memcpy(ret->real, path, strlen(path) + 1);
	return true;
}

int
path_resolve(const char *path, unsigned flags, path_link_fn *fn, void *arg,
    struct path_resolved *ret)
{
	struct walk w;
	int r;

	ret->fd = -1;
	ret->missing = 0;
	ret->real[0] = ret->link[0] = ret->target[0] = '\0'; /* not all 12 KB */
	if (at_once(path, flags, ret))
		return 0;
	w.r = ret;
	w.flags = flags;
	w.fn = fn;
	w.arg = arg;
	w.len = w.trusted = 0;
	w.links = 0;
	w.refused = w.want_dir = false;
	w.rest[0] = '\0';
	r = begin(&w, path);
	if (r == 0)
		r = walk_all(&w);
	if (w.refused) {
		if (r == 0)
			memcpy(ret->target, ret->real, strlen(ret->real) + 1);
		r = -ELOOP;
	}
	if (r != 0)
		fd_close(&ret->fd);
	return r;
}
