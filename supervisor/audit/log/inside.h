/*
 * What the files of the audit room say to each other, and nobody else.
 */
#ifndef KENNEL_SUPERVISOR_AUDIT_INSIDE_H
#define KENNEL_SUPERVISOR_AUDIT_INSIDE_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "leash/audit/writer.h"
#include "shim/base/wire.h"
#include "supervisor/audit/audit.h"

#define AUDIT_PATH_MAX 4096
#define AUDIT_DB_NAME  "audit.db"
#define AUDIT_BODY_MAX (16u << 10) /* bytes of one record; a leaf may hold 65535 */
#define AUDIT_WHY_MAX  256

/* ---- the recorder's descriptors, in this order (connect.c) ---------------- */

enum {
	RECORDER_FD_FIRST = 3,
	RECORDER_FD_LISTENER = 3,
	RECORDER_FD_LOCK = 4, /* flock held; never touched, closed by the end */
	RECORDER_FD_LOG_DIR = 5,
	RECORDER_FD_RUN_DIR = 6,
	RECORDER_FDS = 4,
};
#define RECORDER_NAME_MAX 64

/* The socket's name below the run folder: one per log, whatever its path.  In
 * line, because the two programs that say it share no other object. */
static inline int
recorder_socket_name(int log_dir, char ret[RECORDER_NAME_MAX])
{
	struct stat st;

	if (fstat(log_dir, &st) < 0)
		return -errno;
	(void)snprintf(ret, RECORDER_NAME_MAX, "recorder-%llx-%llx.sock",
	    (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
	return 0;
}

/* chain.c: a short keyed hash (SipHash), for sums. */
#define SUM_KEY_LEN 16
uint64_t chain_sum(const void *, size_t, const uint8_t key[SUM_KEY_LEN]);
/* A whole subtree of 2^level leaves; the size must be a multiple of that. */
void chain_append_at(struct chain *, unsigned int level,
    const uint8_t root[CHAIN_HASH_LEN], chain_node_fn *, void *arg);

/* ---- tree.c: tiles ---------------------------------------------------------- */

#define TILE_BITS   8u
#define TILE_WIDTH  ((size_t)256) /* C2SP tlog-tiles */
#define TILE_LEVELS (CHAIN_LEVELS / TILE_BITS)
#define TILE_LEN    (TILE_WIDTH * CHAIN_HASH_LEN)

struct tree {
	struct chain chain;
	/* of each level what stands behind its last full tile */
	uint8_t tile[TILE_LEVELS][TILE_LEN];
};
/* A tile is full; its root.  What it returns below 0, tree_append returns. */
typedef int tree_tile_fn(void *arg, unsigned int level, uint64_t n,
    const uint8_t root[CHAIN_HASH_LEN], const uint8_t tile[TILE_LEN]);
int tree_append(
    struct tree *, const uint8_t leaf[CHAIN_HASH_LEN], tree_tile_fn *, void *);
/* A whole tile of leaves, by its root; the size must be a multiple of 256.  What
 * the tile itself holds is not known then. */
int tree_append_tile(
    struct tree *, const uint8_t root[CHAIN_HASH_LEN], tree_tile_fn *, void *);
/* The chain of a tree of this size, when tile holds what stands to its right. */
void tree_edge(struct tree *, uint64_t size);
void tree_root_of_tile(const uint8_t tile[TILE_LEN], uint8_t ret[CHAIN_HASH_LEN]);

/* ---- body.c: a record as it is stored -------------------------------------- */

/* Who speaks, checked when it said hello. */
struct writer {
	char role[16];
	char instance[17];
	char session[3 * REPORT_NAME_MAX + 1]; /* UTF-8: each byte may become three */
	uint32_t pid;
};

/* Fields that stand in a column too: the body says the same and is what counts.
 * A tool is the first "name" of what has an "action" (a tools/call). */
enum record_column { COLUMN_SERVER, COLUMN_TOOL, COLUMN_VERDICT, COLUMN_RULE, COLUMNS };

struct record {
	uint64_t idx, ts, boot, wseq;
	enum event_kind kind;
	const char *column[COLUMNS]; /* NULL: none; points into the memory below */
	char text[COLUMNS][3 * REPORT_TEXT_MAX + 1];
	char body[AUDIT_BODY_MAX];
	size_t body_len;
};

/* Foreign bytes as UTF-8: what is not becomes U+FFFD, and NUL too (a column
 * ends there).  Cut before out_cap, never inside a character. */
void body_utf8(char *out, size_t out_cap, const void *bytes, size_t len);

/*
 * The record of an event, its fields read from in to the end.  idx, ts, boot,
 * wseq and kind are set by the caller.  0 or -EBADMSG: not an event that a
 * writer of ours can have sent.
 */
int body_make(const struct writer *, struct wire_in *, struct record *);

/* ---- scan.c: a body taken apart, strictly ----------------------------------- */

/* One field's value as it stands in the body: a number, a string with its
 * quotes, or a list with its brackets. */
struct scan_field {
	struct span key; /* without quotes */
	struct span value;
};
#define SCAN_FIELDS_MAX 64

enum scan_head { /* in the order of the body */
	SCAN_V,
	SCAN_IDX,
	SCAN_TS,
	SCAN_BOOT,
	SCAN_ROLE,
	SCAN_INSTANCE,
	SCAN_PID,
	SCAN_SEQ,
	SCAN_SESSION,
	SCAN_KIND,
	SCAN_HEADS
};

struct scan {
	struct span head[SCAN_HEADS]; /* raw, strings with their quotes */
	struct scan_field field[SCAN_FIELDS_MAX];
	size_t field_n;
};

/* 0, or -EBADMSG: these bytes were not written by body.c.  The spans point
 * into the bytes. */
int scan_body(const void *bytes, size_t len, struct scan *ret);
/* The field of this name, or NULL. */
const struct scan_field *scan_find(const struct scan *, const char *key);
/* A raw number; false when it does not fit or is no number. */
bool scan_number(struct span, uint64_t *ret);
/* A raw string without quotes and escapes: its length, or -EBADMSG when out
 * is too small or it is no string.  Not NUL-terminated. */
long scan_string(struct span, char *out, size_t out_cap);
/* Is a raw string this word, which needs no escape? */
bool scan_is(struct span, const char *word);
/* The next string of a raw list (or the only value of a field that is none):
 * 1, 0 at the end.  *at starts at 0. */
int scan_next(struct span, size_t *at, struct span *ret);

/* ---- schema.c: the database's own words ------------------------------------- */

struct sqlite3;
struct schema_row {
	const char *type, *name, *table, *sql;
};
extern const struct schema_row schema_row[];
extern const size_t schema_rows;
#define SCHEMA_VERSION     2
#define SCHEMA_APPLICATION 0x6b6e6c61 /* "knla" */

/* What the index rec_rare holds; a query that is to use it says it in the same
 * words. */
#define SCHEMA_RARE \
	"kind NOT IN ('exec', 'call', 'scrub', 'dropped', 'heartbeat', 'epoch')"

/* Is the schema byte for byte ours?  NULL, or the name of the first object
 * that is not (static or in the caller's memory). */
const char *schema_differs(struct sqlite3 *, char *name, size_t name_cap);

/* ---- key.c: Ed25519 ---------------------------------------------------------- */

#define KEY_LEN      32 /* of a seed, and of a public key */
#define KEY_SIGN_LEN 64

/* A secret key, in memory that is locked and kept out of dumps. */
struct key;
int key_new(struct key **ret);
/* The seed is wiped. */
int key_from_seed(uint8_t seed[KEY_LEN], struct key **ret);
/* Wipes it. */
void key_free(struct key *);
void key_seed(const struct key *, uint8_t ret[KEY_LEN]);
const uint8_t *key_public(const struct key *);
void key_sign(const struct key *, const void *, size_t, uint8_t ret[KEY_SIGN_LEN]);
bool key_verify(
    const uint8_t public[KEY_LEN], const void *, size_t, const uint8_t sig[KEY_SIGN_LEN]);

/* ---- note.c: C2SP signed notes, checkpoints, cosignatures ------------------- */

#define NOTE_NAME_MAX 192  /* of a key */
#define NOTE_MAX      8192 /* one signed note */
#define NOTE_SIGS_MAX 32   /* the format asks for 16 or more */
#define NOTE_VKEY_MAX 320

/* The first line of what "kennel audit certify" signs; a checkpoint's is a name. */
#define NOTE_CERTIFICATE "kennel integrity certificate 1"

enum note_type { NOTE_ED25519 = 0x01, NOTE_COSIGNATURE = 0x04 };

struct vkey { /* who may sign */
	char name[NOTE_NAME_MAX];
	uint8_t type; /* enum note_type */
	uint8_t id[4];
	uint8_t public[KEY_LEN];
};
struct note_sig {
	char name[NOTE_NAME_MAX];
	uint8_t id[4];
	uint8_t bytes[8 + KEY_SIGN_LEN]; /* a cosignature begins with its time */
	size_t len;                      /* 0: of a kind that is not known here */
};
struct note {
	struct span text; /* what is signed, its last newline included */
	struct note_sig sig[NOTE_SIGS_MAX];
	size_t sig_n;
};
struct checkpoint {
	char origin[NOTE_NAME_MAX];
	uint64_t size;
	uint8_t root[CHAIN_HASH_LEN];
};

#define BASE64_LEN(n) (((n) + 2) / 3 * 4 + 1) /* with the NUL */
void base64_put(char *out, const void *, size_t len);
/* Strict: padding, no spare bits.  The length, or -EBADMSG. */
long base64_get(struct span text, uint8_t *out, size_t out_cap);

/* 0, or -EINVAL: the name can be no key's. */
int vkey_make(
    const char *name, enum note_type, const uint8_t public[KEY_LEN], struct vkey *ret);
void vkey_put(const struct vkey *, char ret[NOTE_VKEY_MAX]);
int vkey_parse(struct span text, struct vkey *ret);

/* The text of a checkpoint; its length. */
size_t checkpoint_put(const struct checkpoint *, char *out, size_t out_cap);
int checkpoint_parse(struct span text, struct checkpoint *ret);
/* Signs text (of text_len) and puts the signature's line behind what stands in
 * note[*len]; the first one after the blank line. */
int note_sign(char *note, size_t cap, size_t text_len, size_t *len, const struct vkey *,
    const struct key *);
int note_parse(const void *, size_t len, struct note *ret);
/* The text behind these bytes: is it signed by this key?  A cosignature's time
 * in *ret_time (may be NULL). */
bool note_signed_by(const struct note *, const struct vkey *, uint64_t *ret_time);

/* ---- path.c: proofs ------------------------------------------------------------ */

#define PATH_MAX_HASHES 64
#define PROOF_MAX       65536

struct path {
	uint8_t hash[PATH_MAX_HASHES][CHAIN_HASH_LEN];
	size_t n;
};
/* Who knows the roots of the full subtrees: the n-th of 2^level leaves. */
struct hashes {
	int (*get)(
	    void *arg, unsigned int level, uint64_t n, uint8_t ret[CHAIN_HASH_LEN]);
	void *arg;
};
/* The root over the leaves from .. to - 1; from is a multiple of the largest power
 * of two that fits. */
int path_root(
    const struct hashes *, uint64_t from, uint64_t to, uint8_t ret[CHAIN_HASH_LEN]);
int path_inclusion(
    const struct hashes *, uint64_t index, uint64_t size, struct path *ret);
int path_consistency(
    const struct hashes *, uint64_t old, uint64_t size, struct path *ret);
bool path_included(const struct path *, const uint8_t leaf[CHAIN_HASH_LEN],
    uint64_t index, uint64_t size, const uint8_t root[CHAIN_HASH_LEN]);
bool path_consistent(const struct path *, uint64_t old,
    const uint8_t old_root[CHAIN_HASH_LEN], uint64_t size,
    const uint8_t root[CHAIN_HASH_LEN]);

struct proof { /* C2SP tlog-proof */
	uint64_t index;
	struct path path;
	bool has_leaf; /* the record itself, as the "extra" data */
	uint8_t leaf[AUDIT_BODY_MAX];
	size_t leaf_len;
};
size_t proof_put(const struct proof *, const char *note, char *out, size_t cap);
int proof_parse(const void *, size_t len, struct proof *, struct note *ret_note,
    struct checkpoint *ret_cp);
bool proof_included(
    const struct proof *, const uint8_t leaf[CHAIN_HASH_LEN], const struct checkpoint *);

/* ---- store.c: the tables, as their only writer ------------------------------ */

struct stored_cp {
	uint64_t size, epoch; /* size 0: there is none */
	char note[NOTE_MAX];
};

struct store;
/* Opens or makes the database; its edge is not known yet.  0; *ret_why says in
 * words (static) what went wrong. */
int store_open(int log_dir, struct store **ret, const char **ret_why);
int store_open_as(
    int log_dir, const char *name, struct store **ret, const char **ret_why);
/* The write-ahead log into the database, now.  -EAGAIN: somebody reads. */
int store_fold(struct store *);
/* The same when it is long, as far as readers let it: when nobody waits. */
void store_fold_some(struct store *);
/* Behind a commit that somebody waited for, and who now knows: room for the next
 * ones.  0, or -EIO: as for a commit. */
int store_room(struct store *);
uint64_t store_base(const struct store *);
/* In this file. */
uint64_t store_records(const struct store *);
/* store_last_seq of a closed file. */
int store_closed_seq(int log_dir, const char *name, const struct writer *, uint64_t *ret);
/* What the next file needs of this one, into a transaction of the next. */
int store_carry(struct store *old, struct store *next);
/* The last checkpoint of each epoch, with an empty line behind each. */
int store_notes(struct store *, FILE *);
/* Folds the write-ahead log into the database. */
void store_close(struct store *);
/* Gives memory back that only speed needs. */
void store_rest(struct store *);
/* The right edge at this size, from the records and the tiles: 0, -EBADMSG. */
int store_edge(struct store *, uint64_t size);
int store_last_cp(struct store *, struct stored_cp *ret);
int store_body(struct store *, uint64_t idx, char body[AUDIT_BODY_MAX], size_t *ret_len);
int store_get_meta(struct store *, const char *key, char *out, size_t out_cap);
uint64_t store_next(const struct store *);
const struct chain *store_chain(const struct store *);
/* The highest number that this writer has in the log; 0: none. */
int store_last_seq(struct store *, const struct writer *, uint64_t *ret);
/* Inside a transaction that the first of these opens; record->idx is
 * store_next().  After a failure only store_rollback and store_close are left. */
int store_put_meta(struct store *, const char *key, const char *value);
int store_append(struct store *, const struct writer *, const struct record *);
int store_commit(struct store *, uint64_t epoch, const char *note);
void store_rollback(struct store *);
bool store_pending(const struct store *);
/* What SQLite said last, in words. */
const char *store_why(const struct store *);

/* ---- slot.c: the epoch's key outside of the database ------------------------- */

#define SLOTS 2
/* Opens or makes audit.key: a descriptor. */
int slot_open(int log_dir, int *ret_fd);
/* -ENOENT: it holds no key.  The seed is the caller's to wipe. */
int slot_read(int fd, int slot, uint64_t *ret_epoch, uint8_t ret_seed[KEY_LEN]);
/* On disk when it returns. */
int slot_write(int fd, int slot, uint64_t epoch, const struct key *);
int slot_wipe(int fd, int slot);
/* The long-term key, in a file of its own; made when make says so and there is
 * none.  -ENOENT. */
int slot_origin(int log_dir, bool make, struct key **ret);
/* The same in a file of this name, a witness's; make: there may be none yet. */
int slot_file(const char *path, bool make, struct key **ret);

/* ---- path.c: what a witness is asked ---------------------------------------- */

int witness_parse(const void *, size_t, uint64_t *ret_old, struct path *ret_path,
    struct note *ret_note, struct checkpoint *ret_cp);

/* ---- config.c: what an operator may choose ------------------------------------ */

struct config {
	uint64_t epoch_s;         /* a key signs at most so long */
	uint64_t heartbeat_s;     /* and says at least so often that it is there */
	uint64_t segment_records; /* of one file */
};
/* audit.conf, or what holds without one.  -EINVAL: in this line. */
int config_read(int log_dir, struct config *ret, size_t *ret_line);

/* ---- ledger.c: the log's own records, its epochs, its checkpoints ------------ */

struct ledger;
/* Opens the log, recovers what a crash left, says that a recorder is here. */
int ledger_open(
    int log_dir, const struct writer *self, struct ledger **ret, const char **ret_why);
struct store *ledger_store(struct ledger *);
/* A writer's record; record->idx is store_next(). */
int ledger_append(struct ledger *, const struct writer *, const struct record *);
/* A gap: what the log lacks. */
int ledger_gap(struct ledger *, const char *writer, const char *reason, uint64_t count);
/* On disk, with its checkpoint. */
int ledger_commit(struct ledger *);
/* When something is to be done next (loop_now()), and do what is due.  0: idle. */
uint64_t ledger_next_ns(const struct ledger *);
int ledger_tick(struct ledger *, size_t writers);
/* A new file, when this one is full, or is asked to be and holds this many; -EAGAIN:
 * later. */
#define SEGMENT_LEAST 256
int ledger_rotate(struct ledger *, bool asked);
/* Removes whole files of records before first; a record that says so is on disk. */
int ledger_prune(struct ledger *, uint64_t first);
/* A clean end: nothing is open.  Frees. */
int ledger_end(struct ledger *);
/* The disk is full: gives back the reserve and says so with it; the count is of
 * records that were taken and are lost. */
void ledger_last_words(struct ledger *, uint64_t count);
/* Records taken and not on disk. */
uint64_t ledger_lost(const struct ledger *);
void ledger_free(struct ledger *);

/* ---- complain.c: recorder.log ------------------------------------------------ */

void complain_open(void);
void complain_for(const struct store *);
void complain(const char *, ...) __attribute__((format(printf, 1, 2)));
/* "unable to WHAT", and the end of this process. */
void complain_and_end(const char *what, int error) __attribute__((noreturn));

/* ---- given.c: the recorder's start ------------------------------------------- */

/* Were the descriptors made by connect.c?  Else the end. */
void given_check(void);
/* Landlock and the system calls of this program, or the end. */
void given_confine(void);
/* The recorder as the writer of its own records. */
void given_name(struct writer *ret);

/* ---- segments: closed files of the log, "audit-BASE.db" ------------------------ */

#define SEGMENT_DIGITS   20 /* of its first record's number: names sort */
#define SEGMENT_NAME_MAX 40
static inline bool
segment_is_name(const char *name)
{
	return strlen(name) == 6 + SEGMENT_DIGITS + 3 && memcmp(name, "audit-", 6) == 0 &&
	       strspn(name + 6, "0123456789") == SEGMENT_DIGITS &&
	       strcmp(name + 6 + SEGMENT_DIGITS, ".db") == 0;
}

#define SEGMENTS_MAX 4096
/* The names of the closed ones, in no order. */
static inline int
segment_list(int log_dir, char (*name)[SEGMENT_NAME_MAX], size_t *ret_n)
{
	/* syscalls: openat getdents64 lseek fstat */
	int fd = openat(log_dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	size_t n = 0;

	if (dir == NULL)
		return -errno;
	while (n < SEGMENTS_MAX && (e = readdir(dir)) != NULL) {
		if (segment_is_name(e->d_name))
			(void)snprintf(name[n++], SEGMENT_NAME_MAX, "%s", e->d_name);
	}
	(void)closedir(dir); /* only read */
	*ret_n = n;
	return 0;
}

/* ---- segment.c: the recorder closes one and begins the next --------------------- */

/* Before the log is opened: what a crash left half done. */
int segment_recover(int log_dir);
/* A new file behind the old one, in a transaction: its first record is to be put
 * in and committed; then both are closed, and renamed. */
int segment_begin(struct store *old, int log_dir, struct store **ret);
int segment_rename(int log_dir, uint64_t old_base);
/* The highest number of a writer in the closed files; *ret stays 0: none. */
int segment_last_seq(int log_dir, const struct writer *, uint64_t *ret);
/* Removes whole closed files of records before first; keeps their checkpoints. */
int segment_prune(int log_dir, uint64_t live_base, uint64_t first);

/* ---- reader.c: a log that nobody vouches for -------------------------------- */

/*
 * Opens a log read-only, without trusting or writing anything: 0, -ENOENT,
 * -EBADMSG.  path: the database.  *ret_still: the file stands alone (no
 * write-ahead log); then reader_changed says whether it was written meanwhile.
 */
struct reader {
	struct sqlite3 *db;
	int fd; /* of the database, to see it change */
	bool still;
	bool alone; /* nobody else may read it at the same time */
	uint64_t size, mtime_ns;
	char path[AUDIT_PATH_MAX];
};
int reader_open(const char *path, struct reader *ret, char why[AUDIT_WHY_MAX]);
bool reader_changed(const struct reader *);
void reader_close(struct reader *);

#endif
