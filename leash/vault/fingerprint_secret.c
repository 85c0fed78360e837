/*
 * The fingerprint of a secret.
 *
 * Process: the leash.  The value goes into a hash and nowhere else.
 */
#include "leash/vault/fingerprint.h"
#include "leash/vault/vault.h"

void
secret_fingerprint(
    const struct secret *s, const struct fingerprint_key *key, char ret[FINGERPRINT_CAP])
{
	fingerprint_of(key, secret_expose(s), secret_len(s), ret);
}
