/*
 * Presents received records as a virtual table, so that one SQLite statement inserts
 * all of them.
 *
 * Process: kennel-recorder.
 *
 * Fast path: a statement for each record would open the table and its indexes each
 * time and search each from the root. In one statement they stay open, and the next
 * entry mostly goes where the last one went. With it, and with several events in a
 * packet, flow events went from 62,000 to 114,000 a second (docs/BENCHMARKS.md). What
 * it wrote is compared by kennel-verify, row by row, and by SQLite's own
 * integrity_check (tests/e2e/e2e_audit.py).
 *
 * Must never: omit a record from the commit that it belongs to.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/audit/recorder/store.h"

#define PENDING_MAX  256u
#define PENDING_LEN  (256u << 10)
#define PENDING_NAME "pending"

/* The columns in the order of PUT_REC. */
enum { IDX, TS, KIND, SERVER, SESSION, TOOL, VERDICT, RULE, WRITER, WSEQ, BODY };
#define COLUMNS_ALL (BODY + 1)

struct pending_row {
	uint64_t idx, ts, wseq;
	const char *kind; /* static */
	/* the others, in `memory`; NULL: none */
	const char *text[COLUMNS_ALL];
	size_t body_len;
};

struct pending {
	struct pending_row row[PENDING_MAX];
	char *memory; /* PENDING_LEN bytes; owned; NULL: not yet allocated */
	size_t n, used;
};

struct pending_table {
	sqlite3_vtab base;
	const struct pending *pending;
};

struct pending_cursor {
	sqlite3_vtab_cursor base;
	size_t at;
};

/* ---- virtual table methods --------------------------------------------------------- */

static int
on_connect(sqlite3 *db, void *arg, int argc, const char *const *argv, sqlite3_vtab **ret,
    char **ret_why)
{
	struct pending_table *table;
	int code;

	(void)argc, (void)argv, (void)ret_why;
	code = sqlite3_declare_vtab(db,
	    "CREATE TABLE pending(idx INTEGER, ts INTEGER, kind TEXT, server TEXT, "
	    "session TEXT, tool TEXT, verdict TEXT, rule TEXT, writer TEXT, "
	    "wseq INTEGER, body BLOB)");
	if (code != SQLITE_OK)
		return code;
	table = sqlite3_malloc(sizeof(*table));
	if (table == NULL)
		return SQLITE_NOMEM;
	*table = (struct pending_table){.pending = arg};
	*ret = &table->base;
	return SQLITE_OK;
}

static int
on_disconnect(sqlite3_vtab *table)
{
	sqlite3_free(table);
	return SQLITE_OK;
}

/* The only plan: scan from first to last. */
static int
on_plan(sqlite3_vtab *table, sqlite3_index_info *info)
{
	info->estimatedRows = PENDING_MAX;
	return SQLITE_OK;
}

static int
on_open(sqlite3_vtab *table, sqlite3_vtab_cursor **ret)
{
	struct pending_cursor *cursor = sqlite3_malloc(sizeof(*cursor));

	if (cursor == NULL)
		return SQLITE_NOMEM;
	*cursor = (struct pending_cursor){0};
	*ret = &cursor->base;
	return SQLITE_OK;
}

static int
on_close(sqlite3_vtab_cursor *cursor)
{
	sqlite3_free(cursor);
	return SQLITE_OK;
}

static size_t *
at_of(sqlite3_vtab_cursor *cursor)
{
	return &((struct pending_cursor *)(void *)cursor)->at;
}

static const struct pending *
pending_of(const sqlite3_vtab_cursor *cursor)
{
	return ((const struct pending_table *)(const void *)cursor->pVtab)->pending;
}

static int
on_first(
    sqlite3_vtab_cursor *cursor, int plan, const char *name, int n, sqlite3_value **arg)
{
	(void)plan, (void)name, (void)n, (void)arg;
	*at_of(cursor) = 0;
	return SQLITE_OK;
}

static int
on_next(sqlite3_vtab_cursor *cursor)
{
	++*at_of(cursor);
	return SQLITE_OK;
}

static int
is_end(sqlite3_vtab_cursor *cursor)
{
	return *at_of(cursor) >= pending_of(cursor)->n;
}

static int
on_column(sqlite3_vtab_cursor *cursor, sqlite3_context *out, int column)
{
	const struct pending_row *row = &pending_of(cursor)->row[*at_of(cursor)];

	if (column == IDX)
		sqlite3_result_int64(out, (sqlite3_int64)row->idx);
	else if (column == TS)
		sqlite3_result_int64(out, (sqlite3_int64)row->ts);
	else if (column == WSEQ)
		sqlite3_result_int64(out, (sqlite3_int64)row->wseq);
	else if (column == KIND)
		sqlite3_result_text(out, row->kind, -1, SQLITE_STATIC);
	else if (column == BODY)
		sqlite3_result_blob(
		    out, row->text[BODY], (int)row->body_len, SQLITE_STATIC);
	else
		sqlite3_result_text(out, row->text[column], -1, SQLITE_STATIC);
	return SQLITE_OK;
}

static int
on_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *ret)
{
	*ret = (sqlite3_int64)*at_of(cursor);
	return SQLITE_OK;
}

static const sqlite3_module pending_module = {
    .xConnect = on_connect, /* no xCreate: the table exists without being in a schema */
    .xBestIndex = on_plan,
    .xDisconnect = on_disconnect,
    .xOpen = on_open,
    .xClose = on_close,
    .xFilter = on_first,
    .xNext = on_next,
    .xEof = is_end,
    .xColumn = on_column,
    .xRowid = on_rowid,
};

/* ---- public functions ---------------------------------------------------------------- */

int
pending_new(sqlite3 *db, struct pending **ret)
{
	struct pending *pending = calloc(1, sizeof(*pending));

	if (pending == NULL)
		return -ENOMEM;
	if (sqlite3_create_module(db, PENDING_NAME, &pending_module, pending) !=
	    SQLITE_OK) {
		free(pending);
		return -ENOMEM;
	}
	*ret = pending;
	return 0;
}

void
pending_free(struct pending *pending)
{
	if (pending == NULL)
		return;
	free(pending->memory);
	free(pending);
}

size_t
pending_n(const struct pending *pending)
{
	return pending->n;
}

void
pending_clear(struct pending *pending)
{
	pending->n = pending->used = 0;
}

void
pending_rest(struct pending *pending)
{
	if (pending->n > 0)
		return;
	free(pending->memory);
	pending->memory = NULL;
}

/* NULL stays NULL. */
static const char *
keep(struct pending *pending, const char *text, size_t len)
{
	char *at = pending->memory + pending->used;

	if (text == NULL)
		return NULL;
	memcpy(at, text, len);
	pending->used += len;
	return at;
}

int
pending_put(
    struct pending *pending, const struct writer *writer, const struct record *rec)
{
	const char *const text[COLUMNS_ALL] = {
	    [SERVER] = rec->column[COLUMN_SERVER],
	    [SESSION] = writer->session,
	    [TOOL] = rec->column[COLUMN_TOOL],
	    [VERDICT] = rec->column[COLUMN_VERDICT],
	    [RULE] = rec->column[COLUMN_RULE],
	    [WRITER] = writer->instance,
	};
	struct pending_row *row = &pending->row[pending->n];
	size_t len[COLUMNS_ALL] = {0}, all = rec->body_len;

	for (size_t i = 0; i < COLUMNS_ALL; i++) {
		len[i] = text[i] != NULL ? strlen(text[i]) + 1 : 0;
		all += len[i];
	}
	if (pending->n == PENDING_MAX || all > PENDING_LEN - pending->used)
		return -ENOBUFS;
	if (pending->memory == NULL)
		pending->memory = malloc(PENDING_LEN);
	if (pending->memory == NULL)
		return -ENOMEM;
	*row = (struct pending_row){
	    .idx = rec->idx,
	    .ts = rec->ts,
	    .wseq = rec->wseq,
	    .kind = event_kind_name(rec->kind),
	    .body_len = rec->body_len,
	};
	for (size_t i = 0; i < COLUMNS_ALL; i++)
		row->text[i] = keep(pending, text[i], len[i]);
	row->text[BODY] = keep(pending, rec->body, rec->body_len);
	pending->n++;
	return 0;
}
