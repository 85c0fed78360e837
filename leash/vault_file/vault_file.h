/*
 * The vault at rest: one file (docs/FORMAT.vault tells it byte by byte).
 *
 *	header | envelopes | index | grants | commitment | sealed values
 *
 * A random key seals each value; each envelope holds that key once more, under
 * a passphrase, a key file or a recovery phrase.  Paths, dates and grants are in
 * the clear and bound by the commitment, which only the key can make: a line that
 * was dropped, moved or taken from an older file shows when it is unlocked.
 *
 * Runs in the keeper.  A container in memory holds what the file holds and no
 * more; key and values are in the pages of the vault it was made with.
 */
#ifndef KENNEL_LEASH_VAULT_CONTAINER_H
#define KENNEL_LEASH_VAULT_CONTAINER_H

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
#define CONTAINER_MATERIAL_MAX 4096      /* a passphrase, a key file */
#define CONTAINER_ID_LEN       32        /* a policy's id; a signer's public key */
#define CONTAINER_GRACE_S      2592000ul /* thirty days: an old version stays so long */

/* Argon2id (RFC 9106, its second recommended choice): what a new envelope gets,
 * and what is read at most.  The product bounds the work. */
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

/* What opens a vault: bytes of the vault's pages as a rule; borrowed. */
struct container_material {
	enum container_opener kind;
	const void *bytes;
	size_t len;
};

struct container_entry { /* what is said of a value */
	const char *path;
	uint32_t version; /* from 1 */
	uint32_t len;     /* of the value */
	uint64_t made;    /* seconds since 1970-01-01 */
	uint64_t retired; /* 0: the one that counts */
};

struct container_grant {
	const char *path;
	const char *server;
	enum container_whose whose;
	uint8_t id[CONTAINER_ID_LEN];
	uint64_t made;
};

/*
 * An empty one with a key of its own, open.  Its key, and room to work, are
 * taken from pages, which must outlive it: CONTAINER_ROOM bytes of them.
 */
#define CONTAINER_ROOM (VAULT_VALUE_MAX + 4096)
int container_new(struct vault *pages, struct container **ret);
/* One from bytes that nobody has looked at yet, locked.  -EBADMSG with why. */
int container_parse(struct vault *pages, const uint8_t *, size_t, struct container **ret,
    char *why, size_t why_cap);
/* Wiped, and its room in the pages given back: nothing may have been taken from
 * them since.  NULL is fine. */
void container_free(struct container *);

/*
 * 0; -ENOENT no such envelope; -EKEYREJECTED it does not open (or the envelope was
 * altered, which looks the same); -EUCLEAN it opens, but what it commits to was
 * altered; -ENOMEM.
 */
int container_unlock(struct container *, const struct container_material *);
/* The key is wiped. */
void container_lock(struct container *);
bool container_is_open(const struct container *);
/* Makes, or replaces, the envelope of this kind.  0 -ENOKEY -EINVAL -ENOMEM. */
int container_seal(struct container *, const struct container_material *);
bool container_has(const struct container *, enum container_opener);
/* The cost of the envelopes that are made from now on: for tests. */
void container_cost(struct container *, uint32_t passes, uint32_t kib);
uint64_t container_generation(const struct container *);

/* Three or more names of [a-z][a-z0-9-]*, with '/' between them. */
bool container_path_good(const char *);

/*
 * A value for path.  next: -ENOENT unless there is one, which is kept as an old
 * version; else -EEXIST when there is one.  *ret is its number.
 * -ENOKEY -EINVAL (a path, a NUL byte, a length) -ENOSPC -ENOMEM.
 */
int container_put(struct container *, const char *path, const void *value, size_t len,
    bool next, uint64_t now, uint32_t *ret);
/* An old version, as a new one that counts.  -ENOENT. */
int container_restore(
    struct container *, const char *path, uint32_t version, uint64_t now, uint32_t *ret);
/* All versions of it, and its grants.  -ENOENT. */
int container_remove(struct container *, const char *path);
/* Old versions whose time is over.  How many went. */
size_t container_prune(struct container *, uint64_t now);
size_t container_entry_n(const struct container *);
struct container_entry container_entry(const struct container *, size_t);
/* Opens the value that counts into out, which lies in the pages, VAULT_VALUE_MAX
 * bytes.  -ENOKEY -ENOENT -EUCLEAN. */
int container_get(struct container *, const char *path, void *out, size_t *ret_len);
/* The same of an old version: 1 is the one that was replaced last.  -ENOENT behind
 * the oldest that is kept. */
int container_get_old(
    struct container *, const char *path, uint32_t which, void *out, size_t *ret_len);

/* 0; -EEXIST it is there; -EINVAL -ENOSPC -ENOMEM. */
int container_grant(struct container *, const struct container_grant *);
/* Those of path for server; NULL: for any.  How many went. */
size_t container_revoke(struct container *, const char *path, const char *server);
size_t container_grant_n(const struct container *);
const struct container_grant *container_grant_at(const struct container *, size_t);

/* Who asks for a value: the policy by its id, and what its signers say of it
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
/* Was it approved?  A signer's grant counts where the signature is good. */
bool container_allows(const struct container *, const struct container_asker *);
/* Was it approved for another policy? */
bool container_granted_once(
    const struct container *, const char *path, const char *server);

/* The file's bytes, with a commitment that says now; the caller frees them.
 * Counts as a generation.  -ENOKEY -EFBIG -ENOMEM. */
int container_write(struct container *, uint64_t now, uint8_t **ret, size_t *ret_len);
/* The bytes it was parsed from, made again from what was understood: tests. */
int container_again(const struct container *, uint8_t **ret, size_t *ret_len);

/* ---- container_file.c ---------------------------------------------------- */

/* Which file was read, so that another in its place is seen. */
struct container_seen {
	uint64_t dev, ino, size;
	int64_t changed_s, changed_ns;
};

/*
 * The file in folder (a descriptor): regular, ours, 0600, one name, no link.
 * -ENOENT; -EACCES, -EFBIG, -EBADMSG with why.
 */
int container_load(int folder, struct vault *pages, struct container **ret,
    struct container_seen *ret_seen, char *why, size_t why_cap);
/*
 * Another file with these bytes, on the disk, then in its place.  seen: what must
 * stand there still (all zero: nothing), and what stands there then.  -ESTALE:
 * another does; -EEXIST: one does where none should.
 */
int container_save(int folder, const uint8_t *, size_t, struct container_seen *seen);

/* ---- phrase.c: a recovery phrase ------------------------------------------- */

#define PHRASE_BYTES 16 /* drawn at random */
#define PHRASE_WORDS 9  /* five letters each; the last one is a check */
#define PHRASE_LEN   ((size_t)PHRASE_WORDS * 6)

void phrase_write(const uint8_t bytes[PHRASE_BYTES], char ret[PHRASE_LEN]);
/* Letters in either case, with anything between words.  -EINVAL: it is none,
 * or one of its words is not what it was. */
int phrase_read(const char *text, size_t len, uint8_t ret[PHRASE_BYTES]);
void phrase_draw(uint8_t ret[PHRASE_BYTES]);

#endif
