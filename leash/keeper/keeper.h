/*
 * The keeper's requests and replies (docs/PROTOCOL.keeper), and how to connect to
 * it.  One SOCK_SEQPACKET per client on keeper.sock in the run directory, mode
 * 0600; requests are even, replies odd, one reply for each request.
 *
 *	kennel-secret, leash		keeper
 *	HELLO ----------------------->	must be of this user, else closed
 *	   <------------------ WELCOME	is there a vault, and is it unlocked
 *	UNLOCK, PUT, GRANT, ... ----->	from kennel-secret
 *	   <-------- DONE or REFUSED
 *	RELEASE --------------------->	from a leash
 *	   <------- VALUE or REFUSED
 *	STORE ----------------------->	from a leash: a refresh token of its server
 *	   <-------- DONE or REFUSED
 *
 * Only RELEASE, which a leash sends, is answered with a value.  The keeper cannot
 * tell which process of its user sends it (docs/TRUST.md); it relies on the grant
 * that the user made.
 */
#ifndef KENNEL_LEASH_KEEPER_KEEPER_H
#define KENNEL_LEASH_KEEPER_KEEPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/base/wire.h"

#define KEEPER_VERSION      1
#define KEEPER_SOCKET       "keeper.sock"
#define KEEPER_VALUE_MAX    (64u << 10) /* bytes of a value */
#define KEEPER_PATH_MAX     200         /* bytes of a secret's path */
#define KEEPER_SERVER_MAX   128         /* bytes of a server's name */
#define KEEPER_MATERIAL_MAX 4096        /* bytes of a passphrase or key file */
#define KEEPER_ID_LEN       32          /* bytes of a policy's id, of a public key */
#define KEEPER_DIGEST_LEN   32          /* bytes of the digest of an approval */
#define KEEPER_PHRASE_LEN   54          /* of a recovery phrase, with its NUL */
#define KEEPER_PACKET_MAX   (KEEPER_VALUE_MAX + (8u << 10))
#define KEEPER_REFRESH_MAX  8192        /* bytes of a refresh token */
#define KEEPER_ROWS         64          /* rows in one reply */
#define KEEPER_KEYS_MAX     16          /* security keys */
#define KEEPER_LABEL_MAX    64          /* bytes of what a person calls one */
#define KEEPER_KEYS_BYTES   (20u << 10) /* of all of them in an answer */
#define KEEPER_WHO_MAX      64          /* bytes of the name a client gives itself */
#define KEEPER_TEXT_MAX     200         /* bytes of a reason, for people */

#define KEEPER_IDLE_S     (15u * 60) /* locked after this time without use */
#define KEEPER_IDLE_MAX_S (24u * 3600)
#define KEEPER_CAP_S      (8u * 3600) /* locked after this time, used or not */
#define KEEPER_CAP_MAX_S  (24u * 3600)

enum keeper_message {
	KEEPER_HELLO = 2,
	KEEPER_WELCOME = 3,
	KEEPER_DONE = 5,    /* u32, whose meaning depends on the request */
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
	KEEPER_RELEASE_OLD = 34, /* a replaced value, for the scrubber */
	KEEPER_CONFIRM = 36,     /* a passphrase or a key for an approval; confirm.c */
	KEEPER_CONFIRMED = 38,
	KEEPER_STORE = 40,      /* a refresh token, from a leash; store.c */
	KEEPER_REVOKE_ONE = 42, /* for one policy or signer */
	KEEPER_CHALLENGE = 44,  /* what a key is to sign; key.c */
	KEEPER_CHALLENGE_IS = 45,
	KEEPER_KEY_ADD = 46,
	KEEPER_KEY_REMOVE = 48,
	KEEPER_KEYS = 50,
	KEEPER_KEYS_ARE = 51,
	KEEPER_GRANT_AFTER = 52, /* the same, while another policy's grant exists */
};

/* What unlocks the vault. */
enum keeper_opener { KEEPER_PASSPHRASE = 1, KEEPER_KEY_FILE, KEEPER_RECOVERY };
#define KEEPER_ASSERTION 4 /* opens nothing: what a security key signed */
/* How an approval was confirmed; DONE of CONFIRMED. */
enum keeper_factor { CONFIRMED_NOT = 0, CONFIRMED_PASSPHRASE, CONFIRMED_KEY };
/* Who a grant is for: one policy, or all that one key signed. */
enum keeper_grantee { KEEPER_TO_POLICY = 1, KEEPER_TO_SIGNER };

enum keeper_state { STATE_NONE = 0, STATE_LOCKED, STATE_OPEN };

enum keeper_reason {
	REASON_FAILED = 1, /* internal error */
	REASON_NO_VAULT,
	REASON_LOCKED,
	REASON_WRONG,   /* wrong passphrase, key file or phrase */
	REASON_ALTERED, /* the file is not what the keeper wrote */
	REASON_NOT_THERE,
	REASON_THERE, /* it already exists */
	REASON_BAD,   /* invalid path, value or name */
	REASON_FULL,
	REASON_NO_GRANT,
	REASON_OTHER_POLICY, /* granted, but to another policy */
	REASON_OTHER_VAULT,  /* this keeper holds another vault */
	REASON_TOO_MANY,     /* connections of this process */
};

/* ---- connect.c: a running keeper ----------------------------------------- */

/*
 * A connection to the keeper of this run directory, greeted.  vault: the directory
 * of the vault that it must hold (a descriptor), or -1.  0; -ENOENT: not running;
 * -EACCES: it belongs to another user; -EXDEV: it holds another vault; -EUSERS: this
 * process has too many connections; -EPROTO; -ETIMEDOUT.
 */
int keeper_reach(const char *run_dir, int vault, const char *who, int *ret_fd,
    enum keeper_state *ret_state);
/* The same, with another limit for each wait. */
int keeper_reach_within(const char *run_dir, int vault, const char *who, int wait_s,
    int *ret_fd, enum keeper_state *ret_state);

/* ---- confirmed.c ----------------------------------------------------------- */

/* How has a person confirmed this approval in the last 60 s? Waits at most 2 s for the
 * keeper. An enum keeper_factor, the next time CONFIRMED_NOT; -errno: those of
 * keeper_reach. */
int keeper_confirmed(const char *run_dir, const uint8_t digest[KEEPER_DIGEST_LEN]);
/* Its state; STATE_LOCKED also where no keeper runs. Does not count as a use of the vault. */
enum keeper_state keeper_state_now(const char *run_dir);
/* How many security keys are registered? -ENOKEY: the vault is locked; -errno: those of
 * keeper_reach, -ENOENT also where it is locked and no keeper runs. */
int keeper_keys(const char *run_dir);

/* ---- start_keeper.c: starts one if necessary (kennel-secret) ------------- */

/* The same; makes the directories, and starts the program if none is running. */
int keeper_start(const char *program, const char *run_dir, const char *vault_dir,
    const char *who, int *ret_fd, enum keeper_state *ret_state);

#define KEEPER_FD_FIRST    3
#define KEEPER_FD_LISTENER 3
#define KEEPER_FD_LOCK     4 /* keeper.lock of the run directory, held until exit */
#define KEEPER_FD_VAULT    5 /* the vault's directory, locked too */
#define KEEPER_FD_RUN      6
#define KEEPER_FDS         4

/* Opens a directory private to our user; make: creates it.  -EACCES: not private. */
int keeper_dir(const char *path, bool make, int *ret_fd);

#endif
