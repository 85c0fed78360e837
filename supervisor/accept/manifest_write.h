/*
 * Writes a manifest, or a catalog, that a person has changed: the whole file at once, and
 * only in place of the text that it was made from.
 */
#ifndef KENNEL_SUPERVISOR_ACCEPT_MANIFEST_WRITE_H
#define KENNEL_SUPERVISOR_ACCEPT_MANIFEST_WRITE_H

#include <stddef.h>

struct manifest_text {
	const char *text; /* NULL: the file does not exist */
	size_t len;
};

/*
 * Replaces the file of this name in this directory, which is made if it does not exist. 0;
 * -ESTALE: its text is not `old`; -EPERM: the directory or the file is a link, has
 * another owner, or others may write it; -errno.
 */
int manifest_write(const char *dir, const char *name, const struct manifest_text *old,
    const struct manifest_text *new);

#endif
