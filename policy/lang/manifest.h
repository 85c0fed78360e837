/*
 * Statements of manifests and catalogs: secret, override, token, required,
 * optional, catalog.
 */
#ifndef KENNEL_POLICY_LANG_MANIFEST_H
#define KENNEL_POLICY_LANG_MANIFEST_H

#include <stdbool.h>
#include <stdint.h>

#include "policy/lang/ast.h"

enum manifest_kind {
	MANIFEST_NONE,
	MANIFEST_APPROVE,
	MANIFEST_DESCRIPTION,
	MANIFEST_EXPIRES,
	MANIFEST_HOSTS,
	MANIFEST_LAST_ROTATED,
	MANIFEST_LIVENESS,
	MANIFEST_PATTERN,
	MANIFEST_RETRIEVAL_URL,
	MANIFEST_ROTATE_EVERY,
	MANIFEST_ROTATION,
	MANIFEST_SCOPES,
	MANIFEST_STEPS,
};

#define MANIFEST_WORDS_MAX 4096 /* paths after one `required` */
#define CATALOG_WORDS_MAX  7    /* of one `catalog` */
#define CATALOG_TAKES \
	"one quoted URL, and perhaps `to SCOPE`, `ca FILE` and `sha256 DIGEST`"

/* The field that a bare word names. */
enum manifest_kind manifest_field(const struct word *);
/* The field has one value: the word after it is the next field's name. */
/* The factor of these words of `approve`, as in `per-call with key`; NULL: none. */
const char *manifest_factor(const struct word *, size_t n);
bool manifest_takes_one(enum manifest_kind);
/* A name that people use for secret values; gets its own message. */
bool manifest_is_value_word(const struct word *);
/* The days of `rotate-every`: 0 or -EINVAL. */
int manifest_days(const struct word *, uint32_t *ret);
/* Statements of manifests and catalogs, except `catalog`: secret, override, token,
 * required, optional. */
void manifest_check(struct tree *, struct diag *);
/* Refuses these statements in a policy, except `secret`. */
void manifest_check_policy(struct tree *, struct diag *);

#endif
