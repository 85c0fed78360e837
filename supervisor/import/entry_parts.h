/*
 * What the files share that read one entry of a configuration.
 *
 *	entries.c	which entries there are; the command
 *	variables.c	variables: plain, secret, and filled in by the client
 *	settings.c	deadlines, and whether it is switched off
 *	manager.c	a program of a secret manager before the command
 *	remote.c	an entry with a URL
 */
#ifndef KENNEL_SUPERVISOR_IMPORT_ENTRY_PARTS_H
#define KENNEL_SUPERVISOR_IMPORT_ENTRY_PARTS_H

#include "supervisor/import/entries.h"

/* The entry stays as it is, for this reason: a static text, and what it is about, a text of
 * the tree or NULL. The first reason counts. */
void entry_other(struct entry *, const char *why, const char *about);
/* A member of the entry, or TREE_NONE; a duplicate makes it unusable. */
size_t entry_member(
    const struct config_tree *, size_t object, struct entry *, const char *key);

/* Takes the variables in this object. */
void entry_take_variables(const struct config_tree *, const struct client_file *,
    size_t object, struct entry *);
/* Takes the deadlines, and whether the client has it switched off. */
void entry_take_settings(const struct config_tree *, const struct client_file *,
    size_t object, struct entry *);
/* Is this name in the list of this key? */
bool entry_is_listed(
    const struct config_tree *, size_t object, const char *key, const char *name);
/* Takes the deadlines among the variables of the client, an object of another tree; those of
 * the entry itself, which is in the first tree, count before them. */
void entry_take_client_times(const struct config_tree *own, const struct config_tree *,
    size_t variables, struct entry *);
/* Takes the command after `op run --`, whose variables refer to secrets. */
void entry_take_manager(const struct client_file *, struct entry *);

#endif
