/*
 * Tasks (2025-11-25; an extension of 2026-07-28). Toward the agent an id is SERVER and a
 * dot before the server's own id, so no table is lost when a process ends.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/sealed/policy.h"
#include "supervisor/serve/asked/asked_text.h"
#include "supervisor/serve/private.h"

/* ---- toward the agent ----------------------------------------------------------- */

void
texts_of(const struct server *s, struct task_texts *ret)
{
	(void)snprintf(ret->prefix, sizeof(ret->prefix), "\"%s.", s->name); /* fits */
	(void)snprintf(ret->asks, sizeof(ret->asks), "\"[%s] ", s->name);   /* fits */
}

void
task_status(struct hub *h, const struct notice *n)
{
	struct task_texts texts = {.prefix = ""};

	texts_of(n->down->server, &texts);
	asked_inputs(n->edits, n->m->top[TOP_PARAMS], &texts);
	notice_pass(h, n);
}

/* Only a reviewed server is known to have tasks before it runs. */
static bool
has_tasks(const struct server *s)
{
	struct json_message m;
	struct json tasks;

	for (uint32_t i = 0; s->ready && i < s->sealed->pins.n; i++) {
		const struct sealed_pin *pin = &s->policy.pin[s->sealed->pins.first + i];

		if (pin->kind == PIN_CAPABILITIES &&
		    json_scan((const uint8_t *)policy_str(&s->policy, pin->body),
			pin->body.len, &m) == 0 &&
		    json_get(m.root, "tasks", &tasks) == 0)
			return true;
	}
	return false;
}

const char *
tasks_capability(struct hub *h)
{
	for (size_t i = 0; i < h->server_n; i++)
		if (h->server[i]->enabled && !h->server[i]->once &&
		    has_tasks(h->server[i]))
			return ",\"tasks\":{\"cancel\":{},\"list\":{},\"requests\":{"
			       "\"tools\":{"
			       "\"call\":{}}}}";
	return "";
}

/* ---- from the agent ---------------------------------------------------------------- */

bool
tasks_find(struct hub *h, struct json id, char text[TASK_MAX], struct forward *ret)
{
	const char *dot;
	struct server *s;

	if (text_of(id, text, TASK_MAX) == NULL || (dot = strchr(text, '.')) == NULL)
		return false;
	s = server_find(h, text, (size_t)(dot - text));
	/* the process that has the task must still run */
	if (s == NULL || s->down == NULL || s->once)
		return false;
	*ret = (struct forward){
	    .server = s, .name = dot + 1, .name_len = strlen(dot + 1), .named = id};
	return true;
}

void
on_task(struct hub *h, struct incoming *in)
{
	static char text[TASK_MAX];
	struct json params = in->m.top[TOP_PARAMS], id;
	struct forward f;

	if (!call_ready(h, in, false))
		return;
	if (params.type != JSON_IS_OBJECT || json_get(params, "taskId", &id) < 0 ||
	    !tasks_find(h, id, text, &f))
		reply_error(h, in, RPC_PARAMS_BAD, "kennel: no such task");
	else
		forward(h, in, &f);
}

/* One server after the other: a page of the first, whose last page leads to the next. */
static struct server *
next_with_tasks(struct hub *h, size_t *at)
{
	for (; *at < h->server_n; (*at)++)
		if (h->server[*at]->down != NULL && h->server[*at]->down->tasks &&
		    !h->server[*at]->once)
			return h->server[*at];
	return NULL;
}

static void
no_tasks(struct hub *h, const struct incoming *in)
{
	buf_clear(&h->body);
	(void)buf_puts(&h->body, "\"tasks\":[]"); /* surfaces at the end */
	reply_result(h, in, &h->body, -1);
}

/* The server gets the request without a cursor, because it has issued none. */
static void
first_page(struct hub *h, const struct incoming *in, size_t *at)
{
	struct forward f = {.server = next_with_tasks(h, at)};
	struct json params = in->m.top[TOP_PARAMS], meta = in->m.param[PARAM_META];
	struct incoming without = {.method = in->method, .modern = in->modern};
	struct edits e = {.n = 0};
	struct buf inner, line;

	if (f.server == NULL) {
		no_tasks(h, in);
		return;
	}
	buf_init(&inner, MCP_MESSAGE_MAX);
	buf_init(&line, MCP_MESSAGE_MAX);
	(void)buf_puts(&inner, "{"); /* shorter than params, so it fits */
	if (meta.type != JSON_IS_NONE) {
		(void)buf_puts(&inner, "\"_meta\":");     /* likewise */
		(void)buf_put(&inner, meta.at, meta.len); /* likewise */
	}
	(void)buf_puts(&inner, "}"); /* likewise */
	edit_put(&e, params.at, params.len, inner.data, inner.len);
	if (edit_apply(&e, in->line, in->len, &line) < 0 ||
	    rpc_scan(line.data, line.len - 1, &without.m) < 0) {
		h->error = -ENOMEM;
	} else {
		without.line = line.data;
		without.len = line.len - 1;
		forward(h, &without, &f);
	}
	buf_free(&inner);
	buf_free(&line);
}

void
on_tasks(struct hub *h, struct incoming *in)
{
	static char text[TASK_MAX];
	struct json cursor = {0};
	struct forward f = {.server = NULL};
	size_t at = 0, n = strlen(h->cursor_tag);
	char *end = text;

	if (!call_ready(h, in, false))
		return;
	if (in->m.top[TOP_PARAMS].type == JSON_IS_OBJECT &&
	    json_get(in->m.top[TOP_PARAMS], "cursor", &cursor) == 0 &&
	    cursor.type == JSON_IS_NULL) {
		first_page(h, in, &at); /* as without one */
		return;
	}
	if (cursor.type != JSON_IS_NONE) {
		if (text_of(cursor, text, sizeof(text)) == NULL ||
		    strncmp(text, h->cursor_tag, n) != 0 ||
		    (at = strtoul(text + n, &end, 10), *end != '.')) {
			reply_error(h, in, RPC_PARAMS_BAD,
			    "kennel: this cursor is not one of this session: list from "
			    "the start");
			return;
		}
		f.name = end + 1;
		f.name_len = strlen(f.name);
		f.named = cursor;
		if (f.name_len == 0) { /* the first page of the next server */
			first_page(h, in, &at);
			return;
		}
	}
	f.server = next_with_tasks(h, &at);
	if (f.server == NULL)
		no_tasks(h, in);
	else
		forward(h, in, &f);
}

void
tasks_next_page(struct edits *e, struct hub *h, const struct server *s,
    struct json result, struct task_texts *t)
{
	struct json cursor, tasks;
	size_t at = 0;
	bool present, more;
	int n;

	while (at < h->server_n && h->server[at] != s)
		at++;
	if (json_get(result, "tasks", &tasks) < 0)
		return;
	present = edit_find(e, result, "nextCursor", &cursor);
	more = present && cursor.type == JSON_IS_STRING && cursor.len > 2; /* not "" */
	if (more) {
		n = snprintf(t->cursor, sizeof(t->cursor), "\"%s%zu.", h->cursor_tag, at);
		edit_put(e, cursor.at, 1, t->cursor, (size_t)n);
		return;
	}
	at++;
	if (next_with_tasks(h, &at) == NULL)
		return;
	n = snprintf(t->cursor, sizeof(t->cursor), "%s\"%s%zu.\"%s",
	    present ? "" : "{\"nextCursor\":", h->cursor_tag, at, present ? "" : ",");
	if (present) /* one that says there is no more */
		edit_put(e, cursor.at, cursor.len, t->cursor, (size_t)n);
	else
		edit_put(e, result.at, 1, t->cursor, (size_t)n);
}
