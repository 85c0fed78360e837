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

#include "supervisor/audit/log/inside.h"

struct telling {
	struct tree *tree;
	tree_tile_fn *tell;
	void *arg;
	int r; /* the first failure */
};

static void
on_node(void *arg, unsigned int level, uint64_t n, const uint8_t hash[CHAIN_HASH_LEN])
{
	struct telling *t = arg;
	unsigned int k = level / TILE_BITS;

	if (level % TILE_BITS != 0)
		return;
	if (t->r == 0 && t->tell != NULL)
		t->r = t->tell(t->arg, k - 1, n, hash, t->tree->tile[k - 1]);
	if (k < TILE_LEVELS)
		memcpy(t->tree->tile[k] + n % TILE_WIDTH * CHAIN_HASH_LEN, hash,
		    CHAIN_HASH_LEN);
}

int
tree_append(
    struct tree *tree, const uint8_t leaf[CHAIN_HASH_LEN], tree_tile_fn *tell, void *arg)
{
	struct telling t = {.tree = tree, .tell = tell, .arg = arg};
	uint64_t at = tree->chain.size % TILE_WIDTH;

	memcpy(tree->tile[0] + at * CHAIN_HASH_LEN, leaf, CHAIN_HASH_LEN);
	chain_append_with(&tree->chain, leaf, on_node, &t);
	return t.r;
}

int
tree_append_tile(
    struct tree *tree, const uint8_t root[CHAIN_HASH_LEN], tree_tile_fn *tell, void *arg)
{
	struct telling t = {.tree = tree, .tell = tell, .arg = arg};
	uint64_t at = (tree->chain.size >> TILE_BITS) % TILE_WIDTH;

	memcpy(tree->tile[1] + at * CHAIN_HASH_LEN, root, CHAIN_HASH_LEN);
	chain_append_at(&tree->chain, TILE_BITS, root, on_node, &t);
	return t.r;
}

void
tree_root_of_tile(const uint8_t tile[TILE_LEN], uint8_t ret[CHAIN_HASH_LEN])
{
	uint8_t half[TILE_LEN / 2];

	for (size_t i = 0; i < TILE_WIDTH / 2; i++)
		chain_node(tile + 2 * i * CHAIN_HASH_LEN,
		    tile + (2 * i + 1) * CHAIN_HASH_LEN, half + i * CHAIN_HASH_LEN);
	for (size_t n = TILE_WIDTH / 4; n > 0; n /= 2) {
		for (size_t i = 0; i < n; i++)
			chain_node(half + 2 * i * CHAIN_HASH_LEN,
			    half + (2 * i + 1) * CHAIN_HASH_LEN,
			    half + i * CHAIN_HASH_LEN);
	}
	memcpy(ret, half, CHAIN_HASH_LEN);
}

void
tree_edge(struct tree *tree, uint64_t size)
{
	for (unsigned int k = 0; k < TILE_LEVELS; k++) {
		struct chain part = {0};
		uint64_t n = (size >> (k * TILE_BITS)) % TILE_WIDTH;

		for (uint64_t i = 0; i < n; i++)
			chain_append(&part, tree->tile[k] + i * CHAIN_HASH_LEN);
		memcpy(tree->chain.edge[(size_t)k * TILE_BITS], part.edge,
		    TILE_BITS * sizeof(part.edge[0]));
	}
	tree->chain.size = size;
}
