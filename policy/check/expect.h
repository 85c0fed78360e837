/*
 * Runs the `expect` lines of a policy against the matcher.
 */
#ifndef KENNEL_POLICY_CHECK_EXPECT_H
#define KENNEL_POLICY_CHECK_EXPECT_H

#include "policy/base/diag.h"
#include "policy/lang/ast.h"
#include "policy/sealed/policy.h"

/* What this machine lacks of a server's policy, so that its rows do not show it. */
struct lacks {
	bool files; /* programs, libraries, paths */
	bool in;    /* a directory of `in` that cannot be resolved */
	bool pins;
};

/* The matcher's answer to one `expect` line of this server.  0 or -ENOMEM. */
int expect_ask(const struct policy *, const struct sealed_server *,
    const struct expectation *, struct policy_answer *ret);
/* Does the answer depend on what this machine lacks? Then expect_ask() has a wrong one. */
bool expect_is_open(const struct lacks *, const struct expectation *);
/*
 * Runs every `expect` of the servers in p; each mismatch goes to diag. lacks: one for each
 * server of p. An open one is not run: a warning with the code `unchecked`, and counted.
 */
int expect_run(
    const struct tree *, const struct policy *p, const struct lacks *, struct diag *);

#endif
