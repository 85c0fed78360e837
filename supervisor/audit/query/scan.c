/*
 * One pass over the records of a log.
 *
 * Normally it uses the fastest index. Each record found is parsed and must itself
 * match the query. So a falsified column is detected; an index that omits a record is
 * not.
 *
 * With --verified it reads every record by its number, without an index, and computes
 * its hash. The answer is valid only if the resulting root is the one that
 * kennel-verify found.
 */
#include <errno.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/array.h"
#include "shim/base/loop.h"
#include "supervisor/audit/log/merkle.h"
#include "supervisor/audit/log/record.h"
#include "supervisor/audit/log/schema.h"
#include "supervisor/audit/query/log_view.h"
#include "supervisor/audit/query/options.h"
#include "supervisor/audit/query/record.h"
#include "supervisor/audit/query/scan.h"

#define SQL_MAX  2048
#define LAST_MAX (1u << 20)
#define SLACK_NS (60 * NS_PER_S) /* how far record times may be out of order */

/* Conditions of the partial indexes in schema.c, which a query must repeat. */
#define RARE   SCHEMA_RARE
#define COMMON "exec call scrub dropped heartbeat epoch"

struct pass {
	struct log_view *view;
	const struct query *q;
	log_record_fn *fn;
	void *arg;
	struct merkle chain;
};

static int
broken(struct log_view *view, uint64_t idx, const char *why)
{
	if (reader_changed(&view->reader)) /* then it proves nothing about the record */
		return reader_failed(&view->reader, view->why);
	(void)snprintf(view->why, sizeof(view->why), "record %" PRIu64 ": %s", idx, why);
	return -EBADMSG;
}

static int
sql_broken(struct log_view *view)
{
	return reader_failed(&view->reader, view->why);
}

/* ---- the statement ----------------------------------------------------------------- */

struct sql {
	char text[SQL_MAX];
	size_t len;
};

static void
add(struct sql *sql, const char *text)
{
	sql->len += (size_t)snprintf(
	    sql->text + sql->len, sizeof(sql->text) - sql->len, "%s", text);
	if (sql->len >= sizeof(sql->text))
		sql->len = sizeof(sql->text) - 1;
}

/* Adds 'exec','call' for "exec call"; the words are literals of ours. */
static void
add_words(struct sql *sql, const char *words)
{
	const char *before = "'";

	while (*words != '\0') {
		size_t n = strcspn(words, " ");
		char word[40];

		(void)snprintf(word, sizeof(word), "%s%.*s'", before, (int)n, words);
		add(sql, word);
		before = ",'";
		words += n + (words[n] == ' ');
	}
}

static bool
all_rare(const char *words)
{
	char list[] = COMMON, *save = NULL;

	for (char *w = strtok_r(list, " ", &save); w != NULL;
	     w = strtok_r(NULL, " ", &save)) {
		if (strstr(words, w) != NULL)
			return false;
	}
	return true;
}

static bool
only_denied(const struct query *q)
{
	return q->denied || (q->verdict != NULL && strcmp(q->verdict, "allow") != 0);
}

static bool
only_rare(const struct query *q)
{
	return (q->kinds != NULL && all_rare(q->kinds)) ||
	       (q->kind != NULL && all_rare(q->kind));
}

/* Picks an index, and an order that needs no sort: most indexes include a time.
 * Otherwise there are few records, or all are wanted. */
static void
pick(const struct query *q, const char **ret_index, const char **ret_order)
{
	const struct {
		bool when;
		const char *index, *order;
	} row[] = {
	    {q->session != NULL, " INDEXED BY rec_session", " ORDER BY idx"},
	    {q->server != NULL && q->by_time, " INDEXED BY rec_server",
		" ORDER BY ts, idx"},
	    {q->tool != NULL, " INDEXED BY rec_tool", " ORDER BY ts, idx"},
	    {only_denied(q), " INDEXED BY rec_denied", " ORDER BY ts, idx"},
	    {only_rare(q), " INDEXED BY rec_rare", " ORDER BY idx"},
	    {true, " NOT INDEXED", " ORDER BY idx"},
	};
	size_t i = 0;

	while (!row[i].when)
		i++;
	*ret_index = row[i].index;
	*ret_order = row[i].order;
}

static void
add_where(struct sql *sql, const struct query *q)
{
	const struct {
		bool when;
		const char *text;
	} row[] = {
	    {true, " WHERE idx >= ?1 AND idx < ?2 AND ts >= ?3 AND ts < ?4"},
	    {q->server != NULL, " AND server = ?5"},
	    {q->kind != NULL, " AND kind = ?6"},
	    {q->verdict != NULL, " AND verdict = ?7"},
	    {q->session != NULL, " AND session = ?8"},
	    {q->tool != NULL, " AND tool = ?9"},
	    {q->rule != NULL, " AND rule = ?10"},
	    {q->contains != NULL, " AND instr(body, ?11) > 0"},
	    {only_denied(q), " AND verdict <> 'allow'"},
	    {q->denied, " AND verdict <> 'ask'"},
	    {q->present, " AND verdict IS NOT '" VERDICT_ABSENT "'"},
	    {only_rare(q), " AND " RARE},
	};

	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		if (row[i].when)
			add(sql, row[i].text);
	}
	if (q->kinds != NULL) {
		add(sql, " AND kind IN (");
		add_words(sql, q->kinds);
		add(sql, ")");
	}
	if (q->hide) {
		add(sql, " AND kind NOT IN (");
		add_words(sql, QUERY_HIDDEN);
		add(sql, ")");
	}
}

/* order NULL: the order of the index. */
static sqlite3_stmt *
prepare(
    const struct pass *p, const char *what, const char *order, uint64_t from, uint64_t to)
{
	const struct query *q = p->q;
	const char *index, *by_index;
	const char *const text[] = {
	    q->server, q->kind, q->verdict, q->session, q->tool, q->rule};
	struct sql sql = {.len = 0};
	sqlite3_stmt *s = NULL;

	add(&sql, "SELECT ");
	add(&sql, what);
	add(&sql, " FROM rec");
	pick(q, &index, &by_index);
	add(&sql, index);
	add_where(&sql, q);
	add(&sql, order != NULL ? order : by_index);
	if (sqlite3_prepare_v2(p->view->reader.db, sql.text, -1, &s, NULL) != SQLITE_OK)
		return NULL;
	(void)sqlite3_bind_int64(s, 1, (sqlite3_int64)from);
	(void)sqlite3_bind_int64(s, 2, (sqlite3_int64)to);
	(void)sqlite3_bind_int64(s, 3, (sqlite3_int64)q->from_ns);
	(void)sqlite3_bind_int64(s, 4, (sqlite3_int64)q->to_ns);
	for (size_t i = 0; i < ARRAY_LEN(text); i++) {
		if (text[i] != NULL)
			(void)sqlite3_bind_text(s, 5 + (int)i, text[i],
			    (int)log_record_head(text[i]), SQLITE_STATIC);
	}
	if (q->contains != NULL) /* bytes: instr then compares bytes */
		(void)sqlite3_bind_blob(
		    s, 11, q->contains, (int)strlen(q->contains), SQLITE_STATIC);
	return s;
}

/* ---- finding where a time begins ----------------------------------------------------- */

/* Reads one number from the open segment; leaves *ret unchanged if there is no row. */
static int
ask_number(const struct log_view *view, const char *sql, uint64_t arg, uint64_t *ret)
{
	sqlite3_stmt *s = NULL;
	int code = sqlite3_prepare_v2(view->reader.db, sql, -1, &s, NULL);

	if (code == SQLITE_OK)
		code = sqlite3_bind_int64(s, 1, (sqlite3_int64)arg);
	if (code == SQLITE_OK)
		code = sqlite3_step(s);
	if (code == SQLITE_ROW && sqlite3_column_type(s, 0) == SQLITE_INTEGER)
		*ret = (uint64_t)sqlite3_column_int64(s, 0);
	(void)sqlite3_finalize(s); /* the result was checked at the step */
	return sqlite_errno(code);
}

/* Unless the clock was set, times rise with the record numbers, except for the delay
 * of a record on its way. */
static void
narrow(const struct pass *p, uint64_t *from, uint64_t *to)
{
	static const char at[] = "SELECT ts FROM rec NOT INDEXED WHERE idx = ?1";
	uint64_t set = 0, low = *from, high = *to;

	if (p->q->from_ns < SLACK_NS || low >= high ||
	    ask_number(p->view,
		"SELECT 1 FROM rec INDEXED BY rec_rare WHERE kind = 'clock' AND " RARE
		" AND ts >= ?1 LIMIT 1",
		0, &set) < 0 ||
	    set != 0)
		return;
	while (low < high) {
		uint64_t middle = low + (high - low) / 2, ts = 0;

		if (ask_number(p->view, at, middle, &ts) < 0)
			return;
		if (ts + SLACK_NS < p->q->from_ns)
			low = middle + 1;
		else
			high = middle;
	}
	*from = low;
}

/* ---- with an index --------------------------------------------------------------------- */

/* A column has no more than the head of a long name: is this record one of another name
 * with that head? */
static bool
is_namesake(const struct query *q, const struct log_record *record)
{
	struct query rest = *q;

	rest.tool = NULL;
	return q->tool != NULL && q->tool[log_record_head(q->tool)] != '\0' &&
	       options_match(&rest, record);
}

static int
take_row(struct pass *p, sqlite3_stmt *s, uint64_t last)
{
	struct log_record *record = p->view->record;
	const void *body = sqlite3_column_blob(s, 1);
	int len = sqlite3_column_bytes(s, 1);
	uint64_t idx = (uint64_t)sqlite3_column_int64(s, 0);

	if (body == NULL || log_record_make(body, (size_t)len, record) < 0)
		return broken(p->view, idx, "it was not written by kennel");
	if (record->idx != idx || idx >= last)
		return broken(
		    p->view, idx, "its number differs from the one in its body");
	if (!options_match(p->q, record) && is_namesake(p->q, record))
		return 0;
	if (!options_match(p->q, record))
		return broken(p->view, idx, "a column differs from its body");
	return p->fn(p->arg, record);
}

/* The range of records to read in the open segment: [*from, *to) */
static void
bounds(const struct pass *p, size_t segment, uint64_t *from, uint64_t *to)
{
	const struct log_view *view = p->view;
	bool last = segment + 1 == view->segment_n;

	*from = view->segment[segment].base;
	*to = last ? view->size : view->segment[segment + 1].base;
	if (*to > view->size)
		*to = view->size;
	if (*from < p->q->first)
		*from = p->q->first;
	if (p->q->beyond > 0 && *to > p->q->beyond)
		*to = p->q->beyond;
}

static int
fast_segment(struct pass *p, size_t segment)
{
	const char *index, *order;
	uint64_t from, to;
	sqlite3_stmt *s;
	int code = SQLITE_DONE, r = log_view_turn(p->view, segment);

	if (r < 0)
		return r;
	bounds(p, segment, &from, &to);
	pick(p->q, &index, &order);
	if (strstr(order, "ts") == NULL) /* else the index begins at the right time */
		narrow(p, &from, &to);
	s = prepare(p, "idx, body", NULL, from, to);
	if (s == NULL)
		return sql_broken(p->view);
	while (r == 0 && (code = sqlite3_step(s)) == SQLITE_ROW)
		r = take_row(p, s, to);
	if (r == 0 && code != SQLITE_DONE)
		r = sql_broken(p->view);
	(void)sqlite3_finalize(s); /* the result was checked at the last step */
	return r;
}

/* ---- the last n -------------------------------------------------------------------------- */

static int
collect_last(struct pass *p, uint64_t *number, uint64_t want, uint64_t *n)
{
	int r = 0;

	for (size_t i = p->view->segment_n; r == 0 && i-- > 0 && *n < want;) {
		uint64_t from, to;
		sqlite3_stmt *s;
		int code = SQLITE_DONE;

		r = log_view_turn(p->view, i);
		if (r < 0)
			return r;
		bounds(p, i, &from, &to);
		s = prepare(p, "idx", " ORDER BY idx DESC", from, to);
		if (s == NULL)
			return sql_broken(p->view);
		while (*n < want && (code = sqlite3_step(s)) == SQLITE_ROW)
			number[(*n)++] = (uint64_t)sqlite3_column_int64(s, 0);
		if (*n < want && code != SQLITE_DONE)
			r = sql_broken(p->view);
		(void)sqlite3_finalize(s);
	}
	return r;
}

static int
fast_last(struct pass *p)
{
	uint64_t want = p->q->last_n < LAST_MAX ? p->q->last_n : LAST_MAX, n = 0;
	uint64_t *number = calloc(want, sizeof(*number));
	int r;

	if (number == NULL)
		return -ENOMEM;
	r = collect_last(p, number, want, &n);
	while (r == 0 && n-- > 0) {
		r = log_scan_one(p->view, number[n]);
		if (r == -ENOENT)
			r = broken(p->view, number[n], "it is missing");
		if (r == 0 && !options_match(p->q, p->view->record))
			r = broken(p->view, number[n], "a column differs from its body");
		if (r == 0)
			r = p->fn(p->arg, p->view->record);
	}
	free(number);
	return r;
}

/* ---- verified ---------------------------------------------------------------------------- */

/* The last n matching records, as copies: this pass reads each record once. */
struct ring {
	struct {
		void *body;
		size_t len;
	} * at;
	uint64_t cap, n;
};

static int
ring_put(struct ring *ring, const void *body, size_t len)
{
	size_t slot = (size_t)(ring->n % ring->cap);
	void *copy = malloc(len);

	if (copy == NULL)
		return -ENOMEM;
	memcpy(copy, body, len);
	free(ring->at[slot].body);
	ring->at[slot].body = copy;
	ring->at[slot].len = len;
	ring->n++;
	return 0;
}

static int
sure_row(struct pass *p, sqlite3_stmt *s, struct ring *ring)
{
	struct log_record *record = p->view->record;
	const void *body = sqlite3_column_blob(s, 1);
	int len = sqlite3_column_bytes(s, 1);
	uint64_t idx = (uint64_t)sqlite3_column_int64(s, 0);
	uint8_t leaf[MERKLE_HASH_LEN];

	if (idx != p->chain.size || body == NULL || len > (int)AUDIT_BODY_MAX)
		return -EUCLEAN;
	merkle_leaf(body, (size_t)len, leaf);
	merkle_append(&p->chain, leaf);
	if (idx >= p->view->size)
		return 0; /* only for the root */
	if (log_record_make(body, (size_t)len, record) < 0 || record->idx != idx)
		return -EUCLEAN;
	if (!options_match(p->q, record))
		return 0;
	if (ring->cap > 0)
		return ring_put(ring, body, (size_t)len);
	return p->fn(p->arg, record);
}

static int
sure_segment(struct pass *p, size_t segment, struct ring *ring)
{
	sqlite3_stmt *s = NULL;
	int code = SQLITE_DONE, r = log_view_turn(p->view, segment);

	if (r < 0)
		return r;
	if (sqlite3_prepare_v2(p->view->reader.db,
		"SELECT idx, body FROM rec NOT INDEXED WHERE idx < ?1 ORDER BY idx", -1,
		&s, NULL) != SQLITE_OK)
		return sql_broken(p->view);
	(void)sqlite3_bind_int64(s, 1, (sqlite3_int64)p->view->sure_size);
	while (r == 0 && (code = sqlite3_step(s)) == SQLITE_ROW)
		r = sure_row(p, s, ring);
	if (r == 0 && code != SQLITE_DONE)
		r = sql_broken(p->view);
	(void)sqlite3_finalize(s);
	return r;
}

static int
sure_end(struct pass *p, const struct ring *ring)
{
	uint64_t n = ring->cap == 0 ? 0 : ring->n < ring->cap ? ring->n : ring->cap;
	uint8_t root[MERKLE_HASH_LEN];
	int r = 0;

	merkle_root(&p->chain, root);
	if (p->chain.size != p->view->sure_size ||
	    memcmp(root, p->view->sure_root, sizeof(root)) != 0)
		return -EUCLEAN;
	for (uint64_t i = ring->n - n; r == 0 && i < ring->n; i++) {
		size_t slot = (size_t)(i % ring->cap);

		r = log_record_make(
		    ring->at[slot].body, ring->at[slot].len, p->view->record);
		if (r == 0)
			r = p->fn(p->arg, p->view->record);
	}
	return r;
}

static int
sure_all(struct pass *p)
{
	struct ring ring = {.cap = p->q->last_n < LAST_MAX ? p->q->last_n : LAST_MAX};
	int r = 0;

	p->chain = p->view->start;
	if (ring.cap > 0) {
		ring.at = calloc(ring.cap, sizeof(*ring.at));
		if (ring.at == NULL)
			return -ENOMEM;
	}
	for (size_t i = 0; r == 0 && i < p->view->segment_n; i++)
		r = sure_segment(p, i, &ring);
	if (r == 0)
		r = sure_end(p, &ring);
	if (r == -EUCLEAN)
		(void)snprintf(p->view->why, sizeof(p->view->why),
		    "the log changed after it was verified; discard this answer");
	for (uint64_t i = 0; ring.at != NULL && i < ring.cap; i++)
		free(ring.at[i].body);
	free(ring.at);
	return r;
}

/* ---- public functions --------------------------------------------------------------------- */

int
log_scan_each(struct log_view *view, const struct query *q, log_record_fn *fn, void *arg)
{
	struct pass p = {.view = view, .q = q, .fn = fn, .arg = arg};
	int r = 0;

	view->why[0] = '\0';
	if (view->verified)
		return sure_all(&p);
	if (q->last_n > 0)
		return fast_last(&p);
	for (size_t i = 0; r == 0 && i < view->segment_n; i++)
		r = fast_segment(&p, i);
	return r;
}

int
log_scan_one(struct log_view *view, uint64_t idx)
{
	size_t at = view->segment_n;
	sqlite3_stmt *s = NULL;
	int code, r;

	if (idx >= view->size)
		return -ENOENT;
	while (at > 0 && view->segment[at - 1].base > idx)
		at--;
	if (at == 0)
		return -ENOENT;
	r = log_view_turn(view, at - 1);
	if (r < 0)
		return r;
	if (sqlite3_prepare_v2(view->reader.db,
		"SELECT body FROM rec NOT INDEXED WHERE idx = ?1", -1, &s,
		NULL) != SQLITE_OK)
		return sql_broken(view);
	(void)sqlite3_bind_int64(s, 1, (sqlite3_int64)idx);
	code = sqlite3_step(s);
	if (code == SQLITE_DONE) {
		r = -ENOENT;
	} else if (code != SQLITE_ROW) {
		r = sql_broken(view);
	} else {
		/* the record's body must outlive the statement */
		static char kept[AUDIT_BODY_MAX];
		int len = sqlite3_column_bytes(s, 0);

		if (len <= 0 || (size_t)len > sizeof(kept) ||
		    sqlite3_column_blob(s, 0) == NULL) {
			r = broken(view, idx, "its body has an impossible size");
		} else {
			memcpy(kept, sqlite3_column_blob(s, 0), (size_t)len);
			r = log_record_make(kept, (size_t)len, view->record);
			if (r < 0 || view->record->idx != idx)
				r = broken(view, idx, "it was not written by kennel");
		}
	}
	(void)sqlite3_finalize(s);
	return r;
}
