/*
 * Has a file that a sealed policy was compiled from changed since? Nothing is compiled
 * for the answer: the sealed file has the digests of the files (docs/FORMAT.sealed).
 */
#ifndef KENNEL_SUPERVISOR_LAUNCH_FIND_CHANGED_SOURCE_H
#define KENNEL_SUPERVISOR_LAUNCH_FIND_CHANGED_SOURCE_H

#include <limits.h>
#include <stdbool.h>

#include "policy/sealed/policy.h"

#define CHANGED_TEXT_MAX ((size_t)4 * PATH_MAX)

struct changed_source {
	char path[PATH_MAX];
	char compile[PATH_MAX]; /* the file that includes it, or path */
	bool own;               /* it and the sealed file are the caller's */
};

/*
 * Looks at the files with an absolute name; and, for DIR/sealed/NAME.sealed, at
 * DIR/policies/NAME.kennel, if that defines server NAME. sealed: path of the sealed file.
 * True: found one that is not what was compiled; a file that is missing or cannot be
 * read does not count. Never true of a signed file, which is in force whatever the
 * texts contain.
 */
bool changed_source_find(
    const struct policy *, const char *sealed, struct changed_source *ret);
/* Does changed_source_find() judge this text, because the sealed file was compiled from it
 * or is beside it? False: the sealed file hides what the text defines. */
bool changed_source_knows(const char *sealed, const char *text);
/* What is wrong with the sealed file and what to do, in one line. Returns out. */
const char *changed_source_text(
    char out[CHANGED_TEXT_MAX], const struct changed_source *);

#endif
