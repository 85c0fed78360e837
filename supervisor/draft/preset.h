/*
 * The policies that come with kennel for common servers (policy/presets), found by
 * package.
 */
#ifndef KENNEL_SUPERVISOR_DRAFT_PRESET_H
#define KENNEL_SUPERVISOR_DRAFT_PRESET_H

#include <stdio.h>

#include "supervisor/draft/draft.h"

/* The package, or the distribution of Python, that a preset may be for; NULL: neither. The
 * user has named it: it is the name that it was installed under. */
const char *preset_name(const struct draft *);
/* The preset for it, to be freed; or NULL. */
char *preset_for(const struct draft *);
/* Does it have a directory to work in that is not known yet? If it sets a variable to
 * a path in that directory, and the agent's entry sets the same variable, this fills in
 * the directory. */
bool preset_wants_work(const char *preset, struct draft *);
/* The next line from *at of a policy that defines a path which does not exist on this
 * machine, and its length; *at is moved past it. NULL: no other line does. */
const char *preset_missing(const char **at, size_t *ret_len);
/* Writes the preset with the values of the draft. What the agent's entry has is kept:
 * its arguments and variables replace those of the preset. -errno. */
int preset_write(const char *preset, const struct draft *, FILE *);

#endif
