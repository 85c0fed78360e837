/*
 * Calls of one process that a person has refused (refused_calls.h).
 *
 * Process: kennel serve, its confined half. A session's answer can only add a refusal: the member
 * of the answer that says so is one that no server can give (supervisor/mcp/result_meta.c).
 */
#include "supervisor/serve/approvals/refused_calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/sealed/policy.h"
#include "shim/base/buf.h"
#include "supervisor/approve/approve.h"

struct refused_call {
	char server[128], tool[1024]; /* a longer name is cut, as it is in the queue */
	uint8_t digest[QUESTION_DIGEST_LEN];
};

static void
call_of(const struct gate_ask *ask, struct refused_call *ret)
{
	struct buf all;

	(void)snprintf(ret->server, sizeof(ret->server), "%s",
	    policy_str(ask->policy, ask->server->name)); /* may be cut */
	(void)snprintf(ret->tool, sizeof(ret->tool), "%.*s", (int)ask->name_len,
	    ask->name); /* likewise */
	buf_init(&all, ask->name_len + ask->args_len + 512);
	/* without memory for it the digest is that of less, and covers more */
	(void)buf_printf(&all, "%s\n%.*s\n", ret->server, (int)ask->name_len, ask->name);
	(void)buf_put(&all, ask->args, ask->args_len); /* likewise */
	mcp_digest(all.data, all.len, ret->digest);
	buf_free(&all);
}

static bool
asks(const struct gate_ask *ask)
{
	struct gate_answer answer;

	gate_judge(ask, &answer);
	return answer.asks;
}

static void
text_of_call(const struct refused_call *c, struct question_text *ret)
{
	bool cut;

	memset(ret, 0, sizeof(*ret));
	ret->kind = QUESTION_TOOL;
	question_shorten(
	    ret->server, sizeof(ret->server), c->server, strlen(c->server), &cut);
	question_shorten(
	    ret->subject, sizeof(ret->subject), c->tool, strlen(c->tool), &cut);
	memcpy(ret->digest, c->digest, sizeof(ret->digest));
}

bool
refused_call_is(const struct queue *queue, const struct gate_ask *ask)
{
	static struct question_text q; /* large */
	struct refused_call call = {.server = ""};

	if (queue == NULL || !asks(ask))
		return false;
	call_of(ask, &call);
	text_of_call(&call, &q);
	return question_would_refuse(queue, &q);
}

struct refused_call *
refused_call_new(const struct gate_ask *ask)
{
	struct refused_call *call = asks(ask) ? calloc(1, sizeof(*call)) : NULL;

	if (call != NULL)
		call_of(ask, call);
	return call;
}

void
refused_call_answer(
    struct queue *queue, const struct refused_call *call, const struct json_message *m)
{
	static struct question_text q; /* large */
	struct json meta, refusal, outcome;
	char text[64];
	size_t len;

	if (queue == NULL || json_get(m->top[TOP_RESULT], "_meta", &meta) < 0 ||
	    json_get(meta, "kennel/refusal", &refusal) < 0 ||
	    json_get(refusal, "outcome", &outcome) < 0 ||
	    json_text(outcome, text, sizeof(text), &len) < 0 ||
	    strcmp(text, REFUSED_CALL_OUTCOME) != 0)
		return;
	text_of_call(call, &q);
	question_note_refused(queue, &q);
}
