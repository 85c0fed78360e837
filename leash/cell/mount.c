/*
 * The view: the files that the server sees.  Sources are opened and cloned on the
 * host's side of the new mount namespace, then attached one by one in a root of our
 * own; then the host's root is removed.
 *
 *	mount_private   mount_open   mount_open_as_user   mount_root
 *	mount_build     mount_enter  mount_seal
 *
 * Process: the cell's first process.  Trusts the rows, but nothing it finds on
 * disk: it follows no symbolic link to a source or a target, and makes a name only
 * in a tmpfs that was made here.  Must never attach a mount that is both writable
 * and executable, or one that still receives mount events from the host.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "leash/cell/private.h"
#include "shim/base/fd.h"

#define VIEW_ROOT_SIZE (64u << 20) /* read-only before any process could fill it */
#define PROC_MAGIC     0x9fa0
#define CLONE_LATER    (-2) /* not accessible to the caller: tried again as the user */

#define ATTR_TMP  (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC)
#define ATTR_NONE (ATTR_TMP | MOUNT_ATTR_RDONLY)

#define VIEW_RESOLVE (RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS)

/* ---- system calls -------------------------------------------------------- */

int
mount_open_below(int dir, const char *path, uint64_t flags, uint64_t resolve)
{
	struct open_how how = {.flags = flags | O_CLOEXEC, .resolve = resolve};
	long fd = syscall(SYS_openat2, dir, path, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

int
mount_clone(int fd, uint64_t attr, int *ret)
{
	/* Both recursive: otherwise a mount further down would keep its own rights,
	 * and one that the host makes later would appear here. */
	struct mount_attr a = {.attr_set = attr, .propagation = MS_PRIVATE};
	int tree, r;

	tree = (int)syscall(SYS_open_tree, fd, "",
	    OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE | AT_EMPTY_PATH);
	if (tree < 0)
		return -errno;
	if (syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &a,
		sizeof(a)) < 0) {
		r = -errno;
		fd_close(&tree);
		return r;
	}
	*ret = tree;
	return 0;
}

int
mount_attach(int tree, int parent, const char *name)
{
	if (syscall(SYS_move_mount, tree, "", parent, name,
		MOVE_MOUNT_F_EMPTY_PATH |
		    (name[0] == '\0' ? MOVE_MOUNT_T_EMPTY_PATH : 0)) < 0)
		return -errno;
	return 0;
}

/* ---- names in the view --------------------------------------------------- */

bool
mount_is_own(const struct cell_child *c, int dir)
{
	struct stat st;

	if (fstat(dir, &st) < 0)
		return false;
	for (size_t i = 0; i < c->own_n; i++)
		if (c->own[i] == st.st_dev)
			return true;
	return false;
}

static int
own(struct cell_child *c, int tree)
{
	struct stat st;

	if (c->own_n == CELL_OWN_MAX)
		return -E2BIG;
	if (fstat(tree, &st) < 0)
		return -errno;
	c->own[c->own_n++] = st.st_dev;
	return 0;
}

/* Opens a directory of the view, and makes missing directories on the way if they are in
 * our own tmpfs. */
static int
open_folder(struct cell_child *c, const char *path, int *ret)
{
	char name[CELL_PATH_MAX];
	int at, next;
	size_t n;

	/* Usually there: one call, which follows no link either. */
	at = mount_open_below(c->root_fd, path[0] == '/' ? path + 1 : ".",
	    O_PATH | O_DIRECTORY, VIEW_RESOLVE);
	if (at != -ENOENT)
		goto out;
	at = mount_open_below(c->root_fd, ".", O_PATH | O_DIRECTORY, VIEW_RESOLVE);
	for (path++; at >= 0 && path[-1] != '\0'; path += n + 1) {
		n = strcspn(path, "/");
		memcpy(name, path, n);
		name[n] = '\0';
		next = mount_open_below(at, name, O_PATH | O_DIRECTORY, VIEW_RESOLVE);
		if (next == -ENOENT && mount_is_own(c, at)) {
			next = mkdirat(at, name, 0755) < 0
				   ? -errno
				   : mount_open_below(
					 at, name, O_PATH | O_DIRECTORY, VIEW_RESOLVE);
		}
		fd_close(&at);
		at = next;
	}
out:
	if (at >= 0)
		*ret = at;
	return at < 0 ? at : 0;
}

/* Opens the parent of path in c->parent_fd; *ret_name is the last component. */
static int
parent_of(struct cell_child *c, const char *path, const char **ret_name)
{
	const char *slash = strrchr(path, '/');
	size_t len;
	int fd, r;

	if (slash == NULL || slash[1] == '\0')
		return -EINVAL;
	len = (size_t)(slash - path);
	if (len >= sizeof(c->parent))
		return -EINVAL;
	*ret_name = slash + 1;
	if (c->parent_fd >= 0 && strlen(c->parent) == len &&
	    memcmp(c->parent, path, len) == 0)
		return 0;
	mount_parent_forget(c);
	memcpy(c->parent, path, len);
	c->parent[len] = '\0';
	r = open_folder(c, c->parent, &fd);
	if (r != 0)
		return r;
	c->parent_fd = fd;
	c->parent_own = mount_is_own(c, fd);
	return 0;
}

void
mount_parent_forget(struct cell_child *c)
{
	fd_close(&c->parent_fd);
	c->parent[0] = '\0';
}

int
mount_own_parent(struct cell_child *c, const char *path, int *ret_parent)
{
	const char *name;
	int r = parent_of(c, path, &name);

	if (r == 0 && !c->parent_own)
		r = -EROFS;
	if (r == 0)
		*ret_parent = c->parent_fd;
	return r;
}

int
mount_make_file(struct cell_child *c, const char *path, int *ret_parent)
{
	const char *name;
	int r = parent_of(c, path, &name);

	/* In a tree of the host nothing is made: the name must exist. */
	if (r == 0 && c->parent_own &&
	    mknodat(c->parent_fd, name, S_IFREG | 0444, 0) < 0 && errno != EEXIST)
		r = -errno;
	if (r == 0)
		*ret_parent = c->parent_fd;
	return r;
}

int
mount_make_dir(struct cell_child *c, const char *path, int *ret_parent)
{
	const char *name;
	int r = parent_of(c, path, &name);

	if (r == 0 && c->parent_own && mkdirat(c->parent_fd, name, 0755) < 0 &&
	    errno != EEXIST)
		r = -errno;
	if (r == 0)
		*ret_parent = c->parent_fd;
	return r;
}

static const char *
last_part(const char *path)
{
	return strrchr(path, '/') + 1;
}

/* ---- rows ---------------------------------------------------------------- */

typedef int place_fn(struct cell_child *, const struct sealed_mount *, int *clone);

static const char *
target_of(const struct cell_child *c, const struct sealed_mount *m)
{
	return policy_str(c->order->policy, m->target);
}

static int
place_dir(struct cell_child *c, const struct sealed_mount *m, int *clone)
{
	int parent;

	if (m->target.len == 1) /* "/" itself */
		return 0;
	return mount_make_dir(c, target_of(c, m), &parent);
}

static int
place_symlink(struct cell_child *c, const struct sealed_mount *m, int *clone)
{
	const char *path = target_of(c, m);
	int parent, r = mount_own_parent(c, path, &parent);

	if (r == 0 && symlinkat(policy_str(c->order->policy, m->source), parent,
			  last_part(path)) < 0)
		r = -errno;
	return r;
}

static int
place_file(struct cell_child *c, const struct sealed_mount *m, int *clone)
{
	const char *path = target_of(c, m);
	int parent, r = mount_make_file(c, path, &parent);

	return r != 0 ? r : hide_attach(c, m, *clone, parent);
}

static int
place_tree(struct cell_child *c, const struct sealed_mount *m, int *clone)
{
	const char *path = target_of(c, m);
	int parent, r;

	if (m->target.len == 1)
		return -EBUSY; /* the root of the view is ours */
	r = mount_make_dir(c, path, &parent);
	if (r == 0)
		r = hide_attach(c, m, *clone, parent);
	mount_parent_forget(c);
	return r;
}

static int
place_tmpfs(struct cell_child *c, const struct sealed_mount *m, int *clone)
{
	bool private = strcmp(target_of(c, m), POLICY_RUNTIME_DIR) == 0;
	int r = filesystem_tmpfs(m->size, private ? "0700" : "1777", ATTR_TMP, clone);

	if (r == 0)
		r = own(c, *clone);
	return r != 0 ? r : place_tree(c, m, clone);
}

static int
place_proc(struct cell_child *c, const struct sealed_mount *m, int *clone)
{
	static const struct filesystem_option none[] = {{NULL, NULL}};
	struct statfs fs;
	int r = filesystem_new("proc", none, ATTR_NONE, clone);

	if (r == -EPERM) {
		c->hint = "a fresh /proc cannot be mounted, because parts of the host's "
			  "are covered; allow this with `no-proc` in the policy";
		return r;
	}
	if (r == 0 && (fstatfs(*clone, &fs) < 0 || fs.f_type != PROC_MAGIC))
		r = -EBADF;
	return r != 0 ? r : place_tree(c, m, clone);
}

static int
place_dev(struct cell_child *c, const struct sealed_mount *m, int *clone)
{
	int r = synthetic_dev(c, target_of(c, m));

	if (r == 0 && (c->order->server->flags & SERVER_TTY) != 0)
		r = filesystem_pts(c, target_of(c, m));
	return r;
}

static int
place_etc(struct cell_child *c, const struct sealed_mount *m, int *clone)
{
	return synthetic_etc(c, target_of(c, m));
}

static int
place_hide(struct cell_child *c, const struct sealed_mount *m, int *clone)
{
	int r = hide_place(c, m);

	mount_parent_forget(c);
	return r;
}

static place_fn *const place[MOUNT_HIDE + 1] = {
    [MOUNT_DIR] = place_dir,
    [MOUNT_SYMLINK] = place_symlink,
    [MOUNT_FILE] = place_file,
    [MOUNT_TREE] = place_tree,
    [MOUNT_TMPFS] = place_tmpfs,
    [MOUNT_PROC] = place_proc,
    [MOUNT_DEV] = place_dev,
    [MOUNT_SHM] = place_tmpfs,
    [MOUNT_ETC] = place_etc,
    [MOUNT_HIDE] = place_hide,
};

/* ---- the steps ----------------------------------------------------------- */

int
mount_private(struct cell_child *c)
{
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return cell_fault(c, -errno, "");
	c->host_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return c->host_fd < 0 ? cell_fault(c, -errno, "/") : 0;
}

static int
open_source(struct cell_child *c, const struct sealed_mount *m, int *ret)
{
	const char *path = policy_str(c->order->policy, m->source);
	bool writable = (m->right & RIGHT_WRITE) != 0;
	struct stat st;
	int fd, r;

	/* The path was canonical when the policy was compiled: a link now was
	 * swapped in.  Without links and ".." no `write` grant on the way matters. */
	fd = mount_open_below(
	    c->host_fd, path[1] != '\0' ? path + 1 : ".", O_PATH, MOUNT_RESOLVE_REAL);
	if (fd < 0)
		return fd;
	r = fstat(fd, &st) < 0 ? -errno : 0;
	if (r == 0 && m->kind == MOUNT_TREE && !S_ISDIR(st.st_mode))
		r = -ENOTDIR;
	if (r == 0 && m->kind == MOUNT_FILE && !S_ISREG(st.st_mode)) {
		c->hint = "not a regular file";
		r = -EINVAL;
	}
	if (r == 0)
		r = mount_clone(fd,
		    writable ? ATTR_TMP
			     : MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
		    ret);
	fd_close(&fd);
	return r;
}

/* For a moment one descriptor per row is open. */
void
mount_room(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files); /* a failure shows when opening */
	}
}

int
mount_open(struct cell_child *c)
{
	const struct sealed_mount *m;
	size_t n;
	int r;

	mount_room();
	m = cell_mounts(c->order, &n);
	c->clone = malloc((n + 1) * sizeof(*c->clone));
	if (c->clone == NULL)
		return cell_fault(c, -ENOMEM, "the sources");
	for (size_t i = 0; i < n; i++) {
		c->clone[i] = -1;
		if (m[i].kind != MOUNT_FILE && m[i].kind != MOUNT_TREE)
			continue;
		r = open_source(c, &m[i], &c->clone[i]);
		if (r == -ENOENT && m[i].optional)
			continue;
		if (r == -EACCES)
			c->clone[i] = CLONE_LATER;
		else if (r != 0)
			return cell_blame(
			    c, r, policy_str(c->order->policy, m[i].source), m[i].at);
	}
	return 0;
}

/*
 * Root has no power over the host's files in here.  So a directory that only the
 * server's user may enter is inaccessible until the ids are that user's.
 */
int
mount_open_as_user(struct cell_child *c)
{
	const struct sealed_mount *m;
	size_t n;
	int r;

	m = cell_mounts(c->order, &n);
	for (size_t i = 0; i < n; i++) {
		if (c->clone[i] != CLONE_LATER)
			continue;
		c->clone[i] = -1;
		r = open_source(c, &m[i], &c->clone[i]);
		if (r != 0 && !(r == -ENOENT && m[i].optional))
			return cell_blame(
			    c, r, policy_str(c->order->policy, m[i].source), m[i].at);
	}
	return 0;
}

/*
 * With subordinate ids the server is "other" to the caller's files: it can access
 * only what others can.  No capability helps, because the owner of such a file does
 * not exist in here.
 */
int
mount_reach(struct cell_child *c)
{
	const struct sealed_mount *m;
	int want;
	size_t n;

	if (!c->ids.lent)
		return 0;
	m = cell_mounts(c->order, &n);
	for (size_t i = 0; i < n; i++) {
		if (c->clone[i] < 0)
			continue;
		want = (m[i].right & RIGHT_START) != 0 ? X_OK : R_OK;
		if (m[i].kind == MOUNT_TREE)
			want |= X_OK;
		if ((m[i].right & RIGHT_WRITE) != 0)
			want |= W_OK;
		if (syscall(SYS_faccessat2, c->clone[i], "", want,
			AT_EMPTY_PATH | AT_EACCESS) == 0)
			continue;
		c->hint = "the server has another uid (require subuid), and this path is "
			  "not open to others";
		return cell_blame(
		    c, -errno, policy_str(c->order->policy, m[i].source), m[i].at);
	}
	return 0;
}

int
mount_root(struct cell_child *c)
{
	int r = filesystem_tmpfs(VIEW_ROOT_SIZE, "0755", ATTR_TMP, &c->root_fd);

	if (r == 0)
		r = own(c, c->root_fd);
	/* Over the old root: no later lookup there matters, and this needs no
	 * directory of the host. */
	if (r == 0)
		r = mount_attach(c->root_fd, c->host_fd, "");
	fd_close(&c->host_fd);
	return r != 0 ? cell_fault(c, r, "") : 0;
}

int
mount_build(struct cell_child *c)
{
	const struct sealed_mount *m;
	size_t n;
	int r;

	m = cell_mounts(c->order, &n);
	for (size_t i = 0; i < n; i++) {
		bool bound = m[i].kind == MOUNT_FILE || m[i].kind == MOUNT_TREE;

		if (bound && c->clone[i] < 0)
			continue; /* optional, and absent */
		r = m[i].kind <= MOUNT_HIDE && place[m[i].kind] != NULL
			? place[m[i].kind](c, &m[i], &c->clone[i])
			: -EINVAL;
		if (r == -ENOENT && m[i].optional)
			r = 0;
		if (r != 0)
			return cell_blame(c, r, target_of(c, &m[i]), m[i].at);
		fd_close(&c->clone[i]);
	}
	mount_parent_forget(c);
	return 0;
}

int
mount_enter(struct cell_child *c)
{
	int r = hide_forget(c);

	if (r != 0)
		return cell_fault(c, r, "");
	/* The old root ends up on top of the new one and is detached there. */
	if (fchdir(c->root_fd) < 0 || syscall(SYS_pivot_root, ".", ".") < 0 ||
	    umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
		return cell_fault(c, -errno, "");
	return 0;
}

int
mount_seal(struct cell_child *c)
{
	struct mount_attr a = {.attr_set = MOUNT_ATTR_RDONLY};

	if (syscall(SYS_mount_setattr, c->root_fd, "", AT_EMPTY_PATH, &a, sizeof(a)) < 0)
		return cell_fault(c, -errno, "");
	fd_close(&c->root_fd);
	free(c->clone);
	c->clone = NULL;
	return 0;
}
