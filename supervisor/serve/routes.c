/*
 * The agent's requests under way at servers, and their answers. An id toward a server is
 * a number of kennel's own: its low bits are the row, and it is never used again.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/serve/approvals/refused_calls.h"
#include "supervisor/serve/asked/asked_text.h"
#include "supervisor/serve/private.h"
#include "supervisor/serve/secrets_tools.h"

#define ROW_BITS 13 /* HUB_CALLS_MAX + 1 rows */

struct incoming
route_asked(struct hub *h, const struct route *route)
{
	const struct call *call = route_call(h, route);
	struct incoming in = {.modern = route->modern};

	in.m.top[TOP_ID] = (struct json){
	    call->id, call->id_len, call->id[0] == '"' ? JSON_IS_STRING : JSON_IS_NUMBER};
	return in;
}

struct call *
route_call(struct hub *h, const struct route *route)
{
	return &h->calls.call[route - h->route];
}

/* Another id at the server. */
void
route_renew(struct hub *h, struct route *route)
{
	route->id = ++h->routes_made << ROW_BITS | (uint64_t)(route - h->route);
}

void
route_token(struct route *route, const struct incoming *in)
{
	struct json token;

	route->token[0] = '\0';
	if (json_get(in->m.param[PARAM_META], "progressToken", &token) < 0 ||
	    token.len > MCP_TOKEN_MAX ||
	    (token.type != JSON_IS_STRING && token.type != JSON_IS_NUMBER))
		return;
	memcpy(route->token, token.at, token.len);
	route->token[token.len] = '\0';
}

static void
drop(struct hub *h, struct route *route)
{
	asking_release(h, route);
	route->down->server->open--;
	route->down = NULL;
	bridge_free(h, route->bridge);
	free(route->query_tool);
	free(route->refused);
	calls_remove(&h->calls, route_call(h, route));
}

struct route *
route_new(struct hub *h, struct incoming *in, struct downstream *d)
{
	struct json level, caps = {0};
	struct route *route;
	struct call *call;

	if (d->server->open >= SERVER_CALLS_MAX || h->calls.open >= HUB_CALLS_MAX ||
	    calls_add(&h->calls, in->m.top[TOP_ID], &call) < 0) {
		reply_error(h, in, RPC_NO_RECORD,
		    "kennel: too many requests are in progress; wait for responses");
		return NULL;
	}
	call->known = in->method;
	route = &h->route[call - h->calls.call];
	*route = (struct route){.down = d, .modern = in->modern};
	route_renew(h, route);
	route->logs = json_get(in->m.param[PARAM_META], META_LOG_LEVEL, &level) == 0;
	(void)json_get(in->m.param[PARAM_META], META_CAPABILITIES, &caps); /* none */
	route->can = agent_can(caps);
	route_token(route, in);
	route->began = loop_now();
	open_check_add(route);
	d->server->open++;
	d->server->made++;
	return route;
}

struct route *
route_find(struct downstream *d, struct json id)
{
	struct hub *h = d->server->hub;
	uint64_t n = 0;
	size_t row;

	if (id.type != JSON_IS_NUMBER || id.len > 19)
		return NULL;
	for (size_t i = 0; i < id.len; i++) {
		if (id.at[i] < '0' || id.at[i] > '9')
			return NULL;
		n = n * 10 + (uint64_t)(id.at[i] - '0');
	}
	row = n & ((1u << ROW_BITS) - 1);
	if (row == 0 || row > HUB_CALLS_MAX || h->route[row].down != d ||
	    h->route[row].id != n || h->calls.call[row].state == CALL_FREE)
		return NULL;
	return &h->route[row];
}

void
route_free(struct hub *h, struct route *route)
{
	struct downstream *d = route->down;

	drop(h, route);
	if (d->use == USE_ONCE)
		d->deadline = 0; /* closed by the timer: it may be in use above us */
}

/* ---- answers ---------------------------------------------------------------------- */

int
error_code(const struct json_message *m)
{
	struct json code = m->error[ERROR_CODE];
	char text[16];

	if (code.type != JSON_IS_NUMBER || code.len >= sizeof(text))
		return 0;
	memcpy(text, code.at, code.len);
	text[code.len] = '\0';
	return (int)strtol(text, NULL, 10); /* a number of the scanner's */
}

/* kennel's own error, as "kennel run" writes it: its code; else 0. */
static int
own_error(const struct json_message *m, char text[HUB_TEXT_MAX])
{
	struct json data, kennel, message;

	if (m->top[TOP_ERROR].type != JSON_IS_OBJECT ||
	    json_get(m->top[TOP_ERROR], "data", &data) < 0 ||
	    json_get(data, "kennel", &kennel) < 0 ||
	    json_get(m->top[TOP_ERROR], "message", &message) < 0 ||
	    text_of(message, text, HUB_TEXT_MAX) == NULL)
		return 0;
	return error_code(m);
}

/* What a result of an older server lacks for an agent of 2026-07-28. */
static void
modernize(struct edits *e, const struct route *route, const struct call *call,
    const struct json_message *m, bool typed)
{
	static const char plain[] = "{\"resultType\":\"complete\",";
	static const char read[] =
	    "{\"resultType\":\"complete\",\"ttlMs\":0,\"cacheScope\":\"private\",";
	struct json result = m->top[TOP_RESULT], key, value;
	bool reads =
	    call->known != NULL && strcmp(call->known->name, "resources/read") == 0;
	const char *text = reads ? read : plain;
	struct json_walk w;

	if (!route->modern || route->down->modern || result.type != JSON_IS_OBJECT ||
	    typed)
		return;
	json_walk(&w, result);
	/* an empty object takes no comma */
	edit_put(e, result.at, 1, text, strlen(text) - !json_next(&w, &key, &value));
}

/* "No such resource" has another code since 2026-07-28. */
static void
error_of_era(struct edits *e, const struct route *route, const struct call *call,
    const struct json_message *m)
{
	static const char old[] = "-32002", new[] = "-32602";
	const char *from = route->modern ? old : new, *to = route->modern ? new : old;
	struct json code = m->error[ERROR_CODE];

	if (route->modern == route->down->modern || call->known == NULL ||
	    strcmp(call->known->name, "resources/read") != 0 ||
	    code.type != JSON_IS_NUMBER || code.len != strlen(from) ||
	    memcmp(code.at, from, code.len) != 0)
		return;
	edit_put(e, code.at, code.len, to, strlen(to));
}

void
route_error(struct hub *h, struct route *route, int code, const char *text)
{
	struct incoming in = route_asked(h, route);
	const struct method *method = route_call(h, route)->known;
	bool tool = method != NULL && (method->flags & METHOD_RESULT) != 0;

	if (route->query)
		query_failed(h, route, &in, code == RPC_TIMEOUT ? NULL : text);
	else if (route->handle[0] != '\0' ||
		 (tool && code == RPC_SERVER_GONE &&
		     secrets_refused(h, &in, &route->down->refusal)))
		; /* held: its agent learns it when it goes on; or it was answered here */
	else if (route->invoked)
		reply_refusal(h, &in, text, "error", NULL);
	else
		reply_error(h, &in, code, text);
	(void)frame_flush(&h->to_agent); /* the rest when there is room */
}

/* Writes the server's answer as the agent gets it. typed: it has a resultType. */
static void
pass_answer(struct hub *h, struct route *route, struct edits *e, const uint8_t *line,
    size_t len, const struct json_message *m, bool typed)
{
	struct call *call = route_call(h, route);
	struct server *s = route->down->server;
	struct json result = m->top[TOP_RESULT];
	struct task_texts texts = {.prefix = ""};
	int r;

	texts_of(s, &texts);
	edit_put(e, m->top[TOP_ID].at, m->top[TOP_ID].len, call->id, call->id_len);
	modernize(e, route, call, m, typed);
	error_of_era(e, route, call, m);
	asked_error(e, m->top[TOP_ERROR], &texts);
	asked_inputs(e, result, &texts);
	tasks_rename(e, result, &texts);
	if (call->known != NULL && strcmp(call->known->name, "tasks/list") == 0)
		tasks_next_page(e, h, s, result, &texts);
	r = edit_send(e, line, len, &h->to_agent);
	if (r == -EEXIST || r == -EINVAL) {
		const char *why =
		    r == -EINVAL ? e->wrong : "duplicate key in the response";
		char text[HUB_TEXT_MAX];

		records_dropped(s, len, why);
		(void)snprintf(text, sizeof(text),
		    "kennel: the server's response was rejected: %s", why); /* fits */
		route_error(h, route, RPC_REFUSED, text);
	} else if (r == -ENOMEM)
		h->error = r;
	else if (r < 0)
		route_error(h, route, RPC_TOO_BIG, "kennel: the answer is too long");
	(void)frame_flush(&h->to_agent); /* the line is not kept */
}

/* A server of 2026-07-28 makes one of any call whose client knows tasks. */
static bool
is_task(struct json type)
{
	char text[16];

	return text_of(type, text, sizeof(text)) != NULL && strcmp(text, "task") == 0;
}

void
route_reply(struct hub *h, struct route *route, const uint8_t *line, size_t len,
    const struct json_message *m)
{
	struct downstream *d = route->down;
	struct edits e = {.n = 0};
	char text[HUB_TEXT_MAX];
	struct json type;
	bool typed = edit_find(&e, m->top[TOP_RESULT], "resultType", &type);
	int code = own_error(m, text);

	if (route->handle[0] != '\0') { /* the server did not wait for the answer */
		bridge_pass(h, route, (struct json){0});
		route_free(h, route);
		return;
	}
	if (route->refused != NULL)
		refused_call_answer(secrets_queue(h), route->refused, m);
	if (code == 0 && !route->query) /* a query starts its process first */
		latency_add(&d->server->latency, (loop_now() - route->began) / 1000);
	if (route->query) {
		query_answered(h, route, m, code != 0 ? text : NULL);
	} else if (route->invoked && (code == RPC_SERVER_GONE || code == RPC_TIMEOUT)) {
		route_error(h, route, code, text);
	} else if (typed && d->use == USE_ONCE && is_task(type)) {
		(void)snprintf(text, sizeof(text),
		    "kennel: %s has a process for each call, which ends with its answer: "
		    "no "
		    "tasks",
		    d->server->name); /* fits */
		route_error(h, route, RPC_NO_METHOD, text);
	} else if (e.twice || !bridge_input(h, route, m)) {
		pass_answer(h, route, &e, line, len, m, typed);
	} else
		return; /* it goes on */
	route_free(h, route);
	if (code == RPC_TIMEOUT)
		downstream_probe(d);
	else if (code == RPC_SERVER_GONE)
		d->deadline = 0; /* its session is ending: the timer closes it */
}

void
routes_gone(struct downstream *d, const char *why)
{
	struct hub *h = d->server->hub;
	char text[HUB_TEXT_MAX];

	(void)snprintf(
	    text, sizeof(text), "kennel: %s: %s", d->server->name, why); /* cut */
	for (size_t i = 1; i <= h->calls.used; i++) {
		struct route *route = &h->route[i];

		if (route->down != d || h->calls.call[i].state == CALL_FREE)
			continue;
		if (h->calls.call[i].state == CALL_OPEN && !h->ending)
			route_error(h, route, RPC_SERVER_GONE, text);
		drop(h, route);
	}
}

/* The server of this call needs an answer of the agent's. */
static bool
waits_for_agent(const struct hub *h, const struct route *r)
{
	for (size_t i = 0; r->bridge != NULL && i < ASKING_MAX; i++)
		if (h->asking[i].down != NULL && h->asking[i].bridge == r->bridge)
			return true;
	return false;
}

void
routes_unasked(struct hub *h, const char *text)
{
	for (size_t i = 1; i <= h->calls.used; i++) {
		struct route *r = &h->route[i];

		if (r->down == NULL)
			continue;
		if (r->handle[0] != '\0') { /* held: its agent would have to go on */
			bridge_pass(h, r, (struct json){0});
			route_cancel(h, r, "the input of the client has ended");
		} else if (waits_for_agent(h, r))
			route_error(h, r, RPC_REFUSED, text);
		else
			continue;
		route_free(h, r);
	}
}

void
routes_expire_all(struct hub *h, const char *text)
{
	for (size_t i = 1; i <= h->calls.used; i++) {
		struct route *r = &h->route[i];

		if (r->down == NULL || h->calls.call[i].state != CALL_OPEN)
			continue;
		route_error(h, r, RPC_TIMEOUT, text);
		route_free(h, r);
	}
}

/* One process takes the place of another one that has seen none of these requests. */
void
routes_move(struct downstream *from, struct downstream *to)
{
	struct hub *h = from->server->hub;

	for (size_t i = 1; i <= h->calls.used; i++)
		if (h->route[i].down == from)
			h->route[i].down = to;
	to->check.at = from->check.at;
}

void
route_cancel(struct hub *h, struct route *route, const char *reason)
{
	char id[24];

	(void)snprintf(id, sizeof(id), "%llu", (unsigned long long)route->id); /* fits */
	buf_clear(&h->body);
	if (rpc_cancel(&h->body, (const uint8_t *)id, strlen(id), reason) < 0 ||
	    downstream_send(route->down, &h->body) == -ENOMEM)
		h->error = -ENOMEM;
}

/* ---- calls that wait for lists -------------------------------------------------------- */

/* When this one has waited for `timeout call`; UINT64_MAX: it does not wait. */
static uint64_t
late_at(const struct hub *h, const struct route *r, const struct downstream *d)
{
	const struct server *s = d->server;
	uint64_t ms = policy_limit(&s->policy, s->sealed, TIMEOUT_CALL);
	uint64_t since = r->began > d->again.greeted_at ? r->began : d->again.greeted_at;

	if (r->down != d || h->calls.call[r - h->route].state != CALL_OPEN)
		return UINT64_MAX;
	return since + ms * LOOP_MS;
}

uint64_t
routes_late_at(const struct downstream *d)
{
	const struct hub *h = d->server->hub;
	uint64_t next = UINT64_MAX, at;

	if (d->state != DOWN_LISTING || d->waiting.len == 0)
		return UINT64_MAX;
	for (size_t i = 1; i <= h->calls.used; i++) {
		at = late_at(h, &h->route[i], d);
		next = at < next ? at : next;
	}
	return next;
}

/* The server has not seen it, and does not get it any more. */
static void
take_back(struct downstream *d, const struct route *route)
{
	uint8_t *data = d->waiting.data, *at = data, *end;
	size_t left = d->waiting.len, n, kept = 0;
	struct json_message m;

	for (; left > 0 && (end = memchr(at, '\n', left)) != NULL; at += n, left -= n) {
		n = (size_t)(end - at) + 1;
		if (json_scan(at, n - 1, &m) == 0 &&
		    route_find(d, m.top[TOP_ID]) == route)
			continue;
		memmove(data + kept, at, n);
		kept += n;
	}
	d->waiting.len = kept;
}

void
routes_late(struct downstream *d, uint64_t now)
{
	struct hub *h = d->server->hub;
	char text[HUB_TEXT_MAX];

	if (routes_late_at(d) > now)
		return;
	(void)snprintf(text, sizeof(text),
	    "kennel: the lists of %s took longer than `timeout call`; the call was not "
	    "made",
	    d->server->name); /* fits */
	for (size_t i = 1; i <= h->calls.used; i++) {
		struct route *route = &h->route[i];

		if (late_at(h, route, d) > now)
			continue;
		take_back(d, route);
		route_error(h, route, RPC_TIMEOUT, text);
		route_free(h, route);
	}
}

/* ---- calls with a time of their own ------------------------------------------------- */

void
routes_timer(struct hub *h, uint64_t now)
{
	h->timed = 0;
	for (size_t i = 1; i <= h->calls.used; i++) {
		struct route *r = &h->route[i];

		if (r->down == NULL || r->until == 0)
			continue;
		if (r->until > now) {
			h->timed++;
			continue;
		}
		if (r->bridge != NULL) {
			bridge_resume(h, r);
			continue;
		}
		if (r->query)
			route_error(h, r, RPC_TIMEOUT, "timed out"); /* of a query */
		else
			bridge_pass(h, r, (struct json){0});
		route_cancel(h, r, "the client did not answer in time");
		route_free(h, r);
	}
}

uint64_t
routes_next(struct hub *h)
{
	uint64_t next = UINT64_MAX;

	for (size_t i = 1; h->timed > 0 && i <= h->calls.used; i++)
		if (h->route[i].down != NULL && h->route[i].until != 0 &&
		    h->route[i].until < next)
			next = h->route[i].until;
	return next;
}
