/*
 * Keywords for objects.
 */
#include <errno.h>

#include "shim/base/array.h"
#include "supervisor/schema/private.h"

/* ---- required members ----------------------------------------------------- */

static bool
are_names(const struct value_tree *t, uint32_t array)
{
	if (t->value[array].type != JSON_IS_ARRAY)
		return false;
	for (uint32_t c = array + 1; c < t->value[array].next; c = t->value[c].next)
		if (t->value[c].type != JSON_IS_STRING || t->value[c].raw)
			return false;
	return true;
}

static int
compile_required(struct schema *s, uint32_t schema, struct rule *rule)
{
	return are_names(&s->tree, rule->value) ? 1 : -EINVAL;
}

/* Does the object have all members of this list? */
static int
check_names(struct check *c, const struct rule *rule, uint32_t list, uint32_t at)
{
	const struct value *v = c->schema->tree.value;
	int r;

	for (uint32_t i = list + 1; i < v[list].next; i = v[i].next) {
		r = eval_spend(c, 1 + c->tree.value[at].n / 16);
		if (r < 0)
			return r;
		if (value_tree_member(&c->tree, at, v[i].text, v[i].len) == NO_VALUE)
			return eval_fail(c, rule, at, i);
	}
	return 0;
}

static int
check_required(struct check *c, const struct rule *rule, uint32_t at, marks own)
{
	return check_names(c, rule, rule->value, at);
}

static void
tell_required(const struct check *c, const struct failure *f, struct line *line)
{
	const struct value *v = c->schema->tree.value, *name = &v[f->found];

	line_put(line, "missing member `");
	line_quote(line, name->text, name->len);
	line_put(line, "`");
	if (name->parent == f->rule[0]->value)
		return;
	line_put(line, ", which `"); /* a list that depends on a member */
	line_quote(line, v[name->parent].key, v[name->parent].key_len);
	line_put(line, "` requires");
}

/* ---- members that depend on one ------------------------------------------- */

static int
compile_dependent(struct schema *s, uint32_t schema, struct rule *rule, bool names)
{
	const struct value *v = s->tree.value;
	int r = 1;

	if (v[rule->value].type != JSON_IS_OBJECT)
		return -EINVAL;
	for (uint32_t c = rule->value + 1; r > 0 && c < v[rule->value].next;
	     c = v[c].next) {
		if (names && v[c].type == JSON_IS_ARRAY)
			r = are_names(&s->tree, c) ? 1 : -EINVAL;
		else
			r = schema_add(s, c) < 0 ? -ENOMEM : 1;
	}
	return r;
}

static int
compile_dependencies(struct schema *s, uint32_t schema, struct rule *rule)
{
	return compile_dependent(s, schema, rule, true);
}

static int
compile_schemas(struct schema *s, uint32_t schema, struct rule *rule)
{
	return compile_dependent(s, schema, rule, false);
}

static int
check_dependencies(struct check *c, const struct rule *rule, uint32_t at, marks own)
{
	const struct value_tree *t = &c->schema->tree;
	const struct value *v = t->value;
	int r = 0;

	for (uint32_t i = rule->value + 1; r == 0 && i < v[rule->value].next;
	     i = v[i].next) {
		r = eval_spend(c, 1 + c->tree.value[at].n / 16);
		if (r < 0 || value_tree_like(&c->tree, at, &v[i]) == NO_VALUE)
			continue;
		r = v[i].type == JSON_IS_ARRAY && c->schema->node_of[i] == NO_VALUE
			? check_names(c, rule, i, at)
			: eval_value(c, i, at, own);
	}
	return r;
}

/* ---- names ---------------------------------------------------------------- */

static int
compile_schema(struct schema *s, uint32_t schema, struct rule *rule)
{
	int r = schema_add(s, rule->value);

	return r < 0 ? r : 1;
}

/* The tree's spare value is each name in turn. A name has no members, so that one is
 * enough. */
static int
check_propertynames(struct check *c, const struct rule *rule, uint32_t at, marks own)
{
	struct value *v = c->tree.value;
	int r = 0;

	for (uint32_t i = at + 1; r == 0 && i < v[at].next; i = v[i].next) {
		v[c->tree.n] = (struct value){.text = v[i].key,
		    .len = v[i].key_len,
		    .next = c->tree.n + 1,
		    .parent = at,
		    .type = JSON_IS_STRING};
		c->named = i;
		r = eval_value(c, rule->value, c->tree.n, 0);
	}
	return r;
}

/* ---- members -------------------------------------------------------------- */

static int
compile_properties(struct schema *s, uint32_t schema, struct rule *rule)
{
	int r;

	if (s->tree.value[rule->value].type != JSON_IS_OBJECT)
		return -EINVAL;
	r = schema_add_each(s, rule->value);
	return r < 0 ? r : 1;
}

static int
check_properties(struct check *c, const struct rule *rule, uint32_t at, marks own)
{
	const struct value_tree *t = &c->schema->tree;
	const struct value *v = c->tree.value;
	uint32_t place = 0, schema;
	int r = 0;

	for (uint32_t i = at + 1; r == 0 && i < v[at].next; i = v[i].next, place++) {
		r = eval_spend(c, 1 + t->value[rule->value].n / 16);
		schema = value_tree_like(t, rule->value, &v[i]);
		if (r < 0 || schema == NO_VALUE)
			continue;
		marks_set(c, own, place);
		r = eval_value(c, schema, i, 0);
	}
	return r;
}

static int
compile_patterns(struct schema *s, uint32_t schema, struct rule *rule)
{
	const struct value *v = s->tree.value;
	int r = 0;

	if (v[rule->value].type != JSON_IS_OBJECT)
		return -EINVAL;
	rule->n = s->pattern_n;
	for (uint32_t c = rule->value + 1; r == 0 && c < v[rule->value].next;
	     c = v[c].next) {
		r = schema_add(s, c);
		if (r == 0)
			r = schema_add_pattern(s, c, v[c].key, v[c].key_len);
	}
	return r < 0 ? r : 1;
}

/* A pattern that cannot be checked may match any name; its schema is not checked. */
static int
check_patterns(struct check *c, const struct rule *rule, uint32_t at, marks own)
{
	const struct value *v = c->tree.value, *s = c->schema->tree.value;
	uint32_t place = 0;
	int r = 0;

	for (uint32_t i = at + 1; r == 0 && i < v[at].next; i = v[i].next, place++) {
		uint32_t pattern = rule->n;

		for (uint32_t p = rule->value + 1; r == 0 && p < s[rule->value].next;
		     p = s[p].next, pattern++) {
			r = eval_pattern(c, pattern, at, v[i].key, v[i].key_len);
			if (r <= 0)
				continue;
			marks_set(c, own, place);
			r = 0;
			if (c->schema->pattern[pattern] != NULL)
				r = eval_value(c, p, i, 0);
		}
	}
	return r;
}

/* ---- other members -------------------------------------------------------- */

static int
compile_additional(struct schema *s, uint32_t schema, struct rule *rule)
{
	uint32_t patterns = value_tree_named(&s->tree, schema, "patternProperties");

	rule->a = value_tree_named(&s->tree, schema, "properties");
	for (uint32_t i = s->rule_n; i-- > 0 && rule->b == NO_VALUE;) {
		if (patterns == NO_VALUE || s->rule[i].value != patterns)
			continue;
		rule->b = patterns;
		rule->n = s->rule[i].n;
	}
	return compile_schema(s, schema, rule);
}

/* 1: another keyword has checked this member. */
static int
is_known(struct check *c, const struct rule *rule, const struct value *v, uint32_t at)
{
	const struct value_tree *t = &c->schema->tree;
	uint32_t pattern = rule->n;
	int r = 0;

	if (rule->a != NO_VALUE) {
		r = eval_spend(c, 1 + t->value[rule->a].n / 16);
		if (r < 0 || value_tree_like(t, rule->a, v) != NO_VALUE)
			return r < 0 ? r : 1;
	}
	if (rule->b == NO_VALUE)
		return 0;
	for (uint32_t p = rule->b + 1; r == 0 && p < t->value[rule->b].next;
	     p = t->value[p].next)
		r = eval_pattern(c, pattern++, at, v->key, v->key_len);
	return r;
}

static int
check_additional(struct check *c, const struct rule *rule, uint32_t at, marks own)
{
	bool none = c->schema->tree.value[rule->value].type == JSON_IS_FALSE;
	const struct value *v = c->tree.value;
	uint32_t place = 0;
	int r = 0;

	for (uint32_t i = at + 1; r == 0 && i < v[at].next; i = v[i].next, place++) {
		r = is_known(c, rule, &v[i], at);
		if (r != 0) {
			r = r > 0 ? 0 : r;
			continue;
		}
		if (none)
			return eval_fail(c, rule, at, i);
		marks_set(c, own, place);
		r = eval_value(c, rule->value, i, 0);
	}
	return r;
}

static void
tell_unexpected(const struct check *c, const struct failure *f, struct line *line)
{
	const struct value *v = &c->tree.value[f->found];

	line_put(line, "unexpected member `");
	line_quote(line, v->key, v->key_len);
	line_put(line, "`");
}

/* ---- table ---------------------------------------------------------------- */

static const struct keyword rows[] = {
    {"dependentRequired", FOR_OBJECT, compile_dependencies, check_dependencies,
	tell_required},
    {"dependencies", FOR_OBJECT, compile_dependencies, check_dependencies, tell_required},
    {"propertyNames", FOR_OBJECT, compile_schema, check_propertynames, NULL},
    {"properties", FOR_OBJECT, compile_properties, check_properties, NULL},
    /* after properties: a `const` in them distinguishes alternatives */
    {"required", FOR_OBJECT, compile_required, check_required, tell_required},
    {"patternProperties", FOR_OBJECT, compile_patterns, check_patterns, NULL},
    {"additionalProperties", FOR_OBJECT, compile_additional, check_additional,
	tell_unexpected},
    {"dependentSchemas", FOR_OBJECT, compile_schemas, check_dependencies, NULL},
};
const struct keyword_table members_keywords = {rows, ARRAY_LEN(rows)};
