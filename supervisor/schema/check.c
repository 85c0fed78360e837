/*
 * Checks a value against a compiled schema. Depth, steps and memory are bounded: a
 * schema that needs more than a limit ends the check with an error, which callers
 * treat as a refusal.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/schema/private.h"

#define MARKS_MAX ((size_t)1 << 21) /* words of 64 marks */

static const struct keyword never_keyword = {.name = "false"};
static const struct rule never = {.keyword = &never_keyword};

/* ---- failures and limits -------------------------------------------------- */

int
eval_fail(struct check *c, const struct rule *rule, uint32_t at, uint32_t found)
{
	struct failure *f = &c->failure;

	f->rule[0] = rule;
	f->rule_n = 1;
	f->name = at == c->tree.n;
	f->at = f->name ? c->named : at;
	f->found = found;
	return -EBADMSG;
}

int
eval_limit(struct check *c, int error, uint32_t at, const char *what)
{
	c->limit = what;
	c->limit_at = at == c->tree.n ? c->named : at;
	return error;
}

int
eval_spend(struct check *c, uint64_t steps)
{
	if (steps > c->steps)
		return eval_limit(c, -E2BIG, NO_VALUE, "too many steps");
	c->steps -= steps;
	return 0;
}

int
eval_pattern(struct check *c, uint32_t pattern, uint32_t at, const char *text, size_t len)
{
	const struct pattern *p = c->schema->pattern[pattern];
	int r = p == NULL ? 1 : pattern_match(p, text, len, &c->steps);

	return r >= 0 ? r : eval_limit(c, r, at, "a pattern needs too many steps");
}

/* ---- choice of a failure -------------------------------------------------- */

static uint32_t
depth_of(const struct check *c, uint32_t at)
{
	uint32_t depth = 0;

	while (c->tree.value[at].parent != NO_VALUE) {
		at = c->tree.value[at].parent;
		depth++;
	}
	return depth;
}

/* How far the alternative came before it failed: one whose `const` or `enum` failed
 * was not meant, and one that failed deeper inside has matched more. */
static uint32_t
score(const struct check *c, const struct failure *f)
{
	enum keyword_kind kind = f->rule[0]->keyword->kind;

	return (kind == KIND_VALUE ? 0 : 4 * MCP_DEPTH_MAX) + 2 * depth_of(c, f->at) +
	       (kind != KIND_TYPE);
}

void
failure_merge(const struct check *c, struct failure *best, const struct failure *f)
{
	enum keyword_kind kind = f->rule[0]->keyword->kind;

	if (best->rule_n == 0 || score(c, f) > score(c, best)) {
		*best = *f;
		return;
	}
	if (kind == KIND_OTHER || best->rule[0]->keyword->kind != kind ||
	    best->at != f->at || best->name != f->name)
		return;
	for (size_t i = 0; i < f->rule_n && best->rule_n < FAILURE_RULES; i++)
		best->rule[best->rule_n++] = f->rule[i];
}

/* ---- marks ---------------------------------------------------------------- */

void
marks_set(struct check *c, marks m, uint32_t child)
{
	if (m != 0)
		c->mark[m - 1 + child / 64] |= 1ull << (child % 64);
}

static size_t
words(uint32_t n)
{
	return ((size_t)n + 63) / 64;
}

void
marks_set_all(struct check *c, marks m, uint32_t n)
{
	if (m != 0)
		memset(c->mark + m - 1, 0xff, words(n) * sizeof(*c->mark));
}

bool
marks_has(const struct check *c, marks m, uint32_t child)
{
	return (c->mark[m - 1 + child / 64] >> (child % 64) & 1) != 0;
}

static int
marks_push(struct check *c, uint32_t n, marks *ret)
{
	size_t need = c->mark_n + words(n), cap = c->mark_cap == 0 ? 64 : c->mark_cap;
	uint64_t *more;
	int r = eval_spend(c, words(n));

	if (r < 0)
		return r;
	while (cap < need)
		cap *= 2;
	if (cap > MARKS_MAX)
		return eval_limit(c, -E2BIG, NO_VALUE, "too many items or members");
	if (cap > c->mark_cap) {
		more = realloc(c->mark, cap * sizeof(*more));
		if (more == NULL)
			return -ENOMEM;
		c->mark = more;
		c->mark_cap = cap;
	}
	memset(c->mark + c->mark_n, 0, words(n) * sizeof(*c->mark));
	*ret = c->mark_n + 1;
	c->mark_n = need;
	return 0;
}

/* What this schema has checked, its caller has. */
static void
marks_join(struct check *c, marks to, marks from, uint32_t n)
{
	for (size_t i = 0; to != 0 && from != 0 && i < words(n); i++)
		c->mark[to - 1 + i] |= c->mark[from - 1 + i];
}

/* ---- evaluation ----------------------------------------------------------- */

static int
check_rules(struct check *c, const struct node *node, uint32_t at, marks own)
{
	unsigned int type = TYPE_BIT(c->tree.value[at].type);
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < node->rule_n; i++) {
		const struct rule *rule = &c->schema->rule[node->rule + i];

		if ((rule->keyword->types & type) == 0)
			continue;
		r = eval_spend(c, 1);
		if (r == 0)
			r = rule->keyword->check(c, rule, at, own);
	}
	return r;
}

int
eval_value(struct check *c, uint32_t schema, uint32_t at, marks outer)
{
	const struct node *node = &c->schema->node[c->schema->node_of[schema]];
	uint32_t n = c->tree.value[at].n;
	size_t mark_n = c->mark_n;
	marks own = 0;
	int r = eval_spend(c, 1);

	if (r < 0)
		return r;
	if (c->schema->tree.value[schema].type == JSON_IS_FALSE)
		return eval_fail(c, &never, at, 0);
	if (c->depth == SCHEMA_DEPTH_MAX)
		return eval_limit(c, -E2BIG, at, "the schema is nested too deep");
	if (n > 0 && (outer != 0 || node->tracks))
		r = marks_push(c, n, &own);
	c->depth++;
	if (r == 0)
		r = check_rules(c, node, at, own);
	c->depth--;
	if (r == 0)
		marks_join(c, outer, own, n);
	c->mark_n = mark_n;
	return r;
}

/* ---- public --------------------------------------------------------------- */

static int
index_value(struct check *c, struct json value, struct line *why)
{
	uint32_t at;
	int r = value_tree_new(value, SCHEMA_VALUES_MAX, &c->tree, &at);

	if (at != NO_VALUE) {
		line_pointer(why, &c->tree, at);
		if (why->len > 0)
			line_put(why, ": ");
	}
	if (r == -EEXIST)
		line_put(why, "duplicate member");
	else if (r == -EILSEQ)
		line_put(why, "a member's name has a NUL or an unpaired surrogate");
	else if (r == -E2BIG)
		line_put(
		    why, "expected at most %u values, found more", SCHEMA_VALUES_MAX);
	return r == -EEXIST || r == -EILSEQ ? -EBADMSG : r;
}

static void
tell_limit(const struct check *c, int error, char why[SCHEMA_WHY_MAX])
{
	struct line line = {why, SCHEMA_WHY_MAX, 0};

	if (c->limit != NULL && c->limit_at != NO_VALUE)
		line_pointer(&line, &c->tree, c->limit_at);
	if (line.len > 0)
		line_put(&line, ": ");
	line_put(&line, "unable to check against the schema: %s",
	    error == -ENOMEM   ? "out of memory"
	    : c->limit == NULL ? "a limit is exceeded"
			       : c->limit);
}

int
schema_check(const struct schema *s, struct json value, char why[SCHEMA_WHY_MAX])
{
	struct check c = {.schema = s, .steps = SCHEMA_STEPS_MAX, .limit_at = NO_VALUE};
	struct line line = {why, SCHEMA_WHY_MAX, 0};
	int r;

	why[0] = '\0';
	r = index_value(&c, value, &line);
	if (r == 0) {
		r = eval_value(&c, 0, 0, 0);
		if (r == -EBADMSG)
			failure_tell(&c, why);
	}
	if (r < 0 && why[0] == '\0')
		tell_limit(&c, r, why);
	value_tree_free(&c.tree);
	free(c.mark);
	return r;
}
