/*
 * What a test of a session expects of a line: it passes as it is, it is
 * refused, it is dropped.  Ends in the rig R.
 */
#ifndef KENNEL_TESTS_UNIT_MCP_EXPECT_H
#define KENNEL_TESTS_UNIT_MCP_EXPECT_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "shim/base/array.h"
#include "tests/unit/mcp_rig.h"

#define ALL_FLAGS (SERVER_MCP_SAMPLING | SERVER_MCP_ELICITATION | SERVER_MCP_ROOTS)

static const struct rig_gate open_gates[] = {
    {GATE_TOOL, "*", VERDICT_ALLOW, NULL},
    {GATE_RESOURCE, "*", VERDICT_ALLOW, NULL},
    {GATE_PROMPT, "*", VERDICT_ALLOW, NULL},
};
static const struct rig_gate some_gates[] = {
    {GATE_TOOL, "read_*", VERDICT_ALLOW, NULL},
    {GATE_TOOL, "read_key", VERDICT_DENY, "keys are \"private\""},
    {GATE_TOOL, "push", VERDICT_ASK, "seen by a person"},
    {GATE_RESOURCE, "file:///pub/*", VERDICT_ALLOW, NULL},
    {GATE_PROMPT, "hello", VERDICT_ALLOW, NULL},
};
#define N(table) (ARRAY_LEN(table))

static struct rig R;

static inline void
open_all(bool pipes)
{
	rig_policy(&R, ALL_FLAGS, open_gates, N(open_gates), NULL, 0);
	rig_open(&R, pipes);
}

static inline void
open_some(uint32_t flags)
{
	rig_policy(&R, flags, some_gates, N(some_gates), NULL, 0);
	rig_open(&R, false);
}

static inline void
open_limits(const struct sealed_limit *limit, size_t n)
{
	rig_policy(&R, ALL_FLAGS, open_gates, N(open_gates), limit, n);
	rig_open(&R, false);
}

/* What was said reached the other end as it was, and nothing came back. */
static inline void
agent_passes(const char *line)
{
	rig_agent(&R, line);
	assert_int_equal(R.server_got.len, strlen(line) + 1);
	assert_memory_equal(R.server_got.data, line, strlen(line));
	assert_string_equal(rig_agent_got(&R), "");
}

static inline void
server_passes(const char *line)
{
	rig_server(&R, line);
	assert_int_equal(R.agent_got.len, strlen(line) + 1);
	assert_memory_equal(R.agent_got.data, line, strlen(line));
	assert_string_equal(rig_server_got(&R), "");
}

static inline void
agent_sees(const char *line, const char *want)
{
	rig_server(&R, line);
	assert_string_equal(rig_agent_got(&R), want);
}

/* It did not reach the server; the agent was told something with this in it. */
static inline void
agent_refused(const char *line, const char *want)
{
	rig_agent(&R, line);
	assert_string_equal(rig_server_got(&R), "");
	if (strstr(rig_agent_got(&R), want) == NULL)
		fail_msg("%s: %s does not hold %s", line, rig_agent_got(&R), want);
}

static inline void
server_dropped(const char *line)
{
	rig_server(&R, line);
	assert_string_equal(rig_agent_got(&R), "");
}

#define CALL(id, name) \
	"{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"tools/call\",\"params\":{" \
	"\"name\":" name "}}"
#define ASK(id, method, params) \
	"{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method \
	"\",\"params\":{" params "}}"
#define ASK0(method, params) \
	"{\"jsonrpc\":\"2.0\",\"method\":\"" method "\",\"params\":{" params "}}"

#endif
