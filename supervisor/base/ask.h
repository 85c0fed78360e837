/*
 * A question that a person answers with yes or no, on the terminal.
 */
#ifndef KENNEL_SUPERVISOR_BASE_ASK_H
#define KENNEL_SUPERVISOR_BASE_ASK_H

#include <stdbool.h>

/* Is there a person to ask: a terminal to read from, and one to ask on? */
bool ask_possible(void);
/* Asks on standard error; anything but a line that begins with y is a no. */
bool ask_yes(const char *question);

#endif
