/*
 * MCP in the middle: the transparent session of "kennel run".  Bytes that need
 * no decision pass as they came, both ways; everything else is one scan per
 * message, without a tree.
 *
 *	frame.c		lines out of a byte stream, bounded
 *	json.c		the one-pass scanner; jansson for the control plane only
 *	rpc.c		what a message is: request, answer, notification; errors
 *	session.c	who waits for which answer, deadlines, capabilities
 *	versions.c	what each protocol version allows
 */
#ifndef KENNEL_SUPERVISOR_MCP_MCP_H
#define KENNEL_SUPERVISOR_MCP_MCP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "leash/report.h"
#include "policy/policy.h"
#include "shim/base/loop.h"

#define MCP_MESSAGE_MAX (16u << 20) /* bytes of a line, policy may lower */
#define MCP_DEPTH_MAX   128         /* nesting of a message */
#define MCP_CALLS_MAX   4096        /* requests under way, each direction */

struct session;

/* The session wants to end: why is for the log ("agent closed", ...). */
typedef void session_end_fn(void *arg, const char *why);

struct session_order {
	struct loop *loop;
	const struct policy *policy;
	const struct sealed_server *server;
	int agent_in;          /* read; pipe or socketpair */
	int agent_out;         /* write; may be the same socket */
	int server_in;         /* write end of the server's stdin; now
					 * the session's */
	int server_out;        /* scrubbed stdout; now the session's */
	struct report *report; /* borrowed */
	session_end_fn *end;
	void *end_arg;
};

int session_new(const struct session_order *, struct session **ret);
void session_free(struct session *);

/* The server is gone: pass on what it still said, answer every open request
 * of the agent with an error, then call end. */
void session_server_gone(struct session *, const char *why);
/* Is anything still to be written to the agent? */
bool session_drained(const struct session *);

/*
 * The server could not be started: read the agent's first request (at most
 * wait_ms) and answer it with a JSON-RPC error that carries why.
 */
void session_refuse(int agent_in, int agent_out, const char *why, int wait_ms);

#endif
