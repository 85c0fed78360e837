/*
 * Private to the matcher: match.c (programs), match_mcp.c and match_net_paths.c (hosts,
 * paths).
 */
#ifndef KENNEL_POLICY_SEALED_MATCH_H
#define KENNEL_POLICY_SEALED_MATCH_H

#include <stdbool.h>

#include "policy/sealed/policy.h"

/* The best row so far; rank 0: none. */
struct match {
	struct policy_answer answer;
	struct sealed_at at;
	uint8_t rank;
};

/* A row with this verdict and factor matches: does it beat the best so far? */
bool match_wins(struct match *, uint32_t verdict, enum sealed_factor, struct sealed_at);
/* Is the exception expired (SEALED_NONE: there is no exception)? */
bool match_expired(const struct policy *, uint32_t exception, uint32_t verdict);
/* Days since 1970-01-01, by the clock, UTC. */
uint32_t policy_days_now(void);

#endif
