/*
 * Dialogs: opened, joined, answered, and asked again when a manifest has changed.
 *
 * Runs in the hub of kennel serve, and in kennel run. Holds no value; texts of an agent
 * are data for the person's side, which shows them escaped.
 */
#include "supervisor/secrets/dialogs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/loop.h"

int
secrets_approvals_new(
    const struct secrets_approvals_order *order, struct secrets_approvals **ret)
{
	struct secrets_approvals *a = calloc(1, sizeof(*a));

	if (a == NULL)
		return -ENOMEM;
	a->o = *order;
	*ret = a;
	return 0;
}

/* ---- the log ---------------------------------------------------------------------- */

/* What the person is asked for, as other records of approvals name it. */
static const char *
method(enum secrets_kind kind)
{
	static const enum question_kind kinds[SECRETS_KIND_N] = {
	    [SECRETS_PROVISION] = QUESTION_PROVISION,
	    [SECRETS_ROTATION] = QUESTION_ROTATION,
	    [SECRETS_METADATA] = QUESTION_METADATA,
	    [SECRETS_NEW_PATH] = QUESTION_NEW_PATH,
	    [SECRETS_USE] = QUESTION_SECRET,
	};

	return question_kind_name(kinds[kind]);
}

static int
record(struct dialog *d, const char *verdict, const char *outcome, uint64_t *ret_number)
{
	struct report *report = *d->approvals->o.report;
	struct event *e = &d->approvals->event;

	if (report == NULL)
		return -EPIPE;
	event_begin(e, EVENT_APPROVE);
	event_text(e, KEY_SERVER, d->approvals->o.name);
	event_text(e, KEY_METHOD, method(d->kind));
	event_short(e, KEY_NAME, d->path);
	event_text(e, KEY_VERDICT, verdict);
	event_text(e, KEY_OUTCOME, outcome);
	event_short(e, KEY_REQUEST, d->id);
	event_digest(e, KEY_SHA256, d->digest);
	answerer_put(e, &d->by);
	event_number(e, KEY_DURATION_US, (loop_now() - d->since) / 1000);
	return report_send(report, e, EVENT_GATE, ret_number);
}

void
secrets_approvals_free(struct secrets_approvals *a)
{
	uint64_t number;

	if (a == NULL)
		return;
	for (size_t i = 0; i < QUESTIONS_MAX; i++)
		if (a->dialog[i].number != 0 && !a->dialog[i].answered) {
			/* nothing was allowed */
			(void)record(&a->dialog[i], "deny",
			    question_answer_name(ANSWER_WITHDRAWN), &number);
			question_withdraw(a->o.queue, a->dialog[i].number);
		}
	free(a);
}

/* ---- answers ------------------------------------------------------------------------ */

/* The answer is on disk, or needs not be: it takes effect. */
static void
settle(struct dialog *d, enum secrets_state state, const char *reason)
{
	struct secrets_approvals *a = d->approvals;
	uint32_t number = d->number;

	if (d->kind == SECRETS_USE)
		use_settled(d, &state, &reason);
	if ((d->kind == SECRETS_PROVISION || d->kind == SECRETS_ROTATION) &&
	    state == SECRETS_OK)
		a->o.provided(a->o.arg, d->path);
	d->number = 0;
	requests_settle(&a->requests, number, state, reason, loop_now());
}

static enum secrets_state
state_of(const struct dialog *d)
{
	static const enum secrets_state states[] = {
	    [ANSWER_ONCE] = SECRETS_ONCE,
	    [ANSWER_SESSION] = SECRETS_SESSION,
	    [ANSWER_DENY] = SECRETS_REFUSED,
	    [ANSWER_NOBODY] = SECRETS_EXPIRED,
	    [ANSWER_OK] = SECRETS_OK,
	    [ANSWER_CANCELLED] = SECRETS_CANCELLED,
	    [ANSWER_FAILED] = SECRETS_FAILED,
	};

	return d->each && d->answer == ANSWER_SESSION ? SECRETS_ONCE : states[d->answer];
}

static void
on_answer(
    void *arg, uint32_t number, enum question_answer answer, const struct answerer *by)
{
	struct dialog *d = arg;
	bool agreed =
	    answer == ANSWER_ONCE || answer == ANSWER_SESSION || answer == ANSWER_OK;
	int r;

	d->answer = answer;
	d->by = *by;
	r = record(
	    d, agreed ? "allow" : "deny", question_answer_name(answer), &d->record);
	if (answer == ANSWER_CHANGED) {
		d->changed = true;
		d->approvals->o.ask_epoch(d->approvals->o.arg);
	} else if (!agreed)
		settle(d, state_of(d), "the keeper refused the value");
	else if (r < 0)
		settle(d, SECRETS_FAILED, "unable to record the answer in the audit log");
	else
		d->answered = true;
}

void
secrets_approvals_recorded(struct secrets_approvals *a)
{
	for (size_t i = 0; i < QUESTIONS_MAX; i++) {
		struct dialog *d = &a->dialog[i];

		if (d->number != 0 && d->answered && *a->o.report != NULL &&
		    report_durable(*a->o.report, d->record))
			settle(d, state_of(d), NULL);
	}
}

/* ---- the question -------------------------------------------------------------------- */

void
dialogs_holders(struct secrets_approvals *all, struct asked *u)
{
	u->holder_n = all->o.holders(all->o.arg, u->path, u->holder);
	if (u->holder_n > HOLDERS_MAX)
		u->holder_n = HOLDERS_MAX; /* the others are not covered */
	for (size_t i = 0; i < u->holder_n; i++)
		memcpy(u->shown.id[i], u->holder[i].id, HOLDER_ID_LEN);
	u->shown.n = u->holder_n;
}

static struct dialog *
dialog_free(struct secrets_approvals *a)
{
	for (size_t i = 0; i < QUESTIONS_MAX; i++)
		if (a->dialog[i].number == 0)
			return &a->dialog[i];
	return NULL;
}

/* The open dialog for the same thing; NULL: none. Two proposals for one path are two
 * dialogs: a person accepts what is shown. */
static struct dialog *
dialog_find(struct secrets_approvals *a, const struct asked *u, uint64_t now)
{
	for (size_t i = 0; i < QUESTIONS_MAX; i++) {
		struct dialog *d = &a->dialog[i];

		if (d->number != 0 && d->kind == u->kind &&
		    strcmp(d->path, u->path) == 0 &&
		    meta_change_same(&d->change, &u->change) &&
		    requests_wait(&a->requests, d->number, now) > 0)
			return d;
	}
	return NULL;
}

/* Shows the question of this dialog. NULL, or why not: a static text. */
static const char *
show(struct dialog *d, const struct asked *u)
{
	static struct question_text q; /* large; one at a time */
	uint64_t number;

	if (question_make(u, d->approvals->o.name, d->id, &q) < 0)
		return "out of memory";
	memcpy(d->digest, q.digest, sizeof(d->digest));
	d->shown = u->shown;
	d->each = u->each;
	if (record(d, "ask", "asked", &number) < 0)
		return "unable to record the request in the audit log";
	if (question_ask(d->approvals->o.queue, &q, on_answer, d, &d->number) != 0)
		return "too many approvals are pending";
	question_tell(&q, d->number);
	return NULL;
}

/* Asks a person. NULL, or why not: a static text. */
static const char *
open_dialog(struct secrets_approvals *a, const struct asked *u, struct request *r)
{
	struct dialog *d = dialog_free(a);
	const char *failed;

	if (a->o.queue == NULL || d == NULL)
		return "no approval channel is available";
	*d = (struct dialog){
	    .approvals = a, .kind = u->kind, .since = loop_now(), .change = u->change};
	memcpy(d->path, r->path, sizeof(d->path));
	memcpy(d->id, r->id, sizeof(d->id));
	failed = show(d, u);
	if (failed != NULL)
		d->number = 0;
	r->dialog = d->number;
	return failed;
}

static void
too_many(struct secrets_answer *a, uint32_t wait_s)
{
	struct secrets_error e = {
	    .fault = SECRETS_TOO_MANY_REQUESTS, .retry_after_s = wait_s};

	(void)snprintf(e.text, sizeof(e.text), "too-many-requests: try again in %u s",
	    wait_s); /* fits */
	secrets_fail(a, &e);
}

void
dialogs_ask(
    struct secrets_approvals *all, const struct asked *u, struct secrets_answer *a)
{
	uint64_t now = loop_now();
	struct dialog *open = dialog_find(all, u, now);
	const char *failed = u->failed;
	uint32_t wait_s = 0;
	struct request *r;
	int e;

	if (open == NULL && !u->held && failed == NULL &&
	    (wait_s = requests_dialog(&all->requests, now)) > 0) {
		too_many(a, wait_s);
		return;
	}
	e = request_new(&all->requests, u->kind, u->path, u->ttl_s, now, &r, &wait_s);
	if (e == -EBUSY) {
		too_many(a, wait_s);
		return;
	}
	if (e < 0) {
		fail(a, SECRETS_UNAVAILABLE, "unavailable: no random bytes for an id");
		return;
	}
	if (u->held)
		request_settle(r, SECRETS_SESSION, NULL, now);
	else if (failed == NULL && open != NULL) {
		r->dialog = open->number;
		question_extend(all->o.queue, open->number, r->until);
	} else if (failed == NULL)
		failed = open_dialog(all, u, r);
	if (failed != NULL)
		request_settle(r, SECRETS_FAILED, failed, now);
	if (secrets_reply_request(&a->structured, r->id) < 0)
		a->no_memory = true;
}

/* ---- a manifest that has changed ------------------------------------------------------- */

/* The question as it is now; false: the manifests do not allow it any more. */
static bool
reread(struct dialog *d, const struct metas *m, struct asked *u)
{
	enum meta_error why;

	u->meta = metas_find(m, d->path, &why);
	dialogs_holders(d->approvals, u);
	return u->meta != NULL || d->kind == SECRETS_NEW_PATH;
}

static void
ask_again(struct dialog *d, const struct secrets_context *c)
{
	struct secrets_approvals *a = d->approvals;
	uint64_t now = loop_now(), until = requests_wait(&a->requests, d->number, now);
	struct asked u = {.kind = d->kind,
	    .path = d->path,
	    .manifests = c->manifests,
	    .change = d->change};
	const char *failed = "a manifest has an error";
	uint32_t before = d->number;
	struct secrets_answer none;
	struct metas m;

	d->changed = false;
	if (until <= now) {
		settle(d, SECRETS_EXPIRED, NULL);
		return;
	}
	u.ttl_s = (uint32_t)((until - now) / NS_PER_S) + 1;
	secrets_answer_init(&none);
	if (inventory_read(c, &m, &none)) {
		failed = reread(d, &m, &u) ? show(d, &u)
					   : "the project does not declare it any more";
		metas_free(&m);
	}
	secrets_answer_free(&none);
	if (failed != NULL)
		settle(d, SECRETS_FAILED, failed);
	else
		requests_move(&a->requests, before, d->number);
}

void
secrets_approvals_reread(struct secrets_approvals *a, const struct secrets_context *c)
{
	for (size_t i = 0; i < QUESTIONS_MAX; i++)
		if (a->dialog[i].number != 0 && a->dialog[i].changed)
			ask_again(&a->dialog[i], c);
}
