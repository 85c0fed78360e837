/*
 * A clock that runs QUICK times as fast, linked with the objects of a program (--wrap): what
 * a program does every minute is tried in seconds, and the program has no option for it.
 */
#include <stdint.h>

#include "shim/base/loop.h"

#define QUICK 20

uint64_t __real_loop_now(void);
uint64_t __wrap_loop_now(void);

uint64_t
__wrap_loop_now(void)
{
	return __real_loop_now() * QUICK;
}
