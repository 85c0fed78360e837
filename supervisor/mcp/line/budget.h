/*
 * How often a server may make kennel do something: a number at once, then one in each interval
 * (budget.c).
 */
#ifndef KENNEL_SUPERVISOR_MCP_LINE_BUDGET_H
#define KENNEL_SUPERVISOR_MCP_LINE_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

struct budget {      /* all zero: nothing was taken */
	uint64_t at; /* of loop_now(): what had come back by then is no more in used */
	uint32_t used;
};

/* Takes one, at this time of loop_now(). False: all `most` are taken; one comes back each
 * each_ns. */
bool budget_take(struct budget *, uint64_t now, uint32_t most, uint64_t each_ns);
/* True if all of it has come back. */
bool budget_full(const struct budget *, uint64_t now, uint64_t each_ns);

/* Records of what a server makes kennel drop or refuse: more are counted, and the count is
 * recorded with the next one. */
#define RECORDS_MAX     20
#define RECORDS_EACH_NS 2000000000u

#endif
