/*
 * The states of an exec, from the call to the end of its trace, and what changes them.
 */
#ifndef KENNEL_LEASH_EXEC_EXEC_STATE_H
#define KENNEL_LEASH_EXEC_EXEC_STATE_H

/* A call is NEW, BEHIND, LATE or PENDING; a traced thread RUNNING, PARKED or OVER. */
enum exec_state {
	EXEC_NONE,    /* cannot happen */
	EXEC_NEW,     /* received, not judged */
	EXEC_BEHIND,  /* held: its thread group has an exec in progress, or no room */
	EXEC_LATE,    /* held: granted, but the recorder is slow */
	EXEC_PENDING, /* a person was asked: approval.c settles or withdraws it */
	EXEC_RUNNING, /* continued; its stop is awaited, and its group waits for it */
	EXEC_PARKED,  /* the same, but its thread's next call is LATE or PENDING */
	EXEC_OVER,    /* only has to be detached or reaped */
	EXEC_GONE,    /* refused, or its caller is dead: nothing is kept */
	EXEC_STATES,
};

enum exec_event {
	EXEC_BUSY,        /* its group has an exec in progress, or there is no room */
	EXEC_REFUSED,     /* the caller got an error */
	EXEC_SLOW,        /* granted, but the recorder is slow */
	EXEC_ASKED,       /* a person was asked */
	EXEC_RELEASED,    /* the caller continues, traced */
	EXEC_DIED,        /* the caller does not wait any more */
	EXEC_WAITS,       /* the thread's next call is LATE or PENDING */
	EXEC_RESUMED,     /* and that is over */
	EXEC_SAME,        /* exec stop: what was granted */
	EXEC_DIFFERS,     /* exec stop: something else; killed */
	EXEC_FAILED,      /* back from a failed exec, or killed by another process */
	EXEC_LEADER_DEAD, /* it led its group and ended before it */
	EXEC_REAPED,      /* its status was collected */
	EXEC_EVENTS,
};

/* The state after the event; EXEC_NONE: it cannot happen in this state. */
enum exec_state exec_next(enum exec_state, enum exec_event);

#endif
