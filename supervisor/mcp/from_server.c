/*
 * Judges messages from the server: which lines reach the agent, and what is removed
 * from them. The server is untrusted: an answer counts once, for an open request, and
 * a request passes only if the policy allows it.
 */
#include "shim/base/buf.h"
#include "shim/base/loop.h"
#include "supervisor/json/json.h"
#include "supervisor/mcp/methods.h"
#include "supervisor/mcp/private.h"
#include "supervisor/mcp/requests.h"
#include "supervisor/mcp/rpc.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "supervisor/hub/hub.h"

#define META_SUBSCRIPTION "io.modelcontextprotocol/subscriptionId"

/* ---- requests and notifications ----------------------------------------- */

static enum verdict
refuse_server(struct session *s, const struct json_message *m, enum rpc_code code,
    const char *message)
{
	static const struct rpc_why why = {.outcome = "refused"};
	struct json id = m->top[TOP_ID];

	session_answer_server(s, id.at, id.len, code, message, &why);
	record_refused(s, "server", s->method, NULL, &id, NULL, message);
	return DROP;
}

static enum verdict
server_request(struct session *s, const struct json_message *m)
{
	static const struct rpc_why over = {.outcome = "refused"};
	const struct method *method = session_method(s, m);
	struct gate_answer answer;
	const char *wrong;
	struct call *call;
	int r;

	if (!record_may_ask(s)) {
		session_answer_server(s, m->top[TOP_ID].at, m->top[TOP_ID].len,
		    RPC_BUDGET, "kennel: too many requests: wait between them", &over);
		return DROP;
	}
	if (s->unasked)
		return refuse_server(s, m, RPC_REFUSED,
		    "kennel: the input of the agent has ended, so no answer can come");
	if (!asks_needs(s, method) || !asks_method(s, method, &answer))
		return refuse_server(s, m, RPC_NO_METHOD, asks_needs_why(s, method));
	if ((wrong = asks_wrong(s, method, m)) != NULL)
		return refuse_server(s, m, RPC_NO_METHOD, wrong);
	r = calls_add(&s->asking, m->top[TOP_ID], &call);
	if (r < 0)
		return refuse_server(s, m, RPC_REQUEST_BAD,
		    r == -EEXIST ? "kennel: this id is still in use"
				 : "kennel: too many requests are in progress");
	call->known = method;
	call->since_ns = loop_now();
	(void)snprintf(call->method, sizeof(call->method), "%s", s->method); /* fits */
	record_name(s, call, "");
	token_keep(call, m->param[PARAM_META]);
	if (record_forward(s, call, "server", m->top[TOP_PARAMS], NULL) < 0) {
		calls_remove(&s->asking, call);
		return refuse_server(s, m, RPC_NO_RECORD,
		    "kennel: unable to record this request in the audit log");
	}
	if (method != NULL && (method->flags & METHOD_ASKS) != 0)
		session_person(s, 1, false);
	return PASS;
}

/* Some agents answer even a request without an id. */
static const char *
notification_wrong(
    struct session *s, const struct method *method, const struct json_message *m)
{
	struct gate_answer answer;

	if (method != NULL && strncmp(method->name, "notifications/", 14) != 0)
		return "a request without an id";
	if (!asks_needs(s, method) || !asks_method(s, method, &answer))
		return asks_needs_why(s, method);
	if (notification_meta(s, method, m) < 0)
		return "kennel's own names, more than 8 or twice";
	return asks_wrong(s, method, m);
}

static enum verdict
server_notification(struct session *s, const struct json_message *m)
{
	const struct method *method = session_method(s, m);
	const char *wrong = notification_wrong(s, method, m);
	struct call *call;
	struct json of;

	if (wrong != NULL) {
		record_refused(s, "server", s->method, NULL, NULL, NULL, wrong);
		return DROP;
	}
	if (method != NULL && strcmp(method->name, "notifications/progress") == 0 &&
	    (call = token_call(s, &s->asked, m->top[TOP_PARAMS])) != NULL) {
		programs_progressed(call, m->top[TOP_PARAMS]);
		session_progressed(s, call);
	}
	if (json_get(m->param[PARAM_META], META_SUBSCRIPTION, &of) == 0 &&
	    (call = calls_answered(&s->asked, of)) != NULL && spell_id(s, of, call) < 0)
		s->error = -ENOMEM;
	if (method != NULL && s->pins != NULL &&
	    strcmp(method->name, "notifications/tools/list_changed") == 0)
		pins_listed(s->pins, false);
	if (method == NULL && record_unknown(s, "server", m->top[TOP_PARAMS]) < 0)
		return DROP;
	if (method == NULL || strcmp(method->name, "notifications/cancelled") != 0)
		return PASS;
	call = calls_find(&s->asking, m->param[PARAM_REQUEST_ID]);
	if (call != NULL && call->own)
		return DROP; /* a ping from kennel: the server may not cancel it */
	if (call != NULL && call->state == CALL_OPEN) {
		if (call->known != NULL && (call->known->flags & METHOD_ASKS) != 0)
			session_person(s, -1, false);
		calls_state(&s->asking, call, CALL_CANCELLED);
		record_answer(s, call, "server", NULL, 0, "cancelled");
		if (spell_id(s, m->param[PARAM_REQUEST_ID], call) < 0)
			s->error = -ENOMEM;
		return PASS;
	}
	/* 2026-07-28: the end of a subscription of the agent. */
	call = calls_find(&s->asked, m->param[PARAM_REQUEST_ID]);
	if (call != NULL && call->state == CALL_OPEN && call->known != NULL &&
	    call->known->where == WHERE_LISTEN) {
		calls_state(&s->asked, call, CALL_CANCELLED);
		record_answer(s, call, "agent", NULL, 0, "cancelled");
		if (spell_id(s, m->param[PARAM_REQUEST_ID], call) < 0)
			s->error = -ENOMEM;
	}
	return PASS;
}

/* ---- answers ------------------------------------------------------------ */

static const char *
answer_wrong(struct session *s, const struct call *call, const struct json_message *m)
{
	int r;

	if ((m->flags & JSON_RESULT_TWICE) != 0)
		return "duplicate key in the response";
	if (call->known != NULL && (call->known->flags & METHOD_LIST) != 0 &&
	    (r = filter_list(s, call, m)) < 0)
		return r == -ENOMEM ? "out of memory" : "the list is not an array";
	if (call->known != NULL && (call->known->flags & METHOD_GREETS) != 0 &&
	    filter_greeting(s, m) < 0)
		return "out of memory";
	if ((r = result_meta(s, call, m)) < 0)
		return r == -ENOMEM  ? "out of memory"
		       : r == -E2BIG ? "more than 8 members that only kennel may write"
				     : "duplicate key in the response";
	return asks_wrong(s, call->known, m);
}

static void
note_version(struct session *s, const struct json_message *m)
{
	char text[16];
	size_t len;

	if (json_text(m->result[RESULT_VERSION], text, sizeof(text), &len) == 0)
		s->version = mcp_version_find(text, len);
}

static const char *
outcome_of(const struct call *call, struct json result)
{
	const struct method *known = call->known;

	if (result.type == JSON_IS_NONE)
		return "error";
	return known != NULL && known->gate == GATE_TOOL && known->where == WHERE_NAME &&
		       result_is_error(result)
		   ? "tool-error"
		   : "ok";
}

static enum verdict
server_answer(struct session *s, const struct json_message *m)
{
	bool result = m->top[TOP_RESULT].type != JSON_IS_NONE;
	struct call *call = calls_answered(&s->asked, m->top[TOP_ID]);
	const char *wrong;

	if (call == NULL || call->state == CALL_GONE || call->state == CALL_HELD) {
		bool late = call != NULL && call->state == CALL_GONE;

		record_dropped(s, "server", m->root.len,
		    late ? "a late answer" : "an answer to no open request");
		if (!late)
			missed_answer(s, m->top[TOP_ID]);
		if (late)
			calls_remove(&s->asked, call);
		return DROP;
	}
	if (call->own) {
		replay_answered(s, call, m);
		return DROP;
	}
	session_begun(s);
	if ((wrong = answer_wrong(s, call, m)) != NULL) {
		unfit_answer_of_server(s, m->top[TOP_ID], RPC_REFUSED, wrong);
		return DROP;
	}
	if (call->known != NULL && (call->known->flags & METHOD_FIRST) != 0)
		note_version(s, m), replay_agreed(s, m);
	programs_explain(s, call, m);
	if (spell_id(s, m->top[TOP_ID], call) < 0)
		s->error = -ENOMEM;
	session_done(s, &s->asked, call, m->top[result ? TOP_RESULT : TOP_ERROR],
	    outcome_of(call, m->top[TOP_RESULT]));
	return PASS;
}

static enum verdict
server_judge(struct session *s, const struct json_message *m)
{
	static enum verdict (*const judge[])(
	    struct session *, const struct json_message *) = {
	    [RPC_REQUEST] = server_request,
	    [RPC_NOTIFICATION] = server_notification,
	    [RPC_ANSWER] = server_answer,
	};
	const char *why = NULL;
	enum rpc_kind kind = rpc_kind(m, &why);

	s->method[0] = s->name[0] = '\0';
	if (kind != RPC_INVALID)
		return judge[kind](s, m);
	unfit_server_message(s, m, why);
	return DROP;
}

/* ---- lines -------------------------------------------------------------- */

void
server_line(struct session *s, const uint8_t *line, size_t len)
{
	struct json_message m;
	int r = rpc_scan(line, len, &m);

	s->cuts.n = 0;
	buf_clear(&s->insert);
	if (r < 0)
		unfit_server_line(s, line, len, r);
	else if (m.root.type != JSON_IS_ARRAY) {
		if (server_judge(s, &m) == PASS)
			session_emit(s, &s->to_agent, line, len);
	} else if (s->version != MCP_2025_03_26)
		record_dropped(s, "server", len,
		    "a batch, which this protocol version does not have");
	else if (batch_too_long(m.root))
		record_dropped(s, "server", len, "a batch with too many elements");
	else {
		programs_hear(s);
		batch_line(s, m.root, server_judge, &s->to_agent, line, len);
	}
}
