#include "supervisor/import/redact.h"

#include <string.h>
#include <strings.h>

#include "shim/base/array.h"
#include "supervisor/registry/secret_shaped.h"

bool
redact_looks_secret(const char *name, const char *value)
{
	static const char *const part[] = {
	    "TOKEN", "SECRET", "KEY", "PASS", "CREDENTIAL", "AUTH", "DSN"};

	for (size_t i = 0; name != NULL && i < ARRAY_LEN(part); i++)
		if (strcasestr(name, part[i]) != NULL)
			return true;
	if (value == NULL)
		return false;
	return secret_shaped(value) || (name != NULL && secret_shaped_value(name, value));
}

/* The value of an argument before it: --token VALUE. */
static bool
is_argument(const struct config_tree *t, size_t i)
{
	const char *words[2];

	if (i == 0 || t->node[i].key != NULL || t->node[i - 1].text == NULL ||
	    t->node[i - 1].key != NULL)
		return false;
	words[0] = t->node[i - 1].text;
	words[1] = t->node[i].text;
	return secret_shaped_args(words, 2) == 1;
}

static bool
is_secret(const struct config_tree *t, size_t i)
{
	const struct config_node *n = &t->node[i];

	if (n->type != NODE_STRING && n->type != NODE_OTHER)
		return false;
	if (n->text == NULL)
		return n->type == NODE_STRING;
	return redact_looks_secret(n->key, n->text) || is_argument(t, i);
}

int
redact(const struct config_tree *t, size_t from, size_t to, struct buf *out)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < t->n; i++) {
		const struct config_node *n = &t->node[i];

		if (n->end <= from || n->at >= to || n->at == n->end || !is_secret(t, i))
			continue;
		if (n->at > from)
			r = buf_put(out, t->bytes + from, n->at - from);
		if (r == 0)
			r = buf_puts(out, "[secret]");
		from = n->end;
	}
	return r == 0 && from < to ? buf_put(out, t->bytes + from, to - from) : r;
}
