/*
 * A session against a scripted agent and a scripted server: what passes byte
 * for byte, what is cut, what is refused, how it ends.
 */
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

#include "shim/base/fd.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/corpus.h"
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
#define N(table) (sizeof(table) / sizeof((table)[0]))

static struct rig R;

static void
open_all(bool pipes)
{
	rig_policy(&R, ALL_FLAGS, open_gates, N(open_gates), NULL, 0);
	rig_open(&R, pipes);
}

static void
open_some(uint32_t flags)
{
	rig_policy(&R, flags, some_gates, N(some_gates), NULL, 0);
	rig_open(&R, false);
}

static void
open_limits(const struct sealed_limit *limit, size_t n)
{
	rig_policy(&R, ALL_FLAGS, open_gates, N(open_gates), limit, n);
	rig_open(&R, false);
}

/* What was said reached the other end as it was, and nothing came back. */
static void
agent_passes(const char *line)
{
	rig_agent(&R, line);
	assert_int_equal(R.server_got.len, strlen(line) + 1);
	assert_memory_equal(R.server_got.data, line, strlen(line));
	assert_string_equal(rig_agent_got(&R), "");
}

static void
server_passes(const char *line)
{
	rig_server(&R, line);
	assert_int_equal(R.agent_got.len, strlen(line) + 1);
	assert_memory_equal(R.agent_got.data, line, strlen(line));
	assert_string_equal(rig_server_got(&R), "");
}

static void
agent_sees(const char *line, const char *want)
{
	rig_server(&R, line);
	assert_string_equal(rig_agent_got(&R), want);
}

/* It did not reach the server; the agent was told something with this in it. */
static void
agent_refused(const char *line, const char *want)
{
	rig_agent(&R, line);
	assert_string_equal(rig_server_got(&R), "");
	if (strstr(rig_agent_got(&R), want) == NULL)
		fail_msg("%s: %s does not hold %s", line, rig_agent_got(&R), want);
}

static void
server_dropped(const char *line)
{
	rig_server(&R, line);
	assert_string_equal(rig_agent_got(&R), "");
}

/* ---- transparency: every method, both ways ------------------------------- */

/* S3-43 S3-44 S4-14 S4-15 */
static void
handshake(void **state)
{
	(void)state;
	for (int pipes = 0; pipes < 2; pipes++) {
		open_all(pipes);
		agent_passes("{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\","
			     "\"params\":{\"protocolVersion\":\"2025-11-25\","
			     "\"capabilities\":{\"sampling\":{}},\"clientInfo\":{}}}");
		server_passes("{\"result\":{\"protocolVersion\":\"2025-11-25\","
			      "\"capabilities\":{}},\"jsonrpc\":\"2.0\",\"id\":0}\r");
		agent_passes(
		    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
		agent_passes("{\"jsonrpc\":\"2.0\",\"method\":\"tools/list\",\"id\":1}");
		server_passes("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"tools\":["
			      "{\"name\":\"a\",\"description\":\"\\ud800\","
			      "\"inputSchema\":{\"type\":\"object\"}}]}}");
		agent_passes(
		    "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"tools/call\","
		    "\"params\":{\"name\":\"a\",\"arguments\":{\"n\":1e400}}}");
		server_passes("{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"result\":{}}");
		assert_non_null(strstr(rig_events, "call agent tools/call a \"x\" ok"));
		rig_close(&R);
	}
}

static const char *
params_of(const struct method *m)
{
	static const char *const params[] = {
	    [WHERE_NONE] =
		"{\"x\":[1,2.50,\"\\u00e9\"], \"_meta\":{\"progressToken\":7}}",
	    [WHERE_NAME] = "{ \"name\" : \"any\" }",
	    [WHERE_URI] = "{\"uri\":\"any://x\"}",
	    [WHERE_REF] = "{\"ref\":{\"type\":\"ref/prompt\",\"name\":\"p\"}}",
	    [WHERE_LISTEN] =
		"{\"notifications\":{\"resourceSubscriptions\":[\"any://x\"]}}",
	};

	return params[m->where];
}

static void
every_method(void **state)
{
	const struct method *m;
	char line[512];

	(void)state;
	open_all(false);
	for (size_t i = 0; (m = method_row(i)) != NULL; i++) {
		bool request = strncmp(m->name, "notif", 5) != 0;
		char with_id[32] = "";

		if (request)
			snprintf(with_id, sizeof(with_id), "\"id\":%zu,", i + 1);
		snprintf(line, sizeof(line),
		    "{\"jsonrpc\":\"2.0\",%s\"method\":\"%s\",\"params\":%s}", with_id,
		    m->name, params_of(m));
		if (m->from_agent != 0)
			agent_passes(line);
		if (m->from_server != 0)
			server_passes(line);
		if (!request)
			continue;
		snprintf(line, sizeof(line),
		    " { \"jsonrpc\":\"2.0\" , \"result\":{\"z\":%zu}, %s\"new\":1}", i,
		    with_id);
		if (m->from_agent != 0)
			server_passes(line);
		if (m->from_server != 0)
			agent_passes(line);
	}
	agent_passes("{\"jsonrpc\":\"2.0\",\"id\":\"u\",\"method\":\"x/unknown\","
		     "\"params\":[1],\"extra\":{\"a\":1,\"a\":2}}");
	server_passes("{\"jsonrpc\":\"2.0\",\"id\":\"u\",\"error\":{\"code\":-1,"
		      "\"message\":\"no\"}}");
	server_passes("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/new\"}");
	rig_close(&R);
}

/* ---- gates --------------------------------------------------------------- */

#define CALL(id, name) \
	"{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"tools/call\",\"params\":{" \
	"\"name\":" name "}}"

#define ASK0(method, params) \
	"{\"jsonrpc\":\"2.0\",\"method\":\"" method "\",\"params\":{" params "}}"

static void
tool_gate(void **state)
{
	(void)state;
	open_some(0);
	agent_passes(CALL("1", "\"read_x\""));
	agent_passes(CALL("2", "\"re\\u0061d_x\""));
	agent_refused(
	    CALL("3", "\"write\""), "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{");
	assert_non_null(strstr(rig_agent_got(&R), "\"isError\":true"));
	assert_non_null(strstr(rig_agent_got(&R), "\\u0022write\\u0022"));
	agent_refused(CALL("4", "\"read_key\""), "toy.kennel:2");
	assert_non_null(strstr(rig_agent_got(&R), "keys are \\u0022private"));
	agent_refused(CALL("5", "\"\\u0072ead_key\""), "isError");
	agent_refused(CALL("6", "\"push\""), "a person");
	agent_refused(CALL("7", "\"read_\\ud800\""), "-32602");
	agent_refused(CALL("8", "\"read_a\\u0000b\""), "-32602");
	agent_refused(CALL("9", "7"), "-32602");
	agent_refused(CALL("10", "\"read_x\",\"name\":\"write\""), "-32600");
	agent_refused(CALL("11", "\"read_x\",\"n\\u0061me\":\"write\""), "-32600");
	agent_refused(CALL("12", "\"read_x\",\"Name\":\"write\""), "-32600");
	agent_refused("{\"jsonrpc\":\"2.0\",\"id\":13,\"method\":\"tools\\/c\\u0061ll\","
		      "\"params\":{\"name\":\"write\"}}",
	    "isError");
	agent_refused("{\"jsonrpc\":\"2.0\",\"id\":14,\"method\":\"tools/call\\u0000\","
		      "\"params\":{\"name\":\"write\"}}",
	    "-32600");
	agent_refused("{\"jsonrpc\":\"2.0\",\"id\":15,\"method\":\"ping\","
		      "\"Method\":\"tools/call\",\"params\":{\"name\":\"write\"}}",
	    "-32600");
	agent_refused(
	    "{\"jsonrpc\":\"2.0\",\"id\":16,\"method\":\"tools/call\"}", "-32602");
	assert_non_null(strstr(
	    rig_events, "refused agent deny tools/call read_key 4 toy.kennel:2 deny\n"));
	rig_close(&R);
}

#define ASK(id, method, params) \
	"{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method \
	"\",\"params\":{" params "}}"

static void
other_gates(void **state)
{
	(void)state;
	open_some(0);
	agent_passes(ASK("1", "prompts/get", "\"name\":\"hello\""));
	agent_refused(ASK("2", "prompts/get", "\"name\":\"bye\""), "-32602");
	agent_passes(ASK("3", "resources/read", "\"uri\":\"file:///pub/a\""));
	agent_refused(ASK("4", "resources/read", "\"uri\":\"file:///etc\""), "-32602");
	agent_refused(
	    ASK("5", "resources/subscribe", "\"uri\":\"file:///etc\""), "-32602");
	agent_passes(ASK("6", "completion/complete",
	    "\"ref\":{\"type\":\"ref/prompt\",\"name\":\"hello\"}"));
	agent_refused(ASK("7", "completion/complete",
			  "\"ref\":{\"type\":\"ref/prompt\",\"name\":\"bye\"}"),
	    "-32602");
	agent_refused(ASK("8", "completion/complete",
			  "\"ref\":{\"type\":\"ref/resource\",\"uri\":\"x:\"}"),
	    "-32602");
	agent_refused(ASK("9", "completion/complete",
			  "\"ref\":{\"type\":\"ref/prompt\",\"name\":\"hello\","
			  "\"name\":\"bye\"}"),
	    "-32602");
	agent_refused(ASK("10", "subscriptions/listen",
			  "\"notifications\":{\"resourceSubscriptions\":"
			  "[\"file:///pub/a\",\"file:///etc\"]}"),
	    "-32602");
	agent_passes(ASK("11", "subscriptions/listen",
	    "\"notifications\":{\"resourceSubscriptions\":[\"file:///pub/a\"]}"));
	rig_close(&R);
}

static void
list_filter(void **state)
{
	static const char *const row[][2] = {
	    {"{\"tools\":[ {\"name\":\"read_a\"} , {\"name\":\"no\"}, "
	     "{\"n\\u0061me\":\"read_\\u0062\"} ],\"nextCursor\":\"\"}",
		"{\"tools\":[ {\"name\":\"read_a\"}, "
		"{\"n\\u0061me\":\"read_\\u0062\"} ],\"nextCursor\":\"\"}"},
	    {"{\"tools\":[{\"name\":\"no\"},{\"name\":\"read_a\"}]}",
		"{\"tools\":[{\"name\":\"read_a\"}]}"},
	    {"{\"tools\":[{\"name\":\"no\"},{\"name\":\"read_key\"}]}", "{\"tools\":[]}"},
	    {"{\"tools\":[{\"name\":\"read_a\",\"name\":\"no\"},"
	     "{\"name\":\"read_a\",\"NAME\":\"no\"},7,null,\"read_a\"]}",
		"{\"tools\":[]}"},
	    {"{\"tools\":[]}", "{\"tools\":[]}"},
	    {"{\"x\":1}", "{\"x\":1}"},
	};
	char line[512], want[512];

	(void)state;
	open_some(0);
	for (size_t i = 0; i < N(row); i++) {
		agent_passes(ASK("1", "tools/list", ""));
		snprintf(line, sizeof(line),
		    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":%s}", row[i][0]);
		snprintf(want, sizeof(want),
		    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":%s}\n", row[i][1]);
		agent_sees(line, want);
	}
	agent_passes(ASK("2", "resources/templates/list", ""));
	agent_sees("{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"resourceTemplates\":["
		   "{\"uriTemplate\":\"file:///etc/{x}\"},"
		   "{\"uriTemplate\":\"file:///pub/{x}\"}]}}",
	    "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"resourceTemplates\":["
	    "{\"uriTemplate\":\"file:///pub/{x}\"}]}}\n");
	agent_passes(ASK("3", "tools/list", ""));
	rig_server(&R, "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"tools\":[],"
		       "\"tools\":[{\"name\":\"no\"}]}}");
	assert_non_null(strstr(rig_agent_got(&R), "-32004"));
	agent_passes(ASK("4", "prompts/list", ""));
	rig_server(&R, "{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{\"prompts\":{}}}");
	assert_non_null(strstr(rig_agent_got(&R), "-32004"));
	rig_close(&R);
}

/* ---- capabilities, the server's own requests ------------------------------ */

static void
capabilities(void **state)
{
	(void)state;
	open_some(SERVER_MCP_ELICITATION);
	rig_agent(
	    &R, ASK("0", "initialize",
		    "\"capabilities\":{\"roots\":{\"listChanged\":true},"
		    "\"s\\u0061mpling\":{},\"elicitation\":{},\"tasks\":{\"requests\":"
		    "{\"sampling\":{},\"elicitation\":{}}}}"));
	assert_string_equal(rig_server_got(&R),
	    ASK("0", "initialize",
		"\"capabilities\":{\"elicitation\":{},\"tasks\":{\"requests\":"
		"{\"elicitation\":{}}}}") "\n");
	agent_refused(
	    ASK("1", "initialize", "\"capabilities\":{\"sampling\":{},\"sampling\":{}}"),
	    "-32600");
	rig_agent(&R, ASK("2", "tools/list",
			  "\"_meta\":{\"io.modelcontextprotocol/clientCapabilities\":"
			  "{\"roots\":{},\"elicitation\":{},\"sampling\":{}}}"));
	assert_string_equal(rig_server_got(&R),
	    ASK("2", "tools/list",
		"\"_meta\":{\"io.modelcontextprotocol/clientCapabilities\":"
		"{\"elicitation\":{}}}") "\n");
	/* The server asks all the same. */
	rig_server(&R, ASK("7", "sampling/createMessage", ""));
	assert_string_equal(rig_agent_got(&R), "");
	assert_non_null(
	    strstr(rig_server_got(&R), "\"id\":7,\"error\":{\"code\":-32601"));
	server_passes(ASK("8", "elicitation/create", ""));
	agent_passes("{\"jsonrpc\":\"2.0\",\"id\":8,\"result\":{\"action\":\"accept\"}}");
	rig_server(&R, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"resultType\":"
		       "\"input_required\",\"inputRequests\":{\"a\":{\"method\":"
		       "\"s\\u0061mpling/createMessage\"}}}}");
	assert_non_null(strstr(rig_agent_got(&R), "\"id\":2,\"error\":{\"code\":-32004"));
	rig_close(&R);
}

static void
elicitation_by_error(void **state)
{
	(void)state;
	open_some(0);
	agent_passes(CALL("1", "\"read_x\""));
	rig_server(&R, "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-3.2042e4,"
		       "\"data\":{\"elicitations\":[{\"url\":\"https://x.example\"}]}}}");
	assert_non_null(strstr(rig_agent_got(&R), "-32004"));
	assert_null(strstr(rig_agent_got(&R), "x.example"));
	rig_close(&R);
}

/* ---- ids ------------------------------------------------------------------ */

static void
ids(void **state)
{
	(void)state;
	open_all(false);
	server_dropped("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
	agent_passes(ASK("1", "ping", ""));
	agent_passes(ASK("\"1\"", "ping", ""));
	agent_refused(ASK("1", "ping", ""), "-32600");
	agent_refused(ASK("\"\\u0031\"", "ping", ""), "-32600");
	server_dropped("{\"jsonrpc\":\"2.0\",\"id\":1.0,\"result\":{}}");
	server_passes("{\"jsonrpc\":\"2.0\",\"id\":\"\\u0031\",\"result\":{}}");
	server_dropped("{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"result\":{}}");
	server_passes("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
	server_dropped("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
	agent_passes(ASK("12345678901234567890123", "ping", ""));
	server_passes(
	    "{\"jsonrpc\":\"2.0\",\"id\":12345678901234567890123,\"result\":{}}");
	agent_refused(ASK("null", "ping", ""), "-32600");
	agent_refused(ASK("{}", "ping", ""), "-32600");
	rig_agent(&R, "{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{}}"); /* asked by none */
	assert_string_equal(rig_server_got(&R), "");
	assert_string_equal(rig_agent_got(&R), "");
	server_passes(ASK("5", "roots/list", ""));
	rig_server(&R, ASK("5", "roots/list", ""));
	assert_non_null(strstr(rig_server_got(&R), "-32600"));
	agent_passes("{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{\"roots\":[]}}");
	rig_agent(&R, "{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{}}");
	assert_string_equal(rig_server_got(&R), "");
	assert_non_null(strstr(rig_events, "dropped agent 36 bytes"));
	rig_close(&R);
}

/* Two answers in one read: the second counts for nothing. */
static void
answer_twice(void **state)
{
	(void)state;
	open_all(false);
	agent_passes(ASK("1", "ping", ""));
	agent_sees("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n"
		   "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"b\":1}}",
	    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
	rig_close(&R);
}

static void
many_calls(void **state)
{
	char line[96];

	(void)state;
	open_all(false);
	for (int i = 0; i < MCP_CALLS_MAX; i++) {
		snprintf(line, sizeof(line),
		    "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"x\"}", i);
		rig_agent(&R, line);
		assert_int_equal(R.server_got.len, strlen(line) + 1);
	}
	agent_refused(ASK("99999", "x", ""), "too many");
	server_passes("{\"jsonrpc\":\"2.0\",\"id\":77,\"result\":{}}");
	agent_passes(ASK("99999", "x", ""));
	/* A cancelled call gives its place up. */
	agent_passes(ASK0("notifications/cancelled", "\"requestId\":78"));
	agent_passes(ASK("100000", "x", ""));
	rig_close(&R);
}

/* ---- batches --------------------------------------------------------------- */

static void
negotiate(const char *version)
{
	char line[160];

	agent_passes(ASK("0", "initialize", ""));
	snprintf(line, sizeof(line),
	    "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"protocolVersion\":\"%s\"}}",
	    version);
	server_passes(line);
}

static void
batches(void **state)
{
	(void)state;
	open_some(0);
	agent_refused("[" ASK("1", "ping", "") "]", "-32600");
	negotiate("2025-06-18");
	agent_refused("[" ASK("1", "ping", "") "]", "-32600");
	agent_passes(ASK("1", "ping", ""));
	server_dropped("[{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}]");
	rig_close(&R);
	open_some(0);
	negotiate("2025-03-26");
	agent_passes("[ " ASK("1", "ping", "") " ,\t" CALL("2", "\"read_a\"") "]");
	rig_agent(&R, "[" CALL("3", "\"no\"") "," ASK("4", "ping", "") " , " CALL(
			  "5", "\"no\"") "," ASK("6", "tools/list", "") ",7]");
	assert_string_equal(rig_server_got(&R),
	    "[" ASK("4", "ping", "") "," ASK("6", "tools/list", "") "]\n");
	assert_non_null(strstr(rig_agent_got(&R), "\"id\":3,\"result\""));
	assert_non_null(strstr(rig_agent_got(&R), "\"id\":5,\"result\""));
	assert_non_null(strstr(rig_agent_got(&R), "\"id\":null,\"error\""));
	agent_sees("[{\"jsonrpc\":\"2.0\",\"id\":9,\"result\":{}},"
		   "{\"jsonrpc\":\"2.0\",\"id\":6,\"result\":{\"tools\":["
		   "{\"name\":\"no\"},{\"name\":\"read_a\"}]}},"
		   "{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{}}]",
	    "[{\"jsonrpc\":\"2.0\",\"id\":6,\"result\":{\"tools\":["
	    "{\"name\":\"read_a\"}]}},{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{}}]\n");
	agent_refused("[]", "-32600");
	agent_refused("[" ASK("8", "initialize", "") "]", "-32600");
	agent_refused("[" CALL("10", "\"no\"") "]", "isError");
	rig_close(&R);
}

/* ---- bad lines --------------------------------------------------------------- */

static void
bad_lines(void **state)
{
	static const char nul[] =
	    "{\"jsonrpc\":\"2.0\",\"id\":1,\0\"method\":\"ping\"}\n";
	char deep[512], *p = deep;

	(void)state;
	open_all(false);
	agent_refused("hello", "\"id\":null,\"error\":{\"code\":-32700");
	agent_refused("\xef\xbb\xbf" ASK("1", "ping", ""), "-32700");
	agent_refused(ASK("1", "ping", "\"a\":\"\xc0\xaf\""), "UTF-8");
	agent_refused(ASK("1", "ping", "\"a\":\"\xed\xa0\x80\""), "UTF-8");
	agent_refused(ASK("1", "ping", "\"a\":NaN"), "-32700");
	agent_refused("7", "-32600");
	agent_refused("{\"id\":1,\"method\":\"ping\"}", "-32600");
	agent_refused("{\"jsonrpc\":\"2.0\",\"id\":1}", "\"id\":1,\"error\"");
	agent_refused(
	    "{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"ping\"}", "null");
	agent_refused("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}", "-32600");
	agent_refused(
	    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"result\":1}", "-32600");
	rig_bytes(&R, R.from_agent, nul, sizeof(nul) - 1);
	assert_non_null(strstr(rig_agent_got(&R), "-32700"));
	p += sprintf(p, "{\"jsonrpc\":\"2.0\",\"id\":\"d\",\"method\":\"x\",\"params\":");
	for (int i = 0; i < 128; i++)
		*p++ = '[';
	for (int i = 0; i < 128; i++)
		*p++ = ']';
	sprintf(p, "}");
	agent_refused(deep, "\"id\":\"d\",\"error\":{\"code\":-32600");
	rig_agent(&R, "\r\n\n \t\n"); /* nothing said */
	assert_string_equal(rig_agent_got(&R), "");
	assert_string_equal(rig_server_got(&R), "");
	rig_events[0] = '\0';
	server_dropped("Server listening on stdio");
	server_dropped("7");
	server_dropped(
	    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"method\":\"y\"}");
	server_dropped("[1]");
	assert_non_null(strstr(rig_events, "dropped server 25 bytes not JSON\n"));
	assert_null(strstr(rig_events, "listening"));
	agent_passes(ASK("1", "ping", "")); /* and the session goes on */
	rig_close(&R);
}

static char *
big_line(const char *head, size_t len, const char *tail)
{
	char *text = malloc(strlen(head) + len + strlen(tail) + 2), *p = text;

	p = stpcpy(p, head);
	memset(p, 'x', len);
	stpcpy(stpcpy(p + len, tail), "\n");
	return text;
}

static void
oversize(void **state)
{
	static const struct sealed_limit limit[] = {
	    {.kind = LIMIT_INPUT, .value = 1000},
	    {.kind = LIMIT_OUTPUT, .value = 100000},
	};
	char *big;

	(void)state;
	open_limits(limit, N(limit));
	big = big_line(
	    "{\"jsonrpc\":\"2.0\",\"method\":\"ping\",\"params\":{\"id\":9,\"a\":\"",
	    300000, "\\\\\"},\"i\":1,\"id\":\"z\"}");
	rig_bytes(&R, R.from_agent, big, strlen(big));
	assert_string_equal(rig_server_got(&R), "");
	assert_non_null(
	    strstr(rig_agent_got(&R), "\"id\":\"z\",\"error\":{\"code\":-32600"));
	free(big);
	agent_passes(ASK("1", "ping", ""));
	agent_passes(ASK("2", "ping", ""));
	big = big_line(
	    "{\"jsonrpc\":\"2.0\",\"result\":{\"a\":\"", 3000000, "\"},\"id\":1}");
	buf_clear(&R.agent_got);
	rig_bytes(&R, R.out, big, strlen(big));
	assert_non_null(strstr(rig_agent_got(&R), "\"id\":1,\"error\":{\"code\":-32003"));
	free(big);
	server_passes("{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}");
	server_dropped("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
	rig_close(&R);
}

/* A 100 MB line costs no memory; 16 MiB and its last byte pass. */
static void
huge(void **state)
{
	const char *head =
	    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":[\"";
	char *big = big_line(head, 100000000, "\"]}");
	size_t fits = MCP_MESSAGE_MAX - strlen(head) - 3;

	(void)state;
	open_all(false);
	rig_bytes(&R, R.from_agent, big, strlen(big));
	assert_non_null(strstr(rig_agent_got(&R), "\"id\":1,\"error\":{\"code\":-32600"));
	assert_true(R.session->from_agent.cap <= 4 * MCP_MESSAGE_MAX);
	free(big);
	big = big_line(head, fits, "\"]}");
	rig_bytes(&R, R.from_agent, big, strlen(big));
	assert_int_equal(R.server_got.len, strlen(big));
	assert_memory_equal(R.server_got.data, big, strlen(big));
	free(big);
	rig_close(&R);
}

/* A peer that does not read stops the other one, not kennel. */
static void
backpressure(void **state)
{
	char *big = big_line(
	    "{\"jsonrpc\":\"2.0\",\"method\":\"n\",\"params\":[\"", 100000, "\"]}");
	size_t len = strlen(big), said = 0, at = 0;

	(void)state;
	open_all(false);
	for (int idle = 0; idle < 50;) {
		ssize_t n = write(R.out, big + at, len - at);

		idle = n > 0 ? 0 : idle + 1;
		if (n > 0) {
			said += (size_t)n;
			at = (at + (size_t)n) % len;
		}
		(void)loop_once(&R.loop, 0);
	}
	assert_true(said < 8u << 20);
	assert_true(frame_queued(&R.session->to_agent) < 2 * FRAME_SOON);
	while (at != 0) { /* now the agent reads, and all of it arrives */
		ssize_t n = write(R.out, big + at, len - at);

		if (n > 0) {
			said += (size_t)n;
			at = (at + (size_t)n) % len;
		}
		rig_run(&R, 0);
	}
	rig_run(&R, 20);
	assert_int_equal(R.agent_got.len, said);
	free(big);
	rig_close(&R);
}

/* ---- time ------------------------------------------------------------------- */

/* S3-34 S3-36 */
static void
deadline(void **state)
{
	static const struct sealed_limit limit[] = {{.kind = TIMEOUT_CALL, .value = 60}};

	(void)state;
	open_limits(limit, 1);
	agent_passes(CALL("1", "\"slow\""));
	agent_passes(ASK("2", "subscriptions/listen", ""));
	buf_clear(&R.server_got);
	rig_run(&R, 150);
	assert_non_null(strstr(rig_agent_got(&R), "\"id\":1,\"error\":{\"code\":-32001"));
	assert_non_null(strstr(rig_server_got(&R),
	    "\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1,"));
	assert_null(strstr(rig_agent_got(&R), "\"id\":2"));
	rig_agent(&R, ASK0("notifications/cancelled", "\"requestId\":1"));
	assert_string_equal(rig_server_got(&R), "");
	agent_refused(CALL("1", "\"slow\""), "-32600");
	server_dropped("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
	agent_passes(CALL("1", "\"slow\""));
	server_passes("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
	server_passes("{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}");
	assert_int_equal(R.ends, 0);
	rig_close(&R);
}

/* A person may be answering: the deadline stands still, but not for ever. */
static void
deadline_stands_still(void **state)
{
	static const struct sealed_limit limit[] = {
	    {.kind = TIMEOUT_CALL, .value = 100},
	    {.kind = TIMEOUT_ASK, .value = 300},
	};

	(void)state;
	open_limits(limit, 2);
	agent_passes(CALL("1", "\"slow\""));
	server_passes(ASK("1", "elicitation/create", ""));
	buf_clear(&R.agent_got);
	rig_run(&R, 200);
	assert_string_equal(rig_agent_got(&R), "");
	agent_passes("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
	server_passes("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
	agent_passes(CALL("2", "\"slow\""));
	server_passes(ASK("2", "elicitation/create", ""));
	/* Cancelling and asking again makes no new time. */
	rig_run(&R, 150);
	server_passes(ASK0("notifications/cancelled", "\"requestId\":2"));
	server_passes(ASK("3", "elicitation/create", ""));
	buf_clear(&R.agent_got);
	rig_run(&R, 450);
	assert_non_null(strstr(rig_agent_got(&R), "\"id\":2,\"error\":{\"code\":-32001"));
	rig_close(&R);
}

static void
start_and_idle(void **state)
{
	static const struct sealed_limit start[] = {{.kind = TIMEOUT_START, .value = 60}};
	static const struct sealed_limit idle[] = {{.kind = TIMEOUT_IDLE, .value = 60}};

	(void)state;
	open_limits(start, 1);
	rig_run(&R, 100);
	assert_int_equal(R.ends, 0);
	agent_passes(ASK("0", "initialize", ""));
	rig_run(&R, 150);
	assert_non_null(strstr(rig_agent_got(&R), "\"id\":0,\"error\":{\"code\":-32001"));
	assert_int_equal(R.ends, 1);
	rig_close(&R);
	open_limits(idle, 1);
	agent_passes(ASK("0", "x", ""));
	rig_run(&R, 150);
	assert_int_equal(R.ends, 0); /* a call is under way */
	server_passes("{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{}}");
	rig_run(&R, 150);
	assert_string_equal(R.why, "idle");
	rig_close(&R);
}

static void
cancel(void **state)
{
	(void)state;
	open_all(false);
	agent_passes(CALL("1", "\"a\""));
	agent_passes(ASK0("notifications/cancelled", "\"requestId\":1"));
	server_passes("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"); /* crossed it */
	server_dropped("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
	agent_passes(ASK0("notifications/cancelled", "\"requestId\":1"));
	server_passes(ASK("9", "sampling/createMessage", ""));
	server_passes(ASK0("notifications/cancelled", "\"requestId\":9"));
	agent_passes("{\"jsonrpc\":\"2.0\",\"id\":9,\"result\":{}}");
	assert_int_equal(R.session->person, 0);
	rig_close(&R);
}

/* ---- the record -------------------------------------------------------------- */

static void
no_record_no_act(void **state)
{
	(void)state;
	open_all(false);
	rig_report_error = -ENOBUFS;
	agent_refused(CALL("1", "\"a\""), "-32005");
	rig_server(&R, ASK("1", "roots/list", ""));
	assert_string_equal(rig_agent_got(&R), "");
	rig_report_error = 0;
	agent_passes(CALL("1", "\"a\""));
	rig_close(&R);
}

/* ---- the ends ----------------------------------------------------------------- */

/* S2-30 */
static void
agent_leaves(void **state)
{
	(void)state;
	for (int pipes = 0; pipes < 2; pipes++) {
		char c;

		open_all(pipes);
		agent_passes(CALL("1", "\"a\""));
		if (pipes)
			fd_close(&R.from_agent);
		else
			shutdown(R.from_agent, SHUT_WR);
		rig_run(&R, 10);
		assert_int_equal(R.ends, 1);
		assert_string_equal(R.why, "agent closed its end");
		fd_nonblock(R.into, true);
		assert_int_equal(read(R.into, &c, 1), 0); /* the server sees it too */
		server_passes("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
		rig_close(&R);
	}
}

static void
server_leaves(void **state)
{
	static const char note[] = "{\"jsonrpc\":\"2.0\",\"method\":\"n\"}\n";
	static const char half[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\nhalf";

	(void)state;
	open_all(false);
	agent_passes(CALL("1", "\"a\""));
	agent_passes(CALL("2", "\"a\""));
	rig_bytes(&R, R.out, half, sizeof(half) - 1);
	fd_close(&R.out);
	rig_run(&R, 10);
	assert_non_null(
	    strstr(rig_agent_got(&R), "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\""));
	assert_non_null(strstr(rig_agent_got(&R), "\"id\":2,\"error\":{\"code\":-32000"));
	assert_int_equal(R.ends, 1);
	assert_true(session_drained(R.session));
	agent_refused(CALL("3", "\"a\""), "-32000");
	rig_close(&R);
	open_all(true);
	agent_passes(CALL("1", "\"a\""));
	buf_clear(&R.agent_got);
	assert_int_equal(write(R.out, note, sizeof(note) - 1), sizeof(note) - 1);
	session_server_gone(R.session, "killed");
	rig_run(&R, 0);
	assert_non_null(strstr(rig_agent_got(&R), "\"method\":\"n\""));
	assert_non_null(strstr(rig_agent_got(&R), "gone: killed"));
	assert_string_equal(R.why, "killed");
	rig_close(&R);
}

static void
start_refused(void **state)
{
	static const char say[] = "\n{\"jsonrpc\":\"2.0\",\"method\":\"n\"}\nnoise\n" ASK(
	    "\"a\"", "initialize", "") "\n";
	int fd[2];
	char got[512];
	ssize_t n;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	assert_int_equal(write(fd[0], say, sizeof(say) - 1), sizeof(say) - 1);
	session_refuse(fd[1], fd[1], "toy.kennel:3: no \"such\" file", 1000);
	n = read(fd[0], got, sizeof(got) - 1);
	assert_true(n > 0);
	got[n] = '\0';
	assert_non_null(strstr(got, "\"id\":\"a\",\"error\":{\"code\":-32000"));
	assert_non_null(strstr(got, "\"kennel\":{"));
	assert_non_null(strstr(got, "toy.kennel:3"));
	session_refuse(fd[1], fd[1], "again", 50); /* nobody asks: it returns */
	close(fd[0]);
	session_refuse(fd[1], fd[1], "again", 50);
	close(fd[1]);
}

/* ---- what the fuzzer knows ---------------------------------------------------- */

static void
replay(const char *name, const uint8_t *bytes, size_t len)
{
	(void)name;
	(void)LLVMFuzzerTestOneInput(bytes, len); /* aborts where it is wrong */
}

static void
corpus(void **state)
{
	(void)state;
	if (corpus_each("tests/fuzz/corpus/session", replay) == 0) {
		print_message("skipped: tests/fuzz/corpus/session is not here\n");
		skip();
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(handshake),
	    cmocka_unit_test(every_method),
	    cmocka_unit_test(tool_gate),
	    cmocka_unit_test(other_gates),
	    cmocka_unit_test(list_filter),
	    cmocka_unit_test(capabilities),
	    cmocka_unit_test(elicitation_by_error),
	    cmocka_unit_test(ids),
	    cmocka_unit_test(answer_twice),
	    cmocka_unit_test(many_calls),
	    cmocka_unit_test(batches),
	    cmocka_unit_test(bad_lines),
	    cmocka_unit_test(oversize),
	    cmocka_unit_test(huge),
	    cmocka_unit_test(backpressure),
	    cmocka_unit_test(deadline),
	    cmocka_unit_test(deadline_stands_still),
	    cmocka_unit_test(start_and_idle),
	    cmocka_unit_test(cancel),
	    cmocka_unit_test(no_record_no_act),
	    cmocka_unit_test(agent_leaves),
	    cmocka_unit_test(server_leaves),
	    cmocka_unit_test(start_refused),
	    cmocka_unit_test(corpus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
