/*
 * A session whose server could not be started. Answers the agent's first request with
 * the reason, because the agent would otherwise only see a process that exited.
 */
#include "shim/base/buf.h"
#include "shim/base/loop.h"
#include "supervisor/json/json.h"
#include "supervisor/mcp/line/frame.h"
#include "supervisor/mcp/mcp.h"
#include "supervisor/mcp/rpc.h"

#include <errno.h>
#include <poll.h>

#include "shim/base/fd.h"

/* Waits for fd until the deadline: 1, or 0 at the deadline. */
static int
wait_for(int fd, short events, uint64_t until_ns)
{
	struct pollfd p = {.fd = fd, .events = events};
	uint64_t now;
	int r;

	do {
		now = loop_now();
		if (now >= until_ns)
			return 0;
		/* syscalls: poll */
		r = poll(&p, 1, (int)((until_ns - now) / LOOP_MS) + 1);
	} while (r < 0 && errno == EINTR);
	return r > 0;
}

/* True if this line is a request; stores its id. */
static bool
is_request(const uint8_t *line, size_t len, struct json *ret_id)
{
	struct json_message m;
	const char *why;

	if (json_scan(line, len, &m) < 0 || rpc_kind(&m, &why) != RPC_REQUEST)
		return false;
	*ret_id = m.top[TOP_ID];
	return true;
}

static void
answer(int agent_out, struct json id, const struct rpc_why *why, uint64_t until_ns)
{
	struct rpc_why data = *why;
	struct frame_out out;
	struct buf text;

	frame_out_init(&out, agent_out);
	data.outcome = "refused";
	buf_init(&text, MCP_MESSAGE_MAX);
	if (fd_nonblock(agent_out, true) == 0 &&
	    rpc_error(&text, id.at, id.len, RPC_SERVER_GONE, data.because, &data) == 0 &&
	    frame_say(&out, text.data, text.len) == 0)
		while (frame_flush(&out) == -EAGAIN &&
		       wait_for(agent_out, POLLOUT, until_ns) > 0)
			;
	(void)fd_nonblock(agent_out, false); /* this process is about to end */
	buf_free(&text);
	frame_out_free(&out);
}

void
session_refuse(int agent_in, int agent_out, const struct rpc_why *why, int wait_ms)
{
	uint64_t until = loop_now() + (uint64_t)(wait_ms < 0 ? 0 : wait_ms) * LOOP_MS,
		 len;
	struct frame_in in;
	const uint8_t *line;
	enum frame_what what;
	struct json id;
	bool done = false;

	if (frame_in_init(&in, agent_in, MCP_MESSAGE_MAX) < 0)
		return;
	while (!done && wait_for(agent_in, POLLIN, until) > 0) {
		int r = frame_fill(&in);

		if (r <= 0 && r != -EAGAIN)
			break;
		while (!done && (what = frame_next(&in, &line, &len)) != FRAME_NONE)
			done = what == FRAME_LINE && is_request(line, (size_t)len, &id);
	}
	if (done)
		answer(agent_out, id, why, until + 1000 * LOOP_MS);
	frame_in_free(&in);
}
