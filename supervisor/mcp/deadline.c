/*
 * The deadline clock. It stops while a user is asked, by a request of the server or
 * for an approval, and computes when the next deadline is due. kennel answers a
 * request whose deadline passes.
 */
#include <errno.h>
#include <stdio.h>

#include "shim/base/buf.h"
#include "shim/base/loop.h"
#include "supervisor/approve/approve.h"
#include "supervisor/mcp/line/after_input.h"
#include "supervisor/mcp/line/frame.h"
#include "supervisor/mcp/methods.h"
#include "supervisor/mcp/private.h"
#include "supervisor/mcp/requests.h"
#include "supervisor/mcp/rpc.h"

#define NO_START_TEXT "the server did not answer its first request in time"
#define NO_READ_TEXT  "the server did not read its input within `timeout call`"

/* How long the present pause has lasted, up to its limit: a server must not be able
 * to stop its own deadline indefinitely. */
static uint64_t
pause_ns(const struct session *s, uint64_t now)
{
	uint64_t ns = s->person == 0 ? 0 : now - s->paused_at;

	return ns < s->budget_ns ? ns : s->budget_ns;
}

uint64_t
session_clock(const struct session *s)
{
	uint64_t now = loop_now();

	return now - s->paused_ns - pause_ns(s, now);
}

/* A request to a user begins (change 1) or ends (-1). Only an answer restores the
 * full time for the next one. */
void
session_person(struct session *s, int change, bool answered)
{
	uint64_t now = loop_now(), ns = pause_ns(s, now);

	s->paused_ns += ns;
	s->budget_ns = answered ? s->ask_ns : s->budget_ns - ns;
	s->paused_at = now;
	if (change > 0)
		s->person++;
	else if (s->person > 0)
		s->person--;
}

void
session_deadline(struct session *s, struct call *call)
{
	bool first = call->known != NULL && (call->known->flags & METHOD_FIRST) != 0;
	uint64_t clock = session_clock(s);

	if (call->known == NULL || (call->known->flags & METHOD_DEADLINE) == 0 ||
	    (!first && s->start_at != 0))
		return;
	call->most_ns = clock + (first ? s->start_ns : s->most_ns);
	calls_deadline(&s->asked, call, clock + (first ? s->start_ns : s->call_ns));
}

void
session_begun(struct session *s)
{
	struct call *call = NULL;

	if (s->start_at == 0)
		return;
	s->start_at = 0;
	while ((call = calls_next(&s->asked, call, CALL_OPEN)) != NULL)
		if (!call->deadlined)
			session_deadline(s, call);
}

void
session_progressed(struct session *s, struct call *call)
{
	uint64_t at = session_clock(s) + s->call_ns;

	if (at > call->most_ns)
		at = call->most_ns;
	if (call->deadlined && at > call->deadline_ns)
		calls_deadline(&s->asked, call, at);
}

/* The session ends, and with it what the agent sends until the process has ended. */
static void
start_failed(struct session *s)
{
	char text[160 + MISSED_TEXT_MAX], missed[MISSED_TEXT_MAX];

	(void)snprintf(text, sizeof(text),
	    "kennel: the server did not answer its first request within %llu ms (see "
	    "`timeout start`)%s",
	    (unsigned long long)(s->start_ns / LOOP_MS),
	    missed_text(s, NULL, missed)); /* fits */
	s->start_at = 0;
	session_answer_all(s, RPC_TIMEOUT, "timeout", text);
	if (s->cause == NULL)
		s->cause = NO_START_TEXT;
	session_stop(s, NO_START_TEXT);
	s->server_eof = s->hung = true;
}

void
session_expire(struct session *s, struct call *call)
{
	static const struct rpc_why why = {.outcome = "timeout"};
	char text[160 + MISSED_TEXT_MAX], missed[MISSED_TEXT_MAX];
	int r;

	(void)snprintf(text, sizeof(text),
	    "kennel: the server did not answer within %llu ms; the call was cancelled%s",
	    (unsigned long long)((call->deadline_ns + s->most_ns - call->most_ns) /
				 LOOP_MS),
	    missed_text(s, call, missed)); /* fits */
	session_answer_agent(s, call->id, call->id_len, RPC_TIMEOUT, text, &why);
	buf_clear(&s->text);
	r = rpc_cancel(&s->text, call->id, call->id_len, "kennel: timed out");
	if (r < 0)
		s->error = r;
	else if (frame_queued(&s->to_server) < FRAME_ANSWER)
		session_say(s, &s->to_server);
	calls_state(&s->asked, call, CALL_GONE);
	record_answer(s, call, "agent", NULL, 0, "timeout");
}

void
session_answer_all(
    struct session *s, enum rpc_code code, const char *outcome, const char *text)
{
	const struct rpc_why why = {.outcome = outcome};
	struct call *call = NULL;

	held_drop_all(s);
	while ((call = calls_next(&s->asked, call, CALL_OPEN)) != NULL) {
		session_answer_agent(s, call->id, call->id_len, code, text, &why);
		calls_state(&s->asked, call, CALL_GONE);
		record_answer(s, call, "agent", NULL, 0, outcome);
	}
}

/* When `timeout idle` ends the session; UINT64_MAX: it is not idle. A server that is being
 * started again may wait for a person, and the request that it is started for waits too. */
static uint64_t
idle_at(const struct session *s)
{
	bool starts =
	    s->replay.phase == SERVER_STARTS || s->replay.phase == SERVER_GREETS;

	if (s->idle_ns == 0 || s->asked.open > 0 || s->held != NULL || s->programs > 0 ||
	    s->ended || starts)
		return UINT64_MAX;
	return s->active_at + s->idle_ns;
}

/* When a server that reads nothing of a full queue is lost, on the session's clock. The agent
 * is not read meanwhile, so no deadline of its next calls begins. */
static uint64_t
unread_at(const struct session *s)
{
	if (s->unread_since == 0 || s->server_eof)
		return UINT64_MAX;
	return s->unread_since + s->call_ns;
}

/* True if a request of the agent has no answer yet. */
static bool
under_way(const struct session *s)
{
	return s->asked.open > 0 || s->held != NULL || s->replay.waiting.len > 0;
}

/* True if no request is in what was read of the agent's input. */
static bool
is_read(const struct session *s)
{
	return frame_rest(&s->from_agent) == 0;
}

uint64_t
session_next_timer(struct session *s, uint64_t now)
{
	struct call *call = calls_soonest(&s->asked);
	uint64_t at = UINT64_MAX, due = UINT64_MAX, clock;

	if (call != NULL)
		due = call->deadline_ns;
	if (s->start_at != 0 && s->start_at < due)
		due = s->start_at;
	if (unread_at(s) < due)
		due = unread_at(s);
	if (due != UINT64_MAX) {
		clock = session_clock(s);
		at = now + (due > clock ? due - clock : 0);
		if (s->person > 0) /* not before the clock resumes by itself */
			at += s->budget_ns - pause_ns(s, now);
	}
	due = idle_at(s);
	at = due < at ? due : at;
	due = health_next(s);
	at = due < at ? due : at;
	due = s->ended ? UINT64_MAX
		       : after_input_due(&s->after, s->agent_eof && is_read(s));
	at = due < at ? due : at;
	due = session_log_behind(s) ? now + REPORT_LATE_MS * LOOP_MS : UINT64_MAX;
	return due < at ? due : at;
}

/* ---- the end of the input ------------------------------------------------ */

/* The server waits for answers that cannot come: it gets errors instead. */
static void
answer_asking(struct session *s)
{
	static const struct rpc_why why = {.outcome = "gone"};
	struct call *call = NULL;

	while ((call = calls_next(&s->asking, call, CALL_OPEN)) != NULL) {
		if (call->known != NULL && (call->known->flags & METHOD_ASKS) != 0)
			session_person(s, -1, false);
		session_answer_server(s, call->id, call->id_len, RPC_REFUSED,
		    "kennel: " AFTER_INPUT_GONE ", so no answer can come", &why);
		record_answer(s, call, "server", NULL, 0, "gone");
		calls_state(&s->asking, call, CALL_GONE);
	}
}

void
last_begin(struct session *s)
{
	if (s->after.until != 0 || s->ended)
		return;
	if (!after_input_begin(&s->after, &s->to_agent)) {
		session_stop(s, "agent closed its end");
		return;
	}
	last_unasked(s);
}

/* A question would outlive the agent that it is asked for. */
void
last_unasked(struct session *s)
{
	s->unasked = true;
	held_refuse_all(s, "kennel: " AFTER_INPUT_GONE
			   ", and with it the approval that this call waited for; the "
			   "call was not made");
	if (s->o.questions != NULL)
		queue_close(s->o.questions);
	answer_asking(s);
}

void
last_leave(struct session *s)
{
	int r = after_input_drain(&s->from_agent);

	if (r < 0)
		s->error = r;
	s->agent_eof |= r == 0;
	s->leaving = true;
	last_begin(s);
}

bool
last_done(struct session *s, bool room)
{
	bool read = frame_queued(&s->to_agent) == 0 ? room : is_read(s);

	return after_input_over(
	    &s->after, &s->to_agent, !s->agent_eof || under_way(s), read);
}

void
last_check(struct session *s, uint64_t now)
{
	if (s->after.until == 0 || s->ended || now < s->after.until)
		return;
	session_answer_all(s, RPC_TIMEOUT, "timeout", "kennel: " AFTER_INPUT_LATE);
	session_stop(s, AFTER_INPUT_LATE);
}

/* ---- the timer ---------------------------------------------------------- */

static void timer_fired(struct loop *, void *);

/* The timer may fire too early, never too late: it is set again only if an earlier
 * deadline appears. */
void
session_set_timer(struct session *s)
{
	uint64_t at = session_next_timer(s, loop_now());

	if (s->timer >= 0 && s->timer_at <= at)
		return;
	if (s->timer >= 0)
		loop_timer_stop(s->o.loop, s->timer);
	s->timer = -1;
	if (at == UINT64_MAX)
		return;
	s->timer_at = at;
	s->timer = loop_timer_at(s->o.loop, at, timer_fired, s);
	if (s->timer < 0)
		session_stop(s, "no timer left");
}

static void
timer_fired(struct loop *l, void *arg)
{
	struct session *s = arg;
	uint64_t now = loop_now(), clock = session_clock(s);
	struct call *call;

	s->timer = -1;
	if (s->start_at != 0 && clock >= s->start_at && s->replay.phase == SERVER_GREETS)
		session_hung(s, NO_START_TEXT);
	if (s->start_at != 0 && clock >= s->start_at)
		start_failed(s);
	while ((call = calls_soonest(&s->asked)) != NULL && call->deadline_ns <= clock)
		if ((call->known->flags & METHOD_FIRST) != 0)
			start_failed(s); /* it was not the first request */
		else
			session_expire(s, call);
	last_check(s, now);
	if (now >= idle_at(s))
		session_stop(s, "idle");
	health_check(s, now);
	if (clock >= unread_at(s))
		session_hung(s, NO_READ_TEXT);
	session_recorded(s); /* writes, and reads an agent that waited for the log */
}
