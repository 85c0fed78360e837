/*
 * Judges messages from the agent: which lines reach the server, what is removed from
 * them, and how kennel answers the others. The agent may be compromised, so nothing
 * here trusts it.
 */
#include "shim/base/array.h"
#include "shim/base/buf.h"
#include "shim/base/loop.h"
#include "supervisor/json/json.h"
#include "supervisor/mcp/line/pages.h"
#include "supervisor/mcp/methods.h"
#include "supervisor/mcp/private.h"
#include "supervisor/mcp/requests.h"
#include "supervisor/mcp/rpc.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "supervisor/hub/hub.h"

#define META_VERSION "io.modelcontextprotocol/protocolVersion"

static enum verdict
refuse(struct session *s, const struct json_message *m, enum rpc_code code,
    const char *message)
{
	static const struct rpc_why why = {.outcome = "refused"};
	struct json id = m->top[TOP_ID];
	bool usable = (id.type == JSON_IS_STRING || id.type == JSON_IS_NUMBER) &&
		      id.len <= MCP_ID_MAX && (m->flags & JSON_TOP_TWICE) == 0;

	session_answer_agent(s, id.at, usable ? id.len : 0, code, message, &why);
	record_refused(s, "agent", s->method, NULL, usable ? &id : NULL, NULL, message);
	return DROP;
}

/* Only 2026-07-28 and later versions state their version in each request. */
static bool
is_modern(const struct json_message *m)
{
	struct json version;

	return json_get(m->param[PARAM_META], META_VERSION, &version) == 0;
}

/* ---- the gates ---------------------------------------------------------- */

static enum verdict
refuse_name(struct session *s, const struct json_message *m, const struct method *method,
    enum sealed_gate_kind kind, const struct gate_answer *answer)
{
	struct rpc_why why = {.rule = answer->at, .because = answer->because};
	struct json id = m->top[TOP_ID];
	char text[GATE_TEXT_MAX];
	int r;

	why.outcome = gate_outcome(answer);
	why.instead = answer->instead;
	gate_text(answer, kind, s->name, text);
	buf_clear(&s->text);
	r = (method->flags & METHOD_RESULT) != 0
		? rpc_tool_refusal(&s->text, id.at, id.len, text, &why, is_modern(m))
		: rpc_error(&s->text, id.at, id.len, RPC_PARAMS_BAD, text, &why);
	if (r < 0)
		s->error = r;
	session_say(s, &s->to_agent);
	record_refused(
	    s, "agent", s->method, s->name, &id, gate_rule(answer), gate_reason(answer));
	return DROP;
}

void
agent_ask(const struct session *s, const struct json_message *m, size_t len,
    struct gate_ask *ret)
{
	struct json args = m->param[PARAM_ARGUMENTS];
	bool none = args.type == JSON_IS_NONE;

	ret->name_len = len;
	/* A call without arguments counts as one with empty arguments, because `when`
	 * needs them. */
	ret->args = none ? "{}" : (const char *)args.at;
	ret->args_len = none ? 2 : args.len;
	ret->limits = s->limits;
	ret->now_ns = loop_now();
}

static enum verdict
gate_name(struct session *s, const struct json_message *m, const struct method *method,
    enum sealed_gate_kind kind, struct json name, bool may_ask)
{
	struct gate_ask ask = session_ask(s, kind);
	struct gate_answer answer;
	size_t len;

	if (json_text(name, s->name, sizeof(s->name), &len) < 0) {
		s->name[0] = '\0';
		if (is_modern(m) && (method->from_agent & MCP_2026_07_28) == 0)
			return refuse(s, m, RPC_NO_METHOD,
			    "kennel: this protocol version has no such method");
		return refuse(s, m, RPC_PARAMS_BAD,
		    "kennel: the name or uri in params is missing or not plain text");
	}
	agent_ask(s, m, len, &ask);
	gate_judge(&ask, &answer);
	(void)snprintf(s->rule, sizeof(s->rule), "%s", answer.at); /* same size */
	if (answer.allowed)
		return PASS;
	/* A batch is answered by one array, so its elements cannot wait for
	 * approval. */
	if (!answer.asks || !may_ask || s->o.questions == NULL || s->batch.open) {
		gate_explain(&ask, &answer);
		return refuse_name(s, m, method, kind, &answer);
	}
	/* a person is not asked about what the server does not have */
	if (kind == GATE_TOOL && s->pins != NULL &&
	    pins_lacks_tool(s->pins, s->name, len))
		return refuse(s, m, RPC_PARAMS_BAD,
		    "kennel: the server has no such tool; tools/list has those that it "
		    "has");
	s->because = answer.because;
	s->factor = answer.factor;
	s->destructive = answer.destructive;
	return HOLD;
}

static enum verdict
gate_ref(struct session *s, const struct json_message *m, const struct method *method)
{
	static const struct {
		const char *type, *key;
		enum sealed_gate_kind kind;
	} refs[] = {
	    {"ref/prompt", "name", GATE_PROMPT},
	    {"ref/resource", "uri", GATE_RESOURCE},
	};
	struct json ref = m->param[PARAM_REF], type = {0}, name = {0};
	char text[32];
	size_t len;

	if (json_get(ref, "type", &type) == 0 &&
	    json_text(type, text, sizeof(text), &len) == 0)
		for (size_t i = 0; i < ARRAY_LEN(refs); i++)
			if (strcmp(text, refs[i].type) == 0 &&
			    json_get(ref, refs[i].key, &name) == 0)
				return gate_name(s, m, method, refs[i].kind, name, false);
	return refuse(s, m, RPC_PARAMS_BAD,
	    "kennel: params.ref is neither a prompt's name nor a resource's uri");
}

static enum verdict
gate_listen(struct session *s, const struct json_message *m, const struct method *method)
{
	struct json uris, key, uri;
	struct json_walk w;
	int r = json_get(m->param[PARAM_NOTIFICATIONS], "resourceSubscriptions", &uris);

	if (r == -ENOENT)
		return PASS;
	if (r < 0 || uris.type != JSON_IS_ARRAY)
		return refuse(s, m, RPC_PARAMS_BAD,
		    "kennel: resourceSubscriptions is not a list of uris");
	json_walk(&w, uris);
	while (json_next(&w, &key, &uri))
		if (gate_name(s, m, method, GATE_RESOURCE, uri, false) == DROP)
			return DROP;
	s->name[0] = s->rule[0] = '\0';
	return PASS;
}

static enum verdict
gate(struct session *s, const struct json_message *m, const struct method *method)
{
	s->name[0] = s->rule[0] = '\0';
	if (method == NULL || method->where == WHERE_NONE)
		return PASS;
	if (method->where == WHERE_REF)
		return gate_ref(s, m, method);
	if (method->where == WHERE_LISTEN)
		return gate_listen(s, m, method);
	return gate_name(s, m, method, method->gate,
	    m->param[method->where == WHERE_NAME ? PARAM_NAME : PARAM_URI], true);
}

/* ---- what a message may do ---------------------------------------------- */

/* A person has refused it, a short while ago. */
static enum verdict
refuse_unasked(
    struct session *s, const struct json_message *m, const struct method *method)
{
	static const struct rpc_why why = {.outcome = "denied by a person"};
	static const char text[] =
	    "kennel: a person has refused this a short while ago, so it is not asked "
	    "again yet (exactly this for 60 s; after three refusals, anything of this "
	    "name for 10 min); talk with the person instead, who can lift this with "
	    "kennel approve reopen NAME";
	struct json id = m->top[TOP_ID];
	int r;

	buf_clear(&s->text);
	r = (method->flags & METHOD_RESULT) != 0
		? rpc_tool_refusal(&s->text, id.at, id.len, text, &why, is_modern(m))
		: rpc_error(&s->text, id.at, id.len, RPC_REFUSED, text, &why);
	if (r < 0)
		s->error = r;
	session_say(s, &s->to_agent);
	record_refused(
	    s, "agent", s->method, s->name, &id, s->rule, "refused by a person before");
	return DROP;
}

/* The call becomes pending, unless exactly this call was approved before. */
static enum verdict
hold(struct session *s, const struct json_message *m, const struct method *method,
    struct call *call)
{
	int r = held_add(s, m, call, method->gate, is_modern(m));

	if (r == 1)
		return PASS;
	if (r == 0)
		return HOLD;
	calls_remove(&s->asked, call);
	if (r == -EACCES)
		return refuse_unasked(s, m, method);
	if (r == -EINVAL)
		return refuse(s, m, RPC_REQUEST_BAD,
		    "kennel: this call needs approval, and it has members besides "
		    "jsonrpc, id, method and params; send it without them");
	if (s->unasked)
		return refuse(s, m, RPC_REFUSED,
		    "kennel: " AFTER_INPUT_GONE ", and with it the approval that this "
		    "call needs; the call was not made");
	return refuse(s, m, RPC_NO_RECORD,
	    "kennel: too many calls are waiting for approval; wait for responses");
}

static enum verdict
forward(struct session *s, const struct json_message *m, const struct method *method,
    enum verdict gated)
{
	struct gate_ask ask = session_ask(s, GATE_TOOL);
	struct json params = m->top[TOP_PARAMS], cursor;
	struct call *call;
	int r = calls_add(&s->asked, m->top[TOP_ID], &call);

	if (r < 0)
		return refuse(s, m, RPC_NO_RECORD,
		    "kennel: too many requests are in progress; wait for responses");
	/* earlier pauses do not count against a new call */
	if (s->asked.open == 1 && s->person == 0)
		s->budget_ns = s->ask_ns;
	call->known = method;
	call->since_ns = loop_now();
	(void)snprintf(call->method, sizeof(call->method), "%s", s->method); /* fits */
	record_name(s, call, s->name);
	token_keep(call, m->param[PARAM_META]);
	missed_begin(s, call);
	call->cursor = method != NULL && (method->flags & METHOD_LIST) != 0 &&
			       json_get(params, "cursor", &cursor) == 0
			   ? pages_cursor(cursor)
			   : 0;
	if (gated == HOLD && hold(s, m, method, call) != PASS)
		return DROP;
	if (record_forward(s, call, "agent", params, s->rule) < 0) {
		calls_remove(&s->asked, call);
		return refuse(s, m, RPC_NO_RECORD,
		    "kennel: unable to record this call in the audit log; the call was "
		    "not made");
	}
	if (method != NULL && method->gate == GATE_TOOL && method->where == WHERE_NAME) {
		agent_ask(s, m, strlen(s->name), &ask);
		gate_count(&ask);
	}
	s->made += method == NULL || (method->flags & METHOD_KEEPS) == 0;
	if (!s->started) {
		s->started = true;
		s->start_at = session_clock(s) + s->start_ns;
	}
	session_deadline(s, call);
	return PASS;
}

/* Checks the method; returns an error text, or NULL. */
static const char *
method_wrong(struct session *s, const struct method *method, const struct json_message *m,
    char text[GATE_TEXT_MAX])
{
	struct gate_answer answer;

	if (!asks_method(s, method, &answer))
		return gate_text(&answer, GATE_METHOD, s->method, text);
	if (method == NULL && (m->param[PARAM_INPUTS].type != JSON_IS_NONE ||
				  m->param[PARAM_TASK].type == JSON_IS_OBJECT))
		return asks_wrong(s, method, m) == NULL
			   ? NULL
			   : "kennel: inputRequests contains an unknown method";
	return NULL;
}

/* The server has ended. The request waits for its next process, or is refused. */
static enum verdict
need_server(struct session *s, const struct json_message *m, const struct method *method)
{
	static const struct rpc_why why = {.outcome = "restarting"};
	struct json id = m->top[TOP_ID];
	char text[GATE_TEXT_MAX];
	int r;

	if (s->batch.open)
		return refuse(s, m, RPC_SERVER_GONE,
		    "kennel: the server has ended; a request outside a batch starts it "
		    "again");
	if (replay_need(s, m, text, sizeof(text)))
		return DROP;
	if (method == NULL || (method->flags & METHOD_RESULT) == 0)
		return refuse(s, m, RPC_SERVER_GONE, text);
	buf_clear(&s->text);
	r = rpc_tool_refusal(&s->text, id.at, id.len, text, &why, is_modern(m));
	if (r < 0)
		s->error = r;
	session_say(s, &s->to_agent);
	record_refused(s, "agent", s->method, NULL, &id, NULL, why.outcome);
	return DROP;
}

/* True: it was HUB_OPEN, and is answered. */
static bool
hub_asks(struct session *s, const struct json_message *m)
{
	struct json id = m->top[TOP_ID], of;
	const struct call *call = NULL;
	int r;

	if (!s->o.hub || strcmp(s->method, HUB_OPEN) != 0)
		return false;
	if (m->top[TOP_PARAMS].type == JSON_IS_OBJECT &&
	    json_get(m->top[TOP_PARAMS], "id", &of) == 0)
		call = calls_find(&s->asked, of);
	buf_clear(&s->text);
	(void)buf_puts(&s->text, "{\"jsonrpc\":\"2.0\",\"id\":"); /* at the end */
	(void)buf_put(&s->text, id.at, id.len);                   /* likewise */
	r = buf_printf(&s->text, ",\"result\":{\"open\":%s}}\n",
	    call != NULL && (call->state == CALL_OPEN || call->state == CALL_HELD)
		? "true"
		: "false");
	if (r < 0)
		s->error = r;
	session_say(s, &s->to_agent);
	return true;
}

static enum verdict
agent_request(struct session *s, const struct json_message *m, bool batch)
{
	const struct method *method = session_method(s, m);
	char text[GATE_TEXT_MAX];
	enum verdict gated;
	const char *wrong;
	int r = 0;

	if (hub_asks(s, m))
		return DROP;
	if (batch && method != NULL && (method->flags & METHOD_FIRST) != 0)
		return refuse(s, m, RPC_REQUEST_BAD,
		    "kennel: initialize is not allowed in a batch");
	/* A cancelled id stays in use until its answer arrives. Otherwise a list that
	 * is on its way could pass, unfiltered, as the answer to another request. */
	if (calls_find(&s->asked, m->top[TOP_ID]) != NULL)
		return refuse(s, m, RPC_REQUEST_BAD,
		    "kennel: this id is still in use by an earlier request");
	if (s->replay.phase == SERVER_DOWN && !s->ended)
		return need_server(s, m, method);
	if (s->to_server.closed || s->server_eof) {
		(void)snprintf(text, sizeof(text), "kennel: %s",
		    s->cause != NULL ? s->cause : "the server no longer takes requests");
		return refuse(s, m, RPC_SERVER_GONE, text);
	}
	if (programs_ping(s, m))
		return DROP;
	if ((wrong = method_wrong(s, method, m, text)) != NULL)
		return refuse(s, m, RPC_NO_METHOD, wrong);
	gated = gate(s, m, method);
	if (gated == DROP)
		return DROP;
	if (method != NULL && (method->flags & METHOD_FIRST) != 0)
		r = filter_capabilities(s, m->param[PARAM_CAPABILITIES]);
	if (r == 0)
		r = filter_meta(s, m->param[PARAM_META]);
	if (r == -EEXIST)
		return refuse(
		    s, m, RPC_REQUEST_BAD, "kennel: duplicate key in the capabilities");
	if (r < 0)
		return refuse(s, m, RPC_NO_RECORD, "kennel: out of memory");
	return forward(s, m, method, gated);
}

/* Do not forward a cancellation of a call that kennel has answered: the server does
 * not know it, or has already been asked to stop it. */
static enum verdict
agent_cancels(struct session *s, const struct json_message *m)
{
	struct call *call = calls_find(&s->asked, m->param[PARAM_REQUEST_ID]);

	if (call == NULL)
		return PASS;
	if (call->own || call->state == CALL_GONE || held_cancel(s, call))
		return DROP;
	if (call->state == CALL_OPEN &&
	    (call->known == NULL || (call->known->flags & METHOD_FIRST) == 0)) {
		calls_state(&s->asked, call, CALL_CANCELLED);
		record_answer(s, call, "agent", NULL, 0, "cancelled");
	}
	if (spell_id(s, m->param[PARAM_REQUEST_ID], call) < 0)
		s->error = -ENOMEM;
	return PASS;
}

static enum verdict
agent_notification(struct session *s, const struct json_message *m, bool batch)
{
	const struct method *method = session_method(s, m);
	char text[GATE_TEXT_MAX];
	const char *wrong = method_wrong(s, method, m, text);

	(void)batch; /* notifications are judged alike in a batch */
	if (s->o.hub && strcmp(s->method, HUB_LAST) == 0) {
		last_unasked(s);
		return DROP;
	}
	/* A request without an id would be a call that is never judged. */
	if (method != NULL && strncmp(method->name, "notifications/", 14) != 0)
		wrong = "a request without an id";
	if (wrong != NULL) {
		record_refused(s, "agent", s->method, NULL, NULL, NULL, wrong);
		return DROP;
	}
	if (method == NULL && record_unknown(s, "agent", m->top[TOP_PARAMS]) < 0)
		return DROP;
	if (method != NULL && strcmp(method->name, "notifications/cancelled") == 0)
		return agent_cancels(s, m);
	if (method != NULL && strcmp(method->name, "notifications/progress") == 0)
		(void)token_call(s, &s->asking, m->top[TOP_PARAMS]); /* for its bytes */
	return PASS;
}

static enum verdict
agent_answer(struct session *s, const struct json_message *m, bool batch)
{
	bool result = m->top[TOP_RESULT].type != JSON_IS_NONE;
	struct call *call = calls_find(&s->asking, m->top[TOP_ID]);

	(void)batch; /* answers are judged alike in a batch */
	if (call == NULL || call->state == CALL_GONE) {
		if (call != NULL) /* to a process that has ended: its id is free now */
			calls_remove(&s->asking, call);
		record_dropped(s, "agent", m->root.len, "an answer to no open request");
		return DROP;
	}
	if (call->own) {
		pings_answered(s, call, result);
		return DROP;
	}
	if (call->state == CALL_OPEN && call->known != NULL &&
	    (call->known->flags & METHOD_ASKS) != 0)
		session_person(s, -1, true);
	if (spell_id(s, m->top[TOP_ID], call) < 0)
		s->error = -ENOMEM;
	session_done(s, &s->asking, call, m->top[result ? TOP_RESULT : TOP_ERROR],
	    result ? "ok" : "error");
	return PASS;
}

static enum verdict
agent_judge(struct session *s, const struct json_message *m, bool batch)
{
	static enum verdict (*const judge[])(
	    struct session *, const struct json_message *, bool) = {
	    [RPC_REQUEST] = agent_request,
	    [RPC_NOTIFICATION] = agent_notification,
	    [RPC_ANSWER] = agent_answer,
	};
	const char *why = NULL;
	enum rpc_kind kind = rpc_kind(m, &why);
	char text[160];

	s->method[0] = s->name[0] = '\0';
	if (kind != RPC_INVALID)
		return judge[kind](s, m, batch);
	if (m->top[TOP_METHOD].type == JSON_IS_NONE && m->root.type == JSON_IS_OBJECT &&
	    (m->top[TOP_RESULT].type | m->top[TOP_ERROR].type) != 0) {
		unfit_agent_answer(s, m, why); /* answers get no reply */
		return DROP;
	}
	(void)snprintf(text, sizeof(text), "kennel: not a valid request: %s", why);
	return refuse(s, m, RPC_REQUEST_BAD, text);
}

/* ---- lines -------------------------------------------------------------- */

static enum verdict
agent_judge_element(struct session *s, const struct json_message *m)
{
	return agent_judge(s, m, true);
}

static bool
is_empty(struct json array)
{
	struct json key, item;
	struct json_walk w;

	json_walk(&w, array);
	return !json_next(&w, &key, &item);
}

static bool
is_blank(const uint8_t *line, size_t len)
{
	/* NOLINTNEXTLINE(bugprone-not-null-terminated-result): three bytes, no text */
	while (len > 0 && memchr(" \t\r", line[len - 1], 3) != NULL)
		len--;
	return len == 0;
}

void
agent_line(struct session *s, const uint8_t *line, size_t len)
{
	struct json_message m;
	int r;

	if (is_blank(line, len))
		return;
	s->cuts.n = 0;
	buf_clear(&s->insert);
	s->method[0] = s->name[0] = '\0';
	r = rpc_scan(line, len, &m);
	if (r < 0)
		unfit_agent_line(s, line, len, &m, r);
	else if (m.root.type != JSON_IS_ARRAY) {
		if (agent_judge(s, &m, false) == PASS) {
			replay_note(s, &m);
			session_emit(s, &s->to_server, line, len);
		}
	} else if (s->version != MCP_2025_03_26)
		(void)refuse(s, &m, RPC_REQUEST_BAD, /* DROP in any case */
		    "kennel: this protocol version has no batches");
	else if (is_empty(m.root))
		(void)refuse(s, &m, RPC_REQUEST_BAD, "kennel: an empty batch"); /* so */
	else if (batch_too_long(m.root))
		(void)refuse(s, &m, RPC_REQUEST_BAD, /* so */
		    "kennel: a batch has at most 4096 elements");
	else
		batch_line(s, m.root, agent_judge_element, &s->to_server, line, len);
}
