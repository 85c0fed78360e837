/*
 * What the files of the recorder's loop share: main.c, which reads and writes, and
 * peers.c, which accepts writers and ends an unused recorder.
 */
#ifndef KENNEL_SUPERVISOR_AUDIT_RECORDER_PRIVATE_H
#define KENNEL_SUPERVISOR_AUDIT_RECORDER_PRIVATE_H

#include "shim/base/loop.h"
#include "supervisor/audit/log/record.h"
#include "supervisor/audit/recorder/startup.h"

#define PEERS_MAX     512
#define READY_MAX     64           /* peers handled in one round */
#define READ_MAX      256          /* records of one peer in one round */
#define BATCH_MAX     4096         /* records in one commit */
#define FLOW_WAIT_NS  20000000ull  /* well below the 50 ms of EVENT_FLOW */
#define REST_NS       3000000ull   /* pause before a writer is read again */
#define REST_BUSY_NS  300000ull    /* for a busy one: its socket holds 160, or more */
#define QUIET_NS      250000000ull /* without a commit: the log is idle */
#define REST_BUSY     48           /* records in one read that make it busy */
#define IDLE_NS       1000000000ull
#define HELLO_WAIT_NS 2000000000ull /* longest wait for HELLO */
#define SILENT_MAX    64            /* connections of one process without HELLO */
#define INSTANCE_LEN  16

struct peer {
	int fd;  /* -1: the slot is free */
	int pid; /* from SO_PEERCRED */
	bool welcome;
	bool waits_write;
	bool auditor;
	bool rests; /* not read during a pause */
	struct writer writer;
	uint64_t last;  /* the highest number of this writer in the log */
	uint64_t heard; /* the highest number on this connection */
	uint64_t kept;  /* the highest of these on disk */
	uint64_t told;  /* the last DURABLE sent */
	uint64_t since_ns;
};

struct recorder {
	struct loop loop;
	struct ledger *ledger;
	struct store *store; /* the ledger's */
	/* slots from peer_top on were never used; their pages are not allocated */
	struct peer peer[PEERS_MAX];
	size_t peer_n, peer_top;
	int epoll, idle_timer, flow_timer, rest_timer, tick_timer, quiet_timer;
	bool started;         /* and quiet since */
	bool gate;            /* a writer waits for this commit */
	size_t batch_n;       /* records in it */
	uint64_t prune_first; /* prune records before this one; 0: none */
	bool rotate;          /* an auditor wants the file closed */
	bool idle;            /* no client is left: the end */
	struct writer self;
	char socket_name[RECORDER_NAME_MAX];
};

extern struct recorder recorder; /* one per process; too large for the stack */

/* Sets what epoll reports for this peer (EPOLL_CTL_ADD, EPOLL_CTL_MOD). */
void peer_watch(struct peer *, int operation);
void peer_end(struct peer *);

/* peers.c */
void on_listener(struct loop *, int fd, short revents, void *arg);
/* In one second, checks whether any client is left. */
void idle_soon(void);

#endif
