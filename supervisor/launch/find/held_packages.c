/*
 * An entry is DATA/store/DIGEST, in the store of this user or of another; what a server
 * starts from is among the paths that it may read.
 *
 * Process: kennel, before it confines itself.
 */
#include "supervisor/launch/find/held_packages.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "shim/base/fd.h"
#include "shim/base/hex.h"

#define DIR_NAME "/store/"
#define DIR_LEN  (sizeof(DIR_NAME) - 1)
#define KEY_LEN  64 /* hexadecimal digits of SHA-256 */

/* The entry that a path is in, or is. False: none. */
static bool
entry_of(const char *path, char ret[PATH_MAX])
{
	const char *at = path;
	size_t len;

	while ((at = strstr(at, DIR_NAME)) != NULL) {
		at += DIR_LEN;
		if (hex_span(at) != KEY_LEN ||
		    (at[KEY_LEN] != '\0' && at[KEY_LEN] != '/'))
			continue;
		len = (size_t)(at + KEY_LEN - path);
		if (len >= PATH_MAX)
			return false;
		memcpy(ret, path, len);
		ret[len] = '\0';
		return true;
	}
	return false;
}

static bool
is_held(const struct held_packages *h, const struct stat *st)
{
	struct stat other;

	for (size_t i = 0; i < h->n; i++)
		if (fstat(h->fd[i], &other) == 0 && other.st_dev == st->st_dev &&
		    other.st_ino == st->st_ino)
			return true;
	return false;
}

static int
hold(struct held_packages *h, const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	int r = 0;

	if (fd < 0)
		return 0; /* the start says what is missing */
	if (fstat(fd, &st) < 0)
		r = -errno;
	else if (is_held(h, &st))
		r = 1;
	else if (h->n == HELD_MAX)
		r = -E2BIG;
	else if (flock(fd, LOCK_SH | LOCK_NB) < 0) /* syscalls: flock */
		r = errno == EWOULDBLOCK ? -EAGAIN : -errno;
	if (r == 0)
		h->fd[h->n++] = fd;
	else
		fd_close(&fd);
	return r < 0 ? r : 0;
}

int
held_packages_take(
    const struct policy *p, const struct sealed_server *server, struct held_packages *ret)
{
	char path[PATH_MAX];
	int r = 0;

	ret->n = 0;
	for (uint32_t i = 0; r == 0 && i < server->mounts.n; i++)
		if (entry_of(
			policy_str(p, p->mount[server->mounts.first + i].source), path))
			r = hold(ret, path);
	return r;
}

void
held_packages_free(struct held_packages *h)
{
	while (h->n > 0)
		fd_close(&h->fd[--h->n]);
}
