/*
 * Members and items that no other keyword of a schema, nor of the schemas that it
 * combines, has checked.
 */
#include "shim/base/array.h"
#include "supervisor/schema/private.h"

static int
compile_unevaluated(struct schema *s, uint32_t schema, struct rule *rule)
{
	int r = schema_add(s, rule->value);

	return r < 0 ? r : 1;
}

static int
check_unevaluated(struct check *c, const struct rule *rule, uint32_t at, marks own)
{
	bool none = c->schema->tree.value[rule->value].type == JSON_IS_FALSE;
	const struct value *v = c->tree.value;
	uint32_t place = 0;
	int r = 0;

	if (v[at].n == 0)
		return 0;
	for (uint32_t i = at + 1; r == 0 && i < v[at].next; i = v[i].next, place++) {
		if (marks_has(c, own, place))
			continue;
		r = none ? eval_fail(c, rule, at, i) : eval_value(c, rule->value, i, 0);
	}
	if (r == 0)
		marks_set_all(c, own, v[at].n);
	return r;
}

static void
tell_unevaluated(const struct check *c, const struct failure *f, struct line *line)
{
	const struct value *v = c->tree.value, *found = &v[f->found];
	uint32_t place = 0;

	if (found->key != NULL) {
		line_put(line, "unexpected member `");
		line_quote(line, found->key, found->key_len);
		line_put(line, "`");
		return;
	}
	for (uint32_t i = f->at + 1; i < f->found; i = v[i].next)
		place++;
	line_put(line, "unexpected item %u", place);
}

static const struct keyword rows[] = {
    {"unevaluatedProperties", FOR_OBJECT, compile_unevaluated, check_unevaluated,
	tell_unevaluated, .tracks = true},
    {"unevaluatedItems", FOR_ARRAY, compile_unevaluated, check_unevaluated,
	tell_unevaluated, .tracks = true},
};
const struct keyword_table unevaluated_keywords = {rows, ARRAY_LEN(rows)};
