/*
 * Pings to a server that has nothing to do: when one is due, and what follows from three
 * without an answer. The tests turn the session's clock back instead of waiting.
 */
#include "supervisor/mcp/rpc.h"
#include "tests/unit/mcp_expect.h"

#define QUIET_NS (30000 * LOOP_MS)
#define GREETING \
	"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{" \
	"\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{}}}"
#define GREETED \
	"{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"protocolVersion\":" \
	"\"2025-11-25\",\"capabilities\":{}}}"
#define ONE_CALL \
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{" \
	"\"name\":\"a\",\"arguments\":{}}}"

static char id[64]; /* of the last ping, with its quotes */

static void
greet(const struct sealed_limit *limit, size_t n)
{
	open_limits(limit, n);
	agent_passes(GREETING);
	server_passes(GREETED);
}

/* 30 s pass without traffic. True: the server got a ping. */
static bool
pinged(void)
{
	const char *got;

	buf_clear(&R.agent_got);
	buf_clear(&R.server_got);
	R.session->health.at -= QUIET_NS;
	session_arm(R.session);
	rig_run(&R, 0);
	assert_string_equal(rig_agent_got(&R), "");
	got = rig_server_got(&R);
	id[0] = '\0';
	return sscanf(got, "{\"jsonrpc\":\"2.0\",\"id\":%63[^,],\"method\":\"ping\"}",
		   id) == 1;
}

/* A line of the server that the agent does not get. */
static void
answers(const char *body)
{
	char line[256];

	(void)snprintf(
	    line, sizeof(line), "{\"jsonrpc\":\"2.0\",\"id\":%s,%s}", id, body);
	rig_server(&R, line);
	assert_string_equal(rig_agent_got(&R), "");
}

/* What the server learns from the ids of its pings is of no use toward the agent. */
static void
ids_of_two_directions(void **state)
{
	char agent_id[64];

	greet(NULL, 0);
	assert_true(pinged());
	buf_clear(&R.agent_got);
	pings_send(R.session);
	assert_int_equal(frame_flush(&R.session->to_agent), 0);
	rig_run(&R, 0);
	assert_int_equal(
	    sscanf(rig_agent_got(&R), "{\"jsonrpc\":\"2.0\",\"id\":%63[^,],", agent_id),
	    1);
	assert_int_equal(strncmp(id, "\"kennel-", 8), 0);
	assert_int_equal(strncmp(agent_id, "\"kennel-", 8), 0);
	assert_int_not_equal(strncmp(id + 8, agent_id + 8, 16), 0);
	rig_close(&R);
}

static void
three_without_an_answer(void **state)
{
	(void)state;
	greet(NULL, 0);
	for (int i = 0; i < 3; i++)
		assert_true(pinged());
	assert_int_equal(R.ends, 0);
	assert_false(pinged());
	assert_int_equal(R.ends, 1);
	assert_string_equal(R.why, "it did not answer three pings");
	assert_true(session_server_hung(R.session));
	rig_close(&R);
}

static void
any_answer_counts(void **state)
{
	(void)state;
	greet(NULL, 0);
	for (int i = 0; i < 8; i++) {
		assert_true(pinged());
		if (i % 2 == 0)
			continue;
		answers(i % 4 == 1 ? "\"result\":{}"
				   : "\"error\":{\"code\":-32601,\"message\":\"no\"}");
	}
	assert_int_equal(R.ends, 0);
	/* what else it sends counts too */
	assert_true(pinged());
	assert_true(pinged());
	server_passes(
	    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{"
	    "\"level\":\"info\",\"data\":1}}");
	assert_true(pinged());
	assert_int_equal(R.ends, 0);
	/* they are no calls, and not in the log */
	assert_null(strstr(rig_events, "ping"));
	rig_close(&R);
}

static void
none_while_a_call_is_open(void **state)
{
	(void)state;
	greet(NULL, 0);
	agent_passes(ONE_CALL);
	for (int i = 0; i < 5; i++)
		assert_false(pinged());
	server_passes("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
	assert_true(pinged());
	/* a request of the server's waits for the agent */
	server_passes("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"roots/list\"}");
	assert_false(pinged());
	agent_passes("{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"roots\":[]}}");
	assert_true(pinged());
	rig_close(&R);
}

static void
none_without_pings(void **state)
{
	(void)state;
	open_all(false);
	assert_false(pinged()); /* not greeted */
	agent_passes("{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"server/"
		     "discover\",\"params\":{}}");
	server_passes("{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"supportedVersions\":["
		      "\"2026-07-28\"],\"capabilities\":{}}}");
	assert_false(pinged());
	rig_close(&R);
}

/* An agent cannot take one back, and its own id stays free of it. */
static void
not_the_agents(void **state)
{
	char line[256];

	(void)state;
	greet(NULL, 0);
	assert_true(pinged());
	(void)snprintf(line, sizeof(line),
	    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
	    "\"requestId\":%s}}",
	    id);
	rig_agent(&R, line);
	assert_string_equal(rig_server_got(&R), "");
	answers("\"result\":{}");
	rig_close(&R);
}

/* An idle server that answers pings is idle: `timeout idle` counts on. */
static void
idle(void **state)
{
	static const struct sealed_limit limit[] = {
	    {.kind = TIMEOUT_IDLE, .value = 90000}};
	uint64_t was;

	(void)state;
	greet(limit, 1);
	was = R.session->active_at -= QUIET_NS;
	assert_true(pinged());
	answers("\"result\":{}");
	assert_true(R.session->active_at == was);
	R.session->active_at -= 2 * QUIET_NS;
	session_arm(R.session);
	rig_run(&R, 0);
	assert_int_equal(R.ends, 1);
	assert_string_equal(R.why, "idle");
	rig_close(&R);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(ids_of_two_directions),
	    cmocka_unit_test(three_without_an_answer),
	    cmocka_unit_test(any_answer_counts),
	    cmocka_unit_test(none_while_a_call_is_open),
	    cmocka_unit_test(none_without_pings),
	    cmocka_unit_test(not_the_agents),
	    cmocka_unit_test(idle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
