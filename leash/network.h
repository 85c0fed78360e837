/*
 * The leash's side of the network: starts kennel-egress, and kennel-dial if there
 * are grants, records their reports, and ends them.
 */
#ifndef KENNEL_LEASH_NETWORK_H
#define KENNEL_LEASH_NETWORK_H

#include "leash/egress/egress.h"
#include "leash/private.h"

#define NETWORK_WHY_MAX 256

/* A decision that kennel-egress has not received: its record is not yet on the disk, or
 * the channel is full. */
struct network_wait {
	uint32_t id;
	bool yes;
	uint64_t record; /* 0: none is needed */
};

/* What a person said of a name and port, or is asked about (network_ask.c). */
#define NETWORK_ASKS_MAX    64
#define NETWORK_PENDING_MAX 16 /* programs share the person with them */

enum network_ask_state { ASK_FREE, ASK_PENDING, ASK_AGREED, ASK_REFUSED };

struct network_ask {
	enum network_ask_state state;
	uint32_t number, row, port;
	uint32_t refused; /* connections since the refusal that are not on record */
	enum leash_answer answer;
	uint64_t until_ns;
	uint8_t digest[32];
	char name[EGRESS_NAME_MAX + 1], who[GATE_WHO_MAX];
};

/* A connection that waits for its answer. */
struct network_held {
	uint32_t id, ask;
	uint64_t until_ns;
};

/* The texts that the server chose, redacted (network.c). */
enum network_shown {
	SHOWN_NAME,
	SHOWN_ADDRESS,
	SHOWN_ALPN,
	SHOWN_SNI,
	SHOWN_REASON,
	SHOWN_HINT,
	SHOWN_END
};
#define NETWORK_SHOWN_MAX (4u << 10) /* bytes of each */

/* The question whether kennel-egress still serves (network_ping.c). */
struct network_ping {
	uint32_t number; /* of the last one that was sent */
	bool pending;    /* nothing has come since */
	uint64_t due_ns;
	int timer; /* -1: none */
};

struct network {
	struct leash *leash;
	struct buf shown[SHOWN_END];
	int relay, dial; /* channels; -1: none, or closed */
	int relay_slot, dial_slot;
	pid_t relay_pid, dial_pid;
	int relay_pidfd;
	struct network_ping ping;
	bool lost; /* its end has been reported, or is expected */
	bool used; /* a connection was let go */
	struct network_wait wait[EGRESS_CONNS_MAX];
	size_t wait_n;
	struct network_ask ask[NETWORK_ASKS_MAX];
	struct network_held held[EGRESS_CONNS_MAX];
	size_t held_n;
	uint32_t ask_number; /* of the next question */
	int tick;            /* timer of network_ask.c, or -1 */
};

/* launch_network.c */
/* Before anything starts: -EOPNOTSUPP and why if this version cannot serve a grant. */
int network_check(const struct leash *, char why[NETWORK_WHY_MAX]);
/* While the cell is completed: starts both processes with everything but the cell's
 * sockets.  On failure nothing is left; why is for people. */
int network_start(struct leash *, char why[NETWORK_WHY_MAX]);
/* The cell exists: moves them into its cgroup, if it has one, and lets them serve. */
int network_serve(struct leash *);
/* Closes their channels, which ends both. */
void network_end(struct leash *);

/* network.c */
int network_watch(struct leash *);
/* Handles the reports that the relay has sent so far. It reports a refusal before the
 * client gets its answer, so call it before passing on what the server says of that. */
void network_hear(struct leash *);
/* The server is gone: its connections end, and what they have carried is recorded. */
void network_last(struct leash *);
/* More records are on the disk than before, or the channel has room again. */
void network_recorded(struct leash *);
/* The server has no network any more. reason: NULL, or why, for people. */
void network_lost(struct network *, const char *reason);

/* For network_ask.c; 0, or negative: kennel-egress is gone. */
int network_say_go(struct network *, uint32_t id, bool yes);
int network_refuse(struct network *, const struct egress_report *open, enum egress_why);
/* count: how many connections were refused. */
void network_record_refused(
    struct network *, const struct egress_report *open, enum egress_why, uint32_t count);
/* The question is on record; negative: it cannot be. */
int network_record_ask(
    struct network *, const struct egress_report *open, const uint8_t digest[32]);
/* A person agreed: on record, then it goes. */
int network_agreed(
    struct network *, const struct egress_report *open, const struct network_ask *);

/* network_ask.c */
/* EGRESS_OPEN under a row that asks.  Negative: kennel-egress is gone or taken over. */
int network_ask(struct network *, const struct egress_report *open);
/* LEASH_ANSWER to one of our numbers. */
int network_answer(struct leash *, uint32_t number, enum leash_answer, const char *who);
/* Its client is gone: was it one that waits? */
bool network_forget(struct network *, uint32_t id);
/* Withdraws all open approvals. */
void network_ask_end(struct network *);

/* network_ping.c */
/* A process that is stopped keeps its listeners, so the server's connections would wait
 * for ever: asks kennel-egress from time to time, and kills it if it does not answer. */
int network_ping_start(struct network *);
/* -EBADMSG: an answer to what was not asked. */
int network_pong(const struct network *, uint32_t number);
void network_ping_stop(struct network *);

#endif
