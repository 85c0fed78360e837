/*
 * Lines of the agent that wait for policies, lists or a record. Each is handled from its beginning
 * when what it waits for has come, so nothing is known of it meanwhile but its bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "leash/audit/writer.h"
#include "shim/base/log.h"
#include "supervisor/mcp/line/id.h"
#include "supervisor/serve/private.h"
#include "supervisor/serve/secrets_tools.h"

#define PARKED_BYTES_MAX (32u << 20)

static bool
keep(struct hub *h, const struct incoming *in, const struct parked *how)
{
	struct parked *p;
	size_t bytes = in->len;

	for (struct parked *q = h->parked; q != NULL; q = q->next)
		bytes += q->len;
	if (bytes > PARKED_BYTES_MAX || (p = malloc(sizeof(*p) + in->len)) == NULL)
		return false;
	*p = *how;
	p->since = loop_now();
	p->len = in->len;
	memcpy(p->line, in->line, in->len);
	*h->parked_last = p;
	h->parked_last = &p->next;
	return true;
}

bool
park(struct hub *h, const struct incoming *in, enum park why, struct server *server,
    uint64_t ms)
{
	return keep(h, in,
	    &(struct parked){
		.why = why, .server = server, .until = loop_now() + ms * LOOP_MS});
}

bool
park_for_server(struct hub *h, const struct incoming *in, struct server *server)
{
	return keep(h, in,
	    &(struct parked){.why = PARK_SERVER, .server = server, .until = UINT64_MAX});
}

bool
park_for_record(struct hub *h, const struct incoming *in, uint64_t number, uint64_t ms)
{
	return keep(h, in,
	    &(struct parked){.why = PARK_RECORD,
		.record = number,
		.until = loop_now() + ms * LOOP_MS});
}

/* When what waits for the lists of a greeted server has waited for `timeout call`. */
static uint64_t
late_at(const struct parked *p)
{
	const struct server *s = p->server;
	uint64_t since, ms;

	if (p->why != PARK_SERVER || s->down == NULL || s->down->state != DOWN_LISTING)
		return p->until;
	since =
	    p->since > s->down->again.greeted_at ? p->since : s->down->again.greeted_at;
	ms = policy_limit(&s->policy, s->sealed, TIMEOUT_CALL);
	return since + ms * LOOP_MS;
}

static bool
is_due(struct hub *h, const struct parked *p, uint64_t now)
{
	if (now >= late_at(p))
		return true;
	if (p->why == PARK_NAMES)
		return h->has_names;
	if (p->why == PARK_POLICIES)
		return h->has_policies && h->finding == 0;
	if (p->why == PARK_SERVER)
		return p->server->down == NULL || p->server->down->state >= DOWN_SERVING;
	if (p->why == PARK_MANIFESTS)
		return secrets_have_texts(h, p->until);
	if (p->why == PARK_RECORD)
		return h->report == NULL || report_durable(h->report, p->record);
	return servers_listed(h);
}

/* The launcher has not answered: what waits only for it is refused. What else is late is
 * handled without it. */
static bool
is_lost(const struct hub *h, const struct parked *p, uint64_t now)
{
	if (now < late_at(p))
		return false;
	if (p->why == PARK_SERVER)
		return p->server->down != NULL && p->server->down->state == DOWN_LISTING;
	if (p->why == PARK_NAMES)
		return !h->has_names;
	return p->why == PARK_POLICIES && (!h->has_policies || h->finding > 0);
}

static void
refuse(struct hub *h, const struct parked *p)
{
	struct incoming in = {.line = p->line, .len = p->len};

	if (rpc_scan(p->line, p->len, &in.m) < 0)
		bug("a line that was scanned before");
	reply_error(h, &in, RPC_TIMEOUT,
	    p->why == PARK_SERVER
		? "kennel: the lists of the server took longer than `timeout call`; the "
		  "call was not made"
	    : p->why == PARK_NAMES
		? "kennel: the launcher of kennel serve has not named the servers in "
		  "time; call again"
		: "kennel: the launcher of kennel serve has not found the policies in "
		  "time; call again");
}

/* For want of room the rest waits longer. */
static void
leave(struct hub *h, struct parked *rest)
{
	*h->parked_last = rest;
	while (*h->parked_last != NULL)
		h->parked_last = &(*h->parked_last)->next;
	h->parked_behind = true;
}

/* What may be parked again goes to a new list, so that each is looked at once. */
void
parked_wake(struct hub *h)
{
	uint64_t now = loop_now();
	struct parked *all = h->parked, *p;

	if (h->awake && !h->ending)
		(void)servers_listed(h); /* starts the next ones */
	h->parked = NULL;
	h->parked_last = &h->parked;
	h->parked_behind = false;
	while ((p = all) != NULL) {
		if (!hub_room(h)) {
			leave(h, all);
			return;
		}
		all = p->next;
		p->next = NULL;
		if (!is_due(h, p, now)) {
			*h->parked_last = p;
			h->parked_last = &p->next;
			continue;
		}
		if (is_lost(h, p, now))
			refuse(h, p);
		else
			agent_take(h, p->line, p->len, p);
		free(p);
	}
}

uint64_t
parked_next(const struct hub *h)
{
	uint64_t next = UINT64_MAX;

	for (const struct parked *p = h->parked; p != NULL; p = p->next)
		if (late_at(p) < next)
			next = late_at(p);
	return next;
}

bool
parked_cancel(struct hub *h, struct json id)
{
	struct json_message m;

	for (struct parked **at = &h->parked; *at != NULL; at = &(*at)->next) {
		struct parked *p = *at;

		if (json_scan(p->line, p->len, &m) < 0 || !id_same(m.top[TOP_ID], id))
			continue;
		*at = p->next;
		if (h->parked_last == &p->next)
			h->parked_last = at;
		free(p);
		return true;
	}
	return false;
}

void
parked_refuse_all(struct hub *h, int code, const char *text)
{
	for (const struct parked *p = h->parked; p != NULL; p = p->next) {
		struct incoming in = {.line = p->line, .len = p->len};

		if (rpc_scan(p->line, p->len, &in.m) < 0)
			bug("a line that was scanned before");
		reply_error(h, &in, code, text);
	}
	parked_free(h);
}

void
parked_free(struct hub *h)
{
	struct parked *p;

	while ((p = h->parked) != NULL) {
		h->parked = p->next;
		free(p);
	}
	h->parked_last = &h->parked;
}
