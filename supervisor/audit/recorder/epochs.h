/*
 * What the two files of the ledger share: ledger.c, which keeps it, and begin.c,
 * which begins it or takes it up where a crash left it.
 */
#ifndef KENNEL_SUPERVISOR_AUDIT_LEDGER_H
#define KENNEL_SUPERVISOR_AUDIT_LEDGER_H

#include "supervisor/audit/log/inside.h"

#define OWN_MAX 4096 /* bytes of one own event */

struct ledger {
	struct store *store;
	int log_dir, slots;
	struct config config;
	struct key *origin_key, *key; /* key: of this epoch */
	struct vkey origin, signer;
	struct key *next; /* of the epoch to come, in its slot; NULL: none yet */
	struct vkey next_signer;
	uint64_t epoch;
	int slot;              /* where the epoch's key lies */
	uint64_t epoch_end_ns; /* 0: the epoch holds nothing */
	uint64_t beat_ns;      /* when to say that we are here */
	uint64_t offset_ns;    /* realtime less boottime, at the last own record */
	uint64_t since_commit; /* records not on disk */
	struct writer self;
	uint64_t self_seq;
	struct record rec; /* one own record at a time */
	char boot_id[40], host[65];
	char note[NOTE_MAX];
};

/* A record of the log's own, field by field. */
struct own {
	uint8_t memory[OWN_MAX];
	struct wire_out out;
};

void own_begin(struct own *);
void own_text(struct own *, enum event_key, const char *);
void own_number(struct own *, enum event_key, uint64_t);
void own_vkey(struct own *, const struct vkey *);
/* What is said of the machine, by each recorder. */
void own_place(struct ledger *, struct own *);
int own_append(struct ledger *, enum event_kind, struct own *);

uint64_t ledger_realtime(void);
/* Commits with a checkpoint signed by both keys. */
int ledger_sign(struct ledger *);
/* The name and the public half of an epoch's key. */
int ledger_vkey(
    const struct ledger *, uint64_t epoch, const struct key *, struct vkey *ret);
/* This key signs from here on; the one before is wiped. */
void ledger_use(
    struct ledger *, uint64_t epoch, int slot, struct key *, const struct vkey *);
/* Room that is ours already, for what is to be said when there is none. */
int ledger_reserve(struct ledger *);

#endif
