/*
 * Opens files by the rules of path_resolve.h: the object that was checked is
 * the one that is opened, by its descriptor and not again by its name.
 */
#ifndef KENNEL_SHIM_HOST_PATH_OPEN_H
#define KENNEL_SHIM_HOST_PATH_OPEN_H

#include <limits.h>
#include <stddef.h>

#define PATH_WHY_MAX 9000 /* two paths in a sentence */

/*
 * Opens path for reading: O_NOCTTY, O_NONBLOCK, close-on-exec.  0, or the
 * result of path_resolve().
 */
int path_open(const char *path, int *ret_fd);
/* The same for the last component of path, whose directory is open: one step, if it is no
 * link. */
int path_open_in(int dir, const char *path, int *ret_fd);
/* The same for what an O_PATH descriptor refers to, which stays open: the new
 * descriptor, or -errno. */
int path_reopen(int fd);
/* The same, and returns the canonical path. */
int path_open_named(const char *path, char ret_real[PATH_MAX], int *ret_fd);
/* The same for a path that is already canonical: follows no link at all. */
int path_open_real(const char *real, int *ret_fd);
/*
 * Writes to out why path cannot be resolved: after -ELOOP and -EXDEV the link,
 * and the path to use instead.  Not made printable.  Returns out.
 */
const char *path_why(const char *path, int error, char *out, size_t out_cap);
/* The same for a resolution that the caller already has. */
struct path_resolved;
const char *path_link_why(
    const struct path_resolved *, int error, char *out, size_t out_cap);

#endif
