/*
 * The packets of the status socket.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "supervisor/status/status.h"

const char *
status_kind_name(enum status_kind kind)
{
	return kind == STATUS_RUN ? "run" : "exec";
}

const char *
status_state_name(const struct status *s)
{
	if (s->waiting > 0)
		return "needs-approval";
	if (s->kind == STATUS_EXEC)
		return "exec";
	return s->connected ? "connected" : "connecting";
}

/* An id of the log: 16 hex digits. */
static bool
is_session(const char *text)
{
	return strlen(text) == 16 && strspn(text, "0123456789abcdef") == 16;
}

void
status_put(struct wire_out *out, const struct status *s, uint32_t version)
{
	wire_put_u32(out, STATUS_IS);
	wire_put_u32(out, version);
	wire_put_u32(out, s->kind);
	wire_put_u32(out, s->connected);
	wire_put_str(out, s->server);
	wire_put_str(out, s->session);
	wire_put_bytes(out, s->policy, sizeof(s->policy));
	wire_put_u64(out, s->since_ns);
	wire_put_u32(out, s->calls);
	wire_put_u32(out, s->waiting);
	wire_put_u64(out, s->calls_made);
	wire_put_u64(out, s->refused);
	if (version >= 2)
		wire_put_u32(out, s->via);
}

int
status_get(struct wire_in *in, struct status *ret)
{
	uint32_t type = wire_get_u32(in), version = wire_get_u32(in);
	uint32_t kind = wire_get_u32(in), connected = wire_get_u32(in);
	const char *server = wire_get_str(in, sizeof(ret->server) - 1);
	const char *session = wire_get_str(in, sizeof(ret->session) - 1);
	struct span policy = wire_get_bytes(in, sizeof(ret->policy));
	struct status s = {.kind = (enum status_kind)kind, .connected = connected == 1};

	s.since_ns = wire_get_u64(in);
	s.calls = wire_get_u32(in);
	s.waiting = wire_get_u32(in);
	s.calls_made = wire_get_u64(in);
	s.refused = wire_get_u64(in);
	s.via = version >= 2 ? wire_get_u32(in) : 0;
	if (wire_end(in) < 0 || type != STATUS_IS || version < 1 ||
	    version > STATUS_VERSION || kind < STATUS_RUN || kind > STATUS_EXEC ||
	    connected > 1 || policy.len != sizeof(s.policy) || !is_session(session))
		return -EBADMSG;
	(void)snprintf(s.server, sizeof(s.server), "%s", server);
	(void)snprintf(s.session, sizeof(s.session), "%s", session);
	memcpy(s.policy, policy.data, sizeof(s.policy));
	*ret = s;
	return 0;
}
