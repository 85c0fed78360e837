/*
 * "kennel policy ..." (main.c).
 */
#ifndef KENNEL_POLICY_CLI_POLICY_MAIN_H
#define KENNEL_POLICY_CLI_POLICY_MAIN_H

#include <stdbool.h>
#include <stdio.h>

#include "shim/help/help.h"

struct policy;

extern const struct help_family policy_help; /* help.c */

/* argv[0] is the verb.  Returns an exit status (kennel(1)). */
int policy_main(int argc, char **argv);
/* Prints the difference of two policies as "kennel policy diff" does: nothing if there
 * is none.  wider: b permits something that a does not.  0 or -ENOMEM. */
int policy_diff_print(
    FILE *, const struct policy *a, const struct policy *b, bool *ret_wider);

#endif
