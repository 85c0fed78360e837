/*
 * Shared by the files of this room only: the representation of a secret.
 * tests/check/includes.sh rejects this header outside leash/vault/.
 */
#ifndef KENNEL_LEASH_VAULT_PRIVATE_H
#define KENNEL_LEASH_VAULT_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>

#include "leash/vault/vault.h"

/* A value in the vault's pages.  Its bytes follow the struct directly. */
struct secret {
	const struct vault *vault;
	struct secret *next;  /* all secrets of the vault, newest first */
	const char *variable; /* variable of an env secret; NULL otherwise */
	size_t len;
	char bytes[]; /* len bytes, then NUL */
};

/* ---- locked_pages.c ------------------------------------------------------ */

/*
 * Locked pages with guard pages, for at least len bytes, zeroed.  *ret_len is the
 * usable size.  0; -EPERM: they cannot be locked; -ENOMEM.
 */
int pages_new(size_t len, void **ret, size_t *ret_len);
/* Wipes the first used bytes and unmaps.  No other byte was written, and untouched
 * pages cost nothing.  NULL is fine. */
void pages_free(void *, size_t len, size_t used);

/* ---- vault.c ------------------------------------------------------------- */

/* The finding of the vault's judge; NULL without one. */
const char *vault_judged(const struct vault *, const char *path);

/* Is all of [p, p + len) in this vault's memory? */
bool vault_holds(const struct vault *, const void *p, size_t len);

/*
 * Opens an unfinished secret after the used memory, with room for *ret_cap bytes;
 * one at a time.  It is closed with its length, or dropped, which wipes it.
 */
int value_open(struct vault *, struct secret **ret, size_t *ret_cap);
void value_drop(struct vault *, struct secret *, size_t written);
/* Checks the bytes (vault.h lists the errors) and keeps them. */
int value_close(struct vault *, struct secret *, size_t len, const char **ret_what);

/* The secret taken earlier from this variable, or NULL. */
struct secret *value_of_variable(struct vault *, const char *variable);
char *vault_name(struct vault *, const char *);

#endif
