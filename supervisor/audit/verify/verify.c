/*
 * Verifies one log: for each segment its schema, name, records, tiles and indexes;
 * then the signatures of all its checkpoints.
 */
#include <inttypes.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/log.h"
#include "supervisor/audit/log/record.h"
#include "supervisor/audit/log/schema.h"
#include "supervisor/audit/verify/verify.h"

#define AHEAD 12 /* pieces in memory at once */

/* One segment, and the connections that read it. */
struct bench {
	struct reader reader[CREW_MAX + 1];
	struct rows *rows[CREW_MAX];
	struct piece *piece[AHEAD];
	struct verify_answer worker_answer[INDEXES];
	uint64_t index_sum[INDEXES], row_sum[INDEXES];
	struct segment segment;
	struct order_walk *walk;
	struct verify_answer *answer;
	uint64_t pieces;
	int threads, readers;
};

/* ---- the result ---------------------------------------------------------------- */

int
found(struct verify_answer *answer, enum verdict verdict, const char *format, ...)
{
	va_list ap;

	if (answer->verdict == INTACT) {
		answer->verdict = verdict;
		va_start(ap, format);
		(void)vsnprintf(answer->why, sizeof(answer->why), format, ap);
		va_end(ap);
	}
	return -EBADMSG;
}

int
bad_record(struct verify_answer *answer, uint64_t idx, const char *why)
{
	if (answer->verdict == INTACT) {
		answer->named = true;
		answer->bad = idx;
	}
	return found(answer, TAMPERED, "record %" PRIu64 ": %s", idx, why);
}

int
sql_failed(struct verify_answer *answer, sqlite3 *db, uint64_t at)
{
	if (sqlite_errno(sqlite3_errcode(db)) == -EBADMSG)
		return bad_record(answer, at, sqlite3_errmsg(db));
	return found(answer, UNKNOWN, "unable to read: %s", sqlite3_errmsg(db));
}

int
sql_row(struct verify_answer *answer, sqlite3_stmt *s, uint64_t at)
{
	int code = sqlite3_step(s);

	if (code == SQLITE_ROW || code == SQLITE_DONE)
		return code == SQLITE_ROW;
	return sql_failed(answer, sqlite3_db_handle(s), at);
}

/* ---- metadata of a segment ---------------------------------------------------------- */

static int
number(struct bench *b, const char *sql, uint64_t *ret)
{
	sqlite3 *db = b->segment.db; /* the walk's: no other thread uses it */
	sqlite3_stmt *s = NULL;
	int r = 0;

	if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) != SQLITE_OK ||
	    sqlite3_step(s) != SQLITE_ROW)
		r = sql_failed(b->answer, db, b->segment.base);
	else
		*ret = (uint64_t)sqlite3_column_int64(s, 0);
	(void)sqlite3_finalize(s); /* the result was checked at the step */
	return r;
}

static int
text(struct bench *b, const char *key, char *out, size_t out_cap)
{
	sqlite3 *db = b->reader[0].db;
	sqlite3_stmt *s = NULL;
	const char *is = NULL;
	int r = 0, have = 0;

	if (sqlite3_prepare_v2(db, "SELECT v FROM meta WHERE k = ?", -1, &s, NULL) !=
	    SQLITE_OK)
		return sql_failed(b->answer, db, b->segment.base);
	(void)sqlite3_bind_text(s, 1, key, -1, SQLITE_STATIC);
	have = sql_row(b->answer, s, b->segment.base);
	if (have > 0)
		is = (const char *)sqlite3_column_text(s, 0);
	if (have < 0)
		r = have;
	else if (is == NULL || strlen(is) >= out_cap)
		r = found(b->answer, TAMPERED, "the log's own name was changed");
	else
		(void)snprintf(out, out_cap, "%s", is);
	(void)sqlite3_finalize(s);
	return r;
}

static int
check_schema(struct bench *b)
{
	char name[128], shown[512];
	uint64_t rows = 0, version = 0;
	int r;

	if (number(b, "SELECT count(*) FROM sqlite_schema", &rows) < 0)
		return -EBADMSG;
	if (rows == 0)
		return found(b->answer, INCOMPLETE, "the log has no tables");
	if (number(b, "PRAGMA user_version", &version) < 0)
		return -EBADMSG;
	if (version == 1)
		return found(b->answer, UNKNOWN,
		    "the log has version 1 of the format; this program reads version 2");
	r = schema_compare(b->reader[0].db, name, sizeof(name));
	if (r == 0)
		return 0;
	if (r != -EBADMSG)
		return found(b->answer, UNKNOWN, "unable to read the schema: %s",
		    sqlite3_errmsg(b->reader[0].db));
	return found(b->answer, TAMPERED, "the schema is not kennel's: %s",
	    log_quote(shown, sizeof(shown), name, strlen(name)));
}

/* The rows that name the log must be copies of its first record. */
static int
check_meta(struct bench *b)
{
	char format[32], origin[NOTE_NAME_MAX], base[24], log[40], *end;
	struct order_walk *walk = b->walk;
	uint64_t rows = 0;
	int r;

	r = number(b, "SELECT count(*) FROM meta", &rows);
	if (r == 0)
		r = number(b, "SELECT count(*) FROM cp", &walk->cp_all);
	if (r == 0 && rows == 0 && walk->cp_all == 0)
		return found(b->answer, INCOMPLETE, "the log has no records");
	if (r == 0)
		r = text(b, "format", format, sizeof(format));
	if (r == 0)
		r = text(b, "log", log, sizeof(log));
	if (r == 0)
		r = text(b, "origin", origin, sizeof(origin));
	if (r == 0)
		r = text(b, "base", base, sizeof(base));
	if (r < 0)
		return r;
	b->segment.base = strtoull(base, &end, 10);
	if (rows != 4 || strcmp(format, "kennel audit 2") != 0 || *end != '\0' ||
	    strspn(base, "0123456789") != strlen(base) || b->segment.base > INT64_MAX ||
	    (walk->origin[0] != '\0' && strcmp(walk->origin, origin) != 0))
		return found(b->answer, TAMPERED, "the log's own name was changed");
	if (strlen(origin) < 12 || strncmp(origin + strlen(origin) - 12, log, 12) != 0)
		return found(b->answer, TAMPERED, "the log's own name was changed");
	(void)snprintf(walk->origin, sizeof(walk->origin), "%s", origin);
	return 0;
}

/* ---- the records ---------------------------------------------------------------------- */

/* Pieces begin at multiples of their size, except the first of a segment. */
static void
piece_range(const struct bench *b, uint64_t i, uint64_t *ret_first, uint64_t *ret_n)
{
	uint64_t base = b->segment.base, end = b->segment.size;
	uint64_t cut = base / PIECE_RECORDS + i;
	uint64_t first = i == 0 ? base : cut * PIECE_RECORDS;
	uint64_t next = (cut + 1) * PIECE_RECORDS;

	/* the rest of a tile that began in the previous file is a piece by itself */
	if (base % TILE_WIDTH != 0) {
		uint64_t whole = (base / TILE_WIDTH + 1) * TILE_WIDTH;

		cut = whole / PIECE_RECORDS + i - 1;
		first = i == 0 ? base : i == 1 ? whole : cut * PIECE_RECORDS;
		next = i == 0 ? whole : (cut + 1) * PIECE_RECORDS;
	}
	if (first > end)
		first = end;
	*ret_first = first;
	*ret_n = (next < end ? next : end) - first;
}

static void
job(void *arg, int worker, uint64_t i)
{
	struct bench *b = arg;

	if (i < b->pieces) {
		struct piece *piece = b->piece[i % AHEAD];

		piece_range(b, i, &piece->first, &piece->n);
		rows_check(b->rows[worker], piece);
		return;
	}
	i -= b->pieces;
	(void)index_check(
	    b->reader[worker].db, (int)i, &b->worker_answer[i], &b->index_sum[i]);
}

/* Checks that nothing was left unchecked. */
static int
check_counts(struct bench *b)
{
	uint64_t records = 0, last = 0, tiles = 0;
	const struct segment *s = &b->segment;

	/* counting reads every record again; one thread has seen them all in order. Of
	 * several, another may use this connection now. */
	if ((b->threads > 1 || !rows_counted(b->rows[0], &records)) &&
	    number(b, "SELECT count(*) FROM rec NOT INDEXED", &records) < 0)
		return -EBADMSG;
	if (number(b, "SELECT coalesce(max(idx) + 1, 0) FROM rec", &last) < 0 ||
	    number(b, "SELECT count(*) FROM tile NOT INDEXED", &tiles) < 0)
		return -EBADMSG;
	if (last > s->size)
		return bad_record(b->answer, s->size, "no checkpoint covers it");
	if (records != s->size - s->base)
		return found(b->answer, TAMPERED, "some records have no number");
	if (tiles != s->tiles + walk_carried(s->base))
		return found(b->answer, TAMPERED,
		    "some tiles belong to records that do not exist");
	return 0;
}

static int
take(void *arg, uint64_t i)
{
	struct bench *b = arg;
	int index;

	if (i < b->pieces) {
		const struct piece *piece = b->piece[i % AHEAD];

		for (int k = 0; k < INDEXES; k++)
			b->row_sum[k] += piece->sum[k];
		return walk_piece(b->walk, &b->segment, piece);
	}
	index = (int)(i - b->pieces);
	if (index == 0 &&
	    (walk_segment_end(b->walk, &b->segment) < 0 || check_counts(b) < 0))
		return -EBADMSG;
	if (b->worker_answer[index].verdict != INTACT) {
		*b->answer = b->worker_answer[index];
		return -EBADMSG;
	}
	if (b->index_sum[index] != b->row_sum[index])
		return found(b->answer, TAMPERED,
		    "the index %s does not match the records", index_name(index));
	return 0;
}

static int
scan_records(struct bench *b)
{
	struct crew crew = {
	    .job = job, .take = take, .arg = b, .ahead = AHEAD, .threads = b->threads};
	uint64_t first, n, last = 0, records = 0;
	int r;

	r = number(b, "SELECT coalesce(max(size), 0) FROM cp", &b->segment.size);
	if (r == 0)
		r = number(b, "SELECT coalesce(max(idx) + 1, 0) FROM rec", &last);
	/* counting reads every record, so do it only if something is wrong */
	if (r == 0 && b->segment.size > last)
		r = number(b, "SELECT count(*) FROM rec NOT INDEXED", &records);
	if (r < 0)
		return r;
	if (b->segment.size < b->segment.base)
		return found(b->answer, TAMPERED, "no checkpoint covers this segment");
	/* upper limit, in case a checkpoint claims more */
	if (b->segment.size > last && b->segment.size > b->segment.base + records)
		b->segment.size = b->segment.base + records + 1;
	do
		piece_range(b, b->pieces++, &first, &n);
	while (first + n < b->segment.size);
	crew.n = b->pieces + INDEXES;
	for (uint64_t i = 0; i < AHEAD && i < b->pieces; i++) {
		b->piece[i] = calloc(1, sizeof(*b->piece[i]));
		if (b->piece[i] == NULL)
			return found(b->answer, UNKNOWN, "out of memory");
	}
	r = walk_segment_open(b->walk, &b->segment);
	return r == 0 ? crew_run(&crew) : r;
}

/* ---- signatures -------------------------------------------------------------------------- */

struct signing {
	struct bench *b;
	struct verify_answer *answer; /* one for each of n jobs */
	size_t first;
};

static void
sign_job(void *arg, int worker, uint64_t i)
{
	struct signing *s = arg;
	const struct order_walk *walk = s->b->walk;
	size_t m = s->first + i;
	uint64_t last = m + 1 < walk->mark_n ? walk->mark[m + 1] - 1 : INT64_MAX;

	(void)walk_signatures(
	    walk, s->b->reader[worker].db, walk->mark[m], last, &s->answer[i]);
}

static int
sign_take(void *arg, uint64_t i)
{
	struct signing *s = arg;

	if (s->answer[i].verdict == INTACT)
		return 0;
	*s->b->answer = s->answer[i];
	return -EBADMSG;
}

static int
check_signatures(struct bench *b, size_t first_mark)
{
	struct signing s = {.b = b, .first = first_mark};
	struct crew crew = {.job = sign_job,
	    .take = sign_take,
	    .arg = &s,
	    .n = b->walk->mark_n - first_mark,
	    .ahead = AHEAD,
	    .threads = b->threads};
	int r;

	if (crew.n == 0)
		return 0;
	s.answer = calloc(crew.n, sizeof(*s.answer));
	if (s.answer == NULL)
		return found(b->answer, UNKNOWN, "out of memory");
	r = crew_run(&crew);
	free(s.answer);
	return r;
}

/* ---- one segment ------------------------------------------------------------------------------ */

static void
bench_close(struct bench *b)
{
	for (int i = 0; i < b->threads; i++)
		rows_free(b->rows[i]);
	for (int i = 0; i < AHEAD; i++) {
		if (b->piece[i] != NULL)
			free(b->piece[i]->own);
		free(b->piece[i]);
	}
	walk_segment_close(&b->segment);
	for (int i = 0; i < b->readers; i++)
		reader_close(&b->reader[i]);
}

/* A small cache: what is read once, in order, is used while the processor cache has
 * it. */
static int
open_reader(const char *path, struct reader *ret, char why[AUDIT_WHY_MAX])
{
	int r = reader_open(path, ret, why);

	if (r == 0)
		/* without it, it is slower */
		(void)sqlite3_exec(ret->db, "PRAGMA cache_size=-1024", NULL, NULL, NULL);
	return r;
}

static int
bench_open(struct bench *b, const char *path)
{
	char why[AUDIT_WHY_MAX] = "";
	int r = open_reader(path, &b->reader[0], why);

	if (r < 0)
		return found(b->answer, r == -EBADMSG ? TAMPERED : UNKNOWN,
		    "unable to read the log: %s", why);
	b->readers = 1;
	b->threads = 1;
	b->segment.db = b->reader[0].db;
	return 0;
}

/* The number of records, and the size of the last checkpoint: every commit changes
 * one. */
static bool
moment_of(sqlite3 *db, int64_t out[2])
{
	static const char sql[] = "SELECT coalesce((SELECT max(idx) FROM rec), -1), "
				  "coalesce((SELECT max(size) FROM cp), -1)";
	sqlite3_stmt *s = NULL;
	bool told = sqlite3_prepare_v2(db, sql, -1, &s, NULL) == SQLITE_OK &&
		    sqlite3_step(s) == SQLITE_ROW;

	for (int i = 0; told && i < 2; i++)
		out[i] = sqlite3_column_int64(s, i);
	(void)sqlite3_finalize(s); /* the result was checked at the step */
	return told;
}

/* Opens a connection for each thread; the last is the walk's, which runs while the
 * others do lookups. Each reads a snapshot, and if snapshots differed, a record
 * missing from one would look removed. So if they cannot get the same snapshot, or
 * the log has no shared index, the first connection does all the work. */
static void
bench_share(struct bench *b, const char *path, int threads)
{
	char why[AUDIT_WHY_MAX];
	int64_t first[2], other[2];
	bool same =
	    threads > 1 && !b->reader[0].alone && moment_of(b->reader[0].db, first);

	for (int i = 1; same && i <= threads; i++) {
		same = open_reader(path, &b->reader[i], why) == 0;
		if (!same)
			break;
		b->readers++;
		same = moment_of(b->reader[i].db, other) &&
		       memcmp(first, other, sizeof(first)) == 0;
	}
	if (same) {
		b->threads = threads;
	} else {
		while (b->readers > 1)
			reader_close(&b->reader[--b->readers]);
	}
	b->segment.db = b->reader[b->readers - 1].db;
}

static int
judge_segment(struct bench *b, const char *path, int threads)
{
	size_t first_mark = b->walk->mark_n;
	struct verify_answer wal = {0};
	int r;

	r = bench_open(b, path);
	if (r < 0)
		return r;
	/* a changed write-ahead log explains missing records; one that ends in half a
	 * commit may be left by a crash, so other findings are reported first */
	if (dbfile_check_wal(&b->reader[0], &wal) < 0 && wal.verdict == TAMPERED) {
		*b->answer = wal;
		return -EBADMSG;
	}
	if (b->reader[0].still && b->reader[0].size == 0)
		return found(b->answer, INCOMPLETE, "the log is an empty file");
	r = check_schema(b);
	if (r == 0)
		bench_share(b, path, threads);
	if (r == 0)
		r = check_meta(b);
	for (int i = 0; r == 0 && i < b->threads; i++)
		r = rows_new(b->reader[i].db, b->answer, &b->rows[i]);
	if (r == 0)
		r = scan_records(b);
	if (r == 0)
		r = check_signatures(b, first_mark);
	if (r == 0)
		r = dbfile_check(b->reader, b->readers, b->answer);
	if (r == 0 && wal.verdict != INTACT) {
		*b->answer = wal;
		r = -EBADMSG;
	}
	return r;
}

void
judge(
    const struct judge_options *o, struct order_walk *walk, struct verify_answer *answer)
{
	int r = 0;

	index_init();
	walk->answer = answer;
	walk->anchor = o->anchor;
	walk->anchor_n = o->anchor_n;
	walk->witness = o->witness;
	walk->witness_n = o->witness_n;
	for (size_t i = 0; r == 0 && i < o->path_n; i++) {
		struct bench *b = calloc(1, sizeof(*b));
		const char *name = strrchr(o->path[i], '/');

		if (b == NULL) {
			(void)found(answer, UNKNOWN, "out of memory");
			return;
		}
		b->walk = walk;
		b->answer = answer;
		r = judge_segment(b, o->path[i], o->threads);
		if (r < 0)
			(void)snprintf(answer->file, sizeof(answer->file), "%s",
			    name != NULL ? name + 1 : o->path[i]);
		for (int k = 0; k < b->readers; k++)
			walk->changed |= reader_changed(&b->reader[k]);
		bench_close(b);
		free(b);
	}
	if (r == 0 && o->origin != NULL &&
	    (strcmp(o->origin->name, walk->origin_key.name) != 0 ||
		memcmp(o->origin->public, walk->origin_key.public, KEY_LEN) != 0))
		(void)found(answer, TAMPERED, "the log's key is not the given one");
}
