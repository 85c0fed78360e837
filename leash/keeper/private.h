/*
 * Shared by the files of the keeper: its state, and its requests.
 */
#ifndef KENNEL_LEASH_KEEPER_PRIVATE_H
#define KENNEL_LEASH_KEEPER_PRIVATE_H

#include "leash/keeper/keeper.h"
#include "leash/vault_file/vault_file.h"
#include "shim/base/loop.h"

#define PEERS_MAX    32
#define PEERS_OF_ONE 8 /* connections of one process, greeted or not */
#define HELLO_NS     2000000000ull

/* The protocol's bounds and numbers are those of the file. */
_Static_assert(KEEPER_VALUE_MAX == VAULT_VALUE_MAX && KEEPER_PATH_MAX == VAULT_PATH_MAX &&
		   KEEPER_SERVER_MAX == VAULT_FILE_SERVER_MAX &&
		   KEEPER_MATERIAL_MAX == VAULT_FILE_MATERIAL_MAX &&
		   KEEPER_ID_LEN == VAULT_FILE_ID_LEN && KEEPER_PHRASE_LEN == PHRASE_LEN,
    "bounds");
_Static_assert((int)KEEPER_PASSPHRASE == (int)OPENER_PASSPHRASE &&
		   (int)KEEPER_RECOVERY == (int)OPENER_RECOVERY &&
		   (int)KEEPER_TO_POLICY == (int)GRANT_POLICY &&
		   (int)KEEPER_TO_SIGNER == (int)GRANT_SIGNER,
    "numbers");

struct peer {
	int fd; /* -1: the slot is free */
	int slot;
	int pid; /* a hint, unverified: */
	char who[KEEPER_WHO_MAX];
	bool greeted;
	uint64_t hello_until; /* loop_now() */
};

struct keeper {
	struct loop loop;
	struct vault *pages;
	uint8_t *in, *out;       /* packets in the pages: KEEPER_PACKET_MAX bytes */
	struct vault_file *file; /* NULL: not read yet, or no file */
	struct vault_file_seen seen;
	uint64_t idle_ns, idle_at, cap_at; /* loop_now(): when it will be locked */
	int lock_timer, quit_timer, hello_timer, listener_slot;
	struct peer peer[PEERS_MAX];
	int peer_n;
	bool stopping;
};

extern struct keeper keeper;

/* ---- main.c ---- */

/* Wipes the key and everything decrypted or received with it. */
void keeper_lock(const char *why);
/* It is unlocked from now on; 0: default times. */
void keeper_opened(uint32_t idle_s, uint32_t cap_s);
/* Restarts the idle time. */
void keeper_used(void);
bool keeper_is_open(void);
/* Ends the process when no client is connected and the vault is locked. */
void keeper_quit_soon(void);

/* ---- peers.c ---- */

loop_fd_fn peers_accept;
void peers_end(struct peer *);

/* ---- answer.c, change.c: one request each ---- */

/*
 * Handles the request in `in` and writes the reply to `out` (both are in the pages;
 * the caller wipes them).  A negative errno: protocol error, the connection is
 * closed.
 */
typedef int answer_fn(struct peer *, struct wire_in *in, struct wire_out *out);

answer_fn store_refresh;
answer_fn confirm_digest, confirm_ask;
answer_fn key_challenge, key_add, key_remove, key_list_answer;
answer_fn answer_hello, answer_lock, answer_release, answer_release_old, answer_versions,
    answer_grants;
answer_fn change_init, change_unlock, change_put, change_remove, change_restore,
    change_reseal, change_phrase, change_grant, change_grant_after, change_revoke,
    change_revoke_one;

/* A leash's request, with what it points to. */
struct asking {
	struct vault_file_asker asker;
	struct sign_head head;
	struct sign_row row[SIGN_SIGNERS_MAX];
};
/* Path, server, policy and signatures; more fields may follow.  0 or -EBADMSG. */
int answer_asking(struct wire_in *, struct asking *ret);
/* Answers with the reason why there is no grant, unless there is one: then true. */
bool answer_allowed(struct peer *, const struct vault_file_asker *, struct wire_out *);

/* ---- change.c ---- */

/* Has the vault an entry of this path? */
bool change_has_path(const char *path);
/* The end of a change: r of it; writes it to the disk, then replies with what. */
int change_settle(struct wire_out *, int r, uint32_t what);
int change_settle_alone(struct wire_out *, int r, uint32_t what); /* by no person */
int change_save(void); /* to the disk; else the vault is locked */
uint64_t change_now(void);

/* ---- confirm.c ---- */

/* No confirmation remains. */
void confirm_forget(void);
/* Is this the vault's passphrase? Else the refusal is in the reply. */
bool confirm_passphrase(struct peer *, struct span, struct wire_out *);
/* Does this material open the vault, which is open? The third wrong one in a row locks it.
 * As vault_file_matches. */
int confirm_material(const struct vault_file_material *);
#define CONFIRM_LOCKED "wrong for the third time: the vault is locked now"

/* ---- key.c ---- */

/* The entry of the vault with the security keys; no client's path reaches it. */
#define KEYS_PATH SECRET_PATH_KEYS
/* No challenge remains. */
void key_forget(void);
/* Does this material (docs/PROTOCOL.keeper) confirm the approval? Else the refusal is in
 * the reply, or its `error` is set. */
bool key_confirms(struct peer *, struct span, const uint8_t digest[KEEPER_DIGEST_LEN],
    struct wire_out *);

/* ---- fido_child.c ---- */

struct fido_question;
struct fido_answer;
/* Starts the child, before the keeper has a key and confines itself. Dies on failure. */
void fido_child_start(void);
/* Sets the question's number, and waits at most 5 s. The verdict is FIDO_FAILED, with
 * why, if no process answered. */
void fido_ask(struct fido_question *, struct fido_answer *ret);

/* ---- answer.c ---- */

#define RESTORE_BACKUP ": restore a backup (kennel-secret(1), Backups)"
int answer_refuse(struct wire_out *, enum keeper_reason, const char *text);
/* Replies with the reason for an error of the vault file. */
int answer_error(struct wire_out *, int error);
int answer_done(struct wire_out *, uint32_t what);
/* Reads the file if it was not read yet.  0, or the vault file's error. */
int answer_load(struct reason *why);

#endif
