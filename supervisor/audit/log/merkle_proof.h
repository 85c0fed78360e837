/*
 * Proofs that a record, or an older log, is part of a log (merkle_proof.c).
 */
#ifndef KENNEL_SUPERVISOR_AUDIT_LOG_MERKLE_PROOF_H
#define KENNEL_SUPERVISOR_AUDIT_LOG_MERKLE_PROOF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "supervisor/audit/log/merkle.h"
#include "supervisor/audit/log/record.h"
#include "supervisor/audit/log/signed_note.h"

#define PATH_MAX_HASHES 64
#define PROOF_MAX       65536

struct merkle_path {
	uint8_t hash[PATH_MAX_HASHES][MERKLE_HASH_LEN];
	size_t n;
};
/* Source of subtree hashes: get returns the root of subtree n of 2^level leaves. */
struct hashes {
	int (*get)(
	    void *arg, unsigned int level, uint64_t n, uint8_t ret[MERKLE_HASH_LEN]);
	void *arg;
};
/* Computes the root over the leaves from .. to - 1. from is a multiple of the largest
 * power of two that fits. */
int merkle_path_root(
    const struct hashes *, uint64_t from, uint64_t to, uint8_t ret[MERKLE_HASH_LEN]);
int merkle_path_inclusion(
    const struct hashes *, uint64_t index, uint64_t size, struct merkle_path *ret);
int merkle_path_consistency(
    const struct hashes *, uint64_t old, uint64_t size, struct merkle_path *ret);
bool merkle_path_consistent(const struct merkle_path *, uint64_t old,
    const uint8_t old_root[MERKLE_HASH_LEN], uint64_t size,
    const uint8_t root[MERKLE_HASH_LEN]);

struct proof { /* C2SP tlog-proof */
	uint64_t index;
	struct merkle_path path;
	bool has_leaf; /* the record itself, in the "extra" data */
	uint8_t leaf[AUDIT_BODY_MAX];
	size_t leaf_len;
};
size_t proof_put(const struct proof *, const char *note, char *out, size_t cap);
int proof_parse(const void *, size_t len, struct proof *, struct note *ret_note,
    struct checkpoint *ret_cp);
bool proof_included(
    const struct proof *, const uint8_t leaf[MERKLE_HASH_LEN], const struct checkpoint *);

/* ---- merkle_proof.c: requests to a witness ------------------------------- */

int witness_parse(const void *, size_t, uint64_t *ret_old, struct merkle_path *ret_path,
    struct note *ret_note, struct checkpoint *ret_cp);

#endif
