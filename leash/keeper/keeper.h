/*
 * What is asked of the keeper and what it answers (docs/PROTOCOL.keeper), and how
 * it is reached.  One SOCK_SEQPACKET each, keeper.sock in the run folder, 0600;
 * requests even, answers odd, one answer for each request.
 *
 *	kennel-secret, leash		keeper
 *	HELLO ----------------------->	of this user, or hung up on
 *	   <------------------ WELCOME	is there a vault, and is it open
 *	UNLOCK, PUT, GRANT, ... ----->	kennel-secret's
 *	   <-------- DONE or REFUSED
 *	RELEASE --------------------->	a leash's
 *	   <------- VALUE or REFUSED
 *
 * It gives a value to nothing but a leash: no other request is answered with one.
 * Which process asks cannot be known among those of one user (docs/TRUST.md); what
 * it is asked to believe is the grant that a person made.
 */
#ifndef KENNEL_LEASH_KEEPER_KEEPER_H
#define KENNEL_LEASH_KEEPER_KEEPER_H

#include <stddef.h>
#include <stdint.h>

#include "leash/vault_file/vault_file.h"
#include "shim/base/wire.h"

#define KEEPER_VERSION    1
#define KEEPER_SOCKET     "keeper.sock"
#define KEEPER_PACKET_MAX (VAULT_VALUE_MAX + (8u << 10))
#define KEEPER_ROWS       64  /* rows in one answer */
#define KEEPER_WHO_MAX    64  /* what a peer calls itself */
#define KEEPER_TEXT_MAX   200 /* a reason, for people */

#define KEEPER_IDLE_S     (15u * 60) /* unlocked and not used: locked */
#define KEEPER_IDLE_MAX_S (24u * 3600)
#define KEEPER_CAP_S      (8u * 3600) /* since it was unlocked, used or not */
#define KEEPER_CAP_MAX_S  (24u * 3600)

enum keeper_message {
	KEEPER_HELLO = 2,
	KEEPER_WELCOME = 3,
	KEEPER_DONE = 5,    /* u32, what it means is the request's */
	KEEPER_REFUSED = 7, /* u32 enum keeper_reason, str for people */
	KEEPER_INIT = 8,
	KEEPER_UNLOCK = 10,
	KEEPER_LOCK = 12,
	KEEPER_PUT = 14,
	KEEPER_REMOVE = 16,
	KEEPER_RESTORE = 18,
	KEEPER_RESEAL = 20,
	KEEPER_PHRASE = 22,
	KEEPER_PHRASE_IS = 23,
	KEEPER_GRANT = 24,
	KEEPER_REVOKE = 26,
	KEEPER_VERSIONS = 28,
	KEEPER_VERSIONS_ARE = 29,
	KEEPER_GRANTS = 30,
	KEEPER_GRANTS_ARE = 31,
	KEEPER_RELEASE = 32,
	KEEPER_VALUE = 33,
	KEEPER_RELEASE_OLD = 34, /* a value that was replaced, for the scrubber */
};

enum keeper_state { STATE_NONE = 0, STATE_LOCKED, STATE_OPEN };

enum keeper_reason {
	REASON_FAILED = 1, /* its own work */
	REASON_NO_VAULT,
	REASON_LOCKED,
	REASON_WRONG,   /* it does not open */
	REASON_ALTERED, /* the file is not what the keeper wrote */
	REASON_NOT_THERE,
	REASON_THERE, /* and should not be */
	REASON_BAD,   /* a path, a value, a name */
	REASON_FULL,
	REASON_NO_GRANT,
	REASON_OTHER_POLICY, /* granted, but not for this one */
	REASON_OTHER_VAULT,  /* this keeper keeps another one */
};

/* ---- reach.c: one that runs ---------------------------------------------------- */

/*
 * A connection to the keeper of this run folder, greeted.  vault: the folder that
 * it must keep (a descriptor), or -1.  0; -ENOENT nobody is there; -EACCES it is
 * another user's; -EXDEV it keeps another vault; -EPROTO -ETIMEDOUT.
 */
int keeper_reach(const char *run_dir, int vault, const char *who, int *ret_fd,
    enum keeper_state *ret_state);

/* ---- start.c: one that is started if need be (kennel-secret) -------------------- */

/* The same; makes the folders, and starts the program where nobody is there. */
int keeper_start(const char *program, const char *run_dir, const char *vault_dir,
    const char *who, int *ret_fd, enum keeper_state *ret_state);

#define KEEPER_FD_FIRST    3
#define KEEPER_FD_LISTENER 3
#define KEEPER_FD_LOCK     4 /* keeper.lock of the run folder, held for its life */
#define KEEPER_FD_VAULT    5 /* the vault's folder, locked too */
#define KEEPER_FD_RUN      6
#define KEEPER_FDS         4

/* A folder of ours alone, made where it is not there.  -EACCES: another's. */
int keeper_folder(const char *path, bool make, int *ret_fd);

#endif
