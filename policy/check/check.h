/*
 * Shared by the files that check a tree: check.c (files, programs, variables),
 * mcp.c (tools, conditions, audit), net.c (hosts, and secrets that may be sent
 * to them), settings.c (limits, variables, secrets), conflict.c (conflicts
 * between statements), lint.c (grants that are wider or emptier than they
 * look).
 */
#ifndef KENNEL_POLICY_CHECK_CHECK_H
#define KENNEL_POLICY_CHECK_CHECK_H

#include "policy/base/diag.h"
#include "policy/lang/ast.h"
#include "policy/lang/check_word.h"

check_fn check_gate, check_method, check_offer, check_audit, check_syscalls, check_pins;
check_fn check_net, check_secret_options;
check_fn check_require, check_limit, check_env, check_secret;
/* Checks every net grant against the hosts of each secret of the server. */
void check_secret_hosts(struct check *, const struct server *);

/* owner, ticket, until: all or none, and a valid date. */
void check_exception(struct check *, const struct stmt *);
/* Does this value look like a secret, with the name of its variable or header, or the
 * argument before it? (settings.c) */
bool check_is_secret(const char *name, const char *value);
/* Where a program without a directory is looked up, in this order: by the compiler, and
 * by requests to a compiled policy. */
#define CHECK_BIN_DIRS_N 3
extern const char *const check_bin_dirs[CHECK_BIN_DIRS_N];
/* The qualifier, or NULL. */
const struct qual *stmt_qual(const struct stmt *, enum keyword);

/* never.c: checks that claims are well formed, and that they hold. */
void never_check(struct check *);
/* expect.c: checks that servers exist and that no word is a pattern. */
void expects_check(struct check *);
/* lint.c: dead, shadowed and over-broad grants. */
void lint_server(struct check *, const struct server *);

/*
 * Checks types, duplicates, units, paths, refused variables, contradictions. True: the tree
 * can be lowered, and every warning was looked for; a broken `never` does not prevent that.
 */
bool tree_check(struct tree *, struct diag *);

/* The enum sealed_class of a word like @readonly, or 0 (mcp.c). */
uint32_t gate_class(const struct word *);
/* Does libseccomp know this call (seccomp.c)? */
bool syscall_is_known(const char *);

/* Duplicates in a server, and grants that contradict each other. */
void conflict_server(struct tree *, const struct server *, struct diag *);
/* Servers with the same name. */
void conflict_names(struct tree *, struct diag *);

#endif
