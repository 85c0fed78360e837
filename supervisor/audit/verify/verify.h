/*
 * What the files of kennel-verify say to each other.
 *
 *	verify.c	the program: options, fences, the answer told
 *	judge.c		one segment after the other, step by step
 *	crew.c		the work shared out among threads
 *	rows.c		a piece of the records: bodies, columns, leaves, tiles
 *	indexes.c	each index holds what the records say, in order
 *	walk.c		the tree, the checkpoints, the epochs, the clock
 *	carried.c	what a file brought from those before it
 *	anchor.c	what somebody else knows of this log; is it fresh
 *	proof.c		one record's proof, without the log
 *
 * Nothing here believes the database.  Each thread has a connection of its own;
 * what they find is put in order by the first thread, so that the first bad
 * record is the first.
 */
#ifndef KENNEL_SUPERVISOR_AUDIT_JUDGE_H
#define KENNEL_SUPERVISOR_AUDIT_JUDGE_H

#include "supervisor/audit/log/inside.h"

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

enum verdict { INTACT, TAMPERED, INCOMPLETE, UNKNOWN };

struct answer {
	enum verdict verdict;
	bool named;   /* bad is a record's number */
	uint64_t bad; /* the first record that is not what was written */
	char why[512];
	char file[64]; /* of the segment */
};

/* The first finding stands.  Always -EBADMSG, to return with. */
int found(struct answer *, enum verdict, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int bad_record(struct answer *, uint64_t idx, const char *why);
/* A statement that could not go on: a damaged file, or ours to blame. */
int sql_failed(struct answer *, struct sqlite3 *, uint64_t at);

/* ---- rows.c ------------------------------------------------------------------- */

#define PIECE_TILES   ((size_t)64)
#define PIECE_RECORDS (PIECE_TILES * TILE_WIDTH)
#define INDEXES       5

/* A record of the recorder's own, or a cosignature: what the walk needs. */
struct own_record {
	uint64_t idx, ts, boot;
	uint64_t before; /* the latest time of the records since the one before it */
	enum event_kind kind;
	uint64_t epoch, period, size, count;
	bool clean, rotated;
	char instance[17];
	char boot_id[40];
	char origin[NOTE_NAME_MAX];
	struct vkey vkey[2];
	size_t vkey_n;
	char note[1024]; /* of a cosignature: its line */
};

/* Records first .. first + n - 1 (n <= PIECE_RECORDS): what was found. */
struct piece {
	uint64_t first, n;
	struct answer answer; /* of the first bad one */
	uint8_t leaf[PIECE_RECORDS * CHAIN_HASH_LEN];
	uint8_t root[PIECE_TILES][CHAIN_HASH_LEN]; /* of its full tiles */
	uint64_t sum[INDEXES];                     /* what the indexes must hold */
	uint64_t boot_most;     /* the latest time behind the last of its own */
	struct own_record *own; /* owned */
	size_t own_n, own_cap;
	uint64_t gaps;
};
struct rows; /* a connection's statements */
int rows_new(struct sqlite3 *, struct answer *, struct rows **ret);
void rows_free(struct rows *);
/* What it finds is in the piece. */
void rows_check(struct rows *, struct piece *);

/* ---- indexes.c ------------------------------------------------------------------ */

/* A value of a row, asked for once: each question of SQLite's costs as much as all
 * that is done with the answer. */
struct cell {
	int type, len;
	int64_t number;
	const uint8_t *bytes; /* its own until the next step */
};
struct sqlite3_stmt;
void cells_get(struct sqlite3_stmt *, struct cell *, int n);

/* One entry as bytes: each part with its type and length. */
struct entry {
	uint8_t bytes[3 * (3 * REPORT_TEXT_MAX + 16) + 8];
	size_t len;
};

/* Before any other thread: draws the key of the sums. */
void index_init(void);
/* What a record adds to the sum of each index: its columns as SQLite has them, in
 * the order of rows.c; room for one entry. */
void index_add(const struct cell *, struct entry *room, uint64_t sum[INDEXES]);
/* The index in its own order: sorted, and its sum. */
int index_check(struct sqlite3 *, int index, struct answer *, uint64_t *ret_sum);
const char *index_name(int index);

/* ---- walk.c ---------------------------------------------------------------------- */

struct anchor {
	struct checkpoint cp;
	bool seen;
	const char *file;
};

#define MARK_EVERY 64

struct walk {
	struct tree tree;
	struct answer *answer;
	char origin[NOTE_NAME_MAX];
	bool begun; /* the origin and the first key are known */
	struct vkey origin_key;
	uint8_t (*key)[KEY_LEN]; /* of each epoch from first_epoch on; owned */
	uint64_t first_epoch, epoch, key_n, key_cap;
	uint64_t closes; /* the checkpoint of this size must end the epoch; 0: none */
	uint64_t first_record; /* that is still there */
	uint64_t pruned;       /* those before it were removed, it is said */
	/* the next checkpoint, and the last that held */
	uint64_t cp_n, cp_before;
	uint64_t cp_all; /* of the segment, as it says */
	bool changed;    /* a file was written while it was read */
	uint64_t *mark;  /* the size of each MARK_EVERY-th checkpoint; owned */
	size_t mark_n, mark_cap;
	/* the clock */
	uint64_t offset_ns, boot_ns, last_ts, boot_most;
	char boot_id[40], instance[17];
	bool clock_known;
	/* the end */
	bool ended;
	uint64_t period_s, heartbeats, breaks, first_break, unclean, clocks, gaps, cosigs;
	struct anchor *anchor;
	size_t anchor_n;
	const struct vkey *witness;
	size_t witness_n;
	uint64_t witness_time, witness_size; /* the newest cosignature that holds */
	struct segment *segment;             /* that is walked */
};

/* The checkpoints of one segment, walked beside the records. */
struct segment {
	struct sqlite3 *db;
	struct sqlite3_stmt *cp_list, *cp_note, *tile;
	uint64_t base, size;
	uint64_t tiles;   /* completed in it */
	uint64_t cp_size; /* the next one */
	bool cp_left;
};

/* From its first record on; what it brought from those before is compared. */
int walk_segment_open(struct walk *, struct segment *);
/* For carried.c: a checkpoint's text is what the tree gives; the next checkpoint;
 * one more was met; kept ones of this size. */
bool walk_is_note(
    const struct walk *, struct sqlite3_stmt *, const uint8_t root[CHAIN_HASH_LEN]);
int walk_next_checkpoint(struct walk *, struct segment *);
int walk_keep_mark(struct walk *, uint64_t size);
int walk_check_anchors(struct walk *);
int walk_carry(struct walk *, struct segment *);
/* How many tiles it brought. */
uint64_t walk_carried(uint64_t base);
void walk_segment_close(struct segment *);
/* The next piece, in order. */
int walk_piece(struct walk *, struct segment *, const struct piece *);
/* Behind the last record of the segment. */
int walk_segment_end(struct walk *, struct segment *);
/* The signatures of the checkpoints from size first to last: any thread. */
int walk_signatures(const struct walk *, struct sqlite3 *, uint64_t first, uint64_t last,
    struct answer *);

/* ---- crew.c ----------------------------------------------------------------------- */

/* Runs job(arg, worker, i) for i of 0 .. n - 1 in `threads` threads, each with
 * its worker number; take(arg, i) in the caller's thread, in order, as they are
 * done; never more than `ahead` are done and not taken.  -EBADMSG from take ends
 * it. */
struct crew {
	void (*job)(void *arg, int worker, uint64_t i);
	int (*take)(void *arg, uint64_t i); /* NULL: nothing to take */
	void *arg;
	uint64_t n, ahead;
	int threads;
};
#define CREW_MAX 8
int crew_run(const struct crew *);

/* ---- judge.c ---------------------------------------------------------------------- */

struct judge_options {
	const char **path; /* segments, oldest first */
	size_t path_n;
	int threads;
	struct anchor *anchor;
	size_t anchor_n;
	const struct vkey *witness;
	size_t witness_n;
	const struct vkey *origin; /* NULL: what the log says is believed */
};
void judge(const struct judge_options *, struct walk *, struct answer *);

/* ---- anchor.c ----------------------------------------------------------------------- */

struct freshness {
	uint64_t now_ns, max_age_ns; /* 0: twice the heartbeat */
	bool stopped;                /* an end is an end, however old */
};
void freshness_check(const struct freshness *, const struct walk *, struct answer *);
/* A checkpoint that somebody kept: its signatures are looked at when the log's
 * keys are known.  0 or -errno. */
int anchor_read(
    const char *path, struct note *note, char text[NOTE_MAX], struct anchor *ret);

/* ---- proof.c ------------------------------------------------------------------------- */

int proof_main(int argc, char **argv);

#endif
