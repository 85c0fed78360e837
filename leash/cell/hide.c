/*
 * What is hidden: something empty that nobody may open stands over it.
 *
 * Process: the cell's first process.  Must never leave a way around the cover:
 * a folder on the way that may be renamed would go elsewhere together with its
 * cover, and the server would make the name anew, for the host to find
 * (tried) or for its own next start.  So each such folder
 * becomes a mount of its own, which nobody in the cell can rename or remove.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "leash/cell/private.h"
#include "shim/base/fd.h"

#define HIDDEN_FILE ".hidden-file"
#define HIDDEN_DIR  ".hidden-folder"

#define ATTR_HIDDEN \
	(MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC)

static int
open_in_view(const struct cell_child *c, const char *path)
{
	struct open_how how = {.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
	    .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
	long fd = syscall(SYS_openat2, c->root_fd, path, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

/* Something empty that nobody may open.  It has no name once the view is
 * sealed; the clones hold it. */
static int
hidden(struct cell_child *c, bool folder)
{
	const char *name = folder ? HIDDEN_DIR : HIDDEN_FILE;

	if (c->hidden[folder] >= 0)
		return 0;
	if (folder ? mkdirat(c->root_fd, name, 0) < 0
		   : mknodat(c->root_fd, name, S_IFREG, 0) < 0)
		return -errno;
	c->hidden[folder] = open_in_view(c, name);
	return c->hidden[folder] < 0 ? c->hidden[folder] : 0;
}

int
hide_forget(struct cell_child *c)
{
	if (c->hidden[0] >= 0 && unlinkat(c->root_fd, HIDDEN_FILE, 0) < 0)
		return -errno;
	if (c->hidden[1] >= 0 && unlinkat(c->root_fd, HIDDEN_DIR, AT_REMOVEDIR) < 0)
		return -errno;
	fd_close(&c->hidden[0]);
	fd_close(&c->hidden[1]);
	return 0;
}

/* A mount over itself, with its own attributes and all that is mounted in it. */
static int
pin_one(const struct cell_child *c, const char *folder)
{
	struct statvfs fs;
	struct statx st;
	int fd, tree = -1, r = 0;

	fd = open_in_view(c, folder);
	if (fd < 0)
		return fd;
	if (fstatvfs(fd, &fs) < 0 || statx(fd, "", AT_EMPTY_PATH, STATX_TYPE, &st) < 0)
		r = -errno;
	else if ((fs.f_flag & ST_RDONLY) == 0 && !mount_is_own(c, fd) &&
		 (st.stx_attributes & STATX_ATTR_MOUNT_ROOT) == 0) {
		r = mount_clone(fd, 0, &tree);
		if (r == 0)
			r = mount_attach(tree, fd, "");
	}
	fd_close(&tree);
	fd_close(&fd);
	return r;
}

static int
pin_way(const struct cell_child *c, const char *path)
{
	char folder[CELL_PATH_MAX];
	int r = 0;

	for (size_t n = 0; r == 0 && path[n] != '\0'; n++) {
		if (path[n] != '/')
			continue;
		memcpy(folder, path, n);
		folder[n] = '\0';
		r = pin_one(c, folder);
	}
	return r;
}

int
hide_place(struct cell_child *c, const char *path)
{
	int over, tree = -1, r;
	struct stat st;
	bool folder;

	over = open_in_view(c, path + 1);
	if (over < 0)
		return over;
	r = pin_way(c, path + 1);
	/* Again: a pinned folder has covered what was opened. */
	fd_close(&over);
	if (r == 0)
		r = over = open_in_view(c, path + 1);
	if (r < 0)
		return r;
	r = fstat(over, &st) < 0 ? -errno : 0;
	folder = S_ISDIR(st.st_mode);
	if (r == 0)
		r = hidden(c, folder);
	if (r == 0)
		r = mount_clone(c->hidden[folder], ATTR_HIDDEN, &tree);
	if (r == 0)
		r = mount_attach(tree, over, "");
	fd_close(&tree);
	fd_close(&over);
	return r;
}
