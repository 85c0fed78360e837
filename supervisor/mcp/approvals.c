/*
 * Approvals of calls. An approval is open while a person may answer it, and stays open
 * when its call was refused because the person took too long: a yes is then for the
 * next call that is exactly the same.
 *
 * Process: kennel. Holds at most as many approvals as the queue, plus late answers.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "leash/audit/writer.h"
#include "policy/sealed/policy.h"
#include "shim/base/buf.h"
#include "shim/base/log.h"
#include "shim/base/loop.h"
#include "supervisor/json/json.h"
#include "supervisor/mcp/held.h"
#include "supervisor/mcp/methods.h"

#define LATE_YES_NS (60000 * LOOP_MS) /* at least, to repeat the call */

void
approval_free(struct approval *a)
{
	struct approval **at = &a->s->approvals;

	while (*at != a)
		at = &(*at)->next;
	*at = a->next;
	free(a);
}

bool
approval_on_disk(const struct approval *a)
{
	return a->s->o.report == NULL || report_durable(a->s->o.report, a->record);
}

/* The call was refused before: a yes is for the next one that is exactly the same. A
 * yes for the session is kept by the queue. */
void
approval_late(struct approval *a, enum question_answer answer)
{
	uint64_t at_least = loop_now() + LATE_YES_NS;

	a->agreed = answer == ANSWER_ONCE;
	if (a->until < at_least)
		a->until = at_least;
	if (!a->agreed)
		approval_free(a);
}

/* ---- the approval request ----------------------------------------------------------- */

/* Builds the request: the subject, and every other member that counts. */
static int
question_of(struct session *s, const struct approval *a, const struct covered *c,
    const char *subject_key, struct question_text *q)
{
	struct buf shown;
	int r;

	*q = (struct question_text){.kind = (enum question_kind)c->kind,
	    .factor = (enum question_factor)s->factor,
	    .destructive = s->destructive,
	    .open_ms = s->open_ns / LOOP_MS};
	(void)snprintf(q->method, sizeof(q->method), "%s", c->method); /* fits */
	buf_init(&shown, (size_t)2 * MCP_MESSAGE_MAX);
	r = covered_shown(c->params, subject_key, &shown, &q->ambiguous);
	if (r == 0 && !(shown.len == 2 && memcmp(shown.data, "{}", 2) == 0))
		question_detail(q, shown.data, shown.len);
	buf_free(&shown);
	question_shorten(
	    q->server, sizeof(q->server), c->server, strlen(c->server), &q->cut);
	/* A NUL would end the displayed text; JSON text has none. */
	question_shorten(
	    q->subject, sizeof(q->subject), s->name, strlen(s->name), &q->cut);
	(void)snprintf(q->rule, sizeof(q->rule), "%s", a->rule); /* same size */
	(void)snprintf(
	    q->because, sizeof(q->because), "%s", a->because); /* may be truncated */
	memcpy(q->digest, a->digest, sizeof(q->digest));
	return r;
}

/* An approval that is open or was given, whose call was refused. */
static struct approval *
find_late(struct session *s, const uint8_t digest[QUESTION_DIGEST_LEN])
{
	struct approval *a = s->approvals, *next;

	for (; a != NULL; a = next) {
		next = a->next;
		if (a->held == NULL && a->question == 0 && a->until <= loop_now())
			approval_free(a);
		else if (a->held == NULL &&
			 memcmp(a->digest, digest, sizeof(a->digest)) == 0)
			return a;
	}
	return NULL;
}

/* A new approval. 0: it is open; 1: approved for the session; -errno. */
static int
ask(struct session *s, struct held *h, const struct covered *covered,
    const uint8_t digest[QUESTION_DIGEST_LEN])
{
	static struct question_text q; /* large; one at a time */
	bool named = h->call->known->where == WHERE_NAME;
	struct approval *a = calloc(1, sizeof(*a));
	int r;

	if (a == NULL)
		return -ENOMEM;
	a->s = s;
	a->held = h;
	a->asked = *h->call;
	a->since = loop_now();
	a->until = a->since + s->open_ns;
	a->because = s->because;
	(void)snprintf(a->rule, sizeof(a->rule), "%s", s->rule); /* same size */
	memcpy(a->digest, digest, sizeof(a->digest));
	r = question_of(s, a, covered, named ? "name" : "uri", &q);
	if (r == 0)
		r = question_ask(s->o.questions, &q, held_answer, a, &a->question);
	if (r != 0) {
		free(a);
		if (r == 1) /* the queue keeps what was agreed to for the session */
			h->call->agreed = CALL_AGREED_SESSION;
		return r;
	}
	a->next = s->approvals;
	s->approvals = a;
	h->approval = a;
	question_tell(&q, a->question);
	return 0;
}

/* Joins the approval of an equal call that was refused, or asks. As ask(). */
int
approval_get(struct session *s, struct held *h, enum question_kind kind)
{
	struct covered covered = {.kind = (int)kind,
	    .method = h->call->known->name,
	    .server = policy_str(s->o.policy, s->o.server->name),
	    .name = s->name};
	uint8_t digest[QUESTION_DIGEST_LEN];
	struct json_message m;
	struct approval *a;
	int r;

	if (json_scan(h->line, h->len - 1, &m) < 0)
		bug("a line that was scanned before");
	if (!covered_whole(m.root))
		return -EINVAL;
	covered.params = m.top[TOP_PARAMS];
	r = covered_digest(&covered, digest);
	if (r < 0)
		return r;
	a = find_late(s, digest);
	if (a == NULL)
		return ask(s, h, &covered, digest);
	if (a->agreed && approval_on_disk(a)) {
		approval_free(a);
		h->call->agreed = CALL_AGREED_ONCE;
		return 1;
	}
	a->held = h;
	h->approval = a;
	return 0;
}
