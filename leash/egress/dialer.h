/*
 * kennel-dial: declarations shared by its files.  dialer.c has the loop.
 */
#ifndef KENNEL_LEASH_EGRESS_DIALER_H
#define KENNEL_LEASH_EGRESS_DIALER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "leash/egress/dial.h"
#include "policy/sealed/policy.h"
#include "shim/host/nsswitch.h"

#define ANSWERS_MAX 16 /* addresses tried per name */

/* The resolver's reply for a name. */
struct lookup_result {
	uint32_t why; /* 0, DIAL_NO_NAME or DIAL_RESOLVER */
	uint32_t n;
	uint8_t addr[ANSWERS_MAX][ADDRESS_LEN];
};

enum watch { WATCH_LEASH = 1, WATCH_RELAY, WATCH_WORKER, WATCH_TRY };
enum job_state { JOB_FREE, JOB_LOOKUP, JOB_CONNECT };

struct job {
	enum job_state state;
	uint32_t id, row, port;
	char name[DIAL_NAME_MAX + 1];
	uint64_t until_ns, next_ns;
	uint8_t addr[ANSWERS_MAX][ADDRESS_LEN]; /* checked; in the order of attempts */
	size_t addr_n, tried;
	int fd[ANSWERS_MAX]; /* -1: not tried, or failed */
	enum dial_why why;   /* of the last failure */
	uint8_t last[ADDRESS_LEN];
};

struct dialer {
	int leash, relay, epoll;
	struct policy policy;
	const struct sealed_server *server;
	struct job job[DIAL_AT_A_TIME];
	size_t job_n;
};
extern struct dialer dialer;

/* dialer.c */
int dialer_watch(int fd, uint32_t events, enum watch, size_t index);

/* attempt.c */
/* Reports to the relay, and frees the slot. */
void job_fail(struct job *, enum dial_why, const uint8_t *addr);
/* Checks the addresses of a name, and begins to connect. */
void job_resolved(struct job *, const struct lookup_result *, uint64_t now);
/* Tries the next address; without one, and with none in progress, the attempt has
 * failed. */
void job_next(struct job *, uint64_t now);
/* An attempt (slot * ANSWERS_MAX + address) has ended, successfully or not. */
void job_tried(size_t index, uint64_t now);

/* lookup.c: getaddrinfo in separate processes, so that an unresponsive resolver delays
 * one name and not all.  Of the relay's data they contain only names that the policy
 * grants. */
#define LOOKUP_WORKERS 4
/* 0 and *ret: known; -EAGAIN: requested, or waiting for a worker. */
int lookup(const char *name, uint64_t now, struct lookup_result *ret);
int lookup_fd(size_t worker); /* -1: not started */
/* A worker has replied or died: call lookup() again for the waiting names. */
void lookup_ready(size_t worker, uint64_t now);
/* Ends workers that take too long.  True: a result has changed. */
bool lookup_timers(uint64_t now);
/* Leaves out the NSS modules whose system calls this program forbids.  0 or -errno. */
int lookup_limit_nss(struct nsswitch_hosts *ret);

/* host_facts.c: what this machine's interfaces show about an address */
void host_facts(const uint8_t addr[ADDRESS_LEN], uint64_t now, struct address_host *ret);

#endif
