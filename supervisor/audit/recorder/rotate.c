/*
 * A log in more than one file: the live one is closed and renamed when it is
 * full, and a new one goes on where it ended.
 *
 * Process: kennel-recorder.  The order, and what a crash behind each step leaves:
 *
 *	1. the epoch ends, the write-ahead log is folded in	as it was
 *	2. audit.new: the tree's edge, the last checkpoint,
 *	   and the first record, signed, in one transaction	step 3 is done at the
 *	3. audit.db becomes audit-BASE.db			next start, since that
 *	4. audit.new becomes audit.db				checkpoint stands
 *
 * Must never: have two files that both go on from the same record.
 */
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "supervisor/audit/log/inside.h"

#define NEW_NAME      "audit.new"
#define LOOK_BACK_MAX 64 /* files in which a writer that comes back is looked for */

static const char *const beside[] = {"", "-wal", "-shm"};

/* syscalls: newfstatat unlinkat renameat fsync openat getdents64 lseek fstat */
static bool
is_there(int log_dir, const char *name)
{
	struct stat st;

	return fstatat(log_dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* from: 0 with the database itself, 1 only what lies beside it. */
static void
remove_files(int log_dir, const char *name, size_t from)
{
	char path[64];

	for (size_t i = from; i < sizeof(beside) / sizeof(beside[0]); i++) {
		(void)snprintf(path, sizeof(path), "%s%s", name, beside[i]);
		/* what is not there need not go */
		(void)unlinkat(log_dir, path, 0);
	}
}

int
segment_rename(int log_dir, uint64_t base)
{
	char name[SEGMENT_NAME_MAX];

	(void)snprintf(name, sizeof(name), "audit-%0*llu.db", SEGMENT_DIGITS,
	    (unsigned long long)base);
	/* an index of the old file must not be taken for the new one's */
	remove_files(log_dir, AUDIT_DB_NAME, 1);
	if (is_there(log_dir, AUDIT_DB_NAME) &&
	    renameat(log_dir, AUDIT_DB_NAME, log_dir, name) < 0)
		return -errno;
	if (renameat(log_dir, NEW_NAME, log_dir, AUDIT_DB_NAME) < 0)
		return -errno;
	return fsync(log_dir) < 0 ? -errno : 0;
}

/* Does the new file hold its first record, and where does it begin? */
static bool
is_begun(int log_dir, uint64_t *ret_base)
{
	struct store *store = NULL;
	const char *why;
	char base[24];
	struct stored_cp *cp = calloc(1, sizeof(*cp));
	bool begun = false;

	if (cp != NULL && store_open_as(log_dir, NEW_NAME, &store, &why) == 0 &&
	    store_last_cp(store, cp) == 0 &&
	    store_get_meta(store, "base", base, sizeof(base)) == 0) {
		*ret_base = strtoull(base, NULL, 10);
		begun = cp->size > *ret_base;
	}
	store_close(store);
	free(cp);
	return begun;
}

int
segment_recover(int log_dir)
{
	struct store *store = NULL;
	uint64_t next_base;
	const char *why;
	char base[24];
	int r;

	if (!is_there(log_dir, NEW_NAME))
		return 0;
	if (!is_begun(log_dir, &next_base)) {
		if (!is_there(log_dir, AUDIT_DB_NAME))
			return -EBADMSG; /* nobody of ours leaves that */
		remove_files(log_dir, NEW_NAME, 0);
		return 0;
	}
	remove_files(log_dir, NEW_NAME, 1);
	if (!is_there(log_dir, AUDIT_DB_NAME))
		return segment_rename(log_dir, 0);
	/* opened and closed: its write-ahead log is folded in */
	r = store_open(log_dir, &store, &why);
	if (r == 0)
		r = store_get_meta(store, "base", base, sizeof(base));
	if (r == 0)
		r = store_fold(store);
	store_close(store);
	return r == 0 ? segment_rename(log_dir, strtoull(base, NULL, 10)) : r;
}

int
segment_begin(struct store *old, int log_dir, struct store **ret)
{
	static const char *const meta[] = {"format", "log", "origin"};
	struct store *store = NULL;
	char value[NOTE_NAME_MAX];
	const char *why;
	int r;

	remove_files(log_dir, NEW_NAME, 0);
	r = store_open_as(log_dir, NEW_NAME, &store, &why);
	for (size_t i = 0; r == 0 && i < sizeof(meta) / sizeof(meta[0]); i++) {
		r = store_get_meta(old, meta[i], value, sizeof(value));
		if (r == 0)
			r = store_put_meta(store, meta[i], value);
	}
	(void)snprintf(value, sizeof(value), "%llu", (unsigned long long)store_next(old));
	if (r == 0)
		r = store_put_meta(store, "base", value);
	if (r == 0)
		r = store_carry(old, store);
	if (r < 0) {
		store_close(store);
		remove_files(log_dir, NEW_NAME, 0);
		return r;
	}
	*ret = store;
	return 0;
}

/* ---- what a writer said in an older file ------------------------------------------ */

static int
by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

static int
names(int log_dir, char (**ret)[SEGMENT_NAME_MAX], size_t *ret_n)
{
	char(*name)[SEGMENT_NAME_MAX] = calloc(SEGMENTS_MAX, sizeof(*name));
	int r;

	if (name == NULL)
		return -ENOMEM;
	r = segment_list(log_dir, name, ret_n);
	if (r < 0) {
		free(name);
		return r;
	}
	qsort(name, *ret_n, sizeof(*name), by_name);
	*ret = name;
	return 0;
}

int
segment_last_seq(int log_dir, const struct writer *writer, uint64_t *ret)
{
	char(*name)[SEGMENT_NAME_MAX] = NULL;
	size_t n = 0, looked = 0;
	int r;

	r = names(log_dir, &name, &n);
	/* the newest first: what is asked for is the last */
	while (r == 0 && n > 0 && *ret == 0 && looked++ < LOOK_BACK_MAX)
		r = store_closed_seq(log_dir, name[--n], writer, ret);
	free(name);
	return r;
}

/* ---- removing the first ones ---------------------------------------------------- */

/* The last checkpoint of each epoch, as text beside where they were. */
static int
keep_notes(int log_dir, const char *name)
{
	char path[SEGMENT_NAME_MAX + 8];
	struct store *store = NULL;
	const char *why;
	FILE *out;
	int fd, r;

	(void)snprintf(path, sizeof(path), "%.*s.notes", 6 + SEGMENT_DIGITS, name);
	fd = openat(
	    log_dir, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	out = fdopen(fd, "w"); /* syscalls: fcntl write */
	if (out == NULL) {
		fd_close(&fd);
		return -ENOMEM;
	}
	r = store_open_as(log_dir, name, &store, &why);
	if (r == 0)
		r = store_notes(store, out);
	store_close(store);
	if (fflush(out) != 0 || fsync(fd) < 0)
		r = -EIO;
	if (fclose(out) != 0)
		r = -EIO;
	return r;
}

int
segment_prune(int log_dir, uint64_t live_base, uint64_t first)
{
	char(*name)[SEGMENT_NAME_MAX] = NULL;
	size_t n = 0;
	int r;

	r = names(log_dir, &name, &n);
	for (size_t i = 0; r == 0 && i < n; i++) {
		uint64_t next =
		    i + 1 < n ? strtoull(name[i + 1] + 6, NULL, 10) : live_base;

		if (next > first)
			break;
		r = keep_notes(log_dir, name[i]);
		if (r == 0)
			remove_files(log_dir, name[i], 0);
	}
	if (r == 0 && fsync(log_dir) < 0)
		r = -errno;
	free(name);
	return r;
}
