/*
 * Runs the `expect` lines of a policy against the matcher.
 */
#ifndef KENNEL_POLICY_CHECK_EXPECT_H
#define KENNEL_POLICY_CHECK_EXPECT_H

#include "policy/base/diag.h"
#include "policy/lang/ast.h"
#include "policy/sealed/policy.h"

/* The matcher's answer to one `expect` line of this server.  0 or -ENOMEM. */
int expect_ask(const struct policy *, const struct sealed_server *,
    const struct expectation *, struct policy_answer *ret);
/* Runs every `expect` of the servers in p; each mismatch goes to diag. */
int expect_run(const struct tree *, const struct policy *p, struct diag *);

#endif
