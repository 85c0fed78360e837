/*
 * Between the two eras of MCP. Older versions let a server send a request while it works
 * on a call; 2026-07-28 lets it answer the call with what it needs (`input_required`), and
 * the client repeats the call with the answers.
 *
 *	agent older, server 2026-07-28	the inputs become requests to the agent; when all
 *					are answered the call is sent again
 *	agent 2026-07-28, server older	the request becomes the answer of the newest call,
 *					which stays open at the server; the agent's next
 *					call with the handle carries the answer
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "shim/base/array.h"
#include "shim/base/hex.h"
#include "supervisor/serve/private.h"

#define ROUNDS_MAX         8
#define INPUTS_MAX         16
#define ELICITATION_ID_MAX (32 + 2 * HANDLE_BYTES)
#define PAUSE_MS           250 /* before a call that a server wants again, and nothing else */
#define HELD_MS            300000 /* a call that waits for the agent's answer */

/* ---- toward a server of 2026-07-28 -------------------------------------------------- */

void
bridge_object(struct buf *out, const struct buf *object)
{
	(void)buf_put(out, object->len > 0 ? object->data : (const uint8_t *)"{}",
	    object->len > 0 ? object->len : 2); /* surfaces at the end of the line */
}

void
bridge_identity(struct hub *h, struct buf *out)
{
	(void)buf_puts(out, /* errors surface at the end of the line */
	    "\"" META_PROTOCOL "\":\"" MODERN "\",\"" META_CLIENT "\":");
	bridge_object(out, &h->client_info);
	(void)buf_puts(out, ",\"" META_CAPABILITIES "\":"); /* likewise */
	bridge_object(out, &h->client_capabilities);
}

void
bridge_envelope(struct hub *h, struct buf *out, const char *comma)
{
	(void)buf_puts(out, comma); /* surfaces at the end of the line */
	bridge_identity(h, out);
	if (h->log_level[0] != '\0')
		(void)buf_printf(
		    out, ",\"" META_LOG_LEVEL "\":\"%s\"", h->log_level); /* likewise */
}

static bool
is_envelope(struct json key)
{
	static const char *const names[] = {
	    META_PROTOCOL, META_CAPABILITIES, META_CLIENT, META_LOG_LEVEL};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (json_key_is(key, names[i]) == 1)
			return true;
	return false;
}

/* _meta with this progress token (NULL: its own), from one era to the other. */
static void
put_meta(struct hub *h, struct json meta, const char *token, bool from_modern,
    bool to_modern, struct buf *out)
{
	struct json key, value;
	const char *comma = "";
	struct json_walk w;

	(void)buf_putc(out, '{'); /* errors surface at the end of the line */
	json_walk(&w, meta);
	while (meta.type == JSON_IS_OBJECT && json_next(&w, &key, &value)) {
		if (from_modern != to_modern && is_envelope(key))
			continue;
		(void)buf_puts(out, comma);          /* likewise */
		(void)buf_put(out, key.at, key.len); /* likewise */
		(void)buf_putc(out, ':');            /* likewise */
		if (token != NULL && json_key_is(key, "progressToken") == 1)
			(void)buf_puts(out, token); /* likewise */
		else
			(void)buf_put(out, value.at, value.len); /* likewise */
		comma = ",";
	}
	if (to_modern && !from_modern)
		bridge_envelope(h, out, comma);
	(void)buf_putc(out, '}'); /* likewise */
}

void
bridge_meta(struct hub *h, struct edits *e, const struct json_message *m,
    const char *token, bool from_modern, bool to_modern, struct buf *room)
{
	struct json meta = m->param[PARAM_META], params = m->top[TOP_PARAMS], key, value;
	struct json_walk w;

	if (meta.type != JSON_IS_NONE) {
		put_meta(h, meta, token, from_modern, to_modern, room);
		edit_put(e, meta.at, meta.len, room->data, room->len);
	} else if (to_modern && params.type == JSON_IS_OBJECT) {
		json_walk(&w, params);
		(void)buf_puts(room, "{\"_meta\":"); /* surfaces at the end of the line */
		put_meta(h, meta, token, from_modern, to_modern, room);
		if (json_next(&w, &key, &value))
			(void)buf_putc(room, ','); /* likewise */
		edit_put(e, params.at, 1, room->data, room->len);
	} else if (to_modern && params.type == JSON_IS_NONE) {
		(void)buf_puts(room, ",\"params\":{\"_meta\":"); /* likewise */
		put_meta(h, meta, token, from_modern, to_modern, room);
		(void)buf_puts(room, "}}"); /* likewise */
		edit_put(e, m->root.at + m->root.len - 1, 1, room->data, room->len);
	}
}

/* The call of a line that waits may ask its agent in the server's new era, or no more. */
static void
bridge_again(struct hub *h, struct downstream *from, struct json id, bool to_modern)
{
	struct route *route = route_find(from, id);

	if (route == NULL || route->modern || route->query)
		return;
	bridge_free(h, route->bridge);
	route->bridge = NULL;
	if (to_modern)
		bridge_keep(h, route, &h->text);
}

/* A line that was written for a server of the other era: a request gets an envelope, or
 * loses it. */
static int
rewrite(struct hub *h, const uint8_t *line, size_t len, struct downstream *from,
    struct downstream *to)
{
	struct edits e = {.n = 0};
	struct json_message m;
	int r;

	if (json_scan(line, len, &m) < 0)
		return 0; /* no server could read it either */
	buf_clear(&h->body);
	buf_clear(&h->text);
	if (m.top[TOP_ID].type != JSON_IS_NONE)
		bridge_meta(h, &e, &m, NULL, !to->modern, to->modern, &h->body);
	r = edit_apply(&e, line, len, &h->text);
	if (r == 0 && m.top[TOP_ID].type != JSON_IS_NONE)
		bridge_again(h, from, m.top[TOP_ID], to->modern);
	return r < 0 ? r : buf_put(&to->waiting, h->text.data, h->text.len);
}

void
bridge_waiting(struct hub *h, struct downstream *from, struct downstream *to)
{
	const uint8_t *at = from->waiting.data, *newline;
	size_t left = from->waiting.len; /* 0: there is no memory */
	int r = 0;

	while (r == 0 && left > 0 && (newline = memchr(at, '\n', left)) != NULL) {
		r = rewrite(h, at, (size_t)(newline - at), from, to);
		left -= (size_t)(newline + 1 - at);
		at = newline + 1;
	}
	if (r == -ENOMEM)
		h->error = r;
}

/* A call of an older agent whose server asked for inputs. */
struct bridge {
	struct route *route;
	int waiting, rounds;
	struct buf line;    /* the request as it was sent */
	struct buf answers; /* members of inputResponses */
	char *state;        /* requestState as written; NULL: none */
	size_t state_len;
};

void
bridge_keep(struct hub *h, struct route *route, const struct buf *line)
{
	struct bridge *b = calloc(1, sizeof(*b));

	if (b == NULL)
		return; /* then its inputs are refused */
	b->route = route;
	buf_init(&b->line, MCP_MESSAGE_MAX);
	buf_init(&b->answers, MCP_MESSAGE_MAX);
	if (buf_put(&b->line, line->data, line->len) < 0)
		h->error = -ENOMEM;
	route->bridge = b;
}

void
bridge_free(struct hub *h, struct bridge *b)
{
	if (b == NULL)
		return;
	for (size_t i = 0; i < ASKING_MAX; i++)
		if (h->asking[i].bridge == b && h->asking[i].down != NULL) {
			h->asking[i].bridge = NULL;
			if (h->ending)
				h->asking[i].down = NULL;
			else
				asking_cancel(h, &h->asking[i], "the call has ended");
		}
	buf_free(&b->line);
	buf_free(&b->answers);
	free(b->state);
	free(b);
}

static bool
takes_urls(const struct hub *h)
{
	struct json all = {
	    h->client_capabilities.data, h->client_capabilities.len, JSON_IS_OBJECT};
	struct json elicitation, url;

	return all.len > 0 && json_get(all, "elicitation", &elicitation) == 0 &&
	       elicitation.type == JSON_IS_OBJECT &&
	       json_get(elicitation, "url", &url) == 0 && url.type == JSON_IS_OBJECT;
}

/* A page that a person opens has an id until 2026-07-28, which has none: writes the start
 * of its params with a new one. False: the agent does not open pages. */
static bool
put_elicitation_id(const struct hub *h, struct json params, char out[ELICITATION_ID_MAX])
{
	struct json mode, id;
	uint8_t raw[HANDLE_BYTES];
	char text[8], hex[HANDLE_BYTES * 2 + 1];
	int r;

	out[0] = '\0';
	if (params.type != JSON_IS_OBJECT)
		return true;
	r = json_get(params, "mode", &mode);
	if (r == -EEXIST)
		return false; /* readers disagree which one holds */
	if (r < 0 || text_of(mode, text, sizeof(text)) == NULL ||
	    strcmp(text, "url") != 0)
		return true;
	if (!takes_urls(h) ||
	    getrandom(raw, sizeof(raw), GRND_NONBLOCK) != (ssize_t)sizeof(raw))
		return false;
	if (json_get(params, "elicitationId", &id) < 0)
		(void)snprintf(out, ELICITATION_ID_MAX, /* fits */
		    "{\"elicitationId\":\"kennel-%s\",", hex_put(hex, raw, sizeof(raw)));
	return true;
}

/* One input: a request to the agent. False: it cannot be made. */
static bool
ask_input(struct hub *h, struct bridge *b, struct json key, struct json input)
{
	struct json method = {0}, params = {0};
	struct asking *a;
	char name[MCP_METHOD_MAX], first[ELICITATION_ID_MAX] = "";
	const struct method *known;

	if (input.type != JSON_IS_OBJECT || json_get(input, "method", &method) < 0 ||
	    text_of(method, name, sizeof(name)) == NULL || key.len > MCP_ID_MAX)
		return false;
	known = method_find(name, strlen(name));
	if (known == NULL || (known->flags & METHOD_ASKS) == 0 ||
	    (h->can & known->needs) == 0)
		return false;
	if (json_get(input, "params", &params) == 0 &&
	    !put_elicitation_id(h, params, first))
		return false;
	a = asking_new(b->route->down, key, known); /* its "id" is the key */
	if (a == NULL)
		return false;
	buf_clear(&h->text);
	(void)buf_printf(&h->text, /* errors surface at the end of the line */
	    "{\"jsonrpc\":\"2.0\",\"id\":\"kennel-%u\",\"method\":\"%s\"", a->n, name);
	if (params.type != JSON_IS_NONE || known->needs != SERVER_MCP_ROOTS) {
		(void)buf_puts(&h->text, ",\"params\":"); /* likewise */
		if (asking_params(h, a, params, first, &h->text) < 0) {
			a->down = NULL;
			return false;
		}
	}
	if (buf_puts(&h->text, "}\n") < 0)
		h->error = -ENOMEM;
	if (reply_send(h) < 0) {
		a->down = NULL;
		return false;
	}
	a->bridge = b;
	b->waiting++;
	return true;
}

static void
keep_state(struct bridge *b, struct json result)
{
	struct json state;

	free(b->state);
	b->state = NULL;
	if (json_get(result, "requestState", &state) < 0 ||
	    state.type != JSON_IS_STRING || (b->state = malloc(state.len)) == NULL)
		return;
	memcpy(b->state, state.at, state.len);
	b->state_len = state.len;
}

/* Sends the call again, with the answers, under another id. */
static void
send_again(struct hub *h, struct bridge *b)
{
	struct edits e = {.n = 0};
	struct json_message m;
	struct json token;
	struct buf more;
	char id[24];

	if (json_scan(b->line.data, b->line.len - 1, &m) < 0)
		return;
	route_renew(h, b->route);
	(void)snprintf(
	    id, sizeof(id), "%llu", (unsigned long long)b->route->id); /* fits */
	edit_put(&e, m.top[TOP_ID].at, m.top[TOP_ID].len, id, strlen(id));
	if (json_get(m.param[PARAM_META], "progressToken", &token) == 0)
		edit_put(&e, token.at, token.len, id, strlen(id));
	buf_init(&more, MCP_MESSAGE_MAX);
	(void)buf_puts(&more, "{\"inputResponses\":{"); /* errors surface at the end */
	(void)buf_put(&more, b->answers.data, b->answers.len); /* likewise */
	(void)buf_puts(&more, "},");                           /* likewise */
	if (b->state != NULL) {
		(void)buf_puts(&more, "\"requestState\":");   /* likewise */
		(void)buf_put(&more, b->state, b->state_len); /* likewise */
		(void)buf_putc(&more, ',');                   /* likewise */
	}
	edit_put(&e, m.top[TOP_PARAMS].at, 1, more.data, more.len);
	buf_clear(&h->body);
	if (edit_apply(&e, b->line.data, b->line.len - 1, &h->body) < 0 ||
	    downstream_send(b->route->down, &h->body) == -ENOMEM)
		h->error = -ENOMEM;
	buf_free(&more);
}

/* True: the answer is not the agent's yet, because the server needs inputs. */
bool
bridge_input(struct hub *h, struct route *route, const struct json_message *m)
{
	struct json result = m->top[TOP_RESULT], type, key, value;
	struct bridge *b = route->bridge;
	struct json_walk w;
	char text[32];

	if (route->modern || b == NULL || result.type != JSON_IS_OBJECT ||
	    json_get(result, "resultType", &type) < 0 ||
	    text_of(type, text, sizeof(text)) == NULL ||
	    strcmp(text, "input_required") != 0)
		return false;
	if (++b->rounds > ROUNDS_MAX) {
		route_error(h, route, RPC_REFUSED, "kennel: the server asked too often");
		route_free(h, route);
		return true;
	}
	buf_clear(&b->answers);
	keep_state(b, result);
	if (m->result[RESULT_INPUTS].type == JSON_IS_OBJECT) {
		json_walk(&w, m->result[RESULT_INPUTS]);
		while (json_next(&w, &key, &value)) {
			if (b->waiting < INPUTS_MAX && ask_input(h, b, key, value))
				continue;
			route_error(h, route, RPC_REFUSED,
			    "kennel: the server asked for what this client does not "
			    "support");
			route_free(h, route);
			return true;
		}
	}
	if (b->waiting == 0) { /* nothing paces such a server but the hub */
		route->until = loop_now() + PAUSE_MS * LOOP_MS;
		h->timed++;
	}
	return true;
}

void
bridge_resume(struct hub *h, struct route *route)
{
	route->until = 0;
	send_again(h, route->bridge);
}

/* True: it is the answer to such an input. An error of the agent's ends the call. */
bool
bridge_answer(struct hub *h, struct asking *a, const struct incoming *in)
{
	struct json result = in->m.top[TOP_RESULT];
	struct bridge *b = a->bridge;
	struct route *route;

	if (b == NULL)
		return false;
	route = b->route;
	a->down = NULL;
	b->waiting--;
	if (result.type == JSON_IS_NONE) {
		route_error(h, route, RPC_REFUSED,
		    "kennel: the client did not answer what the server needs");
		route_free(h, route);
		return true;
	}
	if (b->answers.len > 0)
		(void)buf_putc(&b->answers, ','); /* surfaces at the end of the line */
	(void)buf_put(&b->answers, a->id, a->id_len);      /* likewise */
	(void)buf_putc(&b->answers, ':');                  /* likewise */
	(void)buf_put(&b->answers, result.at, result.len); /* likewise */
	if (b->waiting == 0)
		send_again(h, b);
	return true;
}

/* ---- toward an agent of 2026-07-28 ------------------------------------------------------ */

/* The newest call at this process: older versions do not say which one asks. */
static struct route *
newest(struct downstream *d)
{
	struct hub *h = d->server->hub;
	struct route *best = NULL;

	for (size_t i = 1; i <= h->calls.used; i++) {
		struct route *r = &h->route[i];

		if (r->down == d && h->calls.call[i].state == CALL_OPEN && !r->query &&
		    r->handle[0] == '\0' && (best == NULL || r->id > best->id))
			best = r;
	}
	return best;
}

/* The row keeps its number, and so its id at the server; the agent's id changes. */
static bool
rename_call(struct hub *h, struct route *route, struct json id)
{
	struct call *call = route_call(h, route), *again = NULL;
	const struct method *known = call->known;

	calls_remove(&h->calls, call);
	if (calls_add(&h->calls, id, &again) < 0 || again != call)
		return false;
	call->known = known;
	return true;
}

static void
draw_handle(struct route *route)
{
	uint8_t raw[HANDLE_BYTES];

	if (getrandom(raw, sizeof(raw), GRND_NONBLOCK) == (ssize_t)sizeof(raw))
		(void)hex_put(route->handle, raw, sizeof(raw));
}

void
bridge_request(
    struct downstream *d, const struct json_message *m, const struct method *method)
{
	struct hub *h = d->server->hub;
	struct route *route = newest(d);
	struct json params = m->top[TOP_PARAMS], id;
	struct incoming in = {.modern = true};
	struct asking *a;
	char held[64];
	int r;

	if (route != NULL && (route->can & method->needs) == 0) {
		server_refuse(
		    d, m->top[TOP_ID], "kennel: the client does not support that");
		return;
	}
	if (route == NULL || !route->modern) {
		server_refuse(d, m->top[TOP_ID], "kennel: no call is under way");
		return;
	}
	a = asking_new(d, m->top[TOP_ID], method);
	if (a == NULL) {
		server_refuse(d, m->top[TOP_ID], ASKING_FULL);
		return;
	}
	id = (struct json){route_call(h, route)->id, route_call(h, route)->id_len,
	    route_call(h, route)->id[0] == '"' ? JSON_IS_STRING : JSON_IS_NUMBER};
	buf_clear(&h->text);
	(void)buf_puts(&h->text, "{\"jsonrpc\":\"2.0\",\"id\":"); /* at the end */
	(void)buf_put(&h->text, id.at, id.len);                   /* likewise */
	(void)buf_printf(&h->text,                                /* likewise */
	    ",\"result\":{\"resultType\":\"input_required\",\"inputRequests\":{\"k%u\":{"
	    "\"method\":\"%s\"",
	    a->n, method->name);
	if (params.type == JSON_IS_OBJECT || method->needs != SERVER_MCP_ROOTS) {
		(void)buf_puts(&h->text, ",\"params\":"); /* likewise */
		r = asking_params(h, a, params, "", &h->text);
		if (r < 0) {
			asking_refuse(a, m->top[TOP_ID], r);
			return;
		}
	}
	draw_handle(route);
	if (buf_printf(&h->text, "}},\"requestState\":\"%s\"}}\n", route->handle) < 0)
		h->error = -ENOMEM;
	if (reply_send(h) < 0) {
		route->handle[0] = '\0';
		asking_refuse(a, m->top[TOP_ID], -EMSGSIZE);
		return;
	}
	a->held = route->id;
	(void)snprintf(held, sizeof(held), "\"held-%s\"", route->handle); /* fits */
	in.m.top[TOP_ID] = (struct json){(uint8_t *)held, strlen(held), JSON_IS_STRING};
	if (!rename_call(h, route, in.m.top[TOP_ID]))
		h->error = -ENOMEM;
	route->until = loop_now() + HELD_MS * LOOP_MS;
	h->timed++;
}

static struct route *
held_route(struct hub *h, const char *handle)
{
	for (size_t i = 1; i <= h->calls.used; i++)
		if (h->route[i].down != NULL && h->calls.call[i].state == CALL_OPEN &&
		    strlen(handle) == sizeof(h->route[i].handle) - 1 &&
		    strcmp(h->route[i].handle, handle) == 0)
			return &h->route[i];
	return NULL;
}

void
bridge_pass(struct hub *h, struct route *route, struct json answers)
{
	struct json answer;
	char key[24];
	int r;

	for (size_t i = 0; i < ASKING_MAX; i++) {
		struct asking *a = &h->asking[i];

		if (a->down != route->down || a->held != route->id)
			continue;
		(void)snprintf(key, sizeof(key), "k%u", a->n); /* fits */
		buf_clear(&h->body);
		(void)buf_puts(&h->body, "{\"jsonrpc\":\"2.0\",\"id\":"); /* at the end */
		(void)buf_put(&h->body, a->id, a->id_len);                /* likewise */
		if (answers.type == JSON_IS_OBJECT &&
		    json_get(answers, key, &answer) == 0) {
			(void)buf_puts(&h->body, ",\"result\":");       /* likewise */
			(void)buf_put(&h->body, answer.at, answer.len); /* likewise */
			r = buf_puts(&h->body, "}\n");
		} else
			r = buf_puts(&h->body, ",\"error\":{\"code\":-32603,\"message\":"
					       "\"kennel: no answer\"}}\n");
		if (r < 0 || downstream_send(a->down, &h->body) == -ENOMEM)
			h->error = -ENOMEM;
		a->down = NULL;
		a->held = 0;
	}
}

/* A call that carries a handle of ours continues the one that is held. True: handled. */
bool
bridge_continue(struct hub *h, struct incoming *in, const struct server *s)
{
	struct json state, answers = {0};
	struct route *route;
	char handle[HANDLE_BYTES * 2 + 2];

	if (!in->modern || s->modern || in->m.top[TOP_PARAMS].type != JSON_IS_OBJECT ||
	    json_get(in->m.top[TOP_PARAMS], "requestState", &state) < 0)
		return false;
	route =
	    text_of(state, handle, sizeof(handle)) == NULL ? NULL : held_route(h, handle);
	if (route == NULL || route->down->server != s) {
		reply_error(h, in, RPC_PARAMS_BAD,
		    "kennel: requestState is unknown or expired: call again without it");
		return true;
	}
	if (!rename_call(h, route, in->m.top[TOP_ID])) {
		h->error = -ENOMEM;
		return true;
	}
	route->handle[0] = '\0';
	route->until = 0;
	route_token(route, in);
	(void)json_get(
	    in->m.top[TOP_PARAMS], "inputResponses", &answers); /* missing: none */
	bridge_pass(h, route, answers);
	return true;
}
