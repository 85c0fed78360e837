/*
 * Calls that wait for approval. The agent has sent the call and the policy requires
 * `ask`: the call is in the table like any other, its bytes are kept here, and the
 * server gets it only after a user has approved it and the approval is on disk.
 *
 * Clients give up on a call after 60 s, and a person may need longer. So the call waits
 * for less, and its approval stays open after the call was refused:
 *
 *	agent		kennel				person
 *	call 1		approval 17 is open
 *	   <------- "no answer yet" after 50 s
 *							allows 17
 *	call 2, the same: forwarded, because 17 allows it once
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
#include "supervisor/mcp/line/frame.h"
#include "supervisor/mcp/held.h"
#include "supervisor/mcp/methods.h"
#include "supervisor/mcp/private.h"
#include "supervisor/mcp/requests.h"
#include "supervisor/mcp/rpc.h"

#define HELD_BYTES_MAX ((size_t)32 << 20) /* of all pending calls */
#define RECORD_MS      5000             /* for the recorder to write a person's answer */
#define FIRST_NS       (1000 * LOOP_MS) /* until the first progress notification */
#define PROGRESS_NS    (5000 * LOOP_MS) /* between two of them */

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

/* Answers the call instead of the server. The approval stays. */
static void
answer_no(struct held *h, const char *text, const char *outcome)
{
	struct rpc_why why = {.outcome = outcome,
	    .rule = h->approval->rule,
	    .because = h->approval->because};
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
	h->approval->held = NULL;
	unlink_held(h);
}

static void arm_wait(struct session *);

static void
refuse(struct held *h, const char *text, const char *outcome)
{
	struct approval *a = h->approval;

	answer_no(h, text, outcome);
	approval_free(a);
}

/* Judges the call again: while its approval was pending, the server's definitions may
 * have changed, and other calls may have used up a limit. */
static void
judge_again(struct held *h, const struct json_message *m, struct gate_ask *ask,
    struct gate_answer *ret)
{
	const struct method *method = h->call->known;
	size_t len;

	*ask = session_ask(h->s, method->gate);
	if (json_text(m->param[method->where == WHERE_NAME ? PARAM_NAME : PARAM_URI],
		h->s->name, sizeof(h->s->name), &len) < 0)
		bug("a name that was judged before");
	agent_ask(h->s, m, len, ask);
	gate_judge(ask, ret);
}

/* The reason why the call may not proceed after all. */
static void
refuse_again(struct held *h, const struct gate_answer *answer)
{
	char text[GATE_TEXT_MAX];

	if (answer->over.is != CALL_FITS)
		refuse(h, gate_text(answer, h->call->known->gate, h->s->name, text),
		    gate_outcome(answer));
	else
		refuse(h,
		    "kennel: the server's definition changed while the approval was "
		    "pending; the call was not made",
		    answer->pin == PIN_DIFFERS ? "differs from its pin" : "deny");
}

/* The approval is on disk: forwards the call to the server. */
static void
release(struct held *h)
{
	struct gate_answer answer;
	struct gate_ask ask;
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
	judge_again(h, &m, &ask, &answer);
	if (!answer.allowed && !answer.asks) {
		refuse_again(h, &answer);
		return;
	}
	call->since_ns = loop_now();
	call->agreed = h->approval->for_session ? CALL_AGREED_SESSION : CALL_AGREED_ONCE;
	calls_state(&s->asked, call, CALL_OPEN);
	if (record_forward(s, call, "agent", m.top[TOP_PARAMS], answer.at) < 0) {
		refuse(h,
		    "kennel: unable to record this call in the audit log; the call was "
		    "not made",
		    "refused");
		return;
	}
	gate_count(&ask);
	s->made++;
	r = frame_say(&s->to_server, h->line, h->len);
	if (r < 0)
		s->error = r;
	session_deadline(s, call);
	approval_free(h->approval);
	unlink_held(h);
}

/* by: NULL for a request that was withdrawn. */
static int
record(struct approval *a, enum question_answer answer, const struct answerer *by)
{
	struct record_approval approval = {.call = &a->asked,
	    .rule = a->rule,
	    .digest = a->digest,
	    .answer = question_answer_name(answer),
	    .by = by,
	    .agreed = answer == ANSWER_ONCE || answer == ANSWER_SESSION,
	    .ns = loop_now() - a->since};

	return record_approval(a->s, &approval, &a->record);
}

void
held_answer(
    void *arg, uint32_t number, enum question_answer answer, const struct answerer *by)
{
	struct approval *a = arg;
	struct session *s = a->s;
	struct held *h = a->held;
	bool agreed = answer == ANSWER_ONCE || answer == ANSWER_SESSION;
	int r;

	a->question = 0;
	a->for_session = answer == ANSWER_SESSION;
	r = record(a, answer, by);
	if (h == NULL)
		approval_late(a, r < 0 ? ANSWER_DENY : answer);
	else if (answer == ANSWER_NOBODY)
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
	else {
		h->until = loop_now() + RECORD_MS * LOOP_MS;
		arm_wait(s);
	}
	session_recorded(s); /* resume what waited for room */
}

void
held_recorded(struct session *s)
{
	struct held *h = s->held, *next;

	for (; h != NULL; h = next) {
		next = h->next;
		if (h->approval->question == 0 && s->o.report != NULL &&
		    approval_on_disk(h->approval))
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

/* ---- when it takes too long ------------------------------------------------------- */

static void
give_up(struct held *h)
{
	const struct approval *a = h->approval;
	uint64_t now = loop_now(), left = a->until > now ? a->until - now : 0;
	char text[200 + QUESTION_ID_MAX], id[QUESTION_ID_MAX];

	(void)snprintf(text, sizeof(text),
	    "kennel: no answer yet: call again when a person has agreed. Approval %s "
	    "stays open for %llu s; a yes allows this call once, with the same arguments",
	    question_id(id, (long)getpid(), a->question, a->digest),
	    (unsigned long long)(left / (1000 * LOOP_MS)));
	answer_no(h, text, "no answer yet");
}

/* The answer is there, and its record is not. */
static void
give_up_record(struct held *h)
{
	refuse(h,
	    "kennel: the audit recorder has not written the approval within 5 s; the "
	    "call was not made. Call again when kennel doctor reports no problem",
	    "refused");
}

static void
on_wait(struct loop *loop, void *arg)
{
	struct session *s = arg;
	struct held *h = s->held, *next;
	uint64_t now = loop_now();

	s->wait_timer = -1;
	for (; h != NULL; h = next) {
		next = h->next;
		if (h->until > now)
			continue;
		if (h->approval->question != 0)
			give_up(h);
		else
			give_up_record(h);
	}
	arm_wait(s);
	session_recorded(s); /* writes */
}

/* Without a timer a call waits as long as its approval is open. */
static void
arm_wait(struct session *s)
{
	const struct held *first = NULL;

	for (const struct held *h = s->held; h != NULL; h = h->next)
		if ((h->approval->question == 0 || h->until < h->approval->until) &&
		    (first == NULL || h->until < first->until))
			first = h;
	loop_timer_stop(s->o.loop, s->wait_timer);
	s->wait_timer = -1;
	if (first != NULL)
		s->wait_timer = loop_timer_at(s->o.loop, first->until, on_wait, s);
}

/* Does the policy set it, or is it the default? */
static bool
sets_limit(const struct session_order *o, enum sealed_limit_kind kind)
{
	const struct sealed_limit *limit = o->policy->limit + o->server->limits.first;

	for (uint32_t i = 0; i < o->server->limits.n; i++)
		if (limit[i].kind == kind)
			return true;
	return false;
}

void
held_times(struct session *s)
{
	bool set = sets_limit(&s->o, TIMEOUT_ASK);
	uint64_t open_ns = CALL_OPEN_MS * LOOP_MS;

	s->wait_ns = set ? s->ask_ns : CALL_WAIT_MS * LOOP_MS;
	s->open_ns = set && s->ask_ns > open_ns ? s->ask_ns : open_ns;
}

/* ---- a new call ------------------------------------------------------------------- */

/* Keeps the line as the server would get it. */
static struct held *
keep(struct session *s, struct json root)
{
	struct held *h = calloc(1, sizeof(*h) + root.len + 1);

	if (h == NULL)
		return NULL;
	h->len = session_cut(s, root, h->line);
	h->s = s;
	return h;
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
	struct held *h;
	int r;

	if (m->root.len + 1 > HELD_BYTES_MAX - s->held_bytes)
		return -ENOBUFS;
	h = keep(s, m->root);
	if (h == NULL)
		return -ENOMEM;
	h->call = call;
	h->modern = modern;
	h->until = loop_now() + s->wait_ns;
	r = approval_get(s, h, kinds[gate]);
	if (r != 0) {
		free(h);
		return r;
	}
	calls_state(&s->asked, call, CALL_HELD);
	h->next = s->held;
	s->held = h;
	s->held_bytes += h->len;
	held_arm(s);
	arm_wait(s);
	return 0;
}

/* ---- the end -------------------------------------------------------------------------- */

/* The asker is gone.  Nothing was allowed, so the record need not be on disk. */
static void
withdraw(struct approval *a)
{
	if (a->question != 0) {
		(void)record(a, ANSWER_WITHDRAWN, NULL);
		question_withdraw(a->s->o.questions, a->question);
	}
	approval_free(a);
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
	withdraw(h->approval);
	calls_remove(&s->asked, h->call);
	unlink_held(h);
	return true;
}

void
held_refuse_all(struct session *s, const char *text)
{
	struct approval *a, *next;

	for (a = s->approvals; a != NULL; a = next) {
		next = a->next;
		if (a->held != NULL)
			answer_no(a->held, text, "withdrawn");
		withdraw(a);
	}
	arm_wait(s);
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
		free(h);
	}
	while (s->approvals != NULL)
		withdraw(s->approvals);
	loop_timer_stop(s->o.loop, s->held_timer);
	loop_timer_stop(s->o.loop, s->wait_timer);
	s->held_timer = s->wait_timer = -1;
}
