/*
 * Entries of a configuration with a URL: servers that kennel reaches by `remote`.
 *
 *	remote.c	what an entry has, and whether a policy can have it
 *	remote_draft.c	its policy
 */
#ifndef KENNEL_SUPERVISOR_IMPORT_REMOTE_H
#define KENNEL_SUPERVISOR_IMPORT_REMOTE_H

#include <stdbool.h>
#include <stdio.h>

#include "supervisor/import/entries.h"

/* The room for the origin of a URL: https://HOST:PORT. */
#define REMOTE_ORIGIN_CAP 288

/* The room for a URL, or a part of it, that is printed. */
#define REMOTE_SHOWN_CAP 512

/* Has it a URL? */
bool remote_is(const struct config_tree *, size_t object);
/* Fills an entry that has one. The URL and the headers without credentials become its
 * words: URL, NAME, VALUE, NAME, VALUE, ... The credential becomes its variable. NULL; or
 * why it is left as it is, a static text. */
const char *remote_take(const struct config_tree *, const struct client_file *,
    size_t object, struct entry *);
/* The origin of the URL of a taken entry, which is not secret. */
void remote_origin(const struct entry *, char out[REMOTE_ORIGIN_CAP]);

/* A URL of another entry as far as it is valid and has no part that looks like a secret: whole,
 * or its origin, or a text in its place. */
void remote_shown(const char *url, char out[REMOTE_SHOWN_CAP]);

/* Writes the policy of a taken entry, with its credential at this path of the vault, to a
 * new file. -EEXIST; -errno. */
int remote_draft(
    const char *file, const char *name, const struct entry *, const char *vault);
/* Has a policy every line of the other one about the URL, its credential and headers? */
bool remote_has_lines(const char *policy, const char *other);

#endif
