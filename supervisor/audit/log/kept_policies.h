/*
 * The policies that were in force, kept next to the log (docs/FORMAT.audit,
 * "Policies") by the digests that the records contain.
 */
#ifndef KENNEL_SUPERVISOR_AUDIT_LOG_KEPT_POLICIES_H
#define KENNEL_SUPERVISOR_AUDIT_LOG_KEPT_POLICIES_H

#include <stddef.h>
#include <stdint.h>

#include "supervisor/audit/log/merkle.h"

#define POLICIES_LEN_MAX (16u << 20)           /* bytes of one, also of a text */
#define POLICIES_MAX     4096                  /* number of files kept, */
#define POLICIES_BYTES   ((uint64_t)512 << 20) /* and their total size */
#define POLICIES_NAME    (2 * MERKLE_HASH_LEN + 8)

enum policies_form {
	POLICIES_TEXT,   /* by its SHA-256 */
	POLICIES_SEALED, /* without signatures; by the policy's id, its SHA-256 */
};

/* "DIGEST.kennel", "ID.sealed". */
void policies_name(
    enum policies_form, const uint8_t digest[MERKLE_HASH_LEN], char ret[POLICIES_NAME]);

/* Keeps the bytes with this digest, which are now in force. Returns 0; -EMSGSIZE or
 * -ENOSPC: not kept, because too much is kept already; -errno. */
int policies_keep(const char *log_dir, enum policies_form,
    const uint8_t digest[MERKLE_HASH_LEN], const void *, size_t);
/* Returns the bytes with this digest, checked and followed by a NUL; the caller frees
 * them. -ENOENT: never kept, or removed; -EBADMSG: the stored bytes do not match. */
int policies_get(const char *log_dir, enum policies_form,
    const uint8_t digest[MERKLE_HASH_LEN], char **ret, size_t *ret_len);
/* The digest that begins with these digits, at least POLICIES_PREFIX_MIN. -ENOENT: none
 * is kept; -EEXIST: several; -EINVAL: they are not digits, or too few. */
#define POLICIES_PREFIX_MIN 8
int policies_find(const char *log_dir, const char *prefix, uint8_t ret[MERKLE_HASH_LEN]);
/* Removes policies that no server started with since this time. */
int policies_prune(const char *log_dir, uint64_t before_ns, uint64_t *ret_n);

#endif
