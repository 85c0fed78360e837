/*
 * What a learned server may reach, and which values it gets: the options --net, --host and
 * --real-secret.
 *
 *	no option		no host; placeholders in place of secrets
 *	--net			each public host that the server asks for; placeholders
 *	--host			these hosts; placeholders
 *	--host, --real-secret	these hosts and no other in any round; the named values
 *
 * A value and hosts that the server chooses are never in one cell.
 */
#ifndef KENNEL_SUPERVISOR_LEARN_REACH_H
#define KENNEL_SUPERVISOR_LEARN_REACH_H

#include <stdbool.h>

#include "supervisor/learn/learned_policy.h"

#define REACH_REAL_MAX 32

struct reach {
	bool net;
	struct child_placeholders placeholders; /* for all rounds */
	const char *real[REACH_REAL_MAX];
	char *hosts; /* of the line of each of them, or NULL */
};

/* Takes --net, --host or --real-secret and its value: the number of words; 0: none of them;
 * a negative exit status, after the reason was printed. */
int reach_option(struct reach *, struct draft *, struct learn *, char **argv, int left);
/* The options and the command are known: do they agree?  Completes the draft's variables, and
 * draws the seed.  0, or an exit status; the reason is printed. */
int reach_ready(struct reach *, struct draft *, struct learn *);
void reach_free(struct reach *);

#endif
