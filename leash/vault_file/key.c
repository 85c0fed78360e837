/*
 * The keys that unlock the vault, and those that seal it.
 *
 *	passphrase, key file, phrase --Argon2id--> opener --opens--> vault key
 *	vault key --BLAKE2b--> key of the values, key of the commitment
 *
 * Process: the keeper.  Every key is in the vault's pages.  What libsodium leaves
 * on the stack is overwritten afterwards.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "leash/vault_file/private.h"

#define STACK_LEN     (16u << 10) /* bytes; more than any of these functions uses */
#define SUBKEY_ENTRY  1
#define SUBKEY_COMMIT 2
#define SUBKEY_USE    "KNLvault" /* crypto_kdf_CONTEXTBYTES */
#define ENVELOPE_USE  "kennel vault, envelope"
#define ENTRY_USE     "kennel vault, value"

_Static_assert(sizeof(SUBKEY_USE) - 1 == crypto_kdf_CONTEXTBYTES, "crypto_kdf");

/* Wipes what functions that used a key left on the stack. */
static void __attribute__((noinline)) stack_wipe(void)
{
	uint8_t below[STACK_LEN];

	sodium_memzero(below, sizeof(below));
}

/* From keys->vault. */
static void
keys_derive(struct keys *k)
{
	(void)crypto_kdf_derive_from_key(/* cannot fail: the length is valid */
	    k->entry, KEY_LEN, SUBKEY_ENTRY, SUBKEY_USE, k->vault);
	(void)crypto_kdf_derive_from_key(
	    k->commit, KEY_LEN, SUBKEY_COMMIT, SUBKEY_USE, k->vault);
	stack_wipe();
}

/* Its state contains the key, so it is in the pages, too. */
static void
commitment_make(struct keys *k, const uint8_t *bytes, size_t len, uint8_t ret[COMMIT_LEN])
{
	uintptr_t at = ((uintptr_t)k->work + 63) & ~(uintptr_t)63;
	crypto_generichash_state *state = (crypto_generichash_state *)at;

	/* cannot fail: the lengths are constants */
	(void)crypto_generichash_init(state, k->commit, KEY_LEN, COMMIT_LEN);
	(void)crypto_generichash_update(state, bytes, len);
	(void)crypto_generichash_final(state, ret, COMMIT_LEN);
	vault_wipe(k->work, sizeof(*state) + 64);
	stack_wipe();
}

/* ---- envelopes --------------------------------------------------------------- */

/* What an envelope is bound to: this vault, its kind, its cost, its salt. */
static size_t
envelope_label(const struct vault_file *c, const struct envelope *e, uint8_t *out)
{
	struct wire_out label;

	wire_out_init(&label, out, LABEL_MAX);
	wire_put_str(&label, ENVELOPE_USE);
	wire_put_bytes(&label, c->id, sizeof(c->id));
	wire_put_u32(&label, e->kind);
	wire_put_u32(&label, e->passes);
	wire_put_u32(&label, e->kib);
	wire_put_bytes(&label, e->salt, sizeof(e->salt));
	return label.len;
}

static int
opener_make(
    struct vault_file *c, const struct envelope *e, const struct vault_file_material *m)
{
	int r = crypto_pwhash(c->keys->opener, KEY_LEN, m->bytes, m->len, e->salt,
	    e->passes, (size_t)e->kib << 10, crypto_pwhash_ALG_ARGON2ID13);

	stack_wipe();
	return r == 0 ? 0 : -ENOMEM;
}

static struct envelope *
envelope_of(const struct vault_file *c, uint32_t kind)
{
	for (size_t i = 0; i < c->envelope_n; i++) {
		if (c->envelope[i].kind == kind)
			return (struct envelope *)&c->envelope[i];
	}
	return NULL;
}

static bool
material_good(const struct vault_file_material *m)
{
	return m->kind >= OPENER_PASSPHRASE && m->kind <= OPENER_RECOVERY && m->len > 0 &&
	       m->len <= VAULT_FILE_MATERIAL_MAX;
}

int
vault_file_seal(struct vault_file *c, const struct vault_file_material *m)
{
	struct envelope made = {.kind = m->kind, .passes = c->passes, .kib = c->kib};
	uint8_t label[LABEL_MAX];
	size_t place = 0;
	struct envelope *e;
	int r;

	if (!c->open)
		return -ENOKEY;
	if (!material_good(m))
		return -EINVAL;
	randombytes_buf(made.salt, sizeof(made.salt));
	randombytes_buf(made.nonce, sizeof(made.nonce));
	r = opener_make(c, &made, m);
	if (r < 0)
		return r;
	(void)crypto_aead_xchacha20poly1305_ietf_encrypt(made.sealed,
	    NULL, /* cannot fail */
	    c->keys->vault, KEY_LEN, label, envelope_label(c, &made, label), NULL,
	    made.nonce, c->keys->opener);
	vault_wipe(c->keys->opener, KEY_LEN);
	stack_wipe();
	e = envelope_of(c, made.kind);
	if (e == NULL) {
		while (place < c->envelope_n && c->envelope[place].kind < made.kind)
			place++;
		e = &c->envelope[place];
		memmove(e + 1, e, (c->envelope_n - place) * sizeof(*e));
		c->envelope_n++;
	}
	*e = made;
	return 0;
}

/* ---- unlock, lock -------------------------------------------------------------- */

bool
vault_file_is_open(const struct vault_file *c)
{
	return c->open;
}

void
vault_file_lock(struct vault_file *c)
{
	vault_wipe(c->keys, sizeof(*c->keys));
	c->open = false;
}

int
vault_file_new(struct vault *pages, struct vault_file **ret)
{
	struct vault_file *c;
	int r;

	if (sodium_init() < 0)
		return -EIO;
	r = vault_file_make(pages, &c);
	if (r < 0)
		return r;
	randombytes_buf(c->id, sizeof(c->id));
	randombytes_buf(c->keys->vault, KEY_LEN);
	keys_derive(c->keys);
	c->open = true;
	*ret = c;
	return 0;
}

/* All checks of the file that need the key. */
static int
believe(struct vault_file *c)
{
	uint8_t again[COMMIT_LEN], *front;
	size_t len;
	int r = vault_file_front(c, &front, &len);

	if (r < 0)
		return r;
	commitment_make(c->keys, front, len, again);
	free(front);
	if (sodium_memcmp(again, c->commitment, COMMIT_LEN) != 0)
		return -EUCLEAN;
	for (size_t i = 0; r == 0 && i < c->entry_n; i++) {
		r = entry_open(c, &c->entry[i], c->keys->work);
		vault_wipe(c->keys->work, c->entry[i].said.len);
	}
	return r;
}

int
vault_file_unlock(struct vault_file *c, const struct vault_file_material *m)
{
	const struct envelope *e = envelope_of(c, m->kind);
	uint8_t label[LABEL_MAX];
	int r;

	if (e == NULL)
		return -ENOENT;
	if (!material_good(m))
		return -EKEYREJECTED;
	if (sodium_init() < 0)
		return -EIO;
	vault_file_lock(c);
	r = opener_make(c, e, m);
	if (r == 0 && crypto_aead_xchacha20poly1305_ietf_decrypt(c->keys->vault, NULL,
			  NULL, e->sealed, sizeof(e->sealed), label,
			  envelope_label(c, e, label), e->nonce, c->keys->opener) != 0)
		r = -EKEYREJECTED;
	vault_wipe(c->keys->opener, KEY_LEN);
	stack_wipe();
	if (r == 0) {
		keys_derive(c->keys);
		r = believe(c);
	}
	if (r < 0)
		vault_file_lock(c);
	c->open = r == 0;
	return r;
}

int
vault_file_matches(struct vault_file *c, const struct vault_file_material *m)
{
	const struct envelope *e = envelope_of(c, m->kind);
	uint8_t label[LABEL_MAX];
	int r;

	if (!c->open)
		return -ENOKEY;
	if (e == NULL)
		return -ENOENT;
	if (!material_good(m))
		return -EKEYREJECTED;
	r = opener_make(c, e, m);
	if (r == 0 && (crypto_aead_xchacha20poly1305_ietf_decrypt(c->keys->work, NULL,
			   NULL, e->sealed, sizeof(e->sealed), label,
			   envelope_label(c, e, label), e->nonce, c->keys->opener) != 0 ||
			  sodium_memcmp(c->keys->work, c->keys->vault, KEY_LEN) != 0))
		r = -EKEYREJECTED;
	vault_wipe(c->keys->opener, KEY_LEN);
	vault_wipe(c->keys->work, KEY_LEN);
	stack_wipe();
	return r;
}

/* ---- values -------------------------------------------------------------------- */

/* A value is bound to this vault, and to path@version. */
static size_t
entry_label(const struct vault_file *c, const struct vault_entry *e, char *out)
{
	int n =
	    snprintf(out, LABEL_MAX, ENTRY_USE " %s@%u", e->said.path, e->said.version);

	memcpy(out + n + 1, c->id, sizeof(c->id)); /* after the NUL */
	return (size_t)n + 1 + sizeof(c->id);
}

int
entry_seal(const struct vault_file *c, struct vault_entry *e, const void *value)
{
	char label[LABEL_MAX];

	e->sealed = malloc(e->said.len);
	if (e->sealed == NULL)
		return -ENOMEM;
	randombytes_buf(e->nonce, sizeof(e->nonce));
	(void)crypto_aead_xchacha20poly1305_ietf_encrypt_detached(/* cannot fail */
	    e->sealed, e->tag, NULL, value, e->said.len, (uint8_t *)label,
	    entry_label(c, e, label), NULL, e->nonce, c->keys->entry);
	stack_wipe();
	return 0;
}

int
entry_open(const struct vault_file *c, const struct vault_entry *e, void *out)
{
	char label[LABEL_MAX];
	int r = crypto_aead_xchacha20poly1305_ietf_decrypt_detached(out, NULL, e->sealed,
	    e->said.len, e->tag, (uint8_t *)label, entry_label(c, e, label), e->nonce,
	    c->keys->entry);

	stack_wipe();
	return r == 0 ? 0 : -EUCLEAN;
}

int
vault_file_write(struct vault_file *c, uint64_t now, uint8_t **ret, size_t *ret_len)
{
	uint8_t *front;
	size_t len;
	int r;

	if (!c->open)
		return -ENOKEY;
	c->generation++;
	c->written = now;
	r = vault_file_front(c, &front, &len);
	if (r < 0)
		return r;
	commitment_make(c->keys, front, len, c->commitment);
	free(front);
	return vault_file_again(c, ret, ret_len);
}
