/*
 * The directories that servers with a preset work in: they are known before anything is
 * installed.
 */
#ifndef KENNEL_SUPERVISOR_IMPORT_WORK_H
#define KENNEL_SUPERVISOR_IMPORT_WORK_H

#include "supervisor/import/server.h"

/* Asks for the directory of each server that needs one; without a terminal, it is kennel's
 * own one for the server. Reports a directory that the configuration names and that does
 * not exist. */
void work_plan(struct writing *);
/* The directory to work in, created if it is kennel's own. 0: *ret, NULL if the draft finds
 * it or the server has no such directory; a negative error after reporting it. */
int work_take(const struct writing *, const struct entry *, const char **ret);
/* Removes kennel's own directory of an entry that is not imported, if it is empty. */
void work_drop(const struct writing *, const struct entry *);

#endif
