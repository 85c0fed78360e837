/*
 * Shared by the files of the secrets tools.
 */
#ifndef KENNEL_SUPERVISOR_SECRETS_PRIVATE_H
#define KENNEL_SUPERVISOR_SECRETS_PRIVATE_H

#include "supervisor/secrets/secrets.h"

/* Writes an error whose text is this one. */
void fail(struct secrets_answer *, enum secrets_fault, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* An error about this path: `not-found`, `approval-not-required` or `denied`. */
void fail_path(struct secrets_answer *, enum secrets_fault, const char *path);

/* ---- arguments.c ------------------------------------------------------------- */

/* Each returns false after it has written an error. No byte of a value is in one: an
 * agent may have passed a secret by mistake. */
bool arguments_object(struct json *arguments, struct secrets_answer *);
/* The text of this member; *ret NULL: it is absent or null. Longer than cap: an error. */
bool argument_text(struct json arguments, const char *name, char *out, size_t cap,
    const char **ret, struct secrets_answer *);
bool argument_flag(
    struct json arguments, const char *name, bool *ret, struct secrets_answer *);
/* The same, of a member that must be there. */
bool argument_needed(struct json arguments, const char *name, char *out, size_t cap,
    struct secrets_answer *);
/* An integer from 1; above max it is max, absent it stays as it is. */
bool argument_number(struct json arguments, const char *name, uint32_t max, uint32_t *ret,
    struct secrets_answer *);
/* A member that must be there: a valid path. */
bool argument_path(struct json arguments, const char *name, char out[SECRET_PATH_MAX + 1],
    struct secrets_answer *);

/* ---- routes.c ---------------------------------------------------------------- */

/* In the process that may open files: appends the routes of sources.kennel. */
int routes_put(struct buf *);
/* Does a route lead elsewhere than to kennel's vault? */
bool routes_elsewhere(const struct secrets_manifests *, const char *path);

/* ---- inventory.c -------------------------------------------------------------- */

/* Merges the manifests. The caller calls metas_free() after true. */
bool inventory_read(
    const struct secrets_context *, struct metas *ret, struct secrets_answer *);
/* The declared secret with this path, or NULL after an error was written. */
const struct meta *inventory_find(
    const struct metas *, const char *path, struct secrets_answer *);

#endif
