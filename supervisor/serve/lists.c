/*
 * Pages of tools, prompts, resources and templates: those that the agent gets, and those that
 * kennel reads of a server. tools/list has kennel's own tools and those that the user exposes;
 * the others are found by tool_search. What an item that was reviewed takes is checked here,
 * too.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/log.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/mcp/line/pages.h"
#include "supervisor/schema/schema.h"
#include "supervisor/serve/tools/own_tools.h"
#include "supervisor/serve/private.h"
#include "supervisor/serve/tools/exposed.h"

#define LIST_TTL_MS   300000
#define AGAIN_FIRST_N 2     /* listings again before the server serves */
#define AGAIN_MS      250   /* between the end of a listing and the next one, */
#define AGAIN_MS_MAX  60000 /* doubled with each that follows at once */
#define AGAIN_MS_SAID 2000  /* a pause of this length is recorded */

/* "TAG.N": the tag is this session's, so a cursor of another one is refused. */
static bool
cursor_read(struct hub *h, const struct incoming *in, size_t *ret)
{
	struct json value;
	char text[40], *end;
	size_t n = strlen(h->cursor_tag);

	*ret = 0;
	if (in->m.top[TOP_PARAMS].type != JSON_IS_OBJECT ||
	    json_get(in->m.top[TOP_PARAMS], "cursor", &value) < 0 ||
	    value.type == JSON_IS_NULL)
		return true;
	if (text_of(value, text, sizeof(text)) == NULL ||
	    strncmp(text, h->cursor_tag, n) != 0)
		return false;
	*ret = strtoul(text + n, &end, 10);
	return end != text + n && *end == '\0';
}

/* What the agent may use, and nothing that it would be refused without an argument. */
bool
item_offered(const struct item *i)
{
	return i->server->enabled && i->verdict != VERDICT_DENY && !i->drifted &&
	       !i->gone && !i->twin && !i->taken;
}

bool
item_exposed(const struct hub *h, const struct item *i)
{
	return h->order->single ||
	       settings_exposes(&h->settings, i->server->name, i->name, i->name_len);
}

bool
lists_servers(const struct hub *h)
{
	return h->order->single || h->settings.expose_n > 0;
}

void
lists_check_budget(struct hub *h)
{
	const char *unknown = NULL;
	char why[HUB_TEXT_MAX];
	size_t n, all = 0;

	if (h->order->single || h->settings.expose_n == 0)
		return; /* nothing is exposed */
	for (size_t i = 0; i < h->server_n; i++) {
		const struct server *s = h->server[i];
		const struct exposing e = {.settings = &h->settings,
		    .name = s->name,
		    .policy = &s->policy,
		    .server = s->sealed,
		    .pins = s->pins,
		    .can = h->can};

		if (!s->ready || !s->enabled)
			continue;
		if (!exposed_count(&e, &n) && unknown == NULL)
			unknown = s->name;
		all += n;
	}
	if (all > 0)
		log_info("%zu tools of servers are listed beside kennel's own", all);
	if (exposed_over(&h->settings, all, unknown, why, sizeof(why))) {
		log_error("%s", why);
		hub_broken(h, EXIT_USAGE, why);
	}
}

/* A resource or template that two servers list has no owner: each is reached by its
 * kennel:// URI. */
static bool
has_owner(const struct hub *h, const struct item *i)
{
	return i->wire != NULL || item_index_alone(&h->items, i, item_offered);
}

static void
put_item(const struct item *i, struct buf *out)
{
	struct edits e = {.n = 0};
	struct json name;
	struct buf wire;

	buf_init(&wire, 512);
	if (i->wire != NULL && json_get(i->def, "name", &name) == 0) {
		quote_text(&wire, i->wire);
		edit_put(&e, name.at, name.len, wire.data, wire.len);
	}
	if (edit_apply(&e, i->def.at, i->def.len, out) == 0)
		out->len--; /* its newline */
	buf_free(&wire);
}

#define PAGE_BYTES_MAX (4u << 20) /* then the next item begins a page */

struct page {
	struct buf *out;
	size_t from, at; /* the first item of the page; the present one */
	size_t next;     /* the first item of the next page; 0: there is none */
};

/* True: this item belongs to the page. */
static bool
page_takes(struct page *p)
{
	size_t at = p->at++;

	if (at < p->from || p->next != 0)
		return false;
	if (at >= p->from + LIST_PAGE || p->out->len > PAGE_BYTES_MAX) {
		p->next = at;
		return false;
	}
	if (at > p->from)
		(void)buf_putc(p->out, ','); /* surfaces at the end of the line */
	return true;
}

static void
put_own(struct hub *h, struct page *p)
{
	for (int i = 0; i < OWN_TOOL_N; i++)
		if (facets_list(&h->facets, &own_tools[i]) && page_takes(p))
			(void)buf_puts(p->out, own_tools[i].definition); /* at the end */
}

static void
put_items(struct hub *h, struct page *p, enum sealed_pin_kind kind)
{
	for (size_t i = 0; i < h->items.n && p->next == 0; i++) {
		const struct item *it = h->items.item[i];

		if (it->kind == kind && item_offered(it) && has_owner(h, it) &&
		    (kind != PIN_TOOL || item_exposed(h, it)) && page_takes(p))
			put_item(it, p->out);
	}
}

void
on_list(struct hub *h, struct incoming *in)
{
	const struct list_row *row = list_rows;
	struct page p = {.out = &h->body};
	bool of_servers, starting;

	while (strcmp(row->method, in->method->name) != 0)
		row++;
	if (!cursor_read(h, in, &p.from)) {
		reply_error(h, in, RPC_PARAMS_BAD,
		    "kennel: this cursor is not one of this session: list from the "
		    "start");
		return;
	}
	of_servers = row->kind != PIN_TOOL || lists_servers(h);
	if (of_servers && !call_ready(h, in, true))
		return;
	starting = of_servers && !servers_listed(h);
	buf_clear(p.out);
	(void)buf_printf(p.out, "\"%s\":[", row->key); /* at the end */
	if (row->kind == PIN_TOOL && !h->order->single)
		put_own(h, &p);
	put_items(h, &p, row->kind);
	if (row->kind == PIN_TOOL && h->order->single && p.next == 0)
		put_own(h, &p);
	(void)buf_putc(p.out, ']'); /* likewise */
	if (p.next != 0)
		(void)buf_printf(p.out, ",\"nextCursor\":\"%s%zu\"", h->cursor_tag,
		    p.next); /* likewise */
	h->told |= 1u << (row - list_rows);
	reply_result(h, in, p.out, starting ? 0 : LIST_TTL_MS);
}

/* ---- arguments, against the schema that a person has reviewed --------------------- */

/* A server that was not reviewed judges its arguments itself. */

/* Compiled at the first call. One that cannot be compiled was reported when it was
 * pinned. */
static void
make_schema(struct item *i)
{
	struct json schema;

	i->schema_made = true;
	if (json_get(i->def, "inputSchema", &schema) < 0)
		return;
	if (schema_new(schema, &i->schema, NULL, NULL) < 0)
		log_debug(
		    "%s.%s: its schema cannot be compiled", i->server->name, i->name);
}

bool
arguments_fit(struct item *i, struct json arguments, char why[HUB_TEXT_MAX])
{
	static const uint8_t nothing[] = "{}";
	char what[SCHEMA_WHY_MAX];

	if (!i->pinned)
		return true;
	if (!i->schema_made)
		make_schema(i);
	if (i->schema == NULL)
		return true;
	if (arguments.type == JSON_IS_NONE)
		arguments = (struct json){nothing, sizeof(nothing) - 1, JSON_IS_OBJECT};
	if (schema_check(i->schema, arguments, what) == 0)
		return true;
	(void)snprintf(why, HUB_TEXT_MAX, "invalid arguments for %s.%.200s: %s",
	    i->server->name, i->name, what); /* fits */
	return false;
}

/* ---- of a server --------------------------------------------------------------- */

static void
ask_page(struct downstream *d, struct json cursor)
{
	struct buf *out = downstream_ask(d, list_rows[d->list].method);

	if (cursor.type == JSON_IS_STRING) {
		(void)buf_puts(out, "\"cursor\":");        /* at the end */
		(void)buf_put(out, cursor.at, cursor.len); /* likewise */
		if (d->modern)
			(void)buf_putc(out, ','); /* likewise */
	}
	if (d->modern)
		downstream_meta(d, out);
	downstream_asked(d);
}

/* Asks for the next list that the server has. False: all were read. */
static bool
ask_next(struct downstream *d)
{
	while (++d->list < LIST_N && (d->offers & 1u << d->list) == 0)
		;
	d->pages = (struct pages){0};
	if (d->list < LIST_N)
		ask_page(d, (struct json){0});
	return d->list < LIST_N;
}

/* Each pass over all lists has a time, however many pages the server makes of them. */
static void
list_begin(struct downstream *d)
{
	struct server *s = d->server;
	uint64_t ms = policy_limit(&s->policy, s->sealed, TIMEOUT_START);

	d->relist = false;
	if (d->deadline != 0) /* else it is about to be closed */
		d->deadline = loop_now() + LISTS_STARTS * ms * LOOP_MS;
	if (d->use == USE_SHARED)
		offers_begin(s);
	d->list = -1;
}

/* A server that announces a change with each list would be listed without an end: after a
 * few times it serves, and the pauses grow. */
static void
list_next(struct downstream *d)
{
	struct relisting *again = &d->again;

	if (ask_next(d))
		return;
	if (d->use == USE_SHARED)
		offers_listed(d->server, d->state >= DOWN_SERVING);
	if (d->relist && d->state < DOWN_SERVING && again->first_n++ < AGAIN_FIRST_N) {
		list_begin(d);
		if (ask_next(d))
			return;
	}
	again->listed_at = loop_now();
	if (again->pause_ms == 0)
		again->pause_ms = AGAIN_MS;
	downstream_serves(d);
}

void
downstream_list(struct downstream *d)
{
	list_begin(d);
	list_next(d);
}

uint64_t
downstream_relist_at(const struct downstream *d)
{
	if (!d->relist || d->own != 0 || d->state != DOWN_SERVING || d->deadline == 0)
		return UINT64_MAX;
	return d->again.listed_at + d->again.pause_ms * LOOP_MS;
}

/* The pause before the next listing, which grows unless the server was quiet. */
static void
pause_grows(struct downstream *d)
{
	struct relisting *again = &d->again;
	uint64_t quiet = loop_now() - again->listed_at;
	char text[128];

	if (quiet > 4 * again->pause_ms * LOOP_MS) {
		again->pause_ms = AGAIN_MS;
		again->said = false;
		return;
	}
	again->pause_ms *= 2;
	if (again->pause_ms > AGAIN_MS_MAX)
		again->pause_ms = AGAIN_MS_MAX;
	if (again->pause_ms < AGAIN_MS_SAID || again->said)
		return;
	again->said = true;
	(void)snprintf(text, sizeof(text),
	    "it announces changed lists whenever it is listed; pauses grow up to %d s",
	    AGAIN_MS_MAX / 1000); /* fits */
	log_warn("%s: %s", d->server->name, text);
	records_dropped(d->server, 0, text);
}

/* At most one listing is at work, and one waits. */
void
downstream_relist(struct downstream *d)
{
	if (d->use != USE_SHARED)
		return;
	d->relist = true;
	if (downstream_relist_at(d) > loop_now())
		return; /* the timer does, or the listing at its end */
	pause_grows(d);
	downstream_list(d);
}

/* The list ends early: in the log, and once for the person. */
static void
ends_early(struct downstream *d, enum pages_is is)
{
	char text[128];

	(void)snprintf(text, sizeof(text), "the list %s ends early: %s",
	    list_rows[d->list].method, pages_why(is)); /* fits */
	if (!d->again.early)
		log_warn("%s: %s", d->server->name, text);
	d->again.early = true;
	records_dropped(d->server, 0, text);
}

void
downstream_page(struct downstream *d, const struct json_message *m)
{
	const struct list_row *row = &list_rows[d->list];
	struct json list, cursor;
	enum pages_is is;
	bool again;

	if (m->top[TOP_ERROR].type != JSON_IS_NONE) {
		/* a capability may lack some */
		if (error_code(m) == RPC_NO_METHOD || pages_end_refused(&d->pages))
			list_next(d);
		else
			downstream_refused(d, m, row->method);
		return;
	}
	if (json_get(m->top[TOP_RESULT], row->key, &list) < 0 ||
	    list.type != JSON_IS_ARRAY ||
	    (d->use == USE_SHARED && offers_page(d, row, list) < 0)) {
		downstream_close(d, "one of its lists is not valid");
		return;
	}
	is = pages_take(&d->pages, m->top[TOP_RESULT], list, &cursor, &again);
	if (pages_why(is)[0] != '\0')
		ends_early(d, is);
	if (is == PAGES_MORE)
		ask_page(d, cursor);
	else
		list_next(d);
}
