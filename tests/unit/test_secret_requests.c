/*
 * Requests that a person answers, and what they grant: ids, deadlines, limits, and what
 * ends a grant. Time is a number here.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "shim/base/loop.h"
#include "supervisor/secrets/grants.h"
#include "supervisor/secrets/requests.h"

#define S    NS_PER_S
#define PATH "team/github/token"

static struct requests all;
static uint32_t wait_s;

static struct request *
ask(uint64_t now, uint32_t ttl)
{
	struct request *r = NULL;

	assert_int_equal(request_new(&all, SECRETS_USE, PATH, ttl, now, &r, &wait_s), 0);
	return r;
}

static enum secrets_state
state(const char *id, uint64_t now)
{
	struct request *r = request_find(&all, id, now);
	struct secrets_status s;

	if (r == NULL)
		return SECRETS_STATE_N;
	request_poll(r, now, &s);
	assert_string_equal(s.request_id, id);
	assert_string_equal(s.path, PATH);
	return s.state;
}

static void
ids(void **test)
{
	static char seen[REQUESTS_N][SECRETS_ID_LEN + 1];

	memset(&all, 0, sizeof(all));
	for (size_t i = 0; i < REQUESTS_N; i++) {
		struct request *r = ask(S, 300);

		memcpy(seen[i], r->id, sizeof(seen[i]));
		assert_int_equal(strlen(r->id), 17);
		assert_memory_equal(r->id, "prov-", 5);
		assert_int_equal(strspn(r->id + 5, "0123456789abcdef"), 12);
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(seen[k], r->id);
		request_settle(r, SECRETS_ONCE, NULL, S);
	}
	assert_null(request_find(&all, "prov-000000000000", S));
	assert_null(request_find(&all, "", S));
}

static void
deadlines(void **test)
{
	struct request *a, *b;

	memset(&all, 0, sizeof(all));
	a = ask(1000 * S, 300);
	b = ask(1000 * S, 1);
	a->dialog = b->dialog = 7;
	assert_int_equal(state(b->id, 1001 * S - 1), SECRETS_PENDING);
	assert_int_equal(state(b->id, 1001 * S), SECRETS_EXPIRED);
	assert_int_equal(state(a->id, 1299 * S), SECRETS_PENDING);
	/* what has expired stays so, although the dialog that it joined is answered */
	requests_settle(&all, 7, SECRETS_SESSION, NULL, 1299 * S);
	assert_int_equal(state(a->id, 1299 * S), SECRETS_SESSION);
	assert_int_equal(state(b->id, 1299 * S), SECRETS_EXPIRED);
	/* and what is settled never changes */
	requests_settle(&all, 7, SECRETS_REFUSED, NULL, 1300 * S);
	assert_int_equal(state(a->id, 2000 * S), SECRETS_SESSION);
	/* swept after an hour */
	assert_int_equal(state(a->id, (1299 + 3600) * S - 1), SECRETS_SESSION);
	assert_int_equal(state(a->id, (1299 + 3600) * S), SECRETS_STATE_N);
}

static void
kept(void **test)
{
	char first[SECRETS_ID_LEN + 1], second[SECRETS_ID_LEN + 1];

	memset(&all, 0, sizeof(all));
	for (uint64_t i = 0; i < REQUESTS_SETTLED_MAX + 1; i++) {
		struct request *r = ask((i + 1) * S / 100, 300);

		if (i < 2)
			memcpy(i == 0 ? first : second, r->id, sizeof(first));
		request_settle(r, SECRETS_REFUSED, NULL, (i + 1) * S / 100);
	}
	assert_int_equal(state(first, 10 * S), SECRETS_STATE_N);
	assert_int_equal(state(second, 10 * S), SECRETS_REFUSED);
}

static void
limits(void **test)
{
	struct request *r;

	memset(&all, 0, sizeof(all));
	for (int i = 0; i < REQUESTS_PENDING_MAX; i++)
		(void)ask(10 * S, 100 + (uint32_t)i);
	assert_int_equal(
	    request_new(&all, SECRETS_USE, PATH, 300, 70 * S, &r, &wait_s), -EBUSY);
	assert_int_equal(wait_s, 41); /* the first ends at 110 s */
	(void)ask(110 * S, 300);
	for (uint64_t i = 0; i < DIALOGS_A_MINUTE; i++)
		assert_int_equal(requests_dialog(&all, (100 + i) * S), 0);
	assert_int_equal(requests_dialog(&all, 120 * S), 40);
	assert_int_equal(requests_dialog(&all, 160 * S), 0);
	assert_int_equal(requests_dialog(&all, 160 * S), 1);
}

static void
polls(void **test)
{
	struct secrets_status s;
	struct request *r;

	memset(&all, 0, sizeof(all));
	r = ask(1000 * S, 300);
	request_poll(r, 1027 * S + 5, &s);
	assert_int_equal(s.age_s, 27);
	assert_int_equal(s.retry_after_ms, 0);
	request_poll(r, 1027 * S + 500 * LOOP_MS + 5, &s);
	assert_int_equal(s.retry_after_ms, 1500);
	assert_int_equal(s.state, SECRETS_PENDING);
	/* a poll that came too early does not move the next one */
	request_poll(r, 1029 * S + 5, &s);
	assert_int_equal(s.retry_after_ms, 0);
}

static void
joining(void **test)
{
	struct request *r;

	memset(&all, 0, sizeof(all));
	r = ask(S, 300);
	assert_int_equal(requests_wait(&all, 0, S), 0); /* no dialog yet */
	r->dialog = 3;
	assert_int_equal(requests_wait(&all, 3, S), 301 * S);
	assert_int_equal(requests_wait(&all, 2, S), 0);
	ask(2 * S, 300)->dialog = 3;
	assert_int_equal(requests_wait(&all, 3, S), 302 * S);
	requests_move(&all, 3, 5);
	assert_int_equal(requests_wait(&all, 3, S), 0);
	assert_int_equal(requests_wait(&all, 5, 301 * S), 302 * S); /* one has expired */
	assert_int_equal(requests_wait(&all, 5, 302 * S), 0);
}

/* A clock that a person or a daemon sets back changes no deadline and no age. */
static void
clock_back(void **test)
{
	struct timespec t[2];
	uint64_t now;

	(void)test;
	assert_int_equal(clock_gettime(CLOCK_BOOTTIME, &t[0]), 0);
	now = loop_now();
	assert_int_equal(clock_gettime(CLOCK_BOOTTIME, &t[1]), 0);
	assert_true(now >= (uint64_t)t[0].tv_sec * S + (uint64_t)t[0].tv_nsec);
	assert_true(now <= (uint64_t)t[1].tv_sec * S + (uint64_t)t[1].tv_nsec);
}

/* ---- grants ----------------------------------------------------------------- */

static const struct holder_ids shown = {.id = {{1}, {2}}, .n = 2};
static const uint8_t one[HOLDER_ID_LEN] = {1}, other[HOLDER_ID_LEN] = {3};

static struct grants
granted(bool session)
{
	struct grants g = {.epoch = 7};
	struct secrets_grant is = {
	    .path = PATH, .request_id = "prov-000000000001", .session = session};

	assert_int_equal(grants_add(&g, &is, &shown, 100 * S), 0);
	return g;
}

static void
once(void **test)
{
	struct grants g = granted(false);
	struct secrets_grant got;

	assert_false(grants_take(&g, PATH, other, 100 * S, &got));
	assert_false(grants_take(&g, "team/github/other", one, 100 * S, &got));
	assert_false(grants_hold(&g, PATH, &shown, 100 * S));
	assert_true(grants_take(&g, PATH, one, 160 * S - 1, &got));
	assert_false(got.session);
	assert_string_equal(got.request_id, "prov-000000000001");
	assert_false(grants_take(&g, PATH, one, 100 * S, &got));
	g = granted(false);
	assert_false(grants_take(&g, PATH, one, 160 * S, &got));
}

static void
session(void **test)
{
	struct grants g = granted(true);
	const struct holder_ids more = {.id = {{1}, {3}}, .n = 2};
	struct secrets_grant got;

	/* not before the vault's state after the answer is known: a start waits for it */
	assert_false(grants_take(&g, PATH, one, 100 * S, &got));
	assert_true(grants_unknown(&g, PATH, one));
	assert_false(grants_unknown(&g, PATH, other));
	assert_false(grants_unknown(&g, "team/github/other", one));
	grants_epoch(&g, 7, 100 * S - 1); /* asked for before the answer */
	assert_true(grants_unknown(&g, PATH, one));
	assert_false(grants_take(&g, PATH, one, 100 * S, &got));
	grants_epoch(&g, 8, 100 * S);
	assert_false(grants_unknown(&g, PATH, one));
	for (int i = 0; i < 3; i++) {
		assert_true(grants_take(&g, PATH, one, 100000 * S, &got));
		assert_true(got.session);
		assert_int_equal(got.epoch, 8);
	}
	assert_false(grants_take(&g, PATH, other, 100 * S, &got));
	assert_true(grants_hold(&g, PATH, &shown, 100 * S));
	assert_false(grants_hold(&g, PATH, &more, 100 * S));
	grants_epoch(&g, 9, 101 * S); /* rotated, or locked */
	assert_false(grants_take(&g, PATH, one, 100 * S, &got));
	grants_epoch(&g, 8, 100 * S);
	assert_false(grants_take(&g, PATH, one, 100 * S, &got));
}

/* A refusal ends all grants of its path, of either kind, and no others. */
static void
refused(void **test)
{
	const struct secrets_grant others = {.path = "team/github/other"},
				   lasting = {.path = PATH, .session = true};
	struct grants g = granted(false);
	struct secrets_grant got;

	assert_int_equal(grants_add(&g, &lasting, &shown, 100 * S), 0);
	assert_int_equal(grants_add(&g, &others, &shown, 100 * S), 0);
	grants_epoch(&g, 8, 100 * S);
	assert_true(grants_hold(&g, PATH, &shown, 100 * S)); /* control */
	grants_drop(&g, PATH);
	assert_false(grants_hold(&g, PATH, &shown, 100 * S));
	assert_false(grants_take(&g, PATH, one, 100 * S, &got));
	assert_true(grants_take(&g, others.path, one, 100 * S, &got));
}

static void
full(void **test)
{
	struct grants g = {.epoch = 7};
	struct secrets_grant is = {.path = PATH};

	for (int i = 0; i < GRANTS_MAX; i++)
		assert_int_equal(grants_add(&g, &is, &shown, 100 * S), 0);
	assert_int_equal(grants_add(&g, &is, &shown, 159 * S), -ENOSPC);
	assert_int_equal(grants_add(&g, &is, &shown, 160 * S), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    {"S1-46 an id is prov- and 12 hex digits, and no two are equal", ids, NULL,
		NULL, NULL},
	    {"S1-48 S1-71 S1-79 S1-99 C7 a request ends with its own time, and then "
	     "never "
	     "changes",
		deadlines, NULL, NULL, NULL},
	    {"C7 256 settled requests are kept, the oldest is dropped first", kept, NULL,
		NULL, NULL},
	    {"64 requests are pending at most, and 8 dialogs open in a minute", limits,
		NULL, NULL, NULL},
	    {"S1-100 S1-102 C8 a poll within 2 s says when to come again", polls, NULL,
		NULL, NULL},
	    {"a request joins a dialog", joining, NULL, NULL, NULL},
	    {"a clock that is set back changes no deadline", clock_back, NULL, NULL,
		NULL},
	    {"S1-76 S1-81 C6 once: one start within 60 s, for a policy that was shown",
		once, NULL, NULL, NULL},
	    {"S1-77 S1-88 session: until the vault changes, for policies that were shown",
		session, NULL, NULL, NULL},
	    {"a refusal ends all grants of its path", refused, NULL, NULL, NULL},
	    {"a grant that does not fit is refused", full, NULL, NULL, NULL},
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
