/*
 * mcp_query: one call in a process of its own, which is gone afterwards. Its result says
 * in one of four states how it went (docs/MCP.md).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/hub/hub.h"
#include "supervisor/launch/refused_start.h"
#include "supervisor/secrets/use_approval.h"
#include "supervisor/serve/approvals/refused_calls.h"
#include "supervisor/serve/private.h"
#include "supervisor/serve/secrets_tools.h"

#define DETAIL_MAX 1024

/* ---- the reply --------------------------------------------------------------------- */

static void
begin(struct buf *out, const char *server, const char *tool, const char *state)
{
	buf_clear(out);
	(void)buf_puts(out, "{\"server\":"); /* errors surface at the end of the line */
	quote_text(out, server);
	(void)buf_puts(out, ",\"tool\":"); /* likewise */
	quote_text(out, tool);
	(void)buf_printf(out, ",\"state\":\"%s\"", state); /* likewise */
}

static void
reply_state(struct hub *h, const struct incoming *in, const char *server,
    const char *tool, const char *state, const char *detail)
{
	struct buf *out = &h->body;

	begin(out, server, tool, state);
	(void)buf_puts(out, ",\"detail\":"); /* surfaces at the end of the line */
	quote_text(out, detail);
	(void)buf_putc(out, '}'); /* likewise */
	reply_tool(h, in, out, detail, true);
}

/* Its secrets are why nothing was started. text: the whole reason, for people. */
static void
reply_skipped(struct hub *h, const struct incoming *in, const char *server,
    const char *tool, const struct leash_refused *refused, const char *text)
{
	const char *made = refused_cause_text(refused->cause);
	char detail[DETAIL_MAX];

	if (refused->cause ==
	    LEASH_CAUSE_DENIED) { /* a person, and not what is missing */
		(void)snprintf(detail, sizeof(detail), SECRETS_DENIED_TEXT, refused->path,
		    refused->path);
		reply_state(h, in, server, tool, "denied",
		    refused->path[0] != '\0' ? detail : text);
		return;
	}
	(void)snprintf(detail, sizeof(detail), "credential %s%sunavailable: %s",
	    refused->variable, refused->variable[0] != '\0' ? " " : "",
	    made != NULL ? made : text); /* may be cut */
	reply_state(h, in, server, tool, "skipped", detail);
}

void
query_failed(
    struct hub *h, struct route *route, const struct incoming *in, const char *text)
{
	const struct downstream *d = route->down;
	const char *name = d->server->name, *tool = route->query_tool;
	char detail[DETAIL_MAX];

	if (text == NULL)
		(void)snprintf(detail, sizeof(detail), "timed out after %llu s",
		    (unsigned long long)route->query_s); /* fits */
	else if (d->refusal.cause != LEASH_CAUSE_OTHER) {
		reply_skipped(h, in, name, tool, &d->refusal, text);
		return;
	} else
		(void)snprintf(detail, sizeof(detail),
		    "downstream MCP returned no response to tools/call (handshake may "
		    "have "
		    "failed): %.700s",
		    text); /* fits */
	reply_state(h, in, name, tool, "error", detail);
}

/* The text blocks of a result, joined by newlines; NULL: it has none. */
static char *
joined_text(struct json result)
{
	struct json content, key, block, text;
	char *out = malloc(result.len + 1);
	size_t at = 0, len;
	struct json_walk w;

	if (out == NULL || json_get(result, "content", &content) < 0 ||
	    content.type != JSON_IS_ARRAY) {
		free(out);
		return NULL;
	}
	json_walk(&w, content);
	while (json_next(&w, &key, &block)) {
		if (block.type != JSON_IS_OBJECT || json_get(block, "text", &text) < 0)
			continue;
		if (at > 0)
			out[at++] = '\n';
		if (json_text(text, out + at, result.len + 1 - at, &len) == 0)
			at += len;
	}
	out[at] = '\0';
	if (at == 0) {
		free(out);
		return NULL;
	}
	return out;
}

static void
answered_ok(
    struct hub *h, struct route *route, const struct incoming *in, struct json result)
{
	struct buf *out = &h->body;
	char *text = joined_text(result);
	struct json error;

	begin(out, route->down->server->name, route->query_tool, "ok");
	(void)buf_puts(out, ",\"result\":");       /* surfaces at the end of the line */
	(void)buf_put(out, result.at, result.len); /* likewise */
	(void)buf_putc(out, '}');                  /* likewise */
	if (text == NULL && (text = strndup((const char *)result.at, result.len)) == NULL)
		h->error = -ENOMEM;
	reply_tool(h, in, out, text != NULL ? text : "",
	    json_get(result, "isError", &error) == 0 && error.type == JSON_IS_TRUE);
	free(text);
}

void
query_answered(
    struct hub *h, struct route *route, const struct json_message *m, const char *own)
{
	struct incoming in = route_asked(h, route);
	struct json result = m->top[TOP_RESULT], message, meta, refusal;
	char text[DETAIL_MAX / 2], detail[DETAIL_MAX];

	if (own != NULL) {
		query_failed(h, route, &in, own);
		return;
	}
	if (m->top[TOP_ERROR].type != JSON_IS_NONE) {
		if (json_get(m->top[TOP_ERROR], "message", &message) < 0 ||
		    text_of(message, text, sizeof(text)) == NULL)
			(void)snprintf(text, sizeof(text), "no message");
		(void)snprintf(detail, sizeof(detail), "downstream MCP error: %s", text);
		reply_state(h, &in, route->down->server->name, route->query_tool, "error",
		    detail);
		return;
	}
	if (result.type == JSON_IS_OBJECT && json_get(result, "_meta", &meta) == 0 &&
	    json_get(meta, "kennel/refusal", &refusal) == 0) {
		char *said = joined_text(result);

		reply_state(h, &in, route->down->server->name, route->query_tool,
		    "denied", said != NULL ? said : "refused by the policy");
		free(said);
		return;
	}
	if (json_get(result, "resultType", &meta) == 0 &&
	    text_of(meta, text, sizeof(text)) != NULL &&
	    strcmp(text, "input_required") == 0)
		reply_state(h, &in, route->down->server->name, route->query_tool, "error",
		    "downstream MCP error: the tool needs input of the client; use "
		    "tool_invoke");
	else if (result.type != JSON_IS_OBJECT)
		reply_state(h, &in, route->down->server->name, route->query_tool, "error",
		    "downstream MCP response carried neither result nor error");
	else
		answered_ok(h, route, &in, result);
}

/* ---- the call ------------------------------------------------------------------------- */

static int
put_call(
    struct hub *h, const struct route *route, const char *tool, struct json arguments)
{
	struct buf *out = &h->body;

	buf_clear(out);
	(void)buf_printf(out, /* errors surface at the end of the line */
	    "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"method\":\"tools/"
	    "call\",\"params\":{\"_meta\":{",
	    (unsigned long long)route->id);
	if (route->down->modern)
		bridge_envelope(h, out, "");
	(void)buf_puts(out, "},\"name\":"); /* likewise */
	quote_text(out, tool);
	(void)buf_puts(out, ",\"arguments\":"); /* likewise */
	if (arguments.type == JSON_IS_OBJECT)
		(void)buf_put(out, arguments.at, arguments.len); /* likewise */
	else
		(void)buf_puts(out, "{}"); /* likewise */
	return buf_puts(out, "}}\n");
}

static void
start(struct hub *h, struct incoming *in, struct server *s, const char *tool,
    struct json arguments, uint64_t seconds, const struct gate_ask *ask)
{
	struct leash_refused refused;
	char why[HUB_TEXT_MAX];
	struct downstream *d;
	struct route *route;

	if (!server_may_ask(s, why, &refused)) {
		if (refused.cause != LEASH_CAUSE_OTHER)
			reply_skipped(h, in, s->name, tool, &refused, why);
		else
			reply_state(h, in, s->name, tool, "error", why);
		return;
	}
	if (downstream_new(s, USE_ONCE, &d) < 0) {
		reply_state(h, in, s->name, tool, "error", "unable to start a process");
		return;
	}
	route = route_new(h, in, d);
	if (route == NULL) {
		d->deadline = 0;
		return;
	}
	route->query = true;
	route->query_s = seconds;
	route->query_tool = strdup(tool);
	route->refused = refused_call_new(ask);
	route->until = loop_now() + seconds * NS_PER_S;
	h->timed++;
	if (route->query_tool == NULL || put_call(h, route, tool, arguments) < 0 ||
	    downstream_send(d, &h->body) == -ENOMEM)
		h->error = -ENOMEM;
}

/* The time that the agent gives, at most what the policy allows. False: invalid. */
static bool
seconds_of(struct json arguments, const struct server *s, uint64_t *ret)
{
	uint64_t most = policy_limit(&s->policy, s->sealed, TIMEOUT_CALL) / 1000;
	struct json value;
	char text[16], *end;

	*ret = most;
	if (json_get(arguments, "timeout_seconds", &value) < 0)
		return true;
	if (value.type != JSON_IS_NUMBER || value.len >= sizeof(text))
		return false;
	memcpy(text, value.at, value.len);
	text[value.len] = '\0';
	*ret = strtoull(text, &end, 10);
	return *end == '\0' && *ret >= 1 && *ret <= most;
}

/* True: the policy refuses, and it is answered. */
static bool
is_denied(struct hub *h, struct incoming *in, struct server *s, const char *tool,
    const struct gate_ask *ask)
{
	struct gate_answer answer;
	char text[GATE_TEXT_MAX];

	gate_judge(ask, &answer);
	if (answer.allowed || answer.asks)
		return false;
	gate_explain(ask, &answer);
	reply_state(
	    h, in, s->name, tool, "denied", gate_text(&answer, GATE_TOOL, tool, text));
	records_refused(h, in, s, tool, gate_rule(&answer), gate_reason(&answer));
	return true;
}

/* True: it differs from what it was, or does not take these arguments; it is answered. */
static bool
is_unfit(struct hub *h, struct incoming *in, struct server *s, const char *tool,
    struct json arguments)
{
	struct item *i = offers_find(s, PIN_TOOL, tool, strlen(tool));
	char text[HUB_TEXT_MAX];
	const char *outcome = i == NULL ? NULL : call_unfit(i, arguments, text);

	if (outcome == NULL)
		return false;
	reply_state(h, in, s->name, tool, i->drifted ? "denied" : "error", text);
	records_refused(h, in, s, tool, NULL, outcome);
	return true;
}

static void
query(struct hub *h, struct incoming *in, struct server *s, const char *tool,
    struct json arguments, uint64_t seconds)
{
	struct gate_ask ask = call_ask(s, tool, strlen(tool), arguments);

	if (is_denied(h, in, s, tool, &ask) || is_unfit(h, in, s, tool, arguments))
		return;
	if (refused_call_is(secrets_queue(h), &ask)) {
		reply_state(h, in, s->name, tool, "denied", REFUSED_CALL_TEXT);
		records_refused(h, in, s, tool, NULL, REFUSED_CALL_OUTCOME);
		return;
	}
	gate_count(&ask);
	start(h, in, s, tool, arguments, seconds, &ask);
}

/* The tool of this server that the agent spells so, as the server calls it: into tool.
 * Other spellings than its own need the server's list. False: answered, or it waits. */
static bool
find_tool(struct hub *h, struct incoming *in, struct server *s, char tool[MCP_NAME_MAX])
{
	size_t len = strlen(tool);
	char text[HUB_TEXT_MAX];
	struct buf twins;
	struct item *i;

	if (offers_find(s, PIN_TOOL, tool, len) != NULL)
		return true;
	if (!s->pinned && !s->listed && !in->waited &&
	    offers_server_of(h, tool, len) == s && server_need(s, text) != NULL &&
	    park_for_server(h, in, s))
		return false;
	buf_init(&twins, DETAIL_MAX / 2);
	i = offers_tool(h, tool, len, &twins);
	if (i != NULL && i->server == s)
		(void)snprintf(tool, MCP_NAME_MAX, "%s", i->name); /* fits */
	else if (twins.len > 0) {
		(void)snprintf(text, sizeof(text),
		    "%.128s is the name of several tools: %s", tool, buf_str(&twins));
		reply_state(h, in, s->name, tool, "error", text);
	}
	len = twins.len;
	buf_free(&twins);
	return len == 0;
}

/* True: no server of this name may be started, and it is answered. */
static bool
is_unknown(struct hub *h, struct incoming *in, const char *name, const char *tool)
{
	char text[HUB_TEXT_MAX], spelled[256 + MCP_NAME_MAX];
	struct server *s = server_find(h, name, strlen(name));

	(void)snprintf(spelled, sizeof(spelled), "%s.%s", name, tool); /* fits */
	if (registered_only(h, spelled, text)) {
		records_refused(h, in, s, tool, NULL, "the server is not enabled");
		reply_state(h, in, name, tool, "denied", text);
		return true;
	}
	if (s != NULL && s->enabled && (s->ready || s->wrong != NULL))
		return false;
	(void)snprintf(
	    text, sizeof(text), "no registered MCP server named \"%s\"", name); /* fits */
	reply_state(h, in, name, tool, "error", text);
	return true;
}

void
mcp_query(struct hub *h, struct incoming *in, struct json arguments)
{
	static char name[256], tool[MCP_NAME_MAX];
	struct json values[2] = {{0}, {0}}, inner = {0};
	struct server *s;
	uint64_t seconds;

	if (arguments.type != JSON_IS_OBJECT ||
	    json_get(arguments, "server", &values[0]) < 0 ||
	    text_of(values[0], name, sizeof(name)) == NULL ||
	    json_get(arguments, "tool", &values[1]) < 0 ||
	    text_of(values[1], tool, sizeof(tool)) == NULL ||
	    (json_get(arguments, "arguments", &inner) == 0 &&
		inner.type != JSON_IS_OBJECT)) {
		reply_refusal(h, in,
		    "invalid arguments for mcp_query: expected `server` and `tool`, "
		    "strings, "
		    "and `arguments`, an object",
		    "invalid arguments", NULL);
		return;
	}
	if (!call_ready(h, in, false))
		return;
	if (is_unknown(h, in, name, tool))
		return;
	s = server_find(h, name, strlen(name));
	if (!s->ready) {
		reply_state(h, in, name, tool, server_lacks_grant(s) ? "denied" : "error",
		    s->wrong);
		if (server_lacks_grant(s))
			records_refused(h, in, s, tool, NULL, "argv not granted");
	} else if (!seconds_of(arguments, s, &seconds))
		reply_refusal(h, in,
		    "invalid arguments for mcp_query: /timeout_seconds: expected an "
		    "integer of "
		    "at least 1, and at most what the policy's `timeout call` allows",
		    "invalid arguments", NULL);
	else if (find_tool(h, in, s, tool))
		query(h, in, s, tool, inner, seconds);
}
