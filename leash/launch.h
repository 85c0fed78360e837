/*
 * What a launch gets its secrets from: resolve.c, and vaulted.c for `secret NAME
 * from vault PATH`, which asks the keeper; and how it gives them: give.c.
 */
#ifndef KENNEL_LEASH_VAULTED_H
#define KENNEL_LEASH_VAULTED_H

#include "leash/server.h"
#include "leash/vault/fingerprint.h"

/* The value of this line.  0 or -errno, and why. */
int secret_resolve(struct leash *, const struct sealed_secret *, struct secret **ret,
    char *why, size_t why_cap);

/* The same, whether it was resolved before or not: for its source. */
int secret_resolve_row(struct leash *, const struct sealed_secret *, struct secret **ret,
    char *why, size_t why_cap);

/*
 * routed.c: from a program, which may need something to log in; and from a plugin.
 * 0 or -errno, and why; -ELOOP: a credential would need a credential.
 */
int routed_command(struct leash *, const struct sealed_secret *, struct secret **ret,
    char *why, size_t why_cap);
int routed_plugin(struct leash *, const struct sealed_secret *, struct secret **ret,
    char *why, size_t why_cap);
/* Was this credential resolved already, for its source? */
bool routed_known(struct leash *, const struct sealed_secret *, struct secret **ret);
/* Ends the plugins, once all values are there. */
void routed_end(void);

/*
 * One from the vault.  The first one connects to the keeper that runs; none is started, for
 * one that was not there holds nothing open.  0 or -errno; why says what is missing
 * and which command mends it.
 */
int vaulted_secret(struct leash *, const struct sealed_secret *, struct secret **ret,
    char *why, size_t why_cap);
/* The values that the keeper still has of the path of this row, which it gave last:
 * learned by the scrubber under this number, and no more. */
int vaulted_replaced(struct leash *, const struct sealed_secret *, uint32_t number,
    char *why, size_t why_cap);
/* The connection, once all are there. */
void vaulted_end(void);

/*
 * Into the environment, or as a file beside it, and to the scrubber under this
 * number.  0; -errno of env_secret(), env_file(), scrub_learn(); -EINVAL and
 * *ret_weak for a value that the policy does not let in, as scrub_weakness() says.
 */
int secret_give(struct leash *, const struct sealed_secret *, const struct secret *,
    uint32_t number, const char **ret_weak);

/* traces.c: of every value, once all are there: 0 or -errno, and why. */
int traces_make(struct leash *, char *why, size_t why_cap);
/* The record of the names that the plan will hold, and of their traces. */
int traces_record(struct leash *, uint64_t *ret_number);

#endif
