/*
 * The tree of a log as it lies in its files, and the verbs that show it.
 *
 *	logtree.c	any hash of it
 *	prove.c		"kennel audit prove", "verify-proof"
 *	tiles.c		"kennel audit tiles": the layout that C2SP's readers know
 *	witness.c	"kennel audit witness"
 *	keep.c		"kennel audit prune", "rotate"
 */
#ifndef KENNEL_SUPERVISOR_AUDIT_LOGTREE_H
#define KENNEL_SUPERVISOR_AUDIT_LOGTREE_H

#include "supervisor/audit/log/inside.h"

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
	uint64_t size; /* as the checkpoint says */
	struct checkpoint cp;
	char note[NOTE_MAX];
	char why[AUDIT_WHY_MAX];
	bool cached;
	unsigned int cache_level;
	uint64_t cache_n;
	uint8_t cache[TILE_LEN];
};

/*
 * The log in this folder, at its last checkpoint or (size > 0) at the one of that
 * size.  0; -ENOENT: no log, or no such checkpoint; -EBADMSG: it is not the tree
 * that its checkpoint says.
 */
int logtree_open(const char *folder, uint64_t size, struct logtree **ret);
void logtree_close(struct logtree *);
struct hashes logtree_hashes(struct logtree *);
/* The first `width` entries of a tile.  -ENOENT: removed. */
int logtree_tile(
    struct logtree *, unsigned int level, uint64_t n, uint64_t width, uint8_t *ret);
int logtree_body(struct logtree *, uint64_t idx, void *out, size_t cap, size_t *ret_len);

/* The tree as a folder of files (C2SP tlog-tiles), at its last checkpoint.  The
 * folder is made.  Also for "export --format tiles". */
int audit_tiles(const char *log_dir, const char *out_dir, uint64_t *ret_size);

/* The tlog-proof of a record, its leaf in it: its length. */
int prove_make(struct logtree *, uint64_t idx, char *out, size_t cap, size_t *ret_len);

/* An auditor's record, on disk when this returns. */
struct event;
int audit_record(const struct event *);

int prune_main(int argc, char **argv);
int rotate_main(int argc, char **argv);
int prove_main(int argc, char **argv);
int verify_proof_main(int argc, char **argv);
int tiles_main(int argc, char **argv);
int witness_main(int argc, char **argv);

#endif
