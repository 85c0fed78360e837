/*
 * Descriptors: unset is -1, all are close-on-exec, writes are complete.
 */
#ifndef KENNEL_SHIM_BASE_FD_H
#define KENNEL_SHIM_BASE_FD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Closes *fd if it is set, and sets it to -1. Keeps errno. */
void fd_close(int *fd);
int fd_nonblock(int fd, bool on);
int fd_cloexec(int fd, bool on);

/* Writes all n bytes, despite EINTR and short writes. */
int fd_write_all(int fd, const void *, size_t n);

/*
 * May a file be renamed to this path?  0; -EINVAL if the path exists and is not
 * a regular file: as root, a rename would replace /dev/null by a file.
 */
int fd_may_replace(const char *path);

/*
 * Reads a whole file of at most max bytes into malloc'd memory, with a NUL
 * after it (not counted). -EFBIG above max.  The caller frees.
 */
int fd_slurp(int fd, size_t max, char **ret_data, size_t *ret_len);

/* Creates a directory and its parents with mode 0700. 0 or -errno. */
int fd_make_dirs(const char *path);

/*
 * Creates an anonymous file with these bytes, sealed against writing, growing,
 * shrinking and further seals (memfd_create(2)). exec: it may be executed
 * (MFD_EXEC if the kernel supports it, Linux 6.3).
 */
int fd_sealed(const char *name, const void *, size_t, bool exec, int *ret_fd);

/* Closes every descriptor above standard error but these n; unset ones (-1) are skipped. 0 or
 * -errno. */
int fd_close_others(const int *keep, size_t n);

/* An already connected pair of SOCK_SEQPACKET sockets, close-on-exec. */
int fd_pair(int ret[2]);

#endif
