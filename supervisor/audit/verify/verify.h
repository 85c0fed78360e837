/*
 * Shared by the files of kennel-verify.
 *
 *	main.c		the program: options, confinement, the printed result
 *	verify.c	one segment after the other, step by step
 *	workers.c	divides the work among threads
 *	check_records.c	a piece of the records: bodies, columns, leaves, tiles
 *	check_indexes.c	each index holds what the records contain, in order
 *	check_order.c	the tree, the checkpoints, the epochs, the clock
 *	check_carry.c	what a file carried over from those before it
 *	check_file.c	changes outside the records: header, pages, side files
 *	anchors.c	checkpoints kept elsewhere; freshness
 *	check_proof.c	one record's proof, without the log
 *
 * No file here trusts the database. Each thread has a connection of its own; the
 * first thread puts their findings in order, so that the first bad record is
 * reported.
 */
#ifndef KENNEL_SUPERVISOR_AUDIT_VERIFY_VERIFY_H
#define KENNEL_SUPERVISOR_AUDIT_VERIFY_VERIFY_H

#include <stdio.h>

#include "leash/audit/writer.h"
#include "supervisor/audit/kept/kept_checkpoint.h"
#include "supervisor/audit/log/merkle.h"
#include "supervisor/audit/log/open_log.h"
#include "supervisor/audit/log/sign_key.h"
#include "supervisor/audit/log/signed_note.h"
#include "supervisor/audit/recorder/startup.h"

enum verdict { INTACT, TAMPERED, INCOMPLETE, UNKNOWN };

struct verify_answer {
	enum verdict verdict;
	bool named;   /* bad is a record's number */
	uint64_t bad; /* the first altered record */
	char why[512];
	char file[64]; /* of the segment */
};

/* The first finding is kept. Always returns -EBADMSG, to return with. */
int found(struct verify_answer *, enum verdict, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int bad_record(struct verify_answer *, uint64_t idx, const char *why);
struct sqlite3_stmt;
/* Handles a statement that failed: a damaged file, or an error of ours. */
int sql_failed(struct verify_answer *, struct sqlite3 *, uint64_t at);
/* Steps to the one row of a statement: 1; 0: no row; < 0: as sql_failed. A caller
 * that took every failure for "no row" would call an intact log altered. */
int sql_row(struct verify_answer *, struct sqlite3_stmt *, uint64_t at);

/* ---- check_records.c ----------------------------------------------------- */

#define PIECE_TILES   ((size_t)64)
#define PIECE_RECORDS (PIECE_TILES * TILE_WIDTH)
#define INDEXES       5

/* A record of the recorder, or a cosignature: the fields that check_order.c needs. */
struct own_record {
	uint64_t idx, ts, boot;
	uint64_t before; /* the latest time of the records since the one before it */
	enum event_kind kind;
	uint64_t epoch, period, size, count;
	uint64_t checkpoints; /* UINT64_MAX: missing */
	bool clean, rotated;
	char instance[17];
	char boot_id[40];
	char origin[NOTE_NAME_MAX];
	struct vkey vkey[2];
	size_t vkey_n;
	char note[1024]; /* cosignature: its line */
};

/* Results for records first .. first + n - 1 (n <= PIECE_RECORDS). */
struct piece {
	uint64_t first, n;
	struct verify_answer answer; /* of the first bad one */
	uint8_t leaf[PIECE_RECORDS * MERKLE_HASH_LEN];
	uint8_t root[PIECE_TILES][MERKLE_HASH_LEN]; /* of its full tiles */
	uint64_t sum[INDEXES];                      /* expected sums of the indexes */
	uint64_t boot_most;     /* the latest time after the last own record */
	struct own_record *own; /* owned */
	size_t own_n, own_cap;
	uint64_t gaps;
};
struct rows; /* the statements of a connection */
int rows_new(struct sqlite3 *, struct verify_answer *, struct rows **ret);
void rows_free(struct rows *);
/* Stores its findings in the piece. */
void rows_check(struct rows *, struct piece *);
/* The number of rows in the table, if every piece was checked in turn with this
 * connection and nothing differed. False: the rows are still to be counted. */
bool rows_counted(struct rows *, uint64_t *ret);

/* ---- check_indexes.c ----------------------------------------------------- */

/* A column value of a row, fetched once: each call to SQLite costs as much as all the
 * work on its result. */
struct cell {
	int type, len;
	int64_t number;
	const uint8_t *bytes; /* SQLite's until the next step */
};
void cells_get(struct sqlite3_stmt *, struct cell *, int n);

/* One index entry as bytes: each part with its type and length. */
struct index_entry {
	uint8_t bytes[3 * (3 * REPORT_TEXT_MAX + 16) + 8];
	size_t len;
};

/* Draws the key of the sums; call it before starting other threads. */
void index_init(void);
/* Adds a record to the sum of each index, given its columns from SQLite in the order
 * of check_records.c. room: space for one entry. */
void index_add(const struct cell *, struct index_entry *room, uint64_t sum[INDEXES]);
/* Checks that the index is sorted, and computes its sum. */
int index_check(struct sqlite3 *, int index, struct verify_answer *, uint64_t *ret_sum);
const char *index_name(int index);

/* ---- check_file.c -------------------------------------------------------- */

/* Checks the write-ahead log: TAMPERED, or INCOMPLETE if it ends in half a commit. */
int dbfile_check_wal(const struct reader *, struct verify_answer *);
/* Call it after these n connections, which share a snapshot, have read the whole
 * file. */
int dbfile_check(const struct reader *, int n, struct verify_answer *);

/* ---- check_order.c ------------------------------------------------------- */

struct anchor {
	struct checkpoint cp;
	bool seen;
	const struct kept *kept; /* by a recorder, perhaps of another log; NULL: none */
	const char *file;
};

#define MARK_EVERY 64

struct order_walk {
	struct merkle_tiles tree;
	struct verify_answer *answer;
	char origin[NOTE_NAME_MAX];
	bool begun; /* the origin and the first key are known */
	struct vkey origin_key;
	uint8_t (*key)[KEY_LEN]; /* of each epoch from first_epoch on; owned */
	uint64_t first_epoch, epoch, key_n, key_cap;
	uint64_t epoch_cps; /* of the epoch in this file, so far */
	uint64_t closes;    /* the checkpoint of this size must end the epoch; 0: none */
	uint64_t first_record; /* that still exists */
	uint64_t pruned;       /* the log records that those before were removed */
	/* number of checkpoints; size of the last valid one */
	uint64_t cp_n, cp_before;
	uint64_t cp_all; /* of the segment, from its metadata */
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
	uint64_t witness_time, witness_size; /* the newest valid cosignature */
	struct segment *segment;             /* the current one */
};

/* The checkpoints of one segment, checked along with the records. */
struct segment {
	struct sqlite3 *db;
	struct sqlite3_stmt *cp_list, *cp_note, *tile;
	uint64_t base, size;
	uint64_t tiles;   /* completed in it */
	uint64_t cp_size; /* the next one */
	bool cp_left;
};

/* Begins at its first record; compares what was carried over from earlier files. */
int walk_segment_open(struct order_walk *, struct segment *);
/* For check_carry.c: compares a checkpoint's text with the tree; advances to the next
 * checkpoint; counts a checkpoint; checks kept ones of this size. */
bool walk_is_note(const struct order_walk *, struct sqlite3_stmt *,
    const uint8_t root[MERKLE_HASH_LEN]);
int walk_next_checkpoint(struct order_walk *, struct segment *);
int walk_keep_mark(struct order_walk *, uint64_t size);
int walk_check_anchors(struct order_walk *);
int walk_carry(struct order_walk *, struct segment *);
/* Number of tiles carried over. */
uint64_t walk_carried(uint64_t base);
void walk_segment_close(struct segment *);
/* Checks the next piece; call it in order. */
int walk_piece(struct order_walk *, struct segment *, const struct piece *);
/* Call it after the last record of the segment. */
int walk_segment_end(struct order_walk *, struct segment *);
/* Checks the signatures of the checkpoints from size first to last; from any thread. */
int walk_signatures(const struct order_walk *, struct sqlite3 *, uint64_t first,
    uint64_t last, struct verify_answer *);

/* ---- workers.c ----------------------------------------------------------- */

/* Runs job(arg, worker, i) for i of 0 .. n - 1 in `threads` threads, each with its
 * worker number. Calls take(arg, i) in the caller's thread, in order. At most `ahead`
 * jobs are done and not taken. -EBADMSG from take ends the run. */
struct crew {
	void (*job)(void *arg, int worker, uint64_t i);
	int (*take)(void *arg, uint64_t i); /* NULL: no results to take */
	void *arg;
	uint64_t n, ahead;
	int threads;
};
#define CREW_MAX 8
int crew_run(const struct crew *);

/* ---- verify.c ------------------------------------------------------------ */

struct judge_options {
	const char **path; /* segments, oldest first */
	size_t path_n;
	int threads;
	struct anchor *anchor;
	size_t anchor_n;
	const struct vkey *witness;
	size_t witness_n;
	const struct vkey *origin; /* NULL: trust the key in the log */
};
void judge(const struct judge_options *, struct order_walk *, struct verify_answer *);

/* ---- anchors.c ----------------------------------------------------------- */

struct freshness {
	uint64_t now_ns, max_age_ns; /* 0: twice the heartbeat */
	bool stopped;                /* a closed log is never stale */
};
void freshness_check(
    const struct freshness *, const struct order_walk *, struct verify_answer *);
/* Reads a checkpoint kept elsewhere; its signatures are checked later, when the log's
 * keys are known. 0 or -errno. */
int anchor_read(
    const char *path, struct note *note, char text[NOTE_MAX], struct anchor *ret);
/* Appends the checkpoints that recorders kept in this directory (kept_checkpoint.h), at
 * most cap. A missing directory has none. 0; -errno, *ret_bad names the file if it is one
 * (static). */
int anchors_kept(
    const char *dir, struct anchor *, size_t cap, size_t *n, const char **ret_bad);

/* ---- check_proof.c ------------------------------------------------------- */

int proof_main(int argc, char **argv);

/* The value of this option is no public key: reports it, and returns the exit status of a
 * usage error. */
int refuse_vkey(const char *option, const char *word);

#endif
