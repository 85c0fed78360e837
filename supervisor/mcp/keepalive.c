/*
 * Pings of kennel's own: while a person is asked, the server may stand still in
 * the kernel, and an agent that hears nothing gives a session up.  So kennel
 * asks it for a sign of life, as the server might have, and keeps the answer.
 *
 * Process: kennel.  Trusts no answer: one ends one ping of its own, no more.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "shim/base/log.h"
#include "supervisor/mcp/mcp.h"

/*
 * The ids of the server stand beside ours in one space of the agent's, and none
 * may be used twice in a session (2025-11-25).  So they hold what the server cannot
 * know; and since an open ping is a row of the same table, an id of the server's
 * that were to meet it is refused like any that is still in use.
 */
static bool
name_id(struct pings *p, char id[MCP_ID_MAX])
{
	if (p->n == 0 &&
	    /* syscalls: getrandom */
	    getrandom(&p->name, sizeof(p->name), 0) != (ssize_t)sizeof(p->name))
		return false;
	(void)snprintf(id, MCP_ID_MAX, "\"kennel-%016llx-%u\"",
	    (unsigned long long)p->name, ++p->n); /* fits */
	return true;
}

/* Is there such a request in the version both sides speak, and has this agent a
 * mind to answer it?  Who has not answered one gets no other. */
static bool
may_ping(const struct session *s)
{
	const struct method *ping = method_find("ping", 4);

	return ping != NULL && (ping->from_server & s->version) != 0 && !s->ended &&
	       !s->pings.off && s->pings.open == NULL &&
	       frame_queued(&s->to_agent) < FRAME_SOON;
}

void
pings_send(struct session *s)
{
	char id[MCP_ID_MAX];
	struct json name = {.at = (const uint8_t *)id, .type = JSON_IS_STRING};
	struct pings *p = &s->pings;
	struct call *call;
	int r;

	if (!may_ping(s) || !name_id(p, id))
		return;
	name.len = strlen(id);
	if (calls_add(&s->asking, name, &call) < 0)
		return; /* no room: the server has asked the agent enough */
	call->own = true;
	call->since_ns = loop_now();
	(void)snprintf(call->method, sizeof(call->method), "ping");
	buf_clear(&s->text);
	r = buf_printf(
	    &s->text, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"ping\"}\n", id);
	if (r < 0)
		s->error = r;
	else
		session_say(s, &s->to_agent);
	p->open = call;
	if (p->sent++ == 0)
		p->since = call->since_ns;
}

/* An answer of the agent's, to be kept from the server: an error says that it
 * knows no pings, or wants none. */
void
pings_answered(struct session *s, struct call *call, bool result)
{
	struct pings *p = &s->pings;

	if (!result)
		p->off = true;
	else if (p->sent > 0 && call->since_ns >= p->since)
		p->answered++; /* else it is of a question that is over */
	if (p->open == call)
		p->open = NULL;
	calls_remove(&s->asking, call);
}

/* Nobody is asked any more: what there was of it is one record. */
void
pings_end(struct session *s)
{
	struct pings *p = &s->pings;

	if (p->sent > 0)
		record_pings(s, p);
	p->sent = p->answered = 0;
}
