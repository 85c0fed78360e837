/*
 * The files of every cell that are not the host's: /dev with five nodes, and /etc
 * with the files that name services read.
 *
 * Process: the cell's first process.  Must never confuse devices: each node is
 * identified by its number, not by its name.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "leash/cell/private.h"
#include "shim/base/array.h"
#include "shim/base/fd.h"

/* The only mounts of the view without nodev.  A node on a read-only mount can still be
 * written to, but not replaced. */
#define ATTR_NODE (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC)

#define ETC_TEXT_MAX 256
#define LIBCACHE_MAX (128u << 10)

static const struct {
	const char *name, *host; /* host: below "/" */
	unsigned int minor;      /* of major 1 */
} devices[CELL_DEVICES] = {
    {"null", "dev/null", 3},
    {"zero", "dev/zero", 5},
    {"full", "dev/full", 7},
    {"random", "dev/random", 8},
    {"urandom", "dev/urandom", 9},
};

static const struct {
	const char *name, *text;
} links[] = {
    {"fd", "/proc/self/fd"},
    {"stdin", "/proc/self/fd/0"},
    {"stdout", "/proc/self/fd/1"},
    {"stderr", "/proc/self/fd/2"},
};

const char *
synthetic_device_name(size_t i)
{
	return i < CELL_DEVICES ? devices[i].name : NULL;
}

static int
open_device(struct cell_child *c, size_t i)
{
	struct open_how how = {.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
	    .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
	struct stat st;
	int fd, r;

	fd = (int)syscall(SYS_openat2, c->host_fd, devices[i].host, &how, sizeof(how));
	if (fd < 0)
		return -errno;
	r = fstat(fd, &st) < 0 ? -errno : 0;
	if (r == 0 &&
	    (!S_ISCHR(st.st_mode) || st.st_rdev != makedev(1, devices[i].minor))) {
		c->hint = "not the device of that name";
		r = -ENODEV;
	}
	if (r == 0)
		r = mount_clone(fd, ATTR_NODE, &c->device[i]);
	fd_close(&fd);
	return r;
}

int
synthetic_open_devices(struct cell_child *c)
{
	const struct sealed_mount *m;
	bool wanted = false;
	size_t n;
	int r;

	m = cell_mounts(c->order, &n);
	for (size_t i = 0; i < n; i++)
		wanted = wanted || m[i].kind == MOUNT_DEV;
	for (size_t i = 0; i < CELL_DEVICES; i++) {
		c->device[i] = -1;
		r = wanted ? open_device(c, i) : 0;
		if (r != 0)
			return cell_fault(c, r, devices[i].host);
	}
	return 0;
}

int
synthetic_dev(struct cell_child *c, const char *path)
{
	char name[CELL_PATH_MAX];
	int parent = -1, r = 0;

	for (size_t i = 0; r == 0 && i < CELL_DEVICES; i++) {
		snprintf(name, sizeof(name), "%s/%s", path, devices[i].name);
		r = mount_make_file(c, name, &parent);
		if (r == 0)
			r = mount_attach(c->device[i], parent, devices[i].name);
		fd_close(&c->device[i]);
	}
	if (r == 0)
		r = mount_own_parent(c, name, &parent);
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(links); i++)
		if (symlinkat(links[i].text, parent, links[i].name) < 0)
			r = -errno;
	return r;
}

static int
put_file(struct cell_child *c, const char *folder, const char *name, const void *text,
    size_t len)
{
	char path[CELL_PATH_MAX];
	int parent, fd, r;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	r = mount_own_parent(c, path, &parent);
	if (r != 0)
		return r;
	fd = openat(
	    parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0444);
	if (fd < 0)
		return -errno;
	r = fd_write_all(fd, text, len);
	fd_close(&fd);
	return r;
}

/* A missing cache is not a failure: program starts only take longer. */
static int
put_libcache(struct cell_child *c, const char *folder)
{
	static uint8_t cache[LIBCACHE_MAX];
	size_t len;

	if (libcache_make(c->order, cache, sizeof(cache), &len) < 0)
		return 0;
	return put_file(c, folder, "ld.so.cache", cache, len);
}

/* Reveals nothing about the host's users, hosts or resolvers. */
int
synthetic_etc(struct cell_child *c, const char *path)
{
	char passwd[ETC_TEXT_MAX], group[ETC_TEXT_MAX];
	const struct {
		const char *name, *text;
	} files[] = {
	    {"passwd", passwd},
	    {"group", group},
	    {"hosts", "127.0.0.1\tlocalhost kennel\n::1\tlocalhost kennel\n"},
	    {"hostname", "kennel\n"},
	    {"resolv.conf", "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n"},
	    {"nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n"},
	};
	int r = 0;

	snprintf(passwd, sizeof(passwd), "kennel:x:%u:%u:kennel:/tmp:/bin/false\n",
	    c->ids.uid, c->ids.gid);
	snprintf(group, sizeof(group), "kennel:x:%u:\n", c->ids.gid);
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(files); i++)
		r = put_file(
		    c, path, files[i].name, files[i].text, strlen(files[i].text));
	return r == 0 ? put_libcache(c, path) : r;
}
