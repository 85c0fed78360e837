/*
 * Private to the filter: seccomp.c (the tables and libseccomp's part) and
 * seccomp_prologue.c (the instructions before it).
 */
#ifndef KENNEL_POLICY_COMPILE_SECCOMP_H
#define KENNEL_POLICY_COMPILE_SECCOMP_H

#include "policy/compile/seccomp_rows.h"
#include "policy/sealed/load.h"

#define LOW 0xffffffffu /* the half of an argument that is checked */

struct program {
	struct sealed_insn insn[SEALED_INSNS_MAX];
	uint32_t n;
	bool full;
};

/* A filter being built. */
struct making {
	struct sealer *s;
	struct sealed_range calls; /* the policy's own lines */
	uint32_t arch;
	void *ctx; /* libseccomp's context */
	struct program program;
	struct decoded decoded;
};

/* The policy's own verdict for this call, or -1. */
int filter_said(const struct making *, const char *name);
/* The call's number on that architecture; negative: it has none. */
int filter_number(uint32_t arch, const char *name);
void filter_put(struct program *, uint16_t code, uint32_t k, uint8_t jt, uint8_t jf);
/* Emits the start of the program and its rows. */
void filter_prologue(struct making *);

#endif
