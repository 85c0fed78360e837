/*
 * Edits of a file by place: every byte outside of them is kept.
 */
#ifndef KENNEL_SUPERVISOR_IMPORT_EDIT_H
#define KENNEL_SUPERVISOR_IMPORT_EDIT_H

#include <stdio.h>

#include "shim/base/buf.h"
#include "supervisor/import/entries.h"

struct edit {
	size_t at, len; /* the bytes that are replaced */
	char *text;     /* owned */
};

struct edits {
	struct edit *edit;
	size_t n;
};

/* Adds the edits that make `kennel run NAME` of an entry and remove the variables whose
 * secrets are in clear text. name is a policy's name. 0; -ENOMEM. */
int edits_entry(
    struct edits *, const struct config_tree *, const struct entry *, const char *name);
/* The file after the edits: 0; -ENOMEM; -EINVAL: edits overlap. Sorts them. */
int edits_apply(struct edits *, const struct config_tree *, struct buf *ret);
/* The changed lines, before and after, with the secrets redacted. After edits_apply. */
void edits_diff(const struct edits *, const struct config_tree *, FILE *);
void edits_free(struct edits *);

#endif
