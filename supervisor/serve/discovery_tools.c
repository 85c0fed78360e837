/*
 * tool_search, tool_describe and tool_invoke: how an agent finds and calls the tools that
 * are not in its list.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/array.h"
#include "supervisor/serve/tools/own_tools.h"
#include "supervisor/serve/private.h"
#include "supervisor/serve/secrets_tools.h"
#include "supervisor/serve/tools/search.h"

#define SUMMARY_MAX   160
#define LIMIT_DEFAULT 20
#define LIMIT_MAX     100
#define OWN_ID        0x80000000u /* of one of kennel's own tools in the index */

/* ---- arguments -------------------------------------------------------------------- */

static const char *
argument(struct json arguments, const char *name, char *out, size_t cap)
{
	struct json value;

	if (arguments.type != JSON_IS_OBJECT || json_get(arguments, name, &value) < 0)
		return NULL;
	return text_of(value, out, cap);
}

static void
wrong(struct hub *h, const struct incoming *in, const char *text)
{
	reply_refusal(h, in, text, "invalid arguments", NULL);
}

/* ---- tool_search -------------------------------------------------------------------- */

static int
index_own(struct hub *h)
{
	struct json_message m;
	struct json schema = {0};
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < OWN_TOOL_N; i++) {
		const struct own_tool *t = &own_tools[i];

		if (!facets_offer(&h->facets, t) ||
		    json_scan((const uint8_t *)t->definition, strlen(t->definition), &m) <
			0)
			continue;
		(void)json_get(m.root, "inputSchema", &schema); /* missing: none */
		r = search_add(h->search, &(struct search_tool){.server = "kennel",
					      .tool = t->name,
					      .tool_len = strlen(t->name),
					      .schema = schema,
					      .id = OWN_ID | i});
	}
	return r;
}

static int
index_item(struct hub *h, uint32_t at)
{
	const struct item *i = h->items.item[at];
	struct search_tool t = {.server = i->server->name,
	    .tool = i->name,
	    .tool_len = i->name_len,
	    .id = at};
	struct json text = {0};
	char *description;
	int r;

	(void)json_get(i->def, "inputSchema", &t.schema); /* missing: none */
	if (json_get(i->def, "description", &text) < 0)
		text.len = 0;
	description = malloc(text.len + 1);
	if (description == NULL)
		return -ENOMEM;
	if (json_text(text, description, text.len + 1, &t.description_len) == 0)
		t.description = description;
	r = search_add(h->search, &t);
	free(description);
	return r == -EEXIST ? 0 : r;
}

/* The index is built at the first search, and again after a list has changed. */
static int
make_index(struct hub *h)
{
	int r;

	if (h->searchable)
		return 0;
	search_free(h->search);
	h->search = NULL;
	r = search_new(&h->search);
	if (r == 0)
		r = index_own(h);
	for (uint32_t i = 0; r == 0 && i < h->items.n; i++)
		if (h->items.item[i]->kind == PIN_TOOL && item_offered(h->items.item[i]))
			r = index_item(h, i);
	h->searchable = r == 0;
	return r;
}

/* The description up to its first full stop. */
static void
put_summary(struct buf *out, struct json def)
{
	char text[SUMMARY_MAX * 4];
	struct json value;
	size_t len = 0, n = 0;

	if (json_get(def, "description", &value) == 0 && value.type == JSON_IS_STRING) {
		if (value.len >
		    sizeof(text)) /* its beginning is enough; at a character */
			value.len = sizeof(text) - 8;
		while (value.len < sizeof(text) &&
		       json_text(value, text, sizeof(text), &len) < 0 && value.len > 2) {
			char cut[sizeof(text)];

			value.len--;
			memcpy(cut, value.at, value.len);
			cut[value.len - 1] = '"';
			if (json_text(
				(struct json){(uint8_t *)cut, value.len, JSON_IS_STRING},
				text, sizeof(text), &len) == 0)
				break;
		}
	}
	while (n < len && n < SUMMARY_MAX && text[n] != '\n' &&
	       !(text[n] == '.' &&
		   (n + 1 == len || text[n + 1] == ' ' || text[n + 1] == '\n')))
		n++;
	while (n > 0 && n < len && ((unsigned char)text[n] & 0xc0) == 0x80)
		n--; /* not inside a character */
	quote(out, text, n);
}

/* Neither a word in its description nor one in its schema is its annotation. */
static bool
is_read_only(struct json definition)
{
	struct json annotations, hint;

	return json_get(definition, "annotations", &annotations) == 0 &&
	       json_get(annotations, "readOnlyHint", &hint) == 0 &&
	       hint.type == JSON_IS_TRUE;
}

static bool
only_reads(const struct item *i)
{
	return i->pinned && is_read_only(i->def);
}

struct found {
	struct hub *hub;
	struct buf *out;
	int n;
};

static void
put_own_hit(struct found *f, const struct own_tool *t)
{
	struct json_message m;

	if (json_scan((const uint8_t *)t->definition, strlen(t->definition), &m) < 0)
		m.root = (struct json){.type = JSON_IS_NONE}; /* a test scans each */
	(void)buf_puts(f->out, "{\"name\":"); /* errors surface at the end */
	quote_text(f->out, t->name);
	(void)buf_puts(f->out, ",\"summary\":"); /* likewise */
	put_summary(f->out, m.root);
	(void)buf_printf(f->out, ",\"facet\":\"%s\",\"mutates\":%s,\"pinned\":true}",
	    facet_name(t->facet), is_read_only(m.root) ? "false" : "true"); /* likewise */
}

/* Callback of the search. */
static int
put_hit(void *arg, uint32_t id)
{
	struct found *f = arg;
	const struct item *i;

	(void)buf_puts(f->out, f->n++ > 0 ? "," : ""); /* errors surface at the end */
	if ((id & OWN_ID) != 0) {
		put_own_hit(f, &own_tools[id & ~OWN_ID]);
		return 0;
	}
	i = f->hub->items.item[id];
	(void)buf_puts(f->out, "{\"name\":"); /* likewise */
	quote_name(f->out, i);
	(void)buf_puts(f->out, ",\"summary\":"); /* likewise */
	put_summary(f->out, i->def);
	(void)buf_puts(f->out, ",\"facet\":"); /* likewise */
	quote_text(f->out, i->server->name);
	(void)buf_printf(f->out,
	    ",\"mutates\":%s,\"wire\":\"%s\",\"approval\":\"%s\","
	    "\"pinned\":%s}",
	    only_reads(i) ? "false" : "true", i->wire,
	    i->verdict == VERDICT_ASK ? "confirm" : "auto",
	    i->pinned ? "true" : "false"); /* likewise */
	return 0;
}

/* A search starts it, so its tools will be known. */
static bool
is_starting(const struct server *s)
{
	return server_may_list(s) && (!s->per_call || s->down != NULL);
}

/* A search does not start it, because a person would be asked for its secret. */
static bool
needs_approval(const struct server *s)
{
	return server_may_list(s) && !is_starting(s);
}

/* The names of these servers. any: also an empty list. */
static void
put_names(struct hub *h, struct buf *out, const char *key,
    bool (*is)(const struct server *), bool any)
{
	size_t n = 0;

	for (size_t i = 0; i < h->server_n; i++) {
		if (!is(h->server[i]))
			continue;
		if (n++ == 0)
			(void)buf_printf(out, ",\"%s\":[", key); /* surfaces at the end */
		else
			(void)buf_putc(out, ','); /* likewise */
		quote_text(out, h->server[i]->name);
	}
	if (n > 0)
		(void)buf_putc(out, ']'); /* likewise */
	else if (any)
		(void)buf_printf(out, ",\"%s\":[]", key); /* likewise */
}

/* Reads the numbers of a search: NULL, or what is wrong. */
static const char *
search_range(struct hub *h, struct json arguments, struct search_query *q)
{
	size_t n = strlen(h->cursor_tag);
	struct json value;
	char text[40], *end;

	q->limit = LIMIT_DEFAULT;
	if (json_get(arguments, "limit", &value) == 0) {
		if (value.type != JSON_IS_NUMBER || value.len >= sizeof(text))
			return "invalid arguments for tool_search: /limit: expected a "
			       "number";
		memcpy(text, value.at, value.len);
		text[value.len] = '\0';
		q->limit = (uint32_t)strtoul(text, &end, 10);
		if (*end != '\0' || q->limit < 1 || q->limit > LIMIT_MAX)
			return "invalid arguments for tool_search: /limit: expected an "
			       "integer "
			       "from 1 to 100";
	}
	if (json_get(arguments, "cursor", &value) < 0)
		return NULL;
	if (text_of(value, text, sizeof(text)) == NULL ||
	    strncmp(text, h->cursor_tag, n) != 0)
		return "invalid arguments for tool_search: /cursor: expected the "
		       "nextCursor of "
		       "an earlier result";
	q->offset = (uint32_t)strtoul(text + n, &end, 10);
	return NULL;
}

static void
tool_search(struct hub *h, struct incoming *in, struct json arguments)
{
	static char text[4096], server[256];
	struct search_query q = {
	    .text = argument(arguments, "query", text, sizeof(text))};
	struct buf *out = &h->body;
	struct found found = {.hub = h, .out = out};
	const char *why;
	bool more = false;

	if (q.text == NULL) {
		wrong(h, in,
		    "invalid arguments for tool_search: expected `query`, a string of at "
		    "most "
		    "4,095 bytes");
		return;
	}
	q.len = strlen(q.text);
	q.server = argument(arguments, "server", server, sizeof(server));
	if ((why = search_range(h, arguments, &q)) != NULL) {
		wrong(h, in, why);
		return;
	}
	if (!call_ready(h, in, true))
		return;
	buf_clear(out);
	(void)buf_puts(out, "{\"tools\":["); /* errors surface at the end */
	if (make_index(h) < 0 || search_run(h->search, &q, put_hit, &found, &more) < 0) {
		reply_error(h, in, -32603, "kennel: the search failed: out of memory");
		return;
	}
	(void)buf_putc(out, ']'); /* likewise */
	put_names(h, out, "starting", is_starting, true);
	put_names(h, out, "needs_approval", needs_approval, false);
	if (more)
		(void)buf_printf(out, ",\"nextCursor\":\"%s%u\"", h->cursor_tag,
		    q.offset + q.limit); /* likewise */
	if (h->server_n == 0)
		(void)buf_puts(out, ",\"note\":\"no servers: create a policy with kennel "
				    "init NAME -- COMMAND\""); /* likewise */
	(void)buf_putc(out, '}');                              /* likewise */
	reply_tool(h, in, out, NULL, false);
}

/* ---- tool_describe --------------------------------------------------------------------- */

/* A member of a definition under its own name, if it is there. */
static void
put_member(struct buf *out, struct json def, const char *name)
{
	struct json value;

	if (json_get(def, name, &value) < 0)
		return;
	(void)buf_printf(out, ",\"%s\":", name); /* errors surface at the end */
	(void)buf_put(out, value.at, value.len); /* likewise */
}

static void
put_text_member(struct buf *out, struct json def, const char *name)
{
	struct json value;

	(void)buf_printf(out, ",\"%s\":", name); /* errors surface at the end */
	if (json_get(def, name, &value) == 0)
		(void)buf_put(out, value.at, value.len); /* likewise */
	else
		(void)buf_puts(out, "\"\""); /* likewise */
}

static void
put_definition(struct buf *out, struct json def, bool mutates, const char *facet)
{
	put_text_member(out, def, "description");
	put_member(out, def, "inputSchema");
	(void)buf_printf(out, ",\"mutates\":%s,\"facet\":", mutates ? "true" : "false");
	quote_text(out, facet);
	put_member(out, def, "outputSchema");
	put_member(out, def, "annotations");
	put_member(out, def, "execution");
}

static void
describe_item(struct hub *h, struct incoming *in, const struct item *i)
{
	struct buf *out = &h->body;

	buf_clear(out);
	(void)buf_puts(out, "{\"name\":"); /* errors surface at the end */
	quote_name(out, i);
	put_definition(out, i->def, !only_reads(i), i->server->name);
	(void)buf_printf(out,
	    ",\"wire\":\"%s\",\"approval\":\"%s\",\"verdict\":\"%s\",\"pinned\":%s}",
	    i->wire, i->verdict == VERDICT_ASK ? "confirm" : "auto",
	    policy_verdict_name(i->verdict), i->pinned ? "true" : "false"); /* likewise */
	reply_tool(h, in, out, NULL, false);
}

static void
describe_own(struct hub *h, struct incoming *in, const struct own_tool *t)
{
	struct buf *out = &h->body;
	struct json_message m;

	if (json_scan((const uint8_t *)t->definition, strlen(t->definition), &m) < 0)
		return; /* a test scans each */
	buf_clear(out);
	(void)buf_printf(
	    out, "{\"name\":\"%s\"", t->name); /* errors surface at the end */
	put_definition(out, m.root, !is_read_only(m.root), facet_name(t->facet));
	(void)buf_puts(
	    out, ",\"approval\":\"auto\",\"verdict\":\"allow\",\"pinned\":true}");
	reply_tool(h, in, out, NULL, false);
}

static void
describe_server(struct hub *h, struct incoming *in, const struct server *s)
{
	char *instructions = server_instructions(s);
	struct buf *out = &h->body;
	size_t tools = 0;

	for (size_t i = 0; i < h->items.n; i++)
		tools += h->items.item[i]->server == s &&
			 h->items.item[i]->kind == PIN_TOOL &&
			 item_offered(h->items.item[i]);
	buf_clear(out);
	(void)buf_puts(out, "{\"name\":"); /* errors surface at the end */
	quote_text(out, s->name);
	(void)buf_puts(out, ",\"about\":"); /* likewise */
	quote_text(out, s->about != NULL ? s->about : "");
	if (instructions != NULL) {
		(void)buf_puts(out, ",\"instructions\":"); /* likewise */
		quote_text(out, instructions);
		free(instructions);
	}
	(void)buf_printf(out, ",\"tools\":%zu,\"status\":\"%s\"", tools,
	    server_live_name(server_live(s))); /* likewise */
	if (s->wrong != NULL || s->failed[0] != '\0') {
		if (s->wrong != NULL)
			(void)buf_printf(out, ",\"reason\":\"%s\"",
			    server_reason_name(s->reason)); /* likewise */
		(void)buf_puts(out, ",\"detail\":");        /* likewise */
		quote_text(out, s->wrong != NULL ? s->wrong : s->failed);
	}
	(void)buf_putc(out, '}'); /* likewise */
	reply_tool(h, in, out, NULL, false);
}

static void
tool_describe(struct hub *h, struct incoming *in, struct json arguments)
{
	static char name[MCP_NAME_MAX];
	char why[HUB_TEXT_MAX];
	enum own_tool_id own;
	struct server *s;
	struct item *i;

	if (argument(arguments, "name", name, sizeof(name)) == NULL) {
		wrong(h, in,
		    "invalid arguments for tool_describe: expected `name`, a string");
		return;
	}
	if (own_tool_find(name, strlen(name), &own) == 0 &&
	    facets_offer(&h->facets, &own_tools[own])) {
		describe_own(h, in, &own_tools[own]);
		return;
	}
	if (!call_ready(h, in, false))
		return;
	s = server_find(h, name, strlen(name));
	if (s != NULL && s->enabled) {
		if (!in->waited && server_may_list(s) && server_need(s, why) != NULL &&
		    park(h, in, PARK_SERVER, s, SEARCH_WAIT_MS))
			return;
		describe_server(h, in, s);
		return;
	}
	i = call_find_tool(h, in, name);
	if (i != NULL && item_offered(i))
		describe_item(h, in, i);
	else if (i != NULL)
		call_withheld(h, in, name, i->server, i->name, "no line grants it");
}

/* ---- tool_invoke ------------------------------------------------------------------------ */

static void
tool_invoke(struct hub *h, struct incoming *in, struct json arguments)
{
	static char name[MCP_NAME_MAX];
	struct json inner = {0};

	if (argument(arguments, "name", name, sizeof(name)) == NULL) {
		wrong(h, in,
		    "invalid arguments for tool_invoke: expected `name`, a string");
		return;
	}
	if (json_get(arguments, "arguments", &inner) == 0 &&
	    inner.type != JSON_IS_OBJECT) {
		wrong(h, in,
		    "invalid arguments for tool_invoke: /arguments: expected an object");
		return;
	}
	if (strcmp(name, "tool_invoke") == 0 || strcmp(name, "tool_search") == 0 ||
	    strcmp(name, "tool_describe") == 0) {
		wrong(h, in, "tool_invoke cannot invoke the discovery tools");
		return;
	}
	if (!own_tool_call(h, in, name, inner))
		call_by_name(h, in, name, inner, true);
}

/* ---- by name ------------------------------------------------------------------------------ */

static const struct {
	enum own_tool_id id;
	void (*fn)(struct hub *, struct incoming *, struct json arguments);
} own_handlers[] = {
    {OWN_TOOL_SEARCH, tool_search},
    {OWN_TOOL_DESCRIBE, tool_describe},
    {OWN_TOOL_INVOKE, tool_invoke},
    {OWN_MCP_QUERY, mcp_query},
    {OWN_MCP_REGISTER, mcp_register},
};

bool
own_tool_call(struct hub *h, struct incoming *in, const char *name, struct json arguments)
{
	enum own_tool_id id;

	if (own_tool_find(name, strlen(name), &id) < 0)
		return false;
	if (own_tools[id].facet == FACET_SECRETS &&
	    facets_offer(&h->facets, &own_tools[id])) {
		secrets_call(h, in, id, arguments);
		return true;
	}
	for (size_t i = 0; i < ARRAY_LEN(own_handlers); i++)
		if (own_handlers[i].id == id &&
		    facets_offer(&h->facets, &own_tools[id])) {
			own_handlers[i].fn(h, in, arguments);
			return true;
		}
	call_withheld(h, in, name, NULL, name, "unknown tool");
	return true;
}
