/*
 * `catalog "https://HOST/FILE" [to SCOPE] [ca FILE] [sha256 DIGEST]` in catalog.kennel: a
 * catalog by URL.  Only `kennel secret catalog fetch` gets it, and stores it by its digest;
 * everyone else reads the stored copy.
 */
#ifndef KENNEL_POLICY_MANIFESTS_CATALOG_SOURCE_H
#define KENNEL_POLICY_MANIFESTS_CATALOG_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "policy/manifests/manifests.h"

#define CATALOG_STORE       "catalogs"   /* below kennel's data directory */
#define CATALOG_FETCHED_MAX (256u << 10) /* bytes of one */
#define CATALOG_SOURCES_MAX 16           /* of both files */
#define CATALOG_DIGEST_LEN  64           /* hexadecimal digits */

struct catalog_source {
	const char *url;
	const char *to, *ca, *sha256; /* NULL: not given */
	bool https;                   /* false: it is never fetched */
	bool project;                 /* in the project's file, else in the user's */
	size_t end;                   /* of the statement, in bytes of its file */
};

struct catalog_sources {
	struct catalog_source source[CATALOG_SOURCES_MAX];
	size_t n;
	struct catalog_sources_own *own;
};

/* The statements of both files (either may be NULL).  An http:// URL is no error here.
 * Returns and reports like catalog_read. */
int catalog_sources_read(
    const char *project, const char *config, FILE *diag, struct catalog_sources *ret);
/* The same from texts (each may be NULL). */
int catalog_sources_merge(const struct meta_text *project,
    const struct meta_text *personal, FILE *diag, struct catalog_sources *ret);
void catalog_sources_free(struct catalog_sources *);
/* The file of a source as it was read, and with this digest at the end of its statement:
 * the caller frees the latter.  0 or -ENOMEM. */
int catalog_source_pin(const struct catalog_sources *, const struct catalog_source *,
    const char *digest, const char **ret_before, char **ret_after);

/* The stored copy in this directory: text NULL if it is missing.  -EBADMSG: it does not
 * have this digest.  Otherwise as catalog_read.  The caller frees the text. */
int catalog_stored_read(
    const char *store, const struct catalog_source *, FILE *diag, struct metas_text *ret);
/* Is this the text of a catalog by URL, with tokens only? 0 with their number, or -EINVAL
 * with the reasons in diag. */
int catalog_fetched_check(
    const char *url, const char *, size_t len, FILE *diag, size_t *ret_n);

/* Is the text's SHA-256 this, as hexadecimal digits? */
void catalog_digest(const char *, size_t len, char ret[CATALOG_DIGEST_LEN + 1]);

#endif
