/*
 * Does each index hold what the records say, no more and no less, in order?
 *
 * SQLite's own integrity_check looks each row up in each index, which takes ten
 * times as long as reading all of it.  Here every row adds a keyed hash of its
 * indexed columns to a sum, every entry of the index does the same, and the sums
 * must agree; the key is drawn for this run, so nobody can have prepared rows
 * whose hashes cancel out.  An index that holds the right entries in the right
 * order answers as the table would: an index's inner pages hold entries too.
 */
#include <sqlite3.h>
#include <string.h>
#include <sys/random.h>

#include "supervisor/audit/judge.h"

/* Columns as rows.c selects them. */
enum { IDX, TS, KIND, SERVER, SESSION, TOOL, VERDICT, RULE, WRITER, WSEQ };

#define PARTS 3

static const struct {
	const char *name;
	/* the parts, then idx, in the index's own order: no ORDER BY, or SQLite
	 * might put right what is to be judged */
	const char *sql;
	int part[PARTS]; /* the same of a row; -1: no more */
	int part_n;
} row[INDEXES] = {
    {"rec_session", "SELECT session, writer, wseq, idx FROM rec INDEXED BY rec_session",
	{SESSION, WRITER, WSEQ}, 3},
    {"rec_server",
	"SELECT server, ts, idx FROM rec INDEXED BY rec_server "
	"WHERE server IS NOT NULL",
	{SERVER, TS}, 2},
    {"rec_tool",
	"SELECT tool, ts, idx FROM rec INDEXED BY rec_tool "
	"WHERE tool IS NOT NULL",
	{TOOL, TS}, 2},
    {"rec_denied",
	"SELECT ts, idx FROM rec INDEXED BY rec_denied "
	"WHERE verdict <> 'allow'",
	{TS}, 1},
    {"rec_rare", "SELECT kind, ts, idx FROM rec INDEXED BY rec_rare WHERE " SCHEMA_RARE,
	{KIND, TS}, 2},
};

static uint8_t sum_key[SUM_KEY_LEN];

void
index_init(void)
{
	/* a key that cannot be drawn is no secret: then the sums are only sums */
	(void)!getrandom(sum_key, sizeof(sum_key), 0); /* syscalls: getrandom */
}

const char *
index_name(int index)
{
	return row[index].name;
}

/* One entry as bytes: each part with its type and length. */
struct entry {
	uint8_t bytes[3 * (3 * REPORT_TEXT_MAX + 16) + 8];
	size_t len;
};

static void
put(struct entry *e, const void *bytes, size_t len)
{
	if (len > sizeof(e->bytes) - e->len)
		len = sizeof(e->bytes) - e->len; /* longer than any column is: no match */
	memcpy(e->bytes + e->len, bytes, len);
	e->len += len;
}

static void
put_column(struct entry *e, sqlite3_stmt *s, int column)
{
	int type = sqlite3_column_type(s, column);
	uint64_t number;
	uint32_t len;

	put(e, &type, sizeof(type));
	if (type == SQLITE_INTEGER) {
		number = (uint64_t)sqlite3_column_int64(s, column);
		put(e, &number, sizeof(number));
		return;
	}
	len = (uint32_t)sqlite3_column_bytes(s, column);
	put(e, &len, sizeof(len));
	if (len > 0)
		put(e, sqlite3_column_blob(s, column), len);
}

static bool
is_text(sqlite3_stmt *s, int column, const char *text)
{
	const void *is = sqlite3_column_text(s, column);

	return is != NULL && strcmp(is, text) == 0;
}

/* Is this row one of the index's? */
static bool
belongs(sqlite3_stmt *s, int index)
{
	static const char *const usual[] = {
	    "exec", "call", "scrub", "dropped", "heartbeat", "epoch"};

	switch (index) {
	case 1:
		return sqlite3_column_type(s, SERVER) != SQLITE_NULL;
	case 2:
		return sqlite3_column_type(s, TOOL) != SQLITE_NULL;
	case 3:
		return sqlite3_column_type(s, VERDICT) != SQLITE_NULL &&
		       !is_text(s, VERDICT, "allow");
	case 4:
		for (size_t i = 0; i < ARRAY_LEN(usual); i++) {
			if (is_text(s, KIND, usual[i]))
				return false;
		}
		return true;
	default:
		return true;
	}
}

void
index_add(sqlite3_stmt *s, uint64_t sum[INDEXES])
{
	struct entry e;

	for (int i = 0; i < INDEXES; i++) {
		if (!belongs(s, i))
			continue;
		e.len = 0;
		for (int p = 0; p < row[i].part_n; p++)
			put_column(&e, s, row[i].part[p]);
		put_column(&e, s, IDX);
		sum[i] += chain_sum(e.bytes, e.len, sum_key);
	}
}

/* SQLite's order of a column's values: numbers, then text by its bytes. */
static int
compare(sqlite3_stmt *s, int column, const struct entry *before, size_t *at)
{
	uint64_t was;
	uint32_t was_len, len;
	int was_type, type = sqlite3_column_type(s, column), c;

	memcpy(&was_type, before->bytes + *at, sizeof(was_type));
	*at += sizeof(was_type);
	if (was_type == SQLITE_INTEGER) {
		memcpy(&was, before->bytes + *at, sizeof(was));
		*at += sizeof(was);
		if (type != SQLITE_INTEGER)
			return 1;
		return (sqlite3_column_int64(s, column) > (int64_t)was) -
		       (sqlite3_column_int64(s, column) < (int64_t)was);
	}
	memcpy(&was_len, before->bytes + *at, sizeof(was_len));
	*at += sizeof(was_len);
	len = (uint32_t)sqlite3_column_bytes(s, column);
	c = type == SQLITE_INTEGER ? -1
	    : len == 0 || was_len == 0
		? 0
		: memcmp(sqlite3_column_blob(s, column), before->bytes + *at,
		      len < was_len ? len : was_len);
	*at += was_len;
	return c != 0 ? c : (len > was_len) - (len < was_len);
}

/* Strictly behind the entry before it. */
static bool
in_order(sqlite3_stmt *s, int columns, const struct entry *before)
{
	size_t at = 0;

	for (int c = 0; c < columns; c++) {
		int order = compare(s, c, before, &at);

		if (order != 0)
			return order > 0;
	}
	return false;
}

int
index_check(sqlite3 *db, int index, struct answer *answer, uint64_t *ret_sum)
{
	struct entry before = {.len = 0}, e;
	sqlite3_stmt *s = NULL;
	uint64_t sum = 0;
	int code, columns = row[index].part_n + 1, r = 0;

	if (sqlite3_prepare_v2(db, row[index].sql, -1, &s, NULL) != SQLITE_OK)
		return sql_failed(answer, db, 0);
	while (r == 0 && (code = sqlite3_step(s)) == SQLITE_ROW) {
		e.len = 0;
		for (int c = 0; c < columns; c++)
			put_column(&e, s, c);
		if (e.len == sizeof(e.bytes) ||
		    (before.len > 0 && !in_order(s, columns, &before)))
			r = found(answer, TAMPERED, "the index %s is not in order",
			    row[index].name);
		sum += chain_sum(e.bytes, e.len, sum_key);
		before.len = e.len;
		memcpy(before.bytes, e.bytes, e.len);
	}
	if (r == 0 && code != SQLITE_DONE)
		r = sql_failed(answer, db, 0);
	(void)sqlite3_finalize(s);
	*ret_sum = sum;
	return r;
}
