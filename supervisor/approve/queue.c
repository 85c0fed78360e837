/*
 * Pending approvals. Runs in kennel. Independent of the requester and of the client
 * that answers; ensures that each request ends once: by an answer, by its timeout, or
 * by withdrawal.
 */
#include "shim/base/array.h"
#include "shim/base/hex.h"
#include "shim/base/log.h"
#include "supervisor/approve/approve.h"
#include "supervisor/approve/refusals.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct queue {
	struct loop *loop;
	uint64_t wait_ns;
	int timer;     /* for the request that ends first, or -1 */
	bool closed;   /* no answer can be used any more */
	uint32_t last; /* last number used */
	size_t agreed_n;
	queue_seen_fn *seen;
	void *seen_arg;
	queue_factor_fn *factor; /* NULL: no factor is ever given */
	void *factor_arg;
	/* large, and not written before the first question */
	struct question question[QUESTIONS_MAX]; /* number 0: free */
	uint8_t agreed[QUESTION_REMEMBERED][QUESTION_DIGEST_LEN];
	struct refusals refused;
};

const char *
question_kind_name(enum question_kind kind)
{
	static const char *const name[] = {
	    [QUESTION_TOOL] = "tool",
	    [QUESTION_RESOURCE] = "resource",
	    [QUESTION_PROMPT] = "prompt",
	    [QUESTION_EXEC] = "program",
	    [QUESTION_SECRET] = "secret",
	    [QUESTION_NET] = "host",
	    [QUESTION_PROVISION] = "provision",
	    [QUESTION_ROTATION] = "rotation",
	    [QUESTION_METADATA] = "metadata",
	    [QUESTION_NEW_PATH] = "new-path",
	    [QUESTION_FILE] = "file",
	};

	if ((size_t)kind < ARRAY_LEN(name) && name[kind] != NULL)
		return name[kind];
	return "thing";
}

const char *
question_factor_name(enum question_factor factor)
{
	return factor == QUESTION_PASSPHRASE ? "passphrase"
	       : factor == QUESTION_KEY      ? "key"
					     : NULL;
}

const char *
question_answer_name(enum question_answer answer)
{
	static const char *const name[] = {
	    [ANSWER_ONCE] = "once",
	    [ANSWER_SESSION] = "session",
	    [ANSWER_DENY] = "deny",
	    [ANSWER_NOBODY] = "nobody",
	    [ANSWER_WITHDRAWN] = "withdrawn",
	    [ANSWER_OK] = "ok",
	    [ANSWER_CANCELLED] = "cancelled",
	    [ANSWER_FAILED] = "failed",
	    [ANSWER_CHANGED] = "changed",
	};

	if ((size_t)answer < ARRAY_LEN(name) && name[answer] != NULL)
		return name[answer];
	return "?";
}

bool
question_accepts(enum question_kind kind, enum question_answer answer)
{
	return kind >= QUESTION_PROVISION
		   ? answer >= ANSWER_OK && answer <= ANSWER_CHANGED
		   : answer >= ANSWER_ONCE && answer <= ANSWER_DENY;
}

const char *
question_id(char out[QUESTION_ID_MAX], long pid, uint32_t number,
    const uint8_t digest[QUESTION_DIGEST_LEN])
{
	char hex[9];

	(void)snprintf(out, QUESTION_ID_MAX, "%ld-%u:%s", pid, number,
	    hex_put(hex, digest, 4)); /* fits */
	return out;
}

void
question_tell(const struct question_text *q, uint32_t number)
{
	char text[200], id[QUESTION_ID_MAX];
	bool named = q->method[0] != '\0';
	bool part; /* perhaps: an escape has four bytes */

	(void)log_quote(text, sizeof(text), q->subject, strlen(q->subject));
	part = strlen(text) + 4 >= sizeof(text);
	(void)question_id(id, (long)getpid(), number, q->digest);
	log_info(
	    "%s asks for the %s \"%s\"%s%s%s (%s); answer with `kennel approve allow "
	    "%s` or "
	    "`kennel approve deny %s`",
	    q->server, question_kind_name(q->kind), text,
	    part ? "... (`kennel approve list` shows all of it)" : "",
	    named ? " by " : "", q->method, q->rule, id, id);
}

int
queue_new(struct loop *loop, uint64_t wait_ms, struct queue **ret)
{
	struct queue *q = calloc(1, sizeof(*q));

	if (q == NULL)
		return -ENOMEM;
	q->loop = loop;
	q->timer = -1;
	q->wait_ns = wait_ms * LOOP_MS;
	*ret = q;
	return 0;
}

void
queue_free(struct queue *q)
{
	if (q == NULL)
		return;
	/* Fast path: each entry is a page, and none was touched if nobody was asked. */
	for (size_t i = 0; q->last != 0 && i < QUESTIONS_MAX; i++)
		if (q->question[i].number != 0)
			question_withdraw(q, q->question[i].number);
	loop_timer_stop(q->loop, q->timer);
	free(q);
}

void
queue_watch(struct queue *q, queue_seen_fn *seen, void *arg)
{
	q->seen = seen;
	q->seen_arg = arg;
}

void
queue_on_factor(struct queue *q, queue_factor_fn *fn, void *arg)
{
	q->factor = fn;
	q->factor_arg = arg;
}

static struct question *
find(struct queue *q, uint32_t number)
{
	for (size_t i = 0; number != 0 && i < QUESTIONS_MAX; i++)
		if (q->question[i].number == number)
			return &q->question[i];
	return NULL;
}

const struct question *
queue_next(const struct queue *q, uint32_t after)
{
	const struct question *next = NULL;

	for (size_t i = 0; i < QUESTIONS_MAX; i++)
		if (q->question[i].number > after &&
		    (next == NULL || q->question[i].number < next->number))
			next = &q->question[i];
	return next;
}

/* ---- the end of a request --------------------------------------------------- */

static void on_time(struct loop *, void *);

/* The request that ends first, or NULL. */
static struct question *
soonest(struct queue *q)
{
	struct question *first = NULL;

	for (size_t i = 0; i < QUESTIONS_MAX; i++)
		if (q->question[i].number != 0 &&
		    (first == NULL || q->question[i].until < first->until))
			first = &q->question[i];
	return first;
}

static int
arm(struct queue *q)
{
	const struct question *first = soonest(q);

	loop_timer_stop(q->loop, q->timer);
	q->timer = -1;
	if (first == NULL)
		return 0;
	q->timer = loop_timer_at(q->loop, first->until, on_time, q);
	return q->timer < 0 ? -ENOBUFS : 0;
}

/* Removes it before calling back, because the callback may add a request. by: NULL if the
 * requester itself withdrew it, which needs no answer. */
static void
end(struct queue *q, struct question *at, enum question_answer answer,
    const struct answerer *by)
{
	struct question gone = *at;

	at->number = 0;
	(void)arm(q); /* cannot fail: a timer was just released, or none is needed */
	if (q->seen != NULL)
		q->seen(q->seen_arg, &gone, answer);
	if (by != NULL)
		gone.fn(gone.arg, gone.number, answer, by);
}

static void
on_time(struct loop *loop, void *arg)
{
	static const struct answerer nobody;
	struct queue *q = arg;
	struct question *at;
	uint64_t now = loop_now();

	q->timer = -1;
	while ((at = soonest(q)) != NULL && at->until <= now)
		end(q, at, ANSWER_NOBODY, &nobody);
	(void)arm(q); /* the slot of the expired timer is free */
}

void
queue_close(struct queue *q)
{
	static const struct answerer nobody;
	struct question *at;

	q->closed = true;
	while ((at = soonest(q)) != NULL)
		end(q, at, ANSWER_WITHDRAWN, &nobody);
}

static bool
is_agreed(const struct queue *q, const uint8_t digest[QUESTION_DIGEST_LEN])
{
	for (size_t i = 0; i < q->agreed_n; i++)
		if (memcmp(q->agreed[i], digest, QUESTION_DIGEST_LEN) == 0)
			return true;
	return false;
}

/* 0: it needs no factor, or a person has given it. */
static int
ask_factor(struct queue *q, const struct question *at, enum question_answer answer)
{
	int r;

	if (at->text.factor == QUESTION_NO_FACTOR ||
	    (answer != ANSWER_ONCE && answer != ANSWER_SESSION))
		return 0;
	r = q->factor == NULL ? QUESTION_NO_FACTOR
			      : q->factor(q->factor_arg, at->text.digest);
	return r == (int)at->text.factor ? 0 : r == -ETIMEDOUT ? -EAGAIN : -ENOKEY;
}

/* What is pending and would be refused unasked now is refused with it. */
static void
end_refused(struct queue *q, const struct answerer *by)
{
	for (size_t i = 0; i < QUESTIONS_MAX; i++) {
		struct question *at = &q->question[i];

		if (at->number != 0 && refusals_cover(&q->refused, &at->text, loop_now()))
			end(q, at, ANSWER_DENY, by);
	}
}

int
question_answer(struct queue *q, uint32_t number,
    const uint8_t digest[QUESTION_DIGEST_LEN], const struct question_reply *reply)
{
	struct question *at = find(q, number);
	enum question_answer answer = reply->answer;
	int r;

	/* The user must have seen exactly this request. */
	if (at == NULL || memcmp(at->text.digest, digest, QUESTION_DIGEST_LEN) != 0)
		return -ENOENT;
	if (!question_accepts(at->text.kind, answer))
		return -EINVAL;
	/* The omitted part may matter, so it must be accepted explicitly. */
	if (at->text.cut && !reply->unseen &&
	    (answer == ANSWER_ONCE || answer == ANSWER_SESSION || answer == ANSWER_OK))
		return -EPERM;
	r = ask_factor(q, at, answer);
	if (r < 0)
		return r;
	if (answer == ANSWER_SESSION &&
	    (at->text.once_only || at->text.factor != QUESTION_NO_FACTOR))
		answer = ANSWER_ONCE;
	if (answer == ANSWER_SESSION && !is_agreed(q, digest)) {
		/* if the table is full, the approval is valid only once */
		if (q->agreed_n < QUESTION_REMEMBERED)
			memcpy(q->agreed[q->agreed_n++], digest, QUESTION_DIGEST_LEN);
	}
	if (answer == ANSWER_DENY)
		refusals_note(&q->refused, &at->text, loop_now());
	end(q, at, answer, &reply->by);
	if (answer == ANSWER_DENY)
		end_refused(q, &reply->by);
	return 0;
}

/* Has it what it asks for, when this was saved? */
static bool
is_served(const struct question_text *text, const char *what)
{
	if (text->kind == QUESTION_FILE)
		return strcmp(text->file_sha256, what) == 0;
	return (text->kind == QUESTION_PROVISION || text->kind == QUESTION_ROTATION) &&
	       strcmp(text->subject, what) == 0;
}

bool
question_saved(struct queue *q, const char *what, const struct answerer *by)
{
	bool found = false;

	for (size_t i = 0; i < QUESTIONS_MAX; i++) {
		struct question *at = &q->question[i];

		if (at->number == 0 || !is_served(&at->text, what))
			continue;
		end(q, at, ANSWER_OK, by);
		found = true;
	}
	return found;
}

bool
question_is_refused(const struct queue *q, const char *subject)
{
	return refusals_about(&q->refused, subject);
}

bool
question_would_refuse(const struct queue *q, const struct question_text *text)
{
	return refusals_cover(&q->refused, text, loop_now());
}

void
question_note_refused(struct queue *q, const struct question_text *text)
{
	refusals_note(&q->refused, text, loop_now());
}

void
question_reopen(struct queue *q, const char *subject)
{
	refusals_lift(&q->refused, subject);
}

void
question_withdraw(struct queue *q, uint32_t number)
{
	struct question *at = find(q, number);

	if (at != NULL)
		end(q, at, ANSWER_WITHDRAWN, NULL);
}

void
question_extend(struct queue *q, uint32_t number, uint64_t until)
{
	struct question *at = find(q, number);

	if (at == NULL || at->until >= until)
		return;
	at->until = until;
	(void)arm(q); /* the slot of the timer that it stops is free */
}

/* ---- adding a request -------------------------------------------------------- */

int
question_ask(struct queue *q, const struct question_text *text, question_fn *fn,
    void *arg, uint32_t *ret_number)
{
	struct question *at = NULL;

	if (text->factor == QUESTION_NO_FACTOR && is_agreed(q, text->digest))
		return 1;
	if (refusals_cover(&q->refused, text, loop_now()))
		return -EACCES;
	for (size_t i = 0; at == NULL && i < QUESTIONS_MAX; i++)
		if (q->question[i].number == 0)
			at = &q->question[i];
	if (at == NULL || q->last == UINT32_MAX || q->closed)
		return -ENOBUFS;
	*at = (struct question){.text = *text, .fn = fn, .arg = arg};
	at->asked_at = loop_now();
	at->refused = refusals_count(&q->refused, text, at->asked_at);
	at->until =
	    at->asked_at + (text->open_ms != 0 ? text->open_ms * LOOP_MS : q->wait_ns);
	at->number = ++q->last;
	if (arm(q) < 0) {
		at->number = 0;
		return -ENOBUFS;
	}
	*ret_number = at->number;
	if (q->seen != NULL)
		q->seen(q->seen_arg, at, 0);
	return 0;
}
