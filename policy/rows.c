/*
 * The loader, second part: every row, and what the rows say about each other.
 *
 * First the fields, by the table of fields.c; then, when every number and every
 * reference is known to be good, what one field means for another.
 *
 * Ranges partition their tables: the rows of the first server come first, and
 * so on, without a hole, an overlap or a row that belongs to nobody.  So each
 * row is looked at once, whatever the file says (filters are shared by design
 * and have their own bound).
 */
#include <string.h>

#include <linux/seccomp.h>

#include "policy/index.h"
#include "policy/load.h"

static int servers(struct load *);
static int server_rows(struct load *, const struct sealed_server *);
static int filters(struct load *);
static int row_order(const struct load *, uint32_t kind, uint32_t row);

/* Where the rows of this kind are. */
static const uint8_t *
table(const struct load *l, uint32_t kind)
{
	const uint8_t *rows;

	memcpy(&rows, (const char *)&l->p + field_kind[kind].table, sizeof(rows));
	return rows;
}

/* ---- one field ------------------------------------------------------------- */

/* What is wrong with this field of this row. */
static int
refuse(struct load *l, const struct sealed_field *f, uint32_t row, const char *what)
{
	return load_refuse(l, "%s %u: %s", field_kind[f->kind].name, row, what);
}

/* A whole string of the pool: nothing of it is NUL, its end is. */
static int
str_check(
    struct load *l, const struct sealed_field *f, struct sealed_ref ref, uint32_t row)
{
	const char *s = l->p.strings;
	uint8_t bit = (uint8_t)(1u << ref.off % 8);

	if (ref.off >= l->p.strings_len || ref.len >= l->p.strings_len - ref.off)
		return refuse(l, f, row, "a string leaves the pool");
	if (ref.len > SEALED_STR_LEN_MAX)
		return refuse(l, f, row, "a string is too long");
	l->str_sum += ref.len;
	if (l->str_sum > SEALED_STR_SUM_MAX)
		return refuse(l, f, row, "too much text in all");
	if (ref.len == 0 && ref.off != 0)
		return refuse(l, f, row, "the empty string is at 0");
	if (ref.off != 0 && s[ref.off - 1] != 0)
		return refuse(l, f, row, "a string begins inside another");
	if (s[ref.off + ref.len] != 0 || memchr(s + ref.off, 0, ref.len) != NULL)
		return refuse(l, f, row, "a string does not end where it says");
	l->used_n += ref.len > 0 && (l->used[ref.off / 8] & bit) == 0;
	l->used[ref.off / 8] |= bit;
	return 0;
}

/* [A-Za-z0-9_.-]: a file name that is no path and no option; a variable has
 * neither . nor - anywhere, and no digit first. */
static bool
is_name(const char *s, size_t len, bool variable)
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
		return ref.len > 0 ? 0 : refuse(l, f, row, "no text");
	if (f->is == FIELD_VARIABLE)
		return is_name(s, ref.len, true) ? 0
						 : refuse(l, f, row, "not a variable");
	if (f->is == FIELD_NAME || f->is == FIELD_MAY_NAME)
		return is_name(s, ref.len, false) ? 0 : refuse(l, f, row, "not a name");
	return policy_is_path(s, ref.len)
		   ? 0
		   : refuse(l, f, row, "not an absolute, normal path");
}

static int
check_at(struct load *l, const struct sealed_field *f, const uint8_t *at, uint32_t row)
{
	struct sealed_at where;

	memcpy(&where, at, sizeof(where));
	if (where.file >= l->p.row_n[SEALED_FILES] || where.line == 0)
		return refuse(l, f, row, "no such policy line");
	return 0;
}

static int
check_range(struct load *l, const struct sealed_field *f, const uint8_t *at, uint32_t row)
{
	struct sealed_range range;
	uint32_t *next = &l->next[f->lo];

	memcpy(&range, at, sizeof(range));
	if (range.first != *next || range.n > l->end[f->lo] - *next || range.n > f->hi)
		return refuse(l, f, row, "a range is not the next part of its table");
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
		return refuse(l, f, row, "a range that is not there");
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
		return refuse(l, f, row, "no row of the server's own");
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
		return refuse(l, f, row, "a field that must be zero is not");
	return load_refuse(
	    l, "%s %u: kind %u is not known", field_kind[f->kind].name, row, v);
}

static int
check_flags(struct load *l, const struct sealed_field *f, const uint8_t *at, uint32_t row)
{
	uint32_t v;

	memcpy(&v, at, sizeof(v));
	return (v & ~f->hi) == 0 ? 0 : refuse(l, f, row, "a flag that is not known");
}

static int
check_any(struct load *l, const struct sealed_field *f, const uint8_t *at, uint32_t row)
{
	return 0; /* every value is one; rules below may know more */
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

void
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
			    l, "%s: rows that belong to nobody", field_kind[i].name);
	for (i = 0; i < l->p.row_n[SEALED_SERVERS]; i++)
		if ((r = server_rows(l, &l->p.server[i])) < 0)
			return r;
	if (l->used_n != l->str_n)
		return load_refuse(
		    l, "strings: %u of %u are not used", l->str_n - l->used_n, l->str_n);
	return 0;
}

/* Shared by all: each looked at once. */
static int
filters(struct load *l)
{
	static const uint32_t kinds[] = {
	    SEALED_FILTERS, SEALED_SYSCALLS, SEALED_COMPARES};
	uint32_t i, k;
	int r;

	for (k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
		for (i = 0; i < l->p.row_n[kinds[k]]; i++)
			if ((r = row_check(l, kinds[k], i)) < 0)
				return r;
	for (i = 0; i < l->p.row_n[SEALED_FILTERS]; i++)
		if ((r = load_bpf(l, &l->p.filter[i])) < 0 ||
		    (!l->replay_later && (r = load_replay(l, &l->p.filter[i])) < 0))
			return r;
	return 0;
}

/* The servers' own rows, and that their parts follow each other. */
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
 * Does the row before this one belong before it?  The pool is sorted and has
 * nothing twice, so places in it stand for texts.
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

typedef int rule_fn(struct load *, uint32_t row);

static rule_fn rule_env, rule_secret, rule_mount, rule_exec, rule_gate, rule_limit,
    rule_require, rule_net, rule_cond, rule_step, rule_value, rule_pin, rule_audit,
    rule_except, rule_arg, rule_call;

static rule_fn *const rules[SEALED_KIND_END] = {
    [SEALED_ENVS] = rule_env,
    [SEALED_SECRETS] = rule_secret,
    [SEALED_MOUNTS] = rule_mount,
    [SEALED_EXECS] = rule_exec,
    [SEALED_ARGS] = rule_arg,
    [SEALED_GATES] = rule_gate,
    [SEALED_LIMITS] = rule_limit,
    [SEALED_REQUIRES] = rule_require,
    [SEALED_NETS] = rule_net,
    [SEALED_CONDS] = rule_cond,
    [SEALED_STEPS] = rule_step,
    [SEALED_VALUES] = rule_value,
    [SEALED_PINS] = rule_pin,
    [SEALED_AUDITS] = rule_audit,
    [SEALED_CALLS] = rule_call,
    [SEALED_EXCEPTS] = rule_except,
};

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
			    l, "%s: rows that belong to nobody", field_kind[kind].name);
	for (kind = 1; kind < SEALED_KIND_END; kind++)
		for (i = 1; sealed_is_ordered(kind) && i < part[kind].n; i++)
			if (row_order(l, kind, part[kind].first + i) >= 0)
				return load_refuse(l, "%s %u: out of order",
				    field_kind[kind].name, part[kind].first + i);
	for (kind = 1; kind < SEALED_KIND_END; kind++)
		for (i = 0; rules[kind] != NULL && i < part[kind].n; i++)
			if ((r = rules[kind](l, part[kind].first + i)) < 0)
				return r;
	if (run->verdict != VERDICT_ALLOW || (run->flags & EXEC_FROM_RUN) == 0)
		return load_refuse(l, "server %u: what it runs is not granted",
		    (uint32_t)(s - l->p.server));
	if (index_check(&l->p, s) != NULL)
		return load_refuse(l, "server %u: %s", (uint32_t)(s - l->p.server),
		    index_check(&l->p, s));
	return load_plan(l, s, (uint32_t)(s - l->p.server));
}

/* ---- what one field means for another ------------------------------------------ */

/* Of one rule each: the first that does not hold is told. */
#define MUST(holds, what) \
	do { \
		if (!(holds)) \
			return load_refuse(l, "%s %u: %s", name, i, what); \
	} while (0)
#define RULE(kind, type, table) \
	const char *name = field_kind[kind].name; \
	const struct type *row = &l->p.table[i]

static const char *
text(const struct load *l, struct sealed_ref ref)
{
	return l->p.strings + ref.off;
}

/* All of the range are ARG_LITERAL. */
static bool
all_literal(const struct load *l, struct sealed_range range)
{
	uint32_t i;

	for (i = 0; i < range.n; i++)
		if (l->p.arg[range.first + i].kind != ARG_LITERAL)
			return false;
	return true;
}

/* Only the last may be ARG_REST. */
static bool
rest_is_last(const struct load *l, struct sealed_range range)
{
	uint32_t i;

	for (i = 0; i + 1 < range.n; i++)
		if (l->p.arg[range.first + i].kind == ARG_REST)
			return false;
	return true;
}

static int
rule_env(struct load *l, uint32_t i)
{
	RULE(SEALED_ENVS, sealed_env, env);

	MUST(!row->passed || (row->value.len == 0 && !row->fixed),
	    "both passed on and set");
	return 0;
}

static int
rule_secret(struct load *l, uint32_t i)
{
	RULE(SEALED_SECRETS, sealed_secret, secret);
	const char *ref = text(l, row->ref);
	bool fits[] = {
	    [SOURCE_ENV] = is_name(ref, row->ref.len, true),
	    [SOURCE_FILE] = policy_is_path(ref, row->ref.len),
	    [SOURCE_CMD] = row->ref.len == 0,
	    [SOURCE_VAULT] = row->ref.len > 0,
	};

	MUST((row->source == SOURCE_CMD) == (row->args.n > 0),
	    "a command where none belongs, or none");
	MUST(fits[row->source], "a reference that its source cannot have");
	MUST(all_literal(l, row->args), "an argument is not literal");
	MUST(row->flags == 0 || row->hosts.n == 0, "both some hosts and any");
	return 0;
}

/* What a mount of each kind may have. */
static const struct {
	enum { SOURCE_NONE, SOURCE_PATH, SOURCE_TEXT } source;
	uint32_t rights;
	bool sized;
} mount_rule[] = {
    [MOUNT_DIR] = {SOURCE_NONE, RIGHT_NONE | RIGHT_READ, false},
    [MOUNT_SYMLINK] = {SOURCE_TEXT, RIGHT_NONE, false},
    [MOUNT_FILE] = {SOURCE_PATH, RIGHT_READ | RIGHT_START | RIGHT_WRITE, false},
    [MOUNT_TREE] = {SOURCE_PATH, RIGHT_READ | RIGHT_WRITE, false},
    [MOUNT_TMPFS] = {SOURCE_NONE, RIGHT_READ | RIGHT_WRITE, true},
    [MOUNT_PROC] = {SOURCE_NONE, RIGHT_READ, false},
    [MOUNT_DEV] = {SOURCE_NONE, RIGHT_READ | RIGHT_DEVICE, false},
    [MOUNT_SHM] = {SOURCE_NONE, RIGHT_READ | RIGHT_WRITE, true},
    [MOUNT_ETC] = {SOURCE_NONE, RIGHT_READ, false},
    [MOUNT_HIDE] = {SOURCE_NONE, RIGHT_NONE, false},
};

static int
rule_mount(struct load *l, uint32_t i)
{
	RULE(SEALED_MOUNTS, sealed_mount, mount);
	const uint32_t both = RIGHT_WRITE | RIGHT_START;
	bool fits[] = {
	    [SOURCE_NONE] = row->source.len == 0,
	    [SOURCE_PATH] = policy_is_path(text(l, row->source), row->source.len),
	    [SOURCE_TEXT] = row->source.len > 0 && row->source.len <= SEALED_PATH_LEN_MAX,
	};

	MUST(row->target.len > 1, "the root is not granted");
	MUST((row->right & ~mount_rule[row->kind].rights) == 0,
	    "a right that its kind cannot have");
	MUST((row->right & both) != both, "both writable and startable");
	MUST((row->size != 0) == mount_rule[row->kind].sized,
	    "a size where none belongs, or none");
	MUST(fits[mount_rule[row->kind].source], "a source where none belongs, or none");
	return 0;
}

static int
rule_exec(struct load *l, uint32_t i)
{
	RULE(SEALED_EXECS, sealed_exec, exec);
	const struct sealed_ref *ref = l->p.ref;
	uint32_t k;

	MUST(row->prefix.n > 0 || row->asked == row->mapped,
	    "another image without a prefix");
	MUST(rest_is_last(l, row->args), "** is not the last");
	MUST(all_literal(l, row->prefix), "an argument is not literal");
	for (k = row->from.first; k < row->from.first + row->from.n; k++)
		MUST(policy_is_path(text(l, ref[k]), ref[k].len), "a caller is no path");
	for (k = row->env.first; k < row->env.first + row->env.n; k++)
		MUST(is_name(text(l, ref[k]), ref[k].len, true), "not a variable");
	return 0;
}

static int
rule_except(struct load *l, uint32_t i)
{
	RULE(SEALED_EXCEPTS, sealed_except, except);

	MUST(rest_is_last(l, row->args), "** is not the last");
	return 0;
}

static int
rule_arg(struct load *l, uint32_t i)
{
	RULE(SEALED_ARGS, sealed_arg, arg);

	MUST(row->text.len == 0 || (row->kind != ARG_ANY && row->kind != ARG_REST),
	    "text where none belongs");
	return 0;
}

/* A postfix program: what each step needs is there, one answer is left. */
static bool
conds_hold(const struct load *l, struct sealed_range range)
{
	uint32_t i, op, depth = 0;

	for (i = 0; i < range.n; i++) {
		op = l->p.cond[range.first + i].op;
		if (op == COND_AND || op == COND_OR) {
			if (depth < 2)
				return false;
			depth--;
		} else if (op == COND_NOT) {
			if (depth < 1)
				return false;
		} else if (depth++ == SEALED_COND_DEPTH_MAX)
			return false;
	}
	return range.n == 0 || depth == 1;
}

static int
rule_gate(struct load *l, uint32_t i)
{
	RULE(SEALED_GATES, sealed_gate, gate);
	bool named = row->kind <= GATE_PROMPT;

	MUST(named == (row->name.len > 0), "a name where none belongs, or no name");
	MUST(conds_hold(l, row->conds), "a condition that cannot be computed");
	MUST(named || (row->conds.n == 0 && row->excepts.n == 0),
	    "a condition where none belongs");
	MUST(row->kind == GATE_TOOL || (row->classes == 0 && row->flags == 0),
	    "classes where none belong");
	MUST(row->flags == 0 || (row->verdict == VERDICT_ASK && row->classes == 0),
	    "classes where none belong");
	return 0;
}

static int
rule_cond(struct load *l, uint32_t i)
{
	RULE(SEALED_CONDS, sealed_cond, cond);
	const struct sealed_value *v = &l->p.value[row->values.first];
	uint32_t values = row->op < COND_EXISTS ? 1 : 0;

	MUST(row->op == COND_IN || row->values.n == values,
	    "a number of values that it cannot have");
	MUST(row->op < COND_AND || row->steps.n == 0, "a place where none belongs");
	MUST(
	    (row->op != COND_MATCHES && row->op != COND_UNDER) || v->type == VALUE_STRING,
	    "a value of the wrong type");
	MUST(row->op < COND_LT || row->op > COND_GE || v->type == VALUE_NUMBER,
	    "a value of the wrong type");
	MUST(row->op != COND_UNDER || policy_is_path(text(l, v->text), v->text.len),
	    "not an absolute, normal path");
	return 0;
}

static int
rule_step(struct load *l, uint32_t i)
{
	RULE(SEALED_STEPS, sealed_step, step);

	MUST(row->is_index ? row->key.len == 0 : row->index == 0,
	    "both a key and an index");
	return 0;
}

static int
rule_value(struct load *l, uint32_t i)
{
	RULE(SEALED_VALUES, sealed_value, value);

	MUST(row->type != VALUE_NUMBER ||
		 policy_is_number(text(l, row->text), row->text.len),
	    "not a number");
	MUST(row->type >= VALUE_NUMBER || row->text.len == 0, "text where none belongs");
	return 0;
}

static int
rule_limit(struct load *l, uint32_t i)
{
	RULE(SEALED_LIMITS, sealed_limit, limit);

	/* 0 would read as "no limit" where a limit was written. */
	MUST(row->value != 0, "zero");
	return 0;
}

static int
rule_require(struct load *l, uint32_t i)
{
	RULE(SEALED_REQUIRES, sealed_require, require);

	MUST(row->kind == REQUIRE_LANDLOCK || row->value == 0,
	    "a value where none belongs");
	return 0;
}

/* Labels of lower case letters, digits and inner hyphens, with dots between. */
static bool
is_host(const char *s, size_t len)
{
	size_t i, from;

	for (i = from = 0; i <= len; i++) {
		if (i < len && s[i] != '.') {
			if (!(s[i] >= 'a' && s[i] <= 'z') &&
			    !(s[i] >= '0' && s[i] <= '9') && s[i] != '_' && s[i] != '-')
				return false;
			continue;
		}
		if (i == from || i - from > 63 || s[from] == '-' || s[i - 1] == '-')
			return false;
		from = i + 1;
	}
	return len > 0 && len <= 253;
}

/* Bits behind the prefix are 0. */
static bool
is_cidr(const uint8_t addr[16], uint32_t prefix)
{
	uint32_t i;

	for (i = prefix; i < 128; i++)
		if ((addr[i / 8] & (0x80u >> i % 8)) != 0)
			return false;
	return true;
}

static int
rule_net(struct load *l, uint32_t i)
{
	RULE(SEALED_NETS, sealed_net, net);

	MUST(row->port_first <= row->port_last, "ports out of order");
	MUST(row->kind == HOST_CIDR || row->prefix == 0, "a prefix where none belongs");
	MUST(row->scope == NET_CIDR || row->scope_prefix == 0,
	    "a prefix where none belongs");
	MUST(is_cidr(row->addr, row->prefix) &&
		 is_cidr(row->scope_addr, row->scope_prefix),
	    "an address beyond its prefix");
	MUST(row->kind == HOST_CIDR || is_host(text(l, row->host), row->host.len),
	    "not a host name");
	return 0;
}

static int
rule_pin(struct load *l, uint32_t i)
{
	RULE(SEALED_PINS, sealed_pin, pin);
	uint8_t digest[32];

	MUST((row->kind < PIN_CAPABILITIES) == (row->name.len > 0),
	    "a name where none belongs, or none");
	MUST(row->kind == PIN_TOOL || row->classes == 0, "classes where none belong");
	policy_digest(text(l, row->body), row->body.len, digest);
	MUST(memcmp(digest, row->sha256, sizeof(digest)) == 0, "another digest");
	return 0;
}

static int
rule_audit(struct load *l, uint32_t i)
{
	RULE(SEALED_AUDITS, sealed_audit, audit);

	MUST(row->flags != 0 && (row->kind != 0 || row->name.len == 0) &&
		 (row->kind == 0 || (row->flags & AUDIT_SYNC_STRICT) == 0),
	    "a flag where it means nothing");
	return 0;
}

/* The filters do what the policy's own lines say, where the call is known. */
static int
rule_call(struct load *l, uint32_t i)
{
	RULE(SEALED_CALLS, sealed_call, call);
	const struct sealed_filter *f = l->p.filter + l->server->filters.first;
	const struct sealed_syscall *s;
	uint32_t k, n;

	for (k = 0; k < l->server->filters.n; k++, f++)
		for (s = l->p.syscall + f->syscalls.first, n = f->syscalls.n; n > 0;
		     n--, s++)
			MUST(s->name.off != row->name.off ||
				 (s->action == SECCOMP_RET_ALLOW) ==
				     (row->verdict == VERDICT_ALLOW),
			    "the filter says otherwise");
	return 0;
}
