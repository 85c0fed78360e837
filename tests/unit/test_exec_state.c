/*
 * The states of an exec: every state has a way out, a thread that was allowed to
 * continue is never forgotten, and what cannot happen is said.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "leash/exec/exec_state.h"
#include "shim/base/array.h"

static unsigned int
ways_out(enum exec_state state)
{
	unsigned int n = 0;

	for (int e = 0; e < EXEC_EVENTS; e++)
		n += exec_next(state, (enum exec_event)e) != EXEC_NONE;
	return n;
}

/* Fewest events from a state to GONE, or more than there are states. */
static unsigned int
to_the_end(enum exec_state state, unsigned int depth)
{
	unsigned int best = EXEC_STATES + 1, n;

	if (state == EXEC_GONE)
		return 0;
	for (int e = 0; depth > 0 && e < EXEC_EVENTS; e++) {
		enum exec_state next = exec_next(state, (enum exec_event)e);

		if (next == EXEC_NONE || next == state)
			continue;
		n = 1 + to_the_end(next, depth - 1);
		best = n < best ? n : best;
	}
	return best;
}

static void
every_state_ends(void **state)
{
	static const enum exec_state with[] = {
	    EXEC_NEW, EXEC_BEHIND, EXEC_LATE, EXEC_RUNNING, EXEC_PARKED, EXEC_OVER};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(with); i++) {
		assert_true(ways_out(with[i]) > 0);
		assert_true(to_the_end(with[i], 4) <= 2);
	}
	/* nothing follows these here: approval.c has the one, the other is the end */
	assert_int_equal(ways_out(EXEC_PENDING), 0);
	assert_int_equal(ways_out(EXEC_GONE), 0);
	assert_int_equal(ways_out(EXEC_NONE), 0);
}

/* Only a reaped thread is forgotten; a stop or a dead leader leaves it to be reaped. */
static void
a_traced_thread_is_never_forgotten(void **state)
{
	(void)state;
	for (int s = EXEC_RUNNING; s <= EXEC_OVER; s++)
		for (int e = 0; e < EXEC_EVENTS; e++) {
			enum exec_state next =
			    exec_next((enum exec_state)s, (enum exec_event)e);

			if (next == EXEC_NONE)
				continue;
			assert_true(next >= EXEC_RUNNING && next <= EXEC_GONE);
			assert_int_equal(next == EXEC_GONE, e == EXEC_REAPED);
		}
}

/* While an exec is in the kernel its group waits; the thread's own next call, when it is
 * let go, is awaited again. */
static void
who_continues_is_awaited(void **state)
{
	(void)state;
	for (int s = EXEC_NONE; s < EXEC_STATES; s++) {
		enum exec_state next = exec_next((enum exec_state)s, EXEC_RELEASED);

		assert_true(next == EXEC_NONE || next == EXEC_RUNNING);
	}
	assert_int_equal(exec_next(EXEC_PARKED, EXEC_RELEASED), EXEC_RUNNING);
	assert_int_equal(exec_next(EXEC_PARKED, EXEC_RESUMED), EXEC_RUNNING);
	assert_int_equal(exec_next(EXEC_RUNNING, EXEC_WAITS), EXEC_PARKED);
}

/* A call has no stop, a thread is not refused, and the end of a thread parks nothing. */
static void
what_cannot_happen_is_said(void **state)
{
	static const enum exec_event of_call[] = {
	    EXEC_BUSY, EXEC_SLOW, EXEC_ASKED, EXEC_REFUSED, EXEC_DIED};
	static const enum exec_event of_thread[] = {EXEC_WAITS, EXEC_RESUMED, EXEC_SAME,
	    EXEC_DIFFERS, EXEC_FAILED, EXEC_LEADER_DEAD, EXEC_REAPED};

	(void)state;
	for (int s = EXEC_NEW; s <= EXEC_LATE; s++)
		for (size_t i = 0; i < ARRAY_LEN(of_thread); i++)
			assert_int_equal(
			    exec_next((enum exec_state)s, of_thread[i]), EXEC_NONE);
	for (int s = EXEC_RUNNING; s <= EXEC_OVER; s++)
		for (size_t i = 0; i < ARRAY_LEN(of_call); i++)
			assert_int_equal(
			    exec_next((enum exec_state)s, of_call[i]), EXEC_NONE);
	assert_int_equal(exec_next(EXEC_OVER, EXEC_WAITS), EXEC_NONE);
	assert_int_equal(exec_next(EXEC_OVER, EXEC_LEADER_DEAD), EXEC_NONE);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_state_ends),
	    cmocka_unit_test(a_traced_thread_is_never_forgotten),
	    cmocka_unit_test(who_continues_is_awaited),
	    cmocka_unit_test(what_cannot_happen_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
