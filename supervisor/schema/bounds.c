/*
 * Limits of numbers, of lengths and of counts.
 */
#include <errno.h>

#include "shim/base/array.h"
#include "supervisor/schema/private.h"

/* ---- numbers -------------------------------------------------------------- */

static int
compile_limit(struct schema *s, uint32_t schema, struct rule *rule)
{
	return s->tree.value[rule->value].type == JSON_IS_NUMBER ? 1 : -EINVAL;
}

static int
too_large(struct check *c, uint32_t at)
{
	return eval_limit(c, -E2BIG, at, "a number has too large an exponent");
}

static int
check_number(struct check *c, const struct rule *rule, uint32_t at, marks own)
{
	const struct keyword *k = rule->keyword;
	const struct value *v = &c->tree.value[at];
	int order, r = eval_spend(c, v->len / 64);

	if (r < 0)
		return r;
	if (decimal_order(v, &c->schema->tree.value[rule->value], &order) < 0)
		return too_large(c, at);
	if (!k->at_least)
		order = -order;
	return order > 0 || (order == 0 && !k->strict) ? 0 : eval_fail(c, rule, at, 0);
}

static void
tell_number(const struct check *c, const struct failure *f, struct line *line)
{
	const struct keyword *k = f->rule[0]->keyword;
	const struct value *v = &c->schema->tree.value[f->rule[0]->value];

	line_put(line, "expected a number of %s ",
	    k->at_least ? k->strict ? "more than" : "at least"
	    : k->strict ? "less than"
			: "at most");
	line_quote(line, v->text, v->len);
	line_put(line, ", found a %s%s one", k->at_least ? "smaller" : "greater",
	    k->strict ? " or equal" : "");
}

static int
compile_multiple(struct schema *s, uint32_t schema, struct rule *rule)
{
	const struct value *v = &s->tree.value[rule->value];
	struct divisor d;

	return v->type == JSON_IS_NUMBER && decimal_divisor(v, &d) == 0 ? 1 : -EINVAL;
}

static int
check_multiple(struct check *c, const struct rule *rule, uint32_t at, marks own)
{
	const struct value *v = &c->tree.value[at];
	struct divisor d;
	bool multiple;
	int r = eval_spend(c, v->len / 64);

	if (r < 0)
		return r;
	if (decimal_divisor(&c->schema->tree.value[rule->value], &d) < 0 ||
	    decimal_multiple(v, &d, &multiple) < 0)
		return too_large(c, at);
	return multiple ? 0 : eval_fail(c, rule, at, 0);
}

static void
tell_multiple(const struct check *c, const struct failure *f, struct line *line)
{
	const struct value *v = &c->schema->tree.value[f->rule[0]->value];

	line_put(line, "expected a multiple of ");
	line_quote(line, v->text, v->len);
	line_put(line, ", found another number");
}

/* ---- counts --------------------------------------------------------------- */

static int
compile_count(struct schema *s, uint32_t schema, struct rule *rule)
{
	return decimal_count(&s->tree.value[rule->value], &rule->n) < 0 ? -EINVAL : 1;
}

/* Code points. As sent, an escape is one, and two are the halves of one. */
static uint32_t
length(const struct value *v)
{
	const uint8_t *p = (const uint8_t *)v->text, *end = p + v->len;
	int32_t before = 0, code;
	uint32_t n = 0;

	for (; p < end; p++) {
		code = 0;
		if (v->raw && *p == '\\') {
			p++;
			if (*p == 'u') {
				code = json_hex4(p + 1, end);
				p += 4;
			}
		} else if ((*p & 0xc0) == 0x80)
			continue;
		n += !(before >= 0xd800 && before < 0xdc00 && code >= 0xdc00 &&
		       code < 0xe000);
		before = code;
	}
	return n;
}

static int
check_count(struct check *c, const struct rule *rule, uint32_t at, marks own)
{
	const struct value *v = &c->tree.value[at];
	uint32_t n = v->n;
	int r = 0;

	if (v->type == JSON_IS_STRING) {
		r = eval_spend(c, v->len / 64);
		n = length(v);
	}
	if (r < 0)
		return r;
	if (rule->keyword->at_least ? n >= rule->n : n <= rule->n)
		return 0;
	return eval_fail(c, rule, at, n);
}

static void
tell_count(const struct check *c, const struct failure *f, struct line *line)
{
	const struct rule *rule = f->rule[0];
	const struct keyword *k = rule->keyword;

	line_put(line, "expected at %s %u %s%s, found ", k->at_least ? "least" : "most",
	    rule->n, k->unit, rule->n == 1 ? "" : "s");
	if (k->types == FOR_STRING) /* the length of a secret says something about it */
		line_put(line, "%s", k->at_least ? "fewer" : "more");
	else
		line_put(line, "%u", f->found);
}

/* ---- table ---------------------------------------------------------------- */

#define LIMIT(name, at_least, strict) \
	{ \
		name, FOR_NUMBER, compile_limit, check_number, tell_number, KIND_OTHER, \
		    at_least, strict \
	}
#define COUNT(name, types, at_least, unit) \
	{ \
		name, types, compile_count, check_count, tell_count, KIND_OTHER, \
		    at_least, false, unit \
	}

static const struct keyword rows[] = {
    LIMIT("minimum", true, false),
    LIMIT("maximum", false, false),
    LIMIT("exclusiveMinimum", true, true),
    LIMIT("exclusiveMaximum", false, true),
    {"multipleOf", FOR_NUMBER, compile_multiple, check_multiple, tell_multiple},
    COUNT("minLength", FOR_STRING, true, "character"),
    COUNT("maxLength", FOR_STRING, false, "character"),
    COUNT("minItems", FOR_ARRAY, true, "item"),
    COUNT("maxItems", FOR_ARRAY, false, "item"),
    COUNT("minProperties", FOR_OBJECT, true, "member"),
    COUNT("maxProperties", FOR_OBJECT, false, "member"),
};
const struct keyword_table bounds_keywords = {rows, ARRAY_LEN(rows)};
