/*
 * Questions for a person: each ends once, in one of four ways; what was agreed to
 * for a session is exactly what was shown; silence is no.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "shim/base/array.h"
#include "supervisor/approve/approve.h"
#include "supervisor/approve/refusals.h"

static struct loop loop;
static char said[1024];
static struct queue *queue;

static void
on_answer(
    void *arg, uint32_t number, enum question_answer answer, const struct answerer *by)
{
	size_t n = strlen(said);

	snprintf(said + n, sizeof(said) - n, "%s%u:%s:%u ",
	    arg == NULL ? "" : (const char *)arg, number, question_answer_name(answer),
	    by->pid);
}

static int
ask(uint8_t what, uint32_t *ret)
{
	static char name[] = "q";
	struct question_text text = {.kind = QUESTION_TOOL, .digest = {what}};

	return question_ask(queue, &text, on_answer, name, ret);
}

static int
answer(uint32_t number, uint8_t what, enum question_answer how)
{
	const uint8_t digest[QUESTION_DIGEST_LEN] = {what};

	return question_answer(
	    queue, number, digest, &(struct question_reply){how, false, {1000, 42}});
}

static void
begin(uint64_t wait_ms)
{
	said[0] = '\0';
	loop_init(&loop);
	assert_int_equal(queue_new(&loop, wait_ms, &queue), 0);
}

static void
answers(void **state)
{
	uint32_t a, b, c;

	(void)state;
	begin(60000);
	assert_int_equal(ask(1, &a), 0);
	assert_int_equal(ask(2, &b), 0);
	assert_int_equal(ask(3, &c), 0);
	assert_int_equal(answer(b, 1, ANSWER_ONCE), -ENOENT); /* another one was shown */
	assert_int_equal(answer(99, 1, ANSWER_ONCE), -ENOENT);
	assert_string_equal(said, "");
	assert_int_equal(answer(b, 2, ANSWER_DENY), 0);
	assert_int_equal(answer(b, 2, ANSWER_ONCE), -ENOENT); /* it ends once */
	question_withdraw(queue, c);
	assert_int_equal(answer(c, 3, ANSWER_ONCE), -ENOENT);
	assert_int_equal(answer(a, 1, ANSWER_ONCE), 0);
	assert_string_equal(said, "q2:deny:42 q1:once:42 ");
	assert_int_equal(ask(1, &a), 0); /* once is once; numbers are never used again */
	assert_int_equal(a, 4);
	queue_free(queue);
	assert_string_equal(said, "q2:deny:42 q1:once:42 ");
}

/* A value or a proposal: saved or closed, never allowed; and others never saved. */
static void
typed(void **state)
{
	static const enum question_answer not [] = {ANSWER_ONCE, ANSWER_SESSION,
	    ANSWER_DENY, ANSWER_NOBODY, ANSWER_WITHDRAWN, 0, 10};
	struct question_text text = {.digest = {1}, .cut = true};
	uint32_t number, tool;

	(void)state;
	begin(60000);
	assert_int_equal(ask(1, &tool), 0);
	assert_int_equal(answer(tool, 1, ANSWER_OK), -EINVAL);
	assert_int_equal(answer(tool, 1, ANSWER_CANCELLED), -EINVAL);
	for (int kind = QUESTION_PROVISION; kind <= QUESTION_FILE; kind++) {
		text.kind = (enum question_kind)kind;
		assert_int_equal(question_ask(queue, &text, on_answer, NULL, &number), 0);
		for (size_t i = 0; i < sizeof(not ) / sizeof(not [0]); i++)
			assert_int_equal(answer(number, 1, not [i]), -EINVAL);
		assert_int_equal(answer(number, 1, ANSWER_OK), -EPERM); /* cut */
		assert_int_equal(answer(number, 1, ANSWER_CANCELLED), 0);
	}
	assert_string_equal(said, "2:cancelled:42 3:cancelled:42 4:cancelled:42 "
				  "5:cancelled:42 6:cancelled:42 ");
	queue_free(queue);
}

/* A new version of a value, or a file's approval, ends what asks for it, and nothing else. */
static void
saved(void **state)
{
	struct question_text text = {
	    .digest = {1}, .subject = "a/b/c", .file_sha256 = "00ff"};
	const struct answerer by = {1000, 42};
	uint32_t number;

	(void)state;
	begin(60000);
	for (int kind = QUESTION_TOOL; kind <= QUESTION_FILE; kind++) {
		text.kind = (enum question_kind)kind;
		assert_int_equal(question_ask(queue, &text, on_answer, NULL, &number), 0);
	}
	assert_false(question_saved(queue, "a/b", &by));
	assert_true(question_saved(queue, "a/b/c", &by));
	assert_string_equal(said, "7:ok:42 8:ok:42 ");
	assert_false(question_saved(queue, "a/b/c", &by));
	assert_false(question_saved(queue, "", &by));
	assert_true(question_saved(queue, "00ff", &by)); /* the file, by its contents */
	assert_string_equal(said, "7:ok:42 8:ok:42 11:ok:42 ");
	queue_free(queue);
}

static void
session(void **state)
{
	uint32_t a;

	(void)state;
	begin(60000);
	assert_int_equal(ask(1, &a), 0);
	assert_int_equal(answer(a, 1, ANSWER_SESSION), 0);
	assert_int_equal(ask(1, &a), 1);
	assert_int_equal(ask(2, &a), 0);
	/* a no is for a minute, and for nothing else */
	assert_int_equal(answer(a, 2, ANSWER_DENY), 0);
	assert_int_equal(ask(2, &a), -EACCES);
	assert_int_equal(ask(3, &a), 0);
	queue_free(queue);
}

/* A memory that is full asks again; it does not forget or agree to more. */
static void
remembered(void **state)
{
	struct question_text text = {.kind = QUESTION_TOOL};
	uint32_t number;

	(void)state;
	begin(60000);
	for (uint32_t i = 0; i < QUESTION_REMEMBERED + 1; i++) {
		memcpy(text.digest, &i, sizeof(i));
		assert_int_equal(question_ask(queue, &text, on_answer, NULL, &number), 0);
		assert_int_equal(
		    question_answer(queue, number, text.digest,
			&(struct question_reply){ANSWER_SESSION, false, {0, 1}}),
		    0);
		said[0] = '\0';
	}
	assert_int_equal(question_ask(queue, &text, on_answer, NULL, &number), 0);
	memset(text.digest, 0, sizeof(text.digest));
	assert_int_equal(question_ask(queue, &text, on_answer, NULL, &number), 1);
	queue_free(queue);
}

static void
silence(void **state)
{
	uint64_t start = loop_now();
	uint32_t a, b;

	(void)state;
	begin(60);
	assert_int_equal(ask(1, &a), 0);
	assert_int_equal(ask(2, &b), 0);
	question_withdraw(queue, a); /* the timer was for this one */
	while (said[0] == '\0' && loop_now() - start < 5000 * LOOP_MS)
		assert_int_equal(loop_once(&loop, 1000), 0);
	assert_string_equal(said, "q2:nobody:0 ");
	assert_true(loop_now() - start >= 60 * LOOP_MS);
	assert_null(queue_next(queue, 0));
	queue_free(queue);
}

/* Each request may stay open for a time of its own. */
static void
own_time(void **state)
{
	static char name[] = "q";
	struct question_text brief = {
	    .kind = QUESTION_TOOL, .digest = {9}, .open_ms = 20};
	uint64_t start = loop_now();
	uint32_t a, b;

	(void)state;
	begin(60000);
	assert_int_equal(ask(1, &a), 0);
	assert_int_equal(question_ask(queue, &brief, on_answer, name, &b), 0);
	while (said[0] == '\0' && loop_now() - start < 5000 * LOOP_MS)
		assert_int_equal(loop_once(&loop, 1000), 0);
	assert_string_equal(said, "q2:nobody:0 ");
	assert_int_equal(queue_next(queue, 0)->number, a);
	assert_int_equal(answer(a, 1, ANSWER_DENY), 0);
	queue_free(queue);
}

/* It may stay open for longer than it was asked for, and never for less. */
static void
extended(void **state)
{
	uint64_t start = loop_now();
	uint32_t a;

	(void)state;
	begin(20);
	assert_int_equal(ask(1, &a), 0);
	question_extend(queue, a, start + 120 * LOOP_MS);
	question_extend(queue, a, start + 1);
	question_extend(queue, a + 1, start + 1); /* there is none */
	while (said[0] == '\0' && loop_now() - start < 5000 * LOOP_MS)
		assert_int_equal(loop_once(&loop, 1000), 0);
	assert_string_equal(said, "q1:nobody:0 ");
	assert_true(loop_now() - start >= 120 * LOOP_MS);
	queue_free(queue);
}

static void
full(void **state)
{
	uint32_t number;

	(void)state;
	begin(60000);
	for (int i = 0; i < QUESTIONS_MAX; i++)
		assert_int_equal(ask((uint8_t)i, &number), 0);
	assert_int_equal(ask(200, &number), -ENOBUFS);
	assert_int_equal(answer(5, 4, ANSWER_DENY), 0);
	assert_int_equal(ask(200, &number), 0);
	assert_int_equal(queue_next(queue, 0)->number, 1);
	assert_int_equal(queue_next(queue, 4)->number, 6);
	queue_free(queue);
}

static uint32_t
refused(uint8_t digest, const char *subject, enum question_kind kind, int want)
{
	struct question_text text = {.kind = kind, .digest = {digest}, .server = "s"};
	uint32_t number = 0;

	snprintf(text.subject, sizeof(text.subject), "%s", subject);
	assert_int_equal(question_ask(queue, &text, on_answer, NULL, &number), want);
	return number;
}

/* PEOPLE 4: the same is refused unasked, and after three refusals all of its server and
 * subject; another subject, another kind and a secret are asked about. */
static void
refusals(void **state)
{
	uint32_t n;

	(void)state;
	begin(60000);
	n = refused(1, "push", QUESTION_TOOL, 0);
	assert_int_equal(queue_next(queue, n - 1)->refused, 0);
	assert_int_equal(answer(n, 1, ANSWER_DENY), 0);
	refused(1, "push", QUESTION_TOOL, -EACCES);
	n = refused(2, "push", QUESTION_TOOL, 0);
	assert_int_equal(queue_next(queue, n - 1)->refused, 1);
	assert_int_equal(answer(n, 2, ANSWER_ONCE), 0); /* a yes is no refusal */
	n = refused(2, "push", QUESTION_TOOL, 0);
	assert_int_equal(answer(n, 2, ANSWER_DENY), 0);
	n = refused(3, "push", QUESTION_TOOL, 0);
	assert_int_equal(queue_next(queue, n - 1)->refused, 2);
	assert_int_equal(answer(n, 3, ANSWER_DENY), 0);
	refused(4, "push", QUESTION_TOOL, -EACCES);
	n = refused(5, "pull", QUESTION_TOOL, 0);
	assert_int_equal(answer(n, 5, ANSWER_ONCE), 0);
	n = refused(6, "push", QUESTION_RESOURCE, 0);
	assert_int_equal(answer(n, 6, ANSWER_DENY), 0);
	n = refused(7, "push", QUESTION_SECRET, 0); /* its path is closed elsewhere */
	assert_int_equal(answer(n, 7, ANSWER_DENY), 0);
	n = refused(7, "push", QUESTION_SECRET, 0);
	assert_int_equal(answer(n, 7, ANSWER_DENY), 0);
	queue_free(queue);
}

static uint32_t
tool_asked(uint8_t digest, const char *subject)
{
	struct question_text text = {.kind = QUESTION_TOOL, .digest = {digest}};
	static char name[] = "";
	uint32_t number = 0;

	(void)snprintf(text.subject, sizeof(text.subject), "%s", subject);
	assert_int_equal(question_ask(queue, &text, on_answer, name, &number), 0);
	return number;
}

/* The third refusal of a subject ends what else is pending of it; each refusal ends the
 * same that is pending. */
static void
refusals_end_pending(void **state)
{
	(void)state;
	begin(60000);
	for (uint8_t i = 1; i <= 5; i++)
		assert_int_equal(tool_asked(i, "push"), i);
	assert_int_equal(tool_asked(6, "pull"), 6);
	assert_int_equal(tool_asked(1, "push"), 7);
	assert_int_equal(answer(1, 1, ANSWER_DENY), 0);
	assert_string_equal(said, "1:deny:42 7:deny:42 ");
	assert_int_equal(answer(2, 2, ANSWER_DENY), 0);
	assert_string_equal(said, "1:deny:42 7:deny:42 2:deny:42 ");
	said[0] = '\0';
	assert_int_equal(answer(3, 3, ANSWER_DENY), 0);
	assert_string_equal(said, "3:deny:42 4:deny:42 5:deny:42 ");
	assert_int_equal(answer(6, 6, ANSWER_ONCE), 0); /* another name stays */
	queue_free(queue);
}

/* A person lifts what was refused of a subject, of any server, and nothing else. */
static void
lifted(void **state)
{
	static struct refusals r;
	struct question_text q = {.kind = QUESTION_TOOL, .digest = {1}, .subject = "a"};
	const uint64_t now = 5000 * LOOP_MS;

	(void)state;
	assert_false(refusals_about(&r, "a"));
	for (uint8_t i = 0; i < 3; i++) {
		q.digest[0] = i;
		refusals_note(&r, &q, now + i);
	}
	snprintf(q.server, sizeof(q.server), "two");
	q.digest[0] = 9;
	refusals_note(&r, &q, now);
	snprintf(q.subject, sizeof(q.subject), "b");
	q.digest[0] = 8;
	refusals_note(&r, &q, now);
	assert_true(refusals_about(&r, "a"));
	refusals_lift(&r, "a");
	assert_true(refusals_cover(&r, &q, now + 9)); /* b */
	snprintf(q.subject, sizeof(q.subject), "a");
	for (uint8_t i = 0; i < 10; i++) {
		q.digest[0] = i;
		q.server[0] = i == 9 ? 't' : '\0';
		assert_int_equal(refusals_cover(&r, &q, now + 9), i == 8);
	}
	assert_int_equal(refusals_count(&r, &q, now + 9), 0);
	assert_false(refusals_about(&r, "a"));
}

/* The times: 60 s for a digest, 10 min for a subject, counted from the third refusal. */
static void
refusal_times(void **state)
{
	static struct refusals r;
	const uint64_t s = 1000 * LOOP_MS, t0 = 5000 * s;
	struct question_text q = {.kind = QUESTION_NET, .digest = {1}, .subject = "h:1"};

	(void)state;
	refusals_note(&r, &q, t0);
	assert_true(refusals_cover(&r, &q, t0 + 60 * s - 1));
	assert_false(refusals_cover(&r, &q, t0 + 60 * s));
	refusals_note(&r, &q, t0 + 300 * s);
	assert_int_equal(refusals_count(&r, &q, t0 + 599 * s), 2);
	assert_int_equal(refusals_count(&r, &q, t0 + 600 * s), 1);
	q.digest[0] = 2;
	assert_false(refusals_cover(&r, &q, t0 + 301 * s));
	refusals_note(&r, &q, t0 + 599 * s);
	q.digest[0] = 3;
	assert_true(refusals_cover(&r, &q, t0 + 1199 * s - 1));
	assert_false(refusals_cover(&r, &q, t0 + 1199 * s));
	refusals_note(&r, &q, t0 + 2000 * s); /* the two before are too old */
	q.digest[0] = 4;
	assert_false(refusals_cover(&r, &q, t0 + 2000 * s));
	for (uint8_t i = 0; i < REFUSALS_KEPT; i++) { /* the oldest makes room */
		q.digest[0] = i;
		snprintf(q.subject, sizeof(q.subject), "other%d", i);
		refusals_note(&r, &q, t0 + (3000 + i) * s);
	}
	assert_int_equal(refusals_count(&r, &q, t0 + 3064 * s), 1);
	snprintf(q.subject, sizeof(q.subject), "h:1");
	assert_int_equal(refusals_count(&r, &q, t0 + 2001 * s), 0);
}

/* C5: what is asked about each time is never agreed to for the session. */
static void
once_only(void **state)
{
	struct question_text text = {
	    .kind = QUESTION_SECRET, .digest = {9}, .once_only = true};
	uint32_t a = 0, b = 0;

	(void)state;
	begin(60000);
	assert_int_equal(question_ask(queue, &text, on_answer, NULL, &a), 0);
	assert_int_equal(answer(a, 9, ANSWER_SESSION), 0);
	assert_string_equal(said, "1:once:42 ");
	assert_int_equal(question_ask(queue, &text, on_answer, NULL, &b), 0);
	assert_int_equal(answer(b, 9, ANSWER_DENY), 0);
	text.once_only = false; /* the control: S1-82 the second is not asked */
	assert_int_equal(question_ask(queue, &text, on_answer, NULL, &a), 0);
	assert_int_equal(answer(a, 9, ANSWER_SESSION), 0);
	assert_int_equal(question_ask(queue, &text, on_answer, NULL, &b), 1);
	queue_free(queue);
}

/* ---- factors ------------------------------------------------------------------ */

static int given; /* what the keeper says */

static int
factor(void *arg, const uint8_t digest[QUESTION_DIGEST_LEN])
{
	assert_ptr_equal(arg, &given);
	assert_int_equal(digest[0], 7);
	return given;
}

static void
ask_with(enum question_factor with, uint32_t *ret)
{
	static char name[] = "q";
	struct question_text text = {
	    .kind = QUESTION_TOOL, .factor = with, .digest = {7}};

	assert_int_equal(question_ask(queue, &text, on_answer, name, ret), 0);
}

/* A yes counts only with its factor; it is for one use, and a no needs none. */
static void
factors(void **state)
{
	static const struct {
		int given, is;
	} rows[] = {
	    {0, -ENOKEY}, {-ENOENT, -ENOKEY}, {-ETIMEDOUT, -EAGAIN}, {2, -ENOKEY}};
	uint32_t n, k;

	(void)state;
	begin(60000);
	ask_with(QUESTION_PASSPHRASE, &n);
	assert_int_equal(answer(n, 7, ANSWER_ONCE), -ENOKEY); /* no one to ask */
	queue_on_factor(queue, factor, &given);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		given = rows[i].given;
		assert_int_equal(answer(n, 7, ANSWER_ONCE), rows[i].is);
		assert_int_equal(answer(n, 7, ANSWER_SESSION), rows[i].is);
	}
	assert_string_equal(said, "");
	given = 1;
	assert_int_equal(answer(n, 7, ANSWER_SESSION), 0);
	ask_with(QUESTION_PASSPHRASE, &n); /* the session did not count */
	given = 0;
	ask_with(QUESTION_KEY, &k);
	given = 1;
	assert_int_equal(answer(k, 7, ANSWER_ONCE), -ENOKEY); /* the keeper knows none */
	assert_int_equal(answer(n, 7, ANSWER_DENY), 0); /* and the same that is pending */
	queue_free(queue);
	assert_string_equal(said, "q1:once:42 q2:deny:42 q3:deny:42 ");
}

/* A requester whose question cannot be answered any more gets no answer of a person. */
static void
closed(void **state)
{
	uint32_t n;

	(void)state;
	begin(60000);
	assert_int_equal(ask(1, &n), 0);
	assert_int_equal(ask(2, &n), 0);
	queue_close(queue);
	assert_string_equal(said, "q1:withdrawn:0 q2:withdrawn:0 ");
	assert_int_equal(answer(n, 2, ANSWER_ONCE), -ENOENT);
	assert_int_equal(ask(3, &n), -ENOBUFS);
	queue_free(queue);
	assert_string_equal(said, "q1:withdrawn:0 q2:withdrawn:0 ");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(answers),
	    cmocka_unit_test(typed),
	    cmocka_unit_test(saved),
	    cmocka_unit_test(session),
	    cmocka_unit_test(remembered),
	    cmocka_unit_test(silence),
	    cmocka_unit_test(own_time),
	    cmocka_unit_test(extended),
	    cmocka_unit_test(full),
	    cmocka_unit_test(once_only),
	    cmocka_unit_test(refusals),
	    cmocka_unit_test(refusals_end_pending),
	    cmocka_unit_test(refusal_times),
	    cmocka_unit_test(lifted),
	    cmocka_unit_test(factors),
	    cmocka_unit_test(closed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
