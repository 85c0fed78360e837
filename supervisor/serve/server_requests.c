/*
 * Requests of servers that the agent answers: sampling, elicitation, roots. The session
 * has let them pass, so the policy allows them. The agent sees which server asks.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/array.h"
#include "supervisor/serve/asked/asked_text.h"
#include "supervisor/serve/private.h"

#define OWN_PREFIX "kennel-"
#define NO_ANSWER  "kennel: " AFTER_INPUT_GONE ", so no answer can come"

static void
send_to_server(struct downstream *d, struct buf *line)
{
	int r = frame_say(&d->out, line->data, line->len);

	if (r == -ENOMEM)
		d->server->hub->error = r;
	(void)frame_flush(&d->out); /* the rest when there is room */
}

static void
answer_server(struct downstream *d, struct json id, const char *result)
{
	struct hub *h = d->server->hub;

	buf_clear(&h->body);
	(void)buf_puts(&h->body, "{\"jsonrpc\":\"2.0\",\"id\":"); /* at the end */
	(void)buf_put(&h->body, id.at, id.len);                   /* likewise */
	if (buf_printf(&h->body, ",%s}\n", result) < 0)
		h->error = -ENOMEM;
	send_to_server(d, &h->body);
}

static void
server_error(struct downstream *d, struct json id, int code, const char *why)
{
	char text[256];

	(void)snprintf(text, sizeof(text), "\"error\":{\"code\":%d,\"message\":\"%s\"}",
	    code, why); /* short, and without quotation marks */
	answer_server(d, id, text);
}

void
server_refuse(struct downstream *d, struct json id, const char *why)
{
	server_error(d, id, RPC_NO_METHOD, why);
}

/* ---- to the agent --------------------------------------------------------------- */

/* What a client with these capabilities can be asked for: enum sealed_server_flag. */
uint32_t
agent_can(struct json capabilities)
{
	struct json value;
	uint32_t can = 0;

	for (size_t i = 0; i < ARRAY_LEN(mcp_capabilities); i++)
		if (json_get(capabilities, mcp_capabilities[i].name, &value) == 0)
			can |= mcp_capabilities[i].needs;
	return can;
}

struct asking *
asking_new(struct downstream *d, struct json id, const struct method *method)
{
	struct hub *h = d->server->hub;
	struct asking *unused = NULL;
	int n = 0;

	for (size_t i = 0; i < ASKING_MAX; i++)
		if (h->asking[i].down == NULL)
			unused = &h->asking[i];
		else
			n += h->asking[i].down->server == d->server;
	if (unused == NULL || n >= SERVER_ASKING || h->after.until != 0)
		return NULL;
	*unused =
	    (struct asking){.down = d, .method = method, .id_len = (uint16_t)id.len};
	unused->n = ++h->asking_n;
	memcpy(unused->id, id.at, id.len);
	return unused;
}

void
asking_release(struct hub *h, const struct route *route)
{
	for (size_t i = 0; i < ASKING_MAX; i++)
		if (h->asking[i].down == route->down && h->asking[i].held == route->id)
			h->asking[i].down = NULL;
}

/* Records a request of the server's that the agent does not get, because of what is in
 * it, and returns why; NULL: it would fit. */
static const char *
note_unfit(struct server *s, size_t bytes, int error, const struct edits *e)
{
	const char *why = error == -EEXIST   ? "duplicate key in the request"
			  : error == -EINVAL ? e->wrong
					     : NULL;

	if (why != NULL)
		records_dropped(s, bytes, why);
	return why;
}

int
asking_params(struct hub *h, struct asking *a, struct json params, const char *first,
    struct buf *out)
{
	struct server *s = a->down->server;
	struct task_texts texts = {.prefix = ""};
	struct edits e = {.n = 0};
	int r;

	if (first[0] != '\0')
		edit_put(&e, params.at, 1, first, strlen(first));
	texts_of(s, &texts);
	asked_request(&e, a->method, params, &texts);
	r = edit_apply(&e, params.at, params.len, out);
	if (r == -ENOMEM)
		h->error = r;
	else if (r == 0)
		out->len--; /* its newline */
	a->wrong = note_unfit(s, params.len, r, &e);
	return r;
}

void
asking_refuse(struct asking *a, struct json id, int error)
{
	struct downstream *d = a->down;
	char why[160];

	a->down = NULL;
	(void)snprintf(
	    why, sizeof(why), "kennel: %s", a->wrong != NULL ? a->wrong : ""); /* fits */
	if (error == -EEXIST || error == -EINVAL)
		server_error(
		    d, id, error == -EEXIST ? RPC_REQUEST_BAD : RPC_PARAMS_BAD, why);
	else
		server_refuse(d, id,
		    "kennel: the request is too long, or the client does not read");
}

static void
ask_agent(struct downstream *d, const uint8_t *line, size_t len,
    const struct json_message *m, const struct method *method)
{
	struct asking *a = asking_new(d, m->top[TOP_ID], method);
	struct hub *h = d->server->hub;
	struct task_texts texts = {.prefix = ""};
	struct edits e = {.n = 0};
	struct json token;
	char id[32];
	int r;

	if (a == NULL) {
		server_refuse(d, m->top[TOP_ID], ASKING_FULL);
		return;
	}
	(void)snprintf(id, sizeof(id), "\"" OWN_PREFIX "%u\"", a->n); /* fits */
	edit_put(&e, m->top[TOP_ID].at, m->top[TOP_ID].len, id, strlen(id));
	if (edit_find(&e, m->param[PARAM_META], "progressToken", &token)) {
		/* one that is too long is not restored */
		if (token.len < sizeof(a->token)) {
			memcpy(a->token, token.at, token.len);
			a->token[token.len] = '\0';
		}
		edit_put(&e, token.at, token.len, id, strlen(id));
	}
	texts_of(d->server, &texts);
	asked_request(&e, method, m->top[TOP_PARAMS], &texts);
	r = edit_send(&e, line, len, &h->to_agent);
	if (r == -ENOMEM)
		h->error = r;
	(void)frame_flush(&h->to_agent); /* the line is not kept */
	if (r == 0 || r == -ENOMEM)
		return;
	a->wrong = note_unfit(d->server, len, r, &e); /* nothing of it was sent */
	asking_refuse(a, m->top[TOP_ID], r);
}

void
server_request(
    struct downstream *d, const uint8_t *line, size_t len, const struct json_message *m)
{
	struct hub *h = d->server->hub;
	const struct method *method;
	char name[MCP_METHOD_MAX];

	(void)text_of(m->top[TOP_METHOD], name, sizeof(name)); /* rpc_kind read it */
	method = method_find(name, strlen(name));
	if (strcmp(name, "ping") == 0)
		answer_server(d, m->top[TOP_ID], "\"result\":{}");
	else if (method == NULL || (method->flags & METHOD_ASKS) == 0)
		server_refuse(d, m->top[TOP_ID], "kennel: no such method");
	else if (h->after.until != 0)
		server_error(d, m->top[TOP_ID], RPC_REFUSED, NO_ANSWER);
	else if (h->era == ERA_MODERN)
		bridge_request(d, m, method);
	else if ((h->can & method->needs) == 0)
		server_refuse(
		    d, m->top[TOP_ID], "kennel: the client does not support that");
	else
		ask_agent(d, line, len, m, method);
}

/* ---- answers of the agent ----------------------------------------------------------- */

static struct asking *
asking_find(struct hub *h, struct json id)
{
	size_t n = sizeof(OWN_PREFIX) - 1;
	char text[32], *end;
	unsigned long number;

	if (text_of(id, text, sizeof(text)) == NULL || strncmp(text, OWN_PREFIX, n) != 0)
		return NULL;
	number = strtoul(text + n, &end, 10);
	for (size_t i = 0; *end == '\0' && i < ASKING_MAX; i++)
		if (h->asking[i].down != NULL && h->asking[i].n == number)
			return &h->asking[i];
	return NULL;
}

void
agent_answer(struct hub *h, const struct incoming *in)
{
	struct asking *a = asking_find(h, in->m.top[TOP_ID]);
	struct edits e = {.n = 0};
	struct task_texts texts = {.prefix = ""};

	if (a == NULL)
		return;
	if (bridge_answer(h, a, in))
		return;
	edit_put(&e, in->m.top[TOP_ID].at, in->m.top[TOP_ID].len, a->id, a->id_len);
	texts_of(a->down->server, &texts);
	tasks_unname(&e, &texts, in->m.top[TOP_RESULT]);
	buf_clear(&h->body);
	if (edit_apply(&e, in->line, in->len, &h->body) < 0)
		h->error = -ENOMEM;
	send_to_server(a->down, &h->body);
	a->down = NULL;
}

void
agent_progress(struct hub *h, struct incoming *in)
{
	struct edits e = {.n = 0};
	struct json token = {0};
	struct asking *a;

	if (in->m.top[TOP_PARAMS].type != JSON_IS_OBJECT ||
	    json_get(in->m.top[TOP_PARAMS], "progressToken", &token) < 0 ||
	    (a = asking_find(h, token)) == NULL || a->token[0] == '\0')
		return;
	edit_put(&e, token.at, token.len, a->token, strlen(a->token));
	buf_clear(&h->body);
	if (edit_apply(&e, in->line, in->len, &h->body) < 0)
		h->error = -ENOMEM;
	send_to_server(a->down, &h->body);
}

/* ---- ends ------------------------------------------------------------------------------ */

void
asking_cancel(struct hub *h, struct asking *a, const char *reason)
{
	char id[32];

	a->down = NULL;
	if (a->held != 0)
		return; /* the agent has it as an input of its call, not as a request */
	(void)snprintf(id, sizeof(id), "\"" OWN_PREFIX "%u\"", a->n); /* fits */
	buf_clear(&h->text);
	if (rpc_cancel(&h->text, (const uint8_t *)id, strlen(id), reason) < 0)
		h->error = -ENOMEM;
	(void)reply_send(h); /* a notice; an agent that does not read loses it */
}

void
asking_withdraw(struct hub *h)
{
	for (size_t i = 0; i < ASKING_MAX; i++) {
		struct asking *a = &h->asking[i];

		/* an input of a call ends with it */
		if (a->down == NULL || a->bridge != NULL || a->held != 0)
			continue;
		server_error(a->down, (struct json){a->id, a->id_len, JSON_IS_NUMBER},
		    RPC_REFUSED, NO_ANSWER);
		a->down = NULL;
	}
}

void
asking_gone(struct downstream *d)
{
	struct hub *h = d->server->hub;

	for (size_t i = 0; i < ASKING_MAX; i++)
		if (h->asking[i].down == d && h->asking[i].bridge == NULL && !h->ending)
			asking_cancel(h, &h->asking[i], "the server is gone");
		else if (h->asking[i].down == d)
			h->asking[i].down = NULL;
}

void
asking_cancelled(struct downstream *d, struct json id)
{
	struct hub *h = d->server->hub;

	for (size_t i = 0; i < ASKING_MAX; i++) {
		struct asking *a = &h->asking[i];

		if (a->down == d && a->bridge == NULL && a->id_len == id.len &&
		    memcmp(a->id, id.at, id.len) == 0)
			asking_cancel(h, a, "the server cancelled it");
	}
}
