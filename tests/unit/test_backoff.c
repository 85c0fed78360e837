/*
 * When a server that ended may be started again.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "shim/base/loop.h"
#include "supervisor/base/backoff.h"

#define START (1000 * NS_PER_S)

/* Each end is 400 s after the last one, so there is no crash loop. */
static void
doubles(void **state)
{
	static const uint64_t ms[] = {
	    500, 1000, 2000, 4000, 8000, 16000, 32000, 60000, 60000};
	struct backoff b = {0};
	uint64_t now = START;

	(void)state;
	assert_int_equal(backoff_left_s(&b, now), 0);
	for (size_t i = 0; i < sizeof(ms) / sizeof(ms[0]); i++, now += 400 * NS_PER_S) {
		backoff_ended(&b, now, 0);
		assert_false(b.crash_loop);
		assert_in_range(b.retry_at - now, ms[i] * 8 / 10 * LOOP_MS,
		    ms[i] * 12 / 10 * LOOP_MS);
	}
	/* a minute of health is not enough, more is */
	backoff_ended(&b, now, 60 * NS_PER_S);
	assert_int_equal(b.pause_ms, 60000);
	backoff_ended(&b, now + 400 * NS_PER_S, 61 * NS_PER_S);
	assert_int_equal(b.pause_ms, 500);
}

static void
crash_loop(void **state)
{
	struct backoff b = {0};

	(void)state;
	for (uint64_t i = 0; i < 4; i++)
		backoff_ended(&b, START + i * NS_PER_S, 0);
	assert_false(b.crash_loop);
	backoff_ended(&b, START + 4 * NS_PER_S, 0);
	assert_true(b.crash_loop);
	assert_int_equal(backoff_left_s(&b, START + 4 * NS_PER_S), 300);
	assert_int_equal(backoff_left_s(&b, START + 304 * NS_PER_S), 0);
	/* five ends in more than five minutes are none */
	backoff_ended(&b, START + 304 * NS_PER_S, 0);
	assert_false(b.crash_loop);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(doubles),
	    cmocka_unit_test(crash_loop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
