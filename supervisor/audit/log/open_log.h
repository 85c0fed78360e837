/*
 * For readers that neither trust nor change a log: the connection (open_log.c), its
 * SQLite VFS (readonly_vfs.c), and the check of the write-ahead log before SQLite
 * reads it (wal_check.c).
 */
#ifndef KENNEL_SUPERVISOR_AUDIT_LOG_OPEN_LOG_H
#define KENNEL_SUPERVISOR_AUDIT_LOG_OPEN_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define READER_PATH_MAX 4096
#define READER_WHY_MAX  256

/* ---- readonly_vfs.c ------------------------------------------------------ */

#define DB_HEAD 100 /* bytes of the first page that describe the file */

/* What one connection has read. */
struct view {
	uint8_t head[DB_HEAD]; /* of the database, in the snapshot that is read */
	uint8_t *seen;         /* one bit for each page that was read; owned */
	size_t seen_len;
	bool lost; /* out of memory for some pages */
	bool live; /* a process holds the write-ahead log's index */
};

/* The VFS for the next connection of this thread, which records into this view. until
 * (loop_now()): limit for sleeping while it opens; 0: no limit. NULL: unavailable. */
const char *reader_vfs(struct view *, uint64_t until);
bool view_saw(const struct view *, uint32_t page);

/* ---- wal_check.c --------------------------------------------------------- */

#define WAL_HEAD       32
#define WAL_FRAME_HEAD 24
#define WAL_PAGE       4096
#define WAL_FRAME      (WAL_FRAME_HEAD + WAL_PAGE)

/*
 * Checks the write-ahead log of the database at path. Returns 0, or sets *why and
 * returns
 *	-ENOENT		it is missing or holds nothing
 *	-EBADMSG	no recorder leaves it like this
 *	-ENODATA	its last commit is incomplete: a crash, or a change
 *	-ETIME		not read by `until` (loop_now())
 * or another errno.
 */
int wal_check_head(const char *path, char why[READER_WHY_MAX]);
int wal_check(const char *path, uint64_t until, char why[READER_WHY_MAX]);

/* Checks its index, if no process holds it. Results as for wal_check. */
int shm_check(const char *path, char why[READER_WHY_MAX]);

/* ---- open_log.c ---------------------------------------------------------- */

/*
 * Opens a log read-only, without trusting or writing anything. path: the database.
 * Returns 0, -ENOENT, -EBADMSG (no recorder leaves it like this), -ETIME (not within
 * READER_OPEN_NS). ret->still: no recorder holds the log; reader_changed then reports
 * whether it was written meanwhile.
 */
#define READER_OPEN_NS 2000000000ull

struct sqlite3;
struct stamp {
	uint64_t size, mtime_ns;
};
struct reader {
	struct sqlite3 *db;
	int fd; /* of the database, to detect changes */
	bool still;
	bool wal;   /* a write-ahead log exists */
	bool alone; /* no other process may read it at the same time */
	uint64_t size, mtime_ns;
	struct stamp wal_stamp;
	struct view *view; /* owned */
	char path[READER_PATH_MAX];
};
int reader_open(const char *path, struct reader *ret, char why[READER_WHY_MAX]);
/* The same, and its schema is kennel's (-EBADMSG: it is not). What a recorder that starts or
 * ends causes is tried again within READER_OPEN_NS. */
int reader_open_log(const char *path, struct reader *ret, char why[READER_WHY_MAX]);
/* A statement failed: sqlite_errno of it, and why is its message. -EAGAIN also if the log
 * was written to under a reader that no recorder knew of: then its content means nothing. */
int reader_failed(const struct reader *, char why[READER_WHY_MAX]);
bool reader_changed(const struct reader *);
void reader_close(struct reader *);

#endif
