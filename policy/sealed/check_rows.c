/*
 * The loader's check of every row, and of relations between rows.
 *
 * First the single fields, by the table of fields.c.  Then, when every number
 * and every reference is known to be valid, the relations between fields.
 *
 * Ranges partition their tables: first the rows of the first server, then those
 * of the second, and so on, without a gap, an overlap or a row without a
 * server.  So each row is checked once, whatever the file contains.  (Filters
 * are shared by design and have their own limit.)
 */
#include <errno.h>
#include <string.h>

#include "policy/sealed/load.h"
#include "policy/sealed/row_index.h"
#include "shim/base/array.h"

static int servers(struct load *);
static int server_rows(struct load *, const struct sealed_server *);
static int filters(struct load *);
static int filter_check(struct load *, const struct sealed_filter *);
static int row_order(const struct load *, uint32_t kind, uint32_t row);

/* The address of the rows of this kind. */
static const uint8_t *
table(const struct load *l, uint32_t kind)
{
	const uint8_t *rows;

	memcpy(&rows, (const char *)&l->p + field_kind[kind].table, sizeof(rows));
	return rows;
}

/* ---- one field ------------------------------------------------------------- */

/* Reports what is wrong with this field of this row. */
static int
refuse(struct load *l, const struct sealed_field *f, uint32_t row, const char *what)
{
	return load_refuse(l, "%s %u: %s", field_kind[f->kind].name, row, what);
}

/* A whole string of the pool: no NUL inside, a NUL at its end. */
static int
str_check(
    struct load *l, const struct sealed_field *f, struct sealed_ref ref, uint32_t row)
{
	const char *s = l->p.strings;
	uint8_t bit = (uint8_t)(1u << ref.off % 8);

	if (ref.off >= l->p.strings_len || ref.len >= l->p.strings_len - ref.off)
		return refuse(l, f, row, "a string outside the pool");
	if (ref.len > SEALED_STR_LEN_MAX)
		return refuse(l, f, row, "a string is too long");
	l->str_sum += ref.len;
	if (l->str_sum > SEALED_STR_SUM_MAX)
		return refuse(l, f, row, "the strings are too long in total");
	if (ref.len == 0 && ref.off != 0)
		return refuse(l, f, row, "an empty string at a non-zero offset");
	if (ref.off != 0 && s[ref.off - 1] != 0)
		return refuse(l, f, row, "a string begins inside another");
	if (s[ref.off + ref.len] != 0 || memchr(s + ref.off, 0, ref.len) != NULL)
		return refuse(l, f, row, "a string is not terminated at its length");
	l->used_n += ref.len > 0 && (l->used[ref.off / 8] & bit) == 0;
	l->used[ref.off / 8] |= bit;
	return 0;
}

/*
 * [A-Za-z0-9_.-]: a file name that is not a path and not an option.  A variable
 * has no `.` and no `-`, and does not begin with a digit.
 */
bool
load_is_name(const char *s, size_t len, bool variable)
{
	size_t i;

	if (len == 0 || len > SEALED_NAME_LEN_MAX || s[0] == '.' || s[0] == '-' ||
	    (variable && s[0] >= '0' && s[0] <= '9'))
		return false;
	for (i = 0; i < len; i++)
		if (!(s[i] >= 'a' && s[i] <= 'z') && !(s[i] >= 'A' && s[i] <= 'Z') &&
		    !(s[i] >= '0' && s[i] <= '9') && s[i] != '_' &&
		    (variable || (s[i] != '-' && s[i] != '.')))
			return false;
	return true;
}

static int
check_ref(struct load *l, const struct sealed_field *f, const uint8_t *at, uint32_t row)
{
	struct sealed_ref ref;
	const char *s;
	int r;

	memcpy(&ref, at, sizeof(ref));
	if ((r = str_check(l, f, ref, row)) < 0)
		return r;
	s = l->p.strings + ref.off;
	if (f->is == FIELD_TEXT ||
	    (ref.len == 0 && (f->is == FIELD_MAY_NAME || f->is == FIELD_MAY_PATH)))
		return 0;
	if (f->is == FIELD_SOME)
		return ref.len > 0 ? 0 : refuse(l, f, row, "expected a string");
	if (f->is == FIELD_VARIABLE && !load_is_name(s, ref.len, true))
		return refuse(l, f, row, "invalid variable name");
	if ((f->is == FIELD_NAME || f->is == FIELD_MAY_NAME) &&
	    !load_is_name(s, ref.len, false))
		return refuse(l, f, row, "invalid name");
	if ((f->is == FIELD_PATH || f->is == FIELD_MAY_PATH) &&
	    !policy_is_path(s, ref.len))
		return refuse(l, f, row, "not an absolute, normalized path");
	return 0;
}

static int
check_at(struct load *l, const struct sealed_field *f, const uint8_t *at, uint32_t row)
{
	struct sealed_at where;

	memcpy(&where, at, sizeof(where));
	if (where.file >= l->p.row_n[SEALED_FILES] || where.line == 0)
		return refuse(l, f, row, "unknown policy line");
	return 0;
}

static int
check_range(struct load *l, const struct sealed_field *f, const uint8_t *at, uint32_t row)
{
	struct sealed_range range;
	uint32_t *next = &l->next[f->lo];

	memcpy(&range, at, sizeof(range));
	if (range.first != *next || range.n > l->end[f->lo] - *next || range.n > f->hi)
		return refuse(l, f, row, "a range out of sequence in its table");
	*next += range.n;
	return 0;
}

static int
check_shared(
    struct load *l, const struct sealed_field *f, const uint8_t *at, uint32_t row)
{
	struct sealed_range range;
	uint32_t n = l->p.row_n[f->lo];

	memcpy(&range, at, sizeof(range));
	if (range.n == 0 || range.n > f->hi || range.first >= n ||
	    range.n > n - range.first)
		return refuse(l, f, row, "a range outside its table");
	return 0;
}

static int
check_row(struct load *l, const struct sealed_field *f, const uint8_t *at, uint32_t row)
{
	const struct sealed_range own = l->part[f->lo];
	uint32_t v;

	memcpy(&v, at, sizeof(v));
	if (f->is == FIELD_MAY_ROW && v == SEALED_NONE)
		return 0;
	if (v < own.first || v - own.first >= own.n)
		return refuse(l, f, row, "a row that is not one of the server's");
	return 0;
}

static int
check_number(
    struct load *l, const struct sealed_field *f, const uint8_t *at, uint32_t row)
{
	uint32_t v;

	memcpy(&v, at, sizeof(v));
	if (v >= f->lo && v <= f->hi)
		return 0;
	if (f->hi == 0)
		return refuse(l, f, row, "a reserved field is not zero");
	return load_refuse(l, "%s %u: unknown kind %u", field_kind[f->kind].name, row, v);
}

static int
check_flags(struct load *l, const struct sealed_field *f, const uint8_t *at, uint32_t row)
{
	uint32_t v;

	memcpy(&v, at, sizeof(v));
	return (v & ~f->hi) == 0 ? 0 : refuse(l, f, row, "unknown flag");
}

static int
check_any(struct load *l, const struct sealed_field *f, const uint8_t *at, uint32_t row)
{
	return 0; /* every value is valid here; check_rules.c may restrict it */
}

typedef int check_fn(
    struct load *, const struct sealed_field *, const uint8_t *, uint32_t row);

static int
row_check(struct load *l, uint32_t kind, uint32_t row)
{
	static check_fn *const check[] = {
	    [FIELD_TEXT] = check_ref,
	    [FIELD_SOME] = check_ref,
	    [FIELD_NAME] = check_ref,
	    [FIELD_VARIABLE] = check_ref,
	    [FIELD_PATH] = check_ref,
	    [FIELD_MAY_NAME] = check_ref,
	    [FIELD_MAY_PATH] = check_ref,
	    [FIELD_AT] = check_at,
	    [FIELD_RANGE] = check_range,
	    [FIELD_SHARED] = check_shared,
	    [FIELD_ROW] = check_row,
	    [FIELD_MAY_ROW] = check_row,
	    [FIELD_NUMBER] = check_number,
	    [FIELD_FLAGS] = check_flags,
	    [FIELD_LONG] = check_any,
	    [FIELD_BYTES] = check_any,
	};
	const uint8_t *at = table(l, kind) + (size_t)row * field_kind[kind].size;
	const struct sealed_field *f;
	int r;

	for (f = fields_of(kind); f->kind == kind; f++)
		if ((r = check[f->is](l, f, at + f->at, row)) < 0)
			return r;
	return 0;
}

/* ---- the tables ------------------------------------------------------------- */

static void
load_parts(const struct sealed_server *s, struct sealed_range ret[SEALED_KIND_END])
{
	struct sealed_range range;
	const struct sealed_field *f;

	memset(ret, 0, SEALED_KIND_END * sizeof(*ret));
	for (f = fields_of(SEALED_SERVERS); f->kind == SEALED_SERVERS; f++) {
		if (f->is != FIELD_RANGE)
			continue;
		memcpy(&range, (const char *)s + f->at, sizeof(range));
		if (ret[f->lo].n == 0)
			ret[f->lo].first = range.first;
		ret[f->lo].n += range.n;
	}
}

int
load_rows(struct load *l)
{
	uint32_t i;
	int r;

	for (i = 0; i < SEALED_KIND_END; i++)
		l->end[i] = l->p.row_n[i];
	for (i = 0; i < l->p.row_n[SEALED_FILES]; i++)
		if ((r = row_check(l, SEALED_FILES, i)) < 0)
			return r;
	if ((r = filters(l)) < 0 || (r = servers(l)) < 0)
		return r;
	for (i = 1; i < SEALED_KIND_END; i++)
		if (i > SEALED_SERVERS && i != SEALED_FILTERS &&
		    l->next[i] != l->p.row_n[i])
			return load_refuse(
			    l, "%s: rows without an owner", field_kind[i].name);
	for (i = 0; i < l->p.row_n[SEALED_SERVERS]; i++)
		if ((r = server_rows(l, &l->p.server[i])) < 0)
			return r;
	if (l->used_n != l->str_n)
		return load_refuse(
		    l, "strings: %u of %u are not used", l->str_n - l->used_n, l->str_n);
	return 0;
}

/* Shared by all servers: each filter is checked once. */
static int
filters(struct load *l)
{
	static const uint32_t kinds[] = {
	    SEALED_FILTERS, SEALED_SYSCALLS, SEALED_COMPARES};
	int r;

	for (size_t k = 0; k < ARRAY_LEN(kinds); k++)
		for (uint32_t i = 0; i < l->p.row_n[kinds[k]]; i++)
			if ((r = row_check(l, kinds[k], i)) < 0)
				return r;
	for (uint32_t i = 0; i < l->p.row_n[SEALED_FILTERS]; i++)
		if ((r = filter_check(l, &l->p.filter[i])) < 0)
			return r;
	return 0;
}

/*
 * A program of its own, or the name of a default filter and nothing else: a file
 * cannot carry another program under that name.
 */
static int
filter_check(struct load *l, const struct sealed_filter *f)
{
	int r;

	if (!filter_is_named(f)) {
		if ((r = load_bpf(l, f)) < 0 || l->replay_later)
			return r;
		return load_replay(l, f);
	}
	if (f->insns.n != 0 || f->syscalls.n != 0)
		return load_refuse(
		    l, "filter %08x: has rows and names a default filter", f->arch);
	if (default_filter_find(f) != NULL)
		return 0;
	(void)load_refuse(l,
	    "it names the system call filter of another version of kennel: compile again "
	    "with this version");
	return -ESTALE;
}

/* The server rows, and that their parts of each table follow each other. */
static int
servers(struct load *l)
{
	const struct sealed_server *s = l->p.server;
	uint32_t i, k;
	int r;

	for (i = 0; i < l->p.row_n[SEALED_SERVERS]; i++, s++) {
		load_parts(s, l->part);
		if ((r = row_check(l, SEALED_SERVERS, i)) < 0)
			return r;
		if (i > 0 && row_order(l, SEALED_SERVERS, i) >= 0)
			return load_refuse(l, "server %u: out of order", i);
		for (k = 1; k < s->filters.n; k++)
			if (l->p.filter[s->filters.first + k - 1].arch >=
			    l->p.filter[s->filters.first + k].arch)
				return load_refuse(
				    l, "server %u: filters out of order", i);
	}
	return 0;
}

/*
 * Is the row before this one smaller?  The pool is sorted and has no
 * duplicates, so offsets compare like the texts.
 */
static int
row_order(const struct load *l, uint32_t kind, uint32_t row)
{
	const uint8_t *at = table(l, kind) + (size_t)row * field_kind[kind].size;
	const struct sealed_order *o;
	uint32_t was, is;

	for (o = sealed_orders; o->kind < SEALED_KIND_END; o++) {
		if (o->kind != kind)
			continue;
		memcpy(&was, at - field_kind[kind].size + o->at, sizeof(was));
		memcpy(&is, at + o->at, sizeof(is));
		if (was != is)
			return was < is ? -1 : 1;
	}
	return 0;
}

/* ---- one server -------------------------------------------------------------- */

static int
server_rows(struct load *l, const struct sealed_server *s)
{
	struct sealed_range *part = l->part;
	const struct sealed_exec *run = &l->p.exec[s->run];
	uint32_t kind, i;
	int r;

	l->server = s;
	load_parts(s, part);
	for (kind = 1; kind < SEALED_KIND_END; kind++) {
		l->next[kind] = part[kind].first;
		l->end[kind] = part[kind].first + part[kind].n;
	}
	for (kind = 1; kind < SEALED_KIND_END; kind++)
		for (i = 0; i < part[kind].n; i++)
			if ((r = row_check(l, kind, part[kind].first + i)) < 0)
				return r;
	for (kind = 1; kind < SEALED_KIND_END; kind++)
		if (field_kind[kind].divided && l->next[kind] != l->end[kind])
			return load_refuse(
			    l, "%s: rows without an owner", field_kind[kind].name);
	for (kind = 1; kind < SEALED_KIND_END; kind++)
		for (i = 1; sealed_is_ordered(kind) && i < part[kind].n; i++)
			if (row_order(l, kind, part[kind].first + i) >= 0)
				return load_refuse(l, "%s %u: out of order",
				    field_kind[kind].name, part[kind].first + i);
	for (kind = 1; kind < SEALED_KIND_END; kind++)
		for (i = 0; load_rules[kind] != NULL && i < part[kind].n; i++)
			if ((r = load_rules[kind](l, part[kind].first + i)) < 0)
				return r;
	if (run->verdict != VERDICT_ALLOW || (run->flags & EXEC_FROM_RUN) == 0)
		return load_refuse(l, "server %u: its `run` is not granted",
		    (uint32_t)(s - l->p.server));
	if ((s->flags & SERVER_REMOTE) != 0 && policy_remote_url(&l->p, s) == NULL)
		return load_refuse(l, "server %u: a remote server without a URL",
		    (uint32_t)(s - l->p.server));
	if ((s->flags & (SERVER_REMOTE | SERVER_LOGIN)) == SERVER_LOGIN)
		return load_refuse(l, "server %u: a login, but no remote server",
		    (uint32_t)(s - l->p.server));
	if (index_check(&l->p, s) != NULL)
		return load_refuse(l, "server %u: %s", (uint32_t)(s - l->p.server),
		    index_check(&l->p, s));
	return load_plan(l, s, (uint32_t)(s - l->p.server));
}
