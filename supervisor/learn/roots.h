/*
 * The roots: what a learning cell grants to a server.
 */
#ifndef KENNEL_SUPERVISOR_LEARN_ROOTS_H
#define KENNEL_SUPERVISOR_LEARN_ROOTS_H

#include "supervisor/learn/learned_policy.h"

/* Finds the roots (the package, the script, the project, the directories among the
 * arguments) and the credentials below them.  NULL, or the path that is not granted to a
 * learning cell, and *ret_why. */
const char *learn_roots(struct learn *, const char **ret_why);
/* Adds the credentials below the roots that are not hidden yet: some may appear during a
 * session.  NULL, or the root that was not searched, and *ret_why. */
const char *learn_hide(struct learn *, const char **ret_why);
/* Below a root, the home directory or a directory of the system: a path that a server named
 * may be looked at. */
bool learn_may_look(const struct learn *, const char *path);
/* Sets the root of each file; credentials have none. */
void learn_assign(struct learn *);

#endif
