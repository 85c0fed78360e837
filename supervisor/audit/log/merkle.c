/*
 * Merkle tree of RFC 6962, section 2.1: hashes of leaves and of inner nodes, and the
 * right edge of the tree, from which every root is computed.
 *
 * The edge has one hash per bit that is set in the size: edge[l] is the root of the
 * full subtree of 2^l leaves at that place. Appending works like binary addition; the
 * carry is the node hash.
 */
#include <sodium.h>
#include <stdatomic.h>
#include <string.h>

#include "shim/base/sha256.h"
#include "supervisor/audit/log/merkle.h"
#include "supervisor/audit/log/merkle.h"
#include "supervisor/audit/recorder/startup.h"

/* Prefixes that keep a leaf from being taken for a node, and the reverse. */
enum { TAG_LEAF = 0x00, TAG_NODE = 0x01 };

enum answer { UNKNOWN, FAST, SLOW };
static _Atomic enum answer known;

/* Compares the fast SHA-256 of this processor with libsodium's, with and without a
 * tag, for short and long input. */
static __attribute__((noinline)) bool
compare_once(void)
{
	uint8_t input[1 + 200], ours[MERKLE_HASH_LEN], theirs[MERKLE_HASH_LEN];
	bool same = true;

	for (size_t i = 0; i < sizeof(input); i++)
		input[i] = (uint8_t)(i * 7);
	for (size_t n = 0; same && sha_fits() && n < sizeof(input); n += 9) {
		input[0] = TAG_NODE;
		(void)crypto_hash_sha256(theirs, input, 1 + n); /* always 0 */
		sha_digest(TAG_NODE, input + 1, n, ours);
		same = memcmp(ours, theirs, sizeof(ours)) == 0;
		sha_digest(-1, input, 1 + n, ours);
		same = same && memcmp(ours, theirs, sizeof(ours)) == 0;
	}
	known = same && sha_fits() ? FAST : SLOW;
	return known == FAST;
}

/* Inline, because every hash calls it. */
static inline bool
is_fast(void)
{
	enum answer now = atomic_load_explicit(&known, memory_order_relaxed);

	return now == UNKNOWN ? compare_once() : now == FAST;
}

void
merkle_leaf(const void *bytes, size_t len, uint8_t ret[MERKLE_HASH_LEN])
{
	crypto_hash_sha256_state state;
	static const uint8_t tag = TAG_LEAF;

	if (is_fast()) {
		sha_digest(TAG_LEAF, bytes, len, ret);
		return;
	}
	(void)crypto_hash_sha256_init(&state); /* always 0 */
	(void)crypto_hash_sha256_update(&state, &tag, 1);
	(void)crypto_hash_sha256_update(&state, bytes, len);
	(void)crypto_hash_sha256_final(&state, ret);
}

void
merkle_node(const uint8_t left[MERKLE_HASH_LEN], const uint8_t right[MERKLE_HASH_LEN],
    uint8_t ret[MERKLE_HASH_LEN])
{
	uint8_t both[1 + 2 * MERKLE_HASH_LEN];

	both[0] = TAG_NODE;
	memcpy(both + 1, left, MERKLE_HASH_LEN);
	memcpy(both + 1 + MERKLE_HASH_LEN, right, MERKLE_HASH_LEN);
	if (is_fast())
		sha_digest(-1, both, sizeof(both), ret);
	else
		(void)crypto_hash_sha256(ret, both, sizeof(both)); /* always 0 */
}

void
merkle_append_at(struct merkle *chain, unsigned int level,
    const uint8_t root[MERKLE_HASH_LEN], merkle_node_fn *tell, void *arg)
{
	uint8_t hash[MERKLE_HASH_LEN];
	uint64_t one = UINT64_C(1) << level;

	memcpy(hash, root, MERKLE_HASH_LEN);
	while ((chain->size >> level & 1) != 0) {
		merkle_node(chain->edge[level], hash, hash);
		level++;
		if (tell != NULL)
			tell(arg, level, chain->size >> level, hash);
	}
	memcpy(chain->edge[level], hash, MERKLE_HASH_LEN);
	chain->size += one;
}

void
merkle_append_with(struct merkle *chain, const uint8_t leaf[MERKLE_HASH_LEN],
    merkle_node_fn *tell, void *arg)
{
	merkle_append_at(chain, 0, leaf, tell, arg);
}

void
merkle_append(struct merkle *chain, const uint8_t leaf[MERKLE_HASH_LEN])
{
	merkle_append_with(chain, leaf, NULL, NULL);
}

void
merkle_root(const struct merkle *chain, uint8_t ret[MERKLE_HASH_LEN])
{
	uint8_t hash[MERKLE_HASH_LEN];
	unsigned int level = 0;

	if (chain->size == 0) {
		merkle_digest("", 0, ret);
		return;
	}
	while ((chain->size >> level & 1) == 0)
		level++;
	memcpy(hash, chain->edge[level], MERKLE_HASH_LEN);
	for (level++; level < MERKLE_LEVELS; level++) {
		if ((chain->size >> level & 1) != 0)
			merkle_node(chain->edge[level], hash, hash);
	}
	memcpy(ret, hash, MERKLE_HASH_LEN);
}

void
merkle_digest(const void *bytes, size_t len, uint8_t ret[MERKLE_HASH_LEN])
{
	if (is_fast())
		sha_digest(-1, bytes, len, ret);
	else
		(void)crypto_hash_sha256(ret, bytes, len); /* always 0 */
}

uint64_t
merkle_sum(const void *bytes, size_t len, const uint8_t key[SUM_KEY_LEN])
{
	uint64_t sum;

	(void)crypto_shorthash((uint8_t *)&sum, bytes, len, key); /* always 0 */
	return sum;
}
