/*
 * The Merkle tree in tiles of 256 hashes (C2SP tlog-tiles): the growing right edge,
 * and the tiles that it completes.
 *
 * Tile (level, n) holds the roots of the full subtrees of 256^level leaves with the
 * numbers 256 n to 256 n + 255, in order; level 0 holds leaves. Full tiles never
 * change and are stored. The entries right of the last full tile of each level are in
 * memory; they can be computed again from the records and from the roots of the tiles
 * one level below.
 */
#include <string.h>

#include "supervisor/audit/log/merkle.h"
#include "supervisor/audit/log/merkle.h"

struct telling {
	struct merkle_tiles *tree;
	tiles_tile_fn *tell;
	void *arg;
	int r; /* the first failure */
};

static void
on_node(void *arg, unsigned int level, uint64_t n, const uint8_t hash[MERKLE_HASH_LEN])
{
	struct telling *t = arg;
	unsigned int k = level / TILE_BITS;

	if (level % TILE_BITS != 0)
		return;
	if (t->r == 0 && t->tell != NULL)
		t->r = t->tell(t->arg, k - 1, n, hash, t->tree->tile[k - 1]);
	if (k < TILE_LEVELS)
		memcpy(t->tree->tile[k] + n % TILE_WIDTH * MERKLE_HASH_LEN, hash,
		    MERKLE_HASH_LEN);
}

int
tiles_append(struct merkle_tiles *tree, const uint8_t leaf[MERKLE_HASH_LEN],
    tiles_tile_fn *tell, void *arg)
{
	struct telling t = {.tree = tree, .tell = tell, .arg = arg};
	uint64_t at = tree->chain.size % TILE_WIDTH;

	memcpy(tree->tile[0] + at * MERKLE_HASH_LEN, leaf, MERKLE_HASH_LEN);
	merkle_append_with(&tree->chain, leaf, on_node, &t);
	return t.r;
}

int
tiles_append_tile(struct merkle_tiles *tree, const uint8_t root[MERKLE_HASH_LEN],
    tiles_tile_fn *tell, void *arg)
{
	struct telling t = {.tree = tree, .tell = tell, .arg = arg};
	uint64_t at = (tree->chain.size >> TILE_BITS) % TILE_WIDTH;

	memcpy(tree->tile[1] + at * MERKLE_HASH_LEN, root, MERKLE_HASH_LEN);
	merkle_append_at(&tree->chain, TILE_BITS, root, on_node, &t);
	return t.r;
}

void
tiles_root_of_tile(const uint8_t tile[TILE_LEN], uint8_t ret[MERKLE_HASH_LEN])
{
	uint8_t half[TILE_LEN / 2];

	for (size_t i = 0; i < TILE_WIDTH / 2; i++)
		merkle_node(tile + 2 * i * MERKLE_HASH_LEN,
		    tile + (2 * i + 1) * MERKLE_HASH_LEN, half + i * MERKLE_HASH_LEN);
	for (size_t n = TILE_WIDTH / 4; n > 0; n /= 2) {
		for (size_t i = 0; i < n; i++)
			merkle_node(half + 2 * i * MERKLE_HASH_LEN,
			    half + (2 * i + 1) * MERKLE_HASH_LEN,
			    half + i * MERKLE_HASH_LEN);
	}
	memcpy(ret, half, MERKLE_HASH_LEN);
}

void
tiles_edge(struct merkle_tiles *tree, uint64_t size)
{
	for (unsigned int k = 0; k < TILE_LEVELS; k++) {
		struct merkle part = {0};
		uint64_t n = (size >> (k * TILE_BITS)) % TILE_WIDTH;

		for (uint64_t i = 0; i < n; i++)
			merkle_append(&part, tree->tile[k] + i * MERKLE_HASH_LEN);
		memcpy(tree->chain.edge[(size_t)k * TILE_BITS], part.edge,
		    TILE_BITS * sizeof(part.edge[0]));
	}
	tree->chain.size = size;
}
