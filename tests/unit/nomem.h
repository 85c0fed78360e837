/* Each allocation of a function fails once, one after the other. */
#ifndef KENNEL_TESTS_UNIT_NOMEM_H
#define KENNEL_TESTS_UNIT_NOMEM_H

#include "tests/fault/fault.h"

#define POINTS_MAX 5000

/* How often it was run until nothing was left to fail. */
static inline unsigned int
each_fails(void (*fn)(void))
{
	unsigned int n;

	for (n = 1; n < POINTS_MAX; n++) {
		fault_order(FAULT_MEMORY, n, 1, 0);
		fn();
		if (fault_counted(FAULT_MEMORY) < n)
			break;
	}
	fault_order(FAULT_MEMORY, 0, 0, 0);
	assert_in_range(n, 3, POINTS_MAX - 1); /* else nothing was shown */
	return n;
}

#endif
