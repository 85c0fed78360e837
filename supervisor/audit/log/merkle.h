/*
 * The Merkle tree over the records: RFC 6962, section 2.1.
 */
#ifndef KENNEL_SUPERVISOR_AUDIT_LOG_MERKLE_H
#define KENNEL_SUPERVISOR_AUDIT_LOG_MERKLE_H

#include <stddef.h>
#include <stdint.h>

#define MERKLE_HASH_LEN 32
#define MERKLE_LEVELS   64

struct merkle { /* the right edge of the tree */
	uint64_t size;
	uint8_t edge[MERKLE_LEVELS][MERKLE_HASH_LEN];
};

void merkle_leaf(const void *bytes, size_t len, uint8_t ret[MERKLE_HASH_LEN]);
void merkle_node(const uint8_t left[MERKLE_HASH_LEN],
    const uint8_t right[MERKLE_HASH_LEN], uint8_t ret[MERKLE_HASH_LEN]);
void merkle_append(struct merkle *, const uint8_t leaf[MERKLE_HASH_LEN]);
/* Called for each full subtree that an appended leaf completes: subtree n (from 0) of
 * 2^level leaves, level >= 1. */
typedef void merkle_node_fn(
    void *arg, unsigned int level, uint64_t n, const uint8_t hash[MERKLE_HASH_LEN]);
void merkle_append_with(
    struct merkle *, const uint8_t leaf[MERKLE_HASH_LEN], merkle_node_fn *, void *arg);
void merkle_root(const struct merkle *, uint8_t ret[MERKLE_HASH_LEN]);

/* SHA-256 of a message, used for the digests in events. */
void merkle_digest(const void *bytes, size_t len, uint8_t ret[MERKLE_HASH_LEN]);

/* merkle.c: a short keyed hash (SipHash), for checksums. */
#define SUM_KEY_LEN 16
uint64_t merkle_sum(const void *, size_t, const uint8_t key[SUM_KEY_LEN]);
/* Appends a whole subtree of 2^level leaves; the size must be a multiple of that. */
void merkle_append_at(struct merkle *, unsigned int level,
    const uint8_t root[MERKLE_HASH_LEN], merkle_node_fn *, void *arg);

/* ---- merkle_tiles.c: tiles ----------------------------------------------- */

#define TILE_BITS   8u
#define TILE_WIDTH  ((size_t)256) /* C2SP tlog-tiles */
#define TILE_LEVELS (MERKLE_LEVELS / TILE_BITS)
#define TILE_LEN    (TILE_WIDTH * MERKLE_HASH_LEN)

struct merkle_tiles {
	struct merkle chain;
	/* for each level, the entries after its last full tile */
	uint8_t tile[TILE_LEVELS][TILE_LEN];
};
/* Called when a tile is full, with its root. tiles_append returns a negative result of
 * this function. */
typedef int tiles_tile_fn(void *arg, unsigned int level, uint64_t n,
    const uint8_t root[MERKLE_HASH_LEN], const uint8_t tile[TILE_LEN]);
int tiles_append(
    struct merkle_tiles *, const uint8_t leaf[MERKLE_HASH_LEN], tiles_tile_fn *, void *);
/* Appends a whole tile of leaves, given its root; the size must be a multiple of 256.
 * The entries of that tile are then unknown. */
int tiles_append_tile(
    struct merkle_tiles *, const uint8_t root[MERKLE_HASH_LEN], tiles_tile_fn *, void *);
/* Computes the chain of a tree of this size, if tile holds the entries at its right
 * edge. */
void tiles_edge(struct merkle_tiles *, uint64_t size);
void tiles_root_of_tile(const uint8_t tile[TILE_LEN], uint8_t ret[MERKLE_HASH_LEN]);

#endif
