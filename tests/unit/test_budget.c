/*
 * A budget: a number at once, then one in each interval, whatever the clock shows first.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "supervisor/mcp/line/budget.h"

#define EACH 1000u

static unsigned int
takes(struct budget *b, uint64_t now, uint32_t most, unsigned int tries)
{
	unsigned int n = 0;

	while (tries-- > 0)
		n += budget_take(b, now, most, EACH);
	return n;
}

static void
at_once(void **state)
{
	for (uint64_t now = 0; now < 3; now++) {
		struct budget b = {0};

		/* the time before the first one gives no more than all of it */
		assert_int_equal(takes(&b, now * 1000000007u, 20, 50), 20);
	}
	(void)state;
}

static void
comes_back(void **state)
{
	struct budget b = {0};

	assert_int_equal(takes(&b, 5000, 3, 9), 3);
	assert_int_equal(takes(&b, 5999, 3, 9), 0);
	assert_int_equal(takes(&b, 6000, 3, 9), 1);
	assert_int_equal(takes(&b, 6999, 3, 9), 0);
	assert_int_equal(takes(&b, 7000, 3, 9), 1);
	assert_int_equal(takes(&b, 9500, 3, 9), 2); /* half an interval is kept: */
	assert_int_equal(takes(&b, 10000, 3, 9), 1);
	(void)state;
}

/* However the tries are spread, most + elapsed / EACH are taken at the most. */
static void
bounded(void **state)
{
	struct budget b = {0};
	unsigned int n = 0;

	for (uint64_t now = 0; now <= 100 * EACH; now += 7)
		n += takes(&b, now, 5, 3);
	assert_in_range(n, 100, 105);
	(void)state;
}

static void
rests(void **state)
{
	struct budget b = {0};

	assert_true(budget_full(&b, 0, EACH));
	assert_int_equal(takes(&b, 0, 4, 9), 4);
	assert_false(budget_full(&b, 4 * EACH - 1, EACH));
	assert_true(budget_full(&b, 4 * EACH, EACH));
	assert_int_equal(takes(&b, 400 * EACH, 4, 9), 4); /* a long rest saves no more */
	assert_int_equal(takes(&b, 400 * EACH, 0, 9), 0); /* of none, none */
	(void)state;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(at_once),
	    cmocka_unit_test(comes_back),
	    cmocka_unit_test(bounded),
	    cmocka_unit_test(rests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
