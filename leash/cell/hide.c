/*
 * Hidden paths: an empty file or directory without permissions is mounted over
 * each.
 *
 * Process: the cell's first process.  Must never leave a way around a cover.  If a
 * directory on the way could be renamed, its cover would move with it, and the
 * server could create the name anew, for the host to find (tested) or for its own
 * next start.  So each such directory becomes a mount of its own, which no process
 * in the cell can rename or remove.
 *
 * The host still can: the kernel removes a cover when the name under it is removed
 * or replaced, and moves it along when the name or a directory on the way is
 * renamed.  So the leash watches each of them (mount_watch.c).
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

/* An empty file or directory that cannot be opened.  It has no name once the view is
 * sealed; the clones keep it alive. */
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

/* ---- reports to the leash ------------------------------------------------ */

static bool
is_root_of_mount(int fd)
{
	struct statx st;

	return statx(fd, "", AT_EMPTY_PATH, STATX_TYPE, &st) == 0 &&
	       (st.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

/* The directory that contains path (without its first "/"), in the view. */
static int
open_holder(const struct cell_child *c, const char *path)
{
	const char *slash = strrchr(path, '/');
	char dir[CELL_PATH_MAX] = ".";

	if (slash != NULL) {
		memcpy(dir, path, (size_t)(slash - path));
		dir[slash - path] = '\0';
	}
	return open_in_view(c, dir);
}

/*
 * Reports to the leash a mount over entry, or a directory on the way to it (tree is
 * -1).  An entry that is the root of a mount keeps its name in the cell, whatever
 * the host does with it; any other may be renamed there.
 */
static int
tell(struct cell_child *c, const struct sealed_mount *m, int tree, const char *path,
    int entry)
{
	struct statx st = {.stx_mnt_id = 0};
	int fds[2] = {-1, entry}, r;
	uint8_t memory[32];
	struct wire_out out;
	size_t rows_n;

	if (tree >= 0 && (statx(tree, "", AT_EMPTY_PATH, STATX_MNT_ID, &st) < 0 ||
			     (st.stx_mask & STATX_MNT_ID) == 0))
		return -EOPNOTSUPP;
	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, CELL_PLACED);
	wire_put_u32(&out, (uint32_t)(m - cell_mounts(c->order, &rows_n)));
	wire_put_u64(&out, st.stx_mnt_id);
	if (is_root_of_mount(entry))
		return wire_send(c->channel, &out, NULL, 0);
	fds[0] = open_holder(c, path);
	if (fds[0] < 0)
		return fds[0];
	r = wire_send(c->channel, &out, fds, 2);
	fd_close(&fds[0]);
	return r;
}

/* ---- directories on the way ----------------------------------------------- */

/* Mounts it over itself, with its own attributes and everything mounted in it. */
static int
pin_one(struct cell_child *c, const struct sealed_mount *m, const char *folder)
{
	struct statvfs fs;
	int fd, tree = -1, r = 0;

	fd = open_in_view(c, folder);
	if (fd < 0)
		return fd;
	if (fstatvfs(fd, &fs) < 0)
		r = -errno;
	else if (!mount_is_own(c, fd) && !is_root_of_mount(fd)) {
		r = tell(c, m, -1, folder, fd);
		if (r == 0 && (fs.f_flag & ST_RDONLY) == 0) {
			r = mount_clone(fd, 0, &tree);
			if (r == 0)
				r = mount_attach(tree, fd, "");
		}
	}
	fd_close(&tree);
	fd_close(&fd);
	return r;
}

static int
pin_way(struct cell_child *c, const struct sealed_mount *m, const char *path)
{
	char folder[CELL_PATH_MAX];
	int r = 0;

	for (size_t n = 0; r == 0 && path[n] != '\0'; n++) {
		if (path[n] != '/')
			continue;
		memcpy(folder, path, n);
		folder[n] = '\0';
		r = pin_one(c, m, folder);
	}
	return r;
}

/* ---- covers ---------------------------------------------------------------- */

/* Attaches tree over the row's target, which is a name of the host. */
static int
cover(struct cell_child *c, const struct sealed_mount *m, int tree)
{
	const char *path = policy_str(c->order->policy, m->target) + 1;
	int over, r;

	r = pin_way(c, m, path);
	if (r != 0)
		return r;
	/* Not earlier: a pinned directory has covered what was open before. */
	over = open_in_view(c, path);
	if (over < 0)
		return over;
	if (!mount_is_own(c, over))
		r = tell(c, m, tree, path, over);
	if (r == 0)
		r = mount_attach(tree, over, "");
	fd_close(&over);
	return r;
}

/* Reports to the leash that this name has no cover. */
static int
absent(struct cell_child *c, const struct sealed_mount *m)
{
	uint8_t memory[16];
	struct wire_out out;
	size_t rows_n;

	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, CELL_ABSENT);
	wire_put_u32(&out, (uint32_t)(m - cell_mounts(c->order, &rows_n)));
	return wire_send(c->channel, &out, NULL, 0);
}

/* The path was not a link when the policy was compiled. */
static void
name_link(struct cell_child *c, int link)
{
	static char hint[CELL_OBJECT_MAX];
	char to[CELL_OBJECT_MAX - 64];
	ssize_t n = readlinkat(link, "", to, sizeof(to) - 1);

	to[n > 0 ? n : 0] = '\0';
	(void)snprintf(
	    hint, sizeof(hint), "it is a symbolic link; hide its target %s", to);
	c->hint = hint;
}

int
hide_place(struct cell_child *c, const struct sealed_mount *m)
{
	const char *path = policy_str(c->order->policy, m->target) + 1;
	int over, tree = -1, r;
	struct stat st;
	bool folder;

	over = open_in_view(c, path);
	if (over == -ENOENT && m->optional)
		return absent(c, m);
	if (over < 0)
		return over;
	r = fstat(over, &st) < 0 ? -errno : 0;
	/* Opened without following: covering a link leaves its target unchanged. */
	if (r == 0 && S_ISLNK(st.st_mode)) {
		name_link(c, over);
		r = -ELOOP;
	}
	fd_close(&over);
	folder = S_ISDIR(st.st_mode);
	if (r == 0)
		r = hidden(c, folder);
	if (r == 0)
		r = mount_clone(c->hidden[folder], ATTR_HIDDEN, &tree);
	if (r == 0)
		r = cover(c, m, tree);
	fd_close(&tree);
	return r;
}

int
hide_attach(struct cell_child *c, const struct sealed_mount *m, int tree, int parent)
{
	struct statvfs fs;
	int r;

	/*
	 * A name that the server could write without this mount is covered like a hidden
	 * one.  The loss of any other mount only removes rights.
	 */
	if ((m->right & RIGHT_WRITE) == 0 && !c->parent_own) {
		if (fstatvfs(parent, &fs) < 0)
			return -errno;
		if ((fs.f_flag & ST_RDONLY) == 0) {
			r = cover(c, m, tree);
			/* It may be on a pinned way now. */
			mount_parent_forget(c);
			return r;
		}
	}
	return mount_attach(
	    tree, parent, strrchr(policy_str(c->order->policy, m->target), '/') + 1);
}
