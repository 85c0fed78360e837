/*
 * Shared by the manifests (read_manifests.c, merge.c) and the catalog, which
 * parse the same statements.
 */
#ifndef KENNEL_POLICY_MANIFESTS_PRIVATE_H
#define KENNEL_POLICY_MANIFESTS_PRIVATE_H

#include "policy/base/diag.h"
#include "policy/base/source.h"
#include "policy/lang/ast.h"
#include "policy/manifests/manifests.h"

/* The words of enum meta_rotation and enum meta_approve. */
extern const char *const meta_rotations[], *const meta_approvals[];
/* Copies every field of a checked statement to its row. */
void meta_fill(struct meta *, const struct manifest *);

/* A file of the user: its text, or text.text NULL if it does not exist. */
struct manifest_file {
	struct meta_text text;
	char *data; /* the caller frees */
};

/* The directory may be NULL.  0; -errno with the reason reported in diag. */
int manifest_file_read(const char *dir, const char *name, const char *shown, FILE *diag,
    struct manifest_file *ret);
/*
 * Reads the file of both places: below the project's directory, and in the
 * configuration directory (either may be NULL). The caller frees both data,
 * also on failure.
 */
int manifest_pair_read(const char *project, const char *config, const char *name,
    const char *shown, FILE *diag, struct manifest_file *ret_own,
    struct manifest_file *ret_index);

/*
 * Makes n texts (each may be NULL) into sources with the given name.  The words
 * that point into them are valid as long as text[]. 0 or -ENOMEM; the caller
 * frees text[].
 */
int meta_texts_keep(const struct meta_text *const *given, size_t n, const char *name,
    char **text, struct policy_source *source);

/* Refuses statements that only policies have, `let` and `include` among them. */
void manifest_check_foreign(const struct tree *, struct diag *);

/* ---- print_manifests.c ---------------------------------------------------- */

/* One line for people; nothing if text is NULL. */
void meta_row(FILE *, const char *what, const char *text);
struct out;
void meta_json_rotate_every(const struct meta *, struct out *);

#endif
