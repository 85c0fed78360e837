/*
 * The catalog of tokens: for each kind that a provider hands out, where it is
 * made, what it looks like, where it is used.  Bundled (policy/manifests/catalog.kennel,
 * compiled in); a person's catalog.kennel in ~/.config/kennel stands before that,
 * a project's in .kennel before both.  A row replaces the one of its name whole.
 */
#ifndef KENNEL_POLICY_CATALOG_H
#define KENNEL_POLICY_CATALOG_H

#include "policy/manifests/manifests.h"

#define CATALOG_FILE "catalog.kennel"

enum catalog_origin { CATALOG_BUNDLED, CATALOG_PERSONAL, CATALOG_PROJECT };

struct catalog_row {
	struct meta meta; /* path: PROVIDER/KIND */
	const char *liveness;
	const struct word *step;
	size_t step_n;
	enum catalog_origin origin;
};

struct catalog {
	struct catalog_row *row; /* sorted by name */
	size_t n;
	struct catalog_own *own;
};

/* As metas_read: 0; -EINVAL and the like, and diag has the reasons. */
int catalog_read(
    const char *project, const char *config, FILE *diag, struct catalog *ret);
/* From texts; NULL: there is none.  The bundled one is always there. */
int catalog_merge(const struct meta_text *project, const struct meta_text *personal,
    FILE *diag, struct catalog *ret);
void catalog_free(struct catalog *);

const struct catalog_row *catalog_find(const struct catalog *, const char *name);
/* The first that names this pattern, or NULL. */
const struct catalog_row *catalog_of_pattern(const struct catalog *, const char *pattern);

const char *catalog_origin_name(enum catalog_origin);
void catalog_json(const struct catalog *, FILE *);
void token_json(const struct catalog_row *, FILE *);
void catalog_show(const struct catalog *, FILE *);
void token_show(const struct catalog_row *, FILE *);

#endif
