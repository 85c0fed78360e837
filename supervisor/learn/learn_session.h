/*
 * One session of a server in its learning cell.
 */
#ifndef KENNEL_SUPERVISOR_LEARN_LEARN_SESSION_H
#define KENNEL_SUPERVISOR_LEARN_LEARN_SESSION_H

#include <stdbool.h>

#include "supervisor/learn/exercise.h"
#include "supervisor/learn/seen.h"

struct learn_session {
	const char *file, *name; /* the policy of the learning cell; the server */
	bool stdio;              /* the agent is on standard input and output */
	struct exercise_values values;
	const struct child_placeholders *placeholders; /* the same in all sessions */
};

/* Runs it until its agent, or the client that exercises it, has finished, and adds what the
 * server wanted. 0; -ECANCELED: it did not start, or the client gave up, and the reason was
 * printed; -errno. */
int learn_session(const struct learn_session *, struct seen *);

#endif
