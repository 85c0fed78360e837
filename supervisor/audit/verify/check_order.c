/*
 * Checks the records in order: the tree over them, the root of each checkpoint, the
 * epochs and their keys, the clock.
 *
 *	epoch e		records ... checkpoint ... checkpoint
 *			the record with the key of e+1; the checkpoint that counts
 *			it as its last is signed by e for the last time
 *	epoch e+1	...
 *
 * So a key signs only the records between two such records, each epoch has one last
 * checkpoint, and none is left out.
 */
#include <errno.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/array.h"
#include "shim/base/loop.h"
#include "supervisor/audit/verify/verify.h"

#define CLOCK_SLACK (2 * NS_PER_S) /* a recorder records steps of one second or more */
#define BACK_SLACK  1000000000ull  /* of two records written at the same time */

/* ---- the tree --------------------------------------------------------------------- */

/* Compares a tile above the leaves with the stored one. */
static int
check_tile(void *arg, unsigned int level, uint64_t n, const uint8_t root[MERKLE_HASH_LEN],
    const uint8_t tile[TILE_LEN])
{
	struct order_walk *walk = ((void **)arg)[0];
	struct segment *segment = ((void **)arg)[1];
	sqlite3_stmt *s = segment->tile;
	uint64_t first = n << ((level + 1) * TILE_BITS);
	int r = 0, have;

	segment->tiles++;
	/* check_records.c has compared tiles of leaves with their records, except one
	 * that began in the file before */
	if (level == 0 && first >= segment->base)
		return 0;
	(void)sqlite3_bind_int(s, 1, (int)level);
	(void)sqlite3_bind_int64(s, 2, (sqlite3_int64)n);
	have = sql_row(walk->answer, s, segment->base);
	if (have < 0)
		r = have;
	else if (have == 0 || sqlite3_column_bytes(s, 0) != MERKLE_HASH_LEN ||
		 memcmp(sqlite3_column_blob(s, 0), root, MERKLE_HASH_LEN) != 0 ||
		 sqlite3_column_bytes(s, 1) != (int)TILE_LEN ||
		 memcmp(sqlite3_column_blob(s, 1), tile, TILE_LEN) != 0)
		r = bad_record(walk->answer,
		    first < segment->base ? segment->base : first,
		    "a tile above it does not match the tiles below");
	(void)sqlite3_reset(s);
	return r;
}

/* ---- checkpoints ------------------------------------------------------------------ */

int
walk_next_checkpoint(struct order_walk *walk, struct segment *segment)
{
	int code = sqlite3_step(segment->cp_list);

	segment->cp_left = code == SQLITE_ROW;
	if (code == SQLITE_DONE)
		return 0;
	if (code != SQLITE_ROW)
		return sql_failed(walk->answer, segment->db, walk->cp_before);
	segment->cp_size = (uint64_t)sqlite3_column_int64(segment->cp_list, 0);
	return 0;
}

/* Compares the text of this checkpoint with what the records give. */
bool
walk_is_note(
    const struct order_walk *walk, sqlite3_stmt *s, const uint8_t root[MERKLE_HASH_LEN])
{
	struct checkpoint cp = {.size = walk->tree.chain.size};
	char want[NOTE_NAME_MAX + 80];
	size_t len;

	(void)snprintf(cp.origin, sizeof(cp.origin), "%s", walk->origin);
	memcpy(cp.root, root, sizeof(cp.root));
	len = checkpoint_put(&cp, want, sizeof(want));
	return sqlite3_column_type(s, 1) == SQLITE_TEXT &&
	       (size_t)sqlite3_column_bytes(s, 1) > len &&
	       memcmp(sqlite3_column_text(s, 1), want, len) == 0 &&
	       sqlite3_column_text(s, 1)[len] == '\n';
}

/* Keeps sizes at which the signature checks can later be divided among threads. */
int
walk_keep_mark(struct order_walk *walk, uint64_t size)
{
	if (walk->cp_n++ % MARK_EVERY != 0)
		return 0;
	if (walk->mark_n == walk->mark_cap) {
		size_t cap = walk->mark_cap == 0 ? 64 : 2 * walk->mark_cap;
		void *more = realloc(walk->mark, cap * sizeof(*walk->mark));

		if (more == NULL)
			return found(walk->answer, UNKNOWN, "out of memory");
		walk->mark = more;
		walk->mark_cap = cap;
	}
	walk->mark[walk->mark_n++] = size;
	return 0;
}

static int
check_checkpoint(struct order_walk *walk, struct segment *segment)
{
	uint64_t size = walk->tree.chain.size;
	sqlite3_stmt *s = segment->cp_note;
	uint8_t root[MERKLE_HASH_LEN];
	int r = 0, have;

	merkle_root(&walk->tree.chain, root);
	(void)sqlite3_bind_int64(s, 1, (sqlite3_int64)size);
	have = sql_row(walk->answer, s, walk->cp_before);
	if (have < 0)
		r = have;
	else if (have == 0)
		r = bad_record(walk->answer, walk->cp_before,
		    "the checkpoint after it is listed but missing");
	else if (!walk_is_note(walk, s, root))
		r = bad_record(walk->answer, walk->cp_before,
		    "this record, or a later one before the next checkpoint, does not "
		    "match the signed root");
	else if ((uint64_t)sqlite3_column_int64(s, 0) != walk->epoch)
		r = bad_record(
		    walk->answer, size - 1, "its checkpoint belongs to another epoch");
	(void)sqlite3_reset(s);
	if (r < 0)
		return r;
	walk->cp_before = size;
	walk->epoch_cps++;
	r = walk_keep_mark(walk, size);
	if (r < 0)
		return r;
	if (walk->closes == size) {
		walk->closes = 0;
		walk->epoch++;
		walk->epoch_cps = 0;
	}
	return walk_next_checkpoint(walk, segment);
}

int
walk_check_anchors(struct order_walk *walk)
{
	uint64_t size = walk->tree.chain.size;
	uint8_t root[MERKLE_HASH_LEN];

	for (size_t i = 0; i < walk->anchor_n; i++) {
		struct anchor *a = &walk->anchor[i];

		if (a->cp.size != size || a->seen ||
		    (a->kept != NULL && strcmp(a->cp.origin, walk->origin) != 0))
			continue;
		merkle_root(&walk->tree.chain, root);
		a->seen = true;
		if (memcmp(root, a->cp.root, sizeof(root)) != 0)
			return bad_record(walk->answer, size > 0 ? size - 1 : 0,
			    "this record, or an earlier one, does not match a kept "
			    "checkpoint");
	}
	return 0;
}

/* ---- epochs -------------------------------------------------------------------------- */

static int
add_key(struct order_walk *walk, const uint8_t key[KEY_LEN])
{
	if (walk->key_n == walk->key_cap) {
		uint64_t cap = walk->key_cap == 0 ? 64 : 2 * walk->key_cap;
		void *more = realloc(walk->key, cap * KEY_LEN);

		if (more == NULL)
			return found(walk->answer, UNKNOWN, "out of memory");
		walk->key = more;
		walk->key_cap = cap;
	}
	memcpy(walk->key[walk->key_n++], key, KEY_LEN);
	return 0;
}

/* True if the vkey holds that epoch's key. */
static bool
is_epoch_key(const struct order_walk *walk, const struct vkey *vkey, uint64_t epoch)
{
	char name[NOTE_NAME_MAX];

	return (size_t)snprintf(name, sizeof(name), "%s/epoch/%" PRIu64, walk->origin,
		   epoch) < sizeof(name) &&
	       strcmp(vkey->name, name) == 0 && vkey->type == NOTE_ED25519;
}

/* Handles the first record of a log, or of the rest of one. */
static int
begin(struct order_walk *walk, const struct own_record *own)
{
	if (own->vkey_n != 2 || own->epoch == UINT64_MAX ||
	    strcmp(own->vkey[0].name, own->origin) != 0)
		return bad_record(walk->answer, own->idx, "it names no keys");
	if (strcmp(walk->origin, own->origin) != 0)
		return bad_record(walk->answer, own->idx, "it names another log");
	if (!is_epoch_key(walk, &own->vkey[1], own->epoch))
		return bad_record(
		    walk->answer, own->idx, "its key belongs to another epoch");
	if (walk->begun &&
	    memcmp(walk->origin_key.public, own->vkey[0].public, KEY_LEN) != 0)
		return bad_record(walk->answer, own->idx, "its key is not the log's");
	walk->origin_key = own->vkey[0];
	walk->first_epoch = walk->epoch = own->epoch;
	walk->begun = true;
	return add_key(walk, own->vkey[1].public);
}

static int
on_genesis(struct order_walk *walk, const struct own_record *own)
{
	if (own->idx != 0 || own->epoch != 0)
		return bad_record(walk->answer, own->idx, "a log begins twice");
	return begin(walk, own);
}

/* Handles "epoch" and "end": the next key. */
static int
on_close(struct order_walk *walk, const struct own_record *own)
{
	if (own->epoch != walk->epoch + 1 || own->vkey_n != 1 ||
	    !is_epoch_key(walk, &own->vkey[0], own->epoch))
		return bad_record(
		    walk->answer, own->idx, "the epoch that it begins is not the next");
	/* a log of an earlier version does not count them */
	if (own->checkpoints != UINT64_MAX && own->checkpoints != walk->epoch_cps)
		return bad_record(walk->answer, own->idx,
		    "a checkpoint of the epoch that it ends is missing");
	walk->closes = own->idx + 1;
	return add_key(walk, own->vkey[0].public);
}

/* The key was lost: always report it. */
static int
on_break(struct order_walk *walk, const struct own_record *own)
{
	if (walk->breaks++ == 0)
		walk->first_break = own->idx;
	if (own->epoch != walk->epoch + 1 || own->vkey_n != 1 ||
	    !is_epoch_key(walk, &own->vkey[0], own->epoch))
		return bad_record(
		    walk->answer, own->idx, "the epoch that it begins is not the next");
	walk->epoch++;
	walk->epoch_cps = 0;
	return add_key(walk, own->vkey[0].public);
}

/* The first record of a segment must repeat the signing keys. */
static int
same_keys(struct order_walk *walk, const struct own_record *own)
{
	const uint8_t *key = walk->key[own->epoch - walk->first_epoch];

	if (memcmp(own->vkey[0].public, walk->origin_key.public, KEY_LEN) != 0 ||
	    memcmp(own->vkey[1].public, key, KEY_LEN) != 0)
		return bad_record(walk->answer, own->idx, "it names other keys");
	return 0;
}

static int
on_open(struct order_walk *walk, const struct own_record *own)
{
	if (!walk->begun)
		return begin(walk, own);
	if (own->epoch != walk->epoch)
		return bad_record(walk->answer, own->idx, "it belongs to another epoch");
	/* the same recorder, in its next file */
	if (own->rotated)
		return own->vkey_n == 2 && walk->segment->base == own->idx
			   ? same_keys(walk, own)
			   : bad_record(walk->answer, own->idx,
				 "it starts a file, but is not its first record");
	/* its records show whether the one before it ended */
	if (own->clean != walk->ended)
		return bad_record(walk->answer, own->idx,
		    own->clean ? "it claims to follow an end, but none was recorded"
			       : "it claims to follow no end, but one was recorded");
	walk->unclean += !own->clean;
	return 0;
}

static int
on_heartbeat(struct order_walk *walk, const struct own_record *own)
{
	walk->heartbeats++;
	return 0;
}

static int
on_clock(struct order_walk *walk, const struct own_record *own)
{
	walk->clocks++;
	return 0;
}

/* The cosigned checkpoint is in the log, and its text was compared. Checks whether
 * the line is from a named witness; signatures of others are ignored. */
static int
on_cosig(struct order_walk *walk, const struct own_record *own)
{
	sqlite3_stmt *s = walk->segment->cp_note;
	static char text[NOTE_MAX];
	static struct note note;
	const char *cp = NULL, *end;
	uint64_t time = 0;
	int have = 0;

	walk->cosigs++;
	text[0] = '\0';
	(void)sqlite3_bind_int64(s, 1, (sqlite3_int64)own->size);
	if (own->size <= own->idx)
		have = sql_row(walk->answer, s, own->idx);
	if (have > 0)
		cp = (const char *)sqlite3_column_text(s, 1);
	end = cp != NULL ? strstr(cp, "\n\n") : NULL;
	if (end != NULL)
		(void)snprintf(
		    text, sizeof(text), "%.*s\n\n%s\n", (int)(end - cp), cp, own->note);
	(void)sqlite3_reset(s);
	if (have < 0)
		return have;
	if (note_parse(text, strlen(text), &note) < 0)
		return 0;
	for (size_t i = 0; i < walk->witness_n; i++) {
		const struct vkey *w = &walk->witness[i];

		if (strcmp(note.sig[0].name, w->name) != 0 ||
		    memcmp(note.sig[0].id, w->id, sizeof(w->id)) != 0)
			continue;
		if (!note_signed_by(&note, w, &time))
			return bad_record(
			    walk->answer, own->idx, "the witness did not sign it");
		if (time >= walk->witness_time) {
			walk->witness_time = time;
			walk->witness_size = own->size;
		}
	}
	return 0;
}

/* Records before "first" were removed, or are to be removed. */
static int
on_prune(struct order_walk *walk, const struct own_record *own)
{
	if (own->count > walk->pruned)
		walk->pruned = own->count;
	return 0;
}

static const struct {
	enum event_kind kind;
	int (*on)(struct order_walk *, const struct own_record *);
} own_row[] = {
    {EVENT_GENESIS, on_genesis},
    {EVENT_EPOCH, on_close},
    {EVENT_END, on_close},
    {EVENT_BREAK, on_break},
    {EVENT_OPEN, on_open},
    {EVENT_HEARTBEAT, on_heartbeat},
    {EVENT_CLOCK, on_clock},
    {EVENT_COSIG, on_cosig},
    {EVENT_PRUNE, on_prune},
};

/* ---- the clock ------------------------------------------------------------------------- */

/* Checks the recorder's own timestamps: boottime increases within one boot, and
 * realtime keeps its offset unless the log records that it was set. */
static int
check_clock(struct order_walk *walk, const struct own_record *own)
{
	uint64_t offset = own->ts - own->boot, jump;
	bool begins = own->kind == EVENT_GENESIS || own->kind == EVENT_OPEN;
	bool same_boot = strcmp(own->boot_id, walk->boot_id) == 0;

	if (own->before > walk->boot_most)
		walk->boot_most = own->before;
	if (begins && !same_boot) {
		(void)snprintf(walk->boot_id, sizeof(walk->boot_id), "%s", own->boot_id);
		walk->clock_known = false;
		walk->boot_ns = walk->boot_most = 0;
	}
	if (begins && own->period > 0)
		walk->period_s = own->period;
	if (begins)
		/* while no recorder runs, the clock may change */
		walk->clock_known = false;
	if (walk->boot_most > own->boot)
		return bad_record(
		    walk->answer, own->idx, "it is older than a record before it");
	if (own->boot + BACK_SLACK < walk->boot_ns)
		return bad_record(walk->answer, own->idx,
		    "it is older than the recorder's record before it");
	jump = offset > walk->offset_ns ? offset - walk->offset_ns
					: walk->offset_ns - offset;
	if (walk->clock_known && own->kind != EVENT_CLOCK && jump > CLOCK_SLACK)
		return bad_record(walk->answer, own->idx,
		    "its two clocks do not match those before it");
	walk->clock_known = true;
	walk->offset_ns = offset;
	walk->boot_ns = own->boot;
	walk->boot_most = 0;
	walk->last_ts = own->ts;
	return 0;
}

static int
take_own(struct order_walk *walk, const struct own_record *own)
{
	int r = 0;

	if (own->kind != EVENT_COSIG && own->kind != EVENT_PRUNE)
		r = check_clock(walk, own);
	if (r == 0 && !walk->begun && own->kind != EVENT_GENESIS &&
	    own->kind != EVENT_OPEN)
		r = bad_record(
		    walk->answer, own->idx, "the log does not begin with its keys");
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(own_row); i++) {
		if (own_row[i].kind == own->kind)
			r = own_row[i].on(walk, own);
	}
	if (own->kind != EVENT_BREAK)
		walk->ended = own->kind == EVENT_END;
	return r;
}

/* ---- a piece ----------------------------------------------------------------------------- */

/* True if there is something to check between these sizes. */
static bool
something_in(const struct order_walk *walk, const struct segment *segment, uint64_t from,
    uint64_t to)
{
	if (segment->cp_left && segment->cp_size > from && segment->cp_size < to)
		return true;
	for (size_t i = 0; i < walk->anchor_n; i++) {
		if (walk->anchor[i].cp.size > from && walk->anchor[i].cp.size < to)
			return true;
	}
	return false;
}

/* Checks everything that refers to this size of the tree. */
static int
at_size(struct order_walk *walk, struct segment *segment)
{
	uint64_t size = walk->tree.chain.size;
	int r = 0;

	if (segment->cp_left && segment->cp_size < size)
		return bad_record(walk->answer, walk->cp_before,
		    "the checkpoint after it is out of order");
	if (segment->cp_left && segment->cp_size == size)
		r = check_checkpoint(walk, segment);
	if (r == 0 && walk->closes == size)
		return bad_record(
		    walk->answer, size - 1, "it ends its epoch without a checkpoint");
	return r == 0 ? walk_check_anchors(walk) : r;
}

int
walk_piece(struct order_walk *walk, struct segment *segment, const struct piece *piece)
{
	void *arg[2] = {walk, segment};
	size_t own = 0;
	uint64_t i = 0;
	int r = 0;

	/* check what is before the first bad record first */
	while (r == 0 && i < piece->n) {
		uint64_t idx = piece->first + i;
		uint64_t end = idx + TILE_WIDTH;
		bool own_here = own < piece->own_n && piece->own[own].idx < end;

		if (piece->answer.verdict != INTACT &&
		    (!piece->answer.named || end > piece->answer.bad))
			break;
		if (idx % TILE_WIDTH == 0 && i + TILE_WIDTH <= piece->n && !own_here &&
		    !something_in(walk, segment, idx, end)) {
			r = tiles_append_tile(
			    &walk->tree, piece->root[i / TILE_WIDTH], check_tile, arg);
			i += TILE_WIDTH;
			segment->tiles++;
			walk->ended = false;
		} else {
			if (own < piece->own_n && piece->own[own].idx == idx)
				r = take_own(walk, &piece->own[own++]);
			else
				walk->ended = false;
			if (r == 0)
				r = tiles_append(&walk->tree,
				    piece->leaf + i * MERKLE_HASH_LEN, check_tile, arg);
			i++;
		}
		if (r == 0)
			r = at_size(walk, segment);
	}
	if (r == 0 && piece->answer.verdict != INTACT) {
		*walk->answer = piece->answer;
		r = -EBADMSG;
	}
	walk->gaps += piece->gaps;
	if (piece->boot_most > walk->boot_most)
		walk->boot_most = piece->boot_most;
	return r;
}

/* ---- a segment ------------------------------------------------------------------------------ */

int
walk_segment_open(struct order_walk *walk, struct segment *segment)
{
	sqlite3 *db = segment->db;
	int r;

	walk->segment = segment;
	walk->epoch_cps = 0;
	if (sqlite3_prepare_v2(db, "SELECT size FROM cp NOT INDEXED ORDER BY size", -1,
		&segment->cp_list, NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(db, "SELECT epoch, note FROM cp WHERE size = ?", -1,
		&segment->cp_note, NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(db, "SELECT root, h FROM tile WHERE level = ? AND n = ?",
		-1, &segment->tile, NULL) != SQLITE_OK)
		return sql_failed(walk->answer, db, segment->base);
	walk->cp_before = segment->base;
	r = walk_next_checkpoint(walk, segment);
	return r < 0 || segment->base == 0 ? r : walk_carry(walk, segment);
}

void
walk_segment_close(struct segment *segment)
{
	(void)sqlite3_finalize(segment->cp_list);
	(void)sqlite3_finalize(segment->cp_note);
	(void)sqlite3_finalize(segment->tile);
	segment->cp_list = segment->cp_note = segment->tile = NULL;
}

int
walk_segment_end(struct order_walk *walk, struct segment *segment)
{
	uint64_t size = walk->tree.chain.size;

	if (segment->cp_left)
		return bad_record(
		    walk->answer, size, "it is missing, but a checkpoint covers it");
	if (walk->cp_before != size)
		return bad_record(
		    walk->answer, walk->cp_before, "no checkpoint covers it");
	return 0;
}
