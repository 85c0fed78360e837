/*
 * Between the files of the keeper: what it holds, and what it is asked.
 */
#ifndef KENNEL_LEASH_KEEPER_INSIDE_H
#define KENNEL_LEASH_KEEPER_INSIDE_H

#include "leash/keeper/keeper.h"
#include "shim/base/loop.h"

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define PEERS_MAX    32

struct peer {
	int fd; /* -1: the place is free */
	int slot;
	int pid; /* a hint, as is: */
	char who[KEEPER_WHO_MAX];
	bool greeted;
};

struct keeper {
	struct loop loop;
	struct vault *pages;
	uint8_t *in, *out;           /* packets, in the pages: KEEPER_PACKET_MAX each */
	struct container *container; /* NULL: not read yet, or none is there */
	struct container_seen seen;
	uint64_t idle_ns, idle_at, cap_at; /* loop_now(): when it is locked */
	int lock_timer, quit_timer, listener_slot;
	struct peer peer[PEERS_MAX];
	int peer_n;
	bool stopping;
};

extern struct keeper the;

/* ---- main.c ---- */

/* The key, what was opened, and what was said with it: wiped. */
void keeper_lock(const char *why);
/* It is open from now on; 0: the usual times. */
void keeper_opened(uint32_t idle_s, uint32_t cap_s);
/* It was used: the idle time begins anew. */
void keeper_used(void);
bool keeper_is_open(void);
/* When nobody is connected and nothing is open there is nothing to stay for. */
void keeper_quit_soon(void);

/* ---- peers.c ---- */

loop_fd_fn peers_accept;
void peers_end(struct peer *);

/* ---- answer.c, change.c: one request each ---- */

/*
 * What is asked in `in`, answered into `out` (both are in the pages, and wiped by
 * who calls).  A negative errno: it is no such request, and the peer is hung up on.
 */
typedef int answer_fn(struct peer *, struct wire_in *in, struct wire_out *out);

answer_fn answer_hello, answer_lock, answer_release, answer_release_old, answer_versions,
    answer_grants;
answer_fn change_init, change_unlock, change_put, change_remove, change_restore,
    change_reseal, change_phrase, change_grant, change_revoke;

/* ---- answer.c ---- */

int answer_refuse(struct wire_out *, enum keeper_reason, const char *text);
/* For what the container said. */
int answer_error(struct wire_out *, int error);
int answer_done(struct wire_out *, uint32_t what);
/* Reads the file if it was not read.  0, or what the container says. */
int answer_load(char why[KEEPER_TEXT_MAX]);

#endif
