/*
 * The smallest readable list of directories and files that covers what a server named
 * below one directory of its learning cell.  Pure: looks at nothing.
 *
 *	a directory that it lists, or creates files in	is granted whole
 *	more than FOLD_MAX names in a directory		the same
 *	fewer						are granted by name
 *
 * A fold never leaves the directory, because the learning cell had no more than that.
 */
#ifndef KENNEL_SUPERVISOR_LEARN_FOLD_H
#define KENNEL_SUPERVISOR_LEARN_FOLD_H

#include "supervisor/learn/seen.h"

#define FOLD_MAX       4
#define FOLD_LINES_MAX 256
#define FOLD_NODES_MAX 65536
#define FOLD_DEPTH_MAX 64 /* below the directory; deeper names fold there */

struct folded {
	char *path; /* owned */
	bool write;
	bool folded;         /* fewer names were wanted than are granted */
	bool looked;         /* a directory of which only type and times were wanted */
	size_t names;        /* that were wanted in it */
	const char *example; /* one of them; of the facts */
	const char *program; /* that named it, or "" */
};

struct folds {
	struct folded line[FOLD_LINES_MAX];
	size_t n;
	size_t left_out; /* for lack of room */
};

/* Is path this directory, or below it? */
bool fold_below(const char *path, const char *dir);
/* Adds the lines for the facts of this root, the directory dir, with `is` set.  writes:
 * the learning cell could write there. 0 or -ENOMEM. */
int fold_files(
    const struct seen *, uint32_t root, const char *dir, bool writes, struct folds *);
void folds_free(struct folds *);

#endif
