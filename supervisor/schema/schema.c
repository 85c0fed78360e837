/*
 * Compiles a schema: each value that is a schema becomes a node, and each of its
 * keywords that can fail becomes a rule, in the order in which failures are told best:
 * types before values, values before members.
 *
 * A keyword whose value is invalid is reported and not checked.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/array.h"
#include "supervisor/schema/private.h"

#define WARNING_MAX 512

static const struct keyword_table *const tables[] = {
    &values_keywords, &bounds_keywords, &members_keywords, &items_keywords,
    &alternatives_keywords,
    &unevaluated_keywords, /* last: asks what all others have checked */
};

void
schema_warn(const struct schema *s, uint32_t value, const char *format, ...)
{
	char at[WARNING_MAX] = "", why[WARNING_MAX];
	struct line line = {at, sizeof(at), 0};
	va_list ap;

	if (s->warn == NULL)
		return;
	va_start(ap, format);
	(void)vsnprintf(why, sizeof(why), format, ap); /* may be cut */
	va_end(ap);
	line_pointer(&line, &s->tree, value);
	s->warn(s->warn_arg, at, why);
}

/* ---- nodes ---------------------------------------------------------------- */

static int
node_add(struct schema *s, uint32_t value)
{
	if (s->node_n == s->node_cap) {
		uint32_t cap = s->node_cap == 0 ? 16 : s->node_cap * 2;
		struct node *more = realloc(s->node, cap * sizeof(*more));

		if (more == NULL)
			return -ENOMEM;
		s->node = more;
		s->node_cap = cap;
	}
	s->node_of[value] = s->node_n;
	s->node[s->node_n++] = (struct node){.value = value};
	return 0;
}

int
schema_add(struct schema *s, uint32_t value)
{
	enum json_type type = s->tree.value[value].type;

	if (s->node_of[value] != NO_VALUE)
		return 0;
	if (type != JSON_IS_OBJECT && type != JSON_IS_TRUE && type != JSON_IS_FALSE)
		schema_warn(s, value, "expected a schema, found %s: not checked",
		    json_type_name(type));
	return node_add(s, value);
}

int
schema_add_each(struct schema *s, uint32_t container)
{
	const struct value *v = s->tree.value;
	int r = 0;

	for (uint32_t c = container + 1; r == 0 && c < v[container].next; c = v[c].next)
		r = schema_add(s, c);
	return r;
}

int
schema_add_pattern(struct schema *s, uint32_t value, const char *text, size_t len)
{
	char why[PATTERN_WHY_MAX], shown[PATTERN_WHY_MAX] = "";
	struct line line = {shown, sizeof(shown), 0};
	struct pattern *p = NULL;
	int r;

	if (s->pattern_n == PATTERNS_MAX)
		return -E2BIG;
	r = pattern_new(text, len, &p, why);
	if (r == -EINVAL) {
		line_quote(&line, text, len);
		schema_warn(s, value, "unable to check pattern `%s`: %s", shown, why);
		r = 0;
	}
	if (r == 0)
		s->pattern[s->pattern_n++] = p;
	return r;
}

/* ---- rules ---------------------------------------------------------------- */

static int
rule_add(struct schema *s, const struct rule *rule)
{
	if (s->rule_n == s->rule_cap) {
		uint32_t cap = s->rule_cap == 0 ? 32 : s->rule_cap * 2;
		struct rule *more = realloc(s->rule, cap * sizeof(*more));

		if (more == NULL)
			return -ENOMEM;
		s->rule = more;
		s->rule_cap = cap;
	}
	s->rule[s->rule_n++] = *rule;
	return 0;
}

static int
compile_keyword(struct schema *s, uint32_t node, const struct keyword *k)
{
	struct rule rule = {.keyword = k, .a = NO_VALUE, .b = NO_VALUE};
	uint32_t value = s->node[node].value;
	int r;

	rule.value = value_tree_named(&s->tree, value, k->name);
	if (rule.value == NO_VALUE)
		return 0;
	r = k->compile(s, value, &rule);
	if (r == -EINVAL) {
		schema_warn(s, rule.value, "invalid `%s`: not checked", k->name);
		return 0;
	}
	if (r <= 0)
		return r;
	s->node[node].tracks = s->node[node].tracks || k->tracks;
	s->node[node].rule_n++;
	return rule_add(s, &rule);
}

static int
compile_node(struct schema *s, uint32_t node)
{
	int r = 0;

	s->node[node].rule = s->rule_n;
	for (size_t t = 0; t < ARRAY_LEN(tables); t++)
		for (size_t i = 0; r == 0 && i < tables[t]->n; i++)
			r = compile_keyword(s, node, &tables[t]->row[i]);
	return r;
}

static int
compile(struct schema *s)
{
	enum json_type type = s->tree.value[0].type;
	int r;

	if (type != JSON_IS_OBJECT && type != JSON_IS_TRUE && type != JSON_IS_FALSE)
		return -EINVAL;
	s->node_of = malloc(s->tree.n * sizeof(*s->node_of));
	if (s->node_of == NULL)
		return -ENOMEM;
	memset(s->node_of, 0xff, s->tree.n * sizeof(*s->node_of)); /* NO_VALUE */
	r = places_new(s, &s->places);
	if (r == 0)
		r = schema_add(s, 0);
	/* A node adds those that it mentions. */
	for (uint32_t i = 0; r == 0 && i < s->node_n; i++)
		r = compile_node(s, i);
	return r;
}

int
schema_new(struct json schema, struct schema **ret, schema_warn_fn *warn, void *warn_arg)
{
	struct schema *s = calloc(1, sizeof(*s));
	uint32_t at;
	int r;

	if (s == NULL)
		return -ENOMEM;
	s->warn = warn;
	s->warn_arg = warn_arg;
	r = value_tree_new(schema, SCHEMA_SIZE_MAX, &s->tree, &at);
	if (r == 0)
		r = compile(s);
	places_free(s->places);
	s->places = NULL;
	s->warn = NULL;
	if (r == 0)
		*ret = s;
	else
		schema_free(s);
	return r;
}

void
schema_free(struct schema *s)
{
	if (s == NULL)
		return;
	for (uint32_t i = 0; i < s->pattern_n; i++)
		pattern_free(s->pattern[i]);
	value_tree_free(&s->tree);
	free(s->node_of);
	free(s->node);
	free(s->rule);
	free(s);
}
