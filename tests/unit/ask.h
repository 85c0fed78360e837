/*
 * The matcher's questions in one line each, with nothing said but the least.
 */
#ifndef KENNEL_TESTS_UNIT_ASK_H
#define KENNEL_TESTS_UNIT_ASK_H

#include "policy/sealed/policy.h"

static inline struct policy_answer
ask_exec(const struct policy *p, const struct sealed_server *s, uint32_t asked,
    struct policy_argv argv)
{
	const struct policy_exec_ask ask = {
	    .asked = asked, .argv = argv, .caller = SEALED_NONE};

	return policy_match_exec_call(p, s, &ask);
}

static inline struct policy_answer
ask_gate(const struct policy *p, const struct sealed_server *s,
    enum sealed_gate_kind kind, const char *name, size_t len)
{
	const struct policy_gate_ask ask = {.kind = kind, .name = name, .name_len = len};

	return policy_match_gate(p, s, &ask);
}

#endif
