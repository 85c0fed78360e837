/*
 * Adds a `pins` line to the text of a policy.
 */
#ifndef KENNEL_SUPERVISOR_PIN_PINS_LINE_H
#define KENNEL_SUPERVISOR_PIN_PINS_LINE_H

#include <stdbool.h>

#include "supervisor/launch/launch.h"

/*
 * Reports a policy that does not name this pins file yet, and adds the line if add is
 * true, or after a yes on the terminal. Does nothing if there is such a line. A sealed
 * policy, and a text of another user, are left alone. Returns an exit status.
 */
int pins_line_offer(const struct policy_found *, const char *pins, bool add);

#endif
