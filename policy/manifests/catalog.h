/*
 * The catalog of tokens: for each kind of token of a provider, where it is
 * created, its format, and where it is used.  There is a built-in catalog
 * (policy/manifests/catalog.kennel). The user's catalog.kennel in
 * ~/.config/kennel overrides it, and a project's in .kennel overrides both.
 * Catalogs by URL, which these two files name, are between the built-in one and
 * the user's.  A row replaces the whole row with the same name.
 */
#ifndef KENNEL_POLICY_MANIFESTS_CATALOG_H
#define KENNEL_POLICY_MANIFESTS_CATALOG_H

#include "policy/manifests/manifests.h"

#define CATALOG_FILE "catalog.kennel"

enum catalog_origin {
	CATALOG_BUNDLED,
	CATALOG_FETCHED,
	CATALOG_PERSONAL,
	CATALOG_PROJECT,
};

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

/*
 * catalog_stored.c.  Like metas_read: 0; -EINVAL and others, with the reasons in diag.
 * store: the directory of catalogs by URL; NULL: none.  A catalog that was not fetched
 * yet, or whose copy was altered, is left out, with a warning.
 */
int catalog_read(const char *project, const char *config, const char *store, FILE *diag,
    struct catalog *ret);
/* From texts; NULL: no such text.  The built-in one is always included. */
struct catalog_texts {
	const struct meta_text *project, *personal, *fetched;
	size_t fetched_n;
};
int catalog_merge(const struct catalog_texts *, FILE *diag, struct catalog *ret);
void catalog_free(struct catalog *);

const struct catalog_row *catalog_find(const struct catalog *, const char *name);
/* The first row with this pattern, or NULL. */
const struct catalog_row *catalog_of_pattern(const struct catalog *, const char *pattern);

void catalog_json(const struct catalog *, FILE *);
void token_json(const struct catalog_row *, FILE *);
void catalog_show(const struct catalog *, FILE *);
void token_show(const struct catalog_row *, FILE *);

#endif
