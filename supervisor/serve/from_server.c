/*
 * A line of a server's session. The session has judged it: what the policy refuses, what
 * is no JSON and answers to no request do not come here. Names, ids and tokens of one
 * server must not meet those of another one; that is decided here.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/array.h"
#include "supervisor/serve/asked/asked_text.h"
#include "supervisor/serve/private.h"

void
notice_pass(struct hub *h, const struct notice *n)
{
	struct task_texts texts = {.prefix = ""};
	int r;

	texts_of(n->down->server, &texts);
	tasks_rename(n->edits, n->m->top[TOP_PARAMS], &texts);
	r = edit_send(n->edits, n->line, n->len, &h->to_agent);
	if (r == -ENOMEM) /* a line with too many ids is left out */
		h->error = r;
	(void)frame_flush(&h->to_agent); /* the rest when there is room */
}

/* ---- notifications -------------------------------------------------------------- */

static void
progress(struct hub *h, const struct notice *n)
{
	struct task_texts texts = {.prefix = ""};
	struct json token, message;
	struct route *route;

	if (!edit_find(n->edits, n->m->top[TOP_PARAMS], "progressToken", &token))
		return;
	route = route_find(n->down, token);
	if (route == NULL || route->token[0] == '\0' || route->handle[0] != '\0')
		return;
	edit_put(n->edits, token.at, token.len, route->token, strlen(route->token));
	texts_of(n->down->server, &texts);
	if (edit_find(n->edits, n->m->top[TOP_PARAMS], "message", &message))
		asked_name(n->edits, message, &texts);
	notice_pass(h, n);
}

/* The logger's name identifies the server. */
static void
log_message(struct hub *h, const struct notice *n)
{
	struct json params = n->m->top[TOP_PARAMS], logger;
	bool wanted = h->era == ERA_LEGACY;

	for (const struct call *c = calls_next(&h->calls, NULL, CALL_OPEN);
	     c != NULL && !wanted;
	     c = calls_next(&h->calls, (struct call *)(uintptr_t)c, CALL_OPEN))
		wanted = h->route[c - h->calls.call].down == n->down &&
			 h->route[c - h->calls.call].logs;
	/* without a level it is none, and `{}` has no room for a member */
	if (!wanted || params.type != JSON_IS_OBJECT ||
	    !edit_find(n->edits, params, "level", &logger))
		return;
	buf_clear(&h->body);
	if (!edit_find(n->edits, params, "logger", &logger)) {
		(void)buf_printf(
		    &h->body, "{\"logger\":\"%s\",", n->down->server->name); /* short */
		edit_put(n->edits, params.at, 1, h->body.data, h->body.len);
	} else if (logger.type == JSON_IS_STRING) {
		(void)buf_printf(&h->body, "\"%s.", n->down->server->name); /* likewise */
		edit_put(n->edits, logger.at, 1, h->body.data, h->body.len);
	} else {
		(void)buf_printf(
		    &h->body, "\"%s\"", n->down->server->name); /* likewise */
		edit_put(n->edits, logger.at, logger.len, h->body.data, h->body.len);
	}
	notice_pass(h, n);
}

static void
lists_changed(struct hub *h, const struct notice *n)
{
	downstream_relist(n->down);
}

/* A server completes what it has asked for itself: ids of others begin otherwise. */
static void
elicitation_complete(struct hub *h, const struct notice *n)
{
	struct task_texts texts = {.prefix = ""};

	texts_of(n->down->server, &texts);
	prefix_id(n->edits, &texts, n->m->top[TOP_PARAMS], "elicitationId");
	if (n->edits->n > 0)
		notice_pass(h, n);
}

static void
cancelled(struct hub *h, const struct notice *n)
{
	asking_cancelled(n->down, n->m->param[PARAM_REQUEST_ID]);
}

static const struct {
	const char *method;
	notice_fn *fn;
} notices[] = {
    {"notifications/cancelled", cancelled},
    {"notifications/elicitation/complete", elicitation_complete},
    {"notifications/message", log_message},
    {"notifications/progress", progress},
    {"notifications/prompts/list_changed", lists_changed},
    {"notifications/resources/list_changed", lists_changed},
    {"notifications/resources/updated", resource_updated},
    {"notifications/tasks", task_changed},
    {"notifications/tasks/status", task_status},
    {"notifications/tools/list_changed", lists_changed},
};

static void
notification(struct hub *h, const struct notice *n)
{
	char method[MCP_METHOD_MAX];
	struct server *s = n->down->server;

	/* rpc_kind read it */
	(void)text_of(n->m->top[TOP_METHOD], method, sizeof(method));
	for (size_t i = 0; i < ARRAY_LEN(notices); i++)
		if (strcmp(method, notices[i].method) == 0)
			notices[i].fn(h, n);
	if (n->edits->twice)
		records_dropped(s, n->len, "duplicate key in the notification");
	else if (n->edits->wrong != NULL)
		records_dropped(s, n->len, n->edits->wrong);
}

/* ---- answers ----------------------------------------------------------------------- */

static void
answer(
    struct downstream *d, const uint8_t *line, size_t len, const struct json_message *m)
{
	struct json id = m->top[TOP_ID];
	struct route *route;
	char own[16];

	if (id.type == JSON_IS_STRING) {
		if (d->own != 0 && text_of(id, own, sizeof(own)) != NULL &&
		    own[0] == 'k' && strtoul(own + 1, NULL, 10) == d->own)
			downstream_own(d, m);
		else if (d->check.route != 0 && text_of(id, own, sizeof(own)) != NULL &&
			 own[0] == 'o' && strtoul(own + 1, NULL, 10) == d->check.n)
			open_check_answer(d, m);
		return;
	}
	route = route_find(d, id);
	if (route != NULL)
		route_reply(d->server->hub, route, line, len, m);
}

static void
server_line(struct downstream *d, const uint8_t *line, size_t len)
{
	struct hub *h = d->server->hub;
	struct json_message m;
	const char *why;

	if (rpc_scan(line, len, &m) < 0)
		return; /* the session sends none */
	d->served++;
	switch (rpc_kind(&m, &why)) {
	case RPC_ANSWER:
		answer(d, line, len, &m);
		return;
	case RPC_REQUEST:
		server_request(d, line, len, &m);
		return;
	case RPC_NOTIFICATION:
		notification(
		    h, &(struct notice){d, line, len, &m, &(struct edits){.n = 0}});
		return;
	case RPC_INVALID:
		return;
	}
}

bool
downstream_pump(struct downstream *d)
{
	struct hub *h = d->server->hub;
	uint32_t ticket = d->ticket;
	const uint8_t *line;
	uint64_t len;

	d->behind = false;
	while (h->error == 0) {
		enum frame_what what;

		if (!hub_room(h)) {
			d->behind = true;
			break;
		}
		what = frame_next(&d->in, &line, &len);
		if (what == FRAME_NONE)
			break;
		if (what == FRAME_LINE)
			server_line(d, line, (size_t)len);
		(void)frame_flush(&h->to_agent); /* the line is not kept */
		if (!downstream_lives(h, ticket))
			return false;
	}
	return true;
}

/* Reads, unless lines of the last read are left. Any line may close it. */
static void
read_more(struct downstream *d)
{
	int r;

	if (!downstream_pump(d) || d->behind)
		return;
	r = frame_fill(&d->in);
	if (r > 0)
		(void)downstream_pump(d); /* it may be gone */
	else if (r == -ENOMEM)
		d->server->hub->error = r;
	else if (r != -EAGAIN && d->server->failed[0] != '\0' &&
		 d->state < DOWN_SERVING) {
		d->refusal = d->server->refusal;
		downstream_close(d, d->server->failed);
	} else if (r != -EAGAIN)
		downstream_close(d, "the server ended");
}

void
downstream_ready(struct loop *loop, int fd, short revents, void *arg)
{
	struct downstream *d = arg;
	struct hub *h = d->server->hub;

	if ((revents & POLLOUT) != 0)
		(void)frame_flush(&d->out); /* the rest when there is room */
	if ((revents & (POLLIN | POLLHUP | POLLERR)) != 0)
		read_more(d);
	hub_arm(h);
}
