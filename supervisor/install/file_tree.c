/*
 * Process: kennel, the user's, or root's. Trusts nothing in the tree. Follows no link;
 * opens by name in a directory that is open. The installer's cell has ended, so nothing
 * changes meanwhile; the copy would be complete and inside the store even if it did.
 */
#include "supervisor/install/file_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "shim/base/hex.h"
#include "shim/base/log.h"
#include "supervisor/json/json.h"

#define LISTING_MAX (256u << 20)
#define COPY_LEN    (128u << 10)

struct walk {
	struct file_tree *t;
	char path[PATH_MAX]; /* of the entry, from the top; "" at the top */
};

struct names {
	char **name;
	size_t n, cap;
};

/* Records why, with the path of the entry. */
static int
refuse(struct walk *w, int r, const char *why)
{
	char shown[FILE_TREE_WHY_MAX - 128];

	(void)log_quote(shown, sizeof(shown), w->path, strlen(w->path));
	(void)snprintf(w->t->why, sizeof(w->t->why), "%s: %s",
	    shown[0] == '\0' ? "the directory" : shown, why); /* fits */
	return r;
}

/* ---- names of a directory ---------------------------------------------------- */

static void
names_free(struct names *names)
{
	for (size_t i = 0; i < names->n; i++)
		free(names->name[i]);
	free(names->name);
}

static int
names_add(struct names *names, const char *name)
{
	char **more;

	if (names->n == FILE_TREE_ENTRIES_MAX)
		return -E2BIG;
	if (names->n == names->cap) {
		size_t cap = names->cap == 0 ? 64 : 2 * names->cap;

		more = reallocarray(names->name, cap, sizeof(*more));
		if (more == NULL)
			return -ENOMEM;
		names->name = more;
		names->cap = cap;
	}
	names->name[names->n] = strdup(name);
	if (names->name[names->n] == NULL)
		return -ENOMEM;
	names->n++;
	return 0;
}

static int
by_bytes(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names in a directory, sorted. names_free in every case. */
static int
names_of(int dir, struct names *ret)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;

	*ret = (struct names){NULL, 0, 0};
	if (d == NULL) {
		r = -errno;
		fd_close(&fd);
		return r;
	}
	while (r == 0 && (e = readdir(d)) != NULL)
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			r = names_add(ret, e->d_name);
	(void)closedir(d); /* only read */
	if (ret->n > 0)
		qsort(ret->name, ret->n, sizeof(*ret->name), by_bytes);
	return r;
}

/* ---- one entry ----------------------------------------------------------------- */

/* A line of the listing or of a terminal must be one line. */
static bool
is_plain(const char *text)
{
	for (; *text != '\0'; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			return false;
	return true;
}

/* Does a link in a directory this deep stay in the tree? Each link is checked on its own:
 * if a path leads through others, it stays inside by the same rule. ".." is accepted
 * only at the start, where the directory is real. */
static bool
link_stays(const char *target, int depth)
{
	if (target[0] == '/' || target[0] == '\0')
		return false;
	while (strncmp(target, "..", 2) == 0 && (target[2] == '/' || target[2] == '\0')) {
		if (depth-- == 0)
			return false;
		target += 2 + (target[2] == '/');
	}
	while (*target != '\0') {
		size_t n = strcspn(target, "/");

		if (n == 2 && memcmp(target, "..", 2) == 0)
			return false;
		target += n + (target[n] == '/');
	}
	return true;
}

static int
take_link(struct walk *w, int from, int to, const char *name, int depth)
{
	char target[PATH_MAX];
	ssize_t n = readlinkat(from, name, target, sizeof(target) - 1);

	if (n < 0)
		return refuse(w, -errno, strerror(errno));
	target[n] = '\0';
	if (strlen(target) != (size_t)n || !is_plain(target) ||
	    !link_stays(target, depth))
		return refuse(w, -EINVAL, "a symbolic link that leaves the package");
	if (to >= 0 && symlinkat(target, to, name) < 0)
		return refuse(w, -errno, strerror(errno));
	return buf_printf(&w->t->listing, "l %s\t%s\n", w->path, target);
}

static int
copy_bytes(struct walk *w, int in, int out, uint64_t *ret_len)
{
	static uint8_t bytes[COPY_LEN];
	ssize_t n;
	int r;

	while ((n = read(in, bytes, sizeof(bytes))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		*ret_len += (uint64_t)n;
		if (w->t->bytes + *ret_len > FILE_TREE_BYTES_MAX)
			return -E2BIG;
		r = fd_write_all(out, bytes, (size_t)n);
		if (r < 0)
			return r;
	}
	return 0;
}

/* The digest of a file that only kennel writes. */
static int
file_digest(int fd, uint64_t len, uint8_t ret[FILE_TREE_DIGEST_LEN])
{
	void *map;

	if (len == 0) {
		mcp_digest((const uint8_t *)"", 0, ret);
		return 0;
	}
	map = mmap(NULL, (size_t)len, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	mcp_digest(map, (size_t)len, ret);
	(void)munmap(map, (size_t)len); /* cannot fail: ours */
	return 0;
}

/* Puts the file into the listing; with a copy, from the copy. */
static int
put_file(struct walk *w, int fd, uint64_t len, bool runs)
{
	char hex[2 * FILE_TREE_DIGEST_LEN + 1];
	uint8_t digest[FILE_TREE_DIGEST_LEN];
	int r = file_digest(fd, len, digest);

	if (r == 0)
		r = buf_printf(&w->t->listing, "f %c %s %s\n", runs ? 'x' : '-',
		    hex_put(hex, digest, sizeof(digest)), w->path);
	w->t->bytes += len;
	return r;
}

static int
take_file(struct walk *w, int from, int to, const char *name)
{
	int in = openat(from, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	int out = -1, r = in < 0 ? -errno : 0;
	uint64_t len = 0;
	struct stat st = {.st_mode = 0};
	bool runs;

	if (r == 0 && (fstat(in, &st) < 0 || !S_ISREG(st.st_mode)))
		r = -EINVAL;
	if (r < 0) {
		fd_close(&in);
		return refuse(w, r, strerror(-r));
	}
	runs = (st.st_mode & S_IXUSR) != 0;
	if (to < 0) {
		r = w->t->bytes + (uint64_t)st.st_size > FILE_TREE_BYTES_MAX
			? -E2BIG
			: put_file(w, in, (uint64_t)st.st_size, runs);
	} else {
		out = openat(
		    to, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		r = out < 0 ? -errno : copy_bytes(w, in, out, &len);
		if (r == 0)
			r = put_file(w, out, len, runs);
		if (r == 0 && fchmod(out, runs ? 0555 : 0444) < 0)
			r = -errno;
	}
	fd_close(&out);
	fd_close(&in);
	return r < 0 ? refuse(w, r, strerror(-r)) : 0;
}

/* ---- the walk -------------------------------------------------------------------- */

/* NOLINTBEGIN(misc-no-recursion): at most FILE_TREE_DEPTH_MAX deep */
static int walk_dir(struct walk *, int from, int to, int depth);

static int
take_dir(struct walk *w, int from, int to, const char *name, int depth)
{
	int in = openat(from, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int out = -1, r = in < 0 ? -errno : 0;

	if (r == 0 && to >= 0) {
		r = mkdirat(to, name, 0700) < 0 ? -errno : 0;
		if (r == 0)
			out = openat(
			    to, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (r == 0 && out < 0)
			r = -errno;
	}
	if (r < 0)
		(void)refuse(w, r, strerror(-r));
	if (r == 0)
		r = buf_printf(&w->t->listing, "d %s\n", w->path);
	if (r == 0)
		r = walk_dir(w, in, out, depth + 1);
	if (r == 0 && out >= 0 && fchmod(out, 0555) < 0)
		r = refuse(w, -errno, strerror(errno));
	fd_close(&out);
	fd_close(&in);
	return r;
}

static int
take(struct walk *w, int from, int to, const char *name, int depth)
{
	struct stat st;

	if (++w->t->entry_n > FILE_TREE_ENTRIES_MAX)
		return refuse(w, -E2BIG, "too many files");
	if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return refuse(w, -errno, strerror(errno));
	if (S_ISDIR(st.st_mode))
		return take_dir(w, from, to, name, depth);
	if (S_ISREG(st.st_mode))
		return take_file(w, from, to, name);
	if (S_ISLNK(st.st_mode))
		return take_link(w, from, to, name, depth);
	return refuse(w, -EINVAL, "neither a file, a directory nor a link");
}

static int
walk_dir(struct walk *w, int from, int to, int depth)
{
	size_t before = strlen(w->path);
	struct names names;
	int r = names_of(from, &names);

	if (r < 0)
		(void)refuse(w, r, strerror(-r));
	else if (depth > FILE_TREE_DEPTH_MAX)
		r = refuse(w, -E2BIG, "too deep");
	for (size_t i = 0; r == 0 && i < names.n; i++) {
		const char *name = names.name[i];
		int n = snprintf(w->path + before, sizeof(w->path) - before, "%s%s",
		    before > 0 ? "/" : "", name);

		if (!is_plain(name))
			r = refuse(w, -EINVAL, "a name with a control character");
		else if (n < 0 || (size_t)n >= sizeof(w->path) - before)
			r = refuse(w, -E2BIG, "too long a path");
		else
			r = take(w, from, to, name, depth);
		w->path[before] = '\0';
	}
	names_free(&names);
	return r;
}
/* NOLINTEND(misc-no-recursion) */

int
file_tree_copy(int from, int to, struct file_tree *ret)
{
	struct walk w = {.t = ret};
	int r;

	*ret = (struct file_tree){.bytes = 0};
	buf_init(&ret->listing, LISTING_MAX);
	r = walk_dir(&w, from, to, 0);
	if (r == 0)
		mcp_digest(ret->listing.data, ret->listing.len, ret->digest);
	else if (ret->why[0] == '\0')
		(void)snprintf(ret->why, sizeof(ret->why), "%s", strerror(-r)); /* fits */
	return r;
}

int
file_tree_read(int dir, struct file_tree *ret)
{
	return file_tree_copy(dir, -1, ret);
}

void
file_tree_free(struct file_tree *t)
{
	buf_free(&t->listing);
}

/* ---- removal --------------------------------------------------------------------- */

struct removal {
	int top;
	unsigned int moved;
};

/* NOLINTBEGIN(misc-no-recursion): at most FILE_TREE_DEPTH_MAX deep */
static int remove_below(struct removal *, int dir, int depth);

static int
remove_dir(struct removal *rm, int at, const char *name, int depth)
{
	char aside[32];
	int fd, r;

	if (fchmodat(at, name, 0700, 0) < 0)
		return -errno;
	if (depth == FILE_TREE_DEPTH_MAX) { /* to the top, whose loop comes to it */
		do {
			(void)snprintf(
			    aside, sizeof(aside), ".aside-%u", rm->moved++); /* fits */
			r = renameat(at, name, rm->top, aside) < 0 ? -errno : 0;
		} while (r == -EEXIST || r == -ENOTEMPTY || r == -ENOTDIR);
		return r;
	}
	fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	r = remove_below(rm, fd, depth + 1);
	fd_close(&fd);
	if (r == 0 && unlinkat(at, name, AT_REMOVEDIR) < 0)
		r = -errno;
	return r;
}

static int
remove_below(struct removal *rm, int dir, int depth)
{
	struct names names;
	int r = names_of(dir, &names);
	struct stat st;

	for (size_t i = 0; r == 0 && i < names.n; i++) {
		const char *name = names.name[i];

		if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISDIR(st.st_mode))
			r = remove_dir(rm, dir, name, depth);
		else if (unlinkat(dir, name, 0) < 0)
			r = -errno;
	}
	names_free(&names);
	return r;
}
/* NOLINTEND(misc-no-recursion) */

int
file_tree_remove(int at, const char *name)
{
	struct removal rm = {.moved = 0};
	struct stat st;
	int r;

	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISDIR(st.st_mode))
		return unlinkat(at, name, 0) < 0 ? -errno : 0;
	if (fchmodat(at, name, 0700, 0) < 0)
		return -errno;
	rm.top = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (rm.top < 0)
		return -errno;
	do { /* again for what was moved to the top */
		unsigned int before = rm.moved;

		r = remove_below(&rm, rm.top, 0);
		if (rm.moved == before)
			break;
	} while (r == 0);
	fd_close(&rm.top);
	if (r == 0 && unlinkat(at, name, AT_REMOVEDIR) < 0)
		r = -errno;
	return r;
}
