/*
 * What the agent wants to hear of: changed lists and resources. An agent of an older
 * version subscribes to each URI; one of 2026-07-28 listens with one long request. So
 * do servers, and each side may be of either kind.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/array.h"
#include "supervisor/mcp/line/id.h"
#include "supervisor/serve/asked/asked_text.h"
#include "supervisor/serve/private.h"

#define LISTENS_MAX 64
#define URIS_MAX    4096

struct subscription {
	struct subscription *next;
	struct server *server;
	struct listen *listen; /* NULL: by resources/subscribe */
	bool task;             /* its id, not a URI */
	size_t len, asked_len;
	char uri[]; /* the server's; then the one that the agent used */
};

struct listen {
	struct listen *next;
	uint16_t id_len;
	uint8_t id[MCP_ID_MAX];
	bool changes[LIST_TEMPLATES]; /* tools, prompts, resources */
};

static const char *const changed_methods[LIST_TEMPLATES] = {
    [LIST_TOOLS] = "notifications/tools/list_changed",
    [LIST_PROMPTS] = "notifications/prompts/list_changed",
    [LIST_RESOURCES] = "notifications/resources/list_changed",
};
static const char *const changed_members[LIST_TEMPLATES] = {
    [LIST_TOOLS] = "toolsListChanged",
    [LIST_PROMPTS] = "promptsListChanged",
    [LIST_RESOURCES] = "resourcesListChanged",
};

static bool
is_subscribed(const struct hub *h, const struct server *s, const char *uri, size_t len)
{
	for (const struct subscription *u = h->subscriptions; u != NULL; u = u->next)
		if (!u->task && u->server == s && u->len == len &&
		    memcmp(u->uri, uri, len) == 0)
			return true;
	return false;
}

static void
add(struct hub *h, const struct forward *f, const char *asked, struct listen *l,
    bool task)
{
	size_t asked_len = strlen(asked);
	struct subscription *u;
	size_t n = 0;

	for (u = h->subscriptions; u != NULL; u = u->next)
		n++;
	if (n >= URIS_MAX || (u = malloc(sizeof(*u) + f->name_len + asked_len)) == NULL)
		return;
	*u = (struct subscription){
	    h->subscriptions, f->server, l, task, f->name_len, asked_len};
	memcpy(u->uri, f->name, f->name_len);
	memcpy(u->uri + f->name_len, asked, asked_len);
	h->subscriptions = u;
}

/* Of a resource, which the agent called so, by resources/subscribe or its opposite. */
void
subscribe_note(struct hub *h, const struct forward *f, const char *asked, bool on)
{
	struct subscription **at = &h->subscriptions, *u;

	if (on) {
		if (!is_subscribed(h, f->server, f->name, f->name_len))
			add(h, f, asked, NULL, false);
		return;
	}
	while ((u = *at) != NULL)
		if (u->listen == NULL && u->server == f->server &&
		    u->len == f->name_len && memcmp(u->uri, f->name, u->len) == 0) {
			*at = u->next;
			free(u);
		} else
			at = &u->next;
}

/* ---- toward the servers ---------------------------------------------------------- */

/* The URIs of a server, or the ids of its tasks, as it has them. */
static void
put_wanted(const struct downstream *d, bool tasks, struct buf *out)
{
	const char *comma = "";

	for (const struct subscription *u = d->server->hub->subscriptions; u != NULL;
	     u = u->next) {
		if (u->server != d->server || u->task != tasks)
			continue;
		(void)buf_puts(out, comma); /* surfaces at the end of the line */
		quote(out, u->uri, u->len);
		comma = ",";
	}
}

static bool
wants_tasks(const struct downstream *d)
{
	for (const struct subscription *u = d->server->hub->subscriptions; u != NULL;
	     u = u->next)
		if (u->server == d->server && u->task)
			return true;
	return false;
}

/* To a server of 2026-07-28: one request for all that is wanted of it. */
static void
listen_to(struct downstream *d)
{
	struct hub *h = d->server->hub;
	struct buf *out = &h->body;

	if (d->listening != 0) {
		buf_clear(out);
		(void)buf_printf(out, /* errors surface at the end of the line */
		    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
		    "cancelled\",\"params\":{"
		    "\"requestId\":\"L%u\"}}\n",
		    d->listening);
		(void)downstream_send(d, out); /* the next one replaces it anyway */
	}
	buf_clear(out);
	(void)buf_printf(out, /* likewise */
	    "{\"jsonrpc\":\"2.0\",\"id\":\"L%u\",\"method\":\"subscriptions/listen\","
	    "\"params\":{\"_meta\":{",
	    ++d->listening);
	bridge_envelope(h, out, "");
	(void)buf_puts(out, "},\"notifications\":{\"promptsListChanged\":true,"
			    "\"resourcesListChanged\":true,\"toolsListChanged\":true,"
			    "\"resourceSubscriptions\":["); /* likewise */
	put_wanted(d, false, out);
	if (wants_tasks(d)) { /* of an extension: others get no such member */
		(void)buf_puts(out, "],\"taskIds\":["); /* likewise */
		put_wanted(d, true, out);
	}
	if (buf_puts(out, "]}}}\n") < 0 || downstream_send(d, out) == -ENOMEM)
		h->error = -ENOMEM;
}

static void
subscribe_at(struct downstream *d, const char *method, const char *uri, size_t len)
{
	struct hub *h = d->server->hub;
	struct buf *out = &h->body;

	buf_clear(out);
	(void)buf_printf(out, /* errors surface at the end of the line */
	    "{\"jsonrpc\":\"2.0\",\"id\":\"S%u\",\"method\":\"%s\",\"params\":{\"uri\":",
	    ++d->own_asked, method);
	quote(out, uri, len);
	if (buf_puts(out, "}}\n") < 0 || downstream_send(d, out) == -ENOMEM)
		h->error = -ENOMEM;
}

/* The agent's log level; a server of 2026-07-28 gets it with each request. */
void
downstream_level(struct downstream *d)
{
	struct hub *h = d->server->hub;

	if (h->log_level[0] == '\0' || !d->logs || d->modern)
		return;
	buf_clear(&h->body);
	if (buf_printf(&h->body,
		"{\"jsonrpc\":\"2.0\",\"id\":\"S%u\",\"method\":\"logging/setLevel\","
		"\"params\":{\"level\":\"%s\"}}\n",
		++d->own_asked, h->log_level) < 0 ||
	    downstream_send(d, &h->body) == -ENOMEM)
		h->error = -ENOMEM;
}

/* A process that has just greeted does not know what an earlier one knew. */
void
subscriptions_replay(struct downstream *d)
{
	if (d->modern) {
		listen_to(d);
		return;
	}
	for (const struct subscription *u = d->server->hub->subscriptions; u != NULL;
	     u = u->next)
		if (u->server == d->server && !u->task)
			subscribe_at(d, "resources/subscribe", u->uri, u->len);
}

/* ---- from the agent ----------------------------------------------------------------- */

/* resources/subscribe of an agent to a server that only listens. */
bool
subscribe_bridge(struct hub *h, struct incoming *in, struct server *s)
{
	static const struct buf nothing = {.len = 0};

	if (s->down == NULL || !s->down->modern)
		return false;
	listen_to(s->down);
	reply_result(h, in, &nothing, -1);
	return true;
}

/* What is honoured of it, as the agent asked. Returns how many. */
static size_t
put_honoured(struct hub *h, const struct listen *l, bool tasks, const char *first)
{
	size_t n = 0;

	for (const struct subscription *u = h->subscriptions; u != NULL; u = u->next) {
		if (u->listen != l || u->task != tasks)
			continue;
		(void)buf_puts(&h->text, n++ > 0 ? "," : first); /* at the end */
		quote(&h->text, u->uri + u->len, u->asked_len);  /* likewise */
	}
	return n;
}

/* What is honoured: kinds of lists, URIs that a server has, tasks. */
static void
acknowledge(struct hub *h, const struct listen *l)
{
	buf_clear(&h->text);
	(void)buf_puts(&h->text, /* errors surface at the end of the line */
	    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/"
	    "acknowledged\","
	    "\"params\":{\"_meta\":{\"" META_SUBSCRIPTION "\":");
	(void)buf_put(&h->text, l->id, l->id_len);         /* likewise */
	(void)buf_puts(&h->text, "},\"notifications\":{"); /* likewise */
	for (size_t i = 0; i < ARRAY_LEN(changed_members); i++)
		if (l->changes[i])
			(void)buf_printf(
			    &h->text, "\"%s\":true,", changed_members[i]); /* likewise */
	(void)buf_puts(&h->text, "\"resourceSubscriptions\":[");           /* likewise */
	(void)put_honoured(h, l, false, "");
	(void)buf_putc(&h->text, ']'); /* likewise */
	if (put_honoured(h, l, true, ",\"taskIds\":[") > 0)
		(void)buf_putc(&h->text, ']'); /* likewise */
	if (buf_puts(&h->text, "}}}\n") < 0)
		h->error = -ENOMEM;
	(void)reply_send(h); /* a notice; an agent that does not read loses it */
}

static void
note_uris(struct hub *h, struct listen *l, struct json uris)
{
	static char text[MCP_NAME_MAX];
	struct forward f = {.server = NULL};
	struct json key, value;
	struct json_walk w;

	json_walk(&w, uris);
	while (uris.type == JSON_IS_ARRAY && json_next(&w, &key, &value))
		if (text_of(value, text, sizeof(text)) != NULL &&
		    (f.server = offers_resource(
			 h, text, strlen(text), &f.name, &f.name_len, f.two)) != NULL &&
		    !f.server->per_call) /* no process of it is there to listen to */
			add(h, &f, text, l, false);
}

/* A task is one of a running server of 2026-07-28: older ones report to their own agent. */
static void
note_tasks(struct hub *h, struct listen *l, struct json ids)
{
	static char text[TASK_MAX];
	struct forward f = {.server = NULL};
	struct json key, value;
	struct json_walk w;

	json_walk(&w, ids);
	while (ids.type == JSON_IS_ARRAY && json_next(&w, &key, &value))
		if (tasks_find(h, value, text, &f) && f.server->down->modern)
			add(h, &f, text, l, true);
}

static bool
is_first(const struct hub *h, const struct subscription *of)
{
	const struct subscription *u = h->subscriptions;

	while (u->server != of->server || u->listen != of->listen)
		u = u->next;
	return u == of;
}

/* Each server learns it; one that does not run is started first. */
static void
listen_uris(struct hub *h, const struct listen *l)
{
	char why[HUB_TEXT_MAX];

	for (const struct subscription *u = h->subscriptions; u != NULL; u = u->next) {
		struct downstream *d =
		    u->listen == l ? server_need(u->server, why) : NULL;

		if (d == NULL || d->state < DOWN_SERVING)
			continue; /* replayed when it serves */
		if (!d->modern)
			subscribe_at(d, "resources/subscribe", u->uri, u->len);
		else if (is_first(h, u))
			listen_to(d); /* for all of them */
	}
}

static bool
is_of(const struct listen *l, struct json id)
{
	return id_same((struct json){l->id, l->id_len, id.type}, id);
}

static bool
is_listening(const struct hub *h, struct json id)
{
	for (const struct listen *l = h->listens; l != NULL; l = l->next)
		if (is_of(l, id))
			return true;
	return false;
}

void
on_listen(struct hub *h, struct incoming *in)
{
	struct json wanted = in->m.param[PARAM_NOTIFICATIONS], value;
	struct json id = in->m.top[TOP_ID];
	struct listen *l;
	size_t n = 0;

	if (wanted.type != JSON_IS_OBJECT) {
		reply_error(h, in, RPC_PARAMS_BAD,
		    "kennel: params.notifications is not an object");
		return;
	}
	if (!call_ready(h, in, json_get(wanted, "resourceSubscriptions", &value) == 0))
		return;
	for (l = h->listens; l != NULL; l = l->next)
		n++;
	if (id.len > MCP_ID_MAX || is_listening(h, id)) {
		reply_error(h, in, RPC_REQUEST_BAD,
		    "kennel: this id is still in use by an earlier request");
		return;
	}
	if (n == LISTENS_MAX || (l = calloc(1, sizeof(*l))) == NULL) {
		reply_error(h, in, -32603, "kennel: too many subscriptions");
		return;
	}
	l->id_len = (uint16_t)id.len;
	memcpy(l->id, id.at, id.len);
	for (size_t i = 0; i < ARRAY_LEN(changed_members); i++)
		l->changes[i] = json_get(wanted, changed_members[i], &value) == 0 &&
				value.type == JSON_IS_TRUE;
	l->next = h->listens;
	h->listens = l;
	if (json_get(wanted, "resourceSubscriptions", &value) == 0)
		note_uris(h, l, value);
	if (json_get(wanted, "taskIds", &value) == 0)
		note_tasks(h, l, value);
	acknowledge(h, l);
	listen_uris(h, l);
}

bool
listen_cancel(struct hub *h, struct json id)
{
	for (struct listen **at = &h->listens; *at != NULL; at = &(*at)->next) {
		struct listen *l = *at;
		struct subscription **u = &h->subscriptions;

		if (!is_of(l, id))
			continue;
		while (*u != NULL) {
			struct subscription *gone = *u;

			if (gone->listen != l) {
				u = &gone->next;
				continue;
			}
			*u = gone->next;
			if (gone->server->down != NULL && !gone->server->down->modern &&
			    !is_subscribed(h, gone->server, gone->uri, gone->len))
				subscribe_at(gone->server->down, "resources/unsubscribe",
				    gone->uri, gone->len);
			free(gone);
		}
		*at = l->next;
		free(l);
		return true;
	}
	return false;
}

/* kennel serve ends before the agent does: each listen request gets its answer. */
void
listens_end(struct hub *h)
{
	for (const struct listen *l = h->listens; l != NULL; l = l->next) {
		buf_clear(&h->text);
		(void)buf_puts(&h->text, "{\"jsonrpc\":\"2.0\",\"id\":"); /* at the end */
		(void)buf_put(&h->text, l->id, l->id_len);                /* likewise */
		(void)buf_puts(&h->text,
		    ",\"result\":{\"resultType\":\"complete\","
		    "\"_meta\":{\"" META_SUBSCRIPTION "\":"); /* likewise */
		(void)buf_put(&h->text, l->id, l->id_len);    /* likewise */
		if (buf_puts(&h->text, "}}}\n") == 0)
			(void)reply_send(h); /* likewise */
	}
}

/* ---- to the agent --------------------------------------------------------------------- */

static void
put_notice(struct hub *h, const struct listen *l, const char *method,
    const struct subscription *u)
{
	buf_clear(&h->text);
	(void)buf_printf(&h->text, /* errors surface at the end of the line */
	    "{\"jsonrpc\":\"2.0\",\"method\":\"%s\",\"params\":{\"_meta\":{"
	    "\"" META_SUBSCRIPTION "\":",
	    method);
	(void)buf_put(&h->text, l->id, l->id_len); /* likewise */
	(void)buf_putc(&h->text, '}');             /* likewise */
	if (u != NULL) {
		(void)buf_puts(&h->text, ",\"uri\":");          /* likewise */
		quote(&h->text, u->uri + u->len, u->asked_len); /* likewise */
	}
	if (buf_puts(&h->text, "}}\n") < 0)
		h->error = -ENOMEM;
	(void)reply_send(h); /* a notice; an agent that does not read loses it */
}

void
list_changed(struct hub *h, enum list_kind kind)
{
	if (kind == LIST_TEMPLATES)
		kind = LIST_RESOURCES;
	if (h->era == ERA_LEGACY && h->initialized)
		notify(h, changed_methods[kind]);
	for (const struct listen *l = h->listens; l != NULL; l = l->next)
		if (l->changes[kind])
			put_notice(h, l, changed_methods[kind], NULL);
}

void
resource_updated(struct hub *h, const struct notice *n)
{
	static char text[MCP_NAME_MAX];
	struct json uri = {0};

	if (!edit_find(n->edits, n->m->top[TOP_PARAMS], "uri", &uri) ||
	    text_of(uri, text, sizeof(text)) == NULL)
		return;
	for (const struct subscription *u = h->subscriptions; u != NULL; u = u->next) {
		if (u->task || u->server != n->down->server || u->len != strlen(text) ||
		    memcmp(u->uri, text, u->len) != 0)
			continue;
		if (u->listen != NULL) {
			put_notice(h, u->listen, "notifications/resources/updated", u);
		} else {
			struct edits e = {.n = 0};

			buf_clear(&h->body);
			quote(&h->body, u->uri + u->len, u->asked_len);
			edit_put(&e, uri.at, uri.len, h->body.data, h->body.len);
			if (edit_send(&e, n->line, n->len, &h->to_agent) == -ENOMEM)
				h->error = -ENOMEM;
			(void)frame_flush(&h->to_agent); /* the line is not kept */
		}
	}
}

/* Of 2026-07-28, over the hub's listen request: to those who listen for the task. */
void
task_changed(struct hub *h, const struct notice *n)
{
	struct json params = n->m->top[TOP_PARAMS], id, meta, sub;
	static char text[TASK_MAX];
	struct task_texts texts = {.prefix = ""};

	texts_of(n->down->server, &texts);
	if (!edit_find(n->edits, params, "taskId", &id) ||
	    text_of(id, text, sizeof(text)) == NULL ||
	    !edit_find(n->edits, params, "_meta", &meta) ||
	    !edit_find(n->edits, meta, META_SUBSCRIPTION, &sub))
		return;
	for (const struct subscription *u = h->subscriptions; u != NULL; u = u->next) {
		struct edits e = {.n = 0};

		if (!u->task || u->listen == NULL || u->server != n->down->server ||
		    u->len != strlen(text) || memcmp(u->uri, text, u->len) != 0)
			continue;
		edit_put(&e, sub.at, sub.len, u->listen->id, u->listen->id_len);
		tasks_rename(&e, params, &texts);
		asked_inputs(&e, params, &texts);
		n->edits->twice |= e.twice; /* then the line is not written */
		if (e.wrong != NULL)
			edit_refuse(n->edits, e.wrong); /* likewise */
		if (edit_send(&e, n->line, n->len, &h->to_agent) == -ENOMEM)
			h->error = -ENOMEM;
		(void)frame_flush(&h->to_agent); /* the line is not kept */
	}
}

void
subscriptions_free(struct hub *h)
{
	struct subscription *u;
	struct listen *l;

	while ((u = h->subscriptions) != NULL) {
		h->subscriptions = u->next;
		free(u);
	}
	while ((l = h->listens) != NULL) {
		h->listens = l->next;
		free(l);
	}
}
