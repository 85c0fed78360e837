/*
 * Numbers from a seed: each block is the keyed hash of its number.  Who has no seed learns
 * nothing of one placeholder from another.
 */
#include <sodium.h>
#include <string.h>

#include "leash/placeholder/private.h"

_Static_assert(DRAW_KEY_LEN == randombytes_SEEDBYTES, "a key is a seed of sodium's");
_Static_assert(PLACEHOLDER_SEED_LEN >= crypto_generichash_KEYBYTES_MIN &&
		   PLACEHOLDER_SEED_LEN <= crypto_generichash_KEYBYTES_MAX,
    "a seed is a key of the hash");

void
draw_begin(struct draw *d, const struct placeholder *p)
{
	crypto_generichash_state state;

	*d = (struct draw){.at = DRAW_BLOCK_LEN};
	/* none of these fails: the lengths are constant and valid */
	(void)crypto_generichash_init(
	    &state, p->seed, PLACEHOLDER_SEED_LEN, sizeof(d->key));
	(void)crypto_generichash_update(
	    &state, (const uint8_t *)p->name, strlen(p->name) + 1);
	(void)crypto_generichash_update(
	    &state, (const uint8_t *)&p->attempt, sizeof(p->attempt));
	(void)crypto_generichash_final(&state, d->key, sizeof(d->key));
}

static uint8_t
draw_byte(struct draw *d)
{
	uint8_t seed[DRAW_KEY_LEN];

	if (d->at == sizeof(d->block)) {
		(void)crypto_generichash(seed, sizeof(seed), (const uint8_t *)&d->block_n,
		    sizeof(d->block_n), d->key, sizeof(d->key)); /* as above */
		randombytes_buf_deterministic(d->block, sizeof(d->block), seed);
		d->block_n++;
		d->at = 0;
	}
	return d->block[d->at++];
}

uint32_t
draw_below(struct draw *d, uint32_t n)
{
	uint32_t byte,
	    end = 256 - 256 % n; /* above it, some numbers would come more often */

	do
		byte = draw_byte(d);
	while (byte >= end);
	return byte % n;
}
