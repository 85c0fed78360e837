/*
 * What a configuration has beside the command and the variables, as lines of a draft.
 */
#ifndef KENNEL_SUPERVISOR_IMPORT_CARRIED_H
#define KENNEL_SUPERVISOR_IMPORT_CARRIED_H

#include "supervisor/import/entries.h"

/* Adds the deadlines of the client to the draft in this file, and has its secrets resolved by
 * the manager that the entry names. 0; -ENOENT: that program was not found; -errno. */
int carried_put(const char *file, const struct entry *);

#endif
