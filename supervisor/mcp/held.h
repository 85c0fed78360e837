/*
 * Shared by pending_calls.c (calls that wait) and approvals.c (what they wait for).
 */
#ifndef KENNEL_SUPERVISOR_MCP_HELD_H
#define KENNEL_SUPERVISOR_MCP_HELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "supervisor/approve/approve.h"
#include "supervisor/mcp/private.h"
#include "supervisor/mcp/requests.h"

/* An approval that is open, or was given after its call was refused. */
struct approval {
	struct approval *next;
	struct session *s;
	struct held *held; /* the call that waits for it; NULL: it was refused */
	struct call asked; /* for the record: the call as it was */
	uint32_t question; /* 0: answered */
	bool for_session;  /* the answer to the call that waits */
	bool agreed;       /* the answer's event is to be on disk before its effect */
	uint64_t record;   /* number of that event */
	uint64_t since;
	uint64_t until; /* the approval is open, or a late yes is valid */
	char rule[512];
	const char *because; /* from the policy */
	uint8_t digest[QUESTION_DIGEST_LEN];
};

struct held {
	struct held *next;
	struct session *s;
	struct call *call;
	struct approval *approval;
	uint64_t until, progress; /* until: the call is refused then */
	bool modern;
	size_t len;
	uint8_t line[]; /* without what was cut, with a newline */
};

/* ---- approvals.c ---------------------------------------------------------------- */

/*
 * Sets h->approval: that of an equal call that was refused before, or a new one, with
 * the `ask` line of the current call. 0: it is open, or its yes is not yet on disk; 1: a
 * person has agreed before, and there is nothing to wait for; -EINVAL: the call has
 * members that the person would not see; -EACCES: a person has refused it
 * before; -ENOBUFS; -ENOMEM.
 */
int approval_get(struct session *, struct held *, enum question_kind);
void approval_free(struct approval *);
/* True if its answer is on disk, or needs not be. */
bool approval_on_disk(const struct approval *);
/* The answer, after the call was refused. May free it. */
void approval_late(struct approval *, enum question_answer);

/* ---- pending_calls.c ------------------------------------------------------------ */

/* The answer to an approval, its argument. */
question_fn held_answer;

#endif
