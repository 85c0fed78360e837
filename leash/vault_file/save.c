/*
 * The vault file in its directory: checked when read, replaced as a whole.
 *
 *	write secrets.vault.new, fsync, rename over secrets.vault, fsync the directory
 *
 * so that a crash at any point leaves the old file or the new one.
 *
 * Process: the keeper, the only writer, with the directory open.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "leash/vault_file/vault_file.h"
#include "shim/base/fd.h"

#define FILE_NEW VAULT_FILE_NAME ".new"

static struct vault_file_seen
seen_of(const struct stat *st)
{
	return (struct vault_file_seen){.dev = st->st_dev,
	    .ino = st->st_ino,
	    .size = (uint64_t)st->st_size,
	    .changed_s = st->st_mtim.tv_sec,
	    .changed_ns = st->st_mtim.tv_nsec};
}

static int
judge(const struct stat *st, struct reason *why)
{
	if (!S_ISREG(st->st_mode))
		return reason_set(why, -EACCES, "is not a regular file");
	if (st->st_uid != geteuid())
		return reason_set(why, -EACCES, "belongs to another user");
	if ((st->st_mode & 07777) != 0600)
		return reason_set(
		    why, -EACCES, "has other permissions than expected (chmod 600)");
	if (st->st_nlink != 1)
		return reason_set(why, -EACCES, "has more than one hard link");
	return 0;
}

/* Opens the file, if its owner and mode are acceptable. */
static int
open_old(int dir, struct stat *ret, struct reason *why, int *ret_fd)
{
	struct stat st;
	int fd, r;

	/* NONBLOCK: do not wait if it is a fifo.
	 * syscalls: openat fstat */
	fd = openat(dir, VAULT_FILE_NAME,
	    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 && errno == ELOOP)
		return reason_set(why, -EACCES, "is a symbolic link");
	if (fd < 0)
		return reason_set(why, -errno, "%s", strerror(errno));
	r = fstat(fd, &st) < 0 ? -errno : judge(&st, why);
	if (r < 0) {
		fd_close(&fd);
		return r;
	}
	*ret = st;
	*ret_fd = fd;
	return 0;
}

int
vault_file_load(int dir, struct vault *pages, struct vault_file **ret,
    struct vault_file_seen *ret_seen, struct reason *why)
{
	struct stat st = {0};
	char *bytes = NULL;
	size_t len = 0;
	int fd = -1, r;

	r = open_old(dir, &st, why, &fd);
	if (r < 0)
		return r;
	r = fd_slurp(fd, VAULT_FILE_LEN_MAX, &bytes, &len);
	fd_close(&fd);
	if (r < 0)
		return reason_set(why, r, "%s",
		    r == -EFBIG ? "exceeds the maximum size of a vault" : strerror(-r));
	r = vault_file_parse(pages, (uint8_t *)bytes, len, ret, why);
	free(bytes);
	if (r == 0)
		*ret_seen = seen_of(&st);
	return r;
}

/* Is the file still the one that was read? */
static int
same(int dir, const struct vault_file_seen *seen)
{
	struct vault_file_seen now;
	struct stat st;

	/* syscalls: newfstatat */
	if (fstatat(dir, VAULT_FILE_NAME, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT && seen->ino == 0 ? 0 : -ESTALE;
	if (seen->ino == 0)
		return -EEXIST;
	now = seen_of(&st);
	return now.dev == seen->dev && now.ino == seen->ino && now.size == seen->size &&
		       now.changed_s == seen->changed_s &&
		       now.changed_ns == seen->changed_ns
		   ? 0
		   : -ESTALE;
}

int
vault_file_save(int dir, const uint8_t *bytes, size_t len, struct vault_file_seen *seen)
{
	struct stat st;
	int fd, r;

	/* syscalls: unlinkat */
	if (unlinkat(dir, FILE_NEW, 0) < 0 && errno != ENOENT)
		return -errno;
	fd = openat(
	    dir, FILE_NEW, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	r = fd_write_all(fd, bytes, len);
	/* syscalls: fsync */
	if (r == 0 && (fsync(fd) < 0 || fstat(fd, &st) < 0))
		r = -errno;
	if (r == 0)
		r = same(dir, seen);
	/* syscalls: renameat renameat2 */
	if (r == 0 && renameat(dir, FILE_NEW, dir, VAULT_FILE_NAME) < 0)
		r = -errno;
	if (r == 0) {
		*seen = seen_of(&st);
		/* The file is in place; if the directory cannot be synced, report it. */
		r = fsync(dir) < 0 ? -errno : 0;
	} else
		(void)unlinkat(dir, FILE_NEW, 0); /* the next save also removes it */
	fd_close(&fd);
	return r;
}
