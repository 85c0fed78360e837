/*
 * Checks what a file carried over from the files before it: the edge of the tree,
 * whole tiles, and the checkpoint over all of it. If the previous file is present, it
 * must end in the same state; if it was removed, the origin's signature is the proof.
 */
#include <inttypes.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/audit/verify/verify.h"

uint64_t
walk_carried(uint64_t base)
{
	uint64_t n = (base % TILE_WIDTH != 0) + (base >> TILE_BITS) % TILE_WIDTH;

	for (unsigned int level = 1; level < TILE_LEVELS - 1; level++)
		n += base >> ((level + 1) * TILE_BITS);
	return n;
}

/* Returns one hash of the edge at the base of a segment, from the carried entries. */
static int
carried_hash(struct order_walk *walk, struct segment *segment, struct merkle_tiles *tree,
    unsigned int level, uint64_t n)
{
	sqlite3_stmt *s = segment->tile;
	uint8_t root[MERKLE_HASH_LEN];
	int r = -EBADMSG, have;

	(void)sqlite3_bind_int(s, 1, (int)level - 1);
	(void)sqlite3_bind_int64(s, 2, (sqlite3_int64)n);
	have = sql_row(walk->answer, s, segment->base);
	if (have > 0 && sqlite3_column_bytes(s, 0) == MERKLE_HASH_LEN) {
		memcpy(tree->tile[level] + n % TILE_WIDTH * MERKLE_HASH_LEN,
		    sqlite3_column_blob(s, 0), MERKLE_HASH_LEN);
		r = 0;
		if (level > 1) { /* a whole tile: check its root */
			r = -EBADMSG;
			if (sqlite3_column_bytes(s, 1) == (int)TILE_LEN) {
				tiles_root_of_tile(sqlite3_column_blob(s, 1), root);
				r = memcmp(root, sqlite3_column_blob(s, 0),
					sizeof(root)) == 0
					? 0
					: -EBADMSG;
			}
		}
	}
	(void)sqlite3_reset(s);
	return r == 0 || have < 0
		   ? r
		   : bad_record(walk->answer, segment->base,
			 "the hashes of the records before it are incomplete or wrong");
}

/* Loads the leaves of a tile that began in the previous file. */
static int
carried_leaves(
    struct order_walk *walk, struct segment *segment, struct merkle_tiles *tree)
{
	size_t want = segment->base % TILE_WIDTH * MERKLE_HASH_LEN;
	sqlite3_stmt *s = segment->tile;
	int r = 0, have;

	if (want == 0)
		return 0;
	(void)sqlite3_bind_int(s, 1, -1);
	(void)sqlite3_bind_int64(s, 2, (sqlite3_int64)(segment->base / TILE_WIDTH));
	have = sql_row(walk->answer, s, segment->base);
	if (have < 0)
		r = have;
	else if (have > 0 && (size_t)sqlite3_column_bytes(s, 1) == want)
		memcpy(tree->tile[0], sqlite3_column_blob(s, 1), want);
	else
		r = bad_record(walk->answer, segment->base,
		    "the hashes of the records before it are incomplete or wrong");
	(void)sqlite3_reset(s);
	return r;
}

/* Checks each carried whole tile against the one above it. */
static int
carried_tiles(struct order_walk *walk, struct segment *segment)
{
	sqlite3_stmt *s = NULL;
	int code, r = 0;

	if (sqlite3_prepare_v2(segment->db,
		"SELECT a.root, substr(b.h, 1 + 32 * (a.n & 255), 32), a.h FROM tile a "
		"JOIN tile b ON b.level = a.level + 1 AND b.n = a.n >> 8 "
		"WHERE a.level >= 1 AND ((b.n + 1) << (8 * (b.level + 1))) <= ?1",
		-1, &s, NULL) != SQLITE_OK)
		return sql_failed(walk->answer, segment->db, segment->base);
	(void)sqlite3_bind_int64(s, 1, (sqlite3_int64)segment->base);
	while (r == 0 && (code = sqlite3_step(s)) == SQLITE_ROW) {
		uint8_t root[MERKLE_HASH_LEN] = {0};

		if (sqlite3_column_bytes(s, 2) == (int)TILE_LEN)
			tiles_root_of_tile(sqlite3_column_blob(s, 2), root);
		if (sqlite3_column_bytes(s, 0) != MERKLE_HASH_LEN ||
		    sqlite3_column_bytes(s, 1) != MERKLE_HASH_LEN ||
		    memcmp(sqlite3_column_blob(s, 0), root, sizeof(root)) != 0 ||
		    memcmp(sqlite3_column_blob(s, 1), root, sizeof(root)) != 0)
			r = bad_record(walk->answer, segment->base,
			    "a tile before it does not match the tile above");
	}
	if (r == 0 && code != SQLITE_DONE)
		r = sql_failed(walk->answer, segment->db, segment->base);
	(void)sqlite3_finalize(s);
	return r;
}

/* For a segment that is not the first: builds the tree up to its base and checks the
 * checkpoint there. Until the epoch's key has signed, only the origin's key is
 * trusted. */
int
walk_carry(struct order_walk *walk, struct segment *segment)
{
	struct merkle_tiles *tree = calloc(1, sizeof(*tree));
	uint64_t base = segment->base;
	uint8_t root[MERKLE_HASH_LEN], was[MERKLE_HASH_LEN];
	int r, have;

	if (tree == NULL)
		return found(walk->answer, UNKNOWN, "out of memory");
	r = carried_leaves(walk, segment, tree);
	for (unsigned int level = 1; r == 0 && level < TILE_LEVELS; level++) {
		uint64_t end = base >> (level * TILE_BITS);

		for (uint64_t n = end - end % TILE_WIDTH; r == 0 && n < end; n++)
			r = carried_hash(walk, segment, tree, level, n);
	}
	if (r == 0)
		r = carried_tiles(walk, segment);
	if (r < 0)
		goto out;
	tiles_edge(tree, base);
	merkle_root(&tree->chain, root);
	merkle_root(&walk->tree.chain, was);
	if (walk->begun &&
	    (walk->tree.chain.size != base || memcmp(root, was, sizeof(root)) != 0)) {
		r = bad_record(
		    walk->answer, base, "it does not follow the segment before");
		goto out;
	}
	walk->tree = *tree;
	if (!walk->begun)
		walk->first_record = base;
	if (!segment->cp_left || segment->cp_size != base) {
		r = bad_record(walk->answer, base, "the checkpoint before it is missing");
		goto out;
	}
	(void)sqlite3_bind_int64(segment->cp_note, 1, (sqlite3_int64)base);
	have = sql_row(walk->answer, segment->cp_note, base);
	if (have < 0)
		r = have;
	else if (have == 0 || !walk_is_note(walk, segment->cp_note, root))
		r = bad_record(walk->answer, base,
		    "the checkpoint before it does not match the records before it");
	(void)sqlite3_reset(segment->cp_note);
	if (r == 0)
		r = walk_keep_mark(walk, base);
	if (r == 0)
		r = walk_check_anchors(walk);
	if (r == 0)
		r = walk_next_checkpoint(walk, segment);
out:
	free(tree);
	return r;
}
