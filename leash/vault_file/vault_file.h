/*
 * The vault at rest: one file (docs/FORMAT.vault defines each byte).
 *
 *	header | envelopes | index | grants | commitment | sealed values
 *
 * A random key seals each value.  Each envelope contains that key, encrypted under
 * a passphrase, a key file or a recovery phrase.  Paths, dates and grants are plain
 * text, bound by the commitment, which only the key can produce: a line that was
 * dropped, moved or taken from an older file is detected when the vault is
 * unlocked.
 *
 * Process: the keeper.  A vault file in memory has the content of the file and no
 * more; the key and values are in the pages of the vault it was made with.
 */
#ifndef KENNEL_LEASH_VAULT_FILE_VAULT_FILE_H
#define KENNEL_LEASH_VAULT_FILE_VAULT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "leash/vault/secret_path.h"
#include "leash/vault/vault.h"
#include "policy/sealed/signature.h"
#include "shim/base/cause.h"

#define VAULT_FILE_NAME         "secrets.vault"
#define VAULT_FILE_LEN_MAX      (16u << 20) /* bytes of a file */
#define VAULT_FILE_ENTRIES_MAX  1024        /* values, old versions included */
#define VAULT_FILE_GRANTS_MAX   1024
#define VAULT_FILE_SERVER_MAX   128       /* bytes of a server's name */
#define VAULT_FILE_MATERIAL_MAX 4096      /* bytes of a passphrase or key file */
#define VAULT_FILE_ID_LEN       32        /* bytes of a policy's id, of a public key */
#define VAULT_FILE_GRACE_S      2592000ul /* 30 days, for which an old version is kept */

/* Argon2id (RFC 9106, second recommended option) for new envelopes, and the maximum
 * accepted when reading.  The product bounds the work. */
#define VAULT_FILE_PASSES      3
#define VAULT_FILE_KIB         (64u << 10)
#define VAULT_FILE_PASSES_MAX  16
#define VAULT_FILE_KIB_MIN     8
#define VAULT_FILE_KIB_MAX     (512u << 10)
#define VAULT_FILE_KIB_ALL_MAX (1u << 20) /* passes times KiB */

enum vault_file_opener { OPENER_PASSPHRASE = 1, OPENER_KEY_FILE, OPENER_RECOVERY };
const char *vault_file_opener_name(enum vault_file_opener);

enum vault_file_whose { GRANT_POLICY = 1, GRANT_SIGNER };

struct vault_file;

/* What unlocks a vault; usually bytes in the vault's pages; borrowed. */
struct vault_file_material {
	enum vault_file_opener kind;
	const void *bytes;
	size_t len;
};

struct vault_file_entry { /* metadata of a value */
	const char *path;
	uint32_t version; /* from 1 */
	uint32_t len;     /* of the value */
	uint64_t made;    /* seconds since 1970-01-01 */
	uint64_t retired; /* 0: current version */
};

struct vault_file_grant {
	const char *path;
	const char *server;
	enum vault_file_whose whose;
	uint8_t id[VAULT_FILE_ID_LEN];
	uint64_t made;
};

/*
 * An empty, unlocked vault file with a new key.  The key and working memory are
 * taken from pages, which must outlive it: VAULT_FILE_ROOM bytes.
 */
#define VAULT_FILE_ROOM (VAULT_VALUE_MAX + 4096)
int vault_file_new(struct vault *pages, struct vault_file **ret);
/* Parses untrusted bytes into a locked vault file.  -EBADMSG with why. */
int vault_file_parse(struct vault *pages, const uint8_t *, size_t,
    struct vault_file **ret, struct reason *why);
/* Wipes it and gives its room in the pages back: nothing else may have been taken from
 * them since.  NULL is fine. */
void vault_file_free(struct vault_file *);

/*
 * 0; -ENOENT: no such envelope; -EKEYREJECTED: wrong material (or the envelope was
 * altered, which looks the same); -EUCLEAN: unlocked, but the committed data was
 * altered; -ENOMEM.
 */
int vault_file_unlock(struct vault_file *, const struct vault_file_material *);
/* Is this material that opens it? It stays unlocked. 0; -ENOKEY: it is locked; -ENOENT,
 * -EKEYREJECTED, -ENOMEM as above. */
int vault_file_matches(struct vault_file *, const struct vault_file_material *);
/* Wipes the key. */
void vault_file_lock(struct vault_file *);
bool vault_file_is_open(const struct vault_file *);
/* Makes or replaces the envelope of this kind.  0 -ENOKEY -EINVAL -ENOMEM. */
int vault_file_seal(struct vault_file *, const struct vault_file_material *);

/*
 * Stores a value for path.  next: keeps the present value as an old version,
 * -ENOENT without one; else -EEXIST if there is one.  *ret is its version.
 * -ENOKEY -EINVAL (a path, a NUL byte, a length) -ENOSPC -ENOMEM.
 */
int vault_file_put(struct vault_file *, const char *path, const void *value, size_t len,
    bool next, uint64_t now, uint32_t *ret);
/* Stores a value for path, whether there is one or not, and keeps no old version.  Errors
 * as above. */
int vault_file_replace(struct vault_file *, const char *path, const void *value,
    size_t len, uint64_t now, uint32_t *ret);
/* Stores an old version again, as a new current one.  -ENOENT. */
int vault_file_restore(
    struct vault_file *, const char *path, uint32_t version, uint64_t now, uint32_t *ret);
/* Removes all its versions and grants.  -ENOENT. */
int vault_file_remove(struct vault_file *, const char *path);
/* Removes expired old versions; returns how many. */
size_t vault_file_prune(struct vault_file *, uint64_t now);
size_t vault_file_entry_n(const struct vault_file *);
struct vault_file_entry vault_file_entry(const struct vault_file *, size_t);
/* Decrypts a value into out, VAULT_VALUE_MAX bytes in the pages.  which: 0 is the current
 * value, 1 the newest old version.  -ENOKEY; -ENOENT, also after the oldest that is kept;
 * -EUCLEAN. */
int vault_file_get(
    struct vault_file *, const char *path, uint32_t which, void *out, size_t *ret_len);

/* 0; -EEXIST: duplicate; -EINVAL -ENOSPC -ENOMEM. */
int vault_file_grant(struct vault_file *, const struct vault_file_grant *);
/* Removes the grants of path for server (NULL: for any), all or those for the policy or
 * signer with this id (VAULT_FILE_ID_LEN bytes, or NULL); returns how many. */
size_t vault_file_revoke(
    struct vault_file *, const char *path, const char *server, const uint8_t *id);
size_t vault_file_grant_n(const struct vault_file *);
const struct vault_file_grant *vault_file_grant_at(const struct vault_file *, size_t);

/* Identifies the client of a value: the policy by its id, and its signatures
 * (policy/sealed/signature.h). */
struct vault_file_asker {
	const char *path;
	const char *server;
	const uint8_t *id;            /* VAULT_FILE_ID_LEN bytes */
	const struct sign_head *head; /* NULL: not signed */
	const struct sign_row *row;   /* [row_n] */
	size_t row_n;
	uint32_t today; /* days since 1970-01-01 */
};
/* Is there a grant?  A signer's grant counts if the signature is valid. */
bool vault_file_allows(const struct vault_file *, const struct vault_file_asker *);
/* Is there a grant for another policy? */
bool vault_file_granted_once(
    const struct vault_file *, const char *path, const char *server);

/* The file's bytes, with a commitment dated now; the caller frees them.  Increments
 * the generation.  -ENOKEY -EFBIG -ENOMEM. */
int vault_file_write(struct vault_file *, uint64_t now, uint8_t **ret, size_t *ret_len);
/* Writes the vault file as it is: yields the bytes it was parsed from. */
int vault_file_again(const struct vault_file *, uint8_t **ret, size_t *ret_len);

/* ---- save.c -------------------------------------------------------------- */

/* Identifies the file that was read, to detect a replacement. */
struct vault_file_seen {
	uint64_t dev, ino, size;
	int64_t changed_s, changed_ns;
};

/*
 * Loads the file in this directory (a descriptor): regular, ours, mode 0600, one
 * link, not a symbolic link.  -ENOENT; -EACCES, -EFBIG, -EBADMSG with why.
 */
int vault_file_load(int dir, struct vault *pages, struct vault_file **ret,
    struct vault_file_seen *ret_seen, struct reason *why);
/*
 * Writes another file with these bytes, syncs it and renames it into place.  seen:
 * the file that must still be there (all zero: none), and on return the new one.
 * -ESTALE: another file is there; -EEXIST: one is there, none was expected.
 */
int vault_file_save(int dir, const uint8_t *, size_t, struct vault_file_seen *seen);

/* ---- recovery_phrase.c: a recovery phrase -------------------------------- */

#define PHRASE_BYTES 16 /* random bytes */
#define PHRASE_WORDS 9  /* five letters each; the last one is a checksum */
#define PHRASE_LEN   ((size_t)PHRASE_WORDS * 6)

void phrase_write(const uint8_t bytes[PHRASE_BYTES], char ret[PHRASE_LEN]);
/* Letters in either case, with any separators.  -EINVAL: not a phrase, or one of its
 * words is wrong. */
int phrase_read(const char *text, size_t len, uint8_t ret[PHRASE_BYTES]);
void phrase_draw(uint8_t ret[PHRASE_BYTES]);

#endif
