/*
 * kennel policy show (show.c, show_json.c).
 */
#ifndef KENNEL_POLICY_PRINT_SHOW_H
#define KENNEL_POLICY_PRINT_SHOW_H

#include <stdio.h>

#include "policy/sealed/policy.h"

/*
 * Prints the grants and the mechanism that enforces each, for people or as
 * JSON.
 */
int policy_show(const struct policy *, const char *only, FILE *);
int policy_show_json(const struct policy *, const char *only, FILE *);

#endif
