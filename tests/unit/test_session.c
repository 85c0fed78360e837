/*
 * A session against a scripted agent and a scripted server: what passes byte
 * for byte, what is cut, what is refused.
 */
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "supervisor/audit/log/merkle.h"
#include "tests/unit/mcp_expect.h"

/* ---- transparency: every method, both ways ------------------------------- */

/* S3-44 S4-14 S4-15 */
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

#define MODERN "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}"

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
	/* Without a uri it is what that version says of it: no such method. */
	agent_refused(ASK("12", "resources/subscribe", ""), "-32602");
	agent_refused(ASK("13", "resources/subscribe", MODERN), "-32601");
	agent_refused(ASK("14", "resources/read", MODERN), "-32602");
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
	agent_sees("{\"jsonrpc\":\"2.0\",\"id\":\"\\u0031\",\"result\":{}}",
	    "{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"result\":{}}\n");
	server_passes("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
	server_dropped("{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"result\":{}}");
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
	agent_passes(ASK("\"list\"", "tools/list", ""));
	for (int i = 1; i < MCP_CALLS_MAX; i++) {
		snprintf(line, sizeof(line),
		    "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"x\"}", i);
		rig_agent(&R, line);
		assert_int_equal(R.server_got.len, strlen(line) + 1);
	}
	agent_refused(ASK("99999", "x", ""), "too many");
	server_passes("{\"jsonrpc\":\"2.0\",\"id\":77,\"result\":{}}");
	agent_passes(ASK("99999", "x", ""));
	/* A cancelled call gives its place up, but not a list: its late answer
	 * would pass uncut as that of another question with this id. */
	agent_passes(ASK0("notifications/cancelled", "\"requestId\":\"list\""));
	agent_refused(ASK("100000", "x", ""), "too many");
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

static void
lost(void *rig, const char *why)
{
	(void)rig, (void)why;
}

static bool
need(void *rig, char *text, size_t cap)
{
	(void)rig, (void)text, (void)cap;
	return true;
}

/* The first answer of a restarted server ends the wait of the agent's lines: they are
 * handled after the array that it is in, because both use one list of cuts. */
static void
batch_that_greets_again(void **state)
{
	static const char passed[] =
	    "[{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}]\n";
	char line[400], id[64];
	int in[2], out[2];

	(void)state;
	open_some(0);
	R.session->o.lost = lost;
	R.session->o.need = need;
	negotiate("2025-03-26");
	close(R.out);
	close(R.into);
	R.out = R.into = -1;
	rig_run(&R, 20);
	/* in one read, so that both are here when the wait ends */
	rig_agent(&R, CALL("1", "\"read_a\"") "\n[" CALL("2", "\"no\"") "," ASK(
			  "3", "ping", "") "]");
	assert_string_equal(rig_agent_got(&R), "");
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, in), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, out), 0);
	R.into = in[0];
	R.out = out[1];
	fd_nonblock(in[0], true);
	assert_int_equal(session_back(R.session, in[1], out[0]), 0);
	rig_run(&R, 20);
	assert_int_equal(
	    sscanf(rig_server_got(&R), "{\"jsonrpc\":\"2.0\",\"id\":%63[^,]", id), 1);
	(void)snprintf(line, sizeof(line),
	    "[{\"jsonrpc\":\"2.0\",\"id\":9,\"result\":{\"late\":1}},"
	    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"},"
	    "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"protocolVersion\":"
	    "\"2025-03-26\"}}]",
	    id);
	rig_server(&R, line);
	assert_non_null(strstr(rig_server_got(&R), "notifications/initialized"));
	assert_non_null(strstr(rig_server_got(&R), CALL("1", "\"read_a\"") "\n"));
	assert_non_null(strstr(rig_server_got(&R), "[" ASK("3", "ping", "") "]\n"));
	assert_ptr_equal(strstr(rig_agent_got(&R), passed), rig_agent_got(&R));
	assert_null(strstr(rig_agent_got(&R), "protocolVersion"));
	rig_close(&R);
}

/* The processor's digest is libsodium's, at every length around a block. */
static void
digests(void **state)
{
	static uint8_t bytes[100000], ours[MERKLE_HASH_LEN], theirs[MERKLE_HASH_LEN];

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 31 + i / 253);
	for (size_t len = 0; len < 300; len++) {
		mcp_digest(bytes + len % 7, len, ours);
		merkle_digest(bytes + len % 7, len, theirs);
		assert_memory_equal(ours, theirs, sizeof(ours));
	}
	mcp_digest(bytes, sizeof(bytes), ours);
	merkle_digest(bytes, sizeof(bytes), theirs);
	assert_memory_equal(ours, theirs, sizeof(ours));
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
	    cmocka_unit_test(batch_that_greets_again),
	    cmocka_unit_test(digests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
