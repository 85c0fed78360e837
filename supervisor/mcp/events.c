/*
 * The audit events of a session: each request before it is forwarded (write-ahead
 * auditing) and again when it is answered; each refusal; each discarded line. They
 * contain digests and sizes, never content.
 */
#include "leash/audit/writer.h"
#include "policy/sealed/policy.h"
#include "shim/base/loop.h"
#include "supervisor/json/json.h"
#include "supervisor/mcp/private.h"
#include "supervisor/mcp/requests.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "shim/base/log.h"
#include "supervisor/approve/approve.h"
#include "supervisor/audit/log/merkle.h"
#include "supervisor/hub/hub.h"

#define STRICT_MS          5000 /* longest wait for a record to be on disk */
#define DEFINITIONS_WARNED 8
#define NAME_SHOWN         64
#define DEFINITIONS_MAX    2048 /* of a session, recorded one by one */

static void
put_digest(struct session *s, enum event_key key, const uint8_t *at, size_t len)
{
	uint8_t hash[MERKLE_HASH_LEN];

	mcp_digest(at, len, hash);
	event_digest(&s->event, key, hash);
}

static void
begin(struct session *s, enum event_kind kind)
{
	event_begin(&s->event, kind);
	event_identity(
	    &s->event, policy_str(s->o.policy, s->o.server->name), s->o.policy->id);
}

static void
put_shown(struct session *s, enum event_key key, const char *text)
{
	if (text != NULL && text[0] != '\0')
		event_text(&s->event, key, text);
}

/* A tool call also has the names that its readers look for. */
static void
put_tool_call(struct session *s, const char *direction, const char *method)
{
	char source[320]; /* a server's name has 255 bytes at most */

	if (method == NULL || strcmp(method, "tools/call") != 0 ||
	    strcmp(direction, "agent") != 0)
		return;
	(void)snprintf(source, sizeof(source), "mcp:%s",
	    policy_str(s->o.policy, s->o.server->name)); /* fits */
	event_short(&s->event, KEY_SOURCE, source);
	event_text(&s->event, KEY_ACTION, "mcp_tool_call");
}

static void
put_call(struct session *s, const struct call *call, const char *direction)
{
	begin(s, EVENT_CALL);
	event_text(&s->event, KEY_DIRECTION, direction);
	event_short(&s->event, KEY_METHOD, call->method);
	if (call->name.len > 0)
		event_name_put(&s->event, KEY_NAME, &call->name);
	event_bytes(&s->event, KEY_REQUEST, call->id, call->id_len);
	put_tool_call(s, direction, call->method);
}

void
record_name(const struct session *s, struct call *call, const char *name)
{
	const struct sealed_server *server = s->o.server;
	uint32_t kind = call->known == NULL ? 0 : call->known->gate;
	size_t len = strlen(name);

	event_name_keep(&call->name, name, len);
	call->audits = 0;
	for (uint32_t i = 0; i < server->audits.n; i++) {
		const struct sealed_audit *a =
		    &s->o.policy->audit[server->audits.first + i];

		if (a->kind == 0 ||
		    (a->kind == kind && policy_glob(policy_str(s->o.policy, a->name),
					    a->name.len, name, len)))
			call->audits |= a->flags;
	}
}

static int
keep(struct session *s, const struct call *call, uint32_t flag, const uint8_t *at,
    size_t len)
{
	if (at == NULL || s->o.keep == NULL || (call->audits & flag) == 0)
		return 0;
	return s->o.keep(s->o.keep_arg, at, len);
}

/* Waits until the record is on disk before the call proceeds: `audit sync strict`. */
static int
send_strict(struct session *s)
{
	uint64_t number;
	int r = report_send(s->o.report, &s->event, EVENT_GATE, &number);

	return r < 0 ? r : report_wait(s->o.report, number, STRICT_MS);
}

/* A string of the agent's choice; as it was written, if it is too long to decode. */
static void
put_member(struct session *s, struct json object, const char *name)
{
	static char text[MCP_NAME_MAX];
	struct json member;
	size_t len;

	if (json_get(object, name, &member) < 0 || member.type != JSON_IS_STRING)
		return;
	if (json_text(member, text, sizeof(text), &len) < 0)
		event_bytes(&s->event, KEY_CLIENT, member.at, member.len);
	else if (len > 0)
		event_bytes(&s->event, KEY_CLIENT, text, len);
}

/* The agent's name for itself and its version, from its first request: initialize, or
 * the _meta of one without. */
static void
put_client(struct session *s, const char *direction, struct json params)
{
	struct json meta, info;

	if (s->started || strcmp(direction, "agent") != 0 ||
	    params.type != JSON_IS_OBJECT)
		return;
	if (json_get(params, "clientInfo", &info) < 0 &&
	    (json_get(params, "_meta", &meta) < 0 ||
		json_get(meta, "io.modelcontextprotocol/clientInfo", &info) < 0))
		return;
	put_member(s, info, "name");
	put_member(s, info, "version");
}

int
record_forward(struct session *s, const struct call *call, const char *direction,
    struct json params, const char *rule)
{
	int r;

	if (s->o.report == NULL)
		return 0;
	if (report_late(s->o.report))
		return -ENOBUFS;
	r = keep(s, call, AUDIT_ARGS_FULL, params.at, params.len);
	if (r < 0)
		return r;
	put_call(s, call, direction);
	event_text(&s->event, KEY_VERDICT, "allow");
	put_shown(s, KEY_RULE, rule);
	if (params.type != JSON_IS_NONE) {
		put_digest(s, KEY_PARAMS_SHA256, params.at, params.len);
		event_number(&s->event, KEY_PARAMS_BYTES, params.len);
	}
	event_text(&s->event, KEY_OUTCOME, "forwarded");
	put_client(s, direction, params);
	if ((call->audits & AUDIT_SYNC_STRICT) != 0)
		return send_strict(s);
	return report_send(s->o.report, &s->event, EVENT_FLOW, NULL);
}

int
record_approval(struct session *s, const struct record_approval *a, uint64_t *ret_number)
{
	if (s->o.report == NULL)
		return 0;
	begin(s, EVENT_APPROVE);
	event_short(&s->event, KEY_METHOD, a->call->method);
	event_name_put(&s->event, KEY_NAME, &a->call->name);
	event_bytes(&s->event, KEY_REQUEST, a->call->id, a->call->id_len);
	event_text(&s->event, KEY_VERDICT, a->agreed ? "allow" : "deny");
	event_text(&s->event, KEY_OUTCOME, a->answer);
	event_text(&s->event, KEY_RULE, a->rule);
	event_digest(&s->event, KEY_SHA256, a->digest);
	if (a->by != NULL)
		answerer_put(&s->event, a->by);
	event_number(&s->event, KEY_DURATION_US, a->ns / 1000);
	return report_send(s->o.report, &s->event, EVENT_GATE, ret_number);
}

void
record_answer(struct session *s, const struct call *call, const char *direction,
    const uint8_t *at, size_t len, const char *outcome)
{
	if (s->o.report == NULL)
		return;
	if (keep(s, call, AUDIT_RESULT_FULL, at, len) < 0)
		log_warn("unable to keep a result, as the policy requires");
	put_call(s, call, direction);
	if (at != NULL) {
		put_digest(s, KEY_RESULT_SHA256, at, len);
		event_number(&s->event, KEY_RESULT_BYTES, len);
	}
	event_number(&s->event, KEY_DURATION_US, (loop_now() - call->since_ns) / 1000);
	event_text(&s->event, KEY_OUTCOME, outcome);
	/* The call is done and was recorded when it was forwarded; a full queue
	 * refuses the next one. */
	(void)report_send(s->o.report, &s->event, EVENT_FLOW, NULL);
}

static void
put_dropped(struct session *s, const char *direction, uint64_t bytes, const char *reason)
{
	begin(s, EVENT_DROPPED);
	event_text(&s->event, KEY_DIRECTION, direction);
	event_number(&s->event, KEY_BYTES, bytes);
	event_text(&s->event, KEY_REASON, reason);
	/* As above. */
	(void)report_send(s->o.report, &s->event, EVENT_FLOW, NULL);
}

static void
put_drops(struct session *s, const char *direction, struct drops *d)
{
	char text[64];

	if (d->more_n == 0)
		return;
	(void)snprintf(text, sizeof(text), "%llu more lines of that kind",
	    (unsigned long long)d->more_n);
	put_dropped(s, direction, d->more_bytes, text);
	d->more_n = d->more_bytes = 0;
}

static void
put_over(struct session *s, const char *reason)
{
	begin(s, EVENT_REFUSED);
	event_text(&s->event, KEY_DIRECTION, "server");
	event_text(&s->event, KEY_VERDICT, "deny");
	event_short(&s->event, KEY_REASON, reason);
	/* Nothing was forwarded, so losing this record lets nothing through. */
	(void)report_send(s->o.report, &s->event, EVENT_FLOW, NULL);
}

/* How many there were, once the server was quiet or ends. */
static void
put_over_count(struct session *s)
{
	char text[128];

	if (s->o.report != NULL && s->asks.over_n > 0) {
		(void)snprintf(text, sizeof(text),
		    "%llu more requests of the server beyond its budget",
		    (unsigned long long)s->asks.over_n); /* fits */
		put_over(s, text);
	}
	s->asks.over_n = 0;
	s->asks.over = false;
}

bool
record_may_ask(struct session *s)
{
	uint64_t now = loop_now();

	if (s->asks.over && budget_full(&s->asks.budget, now, ASKS_EACH_NS))
		put_over_count(s);
	if (budget_take(&s->asks.budget, now, ASKS_MAX, ASKS_EACH_NS))
		return true;
	s->refused++;
	if (s->asks.over) {
		s->asks.over_n++;
		return false;
	}
	s->asks.over = true;
	if (s->o.report != NULL)
		put_over(s, "a request of the server beyond its budget: 40 at once, then "
			    "3 in a second");
	return false;
}

void
record_drops(struct session *s)
{
	put_drops(s, "agent", &s->drops[0]);
	put_drops(s, "server", &s->drops[1]);
	put_over_count(s);
}

/* Is there room for a record of one more? The count of those before comes first. */
static bool
has_room(struct session *s, const char *direction, struct drops *d)
{
	uint64_t now = loop_now(), second = now / 1000000000;

	if (d == &s->drops[1]) {
		if (!budget_take(&d->budget, now, RECORDS_MAX, RECORDS_EACH_NS))
			return false;
		put_drops(s, direction, d);
		return true;
	}
	if (d->second != second) {
		put_drops(s, direction, d);
		d->second = second;
		d->n = 0;
	}
	return d->n++ < DROPS_MAX;
}

/* Rate limit for discarded lines: beyond their number they are only counted, so that a flood
 * cannot fill the log. True: counted, do not record it. */
static bool
flooded(struct session *s, const char *direction, uint64_t bytes)
{
	struct drops *d = &s->drops[strcmp(direction, "server") == 0];

	if (has_room(s, direction, d))
		return false;
	d->more_n++;
	d->more_bytes += bytes;
	return true;
}

void
record_dropped(
    struct session *s, const char *direction, uint64_t bytes, const char *reason)
{
	if (s->o.report != NULL && !flooded(s, direction, bytes))
		put_dropped(s, direction, bytes, reason);
}

int
record_unknown(struct session *s, const char *direction, struct json params)
{
	if (s->o.report == NULL || flooded(s, direction, params.len))
		return 0;
	begin(s, EVENT_CALL);
	event_text(&s->event, KEY_DIRECTION, direction);
	event_short(&s->event, KEY_METHOD, s->method);
	event_text(&s->event, KEY_VERDICT, "allow");
	if (params.type != JSON_IS_NONE) {
		put_digest(s, KEY_PARAMS_SHA256, params.at, params.len);
		event_number(&s->event, KEY_PARAMS_BYTES, params.len);
	}
	event_text(&s->event, KEY_OUTCOME, "notified");
	return report_send(s->o.report, &s->event, EVENT_FLOW, NULL);
}

void
record_refused(struct session *s, const char *direction, const char *method,
    const char *name, const struct json *id, const char *rule, const char *reason)
{
	s->refused++;
	if (s->o.report == NULL)
		return;
	/* a server can request forbidden things at no cost, so limit their records */
	if (strcmp(direction, "server") == 0 && flooded(s, direction, 0))
		return;
	begin(s, EVENT_REFUSED);
	event_text(&s->event, KEY_DIRECTION, direction);
	event_text(&s->event, KEY_VERDICT, "deny");
	put_shown(s, KEY_METHOD, method);
	put_shown(s, KEY_NAME, name);
	if (id != NULL && id->type != JSON_IS_NONE)
		event_bytes(&s->event, KEY_REQUEST, id->at, id->len);
	put_shown(s, KEY_RULE, rule);
	put_shown(s, KEY_REASON, reason);
	put_tool_call(s, direction, method);
	/* Nothing was forwarded, so losing this record lets nothing through. */
	(void)report_send(s->o.report, &s->event, EVENT_FLOW, NULL);
}

void
record_exec_refused(
    struct session *s, const struct call *call, const struct session_refusal *r)
{
	if (s->o.report == NULL || flooded(s, "server", 0))
		return;
	begin(s, EVENT_REFUSED);
	event_text(&s->event, KEY_DIRECTION, "server");
	event_text(&s->event, KEY_VERDICT, "deny");
	event_short(&s->event, KEY_METHOD, call->method);
	if (call->name.len > 0)
		event_name_put(&s->event, KEY_NAME, &call->name);
	event_bytes(&s->event, KEY_REQUEST, call->id, call->id_len);
	event_text(&s->event, KEY_PROGRAM, r->program);
	put_shown(s, KEY_RULE, r->rule);
	put_shown(s, KEY_REASON, r->reason[0] != '\0' ? r->reason : r->because);
	event_text(&s->event, KEY_OUTCOME, "exec refused");
	/* The leash has its own record of it; this one names the call. */
	(void)report_send(s->o.report, &s->event, EVENT_FLOW, NULL);
}

void
record_pings(struct session *s, const struct pings *p)
{
	char text[64];

	if (s->o.report == NULL)
		return;
	(void)snprintf(text, sizeof(text), "%u of %u answered", p->answered, p->sent);
	begin(s, EVENT_CALL);
	event_text(&s->event, KEY_DIRECTION, "kennel");
	event_text(&s->event, KEY_METHOD, "ping");
	event_number(&s->event, KEY_DURATION_US, (loop_now() - p->since) / 1000);
	event_short(&s->event, KEY_OUTCOME, text);
	/* kennel sent these itself, so losing this record hides nothing. */
	(void)report_send(s->o.report, &s->event, EVENT_FLOW, NULL);
}

/* "tool", "prompt": as in the pins file. */
static const char *const definition_word[] = {
    [PIN_TOOL] = "tool",
    [PIN_RESOURCE] = "resource",
    [PIN_TEMPLATE] = "template",
    [PIN_PROMPT] = "prompt",
    [PIN_CAPABILITIES] = "capabilities",
    [PIN_INSTRUCTIONS] = "instructions",
    [PIN_SERVER_INFO] = "server-info",
};

static const char *const definition_outcome[] = {
    [PIN_OFF] = "seen",
    [PIN_FITS] = "as pinned",
    [PIN_DIFFERS] = "differs from its pin",
    [PIN_MISSING] = "not pinned",
};

/* The first few: all are in the log. */
static void
warn_definition(const struct session *s, enum sealed_pin_kind kind, enum pin_state state)
{
	if (s->definitions <= DEFINITIONS_WARNED)
		log_warn(
		    "%s \"%.*s\" is %s, and is not used: compare with `kennel server "
		    "pin %s --diff`",
		    definition_word[kind], NAME_SHOWN, s->name,
		    state == PIN_DIFFERS ? "not as it was reviewed"
					 : "not among what was reviewed",
		    policy_str(s->o.policy, s->o.server->name));
}

void
record_definition(
    struct session *s, enum sealed_pin_kind kind, const struct pin_seen *seen)
{
	bool bad = seen->state == PIN_DIFFERS || seen->state == PIN_MISSING;

	if (s->o.report == NULL || !seen->news)
		return;
	/* A server that keeps changing its tools must not fill the log. */
	if (s->definitions++ >= DEFINITIONS_MAX) {
		record_dropped(s, "server", 0, "one more change of its definitions");
		return;
	}
	if (bad)
		warn_definition(s, kind, seen->state);
	begin(s, EVENT_MANIFEST);
	event_text(&s->event, KEY_METHOD, definition_word[kind]);
	put_shown(s, KEY_NAME, s->name);
	event_digest(&s->event, KEY_SHA256, seen->sha256);
	if (seen->pin != NULL)
		event_digest(&s->event, KEY_PINNED, seen->pin->sha256);
	event_text(&s->event, KEY_VERDICT, bad ? "deny" : "allow");
	event_text(&s->event, KEY_OUTCOME, definition_outcome[seen->state]);
	put_shown(s, KEY_REASON, seen->changed);
	/* An unpinned definition is hidden, whether or not this record is written. */
	(void)report_send(s->o.report, &s->event, EVENT_FLOW, NULL);
}
