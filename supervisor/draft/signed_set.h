/*
 * What npm verified, as its own verification saw it: the texts NAME@VERSION:DIGEST under
 * which it found a valid signature of the registry's. npm itself reports only that none of
 * those that it looked at was wrong.
 */
#ifndef KENNEL_SUPERVISOR_DRAFT_SIGNED_SET_H
#define KENNEL_SUPERVISOR_DRAFT_SIGNED_SET_H

#include <stdbool.h>
#include <stddef.h>

#include "supervisor/draft/npm_lock.h"

struct signed_set {
	char *text;  /* owned */
	char **line; /* into text, sorted */
	size_t n;
};

/* A script for node, to be loaded before npm, that writes the set into SIGNED_FILE of the
 * directory HOME, which must not have one yet. */
extern const char signed_script[];
#define SIGNED_FILE "signed"

/* Takes what the script wrote: 0; -EBADMSG: its last line has no end, or it has a byte that
 * is not printable; -ENOMEM. signed_free in every case. */
int signed_take(const char *text, size_t len, struct signed_set *ret);
/* Reads SIGNED_FILE of this directory: the same, or -ENOENT, -EFBIG, -EIO. */
int signed_read(const char *dir, struct signed_set *ret);
void signed_free(struct signed_set *);
/* Is the digest of this package, as it is installed, the one that was signed? */
bool signed_has(const struct signed_set *, const struct lock_package *);

#endif
