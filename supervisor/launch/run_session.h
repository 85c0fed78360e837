/*
 * One session of one server.
 */
#ifndef KENNEL_SUPERVISOR_LAUNCH_RUN_SESSION_H
#define KENNEL_SUPERVISOR_LAUNCH_RUN_SESSION_H

#include <stdbool.h>
#include <sys/types.h>

struct approved_uses;
struct child_placeholders;
struct policy_found;

struct run_order {
	const char *file, *name; /* as in struct open_order */
	const char *purpose;     /* as there */
	int argc;                /* what to start; 0: the policy's `run` */
	char *const *argv;
	const struct policy_found *found;              /* as there; borrowed */
	pid_t caller;                                  /* as there */
	bool one_call;                                 /* as there */
	pid_t hub;                                     /* as there */
	const struct approved_uses *approved;          /* as there; borrowed */
	int copy;                                      /* as there; 0: none */
	const struct child_placeholders *placeholders; /* as there; borrowed */
};

/*
 * Starts the server and connects it to the agent on descriptors 0 and 1 until one of
 * them ends. If the server cannot be started, the agent's first request is answered with
 * the reason. Returns an exit status. Confines the process, so a process has one session.
 */
int run_session(const struct run_order *);

#endif
