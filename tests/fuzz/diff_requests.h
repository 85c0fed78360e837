/*
 * Requests that two policies answer, for tests/fuzz/fuzz_diff.c.
 */
#ifndef KENNEL_TESTS_FUZZ_DIFF_REQUESTS_H
#define KENNEL_TESTS_FUZZ_DIFF_REQUESTS_H

#include <stdint.h>

#include "policy/sealed/policy.h"

/*
 * Aborts if the new policy p[1] permits its server s[1] a request that the old one asks
 * about or denies for s[0], or asks about one that the old one denies: today, and after
 * each `until`.  seed: chooses among the starts of programs.
 */
void requests_ask(
    const struct policy p[2], const struct sealed_server *const s[2], uint64_t seed);

#endif
