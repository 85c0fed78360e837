/*
 * The table of requests under way, one per direction (requests.c).
 */
#ifndef KENNEL_SUPERVISOR_MCP_REQUESTS_H
#define KENNEL_SUPERVISOR_MCP_REQUESTS_H

#include <stdbool.h>
#include <stdint.h>

#include "leash/audit/writer.h"
#include "supervisor/json/json.h"
#include "supervisor/mcp/methods.h"

enum call_state {
	CALL_FREE,
	CALL_OPEN,
	CALL_HELD,      /* waits for approval: not yet sent to the server */
	CALL_CANCELLED, /* by the requester; an answer may still pass */
	CALL_GONE,      /* answered by kennel: discard the late answer */
	CALL_DONE,      /* answered, event not written yet */
	CALL_OWN,       /* sent by kennel, not yet answered */
};

enum call_agreed { CALL_NOT_ASKED, CALL_AGREED_ONCE, CALL_AGREED_SESSION };

struct call {
	uint8_t state;  /* enum call_state */
	bool deadlined; /* on the list of deadlines */
	bool own;       /* sent by kennel: keep the answer from the server */
	uint8_t agreed; /* enum call_agreed: what a person has answered */
	uint16_t id_len;
	uint16_t next;              /* in its bucket, or the free list; 0: none */
	uint16_t sooner, later;     /* by deadline */
	const struct method *known; /* NULL: not in the table */
	uint64_t since_ns;
	uint64_t deadline_ns; /* of the session's clock */
	uint64_t most_ns;     /* likewise: progress moves the deadline no further */
	uint8_t id[MCP_ID_MAX];
	char method[MCP_METHOD_MAX];
	uint32_t audits;        /* enum sealed_audit_flag, of the policy for this name */
	struct event_name name; /* as its records have it; len 0: none */
	uint8_t token_len;      /* 0: no progress requested */
	uint8_t token[MCP_TOKEN_MAX];
	double progress; /* last value sent */
	uint64_t cursor; /* of a page of a list: line/pages.h; 0: none */
	uint32_t answers_n,
	    lines_n; /* that the session had dropped when it was forwarded */
};

struct calls {
	struct call *call; /* MCP_CALLS_MAX + 1 rows; row 0 is unused */
	uint16_t *bucket;  /* after them, in the same block */
	uint16_t used, free;
	uint16_t first, last; /* by deadline */
	uint32_t open;        /* OPEN */
	uint16_t hand;        /* where the search for a reusable row continues */
};

int calls_init(struct calls *);
void calls_free(struct calls *);
struct call *calls_find(struct calls *, struct json id);
/* The same for the id of an answer: a string that reads as a number in decimal is also that
 * number, if no request has the string as its id. */
struct call *calls_answered(struct calls *, struct json id);
/* -EEXIST: this id is in use; -ENOBUFS. */
int calls_add(struct calls *, struct json id, struct call **ret);
/* This row, just added, is a request that kennel sends. */
void calls_own(struct calls *, struct call *);
void calls_remove(struct calls *, struct call *);
void calls_state(struct calls *, struct call *, enum call_state);
/* Sets or moves it. */
void calls_deadline(struct calls *, struct call *, uint64_t at_ns);
struct call *calls_soonest(struct calls *); /* NULL: no deadlines */
/* The next used row in this state after `at` (NULL: from the start). */
struct call *calls_next(struct calls *, struct call *at, enum call_state);

#endif
