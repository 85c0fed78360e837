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
#include <stdint.h>

#include "leash/leash.h"

enum starter_message {
	STARTER_START = 2, /* u32 number */
	STARTER_STARTED =
	    3, /* u32 the same, u32 asks, str why; a descriptor; none: it failed, and
		* why */
};

/* A session that is taken over may ask without end: beyond this it gets refusals. Its own
 * backoff allows fewer. */
#define STARTER_STARTS_MAX 10
#define STARTER_STARTS_MS  60000

struct opened;

/* Forks it for the server of this session: 0 or -errno. It ends when opened->starter is
 * closed, after its last leash has ended. */
int starter_fork(struct opened *, const char *file);
/* number: of this request, another one each time. 0 or -errno. */
int starter_ask(int starter, uint32_t number);
/* The answer to this request, when the socket is readable. Returns a channel (the caller's),
 * or -errno and why; -EAGAIN: it has not come; one to an earlier request is dropped, with
 * its leash. ret_asks: the start may need a person's approval. */
int starter_take(int starter, uint32_t number, bool *ret_asks, char why[LEASH_TEXT_MAX]);
/* Ends it, and waits until it has. Call it when the leash's channel is closed. */
void starter_end(struct opened *);

#endif
