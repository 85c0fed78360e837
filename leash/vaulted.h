/*
 * What a launch gets its secrets from: resolve.c, and vaulted.c for `secret NAME
 * from vault PATH`, which asks the keeper.
 */
#ifndef KENNEL_LEASH_VAULTED_H
#define KENNEL_LEASH_VAULTED_H

#include "leash/server.h"

/* The value of this line.  0 or -errno, and why. */
int secret_resolve(struct leash *, const struct sealed_secret *, struct secret **ret,
    char *why, size_t why_cap);

/*
 * One from the vault.  The first one connects to the keeper that runs; none is started, for
 * one that was not there holds nothing open.  0 or -errno; why says what is missing
 * and which command mends it.
 */
int vaulted_secret(struct leash *, const struct sealed_secret *, struct secret **ret,
    char *why, size_t why_cap);
/* The connection, once all are there. */
void vaulted_end(void);

#endif
