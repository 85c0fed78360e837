/*
 * New file systems of the view: a tmpfs, and an instance of devpts.
 *
 * Process: the cell's first process.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "leash/cell/private.h"
#include "shim/base/fd.h"

#define VIEW_PAGE       4096 /* bytes of a file that cost one inode, at least */
#define VIEW_INODES_MIN 1024
#define PTS_MAX         "64" /* terminals at a time; the host has 4096 for all users */

int
filesystem_new(
    const char *type, const struct filesystem_option *option, uint64_t attr, int *ret)
{
	int fs, tree, r = 0;

	fs = (int)syscall(SYS_fsopen, type, FSOPEN_CLOEXEC);
	if (fs < 0)
		return -errno;
	for (; r == 0 && option->name != NULL; option++)
		if (syscall(SYS_fsconfig, fs, FSCONFIG_SET_STRING, option->name,
			option->value, 0) < 0)
			r = -errno;
	if (r == 0 && syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		r = -errno;
	if (r == 0) {
		tree = (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, attr);
		if (tree < 0)
			r = -errno;
		else
			*ret = tree;
	}
	fd_close(&fs);
	return r;
}

int
filesystem_tmpfs(uint64_t size, const char *mode, uint64_t attr, int *ret)
{
	uint64_t inodes = size / VIEW_PAGE;
	char bytes[24], files[24];
	const struct filesystem_option option[] = {
	    {"size", bytes}, {"nr_inodes", files}, {"mode", mode}, {NULL, NULL}};

	if (size == 0) /* 0 means "no limit" to the kernel */
		return -EINVAL;
	if (inodes < VIEW_INODES_MIN)
		inodes = VIEW_INODES_MIN;
	snprintf(bytes, sizeof(bytes), "%llu", (unsigned long long)size);
	snprintf(files, sizeof(files), "%llu", (unsigned long long)inodes);
	return filesystem_new("tmpfs", option, attr, ret);
}

/* An instance of devpts has the terminals that were opened in it, and no other's: nothing of
 * the host's is there. Each of its nodes belongs to the process that opened it. */
int
filesystem_pts(struct cell_child *c, const char *dev)
{
	static const struct filesystem_option option[] = {
	    {"ptmxmode", "0666"}, {"mode", "0600"}, {"max", PTS_MAX}, {NULL, NULL}};
	char path[CELL_PATH_MAX];
	int parent, clone = -1, r;

	snprintf(path, sizeof(path), "%s/pts", dev);
	r = filesystem_new(
	    "devpts", option, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, &clone);
	if (r == 0)
		r = mount_make_dir(c, path, &parent);
	if (r == 0)
		r = mount_attach(clone, parent, "pts");
	fd_close(&clone);
	mount_parent_forget(c);
	snprintf(path, sizeof(path), "%s/ptmx", dev);
	if (r == 0)
		r = mount_own_parent(c, path, &parent);
	if (r == 0 && symlinkat("pts/ptmx", parent, "ptmx") < 0)
		r = -errno;
	return r;
}
