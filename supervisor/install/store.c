#include "supervisor/install/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/base/array.h"
#include "shim/base/fd.h"
#include "shim/base/hex.h"
#include "shim/base/log.h"
#include "supervisor/base/paths.h"

/* Room for the names below the store. */
#define STORE_PATH_MAX (PATH_MAX - 512)

static const char *
below_data(const char *name, char dir[PATH_MAX])
{
	const char *data = paths_data_dir();

	if (data == NULL || strlen(data) >= STORE_PATH_MAX)
		return NULL;
	(void)snprintf(dir, PATH_MAX, "%.4000s/%s", data, name); /* fits */
	return dir;
}

const char *
store_dir(void)
{
	static char dir[PATH_MAX];

	return below_data("store", dir);
}

/* Not in the store, which no server may write (supervisor/launch/self_protect.c). */
const char *
store_staging_dir(void)
{
	static char dir[PATH_MAX];

	return below_data("install", dir);
}

int
store_hold(bool alone)
{
	const char *dir = store_dir();
	int fd, r = dir == NULL ? -ENOENT : fd_make_dirs(dir);

	if (r < 0)
		return r;
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0 && flock(fd, (alone ? LOCK_EX : LOCK_SH) | LOCK_NB) == 0)
		return fd;
	r = errno == EWOULDBLOCK ? -EAGAIN : -errno;
	fd_close(&fd);
	return r;
}

/* ---- staging ------------------------------------------------------------------- */

static int
make_owned(const char *dir, const char *name, uid_t owner, gid_t group)
{
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%.4000s%s", dir, name); /* fits */
	if (mkdir(path, 0700) < 0)
		return -errno;
	return geteuid() == 0 && lchown(path, owner, group) < 0 ? -errno : 0;
}

int
staging_new(uid_t owner, gid_t group, struct staging *ret)
{
	const char *dir = store_staging_dir();
	int r;

	*ret = (struct staging){.lock = -1};
	if (dir == NULL)
		return -ENOENT;
	r = fd_make_dirs(dir);
	if (r == 0)
		r = fd_make_dirs(store_dir());
	if (r < 0)
		return r;
	(void)snprintf(ret->dir, sizeof(ret->dir), "%.4000s/XXXXXX", dir); /* fits */
	if (mkdtemp(ret->dir) == NULL) {
		r = -errno;
		ret->dir[0] = '\0';
		return r;
	}
	(void)snprintf(ret->work, sizeof(ret->work), "%.4000s/work", ret->dir); /* fits */
	ret->lock = open(ret->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (ret->lock < 0 || flock(ret->lock, LOCK_EX | LOCK_NB) < 0)
		return -errno;
	r = make_owned(ret->work, "", owner, group);
	if (r == 0)
		r = make_owned(ret->work, "/tree", owner, group);
	if (r == 0)
		r = make_owned(ret->work, "/cache", owner, group);
	return r;
}

void
staging_free(struct staging *s)
{
	int r = s->dir[0] == '\0' ? 0 : file_tree_remove(AT_FDCWD, s->dir);

	if (r < 0)
		log_warn("unable to remove %s: %s; `kennel install --gc` tries again",
		    s->dir, strerror(-r));
	s->dir[0] = '\0';
	fd_close(&s->lock);
}

/* ---- the store ------------------------------------------------------------------ */

/* Is the entry of this digest whole? A removal that was interrupted leaves a part of it. */
static int
check_entry(const char *path, struct file_tree *tree)
{
	struct file_tree found;
	int r, dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (dir < 0)
		return -errno;
	r = file_tree_read(dir, &found);
	fd_close(&dir);
	if (r < 0 || memcmp(found.digest, tree->digest, sizeof(found.digest)) != 0) {
		r = -EUCLEAN;
		(void)snprintf(tree->why, sizeof(tree->why),
		    "%.80s in the store is damaged: `kennel install --gc` removes it if "
		    "no policy names it, else remove it yourself, and install again",
		    strrchr(path, '/') + 1); /* fits */
	}
	file_tree_free(&found);
	return r;
}

/* Makes the copy an entry of the store. A directory is renamed before it is read-only:
 * its owner must be able to write it then. */
static int
publish(const char *kept, const char *path, struct file_tree *tree)
{
	int r = rename(kept, path) < 0 ? -errno : 0;

	if (r == -EEXIST || r == -ENOTEMPTY)
		r = check_entry(path, tree);
	if (r == 0 && chmod(path, 0555) < 0)
		r = -errno;
	return r;
}

int
store_keep(const struct staging *s, struct file_tree *tree, char ret_path[PATH_MAX])
{
	char from[PATH_MAX], kept[PATH_MAX], key[STORE_KEY_LEN + 1];
	int in = -1, out = -1, r;

	*tree = (struct file_tree){.bytes = 0};
	(void)snprintf(from, sizeof(from), "%.4000s/tree", s->work); /* fits */
	(void)snprintf(kept, sizeof(kept), "%.4000s/kept", s->dir);  /* fits */
	in = open(from, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (in < 0 || mkdir(kept, 0755) < 0) {
		r = -errno;
		fd_close(&in);
		(void)snprintf(tree->why, sizeof(tree->why), "%s", strerror(-r));
		return r;
	}
	out = open(kept, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	r = out < 0 ? -errno : file_tree_copy(in, out, tree);
	if (r == 0) {
		(void)snprintf(ret_path, PATH_MAX, "%.3500s/%s", store_dir(),
		    hex_put(key, tree->digest, sizeof(tree->digest))); /* fits */
		r = publish(kept, ret_path, tree);
	}
	if (r < 0 && tree->why[0] == '\0')
		(void)snprintf(tree->why, sizeof(tree->why), "%s", strerror(-r));
	fd_close(&in);
	fd_close(&out);
	return r;
}

const char *
store_key_in(const char *text, size_t len)
{
	const char *store = store_dir(), *at, *end = text + len;
	size_t n = store == NULL ? 0 : strlen(store);

	for (at = text; n > 0 && (at = memmem(at, (size_t)(end - at), store, n)) != NULL;
	     at += n) {
		const char *key = at + n + 1;

		if ((size_t)(end - at) > n + STORE_KEY_LEN && at[n] == '/' &&
		    hex_is(key, STORE_KEY_LEN, STORE_KEY_LEN))
			return key;
	}
	return NULL;
}
