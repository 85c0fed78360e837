/*
 * A log opened by somebody who does not trust it: nothing is written, not even
 * SQLite's own side files, and nothing that the file says about itself is
 * believed before schema.c has compared it.
 *
 * Three ways in, by what lies beside the database:
 *	a write-ahead log and its index	a recorder runs, or was killed: read both,
 *					with SQLite's locks
 *	a write-ahead log alone		a copy: its index is rebuilt in memory, by
 *					kennel-verify alone, whose SQLite cannot
 *					fold the one into the other
 *	neither				the database stands alone: no locks; the
 *					caller asks afterwards whether it changed
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "supervisor/audit/log/inside.h"

/* A write-ahead log of a header alone holds nothing (a full disk leaves one), and
 * over it SQLite goes round for minutes where it may not write an index. */
#define WAL_HEADER 32
#define TRIES      50
#define PAUSE_NS   10000000

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

static bool
beside(const char *path, const char *suffix, off_t *ret_size)
{
	char name[AUDIT_PATH_MAX + 8];
	struct stat st;

	(void)snprintf(name, sizeof(name), "%s%s", path, suffix);
	/* syscalls: newfstatat stat lstat */
	if (stat(name, &st) < 0)
		return false;
	*ret_size = st.st_size;
	return true;
}

/* The path as a URI says it: whatever is not plain is escaped. */
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
	(void)sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	(void)sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	(void)sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
	for (size_t i = 0; i < sizeof(limit_row) / sizeof(limit_row[0]); i++)
		(void)sqlite3_limit(db, limit_row[i].id, limit_row[i].most);
	return sqlite3_exec(db,
	    "PRAGMA mmap_size=0; PRAGMA temp_store=MEMORY; PRAGMA query_only=ON;"
	    "PRAGMA cell_size_check=ON; PRAGMA cache_size=-4096",
	    NULL, NULL, NULL);
}

static uint64_t
mtime_of(const struct stat *st)
{
	return (uint64_t)st->st_mtim.tv_sec * 1000000000u + (uint64_t)st->st_mtim.tv_nsec;
}

/* One try: an SQLite result code. */
static int
open_once(struct reader *reader)
{
	char uri[3 * AUDIT_PATH_MAX + 64];
	off_t wal_size = 0, shm_size;
	bool wal = beside(reader->path, "-wal", &wal_size) && wal_size > WAL_HEADER;
	bool shm = beside(reader->path, "-shm", &shm_size);
	struct stat st;
	int r;

	if (fstat(reader->fd, &st) < 0)
		return SQLITE_CANTOPEN;
	reader->size = (uint64_t)st.st_size;
	reader->mtime_ns = mtime_of(&st);
	reader->still = !(wal && shm);
	reader->alone = wal && !shm;
	put_uri(uri, sizeof(uri), reader->path, !wal ? "immutable=1" : "readonly_shm=1");
	r = sqlite3_open_v2(uri, &reader->db,
	    SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_PRIVATECACHE |
		SQLITE_OPEN_NOMUTEX, /* one thread for each */
	    NULL);
	/* without an index on disk: rebuilt in memory, which only the sole
	 * user of a file may do; said before anything is read */
	if (r == SQLITE_OK && wal && !shm)
		r = sqlite3_exec(
		    reader->db, "PRAGMA locking_mode=EXCLUSIVE", NULL, NULL, NULL);
	if (r == SQLITE_OK)
		r = harden(reader->db);
	if (r == SQLITE_OK)
		r = sqlite3_exec(reader->db, "BEGIN; SELECT count(*) FROM sqlite_schema",
		    NULL, NULL, NULL);
	return r;
}

/* Codes that a recorder which starts or ends just now may cause. */
static bool
may_pass(int code)
{
	code &= 0xff;
	return code == SQLITE_CANTOPEN || code == SQLITE_BUSY ||
	       code == SQLITE_READONLY || code == SQLITE_PROTOCOL ||
	       code == SQLITE_LOCKED;
}

/* The recorder begins another file, and has not given it its name yet. */
static bool
is_renamed(const char *path)
{
	size_t n = strlen(path), live = strlen(AUDIT_DB_NAME);
	char next[AUDIT_PATH_MAX + 8];

	if (n < live || strcmp(path + n - live, AUDIT_DB_NAME) != 0)
		return false;
	(void)snprintf(next, sizeof(next), "%.*s%s", (int)(n - live), path, "audit.new");
	return access(next, F_OK) == 0; /* syscalls: access faccessat faccessat2 */
}

/* What was opened is what has this name still: else its write-ahead log may be
 * that of the next file. */
static bool
is_same(const char *path, const struct stat *opened)
{
	struct stat st;

	return stat(path, &st) == 0 && st.st_ino == opened->st_ino &&
	       st.st_dev == opened->st_dev;
}

/* O_PATH: closing a descriptor that could read would take from this process every
 * lock that it has on the file, another reader's too, and who writes the log would
 * fold it under that one's eyes. */
static int
hold(struct reader *reader, struct stat *ret_st)
{
	int r = 0;

	if (access(reader->path, R_OK) < 0)
		return -errno;
	/* syscalls: openat */
	reader->fd = open(reader->path, O_PATH | O_CLOEXEC);
	if (reader->fd < 0)
		return -errno;
	if (fstat(reader->fd, ret_st) < 0) {
		r = -errno;
		fd_close(&reader->fd);
	}
	return r;
}

int
reader_open(const char *path, struct reader *ret, char why[AUDIT_WHY_MAX])
{
	struct timespec pause = {.tv_nsec = PAUSE_NS};
	struct reader reader = {.fd = -1};
	struct stat st = {0};
	int code = SQLITE_CANTOPEN;

	if ((size_t)snprintf(reader.path, sizeof(reader.path), "%s", path) >=
	    sizeof(reader.path))
		return -ENAMETOOLONG;
	for (int i = 0; i < TRIES; i++) {
		int r = hold(&reader, &st);

		if (r < 0 && !(r == -ENOENT && is_renamed(path))) {
			(void)snprintf(why, AUDIT_WHY_MAX, "%s", strerror(-r));
			return r;
		}
		if (r == 0 && !S_ISREG(st.st_mode))
			break;
		code = r == 0 ? open_once(&reader) : SQLITE_CANTOPEN;
		if (code == SQLITE_OK && is_same(path, &st)) {
			*ret = reader;
			return 0;
		}
		(void)snprintf(why, AUDIT_WHY_MAX, "%s", sqlite3_errmsg(reader.db));
		reader_close(&reader);
		if (code != SQLITE_OK && !may_pass(code))
			break;
		(void)nanosleep(&pause, NULL); /* syscalls: nanosleep clock_nanosleep */
	}
	fd_close(&reader.fd);
	return (code & 0xff) == SQLITE_NOTADB || (code & 0xff) == SQLITE_CORRUPT
		   ? -EBADMSG
		   : -EIO;
}

bool
reader_changed(const struct reader *reader)
{
	struct stat st;

	return reader->still &&
	       (fstat(reader->fd, &st) < 0 || (uint64_t)st.st_size != reader->size ||
		   mtime_of(&st) != reader->mtime_ns);
}

void
reader_close(struct reader *reader)
{
	(void)sqlite3_close(reader->db); /* statements were finalized before */
	reader->db = NULL;
	fd_close(&reader->fd);
}
