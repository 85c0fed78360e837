/*
 * Between the files that check a tree: check.c (files, programs, variables),
 * check_mcp.c (tools, conditions, audit), check_net.c (hosts, and secrets that
 * may meet them), check_value.c (limits, variables, secrets), conflict.c (statements against each other), lint.c (what is
 * wider or emptier than it looks).
 */
#ifndef KENNEL_POLICY_CHECK_H
#define KENNEL_POLICY_CHECK_H

#include "policy/lang/lex.h"

struct check {
	struct tree *tree;
	struct diag *diag;
	const struct server *server; /* conflict.c */
};

typedef void check_fn(struct check *, struct stmt *);

struct shown {
	char text[DIAG_TEXT_CAP];
};

/* A word as it was written, fit for a message. */
const char *check_show(struct shown *, const struct word *);
/* A literal word; false: reported. */
bool check_literal(struct check *, const struct word *);
/* A path in normal form; false: reported. */
bool check_path_word(struct check *, const struct word *);
/* The name of a variable that may be set; false: reported. */
bool check_variable(struct check *, const struct word *);
/* True: it names a beginning ("NAME_*"), good or reported. */
bool check_beginning(struct check *, const struct word *);

check_fn check_gate, check_offer, check_audit, check_syscalls, check_pins;
check_fn check_net, check_secret_options;
check_fn check_require, check_limit, check_env, check_secret;
/* What stands behind `from` of a secret, wherever it is written. */
check_fn check_secret_source;
/* ld.so and its like, which start any program. */
bool check_is_loader(const char *path);
/* Every net grant against what each secret of the server says of hosts. */
void check_secret_hosts(struct check *, const struct server *);

/* owner, ticket, until: all or none, and a date. */
void check_exception(struct check *, const struct stmt *);
/* The exception of a grant that is over (today, in UTC). */
bool stmt_is_expired(const struct stmt *);
/* The qualifier, or NULL. */
const struct qual *stmt_qual(const struct stmt *, enum keyword);

/* never.c: claims are written as they can be; and they hold. */
void never_check(struct check *);
/* expect.c: servers that are there, patterns that are none. */
void expects_check(struct check *);
/* lint.c: dead, shadowed, over-broad. */
void lint_server(struct check *, const struct server *);

#endif
