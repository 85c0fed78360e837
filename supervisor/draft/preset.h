/*
 * The policies that come with kennel for common servers (policy/presets), found by
 * package.
 */
#ifndef KENNEL_SUPERVISOR_DRAFT_PRESET_H
#define KENNEL_SUPERVISOR_DRAFT_PRESET_H

#include <stdbool.h>
#include <stdio.h>

#include "supervisor/draft/draft.h"

/* The package, or the distribution of Python, that a preset may be for; NULL: neither. The
 * user has named it: it is the name that it was installed under. */
const char *preset_name(const struct draft *);
/* Calls fn with the text of each preset, as long as it returns true. */
void presets_each(bool (*fn)(void *arg, const char *text), void *arg);
/* The preset for it, to be freed; or NULL. */
char *preset_for(const struct draft *);
/*
 * Which directory does it work in that is not known yet? First this fills in the one that
 * the agent's entry has: a directory among its arguments, that of a variable which the
 * preset sets to a path in its own, or the one that the server is started in.
 *	PRESET_OWN	`let work`: any that is the server's alone
 *	PRESET_FILES	`let files`: the person's, for their files
 */
enum preset_wants { PRESET_NONE, PRESET_OWN, PRESET_FILES };
enum preset_wants preset_wants(const char *preset, struct draft *);
/* The next line from *at of a policy that defines a path which does not exist on this
 * machine, and its length; *at is moved past it. NULL: no other line does. */
const char *preset_missing(const char **at, size_t *ret_len);
/* In a preset, at the end of the line of a secret: the server starts without a value. */
#define PRESET_WITHOUT  "# it starts without"
#define PRESET_NAME_CAP 65
/* Is it such a line, and the value is neither in the agent's entry nor set here? Then it is
 * written as a comment. */
bool preset_leaves_out(
    const struct draft *, const char *line, char name[PRESET_NAME_CAP]);
/* Writes the preset with the values of the draft. What the agent's entry has is kept:
 * its arguments and variables replace those of the preset. -errno. */
int preset_write(const char *preset, const struct draft *, FILE *);

#endif
