/*
 * Keywords for arrays.
 */
#include <errno.h>

#include "shim/base/array.h"
#include "supervisor/schema/private.h"

/* ---- items by their place ------------------------------------------------- */

static int
compile_prefix(struct schema *s, uint32_t schema, struct rule *rule)
{
	int r;

	if (s->tree.value[rule->value].type != JSON_IS_ARRAY)
		return -EINVAL;
	r = schema_add_each(s, rule->value);
	return r < 0 ? r : 1;
}

static int
check_prefix(struct check *c, const struct rule *rule, uint32_t at, marks own)
{
	const struct value *v = c->tree.value, *s = c->schema->tree.value;
	uint32_t item = at + 1, place = 0;
	int r = 0;

	for (uint32_t p = rule->value + 1;
	     r == 0 && p < s[rule->value].next && item < v[at].next; p = s[p].next) {
		marks_set(c, own, place++);
		r = eval_value(c, p, item, 0);
		item = v[item].next;
	}
	return r;
}

/* ---- all others ----------------------------------------------------------- */

static uint32_t
count_prefix(const struct schema *s, uint32_t schema, const char *name)
{
	uint32_t prefix = value_tree_named(&s->tree, schema, name);

	return prefix != NO_VALUE && s->tree.value[prefix].type == JSON_IS_ARRAY
		   ? s->tree.value[prefix].n
		   : 0;
}

/* In draft-07, an array is what `prefixItems` is now. */
static int
compile_items(struct schema *s, uint32_t schema, struct rule *rule)
{
	int r;

	if (s->tree.value[rule->value].type == JSON_IS_ARRAY) {
		rule->a = rule->value;
		return compile_prefix(s, schema, rule);
	}
	rule->n = count_prefix(s, schema, "prefixItems");
	r = schema_add(s, rule->value);
	return r < 0 ? r : 1;
}

static int
compile_additional(struct schema *s, uint32_t schema, struct rule *rule)
{
	uint32_t items = value_tree_named(&s->tree, schema, "items");
	int r;

	if (items == NO_VALUE || s->tree.value[items].type != JSON_IS_ARRAY)
		return 0;
	rule->n = count_prefix(s, schema, "items");
	r = schema_add(s, rule->value);
	return r < 0 ? r : 1;
}

static int
check_items(struct check *c, const struct rule *rule, uint32_t at, marks own)
{
	bool none = c->schema->tree.value[rule->value].type == JSON_IS_FALSE;
	const struct value *v = c->tree.value;
	uint32_t place = 0;
	int r = 0;

	if (rule->a != NO_VALUE)
		return check_prefix(c, rule, at, own);
	if (none && v[at].n > rule->n)
		return eval_fail(c, rule, at, v[at].n);
	for (uint32_t i = at + 1; r == 0 && i < v[at].next; i = v[i].next, place++) {
		if (place < rule->n)
			continue;
		marks_set(c, own, place);
		r = eval_value(c, rule->value, i, 0);
	}
	return r;
}

static void
tell_items(const struct check *c, const struct failure *f, struct line *line)
{
	uint32_t n = f->rule[0]->n;

	line_put(
	    line, "expected at most %u item%s, found %u", n, n == 1 ? "" : "s", f->found);
}

/* ---- contains ------------------------------------------------------------- */

static void
read_count(const struct schema *s, uint32_t schema, const char *name, uint32_t *count)
{
	uint32_t at = value_tree_named(&s->tree, schema, name);

	if (at != NO_VALUE && decimal_count(&s->tree.value[at], count) < 0)
		schema_warn(s, at, "invalid `%s`: not checked", name);
}

static int
compile_contains(struct schema *s, uint32_t schema, struct rule *rule)
{
	int r;

	rule->n = 1;
	rule->most = UINT32_MAX;
	read_count(s, schema, "minContains", &rule->n);
	read_count(s, schema, "maxContains", &rule->most);
	r = schema_add(s, rule->value);
	return r < 0 ? r : 1;
}

static int
check_contains(struct check *c, const struct rule *rule, uint32_t at, marks own)
{
	const struct value *v = c->tree.value;
	uint32_t place = 0, n = 0;
	int r;

	for (uint32_t i = at + 1; i < v[at].next; i = v[i].next, place++) {
		r = eval_value(c, rule->value, i, 0);
		if (r < 0 && r != -EBADMSG)
			return r;
		if (r < 0)
			continue;
		marks_set(c, own, place);
		n++;
	}
	return n >= rule->n && n <= rule->most ? 0 : eval_fail(c, rule, at, n);
}

static void
tell_contains(const struct check *c, const struct failure *f, struct line *line)
{
	const struct rule *rule = f->rule[0];
	bool few = f->found < rule->n;
	uint32_t n = few ? rule->n : rule->most;

	line_put(line, "expected at %s %u item%s that %s `contains`, found %u",
	    few ? "least" : "most", n, n == 1 ? "" : "s", n == 1 ? "matches" : "match",
	    f->found);
}

/* ---- uniqueItems ---------------------------------------------------------- */

static int
compile_unique(struct schema *s, uint32_t schema, struct rule *rule)
{
	enum json_type type = s->tree.value[rule->value].type;

	return type == JSON_IS_TRUE ? 1 : type == JSON_IS_FALSE ? 0 : -EINVAL;
}

static int
check_unique(struct check *c, const struct rule *rule, uint32_t at, marks own)
{
	uint32_t one, two;
	int r = equal_items(c, at, &one, &two);

	if (r <= 0)
		return r;
	r = eval_fail(c, rule, at, one);
	c->failure.second = two;
	return r;
}

static void
tell_unique(const struct check *c, const struct failure *f, struct line *line)
{
	line_put(line, "expected items that differ, found items %u and %u equal",
	    f->found, f->second);
}

/* ---- table ---------------------------------------------------------------- */

static const struct keyword rows[] = {
    {"prefixItems", FOR_ARRAY, compile_prefix, check_prefix, NULL},
    {"items", FOR_ARRAY, compile_items, check_items, tell_items},
    {"additionalItems", FOR_ARRAY, compile_additional, check_items, tell_items},
    {"contains", FOR_ARRAY, compile_contains, check_contains, tell_contains},
    {"uniqueItems", FOR_ARRAY, compile_unique, check_unique, tell_unique},
};
const struct keyword_table items_keywords = {rows, ARRAY_LEN(rows)};
