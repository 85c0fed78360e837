/*
 * Trusted files: what runs or decides, compared with what servers may write.
 *
 * A program, its interpreter and libraries, the source of a secret, pins and
 * policies determine what a server does.  A server that can write one of them
 * can take over another server or change itself.  So no `write` grant of any
 * known server may reach a trusted file.  Paths are compared as written and as
 * resolved.
 */
#ifndef KENNEL_POLICY_CHECK_TRUSTED_H
#define KENNEL_POLICY_CHECK_TRUSTED_H

#include <stdio.h>

#include "policy/base/diag.h"
#include "policy/base/source.h"
#include "policy/lang/ast.h"
#include "policy/sealed/policy.h"
#include "shim/base/buf.h"

enum trusted_use {
	USE_RUN,
	USE_EXEC,
	USE_INTERPRETER,
	USE_LIBRARY,
	USE_RUNTIME,
	USE_SECRET_FILE,
	USE_SECRET_CMD,
	USE_PLUGIN,
	USE_SECRET_INTERPRETER, /* of either of these two */
	USE_SIDECAR,
	USE_ROUTES,
	USE_PINS,
	USE_INCLUDE,
	USE_POLICY,
	USE_ARGUMENT, /* argument of a program: only a warning, as it is text */
	USE_OWN,      /* kennel's own: `what` names it */
};

/* The policy line of an entry. */
struct trusted_line {
	const char *server; /* NULL: of no server */
	const char *file;   /* of the policy; NULL: standard input, or none */
	uint32_t line;      /* 0: none */
	struct at at;       /* in the text being compiled */
	unsigned int group; /* policies that are read together share one number */
};

struct trusted_file {
	struct trusted_line by;
	enum trusted_use use;
	const char *what;  /* description, for USE_OWN */
	uint32_t right;    /* the forbidden ones of RIGHT_READ and RIGHT_WRITE */
	bool below;        /* a directory: everything below it counts too */
	const char **path; /* as written, as resolved, and each link on the way */
	size_t path_n;
};

struct trusted_grant {
	struct trusted_line by;
	const char *path;
	uint32_t right;
};

struct trusted;

/* All memory is in the arena.  NULL: no memory. */
struct trusted *trusted_new(struct arena *);
/* Adds a path that a policy grants; resolved: it is canonical.  0 or -ENOMEM. */
int trusted_add_grant(struct trusted *, const struct trusted_line *, const char *path,
    uint32_t right, bool resolved);
/* Adds a file; from has all fields but path and path_n, which are found here. */
int trusted_add_file(
    struct trusted *, const struct trusted_file *from, const char *path, bool resolved);

/*
 * Receives one match; real is the path that is reached.  true: skip further
 * grants of this file.
 */
typedef bool trusted_fn(void *arg, const struct trusted_file *, const char *real,
    const struct trusted_grant *);
/* Reports every grant that reaches the file; or that reaches any file. */
void trusted_reach(
    struct trusted *, const struct trusted_file *, trusted_fn *, void *arg);
void trusted_pairs(struct trusted *, trusted_fn *, void *arg);
/* -EPERM and why, truncated, for the first match, after the line of its file if the
 * file has one; 0: no grant reaches a file. */
int trusted_first(struct trusted *, char *why, size_t why_cap);
/* All grants, in the order in which they were added. */
const struct trusted_grant *trusted_grants(const struct trusted *, size_t *ret_n);

/* "REAL is WHAT, and `write` on PLACE lets server `A` replace it: ..." */
#define TRUSTED_TEXT_MAX 6144
void trusted_text(char out[TRUSTED_TEXT_MAX], const struct trusted_file *,
    const char *real, const struct trusted_grant *);

/* ---- trusted_command.c: what runs outside every cell --------------------- */

/*
 * Adds the file that a word of a command names, if it names one, and the interpreters
 * and loaders that the kernel would start with it.  from is as in trusted_add_file.
 * 0 or -ENOMEM.
 */
int trusted_add_word(struct trusted *, const struct trusted_file *from, const char *word);

/* ---- trusted_text.c: for a checked text ---------------------------------- */

/* Adds everything in the text to tree->trusted; errors go to diag. */
void trusted_check(struct tree *, struct diag *);
/*
 * The same without kennel's own files, into tree->known, if the caller
 * collects: call it before the tree is lowered.
 */
int trusted_collect(struct tree *);
/*
 * Called while lowering: adds a file that a program needs, by its canonical
 * path.  Errors go to diag.  0 or -ENOMEM.
 */
int trusted_need(const struct tree *, const struct server *, enum trusted_use, bool below,
    struct at, const char *real, struct diag *);
/*
 * Like policy_compile for all servers; adds what they run and may reach to
 * known, with this group.
 */
int policy_compile_known(const struct policy_source *, size_t source_n, struct buf *out,
    FILE *diag, struct trusted *known, unsigned int group);

/* ---- trusted_rows.c: for a sealed policy --------------------------------- */

/*
 * Adds what the servers run and may reach.  Libraries that a `read` grant of
 * the same server covers have no row, and are not included.  0 or -ENOMEM.
 */
int trusted_policy(struct trusted *, const struct policy *, unsigned int group);
/*
 * -EPERM with why: a server of the policy may write a file that one of them
 * runs.
 */
int trusted_admit(const struct policy *, char *why, size_t why_cap);

#endif
