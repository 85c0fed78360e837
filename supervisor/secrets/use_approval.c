/*
 * Use approvals: the question, its answer, and the paths that a person refused.
 *
 * Runs in the hub of kennel serve. Holds no value; the text of an agent's reason is data
 * for the person's side, which shows it escaped.
 */
#include "supervisor/secrets/use_approval.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "leash/audit/writer.h"
#include "policy/base/output.h"
#include "shim/base/hex.h"
#include "shim/base/log.h"
#include "shim/base/loop.h"
#include "supervisor/secrets/grants.h"
#include "supervisor/secrets/private.h"

#define REASON_MAX 512
#define ID_SHOWN   64 /* bytes of an unknown id that an error repeats */

static const char own_name[] = "kennel serve";

/* One question to a person; it settles every request that joined it. */
struct dialog {
	struct secrets_approvals *approvals;
	uint32_t number; /* the queue's; 0: free */
	bool answered;   /* the answer waits for the disk */
	enum question_answer answer;
	uint64_t record; /* of the answer */
	uint64_t since;
	char path[SECRET_PATH_MAX + 1];
	char id[SECRETS_ID_LEN + 1]; /* the request that opened it */
	uint8_t digest[QUESTION_DIGEST_LEN];
	struct holder_ids shown; /* the policies of the servers that hold it */
	bool each;               /* per-call: no answer covers the session */
	struct answerer by;
};

struct secrets_approvals {
	struct secrets_approvals_order o;
	struct requests requests;
	struct dialog dialog[QUESTIONS_MAX];
	struct grants grants;
	char closed[CLOSED_MAX][SECRET_PATH_MAX + 1];
	size_t closed_n; /* CLOSED_MAX: every path is closed */
	struct event event;
};

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

static int
record(struct dialog *d, const char *verdict, const char *outcome, uint64_t *ret_number)
{
	struct report *report = *d->approvals->o.report;
	struct event *e = &d->approvals->event;
	char who[ANSWERER_TEXT_MAX];

	if (report == NULL)
		return -EPIPE;
	event_begin(e, EVENT_APPROVE);
	event_text(e, KEY_SERVER, own_name);
	event_text(e, KEY_METHOD, "secret");
	event_text(e, KEY_NAME, d->path);
	event_text(e, KEY_VERDICT, verdict);
	event_text(e, KEY_OUTCOME, outcome);
	event_text(e, KEY_REQUEST, d->id);
	event_digest(e, KEY_SHA256, d->digest);
	if (d->by.pid != 0)
		event_text(e, KEY_APPROVER, answerer_text(&d->by, who));
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

/* ---- refused paths ------------------------------------------------------------------ */

static size_t
closed_find(const struct secrets_approvals *a, const char *path)
{
	size_t i = 0;

	while (i < a->closed_n && strcmp(a->closed[i], path) != 0)
		i++;
	return i;
}

static bool
is_closed(const struct secrets_approvals *a, const char *path)
{
	return a->closed_n == CLOSED_MAX || closed_find(a, path) < a->closed_n;
}

static void
close_path(struct secrets_approvals *a, const char *path)
{
	if (!is_closed(a, path))
		(void)snprintf(a->closed[a->closed_n++], sizeof(a->closed[0]), "%s",
		    path); /* fits: a path */
}

void
secrets_approvals_epoch(struct secrets_approvals *a, uint64_t epoch)
{
	grants_epoch(&a->grants, epoch);
}

bool
secrets_grant_take(struct secrets_approvals *a, const char *path,
    const uint8_t policy[HOLDER_ID_LEN], struct secrets_grant *ret)
{
	return grants_take(&a->grants, path, policy, loop_now(), ret);
}

bool
secrets_approvals_reopen(void *arg, const char *path, const struct answerer *by)
{
	struct secrets_approvals *a = arg;
	size_t at = closed_find(a, path);

	if (at == a->closed_n)
		return false;
	a->closed_n--;
	memmove(a->closed[at], a->closed[a->closed_n], sizeof(a->closed[0]));
	log_info(
	    "an agent may ask for %s again (uid %u, pid %u)", path, by->uid, by->pid);
	return true;
}

/* ---- answers ------------------------------------------------------------------------ */

/* The answer is on disk, or needs not be: it takes effect. */
static void
settle(struct dialog *d, enum secrets_state state, const char *reason)
{
	struct secrets_approvals *a = d->approvals;
	uint32_t number = d->number;
	bool agreed = state == SECRETS_ONCE || state == SECRETS_SESSION;
	struct secrets_grant is = {.session = state == SECRETS_SESSION};

	memcpy(is.path, d->path, sizeof(is.path));
	memcpy(is.request_id, d->id, sizeof(is.request_id));
	if (agreed && grants_add(&a->grants, &is, &d->shown, loop_now()) < 0) {
		state = SECRETS_FAILED;
		reason = "too many approvals are in force: wait a minute";
	}
	if (state == SECRETS_SESSION)
		a->o.ask_epoch(a->o.arg);
	if (state == SECRETS_REFUSED) {
		close_path(a, d->path);
		grants_drop(&a->grants, d->path);
	}
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
	};

	return d->each && d->answer == ANSWER_SESSION ? SECRETS_ONCE : states[d->answer];
}

static void
on_answer(
    void *arg, uint32_t number, enum question_answer answer, const struct answerer *by)
{
	struct dialog *d = arg;
	bool agreed = answer == ANSWER_ONCE || answer == ANSWER_SESSION;
	int r;

	d->answer = answer;
	d->by = *by;
	r = record(
	    d, agreed ? "allow" : "deny", question_answer_name(answer), &d->record);
	if (!agreed)
		settle(d, state_of(d), NULL);
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

/* What is asked for, as it was found out for this call. */
struct use {
	const struct meta *meta;
	const char *path, *reason;
	uint32_t ttl_s;
	struct secrets_holder holder[HOLDERS_MAX];
	size_t holder_n;
	struct holder_ids shown; /* their policies */
	bool each;
};

static int
put_detail(const struct use *u, struct question_text *q)
{
	char *text = NULL, hex[2 * HOLDER_ID_LEN + 1];
	size_t len = 0;
	struct out o;
	FILE *to = open_memstream(&text, &len);

	if (to == NULL)
		return -ENOMEM;
	out_init(&o, to);
	out_object(&o, NULL);
	out_text_or_null(&o, "description", u->meta->description);
	out_text(&o, "reason", u->reason);
	out_text(&o, "effect", "the value is given to the servers below when they start");
	out_text(&o, "asked", u->each ? "for each use" : "once for this session");
	out_list(&o, "servers");
	for (size_t i = 0; i < u->holder_n; i++) {
		out_object(&o, NULL);
		out_text(&o, "server", u->holder[i].server);
		out_text(&o, "policy", hex_put(hex, u->holder[i].policy, HOLDER_ID_LEN));
		out_end(&o);
	}
	out_end(&o);
	out_end(&o);
	if (fclose(to) != 0) {
		free(text);
		return -ENOMEM;
	}
	question_detail(q, text, len - 1); /* without its newline */
	free(text);
	return 0;
}

/* Over everything that is shown, and the request: no answer fits another one. */
static int
put_digest(const struct request *r, struct question_text *q)
{
	struct buf all;
	int e;

	buf_init(&all, sizeof(*q));
	e = buf_printf(&all, "use-approval\n%s\n%s\n%s\n%s\n", r->id, q->server,
	    q->subject, q->detail);
	if (e == 0)
		mcp_digest(all.data, all.len, q->digest);
	buf_free(&all);
	return e;
}

static int
make_question(const struct use *u, const struct request *r, struct question_text *q)
{
	int e;

	*q = (struct question_text){.kind = QUESTION_SECRET,
	    .once_only = u->each,
	    .open_ms = u->ttl_s * (uint64_t)1000};
	(void)snprintf(q->server, sizeof(q->server), "%s",
	    u->holder_n == 1 ? u->holder[0].server : own_name);        /* a name: fits */
	(void)snprintf(q->subject, sizeof(q->subject), "%s", u->path); /* fits */
	(void)snprintf(q->rule, sizeof(q->rule), "approve %s",
	    u->each ? "per-call" : "session");                       /* fits */
	(void)snprintf(q->request, sizeof(q->request), "%s", r->id); /* fits */
	e = put_detail(u, q);
	return e < 0 ? e : put_digest(r, q);
}

static struct dialog *
dialog_free(struct secrets_approvals *a)
{
	for (size_t i = 0; i < QUESTIONS_MAX; i++)
		if (a->dialog[i].number == 0)
			return &a->dialog[i];
	return NULL;
}

/* Asks a person. NULL, or why not: a static text. */
static const char *
open_dialog(struct secrets_approvals *a, const struct use *u, struct request *r)
{
	static struct question_text q; /* large; one at a time */
	struct dialog *d = dialog_free(a);
	uint64_t number;

	if (a->o.queue == NULL || d == NULL)
		return "no approval channel is available";
	if (make_question(u, r, &q) < 0)
		return "out of memory";
	*d = (struct dialog){.approvals = a, .since = loop_now(), .each = u->each};
	memcpy(d->path, r->path, sizeof(d->path));
	memcpy(d->id, r->id, sizeof(d->id));
	memcpy(d->digest, q.digest, sizeof(d->digest));
	d->shown = u->shown;
	if (record(d, "ask", "asked", &number) < 0)
		return "unable to record the request in the audit log";
	if (question_ask(a->o.queue, &q, on_answer, d, &d->number) != 0) {
		d->number = 0;
		return "too many approvals are pending";
	}
	question_tell(&q, d->number);
	r->dialog = d->number;
	return NULL;
}

/* ---- secrets_request_use_approval ------------------------------------------------------- */

static bool
reason_read(struct json arguments, char out[REASON_MAX + 1], struct secrets_answer *a)
{
	if (!argument_needed(arguments, "reason", out, REASON_MAX + 1, a))
		return false;
	if (out[strspn(out, " \t\r\n")] != '\0')
		return true;
	fail(a, SECRETS_INVALID_ARGUMENTS,
	    "`reason` must be a non-empty human-facing explanation");
	return false;
}

/* The secret is declared and its use is approved by a person; false: an error. */
static bool
use_read(struct secrets_approvals *all, const struct metas *m, struct use *u,
    struct secrets_answer *a)
{
	enum meta_approve approve;

	u->meta = inventory_find(m, u->path, a);
	if (u->meta == NULL)
		return false;
	u->holder_n = all->o.holders(all->o.arg, u->path, u->holder);
	if (u->holder_n > HOLDERS_MAX)
		u->holder_n = HOLDERS_MAX; /* the others are not covered */
	approve = u->meta->approve;
	for (size_t i = 0; i < u->holder_n; i++) {
		if (u->holder[i].approve > approve)
			approve = u->holder[i].approve;
		memcpy(u->shown.id[i], u->holder[i].id, HOLDER_ID_LEN);
	}
	u->shown.n = u->holder_n;
	u->each = approve == META_PER_CALL;
	if (approve != META_NEVER && !is_closed(all, u->path))
		return true;
	fail_path(a,
	    approve == META_NEVER ? SECRETS_APPROVAL_NOT_REQUIRED : SECRETS_DENIED,
	    u->path);
	return false;
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

/* Joins a dialog that is open, uses what the session holds, or asks. */
static void
use_ask(struct secrets_approvals *all, const struct use *u, struct secrets_answer *a)
{
	uint64_t now = loop_now();
	struct request *open = request_pending(&all->requests, SECRETS_USE, u->path, now);
	bool held = !u->each && grants_hold(&all->grants, u->path, &u->shown, now);
	uint32_t dialog = open != NULL ? open->dialog : 0, wait_s = 0;
	const char *failed = NULL;
	struct request *r;
	int e;

	if (dialog == 0 && !held && (wait_s = requests_dialog(&all->requests, now)) > 0) {
		too_many(a, wait_s);
		return;
	}
	e = request_new(&all->requests, SECRETS_USE, u->path, u->ttl_s, now, &r, &wait_s);
	if (e == -EBUSY) {
		too_many(a, wait_s);
		return;
	}
	if (e < 0) {
		fail(a, SECRETS_UNAVAILABLE, "unavailable: no random bytes for an id");
		return;
	}
	if (held)
		request_settle(r, SECRETS_SESSION, NULL, now);
	else if (dialog != 0) {
		r->dialog = dialog;
		question_extend(all->o.queue, dialog, r->until);
	} else
		failed = open_dialog(all, u, r);
	if (failed != NULL)
		request_settle(r, SECRETS_FAILED, failed, now);
	if (secrets_reply_request(&a->structured, r->id) < 0)
		a->no_memory = true;
}

void
secrets_request_use(struct secrets_approvals *all, const struct secrets_context *c,
    struct json arguments, struct secrets_answer *a)
{
	char path[SECRET_PATH_MAX + 1], reason[REASON_MAX + 1];
	struct use u = {.path = path, .reason = reason, .ttl_s = REQUEST_TTL_S};
	struct metas m;

	if (!arguments_object(&arguments, a) || !argument_path(arguments, path, a) ||
	    !reason_read(arguments, reason, a) ||
	    !argument_seconds(arguments, "ttl_seconds", REQUEST_TTL_S, &u.ttl_s, a) ||
	    !inventory_read(c, &m, a))
		return;
	if (use_read(all, &m, &u, a))
		use_ask(all, &u, a);
	metas_free(&m);
}

/* ---- secrets_poll_status ------------------------------------------------------------------ */

void
secrets_poll(
    struct secrets_approvals *all, struct json arguments, struct secrets_answer *a)
{
	char id[2048], shown[4 * ID_SHOWN + 1];
	struct secrets_status status;
	struct request *r;
	uint64_t now = loop_now();

	if (!arguments_object(&arguments, a) ||
	    !argument_needed(arguments, "request_id", id, sizeof(id), a))
		return;
	r = request_find(&all->requests, id, now);
	if (r == NULL) {
		fail(a, SECRETS_UNKNOWN_REQUEST, "unknown request_id: %s",
		    log_quote(shown, sizeof(shown), id, strnlen(id, ID_SHOWN)));
		return;
	}
	request_poll(r, now, &status);
	if (secrets_reply_status(&a->structured, &status) < 0)
		a->no_memory = true;
}
