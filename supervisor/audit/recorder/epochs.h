/*
 * What the files of the ledger share: epochs.c, which maintains it, and recover.c,
 * which creates it or resumes it after a crash.
 */
#ifndef KENNEL_SUPERVISOR_AUDIT_RECORDER_EPOCHS_H
#define KENNEL_SUPERVISOR_AUDIT_RECORDER_EPOCHS_H

#include "supervisor/audit/log/inside.h"

#define OWN_MAX 4096 /* bytes of one own event */

struct ledger {
	struct store *store;
	int log_dir, slots;
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

#endif
