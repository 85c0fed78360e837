/*
 * Private to the loader and to the sealer.  fields.c says what every field must
 * be; load.c looks at bytes and layout, rows.c and rules.c at the rows, plan.c at the
 * mounts, bpf.c and replay.c at the programs.  Each check runs on every file, whatever its contents;
 * none trusts a check that has not run before it.
 */
#ifndef KENNEL_POLICY_LOAD_H
#define KENNEL_POLICY_LOAD_H

#include "policy/sealed/fields.h"
#include "policy/sealed/policy.h"

/* Ceilings of one file; the compiler keeps them too. */
#define SEALED_STR_SUM_MAX  ((uint64_t)256 << 20) /* lengths of all references */
#define SEALED_STR_LEN_MAX  ((1u << 17) - 1)      /* what execve takes in one string */
#define SEALED_MOUNTS_MAX   4096                  /* of one server */
#define SEALED_NAME_LEN_MAX 255
#define SEALED_FILTERS_MAX  8 /* of one server */
#define SEALED_INSNS_MAX    4096
#define SEALED_PATH_LEN_MAX 4095
#define SEALED_SYSCALLS_MAX 2048 /* of one filter */
#define SEALED_COMPARES_MAX 6    /* of one row of those */

/* One load: the tables so far, and where to say why not. */
struct load {
	struct policy p;
	bool replay_later; /* the filters: by policy_replay, if at all */
	uint64_t str_sum;
	uint32_t str_n;  /* strings of the pool */
	uint32_t used_n; /* of which a row speaks */
	uint8_t *used;   /* a bit for each byte of the pool */
	/* FIELD_RANGE: where the next range begins, and the last one ends. */
	uint32_t next[SEALED_KIND_END], end[SEALED_KIND_END];
	const struct sealed_server *server;        /* whose rows are looked at, or NULL */
	struct sealed_range part[SEALED_KIND_END]; /* its parts of the tables */
	char *why;
	size_t why_cap;
};

/* The server's part of every table; of a table that it has none of, n is 0. */
void load_parts(const struct sealed_server *, struct sealed_range ret[SEALED_KIND_END]);
/* Says why, and returns -EBADMSG. */
int load_refuse(struct load *, const char *, ...) __attribute__((format(printf, 2, 3)));
/* rows.c: every row of every table.  used is there and zero. */
int load_rows(struct load *);
bool load_is_name(const char *, size_t len, bool variable);
/* rules.c: one for each kind that needs one; else NULL. */
typedef int load_rule_fn(struct load *, uint32_t row);
extern load_rule_fn *const load_rules[SEALED_KIND_END];
/* plan.c: the mounts of one server; row is its number, for messages. */
int load_plan(struct load *, const struct sealed_server *, uint32_t row);
/* bpf.c: one finished program. */
int load_bpf(struct load *, const struct sealed_filter *);
/* replay.c: that program, known to be well formed, does what its rows say. */
int load_replay(struct load *, const struct sealed_filter *);
/* The program's answer, from instruction pc on; *steps grows. */
struct seccomp_data;
uint32_t bpf_run(const struct sealed_insn *, uint32_t pc, const struct seccomp_data *,
    uint32_t *steps);

#endif
