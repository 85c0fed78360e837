/*
 * The new file and the old one exchange their names (renameat2). The bytes that were
 * displaced are then compared with those that were read: a change by another program
 * in between is put back. Without RENAME_EXCHANGE, the comparison comes before a rename.
 */
#include "supervisor/import/config_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "supervisor/import/config_tree.h"

static int
slurp(const char *path, struct stat *ret_st, char **ret, size_t *ret_len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK), r;

	if (fd < 0)
		return -errno;
	r = fstat(fd, ret_st) < 0 ? -errno : !S_ISREG(ret_st->st_mode) ? -EINVAL : 0;
	if (r == 0)
		r = fd_slurp(fd, TREE_FILE_MAX, ret, ret_len);
	fd_close(&fd);
	return r;
}

static void
wipe(char *bytes, size_t len)
{
	if (bytes != NULL)
		explicit_bzero(bytes, len);
	free(bytes);
}

int
config_file_read(const char *path, struct config_file *ret)
{
	*ret = (struct config_file){.len = 0};
	if (realpath(path, ret->path) == NULL)
		return -errno;
	return slurp(ret->path, &ret->st, &ret->bytes, &ret->len);
}

void
config_file_free(struct config_file *f)
{
	wipe(f->bytes, f->len);
	f->bytes = NULL;
	f->len = 0;
}

int
config_file_writable(const struct config_file *f)
{
	/* root may write any file: one that is read-only is meant to stay as it is */
	if ((f->st.st_mode & 0222) == 0)
		return -EACCES;
	return access(f->path, W_OK) < 0 ? -errno : 0;
}

/* Has the file at this path these bytes? 0; -ESTALE; -errno. */
static int
same(const char *path, const struct config_file *f)
{
	struct stat st = {0};
	char *bytes = NULL;
	size_t len = 0;
	int r = slurp(path, &st, &bytes, &len);

	if (r == 0 &&
	    (bytes == NULL || st.st_ino != f->st.st_ino || st.st_dev != f->st.st_dev ||
		len != f->len || memcmp(bytes, f->bytes, len) != 0))
		r = -ESTALE;
	wipe(bytes, len);
	return r;
}

static int
write_new(const struct config_file *f, const char *path, const void *bytes, size_t len)
{
	int r = 0, fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	/* early: openat fchown fchmod fsync */
	if (fd < 0)
		return -errno;
	if ((f->st.st_uid != geteuid() || f->st.st_gid != getegid()) &&
	    fchown(fd, f->st.st_uid, f->st.st_gid) < 0)
		r = -errno;
	if (r == 0)
		r = fd_write_all(fd, bytes, len);
	if (r == 0 && (fchmod(fd, f->st.st_mode & 07777) < 0 || fsync(fd) < 0))
		r = -errno;
	fd_close(&fd);
	if (r < 0)
		(void)unlink(path); /* leave no partial file */
	return r;
}

static int
exchange(const struct config_file *f, const char *made)
{
	int r;

	/* early: renameat2 rename */
	if (renameat2(AT_FDCWD, made, AT_FDCWD, f->path, RENAME_EXCHANGE) < 0) {
		if (errno != EINVAL && errno != ENOSYS)
			return -errno;
		r = same(f->path, f); /* this file system cannot exchange */
		return r == 0 && rename(made, f->path) < 0 ? -errno : r;
	}
	r = same(made, f);
	if (r < 0 && renameat2(AT_FDCWD, made, AT_FDCWD, f->path, RENAME_EXCHANGE) < 0)
		return -errno;
	return r;
}

int
config_file_replace(const struct config_file *f, const void *bytes, size_t len)
{
	char made[PATH_MAX + 16];
	int r = same(f->path, f);

	if (r < 0)
		return r == -ENOENT ? -ESTALE : r;
	(void)snprintf(made, sizeof(made), "%s.kennel-new", f->path); /* fits */
	r = write_new(f, made, bytes, len);
	if (r < 0)
		return r;
	r = exchange(f, made);
	(void)unlink(made); /* the new file, or the old one, or nothing */
	return r;
}
