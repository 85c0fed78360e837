/*
 * Connects a session with the programs that its server starts. While an approval of a
 * program is pending, the server is suspended: its deadlines stop too, and kennel
 * sends progress to the agent in its place. Refused programs are reported with the
 * calls that they may have made fail.
 *
 * Process: kennel. Trusts the leash's reports of pending and refused programs.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/buf.h"
#include "shim/base/loop.h"
#include "supervisor/json/json.h"
#include "supervisor/mcp/line/frame.h"
#include "supervisor/mcp/methods.h"
#include "supervisor/mcp/private.h"
#include "supervisor/mcp/requests.h"
#include "supervisor/mcp/rpc.h"

#define PROGRESS_STEP  1e-6       /* more than the last value, less than any usual step */
#define SAID_MAX       (8u << 10) /* of one insertion: text from rpc_text, escaped */
#define LOOKED_THROUGH (8u << 10) /* of a result, at either end, when looking for hints */

/* ---- pending approvals -------------------------------------------------------- */

static void
say_progress(struct session *s, struct call *call)
{
	int r;

	call->progress += PROGRESS_STEP;
	buf_clear(&s->text);
	r = buf_printf(&s->text,
	    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":"
	    "{\"progressToken\":%.*s,\"progress\":%.15g,\"message\":\"kennel: waiting "
	    "for a person to agree to a program that the server wants to run\"}}\n",
	    (int)call->token_len, (const char *)call->token, call->progress);
	if (r < 0)
		s->error = r;
	else if (frame_queued(&s->to_agent) < FRAME_ANSWER)
		session_say(s, &s->to_agent);
}

/* Sends progress, with the reason, for each call at the server that requested it. */
void
programs_progress(struct session *s)
{
	struct call *call = NULL;

	if (s->programs == 0)
		return;
	while ((call = calls_next(&s->asked, call, CALL_OPEN)) != NULL)
		if (call->token_len > 0)
			say_progress(s, call);
}

void
session_program(struct session *s, int change, bool answered)
{
	session_person(s, change, answered);
	if (change > 0)
		s->programs++;
	else if (s->programs > 0)
		s->programs--;
	s->active_at = loop_now();
	if (change > 0)
		programs_progress(s);
	held_arm(s);
	session_arm(s);
}

/* kennel's next value must be larger. */
void
programs_progressed(struct call *call, struct json params)
{
	struct json progress;
	char text[32];

	if (json_get(params, "progress", &progress) < 0 ||
	    progress.type != JSON_IS_NUMBER || progress.len >= sizeof(text))
		return;
	memcpy(text, progress.at, progress.len);
	text[progress.len] = '\0';
	call->progress = strtod(text, NULL);
}

/*
 * A suspended server answers no ping, and the agent would give up. True: kennel has
 * answered.
 */
bool
programs_ping(struct session *s, const struct json_message *m)
{
	struct json id = m->top[TOP_ID];
	struct call *call;
	int r;

	if (s->programs == 0 || strcmp(s->method, "ping") != 0 ||
	    calls_add(&s->asked, id, &call) < 0)
		return false;
	(void)snprintf(call->method, sizeof(call->method), "ping");
	record_name(s, call, "");
	call->since_ns = loop_now();
	r = record_forward(s, call, "agent", m->top[TOP_PARAMS], NULL);
	if (r == 0) {
		buf_clear(&s->text);
		(void)buf_puts(&s->text, "{\"jsonrpc\":\"2.0\",\"id\":"); /* at end */
		(void)buf_put(&s->text, id.at, id.len);                   /* likewise */
		r = buf_puts(&s->text, ",\"result\":{}}\n");
		if (r < 0)
			s->error = r;
		session_say(s, &s->to_agent);
		record_answer(s, call, "agent", NULL, 0, "answered by kennel");
	}
	calls_remove(&s->asked, call);
	return r == 0;
}

/* ---- refusals ------------------------------------------------------------------ */

/* Appends the text so far and the policy's own texts. */
static void
put_reasons(struct refusal *to, int n, const char *because, const char *instead)
{
	to->at = loop_now();
	if (because[0] != '\0')
		n += snprintf(to->text + n, sizeof(to->text) - (size_t)n, ": %.300s",
		    because); /* fits */
	if (instead[0] != '\0')
		(void)snprintf(to->text + n, sizeof(to->text) - (size_t)n,
		    ". Instead: %.300s", instead); /* fits */
}

static void
remember(struct session *s, const struct session_refusal *r)
{
	struct refusal *to = &s->refusal[s->refusal_n++ % REFUSALS_KEPT];
	int n;

	n = snprintf(to->text, sizeof(to->text),
	    "kennel: the policy of this server does not let it run \"%.300s\" (%.300s)",
	    r->program, r->rule[0] == '\0' ? "no line grants it" : r->rule);
	put_reasons(to, n, r->because, r->instead);
}

/* Also in kennel's own words: a host without a grant is the usual reason for a
 * failing call, and the agent has no other way to learn it. */
void
session_unreached(struct session *s, const struct session_unreached *u)
{
	struct refusal *to = &s->refusal[s->refusal_n++ % REFUSALS_KEPT];
	int n;

	s->refused += !u->failed;
	if (u->target[0] == '\0')
		n = snprintf(to->text, sizeof(to->text), "kennel: %.300s", u->reason);
	else
		n = snprintf(to->text, sizeof(to->text),
		    "kennel: this server did not reach %.300s: %.200s%s%.200s%s",
		    u->target, u->reason, u->rule[0] != '\0' ? " (" : "", u->rule,
		    u->rule[0] != '\0' ? ")" : "");
	put_reasons(to, n, u->because, u->instead);
}

void
session_exec_refused(struct session *s, const struct session_refusal *refusal)
{
	struct call *call = NULL;
	unsigned int n = 0;

	s->refused++;
	while (n < REFUSALS_KEPT &&
	       (call = calls_next(&s->asked, call, CALL_OPEN)) != NULL) {
		if (call->known == NULL || (call->known->flags & METHOD_RESULT) == 0)
			continue;
		record_exec_refused(s, call, refusal);
		n++;
	}
	/* tell the agent only what the policy's own text explains */
	if (refusal->because[0] != '\0' || refusal->instead[0] != '\0')
		remember(s, refusal);
}

bool
result_is_error(struct json result)
{
	static const char word[] = "isError";
	struct json failed;

	/* Fast path: no search by members in a result that has no such word. */
	return result.type == JSON_IS_OBJECT &&
	       memmem(result.at, result.len, word, sizeof(word) - 1) != NULL &&
	       json_get(result, word, &failed) == 0 && failed.type == JSON_IS_TRUE;
}

/* True if this text indicates that a tool failed. Checks both ends, because the
 * middle is the tool's output. */
static bool
hints_at_failure(struct json result)
{
	static const char word[] = "isError";
	size_t n = result.len < LOOKED_THROUGH ? result.len : LOOKED_THROUGH;

	if (result.type != JSON_IS_OBJECT)
		return false;
	return memmem(result.at, n, word, sizeof(word) - 1) != NULL ||
	       memmem(result.at + result.len - n, n, word, sizeof(word) - 1) != NULL;
}

/* Finds where one more text fits into the server's answer, and the JSON before and
 * after it. */
static const uint8_t *
place_of(const struct json_message *m, const char **ret_before, const char **ret_behind)
{
	static const char item[] = ",{\"type\":\"text\",\"text\":";
	struct json error = m->top[TOP_ERROR], failed, content, key, value;
	struct json_walk w;

	if (error.type == JSON_IS_OBJECT && json_get(error, "message", &value) == 0 &&
	    value.type == JSON_IS_STRING) {
		*ret_before = " (";
		*ret_behind = ")";
		return value.at + value.len - 1; /* its end quote */
	}
	if (!hints_at_failure(m->top[TOP_RESULT]) ||
	    json_get(m->top[TOP_RESULT], "isError", &failed) < 0 ||
	    failed.type != JSON_IS_TRUE ||
	    json_get(m->top[TOP_RESULT], "content", &content) < 0 ||
	    content.type != JSON_IS_ARRAY)
		return NULL;
	json_walk(&w, content);
	*ret_before = json_next(&w, &key, &value) ? item : item + 1;
	*ret_behind = "}";
	return content.at + content.len - 1;
}

static bool
failed(const struct json_message *m)
{
	return m->top[TOP_ERROR].type != JSON_IS_NONE ||
	       hints_at_failure(m->top[TOP_RESULT]);
}

/* Collects everything refused since the call began, as one text. */
static void
put_refusals(struct session *s, const struct call *call, struct buf *out)
{
	uint32_t first = s->refusal_n < REFUSALS_KEPT ? 0 : s->refusal_n - REFUSALS_KEPT;
	const char *last = "";

	for (uint32_t i = first; i < s->refusal_n; i++) {
		const struct refusal *r = &s->refusal[i % REFUSALS_KEPT];

		if (r->at < call->since_ns || strcmp(r->text, last) == 0)
			continue;
		/* errors surface at the end */
		(void)buf_printf(out, "%s%s", out->len > 0 ? "\n" : "", r->text);
		last = r->text;
	}
}

/*
 * Reads the reports that the leash sent before the server could know. Once per line:
 * all elements of a batch are open then, each a call of its own.
 */
void
programs_hear(struct session *s)
{
	if (s->o.hear != NULL)
		s->o.hear(s->o.hear_arg);
}

void
programs_explain(struct session *s, const struct call *call, const struct json_message *m)
{
	const char *before, *behind;
	size_t was = s->insert.len;
	const uint8_t *at;
	struct buf text;

	if (call->known == NULL || (call->known->flags & METHOD_RESULT) == 0 ||
	    !failed(m))
		return;
	if (!s->batch.open) /* already read for all its elements */
		programs_hear(s);
	if (s->refusal_n == 0 || (at = place_of(m, &before, &behind)) == NULL)
		return;
	buf_init(&text, REFUSALS_KEPT * sizeof(s->refusal[0]));
	put_refusals(s, call, &text);
	/* what exceeds the limit for one line is only in the log */
	if (text.len > 0 && buf_reserve(&s->insert, SAID_MAX) == 0) {
		bool error = m->top[TOP_ERROR].type == JSON_IS_OBJECT;

		(void)buf_puts(&s->insert, before); /* there is room */
		rpc_text(&s->insert, buf_str(&text), !error);
		(void)buf_puts(&s->insert, behind); /* likewise */
		if (filter_insert(s, at, s->insert.len - was) < 0)
			s->error = -ENOMEM;
	}
	buf_free(&text);
}
