/*
 * What the hub says of a server to its user: one row of its control socket.
 */
#include <stdio.h>
#include <string.h>

#include "policy/sealed/policy.h"
#include "supervisor/serve/private.h"

enum server_live
server_live(const struct server *s)
{
	if (s->down == NULL && (s->wrong != NULL || s->failed[0] != '\0'))
		return LIVE_ERROR;
	if (s->down == NULL)
		return LIVE_DISCONNECTED;
	return s->down->state < DOWN_SERVING ? LIVE_CONNECTING : LIVE_CONNECTED;
}

/* Tools that the agent may use, and how many differ from their pins. */
static uint32_t
count_tools(const struct server *s, uint32_t *ret_drifted)
{
	const struct items *items = &s->hub->items;
	uint32_t n = 0;

	*ret_drifted = 0;
	for (size_t i = 0; i < items->n; i++) {
		const struct item *item = items->item[i];

		if (item->server != s)
			continue;
		n += item->kind == PIN_TOOL && item_offered(item);
		*ret_drifted += item->drifted;
	}
	return n;
}

/* Why the server does not answer, or not with all that it has. */
static void
put_reason(const struct server *s, uint32_t drifted, struct hub_row *row)
{
	uint64_t now = loop_now();

	if (!s->enabled)
		row->reason = REASON_DISABLED;
	else if (s->wrong != NULL) {
		row->reason = s->reason;
		(void)snprintf(row->detail, sizeof(row->detail), "%.512s", s->wrong);
	} else if (s->down == NULL && s->crash_loop && now < s->retry_at) {
		row->reason = REASON_CRASH_LOOP;
		(void)snprintf(row->detail, sizeof(row->detail),
		    "it ended %d times within five minutes; a call starts it again after "
		    "five minutes, `kennel server restart` allows it now",
		    ENDS_KEPT);
	} else if (s->down == NULL && s->start_refused) {
		row->reason = REASON_START_REFUSED;
		(void)snprintf(row->detail, sizeof(row->detail), "%.512s", s->failed);
	} else if (s->down == NULL && now < s->retry_at) {
		row->reason = REASON_BACKOFF;
		(void)snprintf(row->detail, sizeof(row->detail),
		    "it ended; a call starts it again in a moment");
	} else if (drifted > 0) {
		row->reason = REASON_QUARANTINED;
		(void)snprintf(row->detail, sizeof(row->detail),
		    "%u definitions differ from the reviewed ones; compare them with "
		    "`kennel server pin %s --diff`",
		    drifted, s->name);
	}
}

void
server_report_state(const struct server *s, struct hub_row *ret)
{
	uint32_t drifted;

	*ret = (struct hub_row){.live = server_live(s),
	    .discovery = s->wrong != NULL ? DISCOVERY_ERROR : s->discovery,
	    .pinned = s->pinned,
	    .has_policy = s->ready,
	    .restarts = s->restarts,
	    .calls = s->open,
	    .calls_made = s->made,
	    .refused = s->refused,
	    .p50_us = latency_percentile(&s->latency, 50),
	    .p99_us = latency_percentile(&s->latency, 99)};
	(void)snprintf(ret->name, sizeof(ret->name), "%s", s->name); /* fits */
	(void)snprintf(ret->failed, sizeof(ret->failed), "%.512s", s->failed);
	if (s->protocol != 0)
		(void)snprintf(ret->protocol, sizeof(ret->protocol), "%s",
		    mcp_version_name(s->protocol)); /* fits */
	if (s->ready)
		memcpy(ret->policy, s->policy.id, sizeof(ret->policy));
	ret->tools = count_tools(s, &drifted);
	if (drifted > 0)
		ret->discovery = DISCOVERY_ERROR;
	put_reason(s, drifted, ret);
}
