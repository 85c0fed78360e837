/*
 * A backup: a line with its format, the SHA-256 of what replaced the file, the length
 * of the path; then the path, a newline, and the original bytes.
 */
#include "supervisor/import/config/backup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "shim/base/hex.h"
#include "supervisor/import/config/config_tree.h"
#include "supervisor/json/json.h"

#define NUMBERS_MAX 999999
#define HEAD_MAX    (PATH_MAX + 256)
static const char format[] = "kennel-import 1 ";

struct backup {
	char path[PATH_MAX];
	uint8_t digest[32]; /* of what replaced it */
	char *bytes;        /* the whole backup, owned */
	size_t len, at;     /* the original begins at at */
};

/* ---- names ------------------------------------------------------------------- */

static int
is_backup(const struct dirent *e)
{
	return strlen(e->d_name) == 13 && strcmp(e->d_name + 6, ".backup") == 0 &&
	       strspn(e->d_name, "0123456789") == 6;
}

/* The names, in the order of their numbers. The caller frees both. */
static int
list(const char *dir, struct dirent ***ret)
{
	int n = scandir(dir, ret, is_backup, alphasort);

	return n < 0 ? (errno == ENOENT ? 0 : -errno) : n;
}

static void
list_free(struct dirent **entry, int n)
{
	for (int i = 0; i < n; i++)
		free(entry[i]);
	if (n > 0)
		free(entry);
}

static void
backup_path(const char *dir, const struct dirent *e, char ret[PATH_MAX])
{
	(void)snprintf(ret, PATH_MAX, "%.3000s/%.255s", dir, e->d_name); /* fits */
}

static int
next_path(const char *dir, char ret[PATH_MAX])
{
	struct dirent **entry = NULL;
	int n = list(dir, &entry),
	    last = n > 0 ? (int)strtol(entry[n - 1]->d_name, NULL, 10) : 0;

	list_free(entry, n);
	if (n < 0)
		return n;
	if (last >= NUMBERS_MAX)
		return -ENOSPC;
	n = snprintf(ret, PATH_MAX, "%s/%06d.backup", dir, last + 1);
	return n < 0 || n >= PATH_MAX ? -ENAMETOOLONG : 0;
}

/* ---- write ------------------------------------------------------------------- */

int
backup_write(const char *dir, const struct config_file *f, const void *bytes, size_t len,
    char ret_path[PATH_MAX])
{
	char head[HEAD_MAX], hex[65];
	uint8_t digest[32];
	int r = fd_make_dirs(dir), fd, n;

	if (r == 0)
		r = next_path(dir, ret_path);
	if (r < 0)
		return r;
	mcp_digest(bytes, len, digest);
	n = snprintf(head, sizeof(head), "%s%s %zu\n%s\n", format,
	    hex_put(hex, digest, 32), strlen(f->path), f->path); /* fits */
	fd = open(ret_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	r = fd_write_all(fd, head, (size_t)n);
	if (r == 0)
		r = fd_write_all(fd, f->bytes, f->len);
	if (r == 0 && fsync(fd) < 0)
		r = -errno;
	fd_close(&fd);
	if (r < 0)
		(void)unlink(ret_path); /* leave no partial backup */
	return r;
}

/* ---- read -------------------------------------------------------------------- */

static int
parse(struct backup *b)
{
	size_t n = strlen(format), path_len;
	char *end;

	if (b->len < n + 66 || memcmp(b->bytes, format, n) != 0 ||
	    !hex_get(b->bytes + n, 64, b->digest, 32) || b->bytes[n + 64] != ' ')
		return -EBADMSG;
	path_len = strtoul(b->bytes + n + 65, &end, 10);
	b->at = (size_t)(end + 1 - b->bytes);
	if (*end != '\n' || path_len == 0 || path_len >= PATH_MAX ||
	    b->at + path_len + 1 > b->len || b->bytes[b->at + path_len] != '\n')
		return -EBADMSG;
	memcpy(b->path, b->bytes + b->at, path_len);
	b->path[path_len] = '\0';
	b->at += path_len + 1;
	return 0;
}

static int
backup_read(const char *path, struct backup *ret)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY), r;

	*ret = (struct backup){.len = 0};
	if (fd < 0)
		return -errno;
	r = fd_slurp(fd, TREE_FILE_MAX + HEAD_MAX, &ret->bytes, &ret->len);
	fd_close(&fd);
	return r < 0 ? r : parse(ret);
}

static void
backup_free(struct backup *b)
{
	if (b->bytes != NULL)
		explicit_bzero(b->bytes, b->len);
	free(b->bytes);
}

/* Has a backup of this file these bytes? */
static bool
is_kept(const char *dir, const struct config_file *f, const struct config_file *left)
{
	struct dirent **entry = NULL;
	int n = list(dir, &entry);
	char path[PATH_MAX];
	bool kept = false;

	for (int i = n - 1; i >= 0 && !kept; i--) {
		struct backup b;

		backup_path(dir, entry[i], path);
		kept = backup_read(path, &b) == 0 && strcmp(b.path, f->path) == 0 &&
		       b.len - b.at == left->len &&
		       memcmp(b.bytes + b.at, left->bytes, left->len) == 0;
		backup_free(&b);
	}
	list_free(entry, n);
	return kept;
}

/* Do these bytes begin with what is left? */
static bool
is_part(const struct config_file *left, const void *bytes, size_t len)
{
	return left->len <= len && memcmp(bytes, left->bytes, left->len) == 0;
}

int
backup_clear(const char *dir, const struct config_file *f, const void *bytes, size_t len,
    char ret_path[PATH_MAX])
{
	struct config_file left;
	int r = config_file_left(f, &left);

	if (r == 0) {
		memcpy(ret_path, left.path, sizeof(left.path));
		if (!is_part(&left, bytes, len) && !is_part(&left, f->bytes, f->len) &&
		    !is_kept(dir, f, &left))
			r = -EEXIST;
		else
			r = unlink(left.path) < 0 ? -errno : 1;
	}
	config_file_free(&left);
	return r == -ENOENT ? 0 : r;
}

static int
restore(const char *dir, const struct backup *b)
{
	const char *was = b->bytes + b->at;
	size_t len = b->len - b->at;
	struct config_file now;
	uint8_t digest[32];
	char path[PATH_MAX];
	int r = config_file_read(b->path, &now);

	if (r == 0)
		r = backup_clear(dir, &now, was, len, path);
	if (r >= 0 && now.len == len && memcmp(now.bytes, was, len) == 0)
		r = 0; /* the import was interrupted before it replaced the file */
	else if (r >= 0) {
		mcp_digest((const uint8_t *)now.bytes, now.len, digest);
		r = memcmp(digest, b->digest, sizeof(digest)) != 0
			? -ESTALE
			: config_file_replace(&now, was, len);
	}
	config_file_free(&now);
	return r;
}

/* ---- all of them ------------------------------------------------------------- */

static int
each(const char *dir, bool restores, backup_report *report, void *arg)
{
	struct dirent **entry = NULL;
	int n = list(dir, &entry), failed = 0;
	char path[PATH_MAX];

	for (int i = n - 1; i >= 0; i--) {
		struct backup b;
		int r;

		backup_path(dir, entry[i], path);
		r = backup_read(path, &b);
		if (r == 0 && restores)
			r = restore(dir, &b);
		if (!restores)
			r = 0; /* it is removed, even if it is damaged */
		if (r == 0 && unlink(path) < 0)
			r = -errno;
		report(b.path, path, r, arg);
		failed += r < 0;
		backup_free(&b);
	}
	list_free(entry, n);
	return n < 0 ? n : failed;
}

int
backup_restore(const char *dir, backup_report *report, void *arg)
{
	return each(dir, true, report, arg);
}

int
backup_forget(const char *dir, backup_report *report, void *arg)
{
	return each(dir, false, report, arg);
}
