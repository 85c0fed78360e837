/*
 * The memory of a start: given back once the session serves.
 */
#include "shim/base/confine.h"
#include "shim/base/loop.h"
#include "supervisor/launch/launch.h"

#define START_OVER_MS 300 /* by then a server has answered its first requests */

static void
on_start_over(struct loop *loop, void *arg)
{
	confine_drop_start();
}

void
drop_start_soon(struct loop *loop)
{
	/* without a timer its memory stays */
	(void)loop_timer_at(
	    loop, loop_now() + START_OVER_MS * LOOP_MS, on_start_over, NULL);
}
