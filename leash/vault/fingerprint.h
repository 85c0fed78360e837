/*
 * Traces: by what a value is found again in the audit log without being there.
 * A trace is a hash of the value under a key of this user's own, BLAKE2b with 16
 * bytes: who reads the log without the key learns which traces are the same, and
 * cannot try values.  The key lies beside the vault and not beside the log
 * (docs/FORMAT.audit).
 */
#ifndef KENNEL_LEASH_VAULT_TRACE_H
#define KENNEL_LEASH_VAULT_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct secret;

#define TRACE_KEY_FILE "find.key" /* in the vault's folder; 0600 */
#define TRACE_KEY_LEN  32
#define TRACE_LEN      16
#define TRACE_CAP      (2 * TRACE_LEN + 1) /* as text: hex, and NUL */

struct trace_key {
	uint8_t bytes[TRACE_KEY_LEN];
};

/*
 * The key of this folder; make: drawn and kept where there is none.  0; -ENOENT;
 * -EPERM where the file is another user's or others may touch it; -EBADMSG where
 * it is not a key; -errno.  The caller wipes it.
 */
int trace_key_read(const char *folder, bool make, struct trace_key *ret);
void trace_key_wipe(struct trace_key *);

/* The trace of these bytes. */
void trace_of(const struct trace_key *, const void *, size_t len, char ret[TRACE_CAP]);
/* traced.c: of a secret. */
void secret_trace(const struct secret *, const struct trace_key *, char ret[TRACE_CAP]);

#endif
