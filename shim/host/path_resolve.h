/*
 * Path resolution that follows only the links of root.
 *
 * realpath(3) follows every symbolic link, and a server that may write into a
 * directory can create one there.  Here a link is followed only if root owns it
 * and every directory on the way to it, and no group and no other user can write to
 * any of these.  Links of /proc lead out of any view and are never followed.
 */
#ifndef KENNEL_SHIM_HOST_PATH_RESOLVE_H
#define KENNEL_SHIM_HOST_PATH_RESOLVE_H

#include <limits.h>
#include <stddef.h>

/* Flags: the last components may be missing. */
#define PATH_MISSING_OK 1u
/* The last component is not followed if it is a link: fd is the link itself. */
#define PATH_LAST_LINK 2u

struct path_resolved {
	int fd;                /* O_PATH of the result, or of the last directory
				 * that exists if something is missing, else -1 */
	size_t missing;        /* offset in real of the missing part, or 0 */
	char real[PATH_MAX];   /* the canonical path */
	char link[PATH_MAX];   /* after -ELOOP and -EXDEV: the link */
	char target[PATH_MAX]; /* after -ELOOP: the canonical path that the whole
				 * path would have if the link were followed, or "" */
};

/* Receives the absolute path of each link before it is followed. */
typedef void path_link_fn(void *arg, const char *link);

/*
 * Resolves an absolute or relative path.  fn may be NULL; after a refusal it
 * has received only links that may be followed.  The caller closes ret->fd,
 * which is -1 after an error.  Returns 0 or
 *	-ELOOP		ret->link may not be followed, or links form a cycle
 *	-EXDEV		ret->link is a link of /proc (proc(5): magic links too)
 *	-ENOENT		something is missing
 *	-ENAMETOOLONG	a path is longer than PATH_MAX
 *	-errno		of openat(2), fstat(2), readlinkat(2), getcwd(2)
 */
int path_resolve(const char *path, unsigned flags, path_link_fn *fn, void *arg,
    struct path_resolved *ret);

#endif
