/*
 * Where programs keep credentials.  A learning cell hides these names, and no policy is
 * drafted that grants one.  The list is not complete; so a learning cell also has nothing
 * of the home directory but the project and the package.
 */
#ifndef KENNEL_SUPERVISOR_LEARN_CREDENTIALS_H
#define KENNEL_SUPERVISOR_LEARN_CREDENTIALS_H

#include <stdbool.h>

/* Is it one of them, or below one?  home: the directory of the user, or "". */
bool credential_is(const char *path, const char *home);
/* Takes one that is there; a negative number ends the search. */
typedef int credential_fn(void *arg, const char *path);
/* How much is searched: a project has some 100,000 entries with its packages, and 20
 * levels. */
#define CREDENTIALS_ENTRIES_MAX 1000000
#define CREDENTIALS_DEPTH_MAX   64
/* Finds those below dir on this machine, and nothing below one of them. dir: canonical,
 * or a file, which has none.  Links are found and not followed.  0; -E2BIG: not all of dir
 * was searched; -errno; or what fn returned. */
int credentials_below(const char *dir, const char *home, credential_fn *, void *arg);

#endif
