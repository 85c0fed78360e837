/*
 * What the files of the audit room say to each other, and nobody else.
 */
#ifndef KENNEL_SUPERVISOR_AUDIT_INSIDE_H
#define KENNEL_SUPERVISOR_AUDIT_INSIDE_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

#include "leash/report.h"
#include "shim/base/wire.h"
#include "supervisor/audit/audit.h"

#define AUDIT_PATH_MAX  4096
#define AUDIT_DB_NAME   "audit.db"
#define AUDIT_BODY_MAX  (16u << 10) /* bytes of one record; a leaf may hold 65535 */
#define AUDIT_EDGE_STEP 8           /* a node is kept for each full 256^k leaves */
#define AUDIT_WHY_MAX   256

/* ---- the recorder's descriptors, in this order (connect.c) ---------------- */

enum {
	RECORDER_FD_FIRST = 3,
	RECORDER_FD_LISTENER = 3,
	RECORDER_FD_LOCK = 4, /* flock held; never touched, closed by the end */
	RECORDER_FD_LOG_DIR = 5,
	RECORDER_FD_RUN_DIR = 6,
	RECORDER_FDS = 4,
};
#define RECORDER_NAME_MAX 64

/* The socket's name below the run folder: one per log, whatever its path.  In
 * line, because the two programs that say it share no other object. */
static inline int
recorder_socket_name(int log_dir, char ret[RECORDER_NAME_MAX])
{
	struct stat st;

	if (fstat(log_dir, &st) < 0)
		return -errno;
	(void)snprintf(ret, RECORDER_NAME_MAX, "recorder-%llx-%llx.sock",
	    (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
	return 0;
}

/* ---- body.c: a record as it is stored -------------------------------------- */

/* Who speaks, checked when it said hello. */
struct writer {
	char role[16];
	char instance[17];
	char session[3 * REPORT_NAME_MAX + 1]; /* UTF-8: each byte may become three */
	uint32_t pid;
};

/* The columns; the body says the same and is what counts. */
struct record {
	uint64_t idx, ts, boot, wseq;
	enum event_kind kind;
	const char *server; /* NULL: none; points into the memory below */
	const char *verdict;
	char text[2][3 * REPORT_TEXT_MAX + 1];
	char body[AUDIT_BODY_MAX];
	size_t body_len;
};

/* Foreign bytes as UTF-8: what is not becomes U+FFFD, and NUL too (a column
 * ends there).  Cut before out_cap, never inside a character. */
void body_utf8(char *out, size_t out_cap, const void *bytes, size_t len);

/*
 * The record of an event, its fields read from in to the end.  idx, ts, boot,
 * wseq and kind are set by the caller.  0 or -EBADMSG: not an event that a
 * writer of ours can have sent.
 */
int body_make(const struct writer *, struct wire_in *, struct record *);

/* ---- scan.c: a body taken apart, strictly ----------------------------------- */

/* One field's value as it stands in the body: a number, a string with its
 * quotes, or a list with its brackets. */
struct scan_field {
	struct span key; /* without quotes */
	struct span value;
};
#define SCAN_FIELDS_MAX 64

enum scan_head { /* in the order of the body */
	SCAN_V,
	SCAN_IDX,
	SCAN_TS,
	SCAN_BOOT,
	SCAN_ROLE,
	SCAN_INSTANCE,
	SCAN_PID,
	SCAN_SEQ,
	SCAN_SESSION,
	SCAN_KIND,
	SCAN_HEADS
};

struct scan {
	struct span head[SCAN_HEADS]; /* raw, strings with their quotes */
	struct scan_field field[SCAN_FIELDS_MAX];
	size_t field_n;
};

/* 0, or -EBADMSG: these bytes were not written by body.c.  The spans point
 * into the bytes. */
int scan_body(const void *bytes, size_t len, struct scan *ret);
/* The field of this name, or NULL. */
const struct scan_field *scan_find(const struct scan *, const char *key);
/* A raw number; false when it does not fit or is no number. */
bool scan_number(struct span, uint64_t *ret);
/* A raw string without quotes and escapes: its length, or -EBADMSG when out
 * is too small or it is no string.  Not NUL-terminated. */
long scan_string(struct span, char *out, size_t out_cap);
/* The next string of a raw list (or the only value of a field that is none):
 * 1, 0 at the end.  *at starts at 0. */
int scan_next(struct span, size_t *at, struct span *ret);

/* ---- schema.c: the database's own words ------------------------------------- */

struct sqlite3;
struct schema_row {
	const char *type, *name, *table, *sql;
};
extern const struct schema_row schema_row[];
extern const size_t schema_rows;
#define SCHEMA_VERSION     1
#define SCHEMA_APPLICATION 0x6b6e6c61 /* "knla" */

/* Is the schema byte for byte ours?  NULL, or the name of the first object
 * that is not (static or in the caller's memory). */
const char *schema_differs(struct sqlite3 *, char *name, size_t name_cap);

/* ---- store.c: the tables, as their only writer ------------------------------ */

struct store;
/* Opens or makes the log and checks its edge against its last checkpoint.
 * 0; -EBADMSG when they disagree; *ret_why says it in words (static). */
int store_open(int log_dir, struct store **ret, const char **ret_why);
/* Folds the write-ahead log into the database. */
void store_close(struct store *);
uint64_t store_next(const struct store *);
/* The highest number that this writer has in the log; 0: none. */
int store_last_seq(struct store *, const char *instance, uint64_t *ret);
/* Inside a transaction that the first append opens; record->idx is
 * store_next().  After a failure only store_close is left. */
int store_append(struct store *, const struct writer *, const struct record *);
int store_commit(struct store *, uint64_t now_ns);
bool store_pending(const struct store *);
/* What SQLite said last, in words. */
const char *store_why(const struct store *);

/* ---- complain.c: recorder.log ------------------------------------------------ */

void complain_open(void);
void complain_for(const struct store *);
void complain(const char *, ...) __attribute__((format(printf, 1, 2)));
/* "unable to WHAT", and the end of this process. */
void complain_and_end(const char *what, int error) __attribute__((noreturn));

/* ---- given.c: the recorder's start ------------------------------------------- */

/* Were the descriptors made by connect.c?  Else the end. */
void given_check(void);
/* Landlock and the system calls of this program, or the end. */
void given_confine(void);
/* The recorder as the writer of its own records. */
void given_name(struct writer *ret);

/* ---- reader.c: a log that nobody vouches for -------------------------------- */

/*
 * Opens a log read-only, without trusting or writing anything: 0, -ENOENT,
 * -EBADMSG.  path: the database.  *ret_still: the file stands alone (no
 * write-ahead log); then reader_changed says whether it was written meanwhile.
 */
struct reader {
	struct sqlite3 *db;
	int fd; /* of the database, to see it change */
	bool still;
	uint64_t size, mtime_ns;
	char path[AUDIT_PATH_MAX];
};
int reader_open(const char *path, struct reader *ret, char why[AUDIT_WHY_MAX]);
bool reader_changed(const struct reader *);
void reader_close(struct reader *);

#endif
