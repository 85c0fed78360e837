/*
 * Approvals that a leash requests: for programs that its server wants to start, for
 * hosts that it wants to reach, and for using a secret before the server starts. Passes
 * the leash's request to the queue that all approvals share, and the answer back.
 *
 * Process: kennel. Holds the text of each request, from which the leash has redacted
 * secrets. Must never: send an approval that is not on disk.
 */
#include "policy/sealed/policy.h"
#include "shim/base/hex.h"
#include "supervisor/json/json.h"
#include "supervisor/launch/leash_approvals.h"
#include "supervisor/mcp/mcp.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/base/buf.h"
#include "shim/base/log.h"
#include "leash/audit/writer.h"
#include "shim/base/loop.h"

#define DETAIL_MAX (128u << 10) /* as JSON, before truncation */

struct program {
	struct control *control;
	uint32_t number;   /* the leash's number; 0: the slot is free */
	uint32_t question; /* the queue's number; 0: answered, waiting for the disk */
	uint64_t record;   /* number of the answer's event */
	uint64_t since;
	enum leash_answer answer;
	const char *method; /* "exec", "net", "secret": for the record */
	struct answerer by; /* pid 0: no person answered */
	char who[ANSWERER_TEXT_MAX];
	struct event_name name;
	char rule[512];
	uint8_t digest[QUESTION_DIGEST_LEN];
};

_Static_assert((int)FACTOR_NONE == (int)QUESTION_NO_FACTOR &&
		   (int)FACTOR_PASSPHRASE == (int)QUESTION_PASSPHRASE &&
		   (int)FACTOR_KEY == (int)QUESTION_KEY,
    "policies and approvals mean the same");

struct control {
	struct control_order o;
	struct program *program[LEASH_QUESTIONS_MAX]; /* NULL: never needed */
	struct event_name subject; /* of the last request, as its record has it */
	struct buf detail;
};

static void withdraw(struct program *);

int
control_new(const struct control_order *order, struct control **ret)
{
	struct control *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return -ENOMEM;
	c->o = *order;
	buf_init(&c->detail, DETAIL_MAX);
	*ret = c;
	return 0;
}

void
control_free(struct control *c)
{
	if (c == NULL)
		return;
	for (size_t i = 0; i < LEASH_QUESTIONS_MAX; i++) {
		if (c->program[i] != NULL && c->program[i]->number != 0)
			withdraw(c->program[i]);
		free(c->program[i]);
	}
	buf_free(&c->detail);
	free(c);
}

/* ---- the answer -------------------------------------------------------------- */

/* A user has answered, rather than a timeout or the end: restores the full deadline
 * time. */
static void
told(struct program *p, bool by_person)
{
	struct control *c = p->control;

	/* a process that does not read is not a leash, which would itself refuse
	 * after a timeout */
	if (child_said(c->o.child, p->number, p->answer, p->who) < 0)
		log_warn("unable to send the answer to the leash");
	p->number = 0;
	if (c->o.session != NULL)
		session_program(c->o.session, -1, by_person);
}

static int
record_answer_of(struct program *p, enum question_answer answer, uint64_t *ret_number)
{
	struct control *c = p->control;
	bool agreed = answer == ANSWER_ONCE || answer == ANSWER_SESSION;
	static struct event event; /* large, and not needed before someone is asked */
	struct event *e = &event;

	if (c->o.report == NULL)
		return 0;
	event_begin(e, EVENT_APPROVE);
	event_identity(e, policy_str(c->o.policy, c->o.server->name), c->o.policy->id);
	event_text(e, KEY_METHOD, p->method);
	event_name_put(e, KEY_NAME, &p->name);
	if (strcmp(p->method, "exec") == 0)
		event_name_put(e, KEY_PROGRAM, &p->name);
	event_text(e, KEY_VERDICT, agreed ? "allow" : "deny");
	event_text(e, KEY_OUTCOME, question_answer_name(answer));
	event_short(e, KEY_RULE, p->rule);
	event_digest(e, KEY_SHA256, p->digest);
	if (p->by.pid != 0)
		answerer_put(e, &p->by);
	else if (p->who[0] != '\0') /* a request that was approved before */
		event_short(e, KEY_APPROVER, p->who);
	event_number(e, KEY_DURATION_US, (loop_now() - p->since) / 1000);
	return report_send(c->o.report, e, EVENT_GATE, ret_number);
}

/* The asker is gone.  Nothing was allowed, so the record need not be on disk. */
static void
withdraw(struct program *p)
{
	uint64_t record;

	if (p->question == 0)
		return; /* answered in the meantime */
	(void)record_answer_of(p, ANSWER_WITHDRAWN, &record);
	question_withdraw(p->control->o.questions, p->question);
	p->question = 0;
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
	    [ANSWER_WITHDRAWN] = LEASH_NOBODY, /* the input of the agent has ended */
	};
	struct program *p = arg;
	bool agreed = answer == ANSWER_ONCE || answer == ANSWER_SESSION;
	int r;

	p->question = 0;
	p->answer = said[answer];
	p->by = *by;
	if (by->pid != 0)
		(void)answerer_text(by, p->who);
	r = record_answer_of(p, answer, &p->record);
	if (r < 0 && agreed) /* write-ahead auditing: no record, no approval */
		p->answer = LEASH_NOBODY;
	if (r < 0 || !agreed || p->control->o.report == NULL)
		told(p, answer != ANSWER_NOBODY && answer != ANSWER_WITHDRAWN);
}

void
control_recorded(struct control *c)
{
	for (size_t i = 0; i < LEASH_QUESTIONS_MAX; i++) {
		struct program *p = c->program[i];

		if (p != NULL && p->number != 0 && p->question == 0 &&
		    report_durable(c->o.report, p->record))
			told(p, true);
	}
}

/* ---- the displayed text ------------------------------------------------------ */

/* Writes a JSON string. Invalid text is marked, and sets *cut. */
static void
put_string(struct buf *out, const char *text, bool *cut)
{
	const uint8_t *p = (const uint8_t *)text, *end = p + strlen(text);

	(void)buf_putc(out, '"'); /* errors surface at the end */
	while (p < end) {
		size_t n = *p < 0x80 ? 1 : json_utf8(p, end);

		if (n == 0) {
			(void)buf_puts(out, "\\ufffd"); /* likewise */
			*cut = true;
			n = 1;
		} else if (*p == '"' || *p == '\\')
			(void)buf_printf(out, "\\%c", *p); /* likewise */
		else if (*p < 0x20 || *p == 0x7f)
			(void)buf_printf(out, "\\u%04x", *p); /* likewise */
		else
			(void)buf_put(out, p, n); /* likewise */
		p += n;
	}
	(void)buf_putc(out, '"'); /* likewise */
}

static void
put_list(
    struct buf *out, const char *name, const char *const *words, uint32_t n, bool *cut)
{
	(void)buf_printf(out, "\"%s\":[", name); /* errors surface at the end */
	for (uint32_t i = 0; i < n; i++) {
		if (i > 0)
			(void)buf_putc(out, ','); /* likewise */
		put_string(out, words[i], cut);
	}
	(void)buf_putc(out, ']'); /* likewise */
}

/* What all approvals show; the detail is still to come. */
static void
question_begin(struct control *c, struct question_text *q, const char *subject,
    const char *rule, const char *because, const void *digest)
{
	bool no_matter = false;

	event_name_keep(&c->subject, subject, strlen(subject));
	question_shorten(q->server, sizeof(q->server),
	    policy_str(c->o.policy, c->o.server->name), c->o.server->name.len, &q->cut);
	question_shorten(
	    q->subject, sizeof(q->subject), subject, strlen(subject), &q->cut);
	question_shorten(q->rule, sizeof(q->rule), rule, strlen(rule), &no_matter);
	question_shorten(
	    q->because, sizeof(q->because), because, strlen(because), &no_matter);
	memcpy(q->digest, digest, sizeof(q->digest));
	buf_clear(&c->detail);
}

static int
question_of(struct control *c, const struct child_ask *a, struct question_text *q)
{
	struct buf *d = &c->detail;

	*q = (struct question_text){
	    .kind = QUESTION_EXEC, .factor = a->factor, .cut = a->cut};
	question_begin(c, q, a->program, a->rule, a->because, a->digest.data);
	(void)buf_putc(d, '{'); /* errors surface at the end */
	put_list(d, "argv", a->argv, a->argc, &q->cut);
	(void)buf_puts(d, ",\"cwd\":"); /* likewise */
	put_string(d, a->cwd, &q->cut);
	if (a->envc > 0) {
		(void)buf_putc(d, ','); /* likewise */
		put_list(d, "changed", a->env, a->envc, &q->cut);
	}
	if (buf_putc(d, '}') < 0)
		return -EMSGSIZE;
	question_detail(q, d->data, d->len);
	return 0;
}

/* Writes "key":"text" after a comma. */
static void
put_field(struct buf *out, const char *key, const char *text, bool *cut)
{
	(void)buf_printf(out, ",\"%s\":", key); /* errors surface at the end */
	put_string(out, text, cut);
}

/* Writes "hex hex" as a list; empty if the policy is not signed. */
static void
put_signers(struct buf *out, const char *signers)
{
	(void)buf_puts(out, ",\"signed_by\":["); /* errors surface at the end */
	for (size_t n; (n = strcspn(signers, " ")) > 0; signers += n) {
		(void)buf_printf(out, "\"%.*s\"", (int)n, signers); /* likewise */
		if (signers[n] == ' ' && signers[n + 1] != '\0')
			(void)buf_putc(out, ','), n++; /* likewise */
	}
	(void)buf_putc(out, ']'); /* likewise */
}

/* How the value of the server's secret with this number would be used. */
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

/* Of the secret with this number: the stricter of policy and manifests. */
static enum question_factor
factor_of(const struct control *c, uint32_t number)
{
	uint32_t f = c->o.factor != NULL && number > 0 && number <= c->o.server->secrets.n
			 ? c->o.factor[number - 1]
			 : FACTOR_NONE;

	return (enum question_factor)f;
}

/* The text that the user sees before a secret is used: which secret, for which
 * server, by which policy, and how it would be used. The value is not in this
 * process. */
static int
question_of_use(struct control *c, uint32_t number, const struct child_use *u,
    struct question_text *q)
{
	bool each = u->approve == APPROVE_PER_CALL;
	struct buf *d = &c->detail;
	char id[2 * POLICY_ID_LEN + 1];

	*q = (struct question_text){
	    .kind = QUESTION_SECRET, .factor = factor_of(c, number), .once_only = each};
	question_begin(c, q, u->reference, u->rule, "", u->digest.data);
	(void)buf_puts(d, "{\"variable\":"); /* errors surface at the end */
	put_string(d, u->name, &q->cut);
	put_field(d, "from", u->source, &q->cut);
	put_field(d, "effect", effect_of(c, number), &q->cut);
	put_field(d, "asked", each ? "at each start" : "once for this session", &q->cut);
	put_field(d, "policy", hex_put(id, c->o.policy->id, POLICY_ID_LEN), &q->cut);
	put_signers(d, u->signers);
	if (buf_putc(d, '}') < 0)
		return -EMSGSIZE;
	question_detail(q, d->data, d->len);
	return 0;
}

/* An answer is for the name and the port, not for one connection. */
static int
question_of_net(struct control *c, const struct child_ask_net *a, struct question_text *q)
{
	struct buf *d = &c->detail;
	char subject[320];

	*q = (struct question_text){.kind = QUESTION_NET, .factor = a->factor};
	(void)snprintf(
	    subject, sizeof(subject), "%.300s:%u", a->name, a->port); /* fits */
	question_begin(c, q, subject, a->rule, a->because, a->digest.data);
	(void)buf_puts(d, "{\"name\":"); /* a failure shows at the end */
	put_string(d, a->name, &q->cut);
	(void)buf_printf(d, ",\"port\":%u", a->port); /* the same */
	put_field(d, "effect", "connections to this name and port; once: for a minute",
	    &q->cut);
	if (buf_putc(d, '}') < 0)
		return -EMSGSIZE;
	question_detail(q, d->data, d->len);
	return 0;
}

/* ---- messages of the leash --------------------------------------------------- */

static struct program *
find(struct control *c, uint32_t number)
{
	for (size_t i = 0; i < LEASH_QUESTIONS_MAX; i++)
		if (c->program[i] != NULL && c->program[i]->number == number)
			return c->program[i];
	return NULL;
}

/* A free slot, or NULL. */
static struct program *
slot(struct control *c)
{
	struct program *p = find(c, 0);

	for (size_t i = 0; p == NULL && i < LEASH_QUESTIONS_MAX; i++) {
		if (c->program[i] != NULL)
			continue;
		if ((p = calloc(1, sizeof(*p))) == NULL)
			break;
		p->control = c;
		c->program[i] = p;
	}
	return p;
}

static void
say(struct control *c, uint32_t number, enum leash_answer answer, const char *who)
{
	if (child_said(c->o.child, number, answer, who) < 0)
		log_warn("unable to send the answer to the leash");
}

static int
question_from(struct control *c, const struct child_news *n, struct question_text *q,
    const char **ret_method)
{
	if (n->type == LEASH_USE) {
		*ret_method = "secret";
		return question_of_use(c, n->number, &n->use, q);
	}
	if (n->type == LEASH_ASK_NET) {
		*ret_method = "net";
		return question_of_net(c, &n->ask_net, q);
	}
	*ret_method = "exec";
	return question_of(c, &n->ask, q);
}

/* What was allowed before this start covers this use; NULL: a person is asked. An answer
 * to an agent's request came without a factor. */
static const struct approved_use *
approved_before(const struct control *c, const struct child_news *n)
{
	const struct approved_uses *all = c->o.approved;
	const char *path;

	if (all == NULL || n->type != LEASH_USE || n->number > c->o.server->secrets.n ||
	    factor_of(c, n->number) != QUESTION_NO_FACTOR)
		return NULL;
	path = policy_secret_path(c->o.policy,
	    &c->o.policy->secret[c->o.server->secrets.first + n->number - 1]);
	for (size_t i = 0; path != NULL && i < all->n; i++)
		if (strcmp(all->use[i].path, path) == 0 &&
		    !(all->use[i].session && n->use.approve == APPROVE_PER_CALL))
			return &all->use[i];
	return NULL;
}

/* The use is recorded as approved, by the request whose answer it was. */
static void
use_approved(struct program *p, const struct approved_use *use)
{
	static const struct answerer by_request;

	(void)snprintf(p->who, sizeof(p->who), "request %s", use->request); /* fits */
	on_answer(p, 0, use->session ? ANSWER_SESSION : ANSWER_ONCE, &by_request);
}

static void
on_ask(struct control *c, const struct child_news *n)
{
	static struct question_text q; /* large; one at a time */
	const struct approved_use *use;
	struct program *p;
	int r = -ENOBUFS;

	if (n->number == 0 || find(c, n->number) != NULL)
		return; /* a correct leash never sends this */
	p = slot(c);
	if (p != NULL && c->o.questions != NULL)
		r = question_from(c, n, &q, &p->method);
	if (r == 0) {
		p->since = loop_now();
		p->who[0] = '\0';
		p->by = (struct answerer){0};
		p->name = c->subject;
		(void)snprintf(p->rule, sizeof(p->rule), "%s", q.rule);
		memcpy(p->digest, q.digest, sizeof(p->digest));
		use = approved_before(c, n);
		if (use != NULL) {
			p->number = n->number;
			use_approved(p, use);
			return;
		}
		r = question_ask(c->o.questions, &q, on_answer, p, &p->question);
	}
	if (r != 0) {
		say(c, n->number,
		    r == 1         ? LEASH_SESSION
		    : r == -EACCES ? LEASH_DENY
				   : LEASH_NOBODY,
		    r == 1         ? "agreed to for the session"
		    : r == -EACCES ? "a person, a short while ago"
				   : "");
		return;
	}
	p->number = n->number;
	question_tell(&q, p->question);
	if (c->o.session != NULL)
		session_program(c->o.session, 1, false);
}

static void
on_withdrawn(struct control *c, const struct child_news *n)
{
	struct program *p = n->number == 0 ? NULL : find(c, n->number);

	if (p == NULL)
		return; /* answered in the meantime */
	withdraw(p);
	p->number = 0;
	if (c->o.session != NULL)
		session_program(c->o.session, -1, false);
}

/* Reports it on standard error, with the line that would allow it; and to the agent
 * when a call fails. */
static void
on_unreached(struct control *c, const struct child_unreached *u)
{
	char target[280];
	struct session_unreached to = {
	    target, u->rule, u->because, u->instead, u->reason, u->failed};

	if (u->port != 0)
		(void)snprintf(target, sizeof(target), "%.250s:%u", u->name, u->port);
	else
		(void)snprintf(target, sizeof(target), "%.250s", u->name);
	if (u->failed)
		log_warn("%s: no connection to %s: %s (%s)",
		    policy_str(c->o.policy, c->o.server->name), target, u->reason,
		    u->rule);
	else if (target[0] != '\0')
		log_warn("%s did not reach %s: %s%s%s%s%s%s",
		    policy_str(c->o.policy, c->o.server->name), target, u->reason,
		    u->rule[0] != '\0' ? " (" : "", u->rule,
		    u->rule[0] != '\0' ? ")" : "",
		    u->hint[0] != '\0' ? "; to grant it: " : "", u->hint);
	else
		log_warn("%s: %s", policy_str(c->o.policy, c->o.server->name), u->reason);
	if (c->o.session != NULL)
		session_unreached(c->o.session, &to);
}

void
control_news(struct control *c, const struct child_news *n)
{
	const struct child_denied *d = &n->refusal;
	const struct session_refusal refusal = {
	    d->program, d->rule, d->because, d->instead, d->reason};

	if (n->type == LEASH_ASK || n->type == LEASH_ASK_NET || n->type == LEASH_USE)
		on_ask(c, n);
	else if (n->type == LEASH_WITHDRAWN)
		on_withdrawn(c, n);
	else if (n->type == LEASH_UNREACHED)
		on_unreached(c, &n->unreached);
	else if (n->type == LEASH_DENIED && c->o.session != NULL)
		session_exec_refused(c->o.session, &refusal);
}
