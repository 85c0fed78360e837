/*
 * "kennel policy ..." (main.c).
 */
#ifndef KENNEL_POLICY_CLI_POLICY_MAIN_H
#define KENNEL_POLICY_CLI_POLICY_MAIN_H

#include "shim/help/help.h"

extern const struct help_family policy_help; /* help.c */

/* argv[0] is the verb.  Returns an exit status (kennel(1)). */
int policy_main(int argc, char **argv);

#endif
