/*
 * Fingerprints: they find a value in the audit log, which does not contain the
 * value.  A fingerprint is a hash of the value under a key of this user (BLAKE2b,
 * 16 bytes).  Without the key, a reader of the log learns only which fingerprints
 * are equal, and cannot test guesses.  The key is stored with the vault, not with
 * the log (docs/FORMAT.audit).
 */
#ifndef KENNEL_LEASH_VAULT_FINGERPRINT_H
#define KENNEL_LEASH_VAULT_FINGERPRINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct secret;

#define FINGERPRINT_KEY_FILE "find.key" /* in the vault's directory; mode 0600 */
#define FINGERPRINT_KEY_LEN  32
#define FINGERPRINT_LEN      16
#define FINGERPRINT_CAP      (2 * FINGERPRINT_LEN + 1) /* as text: hex and NUL */

struct fingerprint_key {
	uint8_t bytes[FINGERPRINT_KEY_LEN];
};

/*
 * Reads the key in this directory; make: creates a missing one.  0; -ENOENT;
 * -EPERM: the file belongs to another user, or others may access it; -EBADMSG:
 * invalid key; -errno.  The caller wipes it.
 */
int fingerprint_key_read(const char *dir, bool make, struct fingerprint_key *ret);
void fingerprint_key_wipe(struct fingerprint_key *);

/* The fingerprint of these bytes. */
void fingerprint_of(
    const struct fingerprint_key *, const void *, size_t len, char ret[FINGERPRINT_CAP]);
/* fingerprint_secret.c: the fingerprint of a secret. */
void secret_fingerprint(
    const struct secret *, const struct fingerprint_key *, char ret[FINGERPRINT_CAP]);

#endif
