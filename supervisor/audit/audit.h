/*
 * The audit room, as the rest of the supervisor sees it: how to reach the
 * recorder, and how to read a log back.
 *
 *	recorder.c	kennel-recorder: the only writer of a log
 *	given.c		the descriptors it was started with
 *	complain.c	what it has to say for itself
 *	noload.c	why its SQLite loads nothing
 *	chain.c		RFC 6962 leaf and node hashes, the frontier, the root
 *	store.c		the tables of audit.db, as their only writer
 *	pending.c	records on their way into the table
 *	frames.c	its write-ahead log, in few pieces and with room
 *	schema.c	their text, byte for byte
 *	body.c		an event as the bytes that are stored and hashed
 *	scan.c		those bytes taken apart again, strictly
 *	reader.c	a log opened by somebody who does not trust it
 *	connect.c	find the recorder of a log, or start it
 *	query.c		"kennel audit log"
 *	verify.c	kennel-verify: believes nothing it reads
 */
#ifndef KENNEL_SUPERVISOR_AUDIT_AUDIT_H
#define KENNEL_SUPERVISOR_AUDIT_AUDIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* ---- connect.c ---------------------------------------------------------- */

struct audit_place {
	const char *log_dir;  /* holds audit.db and audit.lock; made 0700 */
	const char *run_dir;  /* holds the socket; made 0700 */
	const char *recorder; /* path of kennel-recorder */
};

/*
 * A connection to the one recorder of this log, which is started when there is
 * none (under audit.lock, detached from this process).  The caller greets it
 * with report_open or hands it to a leash that does.  0; -ETIMEDOUT when
 * nobody answers within wait_ms; -EACCES and the like for the folders.
 */
int audit_connect(const struct audit_place *, int wait_ms, int *ret_fd);

/* ---- chain.c: RFC 6962 section 2.1 -------------------------------------- */

#define CHAIN_HASH_LEN 32
#define CHAIN_LEVELS   64

struct chain { /* the right edge of the tree */
	uint64_t size;
	uint8_t edge[CHAIN_LEVELS][CHAIN_HASH_LEN];
};

void chain_leaf(const void *bytes, size_t len, uint8_t ret[CHAIN_HASH_LEN]);
void chain_node(const uint8_t left[CHAIN_HASH_LEN], const uint8_t right[CHAIN_HASH_LEN],
    uint8_t ret[CHAIN_HASH_LEN]);
void chain_append(struct chain *, const uint8_t leaf[CHAIN_HASH_LEN]);
/* The same, and tells of each full subtree that the leaf completes: the n-th
 * (from 0) of 2^level leaves, level >= 1. */
typedef void chain_node_fn(
    void *arg, unsigned int level, uint64_t n, const uint8_t hash[CHAIN_HASH_LEN]);
void chain_append_with(
    struct chain *, const uint8_t leaf[CHAIN_HASH_LEN], chain_node_fn *, void *arg);
void chain_root(const struct chain *, uint8_t ret[CHAIN_HASH_LEN]);

/* SHA-256 of a message, for the digests in events. */
void chain_digest(const void *bytes, size_t len, uint8_t ret[CHAIN_HASH_LEN]);

/* ---- query.c ------------------------------------------------------------ */

struct audit_filter {
	const char *server;  /* NULL: any */
	const char *kind;    /* NULL: any */
	const char *verdict; /* NULL: any */
	const char *session; /* NULL: any */
	uint64_t since_ns;   /* 0: from the start */
	uint64_t last_n;     /* 0: all; else the last n that match */
};

/* Prints matching records, oldest first: for people, or as JSON lines (the
 * stored bytes).  0, -ENOENT when there is no log, -EBADMSG. */
int audit_log(const char *log_dir, const struct audit_filter *, bool json, FILE *);

/* "kennel audit ...": argv[0] is the verb.  Returns an exit status. */
int audit_main(int argc, char **argv);

#endif
