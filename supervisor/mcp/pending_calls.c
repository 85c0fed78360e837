/*
 * Calls that wait for approval. The agent has sent the call and the policy requires
 * `ask`: the call is in the table like any other, its bytes are kept here, and the
 * server gets it only after a user has approved it and the approval is on disk.
 *
 * Process: kennel. Holds a bounded number of bytes from the agent. Trusts no silence:
 * a call that is not approved is refused.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "leash/audit/writer.h"
#include "policy/sealed/policy.h"
#include "shim/base/buf.h"
#include "shim/base/log.h"
#include "shim/base/loop.h"
#include "supervisor/approve/approve.h"
#include "supervisor/hub/hub.h"
#include "supervisor/json/json.h"
#include "supervisor/mcp/frame.h"
#include "supervisor/mcp/methods.h"
#include "supervisor/mcp/private.h"
#include "supervisor/mcp/requests.h"
#include "supervisor/mcp/rpc.h"

#define HELD_BYTES_MAX ((size_t)32 << 20) /* of all pending calls */
#define FIRST_NS       (1000 * LOOP_MS)   /* until the first progress notification */
#define PROGRESS_NS    (5000 * LOOP_MS)   /* between two of them */

struct held {
	struct held *next;
	struct session *s;
	struct call *call;
	uint32_t question; /* 0: answered, waiting for the disk */
	uint64_t record;   /* number of the answer's event */
	uint64_t since, progress;
	bool modern;
	char rule[512];
	const char *because; /* from the policy */
	uint8_t digest[QUESTION_DIGEST_LEN];
	size_t len;
	uint8_t line[]; /* without what was cut, with a newline */
};

/* ---- the list ----------------------------------------------------------------- */

static void
unlink_held(struct held *h)
{
	struct held **at = &h->s->held;

	while (*at != h)
		at = &(*at)->next;
	*at = h->next;
	h->s->held_bytes -= h->len;
	free(h);
}

/* ---- the answer ----------------------------------------------------------------- */

static void
refuse(struct held *h, const char *text, const char *outcome)
{
	struct rpc_why why = {.outcome = outcome, .rule = h->rule, .because = h->because};
	struct session *s = h->s;
	const struct call *c = h->call;
	bool result = c->known != NULL && (c->known->flags & METHOD_RESULT) != 0;
	int r;

	buf_clear(&s->text);
	r = result ? rpc_tool_refusal(&s->text, c->id, c->id_len, text, &why, h->modern)
		   : rpc_error(&s->text, c->id, c->id_len, RPC_REFUSED, text, &why);
	if (r < 0)
		s->error = r;
	session_say(s, &s->to_agent);
	record_answer(s, c, "agent", NULL, 0, outcome);
	calls_remove(&s->asked, h->call);
	unlink_held(h);
}

/* The server's tool definitions may have changed while the approval was pending.
 * NULL: the call may proceed; else the outcome. */
static const char *
changed_since(struct held *h, const struct json_message *m)
{
	const struct method *method = h->call->known;
	struct json args = m->param[PARAM_ARGUMENTS];
	struct gate_ask ask = session_ask(h->s, method->gate);
	struct gate_answer answer;

	if (json_text(m->param[method->where == WHERE_NAME ? PARAM_NAME : PARAM_URI],
		h->s->name, sizeof(h->s->name), &ask.name_len) < 0)
		bug("a name that was judged before");
	ask.args = args.type == JSON_IS_NONE ? "{}" : (const char *)args.at;
	ask.args_len = args.type == JSON_IS_NONE ? 2 : args.len;
	gate_judge(&ask, &answer);
	if (answer.allowed || answer.asks)
		return NULL;
	return answer.pin == PIN_DIFFERS ? "differs from its pin" : "deny";
}

/* The approval is on disk: forwards the call to the server. */
static void
release(struct held *h)
{
	const char *outcome;
	struct session *s = h->s;
	struct call *call = h->call;
	struct json_message m;
	int r;

	if (json_scan(h->line, h->len - 1, &m) < 0)
		bug("a line that was scanned before");
	if (s->to_server.closed || s->server_eof) {
		refuse(h, "kennel: the server no longer takes requests", "gone");
		return;
	}
	outcome = changed_since(h, &m);
	if (outcome != NULL) {
		refuse(h,
		    "kennel: the server's definition changed while the approval was "
		    "pending; the call was not made",
		    outcome);
		return;
	}
	call->since_ns = loop_now();
	calls_state(&s->asked, call, CALL_OPEN);
	if (record_forward(s, call, "agent", m.top[TOP_PARAMS]) < 0) {
		refuse(h,
		    "kennel: unable to record this call in the audit log; the call was "
		    "not made",
		    "refused");
		return;
	}
	r = frame_say(&s->to_server, h->line, h->len);
	if (r < 0)
		s->error = r;
	if (call->known != NULL && (call->known->flags & METHOD_DEADLINE) != 0)
		calls_deadline(&s->asked, call, session_clock(s) + s->call_ns);
	unlink_held(h);
}

static void
on_answer(
    void *arg, uint32_t number, enum question_answer answer, const struct answerer *by)
{
	struct held *h = arg;
	struct session *s = h->s;
	bool agreed = answer == ANSWER_ONCE || answer == ANSWER_SESSION;
	struct record_approval approval = {.call = h->call,
	    .rule = h->rule,
	    .digest = h->digest,
	    .answer = question_answer_name(answer),
	    .uid = by->uid,
	    .pid = by->pid,
	    .agreed = agreed,
	    .ns = loop_now() - h->since};
	int r;

	h->question = 0;
	r = record_approval(s, &approval, &h->record);
	if (answer == ANSWER_NOBODY)
		refuse(h, "kennel: approval timed out; the call was not made",
		    "nobody answered");
	else if (!agreed)
		refuse(h,
		    "kennel: a person denied this call; it was not made. Do not try "
		    "again unless the user asks for it",
		    "denied by a person");
	else if (r < 0)
		refuse(h,
		    "kennel: unable to record the approval in the audit log; the call "
		    "was not made",
		    "refused");
	else if (s->o.report == NULL)
		release(h);
	session_recorded(s); /* resume what waited for room */
}

void
held_recorded(struct session *s)
{
	struct held *h = s->held, *next;

	for (; h != NULL; h = next) {
		next = h->next;
		if (h->question == 0 && s->o.report != NULL &&
		    report_durable(s->o.report, h->record))
			release(h);
	}
}

/* ---- while it is pending ---------------------------------------------------------- */

/* Sends progress, if requested, while the approval is pending. */
static void
say_progress(struct held *h)
{
	struct session *s = h->s;
	struct json meta, token;
	struct json_message m;
	int r;

	if (json_scan(h->line, h->len - 1, &m) < 0)
		bug("a line that was scanned before");
	meta = m.param[PARAM_META];
	if (json_get(meta, "progressToken", &token) < 0 || token.len > MCP_ID_MAX ||
	    (token.type != JSON_IS_STRING && token.type != JSON_IS_NUMBER))
		return;
	buf_clear(&s->text);
	r = buf_printf(&s->text,
	    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":"
	    "{\"progressToken\":%.*s,\"progress\":%llu,"
	    "\"message\":\"kennel: waiting for a person to agree\"}}\n",
	    (int)token.len, (const char *)token.at, (unsigned long long)++h->progress);
	if (r < 0)
		s->error = r;
	else if (frame_queued(&s->to_agent) < FRAME_ANSWER)
		session_say(s, &s->to_agent);
}

static bool
asks(const struct session *s)
{
	return s->held != NULL || s->programs > 0;
}

static void arm_in(struct session *, uint64_t ns);

static void
on_progress(struct loop *loop, void *arg)
{
	struct session *s = arg;

	s->held_timer = -1;
	for (struct held *h = s->held; h != NULL; h = h->next)
		say_progress(h);
	programs_progress(s);
	if (asks(s))
		pings_send(s);
	else
		pings_end(s);
	arm_in(s, PROGRESS_NS);
	session_recorded(s); /* writes */
}

/* Without a timer there is no progress; everything else works. */
static void
arm_in(struct session *s, uint64_t ns)
{
	if (asks(s) && s->held_timer < 0)
		s->held_timer = loop_timer_at(s->o.loop, loop_now() + ns, on_progress, s);
}

void
held_arm(struct session *s)
{
	arm_in(s, FIRST_NS);
}

/* ---- the approval request ----------------------------------------------------------- */

/* Builds the request: the subject, and every other member that counts. */
static int
question_of(struct session *s, const struct held *h, const struct covered *c,
    const char *subject_key, struct question_text *q)
{
	struct buf shown;
	int r;

	*q = (struct question_text){.kind = (enum question_kind)c->kind};
	buf_init(&shown, MCP_MESSAGE_MAX);
	r = covered_params(c->params, subject_key, &shown);
	if (r == 0 && !(shown.len == 2 && memcmp(shown.data, "{}", 2) == 0))
		question_detail(q, shown.data, shown.len);
	buf_free(&shown);
	question_shorten(
	    q->server, sizeof(q->server), c->server, strlen(c->server), &q->cut);
	/* A NUL would end the displayed text; JSON text has none. */
	question_shorten(
	    q->subject, sizeof(q->subject), s->name, strlen(s->name), &q->cut);
	(void)snprintf(q->rule, sizeof(q->rule), "%s", h->rule); /* same size */
	(void)snprintf(
	    q->because, sizeof(q->because), "%s", h->because); /* may be truncated */
	memcpy(q->digest, h->digest, sizeof(q->digest));
	return r;
}

/* Keeps the line as the server would get it. */
static struct held *
keep(struct session *s, struct json root)
{
	const uint8_t *at = root.at, *end = root.at + root.len;
	struct held *h = calloc(1, sizeof(*h) + root.len + 1);

	if (h == NULL)
		return NULL;
	for (size_t i = 0; i < s->cuts.n; i++) {
		memcpy(h->line + h->len, at, (size_t)(s->cuts.cut[i].from - at));
		h->len += (size_t)(s->cuts.cut[i].from - at);
		at = s->cuts.cut[i].to;
	}
	memcpy(h->line + h->len, at, (size_t)(end - at));
	h->len += (size_t)(end - at);
	h->line[h->len++] = '\n';
	h->s = s;
	return h;
}

static int
ask(struct session *s, struct held *h, enum question_kind kind, struct question_text *q)
{
	const struct method *method = h->call->known;
	struct covered covered = {.kind = (int)kind,
	    .server = policy_str(s->o.policy, s->o.server->name),
	    .name = s->name};
	struct json_message m;
	int r;

	if (json_scan(h->line, h->len - 1, &m) < 0)
		bug("a line that was scanned before");
	if (!covered_whole(m.root))
		return -EINVAL;
	covered.params = m.top[TOP_PARAMS];
	r = covered_digest(&covered, h->digest);
	if (r == 0)
		r = question_of(
		    s, h, &covered, method->where == WHERE_NAME ? "name" : "uri", q);
	return r < 0 ? r : question_ask(s->o.questions, q, on_answer, h, &h->question);
}

int
held_add(struct session *s, const struct json_message *m, struct call *call,
    enum sealed_gate_kind gate, bool modern)
{
	static const enum question_kind kinds[] = {
	    [GATE_TOOL] = QUESTION_TOOL,
	    [GATE_RESOURCE] = QUESTION_RESOURCE,
	    [GATE_PROMPT] = QUESTION_PROMPT,
	};
	static struct question_text q; /* large; one at a time */
	struct held *h;
	int r;

	if (m->root.len + 1 > HELD_BYTES_MAX - s->held_bytes)
		return -ENOBUFS;
	h = keep(s, m->root);
	if (h == NULL)
		return -ENOMEM;
	h->call = call;
	h->modern = modern;
	h->since = loop_now();
	h->because = s->because;
	(void)snprintf(h->rule, sizeof(h->rule), "%s", s->rule); /* same size */
	r = ask(s, h, kinds[gate], &q);
	if (r != 0) {
		free(h);
		return r;
	}
	calls_state(&s->asked, call, CALL_HELD);
	h->next = s->held;
	s->held = h;
	s->held_bytes += h->len;
	question_tell(&q, h->question);
	held_arm(s);
	return 0;
}

/* ---- the end -------------------------------------------------------------------------- */

static void
drop(struct held *h)
{
	if (h->question != 0)
		question_withdraw(h->s->o.questions, h->question);
	unlink_held(h);
}

bool
held_cancel(struct session *s, const struct call *call)
{
	struct held *h = s->held;

	while (h != NULL && h->call != call)
		h = h->next;
	if (h == NULL)
		return false;
	record_answer(s, call, "agent", NULL, 0, "cancelled");
	calls_remove(&s->asked, h->call);
	drop(h);
	return true;
}

/* Sets the calls back to open, so that the agent still gets an answer to each. */
void
held_drop_all(struct session *s)
{
	struct held *h = s->held, *next;

	s->held = NULL;
	s->held_bytes = 0;
	for (; h != NULL; h = next) {
		next = h->next;
		calls_state(&s->asked, h->call, CALL_OPEN);
		if (h->question != 0)
			question_withdraw(s->o.questions, h->question);
		free(h);
	}
	loop_timer_stop(s->o.loop, s->held_timer);
	s->held_timer = -1;
}
