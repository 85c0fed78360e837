/*
 * Private to the loader and the sealer.  fields.c defines the constraints of
 * every field.  load.c checks bytes and layout; check_rows.c and check_rules.c
 * the rows; check_mounts.c the mounts; check_bpf.c and simulate_bpf.c the
 * seccomp programs.  Each check runs on every file, whatever its contents, and
 * relies only on checks that ran before it.
 */
#ifndef KENNEL_POLICY_SEALED_LOAD_H
#define KENNEL_POLICY_SEALED_LOAD_H

#include <stdbool.h>
#include <stdio.h>

#include "policy/sealed/fields.h"
#include "policy/sealed/policy.h"

/* Limits of one file; the compiler keeps them too. */
#define SEALED_STR_SUM_MAX  ((uint64_t)256 << 20) /* total length of all references */
#define SEALED_STR_LEN_MAX  ((1u << 17) - 1)      /* execve's limit for a string */
#define SEALED_MOUNTS_MAX   4096                  /* of one server */
#define SEALED_NAME_LEN_MAX 255
#define SEALED_PIN_NAME_MAX 4096 /* of a definition */
#define SEALED_FILTERS_MAX  8    /* of one server */
#define SEALED_INSNS_MAX    4096
#define SEALED_PATH_LEN_MAX 4095
#define SEALED_SYSCALLS_MAX 2048 /* of one filter */
#define SEALED_COMPARES_MAX 6    /* of one such row */

/* One load: the tables so far, and the buffer for the reason of a failure. */
struct load {
	struct policy p;
	bool replay_later; /* leave the simulation of filters to policy_replay */
	uint64_t str_sum;
	uint32_t str_n;  /* strings of the pool */
	uint32_t used_n; /* of those, how many a row refers to */
	uint8_t *used;   /* one bit for each byte of the pool */
	/*
	 * FIELD_RANGE: where the next range must begin, and where the last one
	 * ends.
	 */
	uint32_t next[SEALED_KIND_END], end[SEALED_KIND_END];
	const struct sealed_server *server;        /* server being checked, or NULL */
	uint64_t rate_sum;                         /* of its gates so far */
	struct sealed_range part[SEALED_KIND_END]; /* its parts of the tables */
	char *why;
	size_t why_cap;
};

/* Stores the reason and returns -EBADMSG. */
int load_refuse(struct load *, const char *, ...) __attribute__((format(printf, 2, 3)));
/* check_rows.c: every row of every table. used must be allocated and zero. */
int load_rows(struct load *);
bool load_is_name(const char *, size_t len, bool variable);
/* check_rules.c: one for each kind that needs one; else NULL. */
typedef int load_rule_fn(struct load *, uint32_t row);
extern load_rule_fn *const load_rules[SEALED_KIND_END];
/* check_mounts.c: the mounts of one server; row is its number, for messages. */
int load_plan(struct load *, const struct sealed_server *, uint32_t row);
/* check_bpf.c: one finished program. */
int load_bpf(struct load *, const struct sealed_filter *);
/*
 * The filters of every policy without `syscalls` lines: only the tables that a
 * filter needs (filter, insn, syscall, compare, strings).  policy/filters generates
 * them when kennel is built, and proves there what load_bpf and load_replay prove of
 * a file's filter.
 */
extern const struct policy default_filters;
/* check_bpf.c: does this row name one, instead of having rows of its own? */
bool filter_is_named(const struct sealed_filter *);
/* The one with this row's architecture and digest; NULL: none. */
const struct sealed_filter *default_filter_find(const struct sealed_filter *);
/* simulate_bpf.c: a well-formed program does what its rows require. */
int load_replay(struct load *, const struct sealed_filter *);

#endif
