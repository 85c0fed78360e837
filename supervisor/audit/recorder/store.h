/*
 * What the two files of the recorder's database share: store.c, which writes one
 * file, and carry.c, which begins the next behind it.
 */
#ifndef KENNEL_SUPERVISOR_AUDIT_TABLES_H
#define KENNEL_SUPERVISOR_AUDIT_TABLES_H

#include <sqlite3.h>

#include "supervisor/audit/log/inside.h"

#define WAL_PAGES 8000 /* folded into the database from this size on */

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
	struct pending *pending; /* owned; records that are not in the table yet */
	struct tree tree;
	uint64_t base; /* the first record in this file */
	bool open;     /* a transaction */
	int wal_pages; /* at the last commit */
	int waited;    /* commits that somebody waited for; up to the first few */
};

/* What a writer is told: the disk, or everything else. */
int store_errno(int code);
/* Step a statement that returns nothing, and make it ready for the next time. */
int store_finish(sqlite3_stmt *);

/* ---- pending.c ----------------------------------------------------------------- */

struct pending;
/* The table "pending" of this connection, which goes before it is freed. */
int pending_new(sqlite3 *, struct pending **ret);
void pending_free(struct pending *);
/* A copy.  -ENOBUFS: those that are there must go first. */
int pending_put(struct pending *, const struct writer *, const struct record *);
size_t pending_n(const struct pending *);
void pending_clear(struct pending *);
/* Gives the memory back, if it holds nothing. */
void pending_rest(struct pending *);

/* ---- frames.c ------------------------------------------------------------------ */

/* The name of the way to the file system that the recorder's databases take; NULL:
 * there is none. */
const char *frames_vfs(void);

#endif
