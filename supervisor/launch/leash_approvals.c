/*
 * What a leash asks a person about: programs that its server wants to start, and
 * the use of a secret before there is a server.  From the leash's question to the
 * queue that all questions share, and the answer back.
 *
 * Process: kennel.  Holds the words of each question, which the leash has taken
 * the secrets out of.  Must never send a yes that is not on disk.
 */
#include "supervisor/launch/leash_approvals.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/base/buf.h"
#include "shim/base/log.h"
#include "supervisor/mcp/mcp.h"

#define DETAIL_MAX (128u << 10) /* as JSON, before it is cut */

struct program {
	struct control *control;
	uint32_t number;   /* the leash's; 0: the slot is free */
	uint32_t question; /* the queue's; 0: answered, and waiting for the disk */
	uint64_t record;   /* number of the answer's event */
	uint64_t since;
	enum leash_answer answer;
	const char *method; /* "exec", "secret": for the record */
	char who[64];
	char path[REPORT_TEXT_MAX], rule[512];
	uint8_t digest[QUESTION_DIGEST_LEN];
};

struct control {
	struct control_order o;
	struct program program[LEASH_QUESTIONS_MAX];
	struct buf detail;
	struct event event;
};

int
control_new(const struct control_order *order, struct control **ret)
{
	struct control *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return -ENOMEM;
	c->o = *order;
	buf_init(&c->detail, DETAIL_MAX);
	for (size_t i = 0; i < LEASH_QUESTIONS_MAX; i++)
		c->program[i].control = c;
	*ret = c;
	return 0;
}

void
control_free(struct control *c)
{
	if (c == NULL)
		return;
	for (size_t i = 0; i < LEASH_QUESTIONS_MAX; i++)
		if (c->program[i].number != 0 && c->program[i].question != 0)
			question_withdraw(c->o.questions, c->program[i].question);
	buf_free(&c->detail);
	free(c);
}

/* ---- the answer -------------------------------------------------------------- */

/* The person, not the time or the end, has spoken: the clock of deadlines is
 * whole again. */
static void
told(struct program *p, bool by_person)
{
	struct control *c = p->control;

	/* one that does not read is no leash: it says no by itself, in time */
	if (child_said(c->o.child, p->number, p->answer, p->who) < 0)
		log_warn("unable to tell the leash what was answered");
	p->number = 0;
	if (c->o.session != NULL)
		session_program(c->o.session, -1, by_person);
}

static int
record_answer_of(struct program *p, enum question_answer answer, uint64_t *ret_number)
{
	struct control *c = p->control;
	bool agreed = answer == ANSWER_ONCE || answer == ANSWER_SESSION;
	struct event *e = &c->event;

	if (c->o.report == NULL)
		return 0;
	event_begin(e, EVENT_APPROVE);
	event_identity(e, policy_str(c->o.policy, c->o.server->name), c->o.policy->id);
	event_text(e, KEY_METHOD, p->method);
	event_text(e, KEY_NAME, p->path);
	if (strcmp(p->method, "exec") == 0)
		event_text(e, KEY_PROGRAM, p->path);
	event_text(e, KEY_VERDICT, agreed ? "allow" : "deny");
	event_text(e, KEY_OUTCOME, question_answer_name(answer));
	event_text(e, KEY_RULE, p->rule);
	event_digest(e, KEY_SHA256, p->digest);
	if (p->who[0] != '\0')
		event_text(e, KEY_APPROVER, p->who);
	event_number(e, KEY_DURATION_US, (loop_now() - p->since) / 1000);
	return report_send(c->o.report, e, EVENT_GATE, ret_number);
}

static void
on_answer(
    void *arg, uint32_t number, enum question_answer answer, const struct answerer *by)
{
	static const enum leash_answer said[] = {
	    [ANSWER_ONCE] = LEASH_ONCE,
	    [ANSWER_SESSION] = LEASH_SESSION,
	    [ANSWER_DENY] = LEASH_DENY,
	    [ANSWER_NOBODY] = LEASH_NOBODY,
	};
	struct program *p = arg;
	bool agreed = answer == ANSWER_ONCE || answer == ANSWER_SESSION;
	int r;

	(void)number;
	p->question = 0;
	p->answer = said[answer];
	if (by->pid != 0)
		(void)snprintf(
		    p->who, sizeof(p->who), "uid %u, pid %u", by->uid, by->pid);
	r = record_answer_of(p, answer, &p->record);
	if (r < 0 && agreed) /* no record, no act */
		p->answer = LEASH_NOBODY;
	if (r < 0 || !agreed || p->control->o.report == NULL)
		told(p, answer != ANSWER_NOBODY);
}

void
control_recorded(struct control *c)
{
	for (size_t i = 0; i < LEASH_QUESTIONS_MAX; i++) {
		struct program *p = &c->program[i];

		if (p->number != 0 && p->question == 0 &&
		    report_durable(c->o.report, p->record))
			told(p, true);
	}
}

/* ---- what is shown ----------------------------------------------------------- */

/* A JSON string.  What is no text is marked, and does not count as whole. */
static void
put_string(struct buf *out, const char *text, bool *cut)
{
	const uint8_t *p = (const uint8_t *)text, *end = p + strlen(text);

	(void)buf_putc(out, '"'); /* a failure shows at the end */
	while (p < end) {
		size_t n = *p < 0x80 ? 1 : json_utf8(p, end);

		if (n == 0) {
			(void)buf_puts(out, "\\ufffd"); /* the same */
			*cut = true;
			n = 1;
		} else if (*p < 0x20 || *p == '"' || *p == '\\' || *p == 0x7f)
			(void)buf_printf(out, "\\u%04x", *p); /* the same */
		else
			(void)buf_put(out, p, n); /* the same */
		p += n;
	}
	(void)buf_putc(out, '"'); /* the same */
}

static void
put_list(
    struct buf *out, const char *name, const char *const *words, uint32_t n, bool *cut)
{
	(void)buf_printf(out, "\"%s\":[", name); /* a failure shows at the end */
	for (uint32_t i = 0; i < n; i++) {
		if (i > 0)
			(void)buf_putc(out, ','); /* the same */
		put_string(out, words[i], cut);
	}
	(void)buf_putc(out, ']'); /* the same */
}

/* As much of it as there is room for, and no half character. */
static void
copy(char *out, size_t cap, const char *text, size_t len, bool *cut)
{
	size_t n = len < cap ? len : cap - 1;

	while (n > 0 && n < len && ((uint8_t)text[n] & 0xc0) == 0x80)
		n--;
	memcpy(out, text, n);
	out[n] = '\0';
	*cut = *cut || n < len;
}

static int
question_of(struct control *c, const struct child_ask *a, struct question_text *q)
{
	struct buf *d = &c->detail;
	bool no_matter = false;

	*q = (struct question_text){.kind = QUESTION_EXEC, .cut = a->cut};
	copy(q->server, sizeof(q->server), policy_str(c->o.policy, c->o.server->name),
	    c->o.server->name.len, &q->cut);
	copy(q->subject, sizeof(q->subject), a->program, strlen(a->program), &q->cut);
	copy(q->rule, sizeof(q->rule), a->rule, strlen(a->rule), &no_matter);
	copy(q->because, sizeof(q->because), a->because, strlen(a->because), &no_matter);
	memcpy(q->digest, a->digest.data, sizeof(q->digest));
	buf_clear(d);
	(void)buf_putc(d, '{'); /* a failure shows at the end */
	put_list(d, "argv", a->argv, a->argc, &q->cut);
	(void)buf_puts(d, ",\"cwd\":"); /* the same */
	put_string(d, a->cwd, &q->cut);
	if (a->envc > 0) {
		(void)buf_putc(d, ','); /* the same */
		put_list(d, "changed", a->env, a->envc, &q->cut);
	}
	if (buf_putc(d, '}') < 0)
		return -EMSGSIZE;
	copy(q->detail, sizeof(q->detail), (const char *)d->data, d->len, &q->cut);
	return 0;
}

/* "key":"text", behind a comma. */
static void
put_field(struct buf *out, const char *key, const char *text, bool *cut)
{
	(void)buf_printf(out, ",\"%s\":", key); /* a failure shows at the end */
	put_string(out, text, cut);
}

/* "hex hex" as a list: none where the policy is not signed. */
static void
put_signers(struct buf *out, const char *signers)
{
	(void)buf_puts(out, ",\"signed_by\":["); /* a failure shows at the end */
	for (size_t n; (n = strcspn(signers, " ")) > 0; signers += n) {
		(void)buf_printf(out, "\"%.*s\"", (int)n, signers); /* the same */
		if (signers[n] == ' ' && signers[n + 1] != '\0')
			(void)buf_putc(out, ','), n++; /* the same */
	}
	(void)buf_putc(out, ']'); /* the same */
}

/* What would be done with the value of the server's secret of this number. */
static const char *
effect_of(const struct control *c, uint32_t number)
{
	struct sealed_range rows = c->o.server->secrets;
	uint32_t flags =
	    number > rows.n ? 0 : c->o.policy->secret[rows.first + number - 1].flags;

	return (flags & (uint32_t)SECRET_AS_FILE) != 0
		   ? "the value is given to the server, by a descriptor, when it starts"
		   : "the value is given to the server, in its environment, when it "
		     "starts";
}

/* What a person sees before a secret is used: which, for whom, by whose policy,
 * and what would be done with it.  Its value is nowhere near. */
static int
question_of_use(struct control *c, uint32_t number, const struct child_use *u,
    struct question_text *q)
{
	bool each = u->approve == APPROVE_PER_CALL, no_matter = false;
	struct buf *d = &c->detail;
	char id[2 * POLICY_ID_LEN + 1];

	*q = (struct question_text){.kind = QUESTION_SECRET, .once_only = each};
	copy(q->server, sizeof(q->server), policy_str(c->o.policy, c->o.server->name),
	    c->o.server->name.len, &q->cut);
	copy(q->subject, sizeof(q->subject), u->reference, strlen(u->reference), &q->cut);
	copy(q->rule, sizeof(q->rule), u->rule, strlen(u->rule), &no_matter);
	memcpy(q->digest, u->digest.data, sizeof(q->digest));
	for (size_t i = 0; i < POLICY_ID_LEN; i++)
		(void)snprintf(id + 2 * i, 3, "%02x", c->o.policy->id[i]); /* fits */
	buf_clear(d);
	(void)buf_puts(d, "{\"variable\":"); /* a failure shows at the end */
	put_string(d, u->name, &q->cut);
	put_field(d, "from", u->source, &q->cut);
	put_field(d, "effect", effect_of(c, number), &q->cut);
	put_field(d, "asked", each ? "at each start" : "once for this session", &q->cut);
	put_field(d, "policy", id, &q->cut);
	put_signers(d, u->signers);
	if (buf_putc(d, '}') < 0)
		return -EMSGSIZE;
	copy(q->detail, sizeof(q->detail), (const char *)d->data, d->len, &q->cut);
	return 0;
}

static void
tell_operator(const struct question_text *q, uint32_t number)
{
	char text[200], id[QUESTION_ID_MAX];

	log_info("%s asks for the %s \"%s\" (%s); answer with: kennel approve "
		 "allow|deny %s",
	    q->server, question_kind_name(q->kind),
	    log_quote(text, sizeof(text), q->subject, strlen(q->subject)), q->rule,
	    question_id(id, (long)getpid(), number, q->digest));
}

/* ---- the leash's words ------------------------------------------------------- */

static struct program *
find(struct control *c, uint32_t number)
{
	for (size_t i = 0; i < LEASH_QUESTIONS_MAX; i++)
		if (c->program[i].number == number)
			return &c->program[i];
	return NULL;
}

static void
say(struct control *c, uint32_t number, enum leash_answer answer, const char *who)
{
	if (child_said(c->o.child, number, answer, who) < 0)
		log_warn("unable to tell the leash what was answered");
}

static void
on_ask(struct control *c, const struct child_news *n)
{
	static struct question_text q; /* large; one at a time */
	struct program *p = find(c, 0);
	int r = -ENOBUFS;

	if (n->number == 0 || find(c, n->number) != NULL)
		return; /* a leash of ours says no such thing */
	if (p != NULL && c->o.questions != NULL)
		r = n->type == LEASH_USE ? question_of_use(c, n->number, &n->use, &q)
					 : question_of(c, &n->ask, &q);
	if (r == 0) {
		p->method = n->type == LEASH_USE ? "secret" : "exec";
		p->since = loop_now();
		p->who[0] = '\0';
		(void)snprintf(p->path, sizeof(p->path), "%.*s", (int)sizeof(p->path) - 1,
		    q.subject); /* cut is fine */
		(void)snprintf(p->rule, sizeof(p->rule), "%s", q.rule);
		memcpy(p->digest, q.digest, sizeof(p->digest));
		r = question_ask(c->o.questions, &q, on_answer, p, &p->question);
	}
	if (r != 0) {
		say(c, n->number, r == 1 ? LEASH_SESSION : LEASH_NOBODY,
		    r == 1 ? "agreed to for the session" : "");
		return;
	}
	p->number = n->number;
	tell_operator(&q, p->question);
	if (c->o.session != NULL)
		session_program(c->o.session, 1, false);
}

static void
on_withdrawn(struct control *c, const struct child_news *n)
{
	struct program *p = n->number == 0 ? NULL : find(c, n->number);

	if (p == NULL)
		return; /* answered in the meantime */
	if (p->question != 0)
		question_withdraw(c->o.questions, p->question);
	p->number = 0;
	if (c->o.session != NULL)
		session_program(c->o.session, -1, false);
}

void
control_news(struct control *c, const struct child_news *n)
{
	const struct child_denied *d = &n->refusal;
	const struct session_refusal refusal = {
	    d->program, d->rule, d->because, d->instead, d->reason};

	if (n->type == LEASH_ASK || n->type == LEASH_USE)
		on_ask(c, n);
	else if (n->type == LEASH_WITHDRAWN)
		on_withdrawn(c, n);
	else if (n->type == LEASH_DENIED && c->o.session != NULL)
		session_exec_refused(c->o.session, &refusal);
}
