/*
 * A line of the agent: one scan, then the handler of its method. The agent may be
 * compromised, so nothing here trusts it.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/array.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/serve/private.h"
#include "supervisor/serve/secrets_tools.h"

static const struct row {
	const char *method;
	handler *fn;
	bool legacy, modern;
} rows[] = {
    /* sorted by method */
    {"completion/complete", on_complete, true, true},
    {"initialize", on_initialize, true, false},
    {"logging/setLevel", on_set_level, true, false},
    {"ping", on_ping, true, false},
    {"prompts/get", on_prompt, true, true},
    {"prompts/list", on_list, true, true},
    {"resources/list", on_list, true, true},
    {"resources/read", on_resource, true, true},
    {"resources/subscribe", on_subscribe, true, false},
    {"resources/templates/list", on_list, true, true},
    {"resources/unsubscribe", on_subscribe, true, false},
    {"server/discover", on_discover, false, true},
    {"subscriptions/listen", on_listen, false, true},
    {"tasks/cancel", on_task, true, true},
    {"tasks/get", on_task, true, true},
    {"tasks/list", on_tasks, true, false},
    {"tasks/result", on_task, true, false},
    {"tasks/update", on_task, false, true},
    {"tools/call", on_tool_call, true, true},
    {"tools/list", on_list, true, true},
};

static int
by_method(const void *key, const void *row)
{
	return strcmp(key, ((const struct row *)row)->method);
}

/* ---- requests ---------------------------------------------------------------- */

/* A version that kennel does not speak: the answer names those that it does. */
static void
refuse_version(struct hub *h, const struct incoming *in, struct json requested)
{
	struct json id = in->m.top[TOP_ID];

	buf_clear(&h->text);
	(void)buf_puts(&h->text, "{\"jsonrpc\":\"2.0\",\"id\":"); /* at the end */
	(void)buf_put(&h->text, id.at, id.len);                   /* likewise */
	(void)buf_puts(&h->text,
	    ",\"error\":{\"code\":-32022,\"message\":\"kennel: unsupported "
	    "protocol version\",\"data\":{\"supported\":" VERSIONS
	    ",\"requested\":"); /* likewise */
	if (requested.type == JSON_IS_STRING)
		(void)buf_put(&h->text, requested.at, requested.len); /* likewise */
	else
		(void)buf_puts(&h->text, "null"); /* likewise */
	if (buf_puts(&h->text, "}}}\n") < 0)
		h->error = -ENOMEM;
	(void)reply_send(h); /* an agent that does not read loses it */
}

/* False: it was refused. */
static bool
takes_era(struct hub *h, struct incoming *in)
{
	struct json version = {0}, caps;
	char text[16];

	in->modern = json_get(in->m.param[PARAM_META], META_PROTOCOL, &version) == 0;
	if (!in->modern) {
		if (h->era == ERA_MODERN &&
		    json_get(in->m.top[TOP_PARAMS], "protocolVersion", &version) == 0) {
			refuse_version(h, in, version);
			return false;
		}
		h->era = h->era == ERA_OPEN ? ERA_LEGACY : h->era;
		return true;
	}
	if (text_of(version, text, sizeof(text)) == NULL || strcmp(text, MODERN) != 0) {
		refuse_version(h, in, version);
		return false;
	}
	if (json_get(in->m.param[PARAM_META], META_CAPABILITIES, &caps) < 0 ||
	    caps.type != JSON_IS_OBJECT) {
		reply_error(h, in, RPC_PARAMS_BAD,
		    "kennel: params._meta lacks " META_CAPABILITIES ", an object");
		return false;
	}
	/* a server that starts for this request gets what this request declares */
	if (h->era != ERA_LEGACY)
		keep_client(h, caps,
		    json_get(in->m.param[PARAM_META], META_CLIENT, &version) == 0
			? version
			: (struct json){0});
	if (h->era == ERA_LEGACY)
		return true; /* a stray one; the session keeps to its era */
	h->era = ERA_MODERN;
	h->version = MCP_2026_07_28;
	return true;
}

void
hub_broken(struct hub *h, int status, const char *why)
{
	if (h->broken != NULL)
		return;
	h->broken = strdup(why);
	if (h->broken == NULL)
		hub_end(h, "out of memory");
	h->status = status;
}

static void
request(struct hub *h, struct incoming *in)
{
	char method[MCP_METHOD_MAX];
	const struct row *row;

	if (calls_find(&h->calls, in->m.top[TOP_ID]) != NULL) {
		reply_error(h, in, RPC_REQUEST_BAD,
		    "kennel: this id is still in use by an earlier request");
		return;
	}
	if (h->broken != NULL) {
		reply_error(h, in, RPC_SERVER_GONE, h->broken);
		hub_end(h, "what it was started with is not valid");
		return;
	}
	if (!takes_era(h, in))
		return;
	(void)text_of(
	    in->m.top[TOP_METHOD], method, sizeof(method)); /* rpc_kind read it */
	in->method = method_find(method, strlen(method));
	row = bsearch(method, rows, ARRAY_LEN(rows), sizeof(rows[0]), by_method);
	if (row == NULL || !(in->modern ? row->modern : row->legacy))
		reply_error(h, in, RPC_NO_METHOD, "kennel: no such method");
	else
		row->fn(h, in);
}

/* ---- notifications ------------------------------------------------------------- */

static void
cancelled(struct hub *h, struct incoming *in)
{
	struct call *call = calls_find(&h->calls, in->m.param[PARAM_REQUEST_ID]);
	struct edits e = {.n = 0};
	struct route *route;
	struct json id;
	char text[32];

	if (call == NULL) {
		/* or unknown */
		if (!listen_cancel(h, in->m.param[PARAM_REQUEST_ID]))
			(void)parked_cancel(h, in->m.param[PARAM_REQUEST_ID]);
		return;
	}
	route = &h->route[call - h->calls.call];
	id = in->m.param[PARAM_REQUEST_ID];
	(void)snprintf(
	    text, sizeof(text), "%llu", (unsigned long long)route->id); /* fits */
	edit_put(&e, id.at, id.len, text, strlen(text));
	buf_clear(&h->body);
	if (edit_apply(&e, in->line, in->len, &h->body) == -ENOMEM ||
	    downstream_send(route->down, &h->body) == -ENOMEM)
		h->error = -ENOMEM;
	route_free(h, route); /* a late answer belongs to no row */
}

static void
broadcast(struct hub *h, struct incoming *in)
{
	struct edits none = {.n = 0};

	buf_clear(&h->body);
	if (edit_apply(&none, in->line, in->len, &h->body) < 0)
		h->error = -ENOMEM;
	for (struct downstream *d = h->down; d != NULL; d = d->next)
		if (d->state == DOWN_SERVING && d->use == USE_SHARED)
			(void)downstream_send(d, &h->body); /* a full one misses it */
}

static void
initialized(struct hub *h, struct incoming *in)
{
	h->initialized = true;
}

static const struct {
	const char *method;
	handler *fn;
} notices[] = {
    {"notifications/cancelled", cancelled},
    {"notifications/initialized", initialized},
    {"notifications/progress", agent_progress},
    {"notifications/roots/list_changed", broadcast},
};

static void
notification(struct hub *h, struct incoming *in)
{
	char method[MCP_METHOD_MAX];

	(void)text_of(
	    in->m.top[TOP_METHOD], method, sizeof(method)); /* rpc_kind read it */
	for (size_t i = 0; i < ARRAY_LEN(notices); i++)
		if (strcmp(method, notices[i].method) == 0)
			notices[i].fn(h, in);
}

/* ---- lines ----------------------------------------------------------------------- */

static void
message(struct hub *h, struct incoming *in)
{
	const char *why = NULL;
	char text[160];

	switch (rpc_kind(&in->m, &why)) {
	case RPC_REQUEST:
		request(h, in);
		return;
	case RPC_NOTIFICATION:
		notification(h, in);
		return;
	case RPC_ANSWER:
		agent_answer(h, in);
		return;
	case RPC_INVALID:
		break;
	}
	if (in->m.top[TOP_METHOD].type == JSON_IS_NONE &&
	    (in->m.top[TOP_RESULT].type | in->m.top[TOP_ERROR].type) != 0)
		return; /* answers get no reply */
	(void)snprintf(text, sizeof(text), "kennel: not a valid request: %s", why);
	reply_error(h, in, RPC_REQUEST_BAD, text);
}

/* Only 2025-03-26 has batches. Each element is answered by itself. */
static void
batch(struct hub *h, const struct incoming *whole, bool waited)
{
	struct json key, item;
	struct json_walk w;
	size_t n = 0;

	if (h->version != MCP_2025_03_26) {
		reply_error(h, whole, RPC_REQUEST_BAD,
		    "kennel: this protocol version has no batches");
		return;
	}
	json_walk(&w, whole->m.root);
	while (json_next(&w, &key, &item)) {
		struct incoming in = {.line = item.at, .len = item.len, .waited = waited};

		if (n++ == MCP_BATCH_MAX) {
			reply_error(h, whole, RPC_REQUEST_BAD,
			    "kennel: the batch has more than 4,096 elements");
			return;
		}
		if (rpc_scan(in.line, in.len, &in.m) == 0)
			message(h, &in);
	}
	if (n == 0)
		reply_error(h, whole, RPC_REQUEST_BAD, "kennel: the batch is empty");
}

void
agent_take(struct hub *h, const uint8_t *line, size_t len, const struct parked *was)
{
	struct incoming in = {.line = line,
	    .len = len,
	    /* before its server is known it may still have to wait for that */
	    .waited = was != NULL && was->why >= PARK_SERVER,
	    .record = was != NULL ? was->record : 0};
	int r = rpc_scan(line, len, &in.m);

	if (r < 0) {
		in.m.top[TOP_ID].len = 0;
		in.m.top[TOP_ID].type = JSON_IS_NONE;
		reply_error(h, &in, r == -E2BIG ? RPC_REQUEST_BAD : RPC_PARSE,
		    r == -E2BIG    ? "kennel: nested too deeply"
		    : r == -EILSEQ ? "kennel: not valid UTF-8"
				   : "kennel: not valid JSON");
	} else if (in.m.root.type == JSON_IS_ARRAY)
		batch(h, &in, in.waited);
	else
		message(h, &in);
}

static bool
is_blank(const uint8_t *line, size_t len)
{
	while (len > 0 &&
	       (line[len - 1] == ' ' || line[len - 1] == '\t' || line[len - 1] == '\r'))
		len--;
	return len == 0;
}

void
agent_pump(struct hub *h)
{
	const uint8_t *line;
	uint64_t len;

	h->behind = false;
	while (h->error == 0) {
		enum frame_what what;

		if (!hub_room(h)) {
			h->behind = true;
			return;
		}
		what = frame_next(&h->from_agent, &line, &len);
		if (what == FRAME_NONE)
			return;
		if (what == FRAME_OVERSIZE)
			reply_error(h, &(struct incoming){0}, RPC_REQUEST_BAD,
			    "kennel: the message is longer than 16 MiB");
		else if (!is_blank(line, (size_t)len))
			agent_take(h, line, (size_t)len, NULL);
	}
}

/* ---- the end of the input --------------------------------------------------------- */

/* What was read before the end gets its answer, as in a session (after_input.h). Neither a
 * person nor the agent is asked any more, by the hub or a session. */
static void
last_begin(struct hub *h)
{
	if (h->after.until != 0 || h->ending)
		return;
	if (!after_input_begin(&h->after, &h->to_agent)) {
		hub_end(h, "the agent closed its end");
		return;
	}
	secrets_withdraw(h);
	asking_withdraw(h);
	routes_unasked(h, "kennel: " AFTER_INPUT_GONE ", so no answer can come");
	downstreams_unasked(h);
}

static bool
under_way(const struct hub *h)
{
	return h->calls.open > 0 || h->parked != NULL || h->behind || !h->agent_eof;
}

void
agent_last_arm(struct hub *h)
{
	if (h->after.until == 0 || h->ending)
		return;
	if (after_input_over(&h->after, &h->to_agent, under_way(h), true))
		hub_end(h, "the agent closed its end");
}

uint64_t
agent_last_due(const struct hub *h)
{
	return h->ending ? UINT64_MAX : after_input_due(&h->after, !under_way(h));
}

void
agent_last_timer(struct hub *h, uint64_t now)
{
	if (h->after.until == 0 || h->ending || now < h->after.until)
		return;
	routes_expire_all(h, "kennel: " AFTER_INPUT_LATE);
	parked_refuse_all(h, RPC_TIMEOUT, "kennel: " AFTER_INPUT_LATE);
	hub_end(h, "what is under way takes too long");
}

/* ---- input ------------------------------------------------------------------------ */

void
agent_ready(struct loop *loop, int fd, short revents, void *arg)
{
	struct hub *h = arg;
	int r = -EAGAIN;

	agent_pump(h); /* what is left of the last read */
	if (!h->behind)
		r = frame_fill(&h->from_agent);
	else if ((revents & (POLLHUP | POLLRDHUP | POLLERR)) != 0) {
		/* the rest is handled when there is room, but the end begins now */
		r = after_input_drain(&h->from_agent);
		h->leaving = true;
		last_begin(h);
	}
	if (r == -ENOMEM)
		h->error = r;
	else if (r <= 0 && r != -EAGAIN)
		h->agent_eof = true;
	if (r != -EAGAIN)
		agent_pump(h);
	if (h->agent_eof)
		last_begin(h);
	hub_arm(h);
}

/* ---- who speaks next ------------------------------------------------------------- */

/* Lines are handled only while the agent's queue has room; those that were read before it
 * was full wait in their buffers, and are handled when the agent has read. */
bool
hub_room(struct hub *h)
{
	if (frame_queued(&h->to_agent) < FRAME_SOON)
		return true;
	if (frame_flush(&h->to_agent) == -ENOMEM)
		h->error = -ENOMEM;
	return frame_queued(&h->to_agent) < FRAME_SOON;
}

struct downstream *
downstream_behind(const struct hub *h)
{
	struct downstream *d = h->down;

	while (d != NULL && !d->behind)
		d = d->next;
	return d;
}

void
hub_catch_up(struct hub *h)
{
	struct downstream *d;

	if (h->turns++ % 2 == 0 && h->behind)
		agent_pump(h);
	while ((d = downstream_behind(h)) != NULL && h->error == 0 && hub_room(h))
		(void)downstream_pump(d); /* it may be gone */
	if (h->parked_behind)
		parked_wake(h);
	if (h->behind)
		agent_pump(h);
}
