/*
 * The row of each path: a table of hashes, so that the rows of a view are not all
 * compared with each other. Paths are kept alive by the caller, memory by the arena.
 */
#ifndef KENNEL_POLICY_BASE_PATH_INDEX_H
#define KENNEL_POLICY_BASE_PATH_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "policy/base/arena.h"

#define PATH_INDEX_NONE UINT32_MAX

struct path_index {
	struct path_entry *entry; /* a power of two; a path of NULL: free */
	size_t cap, n;
};

/* Sets the row of a path, in place of an earlier one. 0 or -ENOMEM. */
int path_index_set(struct arena *, struct path_index *, const char *path, uint32_t row);

/* The row of the path of these len bytes, or PATH_INDEX_NONE. */
uint32_t path_index_get(const struct path_index *, const char *path, size_t len);

/*
 * The length of the next directory above the first len bytes of path, "/" excluded;
 * 0 at the end. Start with strlen(path) itself to include the path.
 */
size_t path_above(const char *path, size_t len);

/* The row of the path or else of the nearest directory above it, or PATH_INDEX_NONE. */
uint32_t path_index_holder(const struct path_index *, const char *path);

#endif
