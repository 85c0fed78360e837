/*
 * What the files of the recorder's database share: store.c, which writes one file,
 * and carry.c, which begins the next one.
 */
#ifndef KENNEL_SUPERVISOR_AUDIT_RECORDER_STORE_H
#define KENNEL_SUPERVISOR_AUDIT_RECORDER_STORE_H

#include <sqlite3.h>

#include "supervisor/audit/log/inside.h"

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
	struct tree tree;
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

#endif
