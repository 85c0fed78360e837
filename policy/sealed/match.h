/*
 * Private to the matcher: match.c (programs, gates) and reach.c (hosts, paths).
 */
#ifndef KENNEL_POLICY_MATCH_H
#define KENNEL_POLICY_MATCH_H

#include "policy/sealed/policy.h"

/* The best row so far; rank 0: none. */
struct match {
	struct policy_answer answer;
	struct sealed_at at;
	uint8_t rank;
};

/* A row with this verdict holds: does it decide, as things stand? */
bool match_wins(struct match *, uint32_t verdict, struct sealed_at);
/* Has the exception run out (SEALED_NONE: there is none)? */
bool match_expired(const struct policy *, uint32_t exception, uint32_t verdict);
/* Days since 1970-01-01, by the clock, UTC. */
uint32_t policy_days_now(void);

#endif
