/*
 * Which lines of one server name a path or a directory above it: an index, so that
 * ten thousand paths are not compared with each other.
 */
#ifndef KENNEL_POLICY_CHECK_PATH_HOLDERS_H
#define KENNEL_POLICY_CHECK_PATH_HOLDERS_H

#include <stddef.h>

#include "policy/lang/ast.h"

struct path_holder {
	const struct word *word;
	size_t order; /* in the server */
};

struct path_holders {
	struct path_holder *row; /* by path, then by order */
	size_t n;
};

/* Every path in normal form of the server's lines with this keyword. 0, or -ENOMEM; free
 * with path_holders_free in either case. */
int path_holders_make(const struct server *, enum keyword, struct path_holders *);
void path_holders_free(struct path_holders *);

/* The first path of the server that is path or a directory above it, other than not;
 * NULL: no path is. path is in normal form. */
const struct word *path_holders_find(
    const struct path_holders *, const char *path, const struct word * not );

#endif
