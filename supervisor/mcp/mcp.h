/*
 * The MCP proxy: the transparent session of "kennel run". Bytes that need no decision
 * pass unchanged in both directions; everything else is one scan per message, without
 * a tree. kennel changes messages only by removing bytes: a capability, a list item,
 * a whole message. What it sends itself are whole messages.
 *
 *	line/frame.c		lines of a byte stream, bounded; writes, bounded
 *	oversize_id.c		the id of a line that is too long to buffer
 *	line/edit.c		a line with some values replaced
 *	rpc.c			message types: request, answer, notification; errors
 *	methods.c		the methods of each protocol version
 *	requests.c		requests under way, and who waits for the answer
 *	pending_calls.c		calls that wait for approval
 *	approvals.c		what they wait for; open also after a call was refused
 *	approved_params.c	what an approval covers
 *	exec_status.c		the server's programs that are pending or were refused
 *	deadline.c		the times of calls, which stand while a person is asked
 *	keepalive.c		kennel's own pings: to the agent while an approval is pending,
 *				to a server that has nothing to do
 *	outgoing.c		what kennel writes: messages of its own, lines with cuts
 *	session.c		the two streams, deadlines, the end
 *	from_agent.c		judges messages from the agent
 *	from_server.c		judges messages from the server
 *	indirect_requests.c	other ways to ask the agent's user
 *	batch.c			arrays of messages
 *	malformed.c		messages that cannot be judged, and who is informed
 *	result_meta.c		what kennel says of a result, and a server may not
 *	filter.c		cuts in lists and capabilities
 *	replay.c		a server that ends and is started again
 *	events.c		the audit events of a session
 *	startup_error.c		a session without a server
 */
#ifndef KENNEL_SUPERVISOR_MCP_MCP_H
#define KENNEL_SUPERVISOR_MCP_MCP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/sealed/sealed.h"
#include "shim/base/loop.h"

/* ---- the session: interface for the rest of the supervisor -------------- */

struct session;
struct queue; /* supervisor/approve */
struct pins;  /* supervisor/hub */

/*
 * The session wants to end; why is for the log ("agent closed its end", ...). Called
 * at most once, from the loop. Call session_free only after it has returned. Until
 * then the session still passes on the server's output.
 */
typedef void session_end_fn(void *arg, const char *why);

/*
 * The request of a hub for {"id": ID}: is its request with this id, a number, still open
 * here? The result is {"open": true} or false. It is answered by the session, whatever the
 * server does, in the order of the lines; it is not in the log.
 */
#define HUB_OPEN "kennel/open"
/*
 * A notification of a hub: the input of its agent has ended. No person and no agent is
 * asked any more; what is under way goes on. The server does not get it.
 */
#define HUB_LAST "kennel/last"

struct session_order {
	struct loop *loop;
	const struct policy *policy;
	const struct sealed_server *server;
	int agent_in;  /* read; pipe or socketpair; borrowed */
	int agent_out; /* write; may be the same socket; borrowed */
	/* write end of the server's stdin; owned by the session */
	int server_in;
	int server_out;          /* scrubbed stdout; owned by the session */
	struct report *report;   /* borrowed; NULL: no records (tests) */
	struct queue *questions; /* borrowed; NULL: no approvals possible */
	bool hub; /* the agent is `kennel serve`, which sends HUB_OPEN, HUB_LAST */
	/* Stores a payload that the policy wants kept in full; NULL: no storage
	 * (tests). */
	int (*keep)(void *arg, const void *, size_t);
	void *keep_arg;
	/* Reads pending reports of the leash (session_exec_refused); may be NULL. */
	void (*hear)(void *arg);
	void *hear_arg;
	/* The server closed its output before it answered anything: waits a moment for
	 * how it ended, and may call session_cause. May be NULL; its arg is hear_arg. */
	void (*failed_start)(void *arg);
	session_end_fn *end;
	void *end_arg;
	/*
	 * Makes the session outlive the server. NULL: it ends with it. lost: the server
	 * has ended after it had answered, and its open requests are answered; called
	 * instead of end. need: the agent has a request for a server that was lost. True:
	 * session_back or session_down follows; false: *text says why not, in one line.
	 */
	session_end_fn *lost;
	bool (*need)(void *end_arg, char *text, size_t cap);
};

/*
 * Returns 0, -ENOSPC (no slot in the loop), -ENOMEM; on failure the caller still owns
 * server_in and server_out. The process must ignore SIGPIPE. Descriptors for writing
 * are made non-blocking; session_free restores agent_out.
 */
int session_new(const struct session_order *, struct session **ret);
void session_free(struct session *);

/* Reason for the coming end of the server, however its end is first noticed;
 * borrowed. */
void session_cause(struct session *, const char *why);
/* The server is gone: passes on its remaining output, answers every open request of
 * the agent with an error, then calls end. */
void session_server_gone(struct session *, const char *why);
/* After need: the next process runs, on these descriptors, which are the session's now.
 * What the agent has set is sent to it first. 0; -ENOSPC, -ENOMEM or the error of fcntl:
 * they are still the caller's. */
int session_back(struct session *, int server_in, int server_out);
/* After need: it could not be started. */
void session_down(struct session *);
/* From now on the server's end is the session's; if it is lost already, calls end. */
void session_give_up(struct session *, const char *why);
/* True if the server's end now would not be the session's. */
bool session_outlives(const struct session *);
/* The log has caught up: resumes reading an agent that waited for it. */
void session_recorded(struct session *);
/* A program that the server wants to start waits for approval (change 1), or no
 * longer does (-1); answered: a user has decided. */
void session_program(struct session *, int change, bool answered);
/* A refused exec of the server; empty texts are missing ones. */
struct session_refusal {
	const char *program, *rule, *because, *instead, *reason;
};
void session_exec_refused(struct session *, const struct session_refusal *);
/* A refused connection of the server; the agent learns of it when a call fails. */
struct session_unreached {
	const char *target; /* "NAME:PORT", "NAME"; "": the network as a whole */
	const char *rule, *because, *instead, *reason;
	bool failed; /* it is granted, and the network did not reach it */
};
void session_unreached(struct session *, const struct session_unreached *);
struct session_counts {
	bool answered;    /* the server has answered its first request */
	uint32_t open;    /* requests of the agent at the server */
	uint64_t made;    /* calls of the agent passed on so far: all requests but those
			   * that open the session, list, ping or set the log level */
	uint64_t refused; /* messages, programs and connections so far */
};
void session_count(const struct session *, struct session_counts *ret);
/* True if the server has closed its output. */
bool session_server_ended(const struct session *);
/* True if that is said of a server that only did not answer in time. */
bool session_server_hung(const struct session *);
/* True if nothing is left to be written to the agent. */
bool session_drained(const struct session *);
/* The number of bytes left to write; 0 also if the agent no longer reads. */
size_t session_left(const struct session *);

/*
 * The server could not be started: reads the agent's first request (at most wait_ms)
 * and answers it with a JSON-RPC error: its message is `because`, its outcome "refused".
 */
struct rpc_why;
void session_refuse(int agent_in, int agent_out, const struct rpc_why *why, int wait_ms);

#endif
