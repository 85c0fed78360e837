/*
 * Checks a piece of the records: finds each by its number, as a query would, parses
 * its body, compares every column with it and hashes its leaf; then checks the tiles
 * that they fill.
 *
 * A scan alone is not enough: a table with falsified inner pages shows every record
 * to a scan, yet hides one from a lookup. So the first and the last record of each
 * page are looked up by number as well, which covers the records between them:
 *
 *	A lookup of x goes down from the root; on each inner page the comparisons
 *	"is this key at least x?" select the next child.  If lookups of the first
 *	record a and the last record b of one page both succeed, they reach that
 *	page by the same children (a scan that shows each number once, and as
 *	many as there are rows, has met each page once).  So each compared key is
 *	either below both or at least both.  A record between them gets the same
 *	results and reaches the same page.  It is found there, because the scan
 *	showed that page's records in their order.
 *
 * SQLite does not report where a page ends, but it counts the pages that it has
 * requested: without a new request, the page is the same. On any mismatch the piece
 * is checked again, each record by its number, and that result is reported.
 *
 * A single thread scans the table from its first row to its end, without a new search
 * at a piece, and has then counted the rows. Several threads begin at each piece, and
 * verify.c counts the rows afterwards.
 */
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/array.h"
#include "supervisor/audit/log/record.h"
#include "supervisor/audit/log/schema.h"
#include "supervisor/audit/verify/verify.h"

enum {
	IDX,
	TS,
	KIND,
	SERVER,
	SESSION,
	TOOL,
	VERDICT,
	RULE,
	WRITER,
	WSEQ,
	BODY,
	COLUMNS_ALL
};

#define COLUMNS_SQL \
	"idx, ts, kind, server, session, tool, verdict, rule, writer, wseq, body"
#define OWN_FIRST 16
#define PAGE_MOST 65536u /* bytes: one page has no more records than that */

struct rows {
	sqlite3 *db;
	sqlite3_stmt *rec, *scan_rec, *all, *exists, *tile;
	bool whole;          /* all has shown the pieces so far, and nothing else */
	uint64_t shown;      /* records that all has shown */
	uint64_t page_first; /* first record of this page in this piece */
	size_t page_bytes;
	int64_t pages; /* SQLite's count of requested pages */
	bool trouble;  /* an error of ours, not of the records */
	char text[AUDIT_BODY_MAX];
	struct scan scan;
	struct cell cell[COLUMNS_ALL]; /* of the current record */
	struct index_entry entry;
};

/* ---- columns ------------------------------------------------------------------ */

static bool
is_number(const struct rows *rows, int column, struct span raw)
{
	const struct cell *cell = &rows->cell[column];
	uint64_t number;

	return cell->type == SQLITE_INTEGER && scan_number(raw, &number) &&
	       number <= INT64_MAX && (int64_t)number == cell->number;
}

static bool
is_string(struct rows *rows, int column, struct span raw)
{
	const struct cell *cell = &rows->cell[column];
	const void *want = raw.data + 1;
	long len = (long)raw.len - 2;

	if (cell->type != SQLITE_TEXT)
		return false;
	/* usually without escapes */
	if (len < 0 || raw.data[0] != '"' || memchr(raw.data, '\\', raw.len) != NULL) {
		len = scan_string(raw, rows->text, sizeof(rows->text));
		want = rows->text;
	}
	return cell->len == len &&
	       (len == 0 || memcmp(cell->bytes, want, (size_t)len) == 0);
}

/* An optional field: if it is missing, the column must be NULL. */
static bool
is_field(struct rows *rows, int column, const char *key)
{
	const struct scan_field *field = scan_find(&rows->scan, key);

	if (field == NULL)
		return rows->cell[column].type == SQLITE_NULL;
	return is_string(rows, column, field->value);
}

/* The first name of a tools/call; NULL for any other record. */
static bool
is_tool(struct rows *rows)
{
	const struct scan_field *name = scan_find(&rows->scan, "name");
	struct span first;
	size_t at = 0;

	if (name == NULL || scan_find(&rows->scan, "action") == NULL ||
	    scan_next(name->value, &at, &first) != 1)
		return rows->cell[TOOL].type == SQLITE_NULL;
	return is_string(rows, TOOL, first);
}

/* Compares each copied column with the body. Returns the first that differs, or
 * NULL. */
static const char *
lying_column(struct rows *rows)
{
	const struct scan *scan = &rows->scan;
	uint64_t v;

	if (!scan_number(scan->head[SCAN_V], &v) || v != SCHEMA_VERSION)
		return "its version is unknown";
	if (!is_number(rows, IDX, scan->head[SCAN_IDX]))
		return "its number differs from the one in its body";
	if (!is_number(rows, TS, scan->head[SCAN_TS]))
		return "column ts differs from the body";
	if (!is_string(rows, KIND, scan->head[SCAN_KIND]))
		return "column kind differs from the body";
	if (!is_field(rows, SERVER, "server"))
		return "column server differs from the body";
	if (!is_string(rows, SESSION, scan->head[SCAN_SESSION]))
		return "column session differs from the body";
	if (!is_tool(rows))
		return "column tool differs from the body";
	if (!is_field(rows, VERDICT, "verdict"))
		return "column verdict differs from the body";
	if (!is_field(rows, RULE, "rule"))
		return "column rule differs from the body";
	if (!is_string(rows, WRITER, scan->head[SCAN_INSTANCE]))
		return "column writer differs from the body";
	if (!is_number(rows, WSEQ, scan->head[SCAN_SEQ]))
		return "column wseq differs from the body";
	return NULL;
}

/* ---- the log's own records ------------------------------------------------------ */

static bool
own_number(const struct rows *rows, const char *key, uint64_t *ret)
{
	const struct scan_field *field = scan_find(&rows->scan, key);

	return field != NULL && scan_number(field->value, ret);
}

/* Copies a string as C text; "" if it is missing or too long. */
static void
own_text(const struct rows *rows, struct span raw, char *out, size_t out_cap)
{
	long n = scan_string(raw, out, out_cap - 1);

	out[n >= 0 ? n : 0] = '\0';
}

static void
own_field(const struct rows *rows, const char *key, char *out, size_t out_cap)
{
	const struct scan_field *field = scan_find(&rows->scan, key);
	struct span value = {0};
	size_t at = 0;

	out[0] = '\0';
	if (field != NULL && scan_next(field->value, &at, &value) == 1)
		own_text(rows, value, out, out_cap);
}

static void
own_vkeys(const struct rows *rows, struct own_record *own)
{
	const struct scan_field *field = scan_find(&rows->scan, "vkey");
	char text[NOTE_VKEY_MAX];
	struct span value;
	size_t at = 0;

	while (field != NULL && own->vkey_n < ARRAY_LEN(own->vkey) &&
	       scan_next(field->value, &at, &value) == 1) {
		own_text(rows, value, text, sizeof(text));
		if (vkey_parse((struct span){(uint8_t *)text, strlen(text)},
			&own->vkey[own->vkey_n]) == 0)
			own->vkey_n++;
	}
}

static int
keep_own(struct rows *rows, struct piece *piece, enum event_kind kind)
{
	const struct scan *scan = &rows->scan;
	struct own_record *own;
	char outcome[16];

	if (piece->own_n == piece->own_cap) {
		size_t cap = piece->own_cap == 0 ? OWN_FIRST : 2 * piece->own_cap;
		struct own_record *more = realloc(piece->own, cap * sizeof(*more));

		if (more == NULL)
			return found(&piece->answer, UNKNOWN, "out of memory");
		piece->own = more;
		piece->own_cap = cap;
	}
	own = &piece->own[piece->own_n++];
	memset(own, 0, sizeof(*own));
	own->kind = kind;
	(void)scan_number(scan->head[SCAN_IDX], &own->idx);
	(void)scan_number(scan->head[SCAN_TS], &own->ts);
	(void)scan_number(scan->head[SCAN_BOOT], &own->boot);
	if (kind >= EVENT_GENESIS || kind == EVENT_GAP) {
		own->before = piece->boot_most;
		piece->boot_most = 0;
	}
	own_text(rows, scan->head[SCAN_INSTANCE], own->instance, sizeof(own->instance));
	if (!own_number(rows, "epoch", &own->epoch))
		own->epoch = UINT64_MAX;
	if (!own_number(rows, "checkpoints", &own->checkpoints))
		own->checkpoints = UINT64_MAX;
	(void)own_number(rows, "period", &own->period);
	(void)own_number(rows, "size", &own->size);
	(void)own_number(rows, "first", &own->count);
	own_field(rows, "boot_id", own->boot_id, sizeof(own->boot_id));
	own_field(rows, "origin", own->origin, sizeof(own->origin));
	own_field(rows, "note", own->note, sizeof(own->note));
	own_field(rows, "outcome", outcome, sizeof(outcome));
	own->clean = strcmp(outcome, "unclean") != 0;
	own->rotated = strcmp(outcome, "rotated") == 0;
	own_vkeys(rows, own);
	return 0;
}

/* check_order.c needs the recorder's own records and the cosignatures. */
static int
look_at_kind(struct rows *rows, struct piece *piece, uint64_t idx)
{
	const struct scan *scan = &rows->scan;
	bool own = scan_is(scan->head[SCAN_ROLE], "recorder");
	uint64_t boot;

	if (!own && scan_number(scan->head[SCAN_BOOT], &boot) && boot > piece->boot_most)
		piece->boot_most = boot;
	/* most of them */
	if (!own && (scan_is(scan->head[SCAN_KIND], "call") ||
			scan_is(scan->head[SCAN_KIND], "exec")))
		return 0;
	if (scan_is(scan->head[SCAN_KIND], event_kind_name(EVENT_GAP)))
		piece->gaps++;
	for (enum event_kind kind = EVENT_COSIG; kind < EVENT_KIND_END; kind++) {
		if (!scan_is(scan->head[SCAN_KIND], event_kind_name(kind)))
			continue;
		if (!own && kind != EVENT_COSIG && kind != EVENT_PRUNE)
			return kind < EVENT_GENESIS
				   ? 0
				   : bad_record(&piece->answer, idx,
					 "only the recorder may write this record");
		return keep_own(rows, piece, kind);
	}
	/* a gap is a record of the recorder too, so its time counts */
	return own ? keep_own(rows, piece, EVENT_GAP) : 0;
}

/* ---- records ----------------------------------------------------------------------- */

/* Of the record whose cells were read. */
static int
check_body(struct rows *rows, struct piece *piece, uint64_t at)
{
	uint64_t idx = piece->first + at;
	const void *body;
	const char *lie;
	int len;

	body = rows->cell[BODY].bytes;
	len = rows->cell[BODY].len;
	if (body == NULL || len <= 0 || (size_t)len > AUDIT_BODY_MAX)
		return bad_record(&piece->answer, idx, "its body has an impossible size");
	merkle_leaf(body, (size_t)len, piece->leaf + at * MERKLE_HASH_LEN);
	if (scan_body(body, (size_t)len, &rows->scan) < 0)
		return bad_record(
		    &piece->answer, idx, "its body was not written by kennel");
	lie = lying_column(rows);
	if (lie != NULL)
		return bad_record(&piece->answer, idx, lie);
	index_add(rows->cell, &rows->entry, piece->sum);
	return look_at_kind(rows, piece, idx);
}

static int
check_record(struct rows *rows, struct piece *piece, uint64_t at)
{
	sqlite3_stmt *s = rows->rec;
	int code, r;

	(void)sqlite3_bind_int64(s, 1, (sqlite3_int64)piece->first + (sqlite3_int64)at);
	code = sqlite3_step(s);
	if (code == SQLITE_ROW) {
		cells_get(s, rows->cell, COLUMNS_ALL);
		r = check_body(rows, piece, at);
	} else if (code == SQLITE_DONE) {
		r = bad_record(&piece->answer, piece->first + at, "it is missing");
	} else {
		r = sql_failed(&piece->answer, rows->db, piece->first + at);
	}
	(void)sqlite3_reset(s);
	return r;
}

/* The first record in a tile whose hash differs from the stored one. */
static uint64_t
first_other(const uint8_t *stored, const uint8_t *leaf)
{
	uint64_t i = 0;

	while (i < TILE_WIDTH && memcmp(stored + i * MERKLE_HASH_LEN,
				     leaf + i * MERKLE_HASH_LEN, MERKLE_HASH_LEN) == 0)
		i++;
	return i;
}

/* Checks that a stored tile has the hashes of its records. */
static int
check_tile(struct rows *rows, struct piece *piece, uint64_t t)
{
	uint64_t first = piece->first + t * TILE_WIDTH, other;
	const uint8_t *leaf = piece->leaf + t * TILE_LEN;
	sqlite3_stmt *s = rows->tile;
	int r = 0, have;

	tiles_root_of_tile(leaf, piece->root[t]);
	(void)sqlite3_bind_int64(s, 1, (sqlite3_int64)(first / TILE_WIDTH));
	have = sql_row(&piece->answer, s, first);
	if (have < 0) {
		r = have;
	} else if (have == 0 || sqlite3_column_bytes(s, 0) != MERKLE_HASH_LEN ||
		   sqlite3_column_bytes(s, 1) != (int)TILE_LEN) {
		r = bad_record(&piece->answer, first, "its tile is missing");
	} else {
		other = TILE_WIDTH;
		if (memcmp(sqlite3_column_blob(s, 1), leaf, TILE_LEN) != 0)
			other = first_other(sqlite3_column_blob(s, 1), leaf);
		if (other < TILE_WIDTH)
			r = bad_record(&piece->answer, first + other,
			    "its hash differs from the one in its tile");
		else if (memcmp(sqlite3_column_blob(s, 0), piece->root[t],
			     MERKLE_HASH_LEN) != 0)
			r = bad_record(
			    &piece->answer, first, "its tile does not match its root");
	}
	(void)sqlite3_reset(s);
	return r;
}

/* ---- a piece ----------------------------------------------------------------------- */

/* Number of pages that this connection has requested, from its cache or from the
 * file. */
static int64_t
pages_asked(sqlite3 *db)
{
	int hit = 0, miss = 0, most;

	(void)sqlite3_db_status(db, SQLITE_DBSTATUS_CACHE_HIT, &hit, &most, 0);
	(void)sqlite3_db_status(db, SQLITE_DBSTATUS_CACHE_MISS, &miss, &most, 0);
	return (int64_t)hit + miss;
}

/* True if there is a row. Lack of memory or an I/O error is not a fault of the log. */
static bool
has_row(struct rows *rows, sqlite3_stmt *s)
{
	int code = sqlite3_step(s), r = sqlite_errno(code);

	if (r < 0 && r != -EBADMSG)
		rows->trouble = true;
	return code == SQLITE_ROW;
}

static bool
is_found(struct rows *rows, uint64_t idx)
{
	bool found;

	(void)sqlite3_bind_int64(rows->exists, 1, (sqlite3_int64)idx);
	found = has_row(rows, rows->exists);
	(void)sqlite3_reset(rows->exists);
	return found;
}

/* The scan shows record i, whose cells were read. If it is the first of a page, looks up
 * both this record and the last one of the page before. */
static bool
is_on_its_page(struct rows *rows, const struct piece *piece, uint64_t i)
{
	uint64_t idx = piece->first + i;
	const struct cell *body = &rows->cell[BODY];
	bool found;

	if (rows->cell[IDX].type != SQLITE_INTEGER ||
	    rows->cell[IDX].number != (int64_t)idx)
		return false;
	rows->page_bytes += (size_t)body->len;
	if (i > 0 && pages_asked(rows->db) == rows->pages)
		/* otherwise SQLite counts differently than expected */
		return rows->page_bytes <= PAGE_MOST;
	if (i > 0 && idx - 1 != rows->page_first && !is_found(rows, idx - 1))
		return false;
	rows->page_first = idx;
	rows->page_bytes = (size_t)body->len;
	found = is_found(rows, idx);
	rows->pages = pages_asked(rows->db);
	return found;
}

/* Checks the tile that this record fills; check_order.c checks one that began in the
 * file before. */
static int
check_tile_behind(struct rows *rows, struct piece *piece, uint64_t i)
{
	int r;

	if (piece->first % TILE_WIDTH != 0 || i % TILE_WIDTH != TILE_WIDTH - 1)
		return 0;
	r = check_tile(rows, piece, i / TILE_WIDTH);
	rows->pages = pages_asked(rows->db); /* the tile's are not the scan's */
	return r;
}

/* Checks the records with this scan. */
static int
check_scanned(struct rows *rows, struct piece *piece, sqlite3_stmt *s)
{
	int r = 0;

	for (uint64_t i = 0; r == 0 && i < piece->n; i++) {
		bool shown = has_row(rows, s);

		if (shown)
			cells_get(s, rows->cell, COLUMNS_ALL);
		r = -EBADMSG;
		if (shown && is_on_its_page(rows, piece, i))
			r = check_body(rows, piece, i);
		if (r == 0)
			r = check_tile_behind(rows, piece, i);
	}
	if (r == 0 && piece->n > 0 && !is_found(rows, piece->first + piece->n - 1))
		r = -EBADMSG;
	return r;
}

/* Checks the records with the scan of the whole table, which a piece out of turn, or any
 * mismatch, ends for good. */
static int
check_in_turn(struct rows *rows, struct piece *piece)
{
	if (rows->whole && check_scanned(rows, piece, rows->all) == 0) {
		rows->shown += piece->n;
		return 0;
	}
	rows->whole = false;
	(void)sqlite3_reset(rows->all);
	return -EBADMSG;
}

/* Checks the records with a scan that begins at the first of them. */
static int
check_from_first(struct rows *rows, struct piece *piece)
{
	int r;

	(void)sqlite3_bind_int64(rows->scan_rec, 1, (sqlite3_int64)piece->first);
	r = check_scanned(rows, piece, rows->scan_rec);
	(void)sqlite3_reset(rows->scan_rec);
	return r;
}

/* Checks the records one by one. */
static int
check_each(struct rows *rows, struct piece *piece)
{
	int r = 0;

	for (uint64_t i = 0; r == 0 && i < piece->n; i++) {
		r = check_record(rows, piece, i);
		if (r == 0)
			r = check_tile_behind(rows, piece, i);
	}
	return r;
}

static void
piece_begin(struct piece *piece)
{
	piece->answer = (struct verify_answer){0};
	piece->own_n = 0;
	piece->gaps = piece->boot_most = 0;
	memset(piece->sum, 0, sizeof(piece->sum));
}

void
rows_check(struct rows *rows, struct piece *piece)
{
	rows->trouble = false;
	piece_begin(piece);
	if (check_in_turn(rows, piece) == 0)
		return;
	piece_begin(piece);
	if (check_from_first(rows, piece) == 0)
		return;
	piece_begin(piece);
	if (check_each(rows, piece) < 0)
		return;
	if (rows->trouble)
		(void)found(
		    &piece->answer, UNKNOWN, "unable to read the records in sequence");
	else
		(void)bad_record(&piece->answer, piece->first,
		    "this record, or a later one, differs between a scan and a lookup");
}

bool
rows_counted(struct rows *rows, uint64_t *ret)
{
	bool whole = rows->whole && sqlite3_step(rows->all) == SQLITE_DONE;

	rows->whole = false;
	(void)sqlite3_reset(rows->all);
	*ret = rows->shown;
	return whole;
}

int
rows_new(sqlite3 *db, struct verify_answer *answer, struct rows **ret)
{
	struct rows *rows = calloc(1, sizeof(*rows));

	if (rows == NULL)
		return found(answer, UNKNOWN, "out of memory");
	rows->db = db;
	rows->whole = true;
	if (sqlite3_prepare_v2(db,
		"SELECT " COLUMNS_SQL " FROM rec NOT INDEXED WHERE idx = ?", -1,
		&rows->rec, NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(db,
		"SELECT " COLUMNS_SQL " FROM rec NOT INDEXED WHERE idx >= ? ORDER BY idx",
		-1, &rows->scan_rec, NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(db,
		"SELECT " COLUMNS_SQL " FROM rec NOT INDEXED ORDER BY idx", -1,
		&rows->all, NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(db, "SELECT 1 FROM rec NOT INDEXED WHERE idx = ?", -1,
		&rows->exists, NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(db, "SELECT root, h FROM tile WHERE level = 0 AND n = ?",
		-1, &rows->tile, NULL) != SQLITE_OK) {
		rows_free(rows);
		return sql_failed(answer, db, 0);
	}
	*ret = rows;
	return 0;
}

void
rows_free(struct rows *rows)
{
	if (rows == NULL)
		return;
	(void)sqlite3_finalize(rows->rec);
	(void)sqlite3_finalize(rows->scan_rec);
	(void)sqlite3_finalize(rows->all);
	(void)sqlite3_finalize(rows->exists);
	(void)sqlite3_finalize(rows->tile);
	free(rows);
}
