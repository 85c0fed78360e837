/*
 * An entry is in use if a file in kennel's directories of policies contains its key, text
 * or sealed, included or not; if a process has it mounted; or if a kennel holds it
 * (supervisor/launch/find/held_packages.c), because a session starts its server again by the
 * policy that it began with, whatever that file contains now.
 */
#include "supervisor/install/gc.h"

#include <dirent.h>
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
#include "supervisor/base/exit_status.h"
#include "supervisor/base/paths.h"
#include "supervisor/draft/npm_lock.h"
#include "supervisor/install/ask.h"
#include "supervisor/install/store.h"

#define ENTRIES_MAX 4096
#define DEPTH_MAX   8
#define FILE_MAX    (256u << 20)

struct entry {
	char key[STORE_KEY_LEN + 1];
	bool used;
};

struct collection {
	struct entry entry[ENTRIES_MAX];
	size_t n;
	bool blind; /* a file could not be read: nothing may be removed */
};

/* ---- what is there ------------------------------------------------------------- */

static int
find_entries(struct collection *c)
{
	DIR *d = opendir(store_dir());
	const struct dirent *e;

	if (d == NULL)
		return errno == ENOENT ? 0 : -errno;
	while ((e = readdir(d)) != NULL && c->n < ENTRIES_MAX)
		if (hex_is(e->d_name, strlen(e->d_name), STORE_KEY_LEN))
			memcpy(c->entry[c->n++].key, e->d_name, STORE_KEY_LEN + 1);
	(void)closedir(d); /* only read */
	return 0;
}

/* ---- what is used ---------------------------------------------------------------- */

static void
mark(struct collection *c, const char *text, size_t len)
{
	for (size_t i = 0; i < c->n; i++)
		c->entry[i].used |=
		    memmem(text, len, c->entry[i].key, STORE_KEY_LEN) != NULL;
}

static void
mark_file(struct collection *c, int dir, const char *name)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	char *text = NULL;
	size_t len;

	if (fd < 0 || fd_slurp(fd, FILE_MAX, &text, &len) < 0) {
		log_error("unable to read %s: nothing is removed", name);
		c->blind = true;
	} else {
		mark(c, text, len);
	}
	fd_close(&fd);
	free(text);
}

/* NOLINTBEGIN(misc-no-recursion): at most DEPTH_MAX deep */
static void
mark_dir(struct collection *c, int at, const char *name, int depth)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;
	struct stat st;

	if (d == NULL || depth > DEPTH_MAX) {
		c->blind |= errno != ENOENT || depth > DEPTH_MAX;
		if (d != NULL)
			(void)closedir(d); /* only read */
		else
			fd_close(&fd);
		return;
	}
	while ((e = readdir(d)) != NULL) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
		    fstatat(dirfd(d), e->d_name, &st, 0) < 0)
			continue;
		if (S_ISDIR(st.st_mode))
			mark_dir(c, dirfd(d), e->d_name, depth + 1);
		else if (S_ISREG(st.st_mode))
			mark_file(c, dirfd(d), e->d_name);
	}
	(void)closedir(d); /* only read */
}
/* NOLINTEND(misc-no-recursion) */

/* The mounts of every process that shows them; another user's does not use this store
 * unless root runs it, who may look. */
static void
mark_mounts(struct collection *c)
{
	DIR *d = opendir("/proc");
	const struct dirent *e;
	char path[64], *text;
	size_t len;
	int fd;

	while (d != NULL && (e = readdir(d)) != NULL) {
		if (e->d_name[0] < '0' || e->d_name[0] > '9')
			continue;
		(void)snprintf(path, sizeof(path), "/proc/%.20s/mountinfo", e->d_name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		text = NULL;
		if (fd >= 0 && fd_slurp(fd, FILE_MAX, &text, &len) == 0)
			mark(c, text, len);
		fd_close(&fd);
		free(text);
	}
	c->blind |= d == NULL;
	if (d != NULL)
		(void)closedir(d); /* only read */
}

/* Takes the entry from every kennel. -EAGAIN: one holds it; -errno. */
static int
take_entry(int store, const char *key, int *ret_lock)
{
	int r = 0,
	    fd = openat(store, key, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0)
		r = errno == EWOULDBLOCK ? -EAGAIN : -errno;
	if (r == 0)
		*ret_lock = fd;
	else
		fd_close(&fd);
	return r;
}

static void
mark_held(struct collection *c)
{
	int lock, r, store = open(store_dir(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (size_t i = 0; i < c->n; i++) {
		r = take_entry(store, c->entry[i].key, &lock);
		if (r == 0)
			fd_close(&lock);
		c->entry[i].used |= r == -EAGAIN;
	}
	fd_close(&store);
}

static void
mark_used(struct collection *c)
{
	static const char *const below[] = {"policies", "sealed"};
	char dir[PATH_MAX];

	for (size_t i = 0; i < ARRAY_LEN(below); i++) {
		(void)snprintf(dir, sizeof(dir), "%.4000s/%s", paths_config_dir(),
		    below[i]); /* fits */
		mark_dir(c, AT_FDCWD, dir, 0);
		(void)snprintf(dir, sizeof(dir), "/etc/kennel/%s", below[i]); /* fits */
		mark_dir(c, AT_FDCWD, dir, 0);
	}
	mark_mounts(c);
	mark_held(c);
}

/* ---- removal ---------------------------------------------------------------------- */

/* The packages that are not below another's, for a person. */
static void
show(const struct entry *e)
{
	char dir[PATH_MAX];
	struct lock lock;
	size_t n = 0;

	(void)snprintf(dir, sizeof(dir), "%.3900s/%s", store_dir(), e->key); /* fits */
	printf("%s:", dir);
	(void)lock_read(dir, &lock); /* else: no package is named */
	for (size_t i = 0; i < lock.n && n < 3; i++, n++)
		printf(" %s@%s", lock.package[i].path + strlen("node_modules/"),
		    lock.package[i].version);
	printf("%s\n", n < lock.n ? " ..." : "");
	lock_free(&lock);
}

/* Out of the store first, so that an interruption leaves no part of an entry in it. */
static int
remove_entry(int store, int aside, const char *key)
{
	int lock = -1, r = take_entry(store, key, &lock); /* since the question */

	/* to be moved, a directory must be writable for its owner */
	if (r == 0 &&
	    (fchmodat(store, key, 0755, 0) < 0 || renameat(store, key, aside, key) < 0))
		r = -errno;
	if (r == 0)
		r = file_tree_remove(aside, key);
	fd_close(&lock);
	return r;
}

static int
remove_unused(const struct collection *c)
{
	int status = 0, r, store, aside;

	r = fd_make_dirs(store_staging_dir());
	store = open(store_dir(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	aside = open(store_staging_dir(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (r < 0 || store < 0 || aside < 0) {
		log_error("unable to use %s: %s; nothing was removed",
		    r < 0 || aside < 0 ? store_staging_dir() : store_dir(),
		    strerror(r < 0 ? -r : errno));
		status = EXIT_CONFIG;
	}
	for (size_t i = 0, n = status == 0 ? c->n : 0; i < n; i++) {
		if (c->entry[i].used)
			continue;
		r = remove_entry(store, aside, c->entry[i].key);
		if (r == 0)
			continue;
		log_error("unable to remove %s from the store: %s", c->entry[i].key,
		    r == -EAGAIN ? "a session has begun to use it" : strerror(-r));
		status = EXIT_CONFIG;
	}
	fd_close(&store);
	fd_close(&aside);
	return status;
}

/* Installations whose kennel has ended hold no lock. */
static void
remove_staging(void)
{
	DIR *d = opendir(store_staging_dir());
	const struct dirent *e;
	int fd;

	while (d != NULL && (e = readdir(d)) != NULL) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		fd = openat(
		    dirfd(d), e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
			(void)file_tree_remove(
			    dirfd(d), e->d_name); /* or the next time */
		fd_close(&fd);
	}
	if (d != NULL)
		(void)closedir(d); /* only read */
}

static int
collect(bool yes)
{
	static struct collection c; /* large */
	size_t unused = 0;
	int r = find_entries(&c);

	if (r < 0) {
		log_error("unable to read %s: %s", store_dir(), strerror(-r));
		return EXIT_CONFIG;
	}
	mark_used(&c);
	if (c.blind) {
		log_error("unable to read all policies; nothing was removed");
		return EXIT_CONFIG;
	}
	remove_staging();
	for (size_t i = 0; i < c.n; i++)
		if (!c.entry[i].used) {
			unused++;
			show(&c.entry[i]);
		}
	if (unused == 0) {
		printf("Every package in the store is used by a policy.\n");
		return 0;
	}
	if (!yes &&
	    !ask_person("No policy in kennel's directories uses these. Remove them?"))
		return 1;
	return remove_unused(&c);
}

int
gc(bool yes)
{
	int status, hold = store_hold(true);

	if (hold < 0) {
		log_error("unable to use the store: %s",
		    hold == -EAGAIN ? "a package is being installed; try again later"
				    : strerror(-hold));
		return EXIT_CONFIG;
	}
	status = collect(yes);
	fd_close(&hold);
	return status;
}
