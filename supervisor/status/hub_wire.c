/*
 * The packets of a hub's control socket.
 */
#include "supervisor/status/hub_wire.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* More than a row takes: 31 integers and lengths, and its texts. */
#define ROW_MAX \
	(160 + STATUS_SERVER_MAX + 2 * HUB_DETAIL_MAX + STATUS_POLICY_LEN + \
	    HUB_VERSION_MAX)
#define ROW_FOLLOWS 1
#define ROW_NONE    0

enum row_flag { ROW_PINNED = 1, ROW_HAS_POLICY = 2, ROW_FLAGS = 3 };

/* ---- words -------------------------------------------------------------------- */

const char *
hub_era_name(enum hub_era era)
{
	static const char *const names[] = {"new", "legacy", "modern"};

	return names[era];
}

const char *
server_live_name(enum server_live live)
{
	static const char *const names[LIVE_N] = {
	    "disconnected", "connecting", "connected", "error"};

	return names[live];
}

const char *
discovery_status_name(enum discovery_status status)
{
	static const char *const names[DISCOVERY_N] = {
	    "pending", "connected", "unreachable", "error"};

	return names[status];
}

const char *
server_reason_name(enum server_reason reason)
{
	static const char *const names[REASON_N] = {NULL, "disabled", "policy-error",
	    "backoff", "crash-loop", "quarantined", "start-refused", "no-policy",
	    "argv-not-granted", "transport-unsupported"};

	return names[reason];
}

/* ---- writing ------------------------------------------------------------------ */

void
hub_page_begin(struct wire_out *out, const struct hub_status *h, uint32_t first)
{
	wire_put_u32(out, HUB_PAGE);
	wire_put_u32(out, HUB_VERSION);
	wire_put_u64(out, h->since_ns);
	wire_put_u32(out, h->era);
	wire_put_str(out, h->client);
	wire_put_u32(out, h->calls);
	wire_put_u64(out, h->calls_made);
	wire_put_u64(out, h->refused);
	wire_put_u32(out, h->servers);
	wire_put_u32(out, first);
}

bool
hub_page_row(struct wire_out *out, const struct hub_row *s)
{
	if (out->cap - out->len < ROW_MAX)
		return false;
	wire_put_u32(out, ROW_FOLLOWS);
	wire_put_str(out, s->name);
	wire_put_u32(out, s->live);
	wire_put_u32(out, s->discovery);
	wire_put_u32(out, s->reason);
	wire_put_str(out, s->detail);
	wire_put_str(out, s->failed);
	wire_put_u32(
	    out, (s->pinned ? ROW_PINNED : 0u) | (s->has_policy ? ROW_HAS_POLICY : 0u));
	wire_put_bytes(out, s->policy, sizeof(s->policy));
	wire_put_str(out, s->protocol);
	wire_put_u32(out, s->tools);
	wire_put_u32(out, s->restarts);
	wire_put_u32(out, s->calls);
	wire_put_u64(out, s->calls_made);
	wire_put_u64(out, s->refused);
	wire_put_u64(out, s->p50_us);
	wire_put_u64(out, s->p99_us);
	return true;
}

void
hub_page_end(struct wire_out *out)
{
	wire_put_u32(out, ROW_NONE);
}

/* ---- reading ------------------------------------------------------------------ */

/* A text of fewer than cap bytes. */
static void
get_text(struct wire_in *in, char *out, size_t cap)
{
	(void)snprintf(out, cap, "%s", wire_get_str(in, cap - 1)); /* fits */
}

int
hub_page_get(struct wire_in *in, struct hub_status *ret, uint32_t *ret_first)
{
	uint32_t type = wire_get_u32(in), version = wire_get_u32(in), era, first;
	struct hub_status h = {.since_ns = wire_get_u64(in)};

	era = wire_get_u32(in);
	get_text(in, h.client, sizeof(h.client));
	h.calls = wire_get_u32(in);
	h.calls_made = wire_get_u64(in);
	h.refused = wire_get_u64(in);
	h.servers = wire_get_u32(in);
	first = wire_get_u32(in);
	if (in->error != 0 || type != HUB_PAGE || version != HUB_VERSION ||
	    era > HUB_MODERN || h.servers > HUB_ROWS_MAX || first > h.servers)
		return -EBADMSG;
	h.era = (enum hub_era)era;
	*ret = h;
	*ret_first = first;
	return 0;
}

int
hub_row_get(struct wire_in *in, struct hub_row *ret)
{
	uint32_t more = wire_get_u32(in), live, discovery, reason, flags;
	struct hub_row s = {.calls = 0};
	struct span policy;

	if (more != ROW_FOLLOWS)
		return more == ROW_NONE ? wire_end(in) : -EBADMSG;
	get_text(in, s.name, sizeof(s.name));
	live = wire_get_u32(in);
	discovery = wire_get_u32(in);
	reason = wire_get_u32(in);
	get_text(in, s.detail, sizeof(s.detail));
	get_text(in, s.failed, sizeof(s.failed));
	flags = wire_get_u32(in);
	policy = wire_get_bytes(in, sizeof(s.policy));
	get_text(in, s.protocol, sizeof(s.protocol));
	s.tools = wire_get_u32(in);
	s.restarts = wire_get_u32(in);
	s.calls = wire_get_u32(in);
	s.calls_made = wire_get_u64(in);
	s.refused = wire_get_u64(in);
	s.p50_us = wire_get_u64(in);
	s.p99_us = wire_get_u64(in);
	if (in->error != 0 || live >= LIVE_N || discovery >= DISCOVERY_N ||
	    reason >= REASON_N || flags > ROW_FLAGS || policy.len != sizeof(s.policy))
		return -EBADMSG;
	s.live = (enum server_live)live;
	s.discovery = (enum discovery_status)discovery;
	s.reason = (enum server_reason)reason;
	s.pinned = (flags & ROW_PINNED) != 0;
	s.has_policy = (flags & ROW_HAS_POLICY) != 0;
	memcpy(s.policy, policy.data, sizeof(s.policy));
	*ret = s;
	return 1;
}
