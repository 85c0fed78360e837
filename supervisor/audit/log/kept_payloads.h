/*
 * Arguments and results that a policy keeps in full ("audit args full").
 *
 * They are encrypted in a file of their own, next to the log. The log's record has
 * their digest and length. So removing them breaks no proof, and replacing them is
 * detected.
 *
 *	kept_payloads.c	payload.db: the encrypted bytes, by digest
 *	payload_key.c	payload.key, and XChaCha20-Poly1305 with it
 */
#ifndef KENNEL_SUPERVISOR_AUDIT_LOG_KEPT_PAYLOADS_H
#define KENNEL_SUPERVISOR_AUDIT_LOG_KEPT_PAYLOADS_H

#include <stdbool.h>

#include "supervisor/audit/log/merkle.h"

#define PAYLOAD_MAX       (16u << 20) /* bytes of one: the longest message allowed */
#define PAYLOAD_KEY_LEN   32
#define PAYLOAD_NONCE_LEN 24 /* random for each */
#define PAYLOAD_TAG_LEN   16
#define PAYLOAD_ADDED     (PAYLOAD_NONCE_LEN + PAYLOAD_TAG_LEN)

/* ---- payload_key.c ------------------------------------------------------------- */

struct payload_key;
/* Opens payload.key (0600) in this directory; if make is true, creates a missing one.
 * Returns 0; -ENOENT; -EPERM: others may read it; -EBADMSG: not a valid key. */
int payload_key_open(int log_dir, bool make, struct payload_key **ret);
void payload_key_free(struct payload_key *); /* wipes it */
/* Ciphertext is PAYLOAD_ADDED bytes longer than plaintext. The digest is the
 * associated data. */
int payload_seal(const struct payload_key *, const uint8_t digest[MERKLE_HASH_LEN],
    const void *plain, size_t len, uint8_t *ret);
/* len: of the ciphertext. -EBADMSG: not encrypted with this key for this digest. */
int payload_unseal(const struct payload_key *, const uint8_t digest[MERKLE_HASH_LEN],
    const uint8_t *sealed, size_t len, void *ret);

/* ---- kept_payloads.c ----------------------------------------------------- */

struct payloads;
/* writes: open for writing and create the file; else read-only. 0, -ENOENT,
 * -EBADMSG. */
int payloads_open(const char *log_dir, bool writes, struct payloads **ret);
void payloads_close(struct payloads *);
/* Stores these bytes, once per digest. Stores the digest in ret_digest. -EMSGSIZE
 * above PAYLOAD_MAX. */
int payloads_put(struct payloads *, uint64_t ts_ns, const void *, size_t,
    uint8_t ret_digest[MERKLE_HASH_LEN]);
/* The same, now, for struct session_order: keep. */
int payloads_keep(void *payloads, const void *, size_t);
/* Returns the bytes with this digest, checked; the caller frees them. -ENOENT: never
 * kept, or removed; -EBADMSG: the stored bytes do not match. */
int payloads_get(struct payloads *, const uint8_t digest[MERKLE_HASH_LEN], void **ret,
    size_t *ret_len);
/* Removes payloads kept before this time, and shrinks the file. */
int payloads_prune(struct payloads *, uint64_t before_ns, uint64_t *ret_n);

#endif
