/*
 * Between the files of this room and nobody else: what a secret is made of.
 * tests/check/includes.sh refuses this header outside leash/vault/.
 */
#ifndef KENNEL_LEASH_VAULT_PRIVATE_H
#define KENNEL_LEASH_VAULT_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>

#include "leash/vault/vault.h"

/* A value in the vault's pages.  Its bytes stand right behind it. */
struct secret {
	const struct vault *vault;
	struct secret *next;  /* all secrets of the vault, newest first */
	const char *variable; /* where an env secret was; NULL otherwise */
	size_t len;
	char bytes[]; /* len bytes, then NUL */
};

/* ---- mem.c ---- */

/*
 * Locked, guarded pages for at least len bytes, zeroed.  *ret_len is what is
 * usable.  0, -EPERM when they cannot be locked, -ENOMEM.
 */
int pages_new(size_t len, void **ret, size_t *ret_len);
/* Wipes the first used bytes (no other was written: a page never touched costs
 * nothing) and unmaps.  NULL is fine. */
void pages_free(void *, size_t len, size_t used);

/* ---- ring.c ---- */

/* Is all of [p, p + len) memory of this vault? */
bool vault_holds(const struct vault *, const void *p, size_t len);

/*
 * One value at a time may be open: an unfinished secret at the end of what is
 * in use, with room for *ret_cap bytes.  It is closed with its length, or
 * dropped, which wipes it.
 */
int value_open(struct vault *, struct secret **ret, size_t *ret_cap);
void value_drop(struct vault *, struct secret *, size_t written);
/* Judges the bytes (see vault.h for the errors), keeps them. */
int value_close(struct vault *, struct secret *, size_t len, const char **ret_what);

/* The secret that was once taken from this variable, or NULL. */
struct secret *value_of_variable(struct vault *, const char *variable);
char *vault_name(struct vault *, const char *);

#endif
