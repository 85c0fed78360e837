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
 * Process: the keeper.  A container in memory has the content of the file and no
 * more; the key and values are in the pages of the vault it was made with.
 */
#ifndef KENNEL_LEASH_VAULT_FILE_VAULT_FILE_H
#define KENNEL_LEASH_VAULT_FILE_VAULT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "leash/vault/vault.h"
#include "policy/sealed/signature.h"

#define CONTAINER_FILE         "secrets.vault"
#define CONTAINER_LEN_MAX      (16u << 20) /* bytes of a file */
#define CONTAINER_ENTRIES_MAX  1024        /* values, old versions included */
#define CONTAINER_GRANTS_MAX   1024
#define CONTAINER_PATH_MAX     200       /* bytes of a secret's path */
#define CONTAINER_SERVER_MAX   128       /* bytes of a server's name */
#define CONTAINER_MATERIAL_MAX 4096      /* bytes of a passphrase or key file */
#define CONTAINER_ID_LEN       32        /* bytes of a policy's id, of a public key */
#define CONTAINER_GRACE_S      2592000ul /* 30 days, for which an old version is kept */

/* Argon2id (RFC 9106, second recommended option) for new envelopes, and the maximum
 * accepted when reading.  The product bounds the work. */
#define CONTAINER_PASSES      3
#define CONTAINER_KIB         (64u << 10)
#define CONTAINER_PASSES_MAX  16
#define CONTAINER_KIB_MIN     8
#define CONTAINER_KIB_MAX     (512u << 10)
#define CONTAINER_KIB_ALL_MAX (1u << 20) /* passes times KiB */

enum container_opener { OPENER_PASSPHRASE = 1, OPENER_KEY_FILE, OPENER_RECOVERY };
const char *container_opener_name(enum container_opener);

enum container_whose { GRANT_POLICY = 1, GRANT_SIGNER };

struct container;

/* What unlocks a vault; usually bytes in the vault's pages; borrowed. */
struct container_material {
	enum container_opener kind;
	const void *bytes;
	size_t len;
};

struct container_entry { /* metadata of a value */
	const char *path;
	uint32_t version; /* from 1 */
	uint32_t len;     /* of the value */
	uint64_t made;    /* seconds since 1970-01-01 */
	uint64_t retired; /* 0: current version */
};

struct container_grant {
	const char *path;
	const char *server;
	enum container_whose whose;
	uint8_t id[CONTAINER_ID_LEN];
	uint64_t made;
};

/*
 * An empty, unlocked container with a new key.  The key and working memory are
 * taken from pages, which must outlive it: CONTAINER_ROOM bytes.
 */
#define CONTAINER_ROOM (VAULT_VALUE_MAX + 4096)
int container_new(struct vault *pages, struct container **ret);
/* Parses untrusted bytes into a locked container.  -EBADMSG with why. */
int container_parse(struct vault *pages, const uint8_t *, size_t, struct container **ret,
    char *why, size_t why_cap);
/* Wipes it and gives its room in the pages back: nothing else may have been taken from
 * them since.  NULL is fine. */
void container_free(struct container *);

/*
 * 0; -ENOENT: no such envelope; -EKEYREJECTED: wrong material (or the envelope was
 * altered, which looks the same); -EUCLEAN: unlocked, but the committed data was
 * altered; -ENOMEM.
 */
int container_unlock(struct container *, const struct container_material *);
/* Wipes the key. */
void container_lock(struct container *);
bool container_is_open(const struct container *);
/* Makes or replaces the envelope of this kind.  0 -ENOKEY -EINVAL -ENOMEM. */
int container_seal(struct container *, const struct container_material *);
bool container_has(const struct container *, enum container_opener);
/* The cost of envelopes made from now on: for tests. */
void container_cost(struct container *, uint32_t passes, uint32_t kib);
uint64_t container_generation(const struct container *);

/* Three or more names of [a-z][a-z0-9-]*, separated by '/'. */
bool container_path_good(const char *);

/*
 * Stores a value for path.  next: keeps the present value as an old version,
 * -ENOENT without one; else -EEXIST if there is one.  *ret is its version.
 * -ENOKEY -EINVAL (a path, a NUL byte, a length) -ENOSPC -ENOMEM.
 */
int container_put(struct container *, const char *path, const void *value, size_t len,
    bool next, uint64_t now, uint32_t *ret);
/* Stores an old version again, as a new current one.  -ENOENT. */
int container_restore(
    struct container *, const char *path, uint32_t version, uint64_t now, uint32_t *ret);
/* Removes all its versions and grants.  -ENOENT. */
int container_remove(struct container *, const char *path);
/* Removes expired old versions; returns how many. */
size_t container_prune(struct container *, uint64_t now);
size_t container_entry_n(const struct container *);
struct container_entry container_entry(const struct container *, size_t);
/* Decrypts the current value into out, VAULT_VALUE_MAX bytes in the pages. -ENOKEY
 * -ENOENT -EUCLEAN. */
int container_get(struct container *, const char *path, void *out, size_t *ret_len);
/* The same for an old version: 1 is the newest of them.  -ENOENT after the oldest that
 * is kept. */
int container_get_old(
    struct container *, const char *path, uint32_t which, void *out, size_t *ret_len);

/* 0; -EEXIST: duplicate; -EINVAL -ENOSPC -ENOMEM. */
int container_grant(struct container *, const struct container_grant *);
/* Removes the grants of path for server (NULL: for any); returns how many. */
size_t container_revoke(struct container *, const char *path, const char *server);
size_t container_grant_n(const struct container *);
const struct container_grant *container_grant_at(const struct container *, size_t);

/* Identifies the client of a value: the policy by its id, and its signatures
 * (policy/sealed/signature.h). */
struct container_asker {
	const char *path;
	const char *server;
	const uint8_t *id;            /* CONTAINER_ID_LEN bytes */
	const struct sign_head *head; /* NULL: not signed */
	const struct sign_row *row;   /* [row_n] */
	size_t row_n;
	uint32_t today; /* days since 1970-01-01 */
};
/* Is there a grant?  A signer's grant counts if the signature is valid. */
bool container_allows(const struct container *, const struct container_asker *);
/* Is there a grant for another policy? */
bool container_granted_once(
    const struct container *, const char *path, const char *server);

/* The file's bytes, with a commitment dated now; the caller frees them.  Increments
 * the generation.  -ENOKEY -EFBIG -ENOMEM. */
int container_write(struct container *, uint64_t now, uint8_t **ret, size_t *ret_len);
/* Writes the container as it is: yields the bytes it was parsed from. */
int container_again(const struct container *, uint8_t **ret, size_t *ret_len);

/* ---- save.c -------------------------------------------------------------- */

/* Identifies the file that was read, to detect a replacement. */
struct container_seen {
	uint64_t dev, ino, size;
	int64_t changed_s, changed_ns;
};

/*
 * Loads the file in this directory (a descriptor): regular, ours, mode 0600, one
 * link, not a symbolic link.  -ENOENT; -EACCES, -EFBIG, -EBADMSG with why.
 */
int container_load(int folder, struct vault *pages, struct container **ret,
    struct container_seen *ret_seen, char *why, size_t why_cap);
/*
 * Writes another file with these bytes, syncs it and renames it into place.  seen:
 * the file that must still be there (all zero: none), and on return the new one.
 * -ESTALE: another file is there; -EEXIST: one is there, none was expected.
 */
int container_save(int folder, const uint8_t *, size_t, struct container_seen *seen);

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
