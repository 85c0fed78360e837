/*
 * Shared by the files of this room: the vault file in memory.
 */
#ifndef KENNEL_LEASH_VAULT_FILE_PRIVATE_H
#define KENNEL_LEASH_VAULT_FILE_PRIVATE_H

#include <sodium.h>

#include "leash/vault/secret_path.h"
#include "leash/vault_file/vault_file.h"
#include "shim/base/wire.h"

#define FILE_MAGIC   "KNLVAULT" /* eight bytes, no NUL */
#define FILE_VERSION 1
#define OPENERS      3
#define SALT_LEN     16
#define NONCE_LEN    24
#define TAG_LEN      16
#define KEY_LEN      32
#define VAULT_ID_LEN 16
#define COMMIT_LEN   32
#define DATE_MAX     ((uint64_t)1 << 40) /* later than any date of a clock */
#define HEADER_LEN   64
#define ENVELOPE_LEN 104
#define LABEL_MAX    (VAULT_PATH_MAX + 64)

_Static_assert(SALT_LEN == crypto_pwhash_SALTBYTES, "Argon2id");
_Static_assert(NONCE_LEN == crypto_aead_xchacha20poly1305_ietf_NPUBBYTES, "XChaCha20");
_Static_assert(TAG_LEN == crypto_aead_xchacha20poly1305_ietf_ABYTES, "Poly1305");
_Static_assert(KEY_LEN == crypto_aead_xchacha20poly1305_ietf_KEYBYTES, "XChaCha20");
_Static_assert(KEY_LEN == crypto_kdf_KEYBYTES, "one key makes the others");
_Static_assert(COMMIT_LEN == crypto_generichash_BYTES, "BLAKE2b");

struct envelope {
	uint32_t kind; /* enum vault_file_opener */
	uint32_t passes;
	uint32_t kib;
	uint8_t salt[SALT_LEN];
	uint8_t nonce[NONCE_LEN];
	uint8_t sealed[KEY_LEN + TAG_LEN];
};

struct vault_entry {
	struct vault_file_entry said; /* its path is owned */
	uint8_t nonce[NONCE_LEN];
	uint8_t tag[TAG_LEN];
	uint8_t *sealed; /* said.len bytes; owned */
};

/* In the vault's pages. */
struct keys {
	uint8_t vault[KEY_LEN];  /* content of the envelopes */
	uint8_t entry[KEY_LEN];  /* seals values */
	uint8_t commit[KEY_LEN]; /* makes the commitment */
	uint8_t opener[KEY_LEN]; /* of an envelope, temporary */
	uint8_t work[VAULT_VALUE_MAX];
};

struct vault_file {
	struct vault *pages;
	struct keys *keys;
	bool open;
	uint64_t generation;
	uint64_t written; /* seconds since 1970-01-01 */
	uint8_t id[VAULT_ID_LEN];
	uint32_t passes, kib; /* of the next envelope */
	struct envelope envelope[OPENERS];
	size_t envelope_n;
	struct vault_entry *entry; /* [VAULT_FILE_ENTRIES_MAX] */
	size_t entry_n;
	struct vault_file_grant *grant; /* [VAULT_FILE_GRANTS_MAX]; texts are owned */
	size_t grant_n;
	uint8_t commitment[COMMIT_LEN];
};

/* ---- vault_file.c -------------------------------------------------------- */

/* A secret's path, or the keeper's own. */
bool vault_file_path_good(const char *);
int vault_file_make(struct vault *pages, struct vault_file **ret);
/* Everything that the commitment covers.  The caller frees it. */
int vault_file_front(const struct vault_file *, uint8_t **ret, size_t *ret_len);
/* By path, then version: the index of an entry, or where it would be. */
size_t entry_place(const struct vault_file *, const char *path, uint32_t version);
/* The current version of path, or NULL. */
struct vault_entry *entry_current(const struct vault_file *, const char *path);
int grant_order(const struct vault_file_grant *, const struct vault_file_grant *);

/* ---- key.c --------------------------------------------------------------- */

int entry_seal(const struct vault_file *, struct vault_entry *, const void *value);
int entry_open(const struct vault_file *, const struct vault_entry *, void *out);

#endif
