/*
 * The text about a value that does not match. It contains names and values of the
 * schema and names of the arguments' members; never a value of the arguments, which
 * may be a secret.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "shim/base/log.h"
#include "supervisor/schema/private.h"

#define QUOTE_MAX   80  /* characters of foreign text */
#define POINTER_MAX 480 /* characters of a pointer */

void
line_put(struct line *l, const char *format, ...)
{
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(l->text + l->len, l->cap - l->len, format, ap);
	va_end(ap);
	if (n > 0)
		l->len += (size_t)n;
	if (l->len >= l->cap)
		l->len = l->cap - 1;
}

void
line_quote(struct line *l, const char *text, size_t len)
{
	char quoted[QUOTE_MAX + 1];
	size_t n = len;

	(void)log_quote(quoted, sizeof(quoted), text, n);
	line_put(l, "%s%s", quoted, strlen(quoted) < len ? "..." : "");
}

static void
put_token(struct line *l, const struct value_tree *t, uint32_t value)
{
	const struct value *v = &t->value[value];
	char token[QUOTE_MAX];
	uint32_t place = 0;
	size_t n = 0;

	if (v->key == NULL) {
		for (uint32_t c = v->parent + 1; c < value; c = t->value[c].next)
			place++;
		line_put(l, "/%u", place);
		return;
	}
	for (uint32_t i = 0; i < v->key_len && n + 2 < sizeof(token); i++) {
		char c = v->key[i];

		if (c == '~' || c == '/')
			token[n++] = '~';
		token[n++] = (char)(c == '~' ? '0' : c == '/' ? '1' : c);
	}
	line_put(l, "/");
	line_quote(l, token, n);
}

void
line_pointer(struct line *l, const struct value_tree *t, uint32_t value)
{
	uint32_t path[MCP_DEPTH_MAX + 1];
	size_t n = 0, from = l->len;

	while (t->value[value].parent != NO_VALUE && n < MCP_DEPTH_MAX) {
		path[n++] = value;
		value = t->value[value].parent;
	}
	while (n > 0 && l->len - from < POINTER_MAX)
		put_token(l, t, path[--n]);
	if (n > 0)
		line_put(l, "/...");
}

void
failure_tell(const struct check *c, char why[SCHEMA_WHY_MAX])
{
	const struct failure *f = &c->failure;
	struct line line = {why, SCHEMA_WHY_MAX, 0};
	const struct value *v = &c->tree.value[f->at];

	line_pointer(&line, &c->tree, f->name ? v->parent : f->at);
	if (line.len > 0)
		line_put(&line, ": ");
	if (f->name) {
		line_put(&line, "invalid name of member `");
		line_quote(&line, v->key, v->key_len);
		line_put(&line, "`: ");
	}
	if (f->rule[0]->keyword->tell != NULL)
		f->rule[0]->keyword->tell(c, f, &line);
	else
		line_put(&line, "expected no value, found %s",
		    f->name ? "a name" : json_type_name(v->type));
}
