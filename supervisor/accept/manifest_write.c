/*
 * Replaces a manifest atomically.
 *
 * Process: kennel approve, of the person who accepts. No link is followed below the
 * directory of the project, so that a repository cannot lead the write elsewhere.
 */
#include "supervisor/accept/manifest_write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "policy/manifests/manifests.h"
#include "shim/base/fd.h"

/* A manifest, and the new one beside it until it has its place. */
struct place {
	int dir;
	const char *name;
	char new_name[64];
};

/* Only the caller may be able to change what it is. */
static int
is_own(const struct stat *st)
{
	return st->st_uid == geteuid() && (st->st_mode & S_IWOTH) == 0 ? 0 : -EPERM;
}

static int
open_dir(const char *path, int *ret)
{
	struct stat st;
	int fd, r;

	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		return -errno;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errno == ELOOP || errno == ENOTDIR ? -EPERM : -errno;
	r = fstat(fd, &st) < 0 ? -errno : is_own(&st);
	if (r < 0)
		fd_close(&fd);
	else
		*ret = fd;
	return r;
}

/* Is the file's text this one? Also its mode, for the new one. */
static int
is_still(const struct place *p, const struct manifest_text *old, mode_t *ret_mode)
{
	char *text = NULL;
	struct stat st;
	size_t len = 0;
	int fd = openat(p->dir, p->name,
		O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC),
	    r;

	*ret_mode = 0644;
	if (fd < 0 && errno == ENOENT)
		return old->text == NULL ? 0 : -ESTALE;
	if (fd < 0)
		return errno == ELOOP ? -EPERM : -errno;
	r = fstat(fd, &st) < 0 ? -errno : is_own(&st);
	/* another name of the file would keep the old text */
	if (r == 0 && (!S_ISREG(st.st_mode) || st.st_nlink != 1))
		r = -EPERM;
	if (r == 0)
		r = fd_slurp(fd, META_LEN_MAX, &text, &len);
	fd_close(&fd);
	if (r == 0 && (old->text == NULL || len != old->len ||
			  (len > 0 && memcmp(text, old->text, len) != 0)))
		r = -ESTALE;
	if (r == 0)
		*ret_mode = st.st_mode & 0777;
	free(text);
	return r;
}

static int
write_new(const struct place *p, const struct manifest_text *new, mode_t mode)
{
	int fd, r;

	(void)unlinkat(p->dir, p->new_name, 0); /* left by a writer that was killed */
	fd = openat(p->dir, p->new_name,
	    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	r = fd_write_all(fd, new->text, new->len);
	if (r == 0 && (fchmod(fd, mode) < 0 || fsync(fd) < 0))
		r = -errno;
	fd_close(&fd);
	return r;
}

int
manifest_write(const char *path, const char *name, const struct manifest_text *old,
    const struct manifest_text *new)
{
	struct place p = {.dir = -1, .name = name};
	mode_t mode = 0;
	int r, n;

	n = snprintf(p.new_name, sizeof(p.new_name), ".%s.new", name);
	if (n < 0 || (size_t)n >= sizeof(p.new_name))
		return -ENAMETOOLONG;
	r = open_dir(path, &p.dir);
	if (r < 0)
		return r;
	r = is_still(&p, old, &mode);
	if (r == 0)
		r = write_new(&p, new, mode);
	/* again, as late as possible: an editor may have saved it meanwhile */
	if (r == 0)
		r = is_still(&p, old, &mode);
	if (r == 0 && renameat(p.dir, p.new_name, p.dir, p.name) < 0)
		r = -errno;
	if (r == 0 && fsync(p.dir) < 0)
		r = -errno;
	if (r < 0)
		(void)unlinkat(p.dir, p.new_name, 0); /* it may not exist */
	fd_close(&p.dir);
	return r;
}
