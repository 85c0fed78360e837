/*
 * The verdicts of a filter as rows: collected while the filter is built, sealed
 * with it, and used by the loader to simulate it.
 */
#ifndef KENNEL_POLICY_COMPILE_SECCOMP_ROWS_H
#define KENNEL_POLICY_COMPILE_SECCOMP_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "policy/compile/write_sealed.h"
#include "policy/sealed/sealed.h"

#define DECODED_COMPARES_MAX 4

struct decoded_row {
	struct sealed_ref name;
	uint32_t nr;
	uint32_t action;
	uint32_t seq; /* keeps the order of rows with one number */
	struct sealed_compare compare[DECODED_COMPARES_MAX];
	uint32_t compare_n;
};

struct decoded {
	struct decoded_row *row; /* the caller frees it */
	size_t n, cap;
	bool failed;
};

void decoded_put(struct decoded *, const struct decoded_row *);
/*
 * Sorts everything into SYSCALLS and COMPARES. A number whose rows do not cover
 * all arguments gets another row, with the action `rest`. 0, -ENOMEM.
 */
int decoded_seal(
    struct decoded *, struct sealer *, uint32_t rest, struct sealed_range *ret);

/*
 * Builds one row of FILTERS: the allow-list (syscall_list.h), changed by the
 * policy's CALLS rows, as finished BPF for one AUDIT_ARCH, with the rows that
 * describe its verdicts.  -EPERM: the policy allows a call whose arguments must
 * be checked; -EINVAL: unknown call.
 */
int filter_build(struct sealer *, uint32_t audit_arch, struct sealed_range calls,
    struct sealed_range *ret);
/*
 * seccomp_rows.c: filters for every architecture.  Equal lines share their rows; no
 * lines: the default filters, by name.
 */
int filters_build(struct sealer *, struct sealed_range calls, struct sealed_range *ret);

#endif
