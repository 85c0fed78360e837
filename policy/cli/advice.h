/*
 * For explain: the line of a policy that gives a request its answer.
 */
#ifndef KENNEL_POLICY_CLI_ADVICE_H
#define KENNEL_POLICY_CLI_ADVICE_H

#include "policy/check/request.h"

/* A line for this request alone; verdict: "allow" or "deny". The caller frees it; NULL: no
 * memory. */
char *advice_line(const struct request *, const char *verdict);

#endif
