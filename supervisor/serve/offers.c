/*
 * The tools, prompts, resources and templates of all servers, by name. Those of a
 * reviewed server are its pins, before it runs; its live lists show which of them it
 * still has as reviewed. Those of another server are what it lists.
 *
 * Trusts: the pins. A live list comes from a session, which leaves out what the policy
 * refuses and what differs from a pin.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "shim/base/log.h"
#include "supervisor/hub/hub.h"
#include "supervisor/schema/schema.h"
#include "supervisor/serve/private.h"
#include "supervisor/serve/tools/own_tools.h"
#include "supervisor/serve/tools/tool_name.h"

#define ITEMS_MAX        65536
#define SERVER_ITEMS_MAX 8192 /* so that one server leaves room for the others */
#define BYTES_MAX        ((size_t)256 << 20) /* of what servers without pins list */
#define SERVER_BYTES_MAX ((size_t)32 << 20)

/* ---- items ---------------------------------------------------------------------- */

static void
item_free(struct item *i)
{
	schema_free(i->schema);
	free(i->name);
	free(i->wire);
	free(i->owned);
	free(i);
}

static int
order(const struct item *a, const struct server *server, enum sealed_pin_kind kind,
    const char *name, size_t len)
{
	int d = strcmp(a->server->name, server->name);
	size_t n = a->name_len < len ? a->name_len : len;

	if (d == 0)
		d = (int)a->kind - (int)kind;
	if (d == 0)
		d = memcmp(a->name, name, n);
	return d != 0 ? d : (a->name_len > len) - (a->name_len < len);
}

/* Its place, or where it belongs. */
static size_t
place(const struct items *all, const struct server *server, enum sealed_pin_kind kind,
    const char *name, size_t len)
{
	size_t low = 0, high = all->n;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (order(all->item[mid], server, kind, name, len) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

struct item *
offers_find(
    const struct server *s, enum sealed_pin_kind kind, const char *name, size_t len)
{
	struct hub *h = s->hub;
	size_t i = place(&h->items, s, kind, name, len);

	return i < h->items.n && order(h->items.item[i], s, kind, name, len) == 0
		   ? h->items.item[i]
		   : NULL;
}

/* What its policy says of it, without arguments. */
static enum sealed_verdict
judge(const struct item *i)
{
	static const enum sealed_gate_kind gates[] = {[PIN_TOOL] = GATE_TOOL,
	    [PIN_RESOURCE] = GATE_RESOURCE,
	    [PIN_TEMPLATE] = GATE_RESOURCE,
	    [PIN_PROMPT] = GATE_PROMPT};
	struct gate_answer answer;

	gate_judge(&(struct gate_ask){.policy = &i->server->policy,
		       .server = i->server->sealed,
		       .pins = i->server->pins,
		       .kind = gates[i->kind],
		       .name = i->name,
		       .name_len = i->name_len},
	    &answer);
	/* a template's uri is no uri in normal form: the session judges its use */
	return i->kind == PIN_TEMPLATE ? VERDICT_ALLOW : answer.verdict;
}

/* With one server, its tools keep their names, and one of them may have the name of a
 * tool of kennel's. */
static bool
is_taken(const struct item *i)
{
	enum own_tool_id id;

	return i->server->hub->order->single && i->kind == PIN_TOOL &&
	       own_tool_find(i->name, i->name_len, &id) == 0 &&
	       facets_offer(&i->server->hub->facets, &own_tools[id]);
}

static void
leave_out(struct item *i)
{
	i->taken = true;
	log_warn("%s: its tool %s has the name of a tool of kennel's, and is left out",
	    i->server->name, i->name);
	records_left_out(i->server, i->name);
}

static int
item_new(struct server *s, enum sealed_pin_kind kind, const char *name, size_t len,
    struct item **ret)
{
	struct items *all = &s->hub->items;
	size_t at = place(all, s, kind, name, len);
	struct item *i;
	char wire[TOOL_WIRE_MAX + 1] = "";

	if (all->n == ITEMS_MAX || s->items_n == SERVER_ITEMS_MAX)
		return -E2BIG;
	if (all->n == all->cap) {
		size_t cap = all->cap == 0 ? 256 : all->cap * 2;
		struct item **more = reallocarray(all->item, cap, sizeof(void *));

		if (more == NULL)
			return -ENOMEM;
		all->item = more;
		all->cap = cap;
	}
	i = calloc(1, sizeof(*i));
	if (i == NULL || (i->name = malloc(len + 1)) == NULL)
		goto out;
	memcpy(i->name, name, len);
	i->name[len] = '\0';
	i->name_len = len;
	i->server = s;
	i->kind = kind;
	if (kind == PIN_TOOL || kind == PIN_PROMPT) {
		tool_wire_name(s->name, name, len, wire);
		i->wire = strdup(s->hub->order->single ? i->name : wire);
		if (i->wire == NULL)
			goto out;
	}
	if (is_taken(i))
		leave_out(i);
	if (item_index_add(all, i) < 0)
		goto out;
	memmove(all->item + at + 1, all->item + at, (all->n - at) * sizeof(void *));
	all->item[at] = i;
	all->n++;
	s->items_n++;
	s->hub->searchable = false; /* the index has places in this array */
	*ret = i;
	return 0;
out:
	if (i != NULL)
		item_free(i);
	return -ENOMEM;
}

/* A resource or template of kennel's own scheme would read as another server's, and a
 * template without a literal scheme could mean any URI. */
static bool
is_foreign(enum sealed_pin_kind kind, const char *name, size_t len)
{
	static const char own[] = "kennel";
	size_t n = 0;

	if (kind != PIN_RESOURCE && kind != PIN_TEMPLATE)
		return false;
	while (n < len && name[n] != ':' && name[n] != '{')
		n++;
	if (n == len || name[n] == '{')
		return kind == PIN_TEMPLATE;
	return n == sizeof(own) - 1 && strncasecmp(name, own, n) == 0;
}

/* ---- from the pins ---------------------------------------------------------------- */

/* pin: of this agent's variant, or NULL. */
static int
take_pin(struct server *s, const struct sealed_pin *any, const struct sealed_pin *pin)
{
	enum sealed_pin_kind kind = (enum sealed_pin_kind)any->kind;
	const char *name = policy_str(&s->policy, any->name);
	struct item *i = offers_find(s, kind, name, any->name.len);
	struct json_message m;
	const char *body;
	int r = 0;

	if (i != NULL)
		i->gone = pin == NULL;
	if (pin == NULL || is_foreign(kind, name, any->name.len))
		return 0;
	body = policy_str(&s->policy, pin->body);
	if ((i != NULL && i->def.at == (const uint8_t *)body) ||
	    json_scan((const uint8_t *)body, pin->body.len, &m) < 0)
		return 0;
	if (i == NULL && (r = item_new(s, kind, name, any->name.len, &i)) < 0)
		return r;
	schema_free(i->schema);
	i->schema = NULL;
	i->schema_made = false;
	i->def = m.root;
	memcpy(i->sha256, pin->sha256, sizeof(i->sha256));
	i->pinned = true;
	i->verdict = judge(i);
	return 0;
}

int
offers_pins(struct server *s)
{
	const struct sealed_pin *any, *fits;
	uint32_t i = 0;
	int r = 0;

	while (r == 0 && i < s->sealed->pins.n) {
		any = variant_next(&s->policy, s->sealed, s->hub->can, &i, &fits);
		if (any->kind >= PIN_TOOL && any->kind <= PIN_PROMPT)
			r = take_pin(s, any, fits);
	}
	s->hub->searchable = false;
	return r;
}

void
offers_vary(struct hub *h)
{
	int r;

	for (size_t i = 0; i < h->server_n; i++)
		if (h->server[i]->varies && (r = offers_pins(h->server[i])) < 0 &&
		    r != -E2BIG)
			h->error = r;
}

/* ---- from a live list --------------------------------------------------------------- */

static void
note_change(const struct item *i, bool again)
{
	int kind = 0;

	while (list_rows[kind].kind != i->kind)
		kind++;
	/* tools/list has few of them; the others matter once they were found */
	if (i->kind != PIN_TOOL || again || item_exposed(i->server->hub, i))
		i->server->changed |= 1u
				      << (kind == LIST_TEMPLATES ? LIST_RESOURCES : kind);
}

void
offers_begin(struct server *s)
{
	s->changed = 0;
	s->lists_whole = false;
	for (size_t i = 0; i < s->hub->items.n; i++)
		if (s->hub->items.item[i]->server == s)
			s->hub->items.item[i]->listed = false;
}

/* Its first definition in this session counts; a later one that differs is drift. */
static int
keep_definition(struct item *i, struct json def)
{
	struct buf canon;
	uint8_t digest[32];
	int r;

	buf_init(&canon, MCP_MESSAGE_MAX);
	r = json_canon(def, &canon);
	mcp_digest(r == 0 ? canon.data : def.at, r == 0 ? canon.len : def.len, digest);
	buf_free(&canon);
	if (i->owned != NULL) {
		i->drifted |= memcmp(digest, i->sha256, sizeof(digest)) != 0;
		return 0;
	}
	i->owned = malloc(def.len);
	if (i->owned == NULL)
		return -ENOMEM;
	memcpy(i->owned, def.at, def.len);
	memcpy(i->sha256, digest, sizeof(digest));
	i->def = (struct json){i->owned, def.len, def.type};
	return 0;
}

/* Is there room for one more of this server? */
static bool
has_room(struct server *s, size_t bytes)
{
	const struct items *all = &s->hub->items;
	bool room = all->n < ITEMS_MAX && s->items_n < SERVER_ITEMS_MAX &&
		    bytes <= SERVER_BYTES_MAX - s->items_bytes &&
		    bytes <= BYTES_MAX - all->bytes;

	if (!room && !s->items_full)
		log_warn("%s lists more than %d tools, prompts and resources or %zu MiB "
			 "of definitions, or there is no room for more; the rest is not "
			 "offered",
		    s->name, SERVER_ITEMS_MAX, SERVER_BYTES_MAX >> 20);
	s->items_full |= !room;
	return room;
}

static int
see(struct server *s, const struct list_row *row, struct json def, bool again)
{
	static char name[MCP_NAME_MAX];
	struct json value;
	struct pin_seen seen;
	struct item *i;
	size_t len;
	int r = 0;

	if (def.type != JSON_IS_OBJECT || json_get(def, row->id, &value) < 0 ||
	    json_text(value, name, sizeof(name), &len) < 0)
		return 0;
	if (is_foreign(row->kind, name, len)) {
		records_dropped(s, def.len,
		    "an item of a list: a URI of kennel's own scheme, or a template of "
		    "none");
		return 0;
	}
	i = offers_find(s, row->kind, name, len);
	if (i == NULL && (s->pinned || !has_room(s, len + def.len)))
		return 0; /* of a pinned one, the session leaves these out */
	if (i == NULL && (r = item_new(s, row->kind, name, len, &i)) == 0) {
		s->items_bytes += len + def.len;
		s->hub->items.bytes += len + def.len;
		note_change(i, again);
	}
	if (r == 0 && !s->pinned) {
		r = pins_see(s->pins, row->kind, name, len, def, &seen);
		if (r == 0)
			r = keep_definition(i, def);
		i->verdict = judge(i);
	}
	if (r == 0)
		i->listed = true;
	return r == -E2BIG ? 0 : r;
}

int
offers_page(struct downstream *d, const struct list_row *row, struct json list)
{
	struct json key, def;
	struct json_walk w;
	int r = 0;

	json_walk(&w, list);
	while (r == 0 && json_next(&w, &key, &def))
		r = see(d->server, row, def, d->state >= DOWN_SERVING);
	return r;
}

/* A reviewed tool that the session left out differs from its pin, or is gone. */
void
offers_listed(struct server *s, bool again)
{
	struct hub *h = s->hub;

	for (size_t i = 0; i < h->items.n; i++) {
		struct item *it = h->items.item[i];
		bool was_gone = it->gone;

		if (it->server != s || it->verdict == VERDICT_DENY)
			continue;
		if (s->pinned)
			it->drifted = !it->listed && !it->gone;
		else
			it->gone = !it->listed;
		if (it->drifted != it->reported || it->gone != was_gone)
			note_change(it, again);
		if (it->drifted && !it->reported)
			log_warn("%s.%s differs from the reviewed definition; it cannot "
				 "be used: compare with `kennel server pin %s --diff`",
			    s->name, it->name, s->name);
		it->reported = it->drifted;
	}
	h->searchable = false;
	s->lists_whole = true;
	for (int kind = 0; kind < LIST_TEMPLATES; kind++)
		if ((s->changed & 1u << kind) != 0 &&
		    (again || (h->told & 1u << kind) != 0))
			list_changed(h, (enum list_kind)kind);
	s->changed = 0;
}

void
offers_forget(struct hub *h, struct server *s)
{
	size_t n = 0;

	item_index_forget(&h->items, s);
	for (size_t i = 0; i < h->items.n; i++)
		if (h->items.item[i]->server == s)
			item_free(h->items.item[i]);
		else
			h->items.item[n++] = h->items.item[i];
	h->items.n = n;
	h->items.bytes -= s->items_bytes;
	s->items_n = s->items_bytes = 0;
	s->items_full = false;
	h->searchable = false;
}

void
offers_free(struct hub *h)
{
	for (size_t i = 0; i < h->items.n; i++)
		item_free(h->items.item[i]);
	free(h->items.item);
	free(h->items.by_key);
	h->items = (struct items){0};
}

/* ---- by name ---------------------------------------------------------------------- */

/* The server part of "server.tool": names of servers contain no dot but may be any. */
static struct item *
by_store_name(struct hub *h, enum sealed_pin_kind kind, const char *text, size_t len)
{
	const char *dot = memchr(text, '.', len);
	struct server *s;

	if (dot == NULL)
		return NULL;
	s = server_find(h, text, (size_t)(dot - text));
	return s == NULL ? NULL
			 : offers_find(s, kind, dot + 1, len - (size_t)(dot + 1 - text));
}

static struct item *
by_wire_name(struct hub *h, enum sealed_pin_kind kind, const char *text, size_t len)
{
	struct item *found = item_index_find(&h->items, kind, text, len);

	return found == NULL || found->twin ? NULL : found;
}

/* "mcp_server_tool" may fit two tools; then all that it fits are in ret_twins. */
static struct item *
by_mcp_name(struct hub *h, const char *text, size_t len, struct buf *ret_twins)
{
	char spelled[TOOL_MCP_MAX + 1];
	struct item *found = NULL;
	int n = 0;

	buf_clear(ret_twins);
	if (len < 4 || memcmp(text, "mcp_", 4) != 0)
		return NULL;
	for (size_t i = 0; i < h->items.n; i++) {
		struct item *it = h->items.item[i];

		if (it->kind != PIN_TOOL)
			continue;
		tool_mcp_name(it->server->name, it->name, it->name_len, spelled);
		if (strlen(spelled) != len || memcmp(spelled, text, len) != 0)
			continue;
		found = it;
		(void)buf_printf(ret_twins, "%s%s.%s", n++ > 0 ? ", " : "",
		    it->server->name, it->name); /* only shown */
	}
	if (n < 2)
		buf_clear(ret_twins);
	return n == 1 ? found : NULL;
}

struct item *
offers_tool(struct hub *h, const char *text, size_t len, struct buf *ret_twins)
{
	struct item *found = by_store_name(h, PIN_TOOL, text, len);

	if (found == NULL)
		found = by_wire_name(h, PIN_TOOL, text, len);
	if (found == NULL)
		found = by_mcp_name(h, text, len, ret_twins);
	return found;
}

struct item *
offers_prompt(struct hub *h, const char *text, size_t len)
{
	struct item *found = by_wire_name(h, PIN_PROMPT, text, len);

	return found != NULL ? found : by_store_name(h, PIN_PROMPT, text, len);
}

struct server *
offers_server_of(struct hub *h, const char *text, size_t len)
{
	struct server *best = NULL;
	char head[TOOL_MCP_MAX + 1];

	if (h->order->single)
		return h->server_n > 0 ? h->server[0] : NULL;

	for (size_t i = 0; i < h->server_n; i++) {
		struct server *s = h->server[i];
		size_t n = strlen(s->name);

		if (best != NULL && strlen(best->name) >= n)
			continue;
		tool_mcp_name(s->name, "", 0, head);
		if ((len > n && memcmp(text, s->name, n) == 0 &&
			(text[n] == '.' || text[n] == '_')) ||
		    (len > strlen(head) && memcmp(text, head, strlen(head)) == 0))
			best = s;
	}
	return best;
}
