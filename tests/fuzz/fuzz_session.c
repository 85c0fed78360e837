/*
 * A session between an agent and a server that say anything at all.  Input:
 * one byte of policy, then text; byte 1 and byte 2 give the word to the agent
 * and to the server.  What comes out must be whole lines of JSON, and no call
 * that the policy does not grant may reach the server.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/granted_call.h"
#include "tests/unit/mcp_rig.h"

static const struct rig_gate gates[] = {
    {GATE_TOOL, "read_*", VERDICT_ALLOW, NULL},
    {GATE_TOOL, "read_key", VERDICT_DENY, "private"},
    {GATE_RESOURCE, "file:///pub/*", VERDICT_ALLOW, NULL},
    {GATE_PROMPT, "hello", VERDICT_ALLOW, NULL},
};
static const struct sealed_limit limit[] = {
    {.kind = LIMIT_INPUT, .value = 600},
    {.kind = LIMIT_OUTPUT, .value = 600},
};

static void
lines_are_json(const struct buf *got, int to_server)
{
	const uint8_t *p = got->data, *end = p + got->len, *newline;
	struct json_message m, e;
	struct json key, item;
	struct json_walk w;

	for (; p < end; p = newline + 1) {
		newline = memchr(p, '\n', (size_t)(end - p));
		/* Nor may a line hold another for those who end it at CR. */
		if (newline != NULL && newline - p > 1 &&
		    memchr(p, '\r', (size_t)(newline - p - 1)) != NULL)
			abort();
		if (newline == NULL || json_scan(p, (size_t)(newline - p), &m) < 0)
			abort();
		if (!to_server)
			continue;
		call_is_granted(&m);
		if (m.root.type != JSON_IS_ARRAY)
			continue;
		json_walk(&w, m.root);
		while (json_next(&w, &key, &item)) {
			if (json_scan(item.at, item.len, &e) < 0)
				abort();
			call_is_granted(&e);
		}
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct rig rig;
	const uint8_t *end = data + len, *p = data + 1;
	int agent = 1;

	if (len == 0 || len > 1 << 14)
		return 0;
	rig_policy(&rig, data[0] & (2 | 4 | 8), gates, 4, limit, data[0] & 1 ? 2 : 0);
	rig_open(&rig, false);
	while (p < end) {
		size_t n = 0;

		while (p + n < end && p[n] > 2)
			n++;
		rig_bytes(&rig, agent ? rig.from_agent : rig.out, p, n);
		if (p + n < end)
			agent = p[n] != 2;
		p += n + 1;
	}
	session_server_gone(rig.session, "the end");
	rig_run(&rig, 0);
	lines_are_json(&rig.agent_got, 0);
	lines_are_json(&rig.server_got, 1);
	rig_close(&rig);
	return 0;
}
