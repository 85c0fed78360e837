/*
 * The end of the agent's input, while its output still has a reader: `printf ... | kennel
 * run NAME`. The requests under way get their answers, each until its deadline and all of
 * them for 30 s at most. No person is asked any more: a question would outlive the
 * agent that it is asked for. A reader that goes away ends the session at once.
 *
 *	agent			kennel			server
 *	   -- tools/call 7 -->	     -------------->
 *	   -- end of input -->	withdraws questions
 *				     <-- 7: result --
 *	   <- 7: result -------	ends
 */
#include <poll.h>
#include <stdio.h>

#include "shim/base/loop.h"
#include "supervisor/approve/approve.h"
#include "supervisor/mcp/methods.h"
#include "supervisor/mcp/private.h"
#include "supervisor/mcp/requests.h"

#define LAST_NS   (30000 * LOOP_MS)
#define LATE_TEXT "the input has ended, and the server did not answer within 30 s"
#define GONE_TEXT "the input of the agent has ended"

/* True if the agent can still read: its end of a pipe or socket is open. */
static bool
has_reader(const struct session *s)
{
	struct pollfd p = {.fd = s->o.agent_out};

	/* syscalls: poll ppoll */
	return !s->to_agent.closed && poll(&p, 1, 0) >= 0 &&
	       (p.revents & (POLLERR | POLLHUP | POLLNVAL)) == 0;
}

/* The server waits for answers that cannot come: it gets errors instead. */
static void
answer_asking(struct session *s)
{
	static const struct rpc_why why = {.outcome = "gone"};
	struct call *call = NULL;

	while ((call = calls_next(&s->asking, call, CALL_OPEN)) != NULL) {
		if (call->known != NULL && (call->known->flags & METHOD_ASKS) != 0)
			session_person(s, -1, false);
		session_answer_server(s, call->id, call->id_len, RPC_REFUSED,
		    "kennel: " GONE_TEXT ", so no answer can come", &why);
		record_answer(s, call, "server", NULL, 0, "gone");
		calls_state(&s->asking, call, CALL_GONE);
	}
}

void
last_begin(struct session *s)
{
	if (s->last_at != 0 || s->ended)
		return;
	if (s->o.hub || !has_reader(s)) { /* a hub has its own agent */
		session_stop(s, "agent closed its end");
		return;
	}
	s->last_at = loop_now() + LAST_NS;
	held_refuse_all(s, "kennel: " GONE_TEXT
			   ", and with it the approval that this call waited for; the "
			   "call was not made");
	if (s->o.questions != NULL)
		queue_close(s->o.questions);
	answer_asking(s);
}

bool
last_done(const struct session *s)
{
	return s->agent_eof && s->asked.open == 0 && s->held == NULL &&
	       s->replay.waiting.len == 0;
}

void
last_check(struct session *s, uint64_t now)
{
	if (s->last_at == 0 || s->ended || now < s->last_at)
		return;
	session_answer_all(s, RPC_TIMEOUT, "timeout", "kennel: " LATE_TEXT);
	session_stop(s, LATE_TEXT);
}
