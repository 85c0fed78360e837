/*
 * Between the manifests (secretmeta*.c) and the catalog, which read the same
 * statements.
 */
#ifndef KENNEL_POLICY_SECRETMETA_OWN_H
#define KENNEL_POLICY_SECRETMETA_OWN_H

#include "policy/manifests/manifests.h"
#include "policy/lang/lex.h"

/* Every field of a checked statement into its row. */
void meta_fill(struct meta *, const struct manifest *);

/* A file of people's: its text, or text.text NULL where there is none. */
struct manifest_file {
	struct meta_text text;
	char *data; /* the caller frees */
};

/* folder may be NULL.  0; -errno, and why was told in diag. */
int manifest_file_read(const char *folder, const char *name, const char *shown,
    FILE *diag, struct manifest_file *ret);

/* The same file of both: below the project's folder, and in the configuration
 * folder (either may be NULL).  On failure too the caller frees both data. */
int manifest_pair_read(const char *project, const char *config, const char *name,
    const char *shown, FILE *diag, struct manifest_file *ret_own,
    struct manifest_file *ret_index);

/* n texts, each NULL where there is none, as sources of their own that are called
 * name: what words point into lives as long as text[].  0 or -ENOMEM; the caller
 * frees text[]. */
int meta_texts_keep(const struct meta_text *const *given, size_t n, const char *name,
    char **text, struct policy_source *source);

/* Statements that only policies have, `let` and `include` among them. */
void manifest_check_foreign(const struct tree *, struct diag *);

#endif
