/*
 * What the files of the ledger share: epochs.c, which maintains it, and recover.c,
 * which creates it or resumes it after a crash.
 */
#ifndef KENNEL_SUPERVISOR_AUDIT_RECORDER_EPOCHS_H
#define KENNEL_SUPERVISOR_AUDIT_RECORDER_EPOCHS_H

#include "leash/audit/writer.h"
#include "shim/base/wire.h"
#include "supervisor/audit/kept/kept_checkpoint.h"
#include "supervisor/audit/log/record.h"
#include "supervisor/audit/log/signed_note.h"
#include "supervisor/audit/recorder/config.h"
#include "supervisor/audit/recorder/startup.h"

#define OWN_MAX 4096 /* bytes of one own event */

struct ledger {
	struct store *store;
	int log_dir, slots;
	int kept_dir; /* of kept checkpoints; -1: unavailable */
	struct config config;
	struct key *origin_key, *key; /* key: of this epoch */
	struct vkey origin, signer;
	struct key *next; /* of the next epoch, in its slot; NULL: none yet */
	struct vkey next_signer;
	uint64_t epoch;
	int slot;              /* which slot has the epoch's key */
	uint64_t cps;          /* checkpoints of the epoch in this file */
	uint64_t epoch_end_ns; /* 0: the epoch has no records */
	uint64_t beat_ns;      /* when the next heartbeat is due */
	uint64_t offset_ns;    /* realtime minus boottime, at the last own record */
	uint64_t since_commit; /* records not on disk */
	struct writer self;
	uint64_t self_seq;
	struct record rec; /* one own record at a time */
	char boot_id[40], host[65];
	char note[NOTE_MAX];
};

/* Builds one of the log's own records, field by field. */
struct own {
	uint8_t memory[OWN_MAX];
	struct wire_out out;
};

void own_begin(struct own *);
void own_text(struct own *, enum event_key, const char *);
void own_number(struct own *, enum event_key, uint64_t);
void own_vkey(struct own *, const struct vkey *);
/* Adds the fields about the machine that each recorder records. */
void own_place(struct ledger *, struct own *);
int own_append(struct ledger *, enum event_kind, struct own *);

uint64_t ledger_realtime(void);
/* Commits, with a checkpoint signed by both keys. */
int ledger_sign(struct ledger *);
/* Makes the vkey (name and public key) of an epoch's key. */
int ledger_vkey(
    const struct ledger *, uint64_t epoch, const struct key *, struct vkey *ret);
/* From now on this key signs; wipes the one before. */
void ledger_use(
    struct ledger *, uint64_t epoch, int slot, struct key *, const struct vkey *);
/* Reserves disk space for the records that report a full disk. */
int ledger_reserve(struct ledger *);

struct ledger;
/* Opens the log, recovers from a crash, and records that a recorder is running. */
int ledger_open(int log_dir, int kept_dir, const struct writer *self, struct ledger **ret,
    const char **ret_why);
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
int ledger_rotate(struct ledger *, bool asked);
/* Removes whole files whose records are all before first. The record of this removal
 * is already on disk. */
int ledger_prune(struct ledger *, uint64_t first);
/* Clean end, for this reason: closes the log and frees the ledger. */
int ledger_end(struct ledger *, const char *reason);
/* Disk full: frees the reserve and uses it to record the failure. count: records that
 * were received and are lost. */
void ledger_last_words(struct ledger *, uint64_t count);
/* Number of records received and not yet on disk. */
uint64_t ledger_lost(const struct ledger *);
void ledger_free(struct ledger *);

/* ---- continues.c: the checkpoints kept outside of the log's directory ---- */

/* Where a log stopped that this one does not continue. */
struct stopped {
	const char *reason; /* NULL: nothing */
	struct kept kept;
};
/* Compares the log, whose last checkpoint is of this size (0: a new log), with what was
 * kept, and adds the fields about a difference to the record of the start. */
void continues_check(struct ledger *, uint64_t size, struct own *, struct stopped *ret);
/* That record is on disk: leaves a checkpoint that this log does not continue, and
 * keeps its own. */
void continues_begin(struct ledger *, const struct stopped *);
/* Keeps the last checkpoint, which is on disk. */
void continues_keep(struct ledger *);

#endif
