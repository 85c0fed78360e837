/*
 * Rotation: closes and renames a full live file, and begins a new one after it.
 *
 * Process: kennel-recorder. The steps, and the state that a crash after each leaves:
 *
 *	1. the epoch ends, the write-ahead log is checkpointed	as it was
 *	2. audit.new: the tree's edge, the last checkpoint,
 *	   and the first record, signed, in one transaction	the next start does
 *	3. audit.db becomes audit-BASE.db			step 3, because that
 *	4. audit.new becomes audit.db				checkpoint is valid
 *
 * Must never: leave two files that both continue from the same record.
 */
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/base/array.h"
#include "shim/base/fd.h"
#include "supervisor/audit/log/record.h"
#include "supervisor/audit/log/segment.h"
#include "supervisor/audit/log/signed_note.h"
#include "supervisor/audit/recorder/rotate.h"
#include "supervisor/audit/recorder/store.h"

#define NEW_NAME      "audit.new"
#define LOOK_BACK_MAX 64 /* files searched for a writer that reconnects */

static const char *const beside[] = {"", "-wal", "-shm"};

/* syscalls: newfstatat unlinkat renameat fsync openat getdents64 lseek fstat */
static bool
is_there(int log_dir, const char *name)
{
	struct stat st;

	return fstatat(log_dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* from: 0 with the database itself, 1 only its side files. */
static void
remove_files(int log_dir, const char *name, size_t from)
{
	char path[64];

	for (size_t i = from; i < ARRAY_LEN(beside); i++) {
		(void)snprintf(path, sizeof(path), "%s%s", name, beside[i]);
		/* a missing file is fine */
		(void)unlinkat(log_dir, path, 0);
	}
}

int
segment_rename(int log_dir, uint64_t base)
{
	char name[SEGMENT_NAME_MAX];

	(void)snprintf(name, sizeof(name), "audit-%0*llu.db", SEGMENT_DIGITS,
	    (unsigned long long)base);
	/* the new file must not use an index of the old one */
	remove_files(log_dir, AUDIT_DB_NAME, 1);
	if (is_there(log_dir, AUDIT_DB_NAME) &&
	    renameat(log_dir, AUDIT_DB_NAME, log_dir, name) < 0)
		return -errno;
	if (renameat(log_dir, NEW_NAME, log_dir, AUDIT_DB_NAME) < 0)
		return -errno;
	return fsync(log_dir) < 0 ? -errno : 0;
}

/* True if the new file has its first record; *ret_base is that record's number. */
static bool
is_begun(int log_dir, uint64_t *ret_base)
{
	struct store *store = NULL;
	const char *why;
	char base[24];
	struct stored_cp *cp = calloc(1, sizeof(*cp));
	bool begun = false;

	if (cp != NULL && store_open_as(log_dir, NEW_NAME, &store, &why) == 0 &&
	    store_last_cp(store, UINT64_MAX, cp) == 0 &&
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
			return -EBADMSG; /* no recorder leaves that */
		remove_files(log_dir, NEW_NAME, 0);
		return 0;
	}
	remove_files(log_dir, NEW_NAME, 1);
	if (!is_there(log_dir, AUDIT_DB_NAME))
		return segment_rename(log_dir, 0);
	/* opening and closing checkpoints its write-ahead log */
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
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(meta); i++) {
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

/* ---- sequence numbers in older files ---------------------------------------------- */

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
	/* newest first, because the highest number is wanted */
	while (r == 0 && n > 0 && *ret == 0 && looked++ < LOOK_BACK_MAX)
		r = store_closed_seq(log_dir, name[--n], writer, ret);
	free(name);
	return r;
}

/* ---- pruning -------------------------------------------------------------------- */

/* Writes the last checkpoint of each epoch as a text file next to the removed one. */
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
