/*
 * Public interface of the audit room: connect to the recorder of a log, and read a
 * log.
 *
 *	connect.c	find the recorder of a log, or start it
 *	log/		the file format: schema, records, Merkle tree, keys, signatures
 *	recorder/	kennel-recorder, the only writer of a log
 *	verify/		kennel-verify, which trusts nothing that it reads
 *	query/		the verbs of `kennel audit` that read records
 *	report/		reports, exports, proofs, witnesses
 *	ship/		kennel-ship, which sends records to a syslog server
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
 * Connects to the recorder of this log. If none is running, starts one (under
 * audit.lock, detached from this process). The caller then sends HELLO with
 * report_open, or passes the connection to a leash that does. Returns 0; -ETIMEDOUT
 * if no recorder answers within wait_ms; -EACCES and similar for the directories.
 */
int audit_connect(const struct audit_place *, int wait_ms, int *ret_fd);

/* ---- merkle.c: RFC 6962 section 2.1 -------------------------------------- */

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
/* Called for each full subtree that an appended leaf completes: subtree n (from 0) of
 * 2^level leaves, level >= 1. */
typedef void chain_node_fn(
    void *arg, unsigned int level, uint64_t n, const uint8_t hash[CHAIN_HASH_LEN]);
void chain_append_with(
    struct chain *, const uint8_t leaf[CHAIN_HASH_LEN], chain_node_fn *, void *arg);
void chain_root(const struct chain *, uint8_t ret[CHAIN_HASH_LEN]);

/* SHA-256 of a message, used for the digests in events. */
void chain_digest(const void *bytes, size_t len, uint8_t ret[CHAIN_HASH_LEN]);

/* ---- query.c ------------------------------------------------------------ */

struct audit_filter {
	const char *server;  /* NULL: any */
	const char *kind;    /* NULL: any */
	const char *verdict; /* NULL: any */
	const char *session; /* NULL: any */
	uint64_t since_ns;   /* 0: from the start */
	uint64_t last_n;     /* 0: all; otherwise the last n that match */
};

/* Prints matching records, oldest first: as text, or as JSON lines (the stored
 * bytes). Returns 0, -ENOENT if there is no log, -EBADMSG. */
int audit_log(const char *log_dir, const struct audit_filter *, bool json, FILE *);

/* "kennel audit ...": argv[0] is the verb.  Returns an exit status. */
int audit_main(int argc, char **argv);

#endif
