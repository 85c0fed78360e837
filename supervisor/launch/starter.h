/*
 * Starts further processes of a session's server. A confined process cannot build a
 * cell, because a Landlocked process may not mount; so the session forks this one before
 * it confines itself.
 *
 * One SOCK_SEQPACKET between them. The session sends STARTER_START; the starter answers
 * STARTER_STARTED with the channel of a leash that has its order. The starter decides what
 * is started: the policy and the server that it was forked with, and nothing else.
 */
#ifndef KENNEL_SUPERVISOR_LAUNCH_STARTER_H
#define KENNEL_SUPERVISOR_LAUNCH_STARTER_H

#include <stdbool.h>

#include "leash/leash.h"

enum starter_message {
	STARTER_START = 2, /* no fields */
	STARTER_STARTED =
	    3, /* u32 asks, str why; a descriptor; none: it failed, and why */
};

struct opened;

/* Forks it for the server of this session: 0 or -errno. It ends when opened->starter is
 * closed, after its last leash has ended. */
int starter_fork(struct opened *, const char *file);
/* 0 or -errno. */
int starter_ask(int starter);
/* The answer, when the socket is readable. Returns a channel (the caller's), or -errno and
 * why. ret_asks: the start may need a person's approval. */
int starter_take(int starter, bool *ret_asks, char why[LEASH_TEXT_MAX]);
/* Ends it, and waits until it has. Call it when the leash's channel is closed. */
void starter_end(struct opened *);

#endif
