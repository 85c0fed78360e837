/*
 * Text of a server in a policy that is drafted for it.
 */
#ifndef KENNEL_SUPERVISOR_LEARN_POLICY_TEXT_H
#define KENNEL_SUPERVISOR_LEARN_POLICY_TEXT_H

#include <stdbool.h>
#include <stdio.h>

/* Has it only characters that mean nothing in a policy? */
bool learn_is_plain(const char *);
/* Is it a name that a line may have: a host name with letters? */
bool learn_host_named(const char *);
/* Can a policy contain it, in quotes? */
bool learn_can_hold(const char *);
/* As one argument of a line, after a blank.  False: no policy can contain it, and
 * nothing is written. */
bool learn_word(FILE *, const char *);
/* Text of the server in a comment: printable ASCII, at most this long, and never a
 * backslash at its end. */
#define LEARN_SHOWN_MAX 160
void learn_inert(FILE *, const char *);

#endif
