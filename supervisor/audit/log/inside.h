/*
 * What the rooms of the audit directory share. No other directory includes it.
 */
#ifndef KENNEL_SUPERVISOR_AUDIT_LOG_INSIDE_H
#define KENNEL_SUPERVISOR_AUDIT_LOG_INSIDE_H

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
#include "supervisor/audit/log/open_log.h"

#define AUDIT_PATH_MAX  4096
#define AUDIT_DB_NAME   "audit.db"
#define AUDIT_VKEY_NAME "origin.vkey"
#define AUDIT_BODY_MAX  (16u << 10) /* bytes of one record; a leaf may hold 65535 */
#define AUDIT_WHY_MAX   256

/* ---- the recorder's descriptors, in this order (connect.c) ---------------- */

enum {
	RECORDER_FD_FIRST = 3,
	RECORDER_FD_LISTENER = 3,
	RECORDER_FD_LOCK = 4, /* flock held; never touched; closed at process exit */
	RECORDER_FD_LOG_DIR = 5,
	RECORDER_FD_RUN_DIR = 6,
	RECORDER_FDS = 4,
};
#define RECORDER_NAME_MAX 64

/* Name of the socket in the run directory: one per log, whatever its path. Inline,
 * because the two programs that need it share no other object file. */
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

/* merkle.c: a short keyed hash (SipHash), for checksums. */
#define SUM_KEY_LEN 16
uint64_t chain_sum(const void *, size_t, const uint8_t key[SUM_KEY_LEN]);
/* Appends a whole subtree of 2^level leaves; the size must be a multiple of that. */
void chain_append_at(struct chain *, unsigned int level,
    const uint8_t root[CHAIN_HASH_LEN], chain_node_fn *, void *arg);

/* ---- merkle_tiles.c: tiles ----------------------------------------------- */

#define TILE_BITS   8u
#define TILE_WIDTH  ((size_t)256) /* C2SP tlog-tiles */
#define TILE_LEVELS (CHAIN_LEVELS / TILE_BITS)
#define TILE_LEN    (TILE_WIDTH * CHAIN_HASH_LEN)

struct tree {
	struct chain chain;
	/* for each level, the entries after its last full tile */
	uint8_t tile[TILE_LEVELS][TILE_LEN];
};
/* Called when a tile is full, with its root. tree_append returns a negative result of
 * this function. */
typedef int tree_tile_fn(void *arg, unsigned int level, uint64_t n,
    const uint8_t root[CHAIN_HASH_LEN], const uint8_t tile[TILE_LEN]);
int tree_append(
    struct tree *, const uint8_t leaf[CHAIN_HASH_LEN], tree_tile_fn *, void *);
/* Appends a whole tile of leaves, given its root; the size must be a multiple of 256.
 * The entries of that tile are then unknown. */
int tree_append_tile(
    struct tree *, const uint8_t root[CHAIN_HASH_LEN], tree_tile_fn *, void *);
/* Computes the chain of a tree of this size, if tile holds the entries at its right
 * edge. */
void tree_edge(struct tree *, uint64_t size);
void tree_root_of_tile(const uint8_t tile[TILE_LEN], uint8_t ret[CHAIN_HASH_LEN]);

/* ---- record_write.c: the stored form of a record ------------------------- */

/* Identity of a writer, checked at HELLO. */
struct writer {
	char role[16];
	char instance[17];
	char session[3 * REPORT_NAME_MAX + 1]; /* UTF-8: each byte may become three */
	uint32_t pid;
};

/* Fields that are also stored in a column. The body has the same value and is
 * authoritative. COLUMN_TOOL is the first "name" of an event with an "action" (a
 * tools/call). */
enum record_column { COLUMN_SERVER, COLUMN_TOOL, COLUMN_VERDICT, COLUMN_RULE, COLUMNS };

struct record {
	uint64_t idx, ts, boot, wseq;
	enum event_kind kind;
	const char *column[COLUMNS]; /* NULL: none; points into memory below */
	char text[COLUMNS][3 * REPORT_TEXT_MAX + 1];
	char body[AUDIT_BODY_MAX];
	size_t body_len;
};

/* Converts untrusted bytes to UTF-8: invalid bytes and NUL become U+FFFD (a column
 * ends at NUL). Cut before out_cap, never inside a character. */
void body_utf8(char *out, size_t out_cap, const void *bytes, size_t len);

/*
 * Makes the record of an event; reads its fields from in to the end. The caller sets
 * idx, ts, boot, wseq and kind. Returns 0, or -EBADMSG: not an event that a correct
 * writer sends.
 */
int body_make(const struct writer *, struct wire_in *, struct record *);

/* ---- record_read.c: strict parser of a record body ----------------------- */

/* Raw value of one field, as in the body: a number, a string with its quotes, or a
 * list with its brackets. */
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
	struct span head[SCAN_HEADS]; /* raw; strings with their quotes */
	struct scan_field field[SCAN_FIELDS_MAX];
	size_t field_n;
};

/* Returns 0, or -EBADMSG: record_write.c did not write these bytes. The spans point
 * into the bytes. */
int scan_body(const void *bytes, size_t len, struct scan *ret);
/* The field with this name, or NULL. */
const struct scan_field *scan_find(const struct scan *, const char *key);
/* Reads a raw number; false if it does not fit or is not a number. */
bool scan_number(struct span, uint64_t *ret);
/* Copies a raw string without quotes and escapes. Returns its length, or -EBADMSG if
 * out is too small or it is not a string. Not NUL-terminated. */
long scan_string(struct span, char *out, size_t out_cap);
/* True if a raw string equals this word, which must need no escape. */
bool scan_is(struct span, const char *word);
/* Reads the next string of a raw list (or the only value of a field that is not a
 * list). Returns 1, or 0 at the end. *at starts at 0. */
int scan_next(struct span, size_t *at, struct span *ret);

/* ---- schema.c: the SQL text of the schema ----------------------------------- */

struct sqlite3;
struct schema_row {
	const char *type, *name, *table, *sql;
};
extern const struct schema_row schema_row[];
extern const size_t schema_rows;
#define SCHEMA_VERSION     2
#define SCHEMA_APPLICATION 0x6b6e6c61 /* "knla" */

/* Condition of the index rec_rare. A query uses the index only if it repeats this
 * text. */
#define SCHEMA_RARE \
	"kind NOT IN ('exec', 'call', 'scrub', 'dropped', 'heartbeat', 'epoch')"

/* Compares the schema byte for byte with ours. Returns NULL, or the name of the first
 * object that differs (static or in the caller's memory). */
const char *schema_differs(struct sqlite3 *, char *name, size_t name_cap);

/* ---- sign_key.c: Ed25519 ------------------------------------------------- */

#define KEY_LEN      32 /* of a seed and of a public key */
#define KEY_SIGN_LEN 64

/* A secret key, in locked memory that is excluded from core dumps. */
struct key;
int key_new(struct key **ret);
/* Wipes the seed. */
int key_from_seed(uint8_t seed[KEY_LEN], struct key **ret);
/* Wipes and frees the key. */
void key_free(struct key *);
void key_seed(const struct key *, uint8_t ret[KEY_LEN]);
const uint8_t *key_public(const struct key *);
void key_sign(const struct key *, const void *, size_t, uint8_t ret[KEY_SIGN_LEN]);
bool key_verify(
    const uint8_t public[KEY_LEN], const void *, size_t, const uint8_t sig[KEY_SIGN_LEN]);

/* ---- signed_note.c: C2SP signed notes, checkpoints, cosignatures --------- */

#define NOTE_NAME_MAX 192  /* of a key name */
#define NOTE_MAX      8192 /* one signed note */
#define NOTE_SIGS_MAX 32   /* the format requires 16 or more */
#define NOTE_VKEY_MAX 320

/* First line of the text that "kennel audit certify" signs. The first line of a
 * checkpoint is a name. */
#define NOTE_CERTIFICATE "kennel integrity certificate 1"

enum note_type { NOTE_ED25519 = 0x01, NOTE_COSIGNATURE = 0x04 };

struct vkey { /* a public key and its name */
	char name[NOTE_NAME_MAX];
	uint8_t type; /* enum note_type */
	uint8_t id[4];
	uint8_t public[KEY_LEN];
};
struct note_sig {
	char name[NOTE_NAME_MAX];
	uint8_t id[4];
	uint8_t bytes[8 + KEY_SIGN_LEN]; /* a cosignature begins with its time */
	size_t len;                      /* 0: unknown signature type */
};
struct note {
	struct span text; /* the signed text, including its last newline */
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
/* Strict: requires padding, no unused bits. Returns the length, or -EBADMSG. */
long base64_get(struct span text, uint8_t *out, size_t out_cap);

/* Returns 0, or -EINVAL: not a valid key name. */
int vkey_make(
    const char *name, enum note_type, const uint8_t public[KEY_LEN], struct vkey *ret);
void vkey_put(const struct vkey *, char ret[NOTE_VKEY_MAX]);
int vkey_parse(struct span text, struct vkey *ret);

/* Writes the text of a checkpoint; returns its length. */
size_t checkpoint_put(const struct checkpoint *, char *out, size_t out_cap);
int checkpoint_parse(struct span text, struct checkpoint *ret);
/* Signs text (of text_len bytes) and appends the signature line at note[*len]; the
 * first one follows a blank line. */
int note_sign(char *note, size_t cap, size_t text_len, size_t *len, const struct vkey *,
    const struct key *);
int note_parse(const void *, size_t len, struct note *ret);
/* True if this key signed the text of the note. Stores the time of a cosignature in
 * *ret_time (may be NULL). */
bool note_signed_by(const struct note *, const struct vkey *, uint64_t *ret_time);

/* ---- merkle_proof.c: proofs ---------------------------------------------- */

#define PATH_MAX_HASHES 64
#define PROOF_MAX       65536

struct path {
	uint8_t hash[PATH_MAX_HASHES][CHAIN_HASH_LEN];
	size_t n;
};
/* Source of subtree hashes: get returns the root of subtree n of 2^level leaves. */
struct hashes {
	int (*get)(
	    void *arg, unsigned int level, uint64_t n, uint8_t ret[CHAIN_HASH_LEN]);
	void *arg;
};
/* Computes the root over the leaves from .. to - 1. from is a multiple of the largest
 * power of two that fits. */
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
	bool has_leaf; /* the record itself, in the "extra" data */
	uint8_t leaf[AUDIT_BODY_MAX];
	size_t leaf_len;
};
size_t proof_put(const struct proof *, const char *note, char *out, size_t cap);
int proof_parse(const void *, size_t len, struct proof *, struct note *ret_note,
    struct checkpoint *ret_cp);
bool proof_included(
    const struct proof *, const uint8_t leaf[CHAIN_HASH_LEN], const struct checkpoint *);

/* ---- store.c: the tables, of which it is the only writer -------------------- */

struct stored_cp {
	uint64_t size, epoch; /* size 0: no checkpoint */
	char note[NOTE_MAX];
};

struct store;
/* Opens or creates the database; does not yet compute the right edge. Returns 0; on
 * failure *ret_why (static) gives the reason. */
int store_open(int log_dir, struct store **ret, const char **ret_why);
int store_open_as(
    int log_dir, const char *name, struct store **ret, const char **ret_why);
/* Checkpoints the write-ahead log into the database now. -EAGAIN: a reader is
 * active. */
int store_fold(struct store *);
/* Checkpoints a long write-ahead log as far as readers allow. Call it when no writer
 * waits for a commit. */
void store_fold_some(struct store *);
/* Call after a waited-for commit was acknowledged: extends the write-ahead log for
 * the next commits. Returns 0, or -EIO, as for a commit. */
int store_room(struct store *);
uint64_t store_base(const struct store *);
/* Number of records in this file. */
uint64_t store_records(const struct store *);
/* Like store_last_seq, for a closed file. */
int store_closed_seq(int log_dir, const char *name, const struct writer *, uint64_t *ret);
/* Copies what the next file needs from this one, inside a transaction of the next. */
int store_carry(struct store *old, struct store *next);
/* Writes the last checkpoint of each epoch, each followed by an empty line. */
int store_notes(struct store *, FILE *);
/* Checkpoints the write-ahead log into the database and frees the store. */
void store_close(struct store *);
/* Releases caches that only improve speed. */
void store_rest(struct store *);
/* Computes the right edge at this size from the records and the tiles: 0, -EBADMSG. */
int store_edge(struct store *, uint64_t size);
int store_last_cp(struct store *, struct stored_cp *ret);
/* Counts the checkpoints of this epoch in this file, without the one copied from the
 * previous file. */
int store_count_cps(struct store *, uint64_t epoch, uint64_t *ret);
int store_body(struct store *, uint64_t idx, char body[AUDIT_BODY_MAX], size_t *ret_len);
int store_get_meta(struct store *, const char *key, char *out, size_t out_cap);
uint64_t store_next(const struct store *);
const struct chain *store_chain(const struct store *);
/* The highest sequence number of this writer in the log; 0: none. */
int store_last_seq(struct store *, const struct writer *, uint64_t *ret);
/* Call inside a transaction; the first of these opens one. record->idx is
 * store_next(). After a failure, only store_rollback and store_close may be
 * called. */
int store_put_meta(struct store *, const char *key, const char *value);
int store_append(struct store *, const struct writer *, const struct record *);
int store_commit(struct store *, uint64_t epoch, const char *note);
void store_rollback(struct store *);
bool store_pending(const struct store *);
/* SQLite's last error message. */
const char *store_why(const struct store *);

/* ---- key_store.c: the epoch's key, outside the database ------------------ */

#define SLOTS 2
/* Opens or creates audit.key; returns a descriptor. */
int slot_open(int log_dir, int *ret_fd);
/* -ENOENT: no key in this slot. The caller wipes the seed. */
int slot_read(int fd, int slot, uint64_t *ret_epoch, uint8_t ret_seed[KEY_LEN]);
/* Returns after the slot is on disk. */
int slot_write(int fd, int slot, uint64_t epoch, const struct key *);
int slot_wipe(int fd, int slot);
/* Reads the long-term key from its own file. If it is missing, creates it if make is
 * true, else returns -ENOENT. */
int slot_origin(int log_dir, bool make, struct key **ret);
/* The same for a file with this name (the key of a witness). make: create the file if
 * it is missing. */
int slot_file(const char *path, bool make, struct key **ret);

/* ---- merkle_proof.c: requests to a witness ------------------------------- */

int witness_parse(const void *, size_t, uint64_t *ret_old, struct path *ret_path,
    struct note *ret_note, struct checkpoint *ret_cp);

/* ---- settings of an operator -------------------------------------------------- */

struct config {
	uint64_t epoch_s;         /* longest time a key signs */
	uint64_t heartbeat_s;     /* interval of heartbeats */
	uint64_t segment_records; /* of one file */
};
/* Reads audit.conf; missing settings get defaults. -EINVAL: error in line *ret_line. */
int config_read(int log_dir, struct config *ret, size_t *ret_line);

/* ---- epochs.c: the log's own records, its epochs and its checkpoints ----- */

struct ledger;
/* Opens the log, recovers from a crash, and records that a recorder is running. */
int ledger_open(
    int log_dir, const struct writer *self, struct ledger **ret, const char **ret_why);
struct store *ledger_store(struct ledger *);
/* Appends a writer's record; record->idx is store_next(). */
int ledger_append(struct ledger *, const struct writer *, const struct record *);
/* Records a gap: events that the log lacks. */
int ledger_gap(struct ledger *, const char *writer, const char *reason, uint64_t count);
/* Commits to disk, with a checkpoint. */
int ledger_commit(struct ledger *);
/* ledger_next_ns: when the next periodic task is due (loop_now()); 0: none.
 * ledger_tick: runs the tasks that are due. */
uint64_t ledger_next_ns(const struct ledger *);
int ledger_tick(struct ledger *, size_t writers);
/* Begins a new file if this one is full, or if requested and this one holds at least
 * SEGMENT_LEAST records. -EAGAIN: try later. */
#define SEGMENT_LEAST 256
int ledger_rotate(struct ledger *, bool asked);
/* Removes whole files whose records are all before first. The record of this removal
 * is already on disk. */
int ledger_prune(struct ledger *, uint64_t first);
/* Clean end: closes the log and frees the ledger. */
int ledger_end(struct ledger *);
/* Disk full: frees the reserve and uses it to record the failure. count: records that
 * were received and are lost. */
void ledger_last_words(struct ledger *, uint64_t count);
/* Number of records received and not yet on disk. */
uint64_t ledger_lost(const struct ledger *);
void ledger_free(struct ledger *);

/* ---- own_log.c: recorder.log --------------------------------------------- */

void complain_open(void);
void complain_for(const struct store *);
void complain(const char *, ...) __attribute__((format(printf, 1, 2)));
/* Logs "unable to WHAT" and ends this process. */
void complain_and_end(const char *what, int error) __attribute__((noreturn));

/* ---- startup.c: the recorder's start ------------------------------------- */

/* Checks that connect.c made the descriptors; otherwise ends the process. */
void given_check(void);
/* Applies Landlock and the seccomp filter of this program; on failure ends the
 * process. */
void given_confine(void);
/* Fills in the recorder as the writer of its own records. */
void given_name(struct writer *ret);

/* ---- segments: closed files of the log, "audit-BASE.db" ------------------------ */

#define SEGMENT_DIGITS   20 /* of the number of its first record: names sort */
#define SEGMENT_NAME_MAX 40
static inline bool
segment_is_name(const char *name)
{
	return strlen(name) == 6 + SEGMENT_DIGITS + 3 && memcmp(name, "audit-", 6) == 0 &&
	       strspn(name + 6, "0123456789") == SEGMENT_DIGITS &&
	       strcmp(name + 6 + SEGMENT_DIGITS, ".db") == 0;
}

#define SEGMENTS_MAX 4096
/* Lists the names of the closed files, unsorted. */
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
	(void)closedir(dir); /* read-only */
	*ret_n = n;
	return 0;
}

/* ---- rotate.c: closes one file and begins the next ----------------------- */

/* Call before the log is opened: completes or undoes a rotation that a crash
 * interrupted. */
int segment_recover(int log_dir);
/* Creates a new file after the old one, in an open transaction. The caller puts in
 * its first record and commits; then both files are closed and renamed. */
int segment_begin(struct store *old, int log_dir, struct store **ret);
int segment_rename(int log_dir, uint64_t old_base);
/* The highest sequence number of a writer in the closed files; *ret stays 0 if none. */
int segment_last_seq(int log_dir, const struct writer *, uint64_t *ret);
/* Removes whole closed files whose records are all before first; keeps their
 * checkpoints. */
int segment_prune(int log_dir, uint64_t live_base, uint64_t first);

#endif
