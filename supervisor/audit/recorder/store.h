/*
 * What the files of the recorder's database share: store.c, which writes one file,
 * and carry.c, which begins the next one.
 */
#ifndef KENNEL_SUPERVISOR_AUDIT_RECORDER_STORE_H
#define KENNEL_SUPERVISOR_AUDIT_RECORDER_STORE_H

#include <sqlite3.h>

#include "supervisor/audit/log/merkle.h"
#include "supervisor/audit/log/record.h"
#include "supervisor/audit/log/signed_note.h"

#define WAL_PAGES 8000 /* checkpoint the write-ahead log from this size on */

enum statement {
	BEGIN,
	COMMIT,
	ROLLBACK,
	PUT_REC,
	PUT_TILE,
	PUT_CP,
	LAST_SEQ,
	STATEMENTS
};
extern const char *const store_sql[STATEMENTS];

struct store {
	sqlite3 *db;
	sqlite3_stmt *statement[STATEMENTS];
	struct pending *pending; /* owned; records not in the table yet */
	struct merkle_tiles tree;
	uint64_t base; /* the first record in this file */
	bool open;     /* in a transaction */
	int wal_pages; /* at the last commit */
	int waited;    /* commits that a writer waited for; counted only up to a few */
};

/* The errno that a writer gets: disk full, or any other error. */
int store_errno(int code);
/* Steps a statement that returns no rows, and resets it. */
int store_finish(sqlite3_stmt *);

/* ---- insert_batch.c ------------------------------------------------------ */

struct pending;
/* Adds the virtual table "pending" to this connection. Close the connection before
 * freeing it. */
int pending_new(sqlite3 *, struct pending **ret);
void pending_free(struct pending *);
/* Copies the record. -ENOBUFS: first insert the pending ones. */
int pending_put(struct pending *, const struct writer *, const struct record *);
size_t pending_n(const struct pending *);
void pending_clear(struct pending *);
/* Releases the memory if nothing is pending. */
void pending_rest(struct pending *);

/* ---- wal_vfs.c ----------------------------------------------------------- */

/* The name of the VFS for the recorder's databases; NULL: unavailable. */
const char *frames_vfs(void);

struct stored_cp {
	uint64_t size, epoch; /* size 0: no checkpoint */
	char note[NOTE_MAX];
};

struct store;
/* Opens or creates the database; does not yet compute the right edge. Returns 0; on
 * failure *ret_why (static) gives the reason. */
int store_open(int log_dir, struct store **ret, const char **ret_why);
int store_open_as(
    int log_dir, const char *name, struct store **ret, const char **ret_why);
/* Checkpoints the write-ahead log into the database now. -EAGAIN: a reader is
 * active. */
int store_fold(struct store *);
/* Checkpoints a long write-ahead log as far as readers allow. Call it when no writer
 * waits for a commit. */
void store_fold_some(struct store *);
/* Call after a waited-for commit was acknowledged: extends the write-ahead log for
 * the next commits. Returns 0, or -EIO, as for a commit. */
int store_room(struct store *);
uint64_t store_base(const struct store *);
/* Number of records in this file. */
uint64_t store_records(const struct store *);
/* Like store_last_seq, for a closed file. */
int store_closed_seq(int log_dir, const char *name, const struct writer *, uint64_t *ret);
/* Copies what the next file needs from this one, inside a transaction of the next. */
int store_carry(struct store *old, struct store *next);
/* Writes the last checkpoint of each epoch, each followed by an empty line. */
int store_notes(struct store *, FILE *);
/* Checkpoints the write-ahead log into the database and frees the store. */
void store_close(struct store *);
/* Releases caches that only improve speed. */
void store_rest(struct store *);
/* Computes the right edge at this size from the records and the tiles: 0, -EBADMSG. */
int store_edge(struct store *, uint64_t size);
/* The last checkpoint of at most this size; ret->size is 0 without one. */
int store_last_cp(struct store *, uint64_t most, struct stored_cp *ret);
/* Counts the checkpoints of this epoch in this file, without the one copied from the
 * previous file. */
int store_count_cps(struct store *, uint64_t epoch, uint64_t *ret);
int store_body(struct store *, uint64_t idx, char body[AUDIT_BODY_MAX], size_t *ret_len);
int store_get_meta(struct store *, const char *key, char *out, size_t out_cap);
uint64_t store_next(const struct store *);
const struct merkle *store_merkle(const struct store *);
/* The highest sequence number of this writer in the log; 0: none. */
int store_last_seq(struct store *, const struct writer *, uint64_t *ret);
/* Call inside a transaction; the first of these opens one. record->idx is
 * store_next(). After a failure, only store_rollback and store_close may be
 * called. */
int store_put_meta(struct store *, const char *key, const char *value);
int store_append(struct store *, const struct writer *, const struct record *);
int store_commit(struct store *, uint64_t epoch, const char *note);
void store_rollback(struct store *);
bool store_pending(const struct store *);
/* SQLite's last error message. */
const char *store_why(const struct store *);

#endif
