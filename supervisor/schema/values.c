/*
 * The keywords `type`, `enum`, `const` and `pattern`.
 */
#include <errno.h>

#include "shim/base/array.h"
#include "supervisor/schema/private.h"

#define VALUES_SHOWN 8 /* of an enum */

/* ---- type ----------------------------------------------------------------- */

static const struct type_word {
	const char *word, *shown;
	unsigned int bits;
} type_words[] = {
    {"string", "a string", TYPE_BIT(JSON_IS_STRING)},
    {"integer", "an integer", TYPE_INTEGER},
    {"number", "a number", TYPE_BIT(JSON_IS_NUMBER)},
    {"boolean", "a boolean", TYPE_BIT(JSON_IS_TRUE) | TYPE_BIT(JSON_IS_FALSE)},
    {"object", "an object", TYPE_BIT(JSON_IS_OBJECT)},
    {"array", "an array", TYPE_BIT(JSON_IS_ARRAY)},
    {"null", "null", TYPE_BIT(JSON_IS_NULL)},
};

static unsigned int
type_bits(const struct value *v)
{
	for (size_t i = 0; i < ARRAY_LEN(type_words); i++)
		if (value_tree_text_is(v, type_words[i].word))
			return type_words[i].bits;
	return 0;
}

/* `nullable: true` of OpenAPI 3.0, beside `type`: generated servers have it, and the
 * validator of the common client takes null. An `enum` or `const` must name null as well. */
static unsigned int
nullable_bits(const struct schema *s, uint32_t schema)
{
	uint32_t v = value_tree_named(&s->tree, schema, "nullable");

	if (v == NO_VALUE || s->tree.value[v].type != JSON_IS_TRUE)
		return 0;
	return TYPE_BIT(JSON_IS_NULL);
}

static int
compile_type(struct schema *s, uint32_t schema, struct rule *rule)
{
	const struct value *v = &s->tree.value[rule->value];
	unsigned int bits;

	rule->n = nullable_bits(s, schema);
	if (v->type != JSON_IS_ARRAY) {
		bits = type_bits(v);
		rule->n |= bits;
		return bits == 0 ? -EINVAL : 1;
	}
	for (uint32_t c = rule->value + 1; c < v->next; c = s->tree.value[c].next) {
		bits = type_bits(&s->tree.value[c]);
		if (bits == 0)
			return -EINVAL;
		rule->n |= bits;
	}
	return v->n == 0 ? -EINVAL : 1;
}

static int
check_type(struct check *c, const struct rule *rule, uint32_t at, marks own)
{
	const struct value *v = &c->tree.value[at];
	bool integer = false;

	if ((rule->n & TYPE_BIT(v->type)) != 0)
		return 0;
	if (v->type == JSON_IS_NUMBER && (rule->n & TYPE_INTEGER) != 0 &&
	    decimal_integer(v, &integer) < 0)
		return eval_limit(c, -E2BIG, at, "a number has too large an exponent");
	return integer ? 0 : eval_fail(c, rule, at, 0);
}

static void
tell_type(const struct check *c, const struct failure *f, struct line *line)
{
	enum json_type type = c->tree.value[f->at].type;
	const char *shown[ARRAY_LEN(type_words)];
	unsigned int bits = 0;
	size_t n = 0;

	for (size_t i = 0; i < f->rule_n; i++)
		bits |= f->rule[i]->n;
	for (size_t i = 0; i < ARRAY_LEN(type_words); i++)
		if ((bits & type_words[i].bits) != 0)
			shown[n++] = type_words[i].shown;
	line_put(line, "expected ");
	for (size_t i = 0; i < n; i++)
		line_put(line, "%s%s",
		    i == 0       ? ""
		    : i + 1 == n ? " or "
				 : ", ",
		    shown[i]);
	line_put(line, ", found %s",
	    f->name ? "a name"
	    : type == JSON_IS_NUMBER
		? (bits & TYPE_INTEGER) != 0 ? "a number with a fraction" : "a number"
		: json_type_name(type));
}

/* ---- enum, const ---------------------------------------------------------- */

static int
compile_enum(struct schema *s, uint32_t schema, struct rule *rule)
{
	return s->tree.value[rule->value].type == JSON_IS_ARRAY ? 1 : -EINVAL;
}

static int
check_enum(struct check *c, const struct rule *rule, uint32_t at, marks own)
{
	const struct value *v = c->schema->tree.value;
	int r = 0;

	for (uint32_t i = rule->value + 1; r == 0 && i < v[rule->value].next;
	     i = v[i].next) {
		r = eval_spend(c, 1);
		if (r == 0)
			r = equal_values(c, at, &c->schema->tree, i);
	}
	return r < 0 ? r : r > 0 ? 0 : eval_fail(c, rule, at, 0);
}

static int
compile_const(struct schema *s, uint32_t schema, struct rule *rule)
{
	return 1;
}

static int
check_const(struct check *c, const struct rule *rule, uint32_t at, marks own)
{
	int r = equal_values(c, at, &c->schema->tree, rule->value);

	return r < 0 ? r : r > 0 ? 0 : eval_fail(c, rule, at, 0);
}

static void
put_value(struct line *line, const struct value *v)
{
	if (v->type == JSON_IS_STRING) {
		line_put(line, "\"");
		line_quote(line, v->text, v->len);
		line_put(line, "\"");
	} else if (v->type == JSON_IS_OBJECT || v->type == JSON_IS_ARRAY)
		line_put(line, "%s of the schema", json_type_name(v->type));
	else
		line_quote(line, v->text, v->len);
}

/* The values of all alternatives, as places in the schema; returns how many. */
static size_t
collect_values(
    const struct check *c, const struct failure *f, uint32_t *value, size_t max)
{
	const struct value *v = c->schema->tree.value;
	size_t n = 0;

	for (size_t i = 0; i < f->rule_n; i++) {
		const struct rule *rule = f->rule[i];

		if (rule->keyword->check == check_const && n < max)
			value[n++] = rule->value;
		if (rule->keyword->check == check_const)
			continue;
		for (uint32_t at = rule->value + 1; n < max && at < v[rule->value].next;
		     at = v[at].next)
			value[n++] = at;
	}
	return n;
}

static void
tell_values(const struct check *c, const struct failure *f, struct line *line)
{
	static const char *const another[] = {[JSON_IS_STRING] = "another string",
	    [JSON_IS_NUMBER] = "another number",
	    [JSON_IS_OBJECT] = "another object",
	    [JSON_IS_ARRAY] = "another array",
	    [JSON_IS_NULL] = NULL};
	const struct value *found = &c->tree.value[f->at];
	uint32_t value[VALUES_SHOWN + 1];
	size_t n = collect_values(c, f, value, VALUES_SHOWN + 1);
	const char *other = json_type_name(found->type);
	enum json_type type = f->name ? JSON_IS_STRING : found->type;

	line_put(line, n == 0 ? "expected no value" : "expected ");
	for (size_t i = 0; i < n && i < VALUES_SHOWN; i++) {
		line_put(line, "%s", i == 0 ? "" : i + 1 == n ? " or " : ", ");
		put_value(line, &c->schema->tree.value[value[i]]);
	}
	if (n > VALUES_SHOWN)
		line_put(line, ", ...");
	for (size_t i = 0; i < n; i++)
		if (c->schema->tree.value[value[i]].type == type)
			other = another[type] != NULL ? another[type] : other;
	line_put(line, ", found %s", f->name ? "another name" : other);
}

/* ---- pattern -------------------------------------------------------------- */

static int
compile_pattern(struct schema *s, uint32_t schema, struct rule *rule)
{
	const struct value *v = &s->tree.value[rule->value];
	int r;

	if (v->type != JSON_IS_STRING || v->raw)
		return -EINVAL;
	rule->n = s->pattern_n;
	r = schema_add_pattern(s, rule->value, v->text, v->len);
	return r < 0 ? r : s->pattern[rule->n] != NULL;
}

static int
check_pattern(struct check *c, const struct rule *rule, uint32_t at, marks own)
{
	const struct value *v = &c->tree.value[at];
	int r;

	if (v->raw)
		return eval_limit(
		    c, -E2BIG, at, "a string has a NUL or an unpaired surrogate");
	r = eval_pattern(c, rule->n, at, v->text, v->len);
	return r < 0 ? r : r > 0 ? 0 : eval_fail(c, rule, at, 0);
}

static void
tell_pattern(const struct check *c, const struct failure *f, struct line *line)
{
	const struct value *v = &c->schema->tree.value[f->rule[0]->value];

	line_put(line, "expected a string that matches `");
	line_quote(line, v->text, v->len);
	line_put(line, "`, found one that does not");
}

/* ---- table ---------------------------------------------------------------- */

static const struct keyword rows[] = {
    {"type", FOR_ANY, compile_type, check_type, tell_type, .kind = KIND_TYPE},
    {"const", FOR_ANY, compile_const, check_const, tell_values, .kind = KIND_VALUE},
    {"enum", FOR_ANY, compile_enum, check_enum, tell_values, .kind = KIND_VALUE},
    {"pattern", FOR_STRING, compile_pattern, check_pattern, tell_pattern},
};
const struct keyword_table values_keywords = {rows, ARRAY_LEN(rows)};
