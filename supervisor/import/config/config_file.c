/*
 * The new file and the old one exchange their names (renameat2). What was displaced is
 * then compared with what was read: another program's save in between is put back. That
 * exchange may displace a save that is newer still, and so it is compared in turn:
 *
 *	FILE		FILE.kennel-new
 *	as read		ours			the start
 *	ours		as read			done, after a last look; or
 *	ours		a save			exchange again:
 *	the save	ours			-ESTALE; or
 *	the save	a newer save		exchange again: each is newer than the last
 *
 * Two saves are lost still: one into a file that the other program opened before the
 * exchange and writes after the last look; and, where the file system has no
 * RENAME_EXCHANGE, one between the last look and the rename.
 */
#include "supervisor/import/config/config_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "supervisor/import/config/config_tree.h"

#define MADE_PATH_MAX (PATH_MAX + 16)
#define SAVES_MAX     4 /* of other programs, while one file is replaced */

static int
slurp(const char *path, struct stat *ret_st, char **ret, size_t *ret_len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW), r;

	if (fd < 0)
		return -errno;
	r = fstat(fd, ret_st) < 0 ? -errno : !S_ISREG(ret_st->st_mode) ? -EINVAL : 0;
	if (r == 0)
		r = fd_slurp(fd, TREE_FILE_MAX, ret, ret_len);
	fd_close(&fd);
	return r;
}

/* Where the new file is made. */
static void
made_path(const struct config_file *f, char ret[MADE_PATH_MAX])
{
	(void)snprintf(ret, MADE_PATH_MAX, "%s.kennel-new", f->path); /* fits */
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
	if (f->bytes != NULL)
		explicit_bzero(f->bytes, f->len);
	free(f->bytes);
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

/* The file at this path, not through a link. */
static int
look(const char *path, struct config_file *ret)
{
	int r;

	*ret = (struct config_file){.len = 0};
	r = slurp(path, &ret->st, &ret->bytes, &ret->len);
	return r == 0 && ret->bytes == NULL ? -ENOMEM : r;
}

/* Is the file at this path that one, with its bytes? 0; -ESTALE; -errno. */
static int
same(const char *path, const struct config_file *f)
{
	struct config_file now;
	int r = look(path, &now);

	if (r == -ENOENT || r == -ELOOP)
		r = -ESTALE;
	if (r == 0 && (now.st.st_ino != f->st.st_ino || now.st.st_dev != f->st.st_dev ||
			  now.len != f->len || memcmp(now.bytes, f->bytes, f->len) != 0))
		r = -ESTALE;
	config_file_free(&now);
	return r;
}

/* Writes it, and reports which file it is. */
static int
write_new(const struct config_file *f, const char *path, const void *bytes, size_t len,
    struct stat *ret_st)
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
	if (r == 0 && (fchmod(fd, f->st.st_mode & 07777) < 0 || fsync(fd) < 0 ||
			  fstat(fd, ret_st) < 0))
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

	/* early: renameat2 */
	r = renameat2(AT_FDCWD, made, AT_FDCWD, f->path, RENAME_EXCHANGE);
	return r < 0 ? -errno : 0;
}

/* Puts back what was displaced, until what is displaced is what was put there last.
 * -ESTALE; -EUCLEAN: a save of another program keeps its other name. */
static int
put_back(const struct config_file *f, const char *made, const struct config_file *ours)
{
	const struct config_file *last = ours;
	struct config_file put[SAVES_MAX];
	int r = -ESTALE;
	size_t n = 0;

	while (r == -ESTALE && n < SAVES_MAX) {
		if (look(made, &put[n]) != 0)
			break;
		n++;
		if (exchange(f, made) < 0)
			break;
		r = same(made, last);
		last = &put[n - 1];
	}
	while (n > 0)
		config_file_free(&put[--n]);
	return r == 0 ? -ESTALE : -EUCLEAN;
}

static int
take_place(const struct config_file *f, const char *made, const struct config_file *ours)
{
	int r = exchange(f, made);

	if (r == -EINVAL || r == -ENOSYS) { /* this file system cannot exchange */
		r = same(f->path, f);
		/* early: rename */
		return r == 0 && rename(made, f->path) < 0 ? -errno : r;
	}
	if (r < 0)
		return r == -ENOENT ? -ESTALE : r;
	return same(made, f) == 0 ? 0 : put_back(f, made, ours);
}

int
config_file_replace(const struct config_file *f, const void *bytes, size_t len)
{
	struct config_file ours = {.bytes = (char *)bytes, .len = len};
	char made[MADE_PATH_MAX];
	int r = same(f->path, f);

	if (r < 0)
		return r;
	made_path(f, made);
	r = write_new(f, made, bytes, len, &ours.st);
	if (r < 0)
		return r;
	r = take_place(f, made, &ours);
	if (r != -EUCLEAN)
		(void)unlink(made); /* the old file, or ours, or nothing */
	return r;
}

int
config_file_left(const struct config_file *f, struct config_file *ret)
{
	char made[MADE_PATH_MAX];
	int r;

	made_path(f, made);
	r = look(made, ret);
	if (r == 0 && strlen(made) >= sizeof(ret->path))
		r = -ENAMETOOLONG;
	if (r == 0)
		memcpy(ret->path, made, strlen(made) + 1);
	return r;
}
