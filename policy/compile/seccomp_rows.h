/*
 * What a filter answers, as rows: gathered while the filter is made, sealed
 * beside it, and what the loader replays it against.
 */
#ifndef KENNEL_POLICY_DECODED_H
#define KENNEL_POLICY_DECODED_H

#include "policy/lang/ast.h"

#define DECODED_COMPARES_MAX 4

struct decoded_row {
	struct sealed_ref name;
	uint32_t nr;
	uint32_t action;
	uint32_t seq; /* rows of one number keep their order */
	struct sealed_compare compare[DECODED_COMPARES_MAX];
	uint32_t compare_n;
};

struct decoded {
	struct decoded_row *row; /* free() it */
	size_t n, cap;
	bool failed;
};

void decoded_put(struct decoded *, const struct decoded_row *);
/* Everything sorted into SYSCALLS and COMPARES; a number of which no row takes
 * all arguments gets one more, with the action `rest`.  0, -ENOMEM. */
int decoded_seal(
    struct decoded *, struct sealer *, uint32_t rest, struct sealed_range *ret);

#endif
