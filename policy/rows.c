/*
 * The loader, second part: every row, and what the rows say about each other.
 *
 * Ranges partition their tables: the rows of the first server come first, and
 * so on, without a hole, an overlap or a row that belongs to nobody.  So each
 * row is looked at once, whatever the file says (filters are shared by design
 * and have their own bound).
 */
#include <string.h>

#include "policy/load.h"

#define MOUNT_RIGHTS (RIGHT_READ | RIGHT_START | RIGHT_WRITE | RIGHT_DEVICE)
#define SERVER_FLAGS \
	(SERVER_NO_PROC | SERVER_MCP_SAMPLING | SERVER_MCP_ELICITATION | SERVER_MCP_ROOTS)

static int row_server(struct load *, uint32_t);
static int row_env(struct load *, uint32_t);
static int row_secret(struct load *, uint32_t);
static int row_mount(struct load *, uint32_t);
static int row_image(struct load *, uint32_t);
static int row_exec(struct load *, uint32_t);
static int row_arg(struct load *, uint32_t);
static int row_gate(struct load *, uint32_t);
static int row_limit(struct load *, uint32_t);
static int row_require(struct load *, uint32_t);
static int row_filter(struct load *, uint32_t);
static int row_file(struct load *, uint32_t);
static int link_servers(struct load *);
static int link_args(struct load *);

int
load_rows(struct load *l)
{
	static int (*const check[SEALED_KIND_END])(struct load *, uint32_t) = {
	    [SEALED_FILES] = row_file,
	    [SEALED_SERVERS] = row_server,
	    [SEALED_ENVS] = row_env,
	    [SEALED_SECRETS] = row_secret,
	    [SEALED_MOUNTS] = row_mount,
	    [SEALED_IMAGES] = row_image,
	    [SEALED_EXECS] = row_exec,
	    [SEALED_ARGS] = row_arg,
	    [SEALED_GATES] = row_gate,
	    [SEALED_LIMITS] = row_limit,
	    [SEALED_REQUIRES] = row_require,
	    [SEALED_FILTERS] = row_filter,
	};
	uint32_t kind, i;
	int r;

	for (kind = 1; kind < SEALED_KIND_END; kind++)
		for (i = 0; check[kind] != NULL && i < l->p.row_n[kind]; i++)
			if ((r = check[kind](l, i)) < 0)
				return r;
	if ((r = link_args(l)) < 0)
		return r;
	return link_servers(l);
}

/* ---- strings ------------------------------------------------------------- */

/* A whole string of the pool: nothing of it is NUL, its end is. */
static int
str_check(struct load *l, struct sealed_ref ref, const char *what, uint32_t row)
{
	const char *s = l->p.strings;

	if (ref.off >= l->p.strings_len || ref.len >= l->p.strings_len - ref.off)
		return load_refuse(l, "%s %u: a string leaves the pool", what, row);
	if (ref.len > SEALED_STR_LEN_MAX)
		return load_refuse(l, "%s %u: a string is too long", what, row);
	l->str_sum += ref.len;
	if (l->str_sum > SEALED_STR_SUM_MAX)
		return load_refuse(l, "%s %u: too much text in all", what, row);
	if (ref.len == 0 && ref.off != 0)
		return load_refuse(l, "%s %u: the empty string is at 0", what, row);
	if (ref.off != 0 && s[ref.off - 1] != 0)
		return load_refuse(l, "%s %u: a string begins inside another", what, row);
	if (s[ref.off + ref.len] != 0 || memchr(s + ref.off, 0, ref.len) != NULL)
		return load_refuse(
		    l, "%s %u: a string does not end where it says", what, row);
	return 0;
}

static bool
name_char(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
}

/* [A-Za-z0-9_.-]: a file name that is no path and no option. */
static int
name_check(struct load *l, struct sealed_ref ref, const char *what, uint32_t row)
{
	const char *s;
	uint32_t i;
	int r;

	if ((r = str_check(l, ref, what, row)) < 0)
		return r;
	s = l->p.strings + ref.off;
	if (ref.len == 0 || ref.len > SEALED_NAME_LEN_MAX || s[0] == '.' || s[0] == '-')
		return load_refuse(l, "%s %u: not a name", what, row);
	for (i = 0; i < ref.len; i++)
		if (!name_char((unsigned char)s[i]))
			return load_refuse(l, "%s %u: not a name", what, row);
	return 0;
}

/* A variable: letters, digits and _, no digit first. */
static int
var_check(struct load *l, struct sealed_ref ref, const char *what, uint32_t row)
{
	const char *s;
	uint32_t i;
	int r;

	if ((r = name_check(l, ref, what, row)) < 0)
		return r;
	s = l->p.strings + ref.off;
	for (i = 0; i < ref.len; i++)
		if (s[i] == '-' || s[i] == '.' || (i == 0 && s[i] >= '0' && s[i] <= '9'))
			return load_refuse(l, "%s %u: not a variable", what, row);
	return 0;
}

/* Absolute; no empty, "." or ".." component; no slash at the end but "/". */
static int
path_check(struct load *l, struct sealed_ref ref, const char *what, uint32_t row)
{
	const char *s;
	uint32_t i, from;
	int r;

	if ((r = str_check(l, ref, what, row)) < 0)
		return r;
	s = l->p.strings + ref.off;
	if (ref.len == 0 || s[0] != '/' || ref.len > SEALED_PATH_LEN_MAX)
		return load_refuse(l, "%s %u: path is not absolute", what, row);
	if (ref.len == 1)
		return 0;
	for (i = from = 1; i <= ref.len; i++) {
		if (i < ref.len && s[i] != '/')
			continue;
		if (i == from || (i == from + 1 && s[from] == '.') ||
		    (i == from + 2 && s[from] == '.' && s[from + 1] == '.'))
			return load_refuse(l, "%s %u: path is not normal", what, row);
		from = i + 1;
	}
	return 0;
}

static int
at_check(struct load *l, struct sealed_at at, const char *what, uint32_t row)
{
	if (at.file >= l->p.row_n[SEALED_FILES] || at.line == 0)
		return load_refuse(l, "%s %u: no such policy line", what, row);
	return 0;
}

static int
bool_check(struct load *l, uint32_t v, const char *what, uint32_t row)
{
	if (v > 1)
		return load_refuse(l, "%s %u: neither yes nor no", what, row);
	return 0;
}

static int
kind_check(
    struct load *l, uint32_t v, uint32_t lo, uint32_t hi, const char *what, uint32_t row)
{
	if (v < lo || v > hi)
		return load_refuse(l, "%s %u: kind %u is not known", what, row, v);
	return 0;
}

static int
zero_check(struct load *l, uint64_t v, const char *what, uint32_t row)
{
	if (v != 0)
		return load_refuse(
		    l, "%s %u: a field that must be zero is not", what, row);
	return 0;
}

/* Is this range the next part of its table?  *next is where it must start. */
static int
range_check(struct load *l, struct sealed_range range, enum sealed_kind kind,
    uint32_t *next, const char *what, uint32_t row)
{
	if (range.first != *next || range.n > l->p.row_n[kind] - *next)
		return load_refuse(
		    l, "%s %u: a range is not the next part of its table", what, row);
	*next += range.n;
	return 0;
}

/* ---- one row of each table ------------------------------------------------ */

static int
row_file(struct load *l, uint32_t i)
{
	return str_check(l, l->p.file[i], "file", i);
}

static int
row_server(struct load *l, uint32_t i)
{
	const struct sealed_server *s = &l->p.server[i];
	int r;

	if ((r = name_check(l, s->name, "server", i)) < 0 ||
	    (r = str_check(l, s->about, "server", i)) < 0 ||
	    (r = path_check(l, s->cwd, "server", i)) < 0 ||
	    (r = at_check(l, s->at, "server", i)) < 0)
		return r;
	if ((r = s->user.len == 0 ? str_check(l, s->user, "server", i)
				  : name_check(l, s->user, "server", i)) < 0)
		return r;
	return zero_check(l, s->flags & ~(uint32_t)SERVER_FLAGS, "server", i);
}

static int
row_env(struct load *l, uint32_t i)
{
	const struct sealed_env *e = &l->p.env[i];
	int r;

	if ((r = var_check(l, e->name, "env", i)) < 0 ||
	    (r = str_check(l, e->value, "env", i)) < 0 ||
	    (r = at_check(l, e->at, "env", i)) < 0 ||
	    (r = bool_check(l, e->passed, "env", i)) < 0 ||
	    (r = bool_check(l, e->fixed, "env", i)) < 0)
		return r;
	return zero_check(l, e->passed ? e->value.len + e->fixed : 0, "env", i);
}

static int
row_secret(struct load *l, uint32_t i)
{
	const struct sealed_secret *s = &l->p.secret[i];
	int r;

	if ((r = var_check(l, s->name, "secret", i)) < 0 ||
	    (r = at_check(l, s->at, "secret", i)) < 0 ||
	    (r = kind_check(l, s->source, SOURCE_ENV, SOURCE_VAULT, "secret", i)) < 0 ||
	    (r = zero_check(l, s->reserved, "secret", i)) < 0)
		return r;
	if ((s->source == SOURCE_CMD) != (s->args.n > 0))
		return load_refuse(
		    l, "secret %u: a command where none belongs, or none", i);
	if (s->source == SOURCE_ENV)
		return var_check(l, s->ref, "secret", i);
	if (s->source == SOURCE_FILE)
		return path_check(l, s->ref, "secret", i);
	if ((s->source == SOURCE_VAULT) != (s->ref.len > 0))
		return load_refuse(
		    l, "secret %u: a reference where none belongs, or none", i);
	return str_check(l, s->ref, "secret", i);
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
row_mount(struct load *l, uint32_t i)
{
	const struct sealed_mount *m = &l->p.mount[i];
	int r;

	if ((r = kind_check(l, m->kind, MOUNT_DIR, MOUNT_HIDE, "mount", i)) < 0 ||
	    (r = kind_check(l, m->why, WHY_BASE, WHY_LINK, "mount", i)) < 0 ||
	    (r = path_check(l, m->target, "mount", i)) < 0 ||
	    (r = at_check(l, m->at, "mount", i)) < 0 ||
	    (r = bool_check(l, m->optional, "mount", i)) < 0)
		return r;
	if (m->target.len == 1)
		return load_refuse(l, "mount %u: the root is not granted", i);
	if ((m->right & ~mount_rule[m->kind].rights) != 0)
		return load_refuse(l, "mount %u: a right that its kind cannot have", i);
	if ((m->right & RIGHT_WRITE) != 0 && (m->right & RIGHT_START) != 0)
		return load_refuse(l, "mount %u: both writable and startable", i);
	if ((m->size != 0) != mount_rule[m->kind].sized)
		return load_refuse(l, "mount %u: a size where none belongs, or none", i);
	if (mount_rule[m->kind].source == SOURCE_PATH)
		return path_check(l, m->source, "mount", i);
	if ((m->source.len != 0) != (mount_rule[m->kind].source == SOURCE_TEXT) ||
	    m->source.len > SEALED_PATH_LEN_MAX)
		return load_refuse(
		    l, "mount %u: a source where none belongs, or none", i);
	return str_check(l, m->source, "mount", i);
}

static int
row_image(struct load *l, uint32_t i)
{
	const struct sealed_image *m = &l->p.image[i];
	int r;

	if ((r = path_check(l, m->path, "image", i)) < 0 ||
	    (r = path_check(l, m->real, "image", i)) < 0)
		return r;
	return at_check(l, m->at, "image", i);
}

static int
row_exec(struct load *l, uint32_t i)
{
	const struct sealed_exec *e = &l->p.exec[i];
	int r;

	if ((r = str_check(l, e->because, "exec", i)) < 0 ||
	    (r = at_check(l, e->at, "exec", i)) < 0 ||
	    (r = kind_check(l, e->verdict, VERDICT_DENY, VERDICT_ASK, "exec", i)) < 0)
		return r;
	if (e->asked >= l->p.row_n[SEALED_IMAGES] ||
	    e->mapped >= l->p.row_n[SEALED_IMAGES])
		return load_refuse(l, "exec %u: no such image", i);
	if (e->prefix.n == 0 && e->asked != e->mapped)
		return load_refuse(l, "exec %u: another image without a prefix", i);
	return zero_check(l, e->flags & ~(uint32_t)EXEC_FROM_RUN, "exec", i);
}

static int
row_arg(struct load *l, uint32_t i)
{
	const struct sealed_arg *a = &l->p.arg[i];
	int r;

	if ((r = kind_check(l, a->kind, ARG_LITERAL, ARG_CHOICE, "arg", i)) < 0 ||
	    (r = str_check(l, a->text, "arg", i)) < 0 ||
	    (r = zero_check(l, a->reserved, "arg", i)) < 0)
		return r;
	return zero_check(
	    l, a->kind == ARG_ANY || a->kind == ARG_REST ? a->text.len : 0, "arg", i);
}

static int
row_gate(struct load *l, uint32_t i)
{
	const struct sealed_gate *g = &l->p.gate[i];
	int r;

	if ((r = str_check(l, g->name, "gate", i)) < 0 ||
	    (r = str_check(l, g->because, "gate", i)) < 0 ||
	    (r = at_check(l, g->at, "gate", i)) < 0 ||
	    (r = kind_check(l, g->kind, GATE_TOOL, GATE_PROMPT, "gate", i)) < 0)
		return r;
	if (g->name.len == 0)
		return load_refuse(l, "gate %u: no name", i);
	return kind_check(l, g->verdict, VERDICT_DENY, VERDICT_ASK, "gate", i);
}

static int
row_limit(struct load *l, uint32_t i)
{
	const struct sealed_limit *m = &l->p.limit[i];
	int r;

	if ((r = at_check(l, m->at, "limit", i)) < 0 ||
	    (r = kind_check(l, m->kind, LIMIT_MEMORY, TIMEOUT_IDLE, "limit", i)) < 0 ||
	    (r = zero_check(l, m->reserved, "limit", i)) < 0)
		return r;
	/* 0 would read as "no limit" where a limit was written. */
	if (m->value == 0)
		return load_refuse(l, "limit %u: zero", i);
	return 0;
}

static int
row_require(struct load *l, uint32_t i)
{
	const struct sealed_require *q = &l->p.require[i];
	int r;

	if ((r = at_check(l, q->at, "require", i)) < 0 ||
	    (r = kind_check(l, q->kind, REQUIRE_LANDLOCK, REQUIRE_SUBUID, "require", i)) <
		0)
		return r;
	return zero_check(l, q->kind == REQUIRE_LANDLOCK ? 0 : q->value, "require", i);
}

static int
row_filter(struct load *l, uint32_t i)
{
	const struct sealed_filter *f = &l->p.filter[i];
	uint32_t next = 0;
	int r;

	if (i > 0)
		next = l->p.filter[i - 1].insns.first + l->p.filter[i - 1].insns.n;
	if ((r = range_check(l, f->insns, SEALED_INSNS, &next, "filter", i)) < 0 ||
	    (r = zero_check(l, f->reserved, "filter", i)) < 0 ||
	    (r = load_bpf(l, l->p.insn + f->insns.first, f->insns.n, f->arch)) < 0)
		return r;
	if (i + 1 == l->p.row_n[SEALED_FILTERS] && next != l->p.row_n[SEALED_INSNS])
		return load_refuse(l, "insns: rows that belong to no filter");
	return 0;
}

/* ---- what belongs to what --------------------------------------------------- */

/* Only the last may be ARG_REST; fixed ones are all literals. */
static int
args_check(
    struct load *l, struct sealed_range range, bool fixed, const char *what, uint32_t row)
{
	const struct sealed_arg *a;
	uint32_t i;

	for (i = 0; i < range.n; i++) {
		a = &l->p.arg[range.first + i];
		if (fixed && a->kind != ARG_LITERAL)
			return load_refuse(
			    l, "%s %u: an argument is not literal", what, row);
		if (a->kind == ARG_REST && i + 1 < range.n)
			return load_refuse(l, "%s %u: ** is not the last", what, row);
	}
	return 0;
}

/* ARGS: those of the secrets, then of each exec its patterns and its prefix. */
static int
link_args(struct load *l)
{
	const struct sealed_secret *s = l->p.secret;
	const struct sealed_exec *e = l->p.exec;
	uint32_t i, next = 0;
	int r;

	for (i = 0; i < l->p.row_n[SEALED_SECRETS]; i++)
		if ((r = range_check(l, s[i].args, SEALED_ARGS, &next, "secret", i)) <
			0 ||
		    (r = args_check(l, s[i].args, true, "secret", i)) < 0)
			return r;
	for (i = 0; i < l->p.row_n[SEALED_EXECS]; i++)
		if ((r = range_check(l, e[i].args, SEALED_ARGS, &next, "exec", i)) < 0 ||
		    (r = args_check(l, e[i].args, false, "exec", i)) < 0 ||
		    (r = range_check(l, e[i].prefix, SEALED_ARGS, &next, "exec", i)) <
			0 ||
		    (r = args_check(l, e[i].prefix, true, "exec", i)) < 0)
			return r;
	if (next != l->p.row_n[SEALED_ARGS])
		return load_refuse(l, "args: rows that belong to nobody");
	return 0;
}

/* By bytes, the shorter first. */
static int
ref_compare(const struct load *l, struct sealed_ref a, struct sealed_ref b)
{
	size_t n = a.len < b.len ? a.len : b.len;
	int c = memcmp(l->p.strings + a.off, l->p.strings + b.off, n);

	return c != 0 ? c : (a.len > b.len) - (a.len < b.len);
}

static int link_names(struct load *, const struct sealed_server *, uint32_t row);
static int link_execs(struct load *, const struct sealed_server *, uint32_t row);
static int link_filters(struct load *, const struct sealed_server *, uint32_t row);

/* The tables that servers divide among themselves. */
static const struct {
	enum sealed_kind kind;
	size_t at;
} owned[] = {
    {SEALED_ENVS, offsetof(struct sealed_server, envs)},
    {SEALED_SECRETS, offsetof(struct sealed_server, secrets)},
    {SEALED_MOUNTS, offsetof(struct sealed_server, mounts)},
    {SEALED_IMAGES, offsetof(struct sealed_server, images)},
    {SEALED_EXECS, offsetof(struct sealed_server, execs)},
    {SEALED_GATES, offsetof(struct sealed_server, gates)},
    {SEALED_LIMITS, offsetof(struct sealed_server, limits)},
    {SEALED_REQUIRES, offsetof(struct sealed_server, requires)},
};
#define OWNED_N (sizeof(owned) / sizeof(owned[0]))

static int
link_servers(struct load *l)
{
	uint32_t next[OWNED_N] = {0}, i;
	struct sealed_range range;
	const struct sealed_server *s;
	size_t k;
	int r;

	for (i = 0; i < l->p.row_n[SEALED_SERVERS]; i++) {
		s = &l->p.server[i];
		if (i > 0 && ref_compare(l, s[-1].name, s->name) >= 0)
			return load_refuse(l, "server %u: out of order", i);
		for (k = 0; k < OWNED_N; k++) {
			memcpy(&range, (const char *)s + owned[k].at, sizeof(range));
			r = range_check(l, range, owned[k].kind, &next[k], "server", i);
			if (r < 0)
				return r;
		}
		if ((r = link_names(l, s, i)) < 0 || (r = link_execs(l, s, i)) < 0 ||
		    (r = link_filters(l, s, i)) < 0 || (r = load_plan(l, s, i)) < 0)
			return r;
	}
	for (k = 0; k < OWNED_N; k++)
		if (next[k] != l->p.row_n[owned[k].kind])
			return load_refuse(
			    l, "rows of kind %d belong to no server", (int)owned[k].kind);
	return 0;
}

/* Sorted, so that nothing is there twice. */
static int
link_names(struct load *l, const struct sealed_server *s, uint32_t row)
{
	const struct sealed_env *e = l->p.env + s->envs.first;
	const struct sealed_secret *c = l->p.secret + s->secrets.first;
	const struct sealed_limit *m = l->p.limit + s->limits.first;
	const struct sealed_require *q = l->p.require + s->requires.first;
	uint32_t i;

	for (i = 1; i < s->envs.n; i++)
		if (ref_compare(l, e[i - 1].name, e[i].name) >= 0)
			return load_refuse(l, "server %u: env out of order", row);
	for (i = 1; i < s->secrets.n; i++)
		if (ref_compare(l, c[i - 1].name, c[i].name) >= 0)
			return load_refuse(l, "server %u: secrets out of order", row);
	for (i = 1; i < s->limits.n; i++)
		if (m[i - 1].kind >= m[i].kind)
			return load_refuse(l, "server %u: limits out of order", row);
	for (i = 1; i < s->requires.n; i++)
		if (q[i - 1].kind >= q[i].kind)
			return load_refuse(l, "server %u: requires out of order", row);
	return 0;
}

static bool
inside(uint32_t i, struct sealed_range range)
{
	return i >= range.first && i - range.first < range.n;
}

/* Images are the server's own; it starts as something that it may start. */
static int
link_execs(struct load *l, const struct sealed_server *s, uint32_t row)
{
	const struct sealed_exec *e;
	uint32_t i;

	for (i = 0; i < s->execs.n; i++) {
		e = &l->p.exec[s->execs.first + i];
		if (!inside(e->asked, s->images) || !inside(e->mapped, s->images))
			return load_refuse(
			    l, "server %u: an exec names another's image", row);
	}
	if (!inside(s->run, s->execs))
		return load_refuse(l, "server %u: nothing to run", row);
	e = &l->p.exec[s->run];
	if (e->verdict != VERDICT_ALLOW || (e->flags & EXEC_FROM_RUN) == 0)
		return load_refuse(l, "server %u: what it runs is not granted", row);
	return 0;
}

/* At least one, one per architecture; several servers may share theirs. */
static int
link_filters(struct load *l, const struct sealed_server *s, uint32_t row)
{
	uint32_t n = l->p.row_n[SEALED_FILTERS], first = s->filters.first, i;

	if (s->filters.n == 0 || s->filters.n > SEALED_FILTERS_MAX || first >= n ||
	    s->filters.n > n - first)
		return load_refuse(
		    l, "server %u: no filter, or one that is not there", row);
	for (i = 1; i < s->filters.n; i++)
		if (l->p.filter[first + i - 1].arch >= l->p.filter[first + i].arch)
			return load_refuse(l, "server %u: filters out of order", row);
	return 0;
}
