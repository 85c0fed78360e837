/*
 * Where programs keep credentials.  A learning cell hides these names, and no policy is
 * drafted that grants one.  The list is not complete; so a learning cell also has nothing
 * of the home directory but the project and the package.
 */
#ifndef KENNEL_SUPERVISOR_LEARN_CREDENTIALS_H
#define KENNEL_SUPERVISOR_LEARN_CREDENTIALS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* Is it one of them, or below one?  home: the directory of the user, or "". */
bool credential_is(const char *path, const char *home);
/* The i-th place that a directory may hold, in out.  False: the last was before. Names
 * below home are listed if home is below dir or is dir. */
bool credential_in(const char *dir, const char *home, size_t i, char out[PATH_MAX]);

#endif
