/*
 * Checks that each index holds exactly what the records contain, in order.
 *
 * Fast path: SQLite's integrity_check looks each row up in each index, which takes
 * ten times as long as reading everything. Here every row adds a keyed hash of its
 * indexed columns to a sum, every index entry does the same, and the sums must agree.
 * The key is random for each run, so an attacker cannot prepare rows whose hashes
 * cancel out. Checking the order matters, because an index's inner pages hold entries
 * too; an index with the right entries in the right order answers as the table would.
 */
#include <sqlite3.h>
#include <string.h>
#include <sys/random.h>

#include "shim/base/array.h"
#include "supervisor/audit/log/schema.h"
#include "supervisor/audit/verify/verify.h"

/* Columns in the order that check_records.c selects them. */
enum { IDX, TS, KIND, SERVER, SESSION, TOOL, VERDICT, RULE, WRITER, WSEQ };

#define PARTS 3

static const struct {
	const char *name;
	/* the parts, then idx, in the index's own order. No ORDER BY: SQLite could
	 * sort what is to be checked */
	const char *sql;
	int part[PARTS]; /* column of each part; -1: end */
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
	/* without a random key the sums are plain checksums */
	(void)!getrandom(sum_key, sizeof(sum_key), 0); /* syscalls: getrandom */
}

const char *
index_name(int index)
{
	return row[index].name;
}

void
cells_get(sqlite3_stmt *s, struct cell *cell, int n)
{
	for (int i = 0; i < n; i++) {
		sqlite3_value *value = sqlite3_column_value(s, i);

		cell[i].type = sqlite3_value_type(value);
		cell[i].len = 0;
		cell[i].bytes = NULL;
		if (cell[i].type == SQLITE_INTEGER) {
			cell[i].number = sqlite3_value_int64(value);
		} else if (cell[i].type != SQLITE_NULL) {
			cell[i].bytes = sqlite3_value_blob(value);
			cell[i].len = sqlite3_value_bytes(value);
		}
	}
}

static inline __attribute__((always_inline)) void
put(struct index_entry *e, const void *bytes, size_t len)
{
	if (len > sizeof(e->bytes) - e->len)
		len = sizeof(e->bytes) - e->len; /* longer than any column: no match */
	memcpy(e->bytes + e->len, bytes, len);
	e->len += len;
}

static void
put_cell(struct index_entry *e, const struct cell *cell)
{
	uint32_t len = (uint32_t)cell->len;

	put(e, &cell->type, sizeof(cell->type));
	if (cell->type == SQLITE_INTEGER) {
		put(e, &cell->number, sizeof(cell->number));
		return;
	}
	put(e, &len, sizeof(len));
	if (len > 0)
		put(e, cell->bytes, len);
}

static bool
is_text(const struct cell *cell, const char *text)
{
	return (size_t)cell->len == strlen(text) &&
	       memcmp(cell->bytes, text, (size_t)cell->len) == 0;
}

/* True if this index includes the row. */
static bool
belongs(const struct cell *cell, int index)
{
	static const char *const usual[] = {
	    "exec", "call", "scrub", "dropped", "heartbeat", "epoch"};

	switch (index) {
	case 1:
		return cell[SERVER].type != SQLITE_NULL;
	case 2:
		return cell[TOOL].type != SQLITE_NULL;
	case 3:
		return cell[VERDICT].type != SQLITE_NULL &&
		       !is_text(&cell[VERDICT], "allow");
	case 4:
		for (size_t i = 0; i < ARRAY_LEN(usual); i++) {
			if (is_text(&cell[KIND], usual[i]))
				return false;
		}
		return true;
	default:
		return true;
	}
}

void
index_add(const struct cell *cell, struct index_entry *e, uint64_t sum[INDEXES])
{
	for (int i = 0; i < INDEXES; i++) {
		if (!belongs(cell, i))
			continue;
		e->len = 0;
		for (int p = 0; p < row[i].part_n; p++)
			put_cell(e, &cell[row[i].part[p]]);
		put_cell(e, &cell[IDX]);
		sum[i] += merkle_sum(e->bytes, e->len, sum_key);
	}
}

/* SQLite's order of column values: numbers, then text by its bytes. */
static int
compare(const struct cell *cell, const struct index_entry *before, size_t *at)
{
	int64_t was;
	uint32_t was_len, len = (uint32_t)cell->len;
	int was_type, c;

	memcpy(&was_type, before->bytes + *at, sizeof(was_type));
	*at += sizeof(was_type);
	if (was_type == SQLITE_INTEGER) {
		memcpy(&was, before->bytes + *at, sizeof(was));
		*at += sizeof(was);
		if (cell->type != SQLITE_INTEGER)
			return 1;
		return (cell->number > was) - (cell->number < was);
	}
	memcpy(&was_len, before->bytes + *at, sizeof(was_len));
	*at += sizeof(was_len);
	c = cell->type == SQLITE_INTEGER ? -1
	    : len == 0 || was_len == 0
		? 0
		: memcmp(cell->bytes, before->bytes + *at, len < was_len ? len : was_len);
	*at += was_len;
	return c != 0 ? c : (len > was_len) - (len < was_len);
}

/* True if the entry is strictly after the one before it. */
static bool
in_order(const struct cell *cell, int columns, const struct index_entry *before)
{
	size_t at = 0;

	for (int c = 0; c < columns; c++) {
		int order = compare(&cell[c], before, &at);

		if (order != 0)
			return order > 0;
	}
	return false;
}

int
index_check(sqlite3 *db, int index, struct verify_answer *answer, uint64_t *ret_sum)
{
	struct index_entry entry[2] = {0}, *e = &entry[0], *before = &entry[1];
	struct cell cell[PARTS + 1];
	sqlite3_stmt *s = NULL;
	uint64_t sum = 0;
	int code, columns = row[index].part_n + 1, r = 0;

	if (sqlite3_prepare_v2(db, row[index].sql, -1, &s, NULL) != SQLITE_OK)
		return sql_failed(answer, db, 0);
	while (r == 0 && (code = sqlite3_step(s)) == SQLITE_ROW) {
		struct index_entry *last = before;

		e->len = 0;
		cells_get(s, cell, columns);
		for (int c = 0; c < columns; c++)
			put_cell(e, &cell[c]);
		if (e->len == sizeof(e->bytes) ||
		    (before->len > 0 && !in_order(cell, columns, before)))
			r = found(answer, TAMPERED, "the index %s is not in order",
			    row[index].name);
		sum += merkle_sum(e->bytes, e->len, sum_key);
		before = e;
		e = last;
	}
	if (r == 0 && code != SQLITE_DONE)
		r = sql_failed(answer, db, 0);
	(void)sqlite3_finalize(s);
	*ret_sum = sum;
	return r;
}
