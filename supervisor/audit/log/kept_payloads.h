/*
 * Arguments and results that a policy wants kept whole ("audit args full").
 *
 * They lie beside the log, in a file of their own, encrypted; the log's record has
 * their digest and length, so that taking them away breaks no proof, and nobody
 * can put others in their place.
 *
 *	payload.c	payload.db: the sealed bytes, by their digest
 *	payload_key.c	payload.key, and XChaCha20-Poly1305 under it
 */
#ifndef KENNEL_SUPERVISOR_AUDIT_PAYLOAD_H
#define KENNEL_SUPERVISOR_AUDIT_PAYLOAD_H

#include "supervisor/audit/log/inside.h"

#define PAYLOAD_MAX       (16u << 20) /* bytes of one: the longest message there is */
#define PAYLOAD_KEY_LEN   32
#define PAYLOAD_NONCE_LEN 24 /* drawn for each */
#define PAYLOAD_TAG_LEN   16
#define PAYLOAD_ADDED     (PAYLOAD_NONCE_LEN + PAYLOAD_TAG_LEN)

/* ---- payload_key.c ------------------------------------------------------------- */

struct payload_key;
/* The key in payload.key of this folder, 0600; made if make says so and there is
 * none.  0; -ENOENT; -EPERM: others may read it; -EBADMSG: it is no key. */
int payload_key_open(int log_dir, bool make, struct payload_key **ret);
void payload_key_free(struct payload_key *); /* wipes it */
/* What seals is longer by PAYLOAD_ADDED.  The digest is what it is sealed to. */
int payload_seal(const struct payload_key *, const uint8_t digest[CHAIN_HASH_LEN],
    const void *plain, size_t len, uint8_t *ret);
/* len: of the sealed bytes.  -EBADMSG: not sealed by this key to this digest. */
int payload_unseal(const struct payload_key *, const uint8_t digest[CHAIN_HASH_LEN],
    const uint8_t *sealed, size_t len, void *ret);

/* ---- payload.c ------------------------------------------------------------------ */

struct payloads;
/* As the writer (the file is made), or to read: 0, -ENOENT, -EBADMSG. */
int payloads_open(const char *log_dir, bool writes, struct payloads **ret);
void payloads_close(struct payloads *);
/* Keeps these bytes; the same twice is kept once.  Their digest in ret_digest.
 * -EMSGSIZE above PAYLOAD_MAX. */
int payloads_put(struct payloads *, uint64_t ts_ns, const void *, size_t,
    uint8_t ret_digest[CHAIN_HASH_LEN]);
/* The bytes with this digest, malloc'ed; checked.  -ENOENT: never kept, or
 * removed; -EBADMSG: what lies there is something else. */
int payloads_get(
    struct payloads *, const uint8_t digest[CHAIN_HASH_LEN], void **ret, size_t *ret_len);
/* Removes those kept before this time, and what they took on disk. */
int payloads_prune(struct payloads *, uint64_t before_ns, uint64_t *ret_n);

int payload_main(int argc, char **argv);
int prune_payloads_main(int argc, char **argv);

#endif
