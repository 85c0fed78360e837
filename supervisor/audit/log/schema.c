/*
 * The schema of audit.db, byte for byte as SQLite stores it. The recorder creates it
 * and every reader compares it. An index, view or trigger that is not here could make
 * a query return false results.
 */
#include <errno.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "shim/base/array.h"
#include "supervisor/audit/log/schema.h"

#define NO_CHANGE(table, what, name) \
	{ \
		"trigger", name, table, \
		    "CREATE TRIGGER " name " BEFORE " what " ON " table \
		    " BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END" \
	}
#define APPEND_ONLY(table) \
	NO_CHANGE(table, "UPDATE", table "_no_update"), \
	    NO_CHANGE(table, "DELETE", table "_no_delete")

const struct schema_row schema_row[] = {
    {"table", "rec", "rec",
	"CREATE TABLE rec(idx INTEGER PRIMARY KEY, ts INTEGER NOT NULL, "
	"kind TEXT NOT NULL, server TEXT, session TEXT NOT NULL, tool TEXT, "
	"verdict TEXT, rule TEXT, writer TEXT NOT NULL, wseq INTEGER NOT NULL, "
	"body BLOB NOT NULL) STRICT"},
    {"index", "rec_session", "rec",
	"CREATE UNIQUE INDEX rec_session ON rec(session, writer, wseq)"},
    {"index", "rec_server", "rec",
	"CREATE INDEX rec_server ON rec(server, ts) WHERE server IS NOT NULL"},
    {"index", "rec_tool", "rec",
	"CREATE INDEX rec_tool ON rec(tool, ts) WHERE tool IS NOT NULL"},
    {"index", "rec_denied", "rec",
	"CREATE INDEX rec_denied ON rec(ts) WHERE verdict <> 'allow'"},
    {"index", "rec_rare", "rec",
	"CREATE INDEX rec_rare ON rec(kind, ts) WHERE " SCHEMA_RARE},
    {"table", "tile", "tile",
	"CREATE TABLE tile(level INTEGER NOT NULL, n INTEGER NOT NULL, "
	"root BLOB NOT NULL, h BLOB NOT NULL, PRIMARY KEY(level, n)) "
	"STRICT, WITHOUT ROWID"},
    {"table", "cp", "cp",
	"CREATE TABLE cp(size INTEGER PRIMARY KEY, epoch INTEGER NOT NULL, "
	"note TEXT NOT NULL) STRICT"},
    {"table", "meta", "meta",
	"CREATE TABLE meta(k TEXT PRIMARY KEY, v TEXT NOT NULL) STRICT, WITHOUT ROWID"},
    APPEND_ONLY("rec"),
    APPEND_ONLY("tile"),
    APPEND_ONLY("cp"),
    APPEND_ONLY("meta"),
};
const size_t schema_rows = ARRAY_LEN(schema_row);

/* One table for all readers: a statement that failed because the file was busy must not
 * become a sentence about what is in the file. */
int
sqlite_errno(int code)
{
	static const struct {
		int code, r;
	} row[] = {
	    {SQLITE_OK, 0},
	    {SQLITE_ROW, 0},
	    {SQLITE_DONE, 0},
	    {SQLITE_CORRUPT, -EBADMSG},
	    {SQLITE_NOTADB, -EBADMSG},
	    {SQLITE_TOOBIG, -EBADMSG},
	    {SQLITE_SCHEMA, -EBADMSG},
	    {SQLITE_ERROR, -EBADMSG}, /* of a statement of ours: a table is missing */
	    {SQLITE_CANTOPEN, -EAGAIN},
	    {SQLITE_BUSY, -EAGAIN},
	    {SQLITE_LOCKED, -EAGAIN},
	    {SQLITE_PROTOCOL, -EAGAIN},
	    {SQLITE_READONLY, -EAGAIN},
	    {SQLITE_NOMEM, -ENOMEM},
	    {SQLITE_FULL, -ENOSPC},
	};

	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		if (row[i].code == (code & 0xff))
			return row[i].r;
	}
	return -EIO;
}

static bool
same(sqlite3_stmt *s, int column, const char *want)
{
	const char *is = (const char *)sqlite3_column_text(s, column);

	return is != NULL && (size_t)sqlite3_column_bytes(s, column) == strlen(want) &&
	       strcmp(is, want) == 0;
}

static int
differs(const char *name, char *out, size_t out_cap)
{
	(void)snprintf(out, out_cap, "%s", name != NULL ? name : "?");
	return -EBADMSG;
}

int
schema_compare(sqlite3 *db, char *name, size_t name_cap)
{
	sqlite3_stmt *s = NULL;
	size_t i = 0;
	int r = 0, code;

	code = sqlite3_prepare_v2(db,
	    "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY rowid", -1, &s,
	    NULL);
	while (r == 0 && code == SQLITE_OK && (code = sqlite3_step(s)) == SQLITE_ROW) {
		const struct schema_row *row = &schema_row[i++];

		code = SQLITE_OK;
		if (i > schema_rows || !same(s, 0, row->type) || !same(s, 1, row->name) ||
		    !same(s, 2, row->table) || !same(s, 3, row->sql))
			r = differs(
			    (const char *)sqlite3_column_text(s, 1), name, name_cap);
	}
	if (r == 0 && code != SQLITE_DONE)
		r = sqlite_errno(code);
	else if (r == 0 && i == 0)
		r = -ENODATA;
	else if (r == 0 && i < schema_rows)
		r = differs(schema_row[i].name, name, name_cap);
	if (r == -EBADMSG && code != SQLITE_DONE && code != SQLITE_OK)
		(void)differs("sqlite_schema", name, name_cap);
	(void)sqlite3_finalize(s); /* the result was checked at the last step */
	return r;
}
