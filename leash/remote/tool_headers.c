/*
 * Arguments that are also headers (2026-07-28): a tool may mark a property of its schema
 * with `x-mcp-header`, and each call then has its value as Mcp-Param-NAME.
 *
 *	{"properties": {"to": {"properties": {"region": {"x-mcp-header": "Region"}}}}}
 *	path: to, region; name: Region
 *
 * The definitions that have such a mark are kept as they came, and searched at each call:
 * few servers have any.  What a server may ask for this way goes to that server anyway.
 *
 * Both sides may be hostile, so a call reads the kept definitions once, and its arguments
 * once, each member beside at most MARKS_MAX marks.
 */
#include "leash/remote/private.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define MARK         "x-mcp-header"
#define LISTS_MAX    (4u << 20) /* bytes; marks in more than that have no effect */
#define MARKS_MAX    64         /* of a tool: a bit of `active` each */
#define DEPTH_MAX    8          /* properties of properties */
#define KEY_MAX_LEN  256        /* bytes of a property's name, as written */
#define NAME_MAX_LEN 64

#define SLICE(text) ((struct slice){(text), sizeof(text) - 1})

static bool
has_mark(struct slice s)
{
	return memmem(s.at, s.len, MARK, sizeof(MARK) - 1) != NULL;
}

static void
keep_tool(void *arg, struct slice key, struct slice definition)
{
	struct buf *lists = arg;
	size_t before = lists->len;

	(void)key; /* an item of an array */
	if (has_mark(definition) && (buf_put(lists, definition.at, definition.len) < 0 ||
					buf_putc(lists, '\n') < 0))
		lists->len = before; /* without this one */
}

void
tool_headers_keep(
    struct remote *r, const struct message *request, const char *text, size_t len)
{
	struct slice list = {text, len}, result;

	if (!slice_is(request->method, "tools/list"))
		return;
	if (request->cursor.len == 0) /* the first page of a new list */
		buf_free(&r->lists);
	r->lists.max = LISTS_MAX;
	if (!has_mark(list))
		return;
	result = slice_member(list, SLICE("result"));
	(void)slice_items(slice_member(result, SLICE("tools")), keep_tool, &r->lists);
}

/* ---- the marks of a tool ------------------------------------------------------ */

struct mark {
	struct slice path[DEPTH_MAX];
	unsigned int depth; /* of the path */
	struct slice name, value;
};

struct marks {
	struct mark mark[MARKS_MAX];
	size_t n;
	struct slice path[DEPTH_MAX]; /* of the property being read */
	unsigned int depth;
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

/* Names of headers have no case, and the first mark of a name counts. */
static bool
is_taken(const struct marks *m, struct slice name)
{
	size_t i;

	for (i = 0; i < m->n; i++)
		if (m->mark[i].name.len == name.len &&
		    strncasecmp(m->mark[i].name.at, name.at, name.len) == 0)
			return true;
	return false;
}

/* NOLINTBEGIN(misc-no-recursion): at most DEPTH_MAX */
static void
property(void *arg, struct slice key, struct slice schema)
{
	struct marks *m = arg;
	struct slice name;

	if (m->n == MARKS_MAX || m->depth == DEPTH_MAX || key.len > KEY_MAX_LEN ||
	    !has_mark(schema))
		return;
	m->path[m->depth++] = key;
	name = slice_text(slice_member(schema, SLICE(MARK)));
	if (is_name(name) && !is_taken(m, name)) {
		struct mark *new = &m->mark[m->n++];

		*new = (struct mark){.depth = m->depth, .name = name};
		memcpy(new->path, m->path, sizeof(new->path));
	}
	(void)slice_members(slice_member(schema, SLICE("properties")), property, m);
	m->depth--;
}
/* NOLINTEND(misc-no-recursion) */

/* The marks of the first definition with this name. */
static void
marks_of(const struct buf *lists, struct slice name, struct marks *m)
{
	const char *p = (const char *)lists->data, *end = p + lists->len, *line;
	struct slice definition, schema;

	m->n = m->depth = 0;
	for (; lists->len > 0 && p < end; p = line + 1) {
		line = memchr(p, '\n', (size_t)(end - p)); /* each ends with one */
		definition = (struct slice){p, (size_t)(line - p)};
		if (!slice_same(
			slice_text(slice_member(definition, SLICE("name"))), name))
			continue;
		schema = slice_member(definition, SLICE("inputSchema"));
		(void)slice_members(
		    slice_member(schema, SLICE("properties")), property, m);
		return;
	}
}

/* ---- a call ------------------------------------------------------------------- */

struct level {
	struct marks *marks;
	uint64_t active; /* marks whose path led here */
	unsigned int depth;
};

/* NOLINTBEGIN(misc-no-recursion): as deep as the path of a mark */
static void
argument(void *arg, struct slice key, struct slice value)
{
	const struct level *l = arg;
	struct level below = {.marks = l->marks, .depth = l->depth + 1};

	for (size_t i = 0; i < l->marks->n; i++) {
		struct mark *m = &l->marks->mark[i];

		if ((l->active >> i & 1) == 0 || !slice_same(m->path[l->depth], key))
			continue;
		if (m->depth == below.depth)
			m->value = value;
		else
			below.active |= (uint64_t)1 << i;
	}
	if (below.active != 0)
		(void)slice_members(value, argument, &below);
}
/* NOLINTEND(misc-no-recursion) */

void
tool_headers(const struct exchange *x, tool_header_fn *fn, void *arg)
{
	struct marks marks;
	struct level top = {.marks = &marks, .active = UINT64_MAX};
	char name[sizeof("Mcp-Param-") + NAME_MAX_LEN];

	if (!slice_is(x->message.method, "tools/call"))
		return;
	marks_of(&x->remote->lists, x->message.name, &marks);
	if (marks.n > 0)
		(void)slice_members(x->message.arguments, argument, &top);
	for (size_t i = 0; i < marks.n; i++) {
		const struct mark *m = &marks.mark[i];

		if (m->value.len == 0)
			continue;
		(void)snprintf(
		    name, sizeof(name), "Mcp-Param-%.*s", (int)m->name.len, m->name.at);
		fn(arg, name, m->value);
	}
}
