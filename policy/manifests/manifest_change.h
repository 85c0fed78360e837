/*
 * Changes of manifests: what an agent proposes and a person accepts. A change keeps every
 * byte of a manifest but the lines that it is about, and every other fact that the
 * manifests contain: the new texts are merged again and compared.
 */
#ifndef KENNEL_POLICY_MANIFESTS_MANIFEST_CHANGE_H
#define KENNEL_POLICY_MANIFESTS_MANIFEST_CHANGE_H

#include "policy/manifests/manifests.h"
#include "shim/base/buf.h"

#define META_CHANGE_TEXT_MAX 512 /* bytes of a text that is proposed */
#define META_CHANGE_NAME_MAX 64
#define META_CHANGE_DAYS_MAX 3650

struct meta_change {
	bool has_description, has_retrieval_url, has_pattern, has_rotate_every,
	    has_expires;
	char description[META_CHANGE_TEXT_MAX + 1];
	char retrieval_url[META_CHANGE_TEXT_MAX + 1];
	char pattern[META_CHANGE_NAME_MAX + 1];
	uint32_t rotate_every; /* days */
	uint32_t expires;      /* days since 1970-01-01; 0: no date */
};

/* What is wrong with it: a static text without a byte of it, which names the field as the
 * tools do; NULL: nothing. */
const char *meta_change_wrong(const struct meta_change *);
bool meta_change_same(const struct meta_change *, const struct meta_change *);
/* The fields of this secret that it changes: a bit for each enum manifest_kind. */
unsigned int meta_change_fields(const struct meta_change *, const struct meta *);
/* Does it change anything of this secret? */
bool meta_change_matters(const struct meta_change *, const struct meta *);

/* Both manifests; project or index NULL: that file does not exist. */
struct manifest_texts {
	const struct meta_text *project, *index;
};
/* A buffer stays empty if that file does not change. */
struct manifest_new {
	struct buf project, index;
};
void manifest_new_init(struct manifest_new *);
void manifest_new_free(struct manifest_new *);

/*
 * Changes a secret that the project declares, in the statement that each value comes from:
 * the project's `secret`, else its `override`, else the index. 0; -ENOENT: the project
 * does not declare it; -EINVAL: a manifest has an error, or the change does not fit the
 * statement; -ENOMEM.
 */
int manifest_change(const struct manifest_texts *, const char *path,
    const struct meta_change *, struct manifest_new *ret);
/* Declares a secret in the project's manifest, as required: 0; -EEXIST: it is declared;
 * -EINVAL; -ENOMEM. */
int manifest_add(const struct manifest_texts *, const char *path,
    const struct meta_change *, struct manifest_new *ret);

#endif
