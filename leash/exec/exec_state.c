/*
 * What each event does to an exec: one row a state, one line an event.
 *
 * An event that has no line cannot happen in that state.  If it does, something is
 * wrong that we do not know: a traced thread is killed (flight_event), a call is
 * refused (hold).
 *
 * Process: the leash.  Holds nothing.
 */
#include "leash/exec/exec_state.h"

/* clang-format off */
static const enum exec_state next_of[EXEC_STATES][EXEC_EVENTS] = {
	/* a call that is judged now, or was held and is judged again */
	[EXEC_NEW ... EXEC_LATE] = {
		[EXEC_BUSY]        = EXEC_BEHIND,
		[EXEC_SLOW]        = EXEC_LATE,
		[EXEC_ASKED]       = EXEC_PENDING,
		[EXEC_RELEASED]    = EXEC_RUNNING,
		[EXEC_REFUSED]     = EXEC_GONE,
		[EXEC_DIED]        = EXEC_GONE,
	},
	/* a traced thread: its stop ends what it was allowed, also while its next call
	 * waits */
	[EXEC_RUNNING ... EXEC_PARKED] = {
		[EXEC_WAITS]       = EXEC_PARKED,
		[EXEC_RESUMED]     = EXEC_RUNNING,
		[EXEC_RELEASED]    = EXEC_RUNNING,
		[EXEC_SAME]        = EXEC_OVER,
		[EXEC_DIFFERS]     = EXEC_OVER,
		[EXEC_FAILED]      = EXEC_OVER,
		[EXEC_LEADER_DEAD] = EXEC_OVER,
		[EXEC_REAPED]      = EXEC_GONE,
	},
	/* It ends.  One that only seemed dead (/proc could not be read) is traced as long
	 * as it lives, and compared like any other. */
	[EXEC_OVER] = {
		[EXEC_RESUMED]     = EXEC_OVER,
		[EXEC_RELEASED]    = EXEC_RUNNING,
		[EXEC_SAME]        = EXEC_OVER,
		[EXEC_DIFFERS]     = EXEC_OVER,
		[EXEC_FAILED]      = EXEC_OVER,
		[EXEC_REAPED]      = EXEC_GONE,
	},
};
/* clang-format on */

enum exec_state
exec_next(enum exec_state state, enum exec_event event)
{
	return next_of[state][event];
}
