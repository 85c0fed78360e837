/*
 * The serve room: many servers as one (kennel serve). The hub speaks MCP to the agent
 * and is itself the agent of one session per server; each session is a process of its
 * own, with the gate, the pins, the deadlines and the records of "kennel run".
 *
 *	session_launcher.c	the unconfined half: finds policies, starts sessions
 *	hub.c			start, loop and end
 *	hub_control.c		the socket of its user: kennel ps, top, server restart
 *	live_state.c		what that socket says of a server
 *	agent.c			a line of the agent: who handles it, and who speaks next
 *	parked.c		lines that wait for a policy or a list
 *	greeting.c		initialize, server/discover, ping, logging/setLevel
 *	servers.c		each server: policy, need of a process, backoff
 *	downstream.c		a server's process: greeting, lists, end
 *	from_server.c		a line of a server
 *	server_requests.c	what servers ask of the agent
 *	asked/			the text of that, with the name of the server
 *	offers.c		tools, prompts and resources, by name
 *	item_index.c		the same, by what the agent calls them; the server of a URI
 *	lists.c			pages of them
 *	call.c			requests that are passed on
 *	routes.c		requests under way, and their answers
 *	discovery_tools.c	tool_search, tool_describe, tool_invoke
 *	query_tool.c		mcp_query
 *	mcp_register.c		mcp_register
 *	secrets_tools.c		the tools of facet secrets (supervisor/secrets)
 *	reply.c			what kennel answers itself
 */
#ifndef KENNEL_SUPERVISOR_SERVE_SERVE_H
#define KENNEL_SUPERVISOR_SERVE_SERVE_H

#include <stdbool.h>
#include <stddef.h>

#include "supervisor/serve/launcher/session_launcher.h"

struct serve_order {
	struct launcher_order launcher;
	const char *facets;  /* --facet; NULL: not given */
	char *const *expose; /* --expose SERVER.TOOL */
	size_t expose_n;
	int ahead; /* servers to start at once; -1: not given */
	/* kennel run --secrets-tools: one server, whose names the agent sees as they are,
	 * and of kennel's own tools only those of facet secrets, after the server's */
	bool single;
};

/* Serves the agent on descriptors 0 and 1 until it ends. Returns an exit status. */
int serve_run(const struct serve_order *);

#endif
