/*
 * The list at the end of an unsigned sealed file: the files that it was compiled from,
 * with their digests. It is no part of the policy or of its id, so a comment changes
 * neither. Format: docs/FORMAT.sealed.
 */
#ifndef KENNEL_POLICY_COMPILE_SOURCE_LIST_H
#define KENNEL_POLICY_COMPILE_SOURCE_LIST_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/base/buf.h"

/*
 * Appends a file, unless it is in the list or its name contains a control byte. 0 or
 * -ENOMEM.
 */
int source_list_put(struct buf *list, const char *path, const char *text, size_t len);

struct source_list {
	const char *at, *end;
};
struct listed_source {
	char path[PATH_MAX]; /* as it was named to the compiler */
	uint8_t sha256[32];
};
/* The list of these bytes, a whole sealed file; an empty one if it has none. */
struct source_list source_list_of(const uint8_t *bytes, size_t len);
/* False: no further one, or the rest is malformed. */
bool source_list_next(struct source_list *, struct listed_source *ret);
/* Does the list contain a file with this digest? */
bool source_list_has(struct source_list, const uint8_t sha256[32]);

#endif
