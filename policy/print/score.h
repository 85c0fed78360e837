/*
 * The risk of a compiled policy, item by item (score.c).
 */
#ifndef KENNEL_POLICY_PRINT_SCORE_H
#define KENNEL_POLICY_PRINT_SCORE_H

#include <stdbool.h>
#include <stddef.h>

#include "policy/sealed/policy.h"

/* One item.  Names and points are stable: kennel-policy(1) lists them. */
struct score_rule {
	const char *name;
	uint32_t points;
	const char *why;
};

struct score_item {
	const struct score_rule *rule;
	struct sealed_at at;
	char *line; /* the policy line; NULL: the server */
};

struct score {
	struct score_item *item;
	size_t n, cap;
	uint32_t sum;
	uint32_t unknown_n; /* items without points, because they are not known */
	bool failed;        /* no memory: items are missing */
};

/* Every item of one server, the highest first.  0 or -ENOMEM. */
int score_server(const struct policy *, const struct sealed_server *, struct score *ret);
void score_free(struct score *);
struct out;
/* Writes the members `score`, `unknown` and `items` into the object that is open. */
void score_put(struct out *, const struct policy *, const struct score *);
/* What the number does not mean: printed after every score. */
extern const char score_caveat[];

#endif
