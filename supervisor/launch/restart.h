/*
 * The time between two processes of a session's server: when the next one may start, and
 * its start.
 */
#ifndef KENNEL_SUPERVISOR_LAUNCH_RESTART_H
#define KENNEL_SUPERVISOR_LAUNCH_RESTART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "supervisor/base/backoff.h"
#include "supervisor/launch/launch.h"
#include "supervisor/launch/leash_approvals.h"

struct loop;
struct session;

struct restart { /* the first six are the caller's */
	struct loop *loop;
	struct opened *o;
	struct session *session;
	struct control **control; /* of the running process; made by a start */
	/* o->child runs, with its server's descriptors; or the start failed */
	void (*done)(void *arg, bool runs);
	void *arg;
	struct backoff backoff;
	char failed[1024];   /* why the last one ended or did not start; one line */
	uint64_t healthy_at; /* loop_now() of the last start */
	bool open;           /* there is no process, and one may be started */
	bool under_way;
	uint32_t asked; /* starts, of the starter: the number of the last one */
	int slot, timer;
};

/* Can the server of this session be started again? Not if a secret comes from the
 * environment, of which kennel keeps no copy. */
bool restart_possible(const struct opened *);
/* The process has ended: frees its child and control. */
void restart_ended(struct restart *, const char *why);
/* Starts the next one: true, and done follows; or text: why not, for the agent. */
bool restart_need(struct restart *, char *text, size_t cap);
/* The session ends: stops a start that is under way. */
void restart_stop(struct restart *);

#endif
