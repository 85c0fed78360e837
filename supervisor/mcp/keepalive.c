/*
 * Pings from kennel, in both directions.
 *
 * To the agent: while an approval is pending, the server may be suspended in the kernel,
 * and some agents close an idle session. So kennel pings the agent, as the server might,
 * and keeps the answer to itself. To the server: is it still there? See below.
 *
 * Process: kennel. Trusts no answer: an answer only closes kennel's own ping.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "shim/base/log.h"
#include "shim/base/buf.h"
#include "shim/base/loop.h"
#include "supervisor/json/json.h"
#include "supervisor/mcp/line/frame.h"
#include "supervisor/mcp/methods.h"
#include "supervisor/mcp/private.h"
#include "supervisor/mcp/requests.h"

#define QUIET_NS   (30000 * LOOP_MS)
#define MISSED_MAX 3

/*
 * The server's ids and ours share one name space at the agent, and none may be used
 * twice in a session (2025-11-25). So ours contain a random number unknown to the
 * server; those that the server gets contain another one. An open ping is also a row of the same table, so a server id equal to it is
 * refused as still in use.
 */
static bool
name_id(struct own_ids *p, char id[MCP_ID_MAX])
{
	if (p->n == 0 &&
	    /* syscalls: getrandom */
	    getrandom(&p->name, sizeof(p->name), 0) != (ssize_t)sizeof(p->name))
		return false;
	(void)snprintf(id, MCP_ID_MAX, "\"kennel-%016llx-%u\"",
	    (unsigned long long)p->name, ++p->n); /* fits */
	return true;
}

bool
session_own_call(
    struct session *s, struct calls *calls, char id[MCP_ID_MAX], struct call **ret)
{
	struct json name = {.at = (const uint8_t *)id, .type = JSON_IS_STRING};

	if (!name_id(calls == &s->asking ? &s->pings.ids : &s->health.ids, id))
		return false;
	name.len = strlen(id);
	if (calls_add(calls, name, ret) < 0)
		return false;
	calls_own(calls, *ret);
	(*ret)->since_ns = loop_now();
	return true;
}

static void
say_ping(struct session *s, struct call *call, const char *id, struct frame_out *out)
{
	int r;

	(void)snprintf(call->method, sizeof(call->method), "ping");
	buf_clear(&s->text);
	r = buf_printf(
	    &s->text, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"ping\"}\n", id);
	if (r < 0)
		s->error = r;
	else
		session_say(s, out);
}

/* True if the agreed version has pings and this agent answers them. An agent that has
 * not answered one gets no other. */
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
	struct pings *p = &s->pings;
	char id[MCP_ID_MAX];
	struct call *call;

	if (!may_ping(s) || !session_own_call(s, &s->asking, id, &call))
		return; /* no room: the agent has enough open requests */
	say_ping(s, call, id, &s->to_agent);
	p->open = call;
	if (p->sent++ == 0)
		p->since = call->since_ns;
}

/* Handles an answer to a ping; the server does not get it. An error means that the
 * agent does not support pings. */
void
pings_answered(struct session *s, struct call *call, bool result)
{
	struct pings *p = &s->pings;

	if (!result)
		p->off = true;
	else if (p->sent > 0 && call->since_ns >= p->since)
		p->answered++; /* else it belongs to an earlier approval */
	if (p->open == call)
		p->open = NULL;
	calls_remove(&s->asking, call);
}

/* No approval is pending any more: records the pings as one event. */
void
pings_end(struct session *s)
{
	struct pings *p = &s->pings;

	if (p->sent > 0)
		record_pings(s, p);
	p->sent = p->answered = 0;
}

/* ---- to the server ------------------------------------------------------- */

/*
 * Is a server still there that has nothing to do? After 30 s without traffic it gets a
 * ping, and one that leaves three of them without an answer is treated as ended. Any
 * answer counts, also an error: a server need not know the method.
 *
 * Only in the versions that have pings; never while a call, an approval or a request of
 * the server's is open, because then the deadlines hold. The pings are not in the log:
 * they decide nothing, and an idle server would fill it. An end because of them is.
 */

static bool
is_busy(const struct session *s)
{
	return s->asked.open > 0 || s->held != NULL || s->programs > 0 ||
	       s->asking.open > 0 || frame_queued(&s->to_server) > 0;
}

static bool
has_pings(const struct session *s)
{
	const struct method *ping = method_find("ping", 4);

	return ping != NULL && (ping->from_agent & s->version) != 0 &&
	       s->replay.phase == SERVER_RUNS && !s->server_eof && !s->ended &&
	       !s->agent_eof;
}

void
health_traffic(struct session *s, bool from_server)
{
	s->health.at = loop_now();
	if (from_server)
		s->health.missed = 0;
}

uint64_t
health_next(const struct session *s)
{
	return has_pings(s) && !is_busy(s) ? s->health.at + QUIET_NS : UINT64_MAX;
}

static void
send_ping(struct session *s)
{
	char id[MCP_ID_MAX];
	struct call *call;

	if (!session_own_call(s, &s->asked, id, &call))
		return;
	call->known = method_find("ping", 4);
	say_ping(s, call, id, &s->to_server);
	s->health.missed++;
}

void
health_check(struct session *s, uint64_t now)
{
	if (health_next(s) > now)
		return;
	s->health.at = now;
	if (s->health.missed < MISSED_MAX)
		send_ping(s);
	else
		session_hung(s, "it did not answer three pings");
}

void
health_answered(struct session *s, struct call *call)
{
	calls_remove(&s->asked, call);
	s->active_at = s->health.active_at; /* it is as idle as before */
}
