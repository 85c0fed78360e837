/*
 * Ed25519 (RFC 8032) by libsodium: the keys that sign the log's checkpoints.
 *
 * Process: kennel-recorder holds secret keys; kennel and kennel-verify use only
 * public ones. A secret key is in locked pages, between guard pages, and excluded
 * from core dumps; key_free wipes it.
 */
#include <errno.h>
#include <sodium.h>
#include <string.h>

#include "supervisor/audit/log/sign_key.h"

struct key {
	uint8_t secret[crypto_sign_SECRETKEYBYTES];
	uint8_t public[KEY_LEN];
};

/* syscalls: mmap mprotect mlock munlock madvise getrandom munmap */
static struct key *
room(void)
{
	if (sodium_init() < 0)
		return NULL;
	return sodium_malloc(sizeof(struct key));
}

int
key_new(struct key **ret)
{
	struct key *key = room();

	if (key == NULL)
		return -ENOMEM;
	(void)crypto_sign_keypair(key->public, key->secret); /* always 0 */
	*ret = key;
	return 0;
}

int
key_from_seed(uint8_t seed[KEY_LEN], struct key **ret)
{
	struct key *key = room();

	if (key != NULL)
		(void)crypto_sign_seed_keypair(key->public, key->secret, seed);
	sodium_memzero(seed, KEY_LEN);
	if (key == NULL)
		return -ENOMEM;
	*ret = key;
	return 0;
}

void
key_free(struct key *key)
{
	sodium_free(key); /* wipes; accepts NULL */
}

void
key_seed(const struct key *key, uint8_t ret[KEY_LEN])
{
	(void)crypto_sign_ed25519_sk_to_seed(ret, key->secret); /* always 0 */
}

const uint8_t *
key_public(const struct key *key)
{
	return key->public;
}

void
key_sign(const struct key *key, const void *bytes, size_t len, uint8_t ret[KEY_SIGN_LEN])
{
	(void)crypto_sign_detached(ret, NULL, bytes, len, key->secret); /* always 0 */
}

bool
key_verify(const uint8_t public[KEY_LEN], const void *bytes, size_t len,
    const uint8_t sig[KEY_SIGN_LEN])
{
	return crypto_sign_verify_detached(sig, bytes, len, public) == 0;
}
