/*
 * Is a server still there that has nothing to do? After 30 s without traffic it gets a
 * ping, and one that leaves three of them without an answer is treated as ended. Any
 * answer counts, also an error: a server need not know the method.
 *
 * Only in the versions that have pings; never while a call, an approval or a request of
 * the server's is open, because then the deadlines hold. The pings are not in the log:
 * they decide nothing, and an idle server would fill it. An end because of them is.
 */
#include <stdio.h>

#include "shim/base/loop.h"
#include "supervisor/mcp/frame.h"
#include "supervisor/mcp/private.h"

#define QUIET_NS   (30000 * LOOP_MS)
#define MISSED_MAX 3

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
ping(struct session *s)
{
	char id[MCP_ID_MAX];
	struct call *call;
	int r;

	if (!session_own_call(s, &s->asked, id, &call))
		return;
	call->known = method_find("ping", 4);
	(void)snprintf(call->method, sizeof(call->method), "ping");
	buf_clear(&s->text);
	r = buf_printf(
	    &s->text, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"ping\"}\n", id);
	if (r < 0)
		s->error = r;
	else
		session_say(s, &s->to_server);
	s->health.missed++;
}

void
health_check(struct session *s, uint64_t now)
{
	if (health_next(s) > now)
		return;
	s->health.at = now;
	if (s->health.missed < MISSED_MAX)
		ping(s);
	else
		session_hung(s, "it did not answer three pings");
}

void
health_answered(struct session *s, struct call *call)
{
	calls_remove(&s->asked, call);
	s->active_at = s->health.active_at; /* it is as idle as before */
}
