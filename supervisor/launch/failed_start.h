/*
 * Why a server ended before it answered anything, for the agent and the user.
 */
#ifndef KENNEL_SUPERVISOR_LAUNCH_FAILED_START_H
#define KENNEL_SUPERVISOR_LAUNCH_FAILED_START_H

#include "policy/sealed/policy.h"
#include "shim/base/buf.h"

struct failed_start { /* all borrowed */
	const struct policy *policy;
	const struct sealed_server *server;
	int status;          /* wait status of the server */
	const char *last;    /* the end of its standard error, as logged */
	const char *program; /* the last exec that was refused, or "" */
	const char *target;  /* of the last connection that was refused, or "" */
	const char *grant;   /* a line that would allow it, or "" */
};

/*
 * Appends lines: how the server ended; the last five lines that it wrote; up to three
 * grants that it may lack; the command that shows its log. 0 or -ENOMEM.
 */
int failed_start_put(const struct failed_start *, struct buf *ret);
/* Logs these lines one by one, after the name of the server. */
void failed_start_log(const char *server, const char *text);

#endif
