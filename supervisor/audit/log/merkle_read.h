/*
 * Reading the Merkle tree of a log from its files, and the verbs that use it.
 *
 *	merkle_read.c	any hash of the tree
 *	prove.c		"kennel audit prove", "verify-proof"
 *	export_tiles.c	"kennel audit tiles": the C2SP tlog-tiles layout
 *	witness.c	"kennel audit witness"
 *	prune.c		"kennel audit prune", "rotate"
 */
#ifndef KENNEL_SUPERVISOR_AUDIT_LOG_MERKLE_READ_H
#define KENNEL_SUPERVISOR_AUDIT_LOG_MERKLE_READ_H

#include "leash/audit/writer.h"
#include "supervisor/audit/log/merkle.h"
#include "supervisor/audit/log/merkle_proof.h"
#include "supervisor/audit/log/open_log.h"
#include "supervisor/audit/log/record.h"
#include "supervisor/audit/log/signed_note.h"

#define LOGTREE_SEGMENTS_MAX 1024

struct sqlite3_stmt;
struct logtree_segment {
	char path[AUDIT_PATH_MAX];
	uint64_t base;
	bool open;
	struct reader reader;
	struct sqlite3_stmt *tile, *roots, *rec;
};

struct logtree {
	struct logtree_segment segment[LOGTREE_SEGMENTS_MAX]; /* oldest first */
	size_t segment_n;
	uint64_t size; /* from the checkpoint */
	struct checkpoint cp;
	char note[NOTE_MAX];
	char why[AUDIT_WHY_MAX];
	bool cached;
	unsigned int cache_level;
	uint64_t cache_n;
	uint8_t cache[TILE_LEN];
};

/*
 * Opens the log in this directory, at its last checkpoint or (size > 0) at the one of
 * that size. Returns 0; -ENOENT: no log, or no such checkpoint; -EBADMSG: the tree
 * does not match its checkpoint.
 */
int logtree_open(const char *folder, uint64_t size, struct logtree **ret);
void logtree_close(struct logtree *);
struct hashes logtree_hashes(struct logtree *);
/* The first `width` entries of a tile.  -ENOENT: removed. */
int logtree_tile(
    struct logtree *, unsigned int level, uint64_t n, uint64_t width, uint8_t *ret);
int logtree_body(struct logtree *, uint64_t idx, void *out, size_t cap, size_t *ret_len);

/* Makes the tlog-proof of a record, including its leaf; *ret is its length. */
int prove_make(struct logtree *, uint64_t idx, char *out, size_t cap, size_t *ret_len);

#endif
