/*
 * Opens a log without trusting it: writes nothing, not even SQLite's own side files
 * (readonly_vfs.c), and believes nothing that the file states about itself until
 * schema.c has compared it.
 *
 * The files next to the database select one of three ways:
 *	a write-ahead log and its index	a recorder runs, or was killed: read both,
 *					with SQLite's locks; an index without a
 *					holder is rebuilt in memory
 *	a write-ahead log alone		a copy: its index is built in memory
 *	neither				the database alone: no locks; the caller
 *					checks afterwards whether it changed
 *
 * A symbolic link, a rollback journal, or a write-ahead log without a valid head is
 * refused, because no recorder leaves one. SQLite would follow the first, play the
 * second back into the database, and retry for minutes over the third.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "shim/base/array.h"
#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "shim/base/loop.h"
#include "supervisor/audit/log/open_log.h"
#include "supervisor/audit/log/record.h"
#include "supervisor/audit/log/schema.h"

#define PAUSE_NS 10000000

static const struct {
	int id, most;
} limit_row[] = {
    {SQLITE_LIMIT_LENGTH, 1 << 20},
    {SQLITE_LIMIT_SQL_LENGTH, 8192},
    {SQLITE_LIMIT_COLUMN, 32},
    {SQLITE_LIMIT_EXPR_DEPTH, 32},
    {SQLITE_LIMIT_COMPOUND_SELECT, 4},
    {SQLITE_LIMIT_ATTACHED, 0},
    {SQLITE_LIMIT_TRIGGER_DEPTH, 1},
    {SQLITE_LIMIT_WORKER_THREADS, 0},
};

static uint64_t
mtime_of(const struct stat *st)
{
	return (uint64_t)st->st_mtim.tv_sec * 1000000000u + (uint64_t)st->st_mtim.tv_nsec;
}

static bool
beside(const char *path, const char *suffix, struct stamp *ret)
{
	char name[AUDIT_PATH_MAX + 8];
	struct stat st;

	(void)snprintf(name, sizeof(name), "%s%s", path, suffix);
	*ret = (struct stamp){0};
	/* syscalls: newfstatat stat lstat */
	if (lstat(name, &st) < 0)
		return false;
	*ret = (struct stamp){(uint64_t)st.st_size, mtime_of(&st)};
	return true;
}

/* Writes the path as a URI; escapes every character that is not plain. */
static void
put_uri(char *out, size_t cap, const char *path, const char *options)
{
	size_t n = (size_t)snprintf(out, cap, "file:");

	for (; *path != '\0' && n + 4 < cap; path++) {
		bool plain = isalnum((unsigned char)*path) || strchr("/._-", *path);

		n += (size_t)snprintf(
		    out + n, cap - n, plain ? "%c" : "%%%02X", (unsigned char)*path);
	}
	(void)snprintf(out + n, cap - n, "?%s", options);
}

static int
harden(sqlite3 *db)
{
	(void)sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	(void)sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	(void)sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	(void)sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	(void)sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
	for (size_t i = 0; i < ARRAY_LEN(limit_row); i++)
		(void)sqlite3_limit(db, limit_row[i].id, limit_row[i].most);
	return sqlite3_exec(db,
	    "PRAGMA mmap_size=0; PRAGMA temp_store=MEMORY; PRAGMA query_only=ON;"
	    "PRAGMA cell_size_check=ON; PRAGMA cache_size=-4096",
	    NULL, NULL, NULL);
}

/* One attempt. Returns an SQLite result code; stores an errno of the write-ahead log
 * (as 0 < -errno) in *ret_r. */
static int
open_once(struct reader *reader, uint64_t until, char *why, int *ret_r)
{
	char uri[3 * AUDIT_PATH_MAX + 64];
	const char *vfs = reader_vfs(reader->view, until);
	struct stamp shm_stamp;
	bool shm = beside(reader->path, "-shm", &shm_stamp);
	struct stat st;
	int r;

	(void)beside(reader->path, "-wal", &reader->wal_stamp);
	r = wal_check_head(reader->path, why);
	/* zeros hold no commit: a power failure leaves them */
	reader->wal = r == 0;
	*ret_r = r == -ENOENT || r == -ENODATA ? 0 : r;
	if (*ret_r < 0 || vfs == NULL || fstat(reader->fd, &st) < 0)
		return SQLITE_CANTOPEN;
	reader->size = (uint64_t)st.st_size;
	reader->mtime_ns = mtime_of(&st);
	reader->alone = reader->wal && !shm;
	put_uri(uri, sizeof(uri), reader->path,
	    !reader->wal ? "immutable=1" : "readonly_shm=1");
	r = sqlite3_open_v2(uri, &reader->db,
	    SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_PRIVATECACHE |
		SQLITE_OPEN_NOMUTEX, /* one thread per connection */
	    vfs);
	/* without an index on disk, SQLite rebuilds it in memory, which requires
	 * exclusive locking mode; set it before the first read */
	if (r == SQLITE_OK && reader->alone)
		r = sqlite3_exec(
		    reader->db, "PRAGMA locking_mode=EXCLUSIVE", NULL, NULL, NULL);
	if (r == SQLITE_OK)
		r = harden(reader->db);
	if (r == SQLITE_OK)
		r = sqlite3_exec(reader->db, "BEGIN; SELECT count(*) FROM sqlite_schema",
		    NULL, NULL, NULL);
	reader->still = !reader->view->live;
	return r;
}

/* True if the recorder is beginning another file and has not renamed it yet. */
static bool
is_renamed(const char *path)
{
	size_t n = strlen(path), live = strlen(AUDIT_DB_NAME);
	char next[AUDIT_PATH_MAX + 8];

	if (n < live || strcmp(path + n - live, AUDIT_DB_NAME) != 0)
		return false;
	(void)snprintf(next, sizeof(next), "%.*s%s", (int)(n - live), path, "audit.new");
	return access(next, F_OK) == 0;
}

/* True if the path still names the opened file. Otherwise its write-ahead log may
 * belong to the next file. */
static bool
is_same(const char *path, const struct stat *opened)
{
	struct stat st;

	return lstat(path, &st) == 0 && st.st_ino == opened->st_ino &&
	       st.st_dev == opened->st_dev;
}

/* Opens with O_PATH: closing a readable descriptor would drop every lock of this
 * process on the file, including another reader's. The recorder could then checkpoint
 * the log under that reader. */
static int
hold(struct reader *reader, struct stat *ret_st, char *why)
{
	struct stamp stamp;
	int r = 0;

	/* syscalls: openat access faccessat faccessat2 */
	reader->fd = open(reader->path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (reader->fd < 0 || fstat(reader->fd, ret_st) < 0) {
		r = -errno;
		fd_close(&reader->fd);
		(void)snprintf(why, AUDIT_WHY_MAX, "%s", strerror(-r));
		return r;
	}
	if (!S_ISREG(ret_st->st_mode)) {
		(void)snprintf(why, AUDIT_WHY_MAX, "%s",
		    S_ISLNK(ret_st->st_mode) ? "it is a symbolic link; name its target"
					     : "it is not a regular file");
		r = -EBADMSG;
	} else if (ret_st->st_size > WAL_PAGE &&
		   beside(reader->path, "-journal", &stamp)) {
		/* a journal exists briefly while the first page is written */
		(void)snprintf(why, AUDIT_WHY_MAX,
		    "there is a rollback journal next to it, which kennel-recorder never "
		    "leaves");
		r = -EBADMSG;
	} else if (access(reader->path, R_OK) < 0) {
		r = -errno;
		(void)snprintf(why, AUDIT_WHY_MAX, "%s", strerror(-r));
	}
	if (r < 0)
		fd_close(&reader->fd);
	return r;
}

/* Returns a result code, or sets *ret_r for an error that a retry cannot fix. */
static int
try_once(struct reader *reader, uint64_t until, char *why, int *ret_r)
{
	struct stat st = {0};
	int code, r = hold(reader, &st, why);

	*ret_r = r == -ENOENT && is_renamed(reader->path) ? 0 : r;
	if (r < 0)
		return SQLITE_CANTOPEN;
	reader->view = calloc(1, sizeof(*reader->view));
	if (reader->view == NULL) {
		*ret_r = -ENOMEM;
		return SQLITE_NOMEM;
	}
	code = open_once(reader, until, why, ret_r);
	if (*ret_r < 0)
		return code;
	if (code == SQLITE_OK && is_same(reader->path, &st))
		return SQLITE_OK;
	(void)snprintf(why, AUDIT_WHY_MAX, "%s", sqlite3_errmsg(reader->db));
	r = sqlite_errno(code);
	if (r < 0 && r != -EAGAIN)
		*ret_r = r;
	return code == SQLITE_OK ? SQLITE_BUSY : code;
}

int
reader_open(const char *path, struct reader *ret, char why[AUDIT_WHY_MAX])
{
	uint64_t until = loop_now() + READER_OPEN_NS; /* syscalls: clock_gettime */
	struct timespec pause = {.tv_nsec = PAUSE_NS};
	struct reader reader = {.fd = -1};
	char last[AUDIT_WHY_MAX];
	int code, r;

	if ((size_t)snprintf(reader.path, sizeof(reader.path), "%s", path) >=
	    sizeof(reader.path))
		return -ENAMETOOLONG;
	do {
		code = try_once(&reader, until, why, &r);
		if (code == SQLITE_OK && r == 0) {
			*ret = reader;
			(void)reader_vfs(NULL, 0);
			return 0;
		}
		reader_close(&reader);
		if (r == 0)
			/* syscalls: nanosleep clock_nanosleep */
			(void)nanosleep(&pause, NULL);
	} while (r == 0 && loop_now() < until);
	(void)reader_vfs(NULL, 0);
	if (r < 0)
		return r;
	(void)snprintf(last, sizeof(last), "%s", why);
	(void)snprintf(why, AUDIT_WHY_MAX, "it could not be opened within %d s: %.200s",
	    (int)(READER_OPEN_NS / 1000000000), last);
	return -ETIME;
}

int
reader_open_log(const char *path, struct reader *ret, char why[AUDIT_WHY_MAX])
{
	uint64_t until = loop_now() + READER_OPEN_NS;
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	char name[64], shown[256];
	int r;

	do {
		r = reader_open(path, ret, why);
		if (r < 0)
			return r;
		r = schema_compare(ret->db, name, sizeof(name));
		if (r == 0)
			return 0;
		if (reader_changed(ret))
			r = -EAGAIN;
		if (r == -ENODATA)
			(void)snprintf(why, AUDIT_WHY_MAX,
			    "it has no tables: a recorder is creating it, or was cut "
			    "off");
		else
			(void)snprintf(why, AUDIT_WHY_MAX, "%s: %.200s",
			    r == -EBADMSG ? "the schema is not kennel's"
					  : "unable to read the schema",
			    r == -EBADMSG
				? log_quote(shown, sizeof(shown), name, strlen(name))
				: sqlite3_errmsg(ret->db));
		reader_close(ret);
		if (r == -EAGAIN || r == -ENODATA)
			(void)nanosleep(&pause, NULL);
	} while ((r == -EAGAIN || r == -ENODATA) && loop_now() < until);
	return r;
}

int
reader_failed(const struct reader *reader, char why[AUDIT_WHY_MAX])
{
	int r = sqlite_errno(sqlite3_errcode(reader->db));

	if (reader_changed(reader)) {
		(void)snprintf(why, AUDIT_WHY_MAX,
		    "the log was written to while it was read; try again");
		return -EAGAIN;
	}
	(void)snprintf(why, AUDIT_WHY_MAX, "%s%s", sqlite3_errmsg(reader->db),
	    r == -EBADMSG ? "; run \"kennel audit verify\"" : "; try again");
	return r == 0 ? -EBADMSG : r;
}

bool
reader_changed(const struct reader *reader)
{
	struct stamp wal;
	struct stat st;

	if (!reader->still)
		return false;
	(void)beside(reader->path, "-wal", &wal);
	return fstat(reader->fd, &st) < 0 || (uint64_t)st.st_size != reader->size ||
	       mtime_of(&st) != reader->mtime_ns ||
	       memcmp(&wal, &reader->wal_stamp, sizeof(wal)) != 0;
}

void
reader_close(struct reader *reader)
{
	(void)sqlite3_close(reader->db); /* all statements are finalized */
	reader->db = NULL;
	if (reader->view != NULL)
		free(reader->view->seen);
	free(reader->view);
	reader->view = NULL;
	fd_close(&reader->fd);
}
