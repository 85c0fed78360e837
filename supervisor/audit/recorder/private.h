/*
 * What the two files of the recorder's loop share: recorder.c, which reads and
 * writes, and peers.c, which lets writers in and sees that nobody is left.
 */
#ifndef KENNEL_SUPERVISOR_AUDIT_RECORDER_H
#define KENNEL_SUPERVISOR_AUDIT_RECORDER_H

#include "shim/base/loop.h"
#include "supervisor/audit/log/inside.h"

#define PEERS_MAX     512
#define READY_MAX     64          /* peers looked at in one round */
#define READ_MAX      256         /* records of one peer in one round */
#define BATCH_MAX     4096        /* records in one commit */
#define FLOW_WAIT_NS  20000000ull /* well inside the 50 ms of EVENT_FLOW */
#define REST_NS       3000000ull  /* before a writer is read again */
#define REST_BUSY_NS  300000ull /* one that is in a hurry: its socket holds 160, or more */
#define REST_BUSY     48        /* records at once: it is */
#define IDLE_NS       1000000000ull
#define HELLO_WAIT_NS 5000000000ull /* a peer that says nothing does not keep us */
#define INSTANCE_LEN  16

struct peer {
	int fd; /* -1: the slot is free */
	bool welcome;
	bool waits_write;
	bool auditor;
	bool rests; /* not read until the rest is over */
	struct writer writer;
	uint64_t last;  /* the highest number of this writer in the log */
	uint64_t heard; /* the highest number on this connection */
	uint64_t kept;  /* and what is on disk of it */
	uint64_t told;  /* the last DURABLE */
	uint64_t since_ns;
};

struct recorder {
	struct loop loop;
	struct ledger *ledger;
	struct store *store; /* the ledger's */
	/* slots from peer_top on were never used, nor their memory */
	struct peer peer[PEERS_MAX];
	size_t peer_n, peer_top;
	int epoll, idle_timer, flow_timer, rest_timer, tick_timer;
	bool gate;            /* somebody waits for this transaction */
	size_t batch_n;       /* records in it */
	uint64_t prune_first; /* records before it may go; 0: none */
	bool rotate;          /* an auditor wants the file closed */
	struct writer self;
	char socket_name[RECORDER_NAME_MAX];
};

extern struct recorder the; /* one per process; too large for the stack */

/* Tells epoll what to hear of it (EPOLL_CTL_ADD, EPOLL_CTL_MOD). */
void peer_watch(struct peer *, int operation);
void peer_end(struct peer *);

/* peers.c */
void on_listener(struct loop *, int fd, short revents, void *arg);
/* A look, in a second, whether anybody is here. */
void idle_soon(void);

#endif
