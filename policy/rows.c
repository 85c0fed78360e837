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

#include "policy/load.h"

static int servers(struct load *);
static int server_rows(struct load *, const struct sealed_server *);
static int filters(struct load *);

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
		if ((r = load_bpf(l, &l->p.filter[i])) < 0)
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
		/* The pool is sorted: so are places in it. */
		if (i > 0 && s[-1].name.off >= s->name.off)
			return load_refuse(l, "server %u: out of order", i);
		for (k = 1; k < s->filters.n; k++)
			if (l->p.filter[s->filters.first + k - 1].arch >=
			    l->p.filter[s->filters.first + k].arch)
				return load_refuse(
				    l, "server %u: filters out of order", i);
	}
	return 0;
}

/* ---- one server -------------------------------------------------------------- */

typedef int rule_fn(struct load *, uint32_t row);

static rule_fn rule_env, rule_secret, rule_mount, rule_exec, rule_gate, rule_limit,
    rule_require, rule_net, rule_cond, rule_step, rule_value, rule_pin, rule_audit,
    rule_call, rule_except, rule_arg, rule_image;

static rule_fn *const rules[SEALED_KIND_END] = {
    [SEALED_ENVS] = rule_env,
    [SEALED_SECRETS] = rule_secret,
    [SEALED_MOUNTS] = rule_mount,
    [SEALED_IMAGES] = rule_image,
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
		for (i = 0; rules[kind] != NULL && i < part[kind].n; i++)
			if ((r = rules[kind](l, part[kind].first + i)) < 0)
				return r;
	if (run->verdict != VERDICT_ALLOW || (run->flags & EXEC_FROM_RUN) == 0)
		return load_refuse(l, "server %u: what it runs is not granted",
		    (uint32_t)(s - l->p.server));
	return load_plan(l, s, (uint32_t)(s - l->p.server));
}

/* ---- what one field means for another ------------------------------------------ */

/* Says so when it does not hold. */
static int
must(struct load *l, bool holds, enum sealed_kind kind, uint32_t row, const char *what)
{
	if (holds)
		return 0;
	return load_refuse(l, "%s %u: %s", field_kind[kind].name, row, what);
}

static const char *
text(const struct load *l, struct sealed_ref ref)
{
	return l->p.strings + ref.off;
}

static int
rule_env(struct load *l, uint32_t i)
{
	const struct sealed_env *e = &l->p.env[i];
	int r;

	if ((r = must(l, i == l->server->envs.first || e[-1].name.off < e->name.off,
		 SEALED_ENVS, i, "out of order")) < 0)
		return r;
	return must(l, !e->passed || (e->value.len == 0 && !e->fixed), SEALED_ENVS, i,
	    "both passed on and set");
}

static int
rule_secret(struct load *l, uint32_t i)
{
	const struct sealed_secret *s = &l->p.secret[i];
	const char *ref = text(l, s->ref);
	bool fits[] = {
	    [SOURCE_ENV] = is_name(ref, s->ref.len, true),
	    [SOURCE_FILE] = policy_is_path(ref, s->ref.len),
	    [SOURCE_CMD] = s->ref.len == 0,
	    [SOURCE_VAULT] = s->ref.len > 0,
	};
	uint32_t k;
	int r;

	if ((r = must(l, i == l->server->secrets.first || s[-1].name.off < s->name.off,
		 SEALED_SECRETS, i, "out of order")) < 0 ||
	    (r = must(l, (s->source == SOURCE_CMD) == (s->args.n > 0), SEALED_SECRETS, i,
		 "a command where none belongs, or none")) < 0 ||
	    (r = must(l, fits[s->source], SEALED_SECRETS, i,
		 "a reference that its source cannot have")) < 0)
		return r;
	for (k = 0; k < s->args.n; k++)
		if ((r = must(l, l->p.arg[s->args.first + k].kind == ARG_LITERAL,
			 SEALED_SECRETS, i, "an argument is not literal")) < 0)
			return r;
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
	const struct sealed_mount *m = &l->p.mount[i];
	const uint32_t both = RIGHT_WRITE | RIGHT_START;
	bool source;
	int r;

	if ((r = must(l, m->target.len > 1, SEALED_MOUNTS, i,
		 "the root is not granted")) < 0 ||
	    (r = must(l, (m->right & ~mount_rule[m->kind].rights) == 0, SEALED_MOUNTS, i,
		 "a right that its kind cannot have")) < 0 ||
	    (r = must(l, (m->right & both) != both, SEALED_MOUNTS, i,
		 "both writable and startable")) < 0 ||
	    (r = must(l, (m->size != 0) == mount_rule[m->kind].sized, SEALED_MOUNTS, i,
		 "a size where none belongs, or none")) < 0)
		return r;
	source = mount_rule[m->kind].source == SOURCE_NONE ? m->source.len == 0
		 : mount_rule[m->kind].source == SOURCE_PATH
		     ? policy_is_path(text(l, m->source), m->source.len)
		     : m->source.len > 0 && m->source.len <= SEALED_PATH_LEN_MAX;
	return must(l, source, SEALED_MOUNTS, i, "a source where none belongs, or none");
}

/* One file under several paths stands together. */
static int
rule_image(struct load *l, uint32_t i)
{
	const struct sealed_image *m = &l->p.image[i];

	return must(l,
	    i == l->server->images.first || m[-1].real.off < m->real.off ||
		(m[-1].real.off == m->real.off && m[-1].path.off < m->path.off),
	    SEALED_IMAGES, i, "out of order");
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
rule_exec(struct load *l, uint32_t i)
{
	const struct sealed_exec *e = &l->p.exec[i];
	uint32_t k;
	int r;

	if ((r = must(l, e->prefix.n > 0 || e->asked == e->mapped, SEALED_EXECS, i,
		 "another image without a prefix")) < 0 ||
	    (r = must(
		 l, rest_is_last(l, e->args), SEALED_EXECS, i, "** is not the last")) < 0)
		return r;
	for (k = 0; k < e->prefix.n; k++)
		if ((r = must(l, l->p.arg[e->prefix.first + k].kind == ARG_LITERAL,
			 SEALED_EXECS, i, "an argument is not literal")) < 0)
			return r;
	for (k = 0; k < e->from.n; k++)
		if ((r = must(l,
			 policy_is_path(text(l, l->p.ref[e->from.first + k]),
			     l->p.ref[e->from.first + k].len),
			 SEALED_EXECS, i, "a caller is not a path")) < 0)
			return r;
	for (k = 0; k < e->env.n; k++)
		if ((r = must(l,
			 is_name(text(l, l->p.ref[e->env.first + k]),
			     l->p.ref[e->env.first + k].len, true),
			 SEALED_EXECS, i, "not a variable")) < 0)
			return r;
	return 0;
}

static int
rule_except(struct load *l, uint32_t i)
{
	return must(l, rest_is_last(l, l->p.except[i].args), SEALED_EXCEPTS, i,
	    "** is not the last");
}

static int
rule_arg(struct load *l, uint32_t i)
{
	const struct sealed_arg *a = &l->p.arg[i];

	return must(l, a->text.len == 0 || (a->kind != ARG_ANY && a->kind != ARG_REST),
	    SEALED_ARGS, i, "text where none belongs");
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
	const struct sealed_gate *g = &l->p.gate[i];
	bool named = g->kind <= GATE_PROMPT, tool = g->kind == GATE_TOOL;
	int r;

	if ((r = must(l, named == (g->name.len > 0), SEALED_GATES, i,
		 "a name where none belongs, or no name")) < 0 ||
	    (r = must(l, conds_hold(l, g->conds), SEALED_GATES, i,
		 "a condition that cannot be computed")) < 0 ||
	    (r = must(l, named || (g->conds.n == 0 && g->excepts.n == 0), SEALED_GATES, i,
		 "a condition where none belongs")) < 0)
		return r;
	return must(l,
	    tool ? (g->flags & GATE_BY_ANNOTATIONS) == 0 ||
		       (g->verdict == VERDICT_ASK && g->classes == 0)
		 : g->classes == 0 && g->flags == 0,
	    SEALED_GATES, i, "classes where none belong");
}

static int
rule_cond(struct load *l, uint32_t i)
{
	static const uint32_t values[] = {/* plus 1; 0: any number */
	    [COND_EQ] = 2,
	    [COND_NE] = 2,
	    [COND_MATCHES] = 2,
	    [COND_UNDER] = 2,
	    [COND_LT] = 2,
	    [COND_LE] = 2,
	    [COND_GT] = 2,
	    [COND_GE] = 2,
	    [COND_EXISTS] = 1,
	    [COND_AND] = 1,
	    [COND_OR] = 1,
	    [COND_NOT] = 1};
	const struct sealed_cond *c = &l->p.cond[i];
	const struct sealed_value *v = &l->p.value[c->values.first];
	bool string = c->op == COND_MATCHES || c->op == COND_UNDER;
	bool number = c->op >= COND_LT && c->op <= COND_GE;
	int r;

	if ((r = must(l, values[c->op] == 0 || c->values.n == values[c->op] - 1,
		 SEALED_CONDS, i, "a number of values that it cannot have")) < 0 ||
	    (r = must(l, c->op < COND_AND || c->steps.n == 0, SEALED_CONDS, i,
		 "a place where none belongs")) < 0 ||
	    (r = must(l,
		 (!string || v->type == VALUE_STRING) &&
		     (!number || v->type == VALUE_NUMBER),
		 SEALED_CONDS, i, "a value of the wrong type")) < 0)
		return r;
	return must(l,
	    c->op != COND_UNDER || policy_is_path(text(l, v->text), v->text.len),
	    SEALED_CONDS, i, "not an absolute, normal path");
}

static int
rule_step(struct load *l, uint32_t i)
{
	const struct sealed_step *s = &l->p.step[i];

	return must(l, s->is_index ? s->key.len == 0 : s->index == 0, SEALED_STEPS, i,
	    "both a key and an index");
}

static int
rule_value(struct load *l, uint32_t i)
{
	const struct sealed_value *v = &l->p.value[i];

	if (v->type == VALUE_NUMBER)
		return must(l, policy_is_number(text(l, v->text), v->text.len),
		    SEALED_VALUES, i, "not a number");
	return must(l, v->type == VALUE_STRING || v->text.len == 0, SEALED_VALUES, i,
	    "text where none belongs");
}

static int
rule_limit(struct load *l, uint32_t i)
{
	const struct sealed_limit *m = &l->p.limit[i];
	int r;

	if ((r = must(l, i == l->server->limits.first || m[-1].kind < m->kind,
		 SEALED_LIMITS, i, "out of order")) < 0)
		return r;
	/* 0 would read as "no limit" where a limit was written. */
	return must(l, m->value != 0, SEALED_LIMITS, i, "zero");
}

static int
rule_require(struct load *l, uint32_t i)
{
	const struct sealed_require *q = &l->p.require[i];
	int r;

	if ((r = must(l, i == l->server->requires.first || q[-1].kind < q->kind,
		 SEALED_REQUIRES, i, "out of order")) < 0)
		return r;
	return must(l, q->kind == REQUIRE_LANDLOCK || q->value == 0, SEALED_REQUIRES, i,
	    "a value where none belongs");
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
	const struct sealed_net *n = &l->p.net[i];
	int r;

	if ((r = must(l, n->port_first <= n->port_last, SEALED_NETS, i,
		 "ports out of order")) < 0 ||
	    (r = must(l,
		 is_cidr(n->addr, n->kind == HOST_CIDR ? n->prefix : 0) &&
		     is_cidr(n->scope_addr, n->scope == NET_CIDR ? n->scope_prefix : 0),
		 SEALED_NETS, i, "an address where none belongs")) < 0 ||
	    (r = must(l,
		 (n->kind == HOST_CIDR || n->prefix == 0) &&
		     (n->scope == NET_CIDR || n->scope_prefix == 0),
		 SEALED_NETS, i, "a prefix where none belongs")) < 0)
		return r;
	return must(l, n->kind == HOST_CIDR || is_host(text(l, n->host), n->host.len),
	    SEALED_NETS, i, "not a host name");
}

static int
rule_pin(struct load *l, uint32_t i)
{
	const struct sealed_pin *p = &l->p.pin[i];
	uint8_t digest[32];
	int r;

	if ((r = must(l,
		 i == l->server->pins.first || p[-1].kind < p->kind ||
		     (p[-1].kind == p->kind &&
			 (p[-1].name.off < p->name.off ||
			     (p[-1].name.off == p->name.off &&
				 p[-1].variant.off < p->variant.off))),
		 SEALED_PINS, i, "out of order")) < 0 ||
	    (r = must(l, (p->kind < PIN_CAPABILITIES) == (p->name.len > 0), SEALED_PINS,
		 i, "a name where none belongs, or none")) < 0 ||
	    (r = must(l, p->kind == PIN_TOOL || p->classes == 0, SEALED_PINS, i,
		 "classes where none belong")) < 0)
		return r;
	policy_digest(text(l, p->body), p->body.len, digest);
	return must(l, memcmp(digest, p->sha256, sizeof(digest)) == 0, SEALED_PINS, i,
	    "another digest");
}

static int
rule_audit(struct load *l, uint32_t i)
{
	const struct sealed_audit *a = &l->p.audit[i];

	return must(l,
	    a->flags != 0 && (a->kind != 0 || a->name.len == 0) &&
		(a->kind == 0 || (a->flags & AUDIT_SYNC_STRICT) == 0),
	    SEALED_AUDITS, i, "a flag where it means nothing");
}

static int
rule_call(struct load *l, uint32_t i)
{
	const struct sealed_call *c = &l->p.call[i];

	return must(l, i == l->server->calls.first || c[-1].name.off < c->name.off,
	    SEALED_CALLS, i, "out of order");
}
