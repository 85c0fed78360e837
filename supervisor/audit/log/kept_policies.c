/*
 * The policies that were in force, next to the log: policies/DIGEST.kennel is a
 * policy text as it was read, policies/ID.sealed the compiled policy without its
 * signatures.
 *
 * They are not part of the log. A file's name is the SHA-256 of its bytes, which the
 * records also contain. So a falsified file is detected, and a missing one breaks no
 * proof. A policy holds names of secrets, never values: these files are no more
 * secret than the records.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "shim/base/hex.h"
#include "supervisor/audit/log/kept_policies.h"

#define FOLDER "policies"
#define NEW    ".new" /* followed by a pid */

#define DIGITS (2 * (size_t)MERKLE_HASH_LEN) /* of a digest */

static const char *const suffix[] = {
    [POLICIES_TEXT] = ".kennel",
    [POLICIES_SEALED] = ".sealed",
};

void
policies_name(enum policies_form form, const uint8_t digest[MERKLE_HASH_LEN],
    char ret[POLICIES_NAME])
{
	char hex[2 * MERKLE_HASH_LEN + 1];

	(void)snprintf(ret, POLICIES_NAME, "%s%s", hex_put(hex, digest, MERKLE_HASH_LEN),
	    suffix[form]);
}

static int
open_folder(const char *log_dir, bool make, int *ret)
{
	int dir, r = 0, log = open(log_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	/* early: openat mkdirat */
	if (log < 0)
		return -errno;
	if (make && mkdirat(log, FOLDER, 0700) < 0 && errno != EEXIST)
		r = -errno;
	dir = r < 0
		  ? -1
		  : openat(log, FOLDER, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (r == 0 && dir < 0)
		r = -errno;
	fd_close(&log);
	if (r == 0)
		*ret = dir;
	return r;
}

/* ---- iterate over the directory ---------------------------------------------------- */

typedef int file_fn(void *arg, int dir, const char *name, const struct stat *);

static int
each_file(int dir, file_fn *see, void *arg)
{
	struct dirent *entry;
	int r = 0, copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	struct stat st;

	/* early: openat getdents64 newfstatat */
	if (d == NULL) {
		r = -errno;
		fd_close(&copy);
		return r;
	}
	while (r == 0 && (entry = readdir(d)) != NULL) {
		if (fstatat(dir, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISREG(st.st_mode))
			r = see(arg, dir, entry->d_name, &st);
	}
	(void)closedir(d);
	return r;
}

/* ---- put ----------------------------------------------------------------------------- */

struct room {
	size_t files;
	uint64_t bytes;
};

static int
count_file(void *arg, int dir, const char *name, const struct stat *st)
{
	struct room *room = arg;

	room->files++;
	room->bytes += (uint64_t)st->st_size;
	return 0;
}

/* Existing files are never removed to make room: a flood of policies must not push
 * out the one in force before it. */
static int
has_room(int dir, size_t len)
{
	struct room room = {0, 0};
	int r = each_file(dir, count_file, &room);

	if (r == 0 && (room.files >= POLICIES_MAX || room.bytes + len > POLICIES_BYTES))
		r = -ENOSPC;
	return r;
}

/* Writes the file atomically with respect to other processes. A crash of the machine
 * may leave it short or zeroed; the next start then writes it again. */
static int
write_file(int dir, const char *name, const void *bytes, size_t len)
{
	char new[sizeof(NEW) + 24];
	int fd, r;

	(void)snprintf(new, sizeof(new), NEW "-%ld", (long)getpid());
	(void)unlinkat(dir, new, 0); /* left by an earlier process with the same pid */
	/* early: unlinkat openat write renameat getpid */
	fd = openat(dir, new, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	r = fd_write_all(fd, bytes, len);
	fd_close(&fd);
	if (r == 0 && renameat(dir, new, dir, name) < 0)
		r = -errno;
	if (r < 0)
		(void)unlinkat(dir, new, 0); /* if it stays, it is counted and pruned */
	return r;
}

/* True if the file has exactly these bytes. Otherwise a record would claim to keep
 * something else. */
static bool
is_kept(int dir, const char *name, const void *bytes, size_t len)
{
	char *there = NULL;
	size_t there_len = 0;
	bool same = false;
	int fd;

	/* early: openat read fstat */
	fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd >= 0 && fd_slurp(fd, POLICIES_LEN_MAX, &there, &there_len) == 0)
		same = there_len == len && memcmp(there, bytes, len) == 0;
	free(there);
	fd_close(&fd);
	return same;
}

int
policies_keep(const char *log_dir, enum policies_form form,
    const uint8_t digest[MERKLE_HASH_LEN], const void *bytes, size_t len)
{
	char name[POLICIES_NAME];
	struct stat st;
	int dir = -1, r;

	if (len > POLICIES_LEN_MAX)
		return -EMSGSIZE;
	r = open_folder(log_dir, true, &dir);
	if (r < 0)
		return r;
	policies_name(form, digest, name);
	/* early: newfstatat utimensat */
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
	    (uint64_t)st.st_size == len && is_kept(dir, name, bytes, len))
		/* mtime is the time of last use, for prune only */
		(void)utimensat(dir, name, NULL, AT_SYMLINK_NOFOLLOW);
	else {
		r = has_room(dir, len);
		if (r == 0)
			r = write_file(dir, name, bytes, len);
	}
	fd_close(&dir);
	return r;
}

/* ---- get ------------------------------------------------------------------------------- */

int
policies_get(const char *log_dir, enum policies_form form,
    const uint8_t digest[MERKLE_HASH_LEN], char **ret, size_t *ret_len)
{
	uint8_t is[MERKLE_HASH_LEN];
	char name[POLICIES_NAME], *bytes = NULL;
	size_t len = 0;
	int fd, dir = -1, r = open_folder(log_dir, false, &dir);

	if (r < 0)
		return r;
	policies_name(form, digest, name);
	fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	r = fd < 0 ? -errno : fd_slurp(fd, POLICIES_LEN_MAX, &bytes, &len);
	fd_close(&fd);
	fd_close(&dir);
	if (r == 0) {
		merkle_digest(bytes, len, is);
		r = memcmp(is, digest, sizeof(is)) == 0 ? 0 : -EBADMSG;
	}
	if (r < 0) {
		free(bytes);
		return r == -EFBIG || r == -ELOOP || r == -EISDIR ? -EBADMSG : r;
	}
	*ret = bytes;
	*ret_len = len;
	return 0;
}

/* True of the name of a policy. */
static bool
is_policy(const char *name)
{
	const char *end = name + hex_span(name);

	return end == name + DIGITS && (strcmp(end, suffix[POLICIES_TEXT]) == 0 ||
					   strcmp(end, suffix[POLICIES_SEALED]) == 0);
}

struct wanted {
	const char *prefix;
	char found[POLICIES_NAME]; /* "": none yet */
};

static int
match_file(void *arg, int dir, const char *name, const struct stat *st)
{
	struct wanted *w = arg;

	if (!is_policy(name) || strncmp(name, w->prefix, strlen(w->prefix)) != 0)
		return 0;
	if (w->found[0] != '\0' && strncmp(w->found, name, DIGITS) != 0)
		return -EEXIST;
	(void)snprintf(w->found, sizeof(w->found), "%s", name);
	return 0;
}

int
policies_find(const char *log_dir, const char *prefix, uint8_t ret[MERKLE_HASH_LEN])
{
	struct wanted w = {.prefix = prefix};
	size_t len = strlen(prefix);
	int dir = -1, r;

	if (len < POLICIES_PREFIX_MIN || len > DIGITS || hex_span(prefix) != len)
		return -EINVAL;
	r = open_folder(log_dir, false, &dir);
	if (r < 0)
		return r;
	r = each_file(dir, match_file, &w);
	fd_close(&dir);
	if (r < 0)
		return r;
	if (!hex_get(w.found, strnlen(w.found, DIGITS), ret, MERKLE_HASH_LEN))
		return -ENOENT;
	return 0;
}

/* ---- remove ----------------------------------------------------------------------------- */

struct pruned {
	uint64_t before_ns, n;
};

static bool
is_ours(const char *name)
{
	return strncmp(name, NEW, sizeof(NEW) - 1) == 0 || is_policy(name);
}

static int
prune_file(void *arg, int dir, const char *name, const struct stat *st)
{
	struct pruned *p = arg;
	uint64_t used =
	    (uint64_t)st->st_mtim.tv_sec * 1000000000 + (uint64_t)st->st_mtim.tv_nsec;

	if (!is_ours(name) || used >= p->before_ns)
		return 0;
	if (unlinkat(dir, name, 0) < 0)
		return -errno;
	p->n++;
	return 0;
}

int
policies_prune(const char *log_dir, uint64_t before_ns, uint64_t *ret_n)
{
	struct pruned p = {.before_ns = before_ns};
	int dir = -1, r = open_folder(log_dir, false, &dir);

	if (r < 0)
		return r;
	r = each_file(dir, prune_file, &p);
	fd_close(&dir);
	if (r == 0)
		*ret_n = p.n;
	return r;
}
