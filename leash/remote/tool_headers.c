/*
 * Arguments that are also headers (2026-07-28): a tool may mark a property of its schema
 * with `x-mcp-header`, and each call then has its value as Mcp-Param-NAME.
 *
 * The lists that have such a mark are kept as they came, and searched at each call: few
 * servers have any.  What a server may ask for this way goes to that server anyway.
 */
#include "leash/remote/private.h"

#include <stdio.h>
#include <string.h>

#define MARK         "x-mcp-header"
#define LISTS_MAX    (4u << 20) /* bytes; marks in more than that have no effect */
#define DEPTH_MAX    8          /* properties of properties */
#define NAME_MAX_LEN 64

#define SLICE(text) ((struct slice){(text), sizeof(text) - 1})

void
tool_headers_keep(
    struct remote *r, const struct message *request, const char *text, size_t len)
{
	if (!slice_is(request->method, "tools/list"))
		return;
	if (request->cursor.len == 0) /* the first page of a new list */
		buf_free(&r->lists);
	r->lists.max = LISTS_MAX;
	if (memmem(text, len, MARK, sizeof(MARK) - 1) == NULL ||
	    r->lists.len + len + 1 > LISTS_MAX)
		return;
	if (buf_put(&r->lists, text, len) < 0 || buf_putc(&r->lists, '\n') < 0)
		buf_clear(&r->lists);
}

/* ---- a call ------------------------------------------------------------------ */

struct search {
	struct slice tool, arguments;
	unsigned int depth;
	tool_header_fn *fn;
	void *arg;
};

/* It becomes a part of a header's name. */
static bool
is_name(struct slice s)
{
	size_t i;

	for (i = 0; i < s.len; i++)
		if (!(s.at[i] >= '0' && s.at[i] <= '9') && s.at[i] != '-' &&
		    s.at[i] != '_' &&
		    !((s.at[i] | 0x20) >= 'a' && (s.at[i] | 0x20) <= 'z'))
			return false;
	return s.len > 0 && s.len <= NAME_MAX_LEN;
}

/* NOLINTBEGIN(misc-no-recursion): at most DEPTH_MAX */
static void
property(void *arg, struct slice key, struct slice schema)
{
	struct search *s = arg, below = *s;
	struct slice value = slice_member(s->arguments, key);
	struct slice mark = slice_text(slice_member(schema, SLICE(MARK)));
	char name[sizeof("Mcp-Param-") + NAME_MAX_LEN];

	if (value.len > 0 && is_name(mark)) {
		(void)snprintf(
		    name, sizeof(name), "Mcp-Param-%.*s", (int)mark.len, mark.at);
		s->fn(s->arg, name, value);
	}
	below.arguments = value;
	if (value.len > 0 && value.at[0] == '{' && ++below.depth < DEPTH_MAX)
		(void)slice_members(
		    slice_member(schema, SLICE("properties")), property, &below);
}
/* NOLINTEND(misc-no-recursion) */

static void
tool(void *arg, struct slice key, struct slice definition)
{
	struct search *s = arg;
	struct slice schema;

	if (!slice_same(slice_text(slice_member(definition, SLICE("name"))), s->tool))
		return;
	schema = slice_member(definition, SLICE("inputSchema"));
	(void)slice_members(slice_member(schema, SLICE("properties")), property, s);
}

void
tool_headers(const struct exchange *x, tool_header_fn *fn, void *arg)
{
	const struct buf *lists = &x->remote->lists;
	struct search s = {.tool = x->message.name,
	    .arguments = x->message.arguments,
	    .fn = fn,
	    .arg = arg};
	const char *p = (const char *)lists->data, *end = p + lists->len, *line;
	struct slice result;

	if (!slice_is(x->message.method, "tools/call"))
		return;
	for (; lists->len > 0 && p < end; p = line + 1) {
		line = memchr(p, '\n', (size_t)(end - p)); /* each list ends with one */
		result =
		    slice_member((struct slice){p, (size_t)(line - p)}, SLICE("result"));
		(void)slice_items(slice_member(result, SLICE("tools")), tool, &s);
	}
}
