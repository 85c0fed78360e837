/*
 * The client that exercises a server while it is learned: calls the tools that only read,
 * with arguments made from their schemas.
 */
#ifndef KENNEL_SUPERVISOR_LEARN_EXERCISE_H
#define KENNEL_SUPERVISOR_LEARN_EXERCISE_H

#include "shim/base/buf.h"
#include "supervisor/json/json.h"

#define EXERCISE_TOOLS_MAX  64
#define EXERCISE_PARAMS_MAX (16u << 10) /* bytes of one call's parameters */

/* What arguments are made of. */
struct exercise_values {
	const char *dir;    /* of the project, or "" */
	const char *file;   /* in it, or "" */
	unsigned int round; /* another number gives other values, where there are any */
};

/*
 * Connects to the server on these descriptors, which it then owns, and calls each tool
 * that only reads by its annotations and its name.  Prints what it calls. 0, or -errno
 * and why.
 */
int exercise(int to, int from, const struct exercise_values *, char *why, size_t why_cap);
/* Appends "name":...,"arguments":{...} for a call of this tool: 0; -ENOENT: a required
 * argument has no value that fits; or an error of the buffer. */
int exercise_params(struct json definition, const char *name,
    const struct exercise_values *, struct buf *);

#endif
