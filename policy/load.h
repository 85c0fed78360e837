/*
 * Private to the loader: load.c (bytes and layout), rows.c (what the rows say
 * about each other), plan.c (the mounts), bpf.c (the programs).  Each check runs on every file,
 * whatever its contents; none trusts a check that has not run before it.
 */
#ifndef KENNEL_POLICY_LOAD_H
#define KENNEL_POLICY_LOAD_H

#include "policy/policy.h"

/* Ceilings of one file; the compiler keeps them too. */
#define SEALED_STR_SUM_MAX  ((uint64_t)256 << 20) /* lengths of all references */
#define SEALED_STR_LEN_MAX  ((1u << 17) - 1)      /* what execve takes in one string */
#define SEALED_MOUNTS_MAX   4096                  /* of one server */
#define SEALED_NAME_LEN_MAX 255
#define SEALED_FILTERS_MAX  8 /* of one server */
#define SEALED_INSNS_MAX    4096
#define SEALED_PATH_LEN_MAX 4095

/* One load: the tables so far, and where to say why not. */
struct load {
	struct policy p;
	uint64_t str_sum;
	char *why;
	size_t why_cap;
};

/* Says why, and returns -EBADMSG. */
int load_refuse(struct load *, const char *, ...) __attribute__((format(printf, 2, 3)));
/* rows.c: every row of every table. */
int load_rows(struct load *);
/* plan.c: the mounts of one server; row is its number, for messages. */
int load_plan(struct load *, const struct sealed_server *, uint32_t row);
/* bpf.c: one finished program for this AUDIT_ARCH. */
int load_bpf(struct load *, const struct sealed_insn *, uint32_t n, uint32_t arch);

#endif
