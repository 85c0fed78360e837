/*
 * The security keys of the vault's owner. The vault keeps them under KEYS_PATH, as
 * lower-case hexadecimal digits of:
 *
 *	u32 format (1), u32 n, n x bytes credential id, u32 algorithm, bytes public key,
 *	u32 counter, u64 made (seconds since 1970-01-01), str label
 *
 * Nothing in it is secret. It is in the vault so that only a person with the
 * passphrase can add a key (docs/PROTOCOL.keeper).
 */
#ifndef KENNEL_LEASH_KEEPER_KEY_LIST_H
#define KENNEL_LEASH_KEEPER_KEY_LIST_H

#include <stddef.h>
#include <stdint.h>

#include "leash/keeper/fido/fido.h"
#include "leash/keeper/keeper.h"

struct key_row {
	uint8_t id[FIDO_ID_MAX];
	size_t id_len;
	uint32_t algorithm;
	uint8_t public_key[FIDO_PUBLIC_MAX];
	size_t public_len;
	uint32_t counter; /* the last one that the key sent; 0: it does not count */
	uint64_t made;
	char label[KEEPER_LABEL_MAX + 1];
};

struct key_list {
	struct key_row row[KEEPER_KEYS_MAX];
	size_t n;
};

/* The list in the open vault. 0 (also without any); -EUCLEAN: it is damaged; or an error
 * of the vault file. Uses the keeper's `out`. */
int key_list_read(struct key_list *);
/* Puts it into the vault in memory. 0, or an error of the vault file. */
int key_list_keep(const struct key_list *);
/* NULL: none has this id. */
struct key_row *key_list_find(struct key_list *, struct span id);

#endif
