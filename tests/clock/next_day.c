/*
 * A clock whose day ends seconds after a program's first look at it, linked with the
 * objects of the program (--wrap): what happens at midnight is tried at any time of day.
 */
#include <stdint.h>
#include <time.h>

#include "policy/sealed/match.h"

#define LEFT_S 4

uint32_t __real_policy_days_now(void);
uint32_t __wrap_policy_days_now(void);

uint32_t
__wrap_policy_days_now(void)
{
	static time_t first;
	time_t now = time(NULL);

	if (first == 0)
		first = now;
	return __real_policy_days_now() + (now - first >= LEFT_S);
}
