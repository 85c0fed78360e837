/* Calls that fail on order (fault.c says how). */
#ifndef KENNEL_TESTS_FAULT_FAULT_H
#define KENNEL_TESTS_FAULT_FAULT_H

#include <stdbool.h>
#include <stdint.h>

enum fault_kind {
	FAULT_MEMORY,
	FAULT_WRITE,
	FAULT_SYNC,
	FAULT_CLOCK,
	FAULT_SLEEP,
	FAULT_KINDS
};

/* Instead of an errno, of a write or a sync: the program is killed. */
#define FAULT_KILL        (-1) /* before it */
#define FAULT_KILL_WITHIN (-2) /* when half of a write is done */
#define FAULT_KILL_BEHIND (-3) /* behind a sync */

/* Calls from .. from+count-1 do value, counted from now; from 0: none, count 0:
 * all from there on. */
void fault_order(enum fault_kind, uint64_t from, uint64_t count, long value);
uint64_t fault_counted(enum fault_kind);

#endif
