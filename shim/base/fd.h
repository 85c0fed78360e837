/*
 * Descriptors: unset is -1, all are close-on-exec, writes are whole.
 */
#ifndef KENNEL_BASE_FD_H
#define KENNEL_BASE_FD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Close *fd if it is set, and set it to -1.  Keeps errno. */
void fd_close(int *fd);
int fd_nonblock(int fd, bool on);
int fd_cloexec(int fd, bool on);

/* All n bytes, through EINTR and short counts. */
int fd_write_all(int fd, const void *, size_t n);

/* May a file be renamed to this path?  0; -EINVAL where something stands that is no
 * regular file: as root, a rename would put a file in the place of /dev/null. */
int fd_may_replace(const char *path);

/*
 * A file's whole content, at most max bytes, into malloc'ed memory with a NUL
 * behind it (not counted).  -EFBIG above max.  The caller frees.
 */
int fd_slurp(int fd, size_t max, char **ret_data, size_t *ret_len);

/* A folder and those on the way to it, 0700 where they are made.  0 or -errno. */
int fd_make_dirs(const char *path);

/*
 * An anonymous file with these bytes, sealed against writing, growing,
 * shrinking and further seals (memfd_create(2)).  exec: it may be executed
 * (MFD_EXEC where the kernel knows it, Linux 6.3).
 */
int fd_sealed(const char *name, const void *, size_t, bool exec, int *ret_fd);

/* An already connected pair of SOCK_SEQPACKET sockets, close-on-exec. */
int fd_pair(int ret[2]);

#endif
