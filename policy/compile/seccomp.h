/*
 * Private to the filter: filter.c (the tables and libseccomp's part) and
 * prologue.c (what stands in front of it).
 */
#ifndef KENNEL_POLICY_FILTER_H
#define KENNEL_POLICY_FILTER_H

#include "policy/compile/seccomp_rows.h"
#include "policy/sealed/load.h"

#define LOW 0xffffffffu /* of an argument, the half that is looked at */

struct program {
	struct sealed_insn insn[SEALED_INSNS_MAX];
	uint32_t n;
	bool full;
};

/* One filter under way. */
struct making {
	struct sealer *s;
	struct sealed_range calls; /* the policy's own lines */
	uint32_t arch;
	void *ctx; /* libseccomp's */
	struct program program;
	struct decoded decoded;
};

/* What the policy itself says of this call, or -1. */
int filter_said(const struct making *, const char *name);
/* The call's number there; below 0: it has none. */
int filter_number(uint32_t arch, const char *name);
void filter_put(struct program *, uint16_t code, uint32_t k, uint8_t jt, uint8_t jf);
/* Program and rows begin with this. */
void filter_prologue(struct making *);

#endif
