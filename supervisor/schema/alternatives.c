/*
 * Keywords that combine schemas, and references. A reference may lead to a schema that
 * leads back: the depth and the steps of a check bound it.
 */
#include <errno.h>

#include "shim/base/array.h"
#include "supervisor/schema/private.h"

/* ---- references ----------------------------------------------------------- */

static int
compile_ref(struct schema *s, uint32_t schema, struct rule *rule)
{
	const struct value *v = &s->tree.value[rule->value];
	char shown[100] = "";
	struct line line = {shown, sizeof(shown), 0};
	int r;

	if (v->type != JSON_IS_STRING || v->raw)
		return -EINVAL;
	r = places_find(s, schema, v, &rule->a);
	if (r == 0)
		r = schema_add(s, rule->a);
	else if (r == -ENOENT || r == -EXDEV) {
		line_quote(&line, v->text, v->len);
		schema_warn(s, rule->value, "unable to check `%s` `%s`: %s",
		    rule->keyword->name, shown,
		    r == -EXDEV ? "it leads out of the schema"
				: "the schema does not have it");
		rule->a = NO_VALUE;
		r = 0;
	}
	return r < 0 ? r : 1;
}

static int
check_ref(struct check *c, const struct rule *rule, uint32_t at, marks own)
{
	if (rule->a != NO_VALUE)
		return eval_value(c, rule->a, at, own);
	marks_set_all(c, own, c->tree.value[at].n); /* unknown: it may have */
	return 0;
}

/* ---- allOf, anyOf, oneOf, not --------------------------------------------- */

static int
compile_list(struct schema *s, uint32_t schema, struct rule *rule)
{
	const struct value *v = &s->tree.value[rule->value];
	int r;

	if (v->type != JSON_IS_ARRAY || v->n == 0)
		return -EINVAL;
	r = schema_add_each(s, rule->value);
	return r < 0 ? r : 1;
}

static int
check_all(struct check *c, const struct rule *rule, uint32_t at, marks own)
{
	const struct value *s = c->schema->tree.value;
	int r = 0;

	for (uint32_t i = rule->value + 1; r == 0 && i < s[rule->value].next;
	     i = s[i].next)
		r = eval_value(c, i, at, own);
	return r;
}

/* How many alternatives match: up to `enough`, or all, if their marks are wanted. */
static int
count_matches(struct check *c, const struct rule *rule, uint32_t at, marks own,
    uint32_t enough, uint32_t *ret)
{
	const struct value *s = c->schema->tree.value;
	struct failure best = {0};
	uint32_t n = 0;
	int r;

	for (uint32_t i = rule->value + 1;
	     (n < enough || own != 0) && i < s[rule->value].next; i = s[i].next) {
		r = eval_value(c, i, at, own);
		if (r == 0)
			n++;
		else if (r == -EBADMSG)
			failure_merge(c, &best, &c->failure);
		else
			return r;
	}
	if (n == 0)
		c->failure = best;
	*ret = n;
	return n == 0 ? -EBADMSG : 0;
}

static int
check_any(struct check *c, const struct rule *rule, uint32_t at, marks own)
{
	uint32_t n = 0;

	return count_matches(c, rule, at, own, 1, &n);
}

static int
check_one(struct check *c, const struct rule *rule, uint32_t at, marks own)
{
	uint32_t n = 0;
	int r = count_matches(c, rule, at, own, 2, &n);

	return r < 0 || n == 1 ? r : eval_fail(c, rule, at, 0);
}

static void
tell_one(const struct check *c, const struct failure *f, struct line *line)
{
	line_put(line, "expected a value that matches one schema of `oneOf`, found one "
		       "that matches several");
}

static int
compile_one(struct schema *s, uint32_t schema, struct rule *rule)
{
	int r = schema_add(s, rule->value);

	return r < 0 ? r : 1;
}

static int
check_not(struct check *c, const struct rule *rule, uint32_t at, marks own)
{
	int r = eval_value(c, rule->value, at, 0);

	return r == 0 ? eval_fail(c, rule, at, 0) : r == -EBADMSG ? 0 : r;
}

static void
tell_not(const struct check *c, const struct failure *f, struct line *line)
{
	line_put(line, "expected a value that does not match the schema of `not`, found "
		       "one that does");
}

/* ---- if, then, else ------------------------------------------------------- */

static int
compile_if(struct schema *s, uint32_t schema, struct rule *rule)
{
	int r = schema_add(s, rule->value);

	rule->a = value_tree_named(&s->tree, schema, "then");
	rule->b = value_tree_named(&s->tree, schema, "else");
	if (r == 0 && rule->a != NO_VALUE)
		r = schema_add(s, rule->a);
	if (r == 0 && rule->b != NO_VALUE)
		r = schema_add(s, rule->b);
	return r < 0 ? r : 1;
}

static int
check_if(struct check *c, const struct rule *rule, uint32_t at, marks own)
{
	int r = eval_value(c, rule->value, at, own);
	uint32_t next = r == 0 ? rule->a : rule->b;

	if (r < 0 && r != -EBADMSG)
		return r;
	return next == NO_VALUE ? 0 : eval_value(c, next, at, own);
}

/* ---- table ---------------------------------------------------------------- */

static const struct keyword rows[] = {
    {"$ref", FOR_ANY, compile_ref, check_ref, NULL},
    {"$dynamicRef", FOR_ANY, compile_ref, check_ref, NULL},
    {"$recursiveRef", FOR_ANY, compile_ref, check_ref, NULL},
    {"allOf", FOR_ANY, compile_list, check_all, NULL},
    {"anyOf", FOR_ANY, compile_list, check_any, NULL},
    {"oneOf", FOR_ANY, compile_list, check_one, tell_one},
    {"not", FOR_ANY, compile_one, check_not, tell_not},
    {"if", FOR_ANY, compile_if, check_if, NULL},
};
const struct keyword_table alternatives_keywords = {rows, ARRAY_LEN(rows)};
