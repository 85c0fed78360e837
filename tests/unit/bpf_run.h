/*
 * The kernel's interpreter of a seccomp program, as simple as it can be: what the loader's
 * simulation is compared with.
 */
#ifndef KENNEL_TESTS_UNIT_BPF_RUN_H
#define KENNEL_TESTS_UNIT_BPF_RUN_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <string.h>

#include "policy/sealed/policy.h"

/* The verdict of a program that load_bpf accepts. */
static inline uint32_t
bpf_run(const struct sealed_insn *i, const struct seccomp_data *d)
{
	uint32_t a = 0;
	bool yes;

	for (;; i++) {
		if (i->code == (BPF_RET | BPF_K))
			return i->k;
		if (i->code == (BPF_LD | BPF_W | BPF_ABS))
			memcpy(&a, (const char *)d + i->k, sizeof(a));
		else if (i->code == (BPF_ALU | BPF_AND | BPF_K))
			a &= i->k;
		else if (i->code == (BPF_JMP | BPF_JA))
			i += i->k;
		else {
			yes = BPF_OP(i->code) == BPF_JEQ   ? a == i->k
			      : BPF_OP(i->code) == BPF_JGT ? a > i->k
			      : BPF_OP(i->code) == BPF_JGE ? a >= i->k
							   : (a & i->k) != 0;
			i += yes ? i->jt : i->jf;
		}
	}
}

#endif
