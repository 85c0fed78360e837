/*
 * The policies that were in force, kept beside the log (docs/FORMAT.audit, "Policies"),
 * by the digests that the records have of them.
 */
#ifndef KENNEL_SUPERVISOR_AUDIT_POLICIES_H
#define KENNEL_SUPERVISOR_AUDIT_POLICIES_H

#include <stddef.h>
#include <stdint.h>

#include "supervisor/audit/audit.h"

#define POLICIES_LEN_MAX (16u << 20)           /* bytes of one; a text has no more */
#define POLICIES_MAX     4096                  /* of them are kept, */
#define POLICIES_BYTES   ((uint64_t)512 << 20) /* of so many bytes */
#define POLICIES_NAME    (2 * CHAIN_HASH_LEN + 8)

enum policies_form {
	POLICIES_TEXT,   /* by its SHA-256 */
	POLICIES_SEALED, /* without signatures: by the policy's id, which is the same */
};

/* "DIGEST.kennel", "ID.sealed". */
void policies_name(
    enum policies_form, const uint8_t digest[CHAIN_HASH_LEN], char ret[POLICIES_NAME]);

/* The bytes, whose digest this is, are in force now.  0; -EMSGSIZE, -ENOSPC: not
 * kept, as too much is already; -errno. */
int policies_keep(const char *log_dir, enum policies_form,
    const uint8_t digest[CHAIN_HASH_LEN], const void *, size_t);
/* The bytes with this digest, malloc'ed, a NUL behind them; checked.  -ENOENT: never
 * kept, or removed; -EBADMSG: what lies there is something else. */
int policies_get(const char *log_dir, enum policies_form,
    const uint8_t digest[CHAIN_HASH_LEN], char **ret, size_t *ret_len);
/* Removes those that nobody started with since this time. */
int policies_prune(const char *log_dir, uint64_t before_ns, uint64_t *ret_n);

/* policies_run.c */
int policy_text_main(int argc, char **argv);
int prune_policies_main(int argc, char **argv);

#endif
