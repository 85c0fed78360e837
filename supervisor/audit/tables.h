/*
 * What the two files of the recorder's database share: store.c, which writes one
 * file, and carry.c, which begins the next behind it.
 */
#ifndef KENNEL_SUPERVISOR_AUDIT_TABLES_H
#define KENNEL_SUPERVISOR_AUDIT_TABLES_H

#include <sqlite3.h>

#include "supervisor/audit/inside.h"

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
	struct tree tree;
	uint64_t base; /* the first record in this file */
	bool open;     /* a transaction */
	int wal_pages; /* at the last commit */
};

/* What a writer is told: the disk, or everything else. */
int store_errno(int code);
/* Step a statement that returns nothing, and make it ready for the next time. */
int store_finish(sqlite3_stmt *);

#endif
