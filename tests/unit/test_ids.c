/*
 * Ids and progress tokens as values: a peer that writes one otherwise is understood, and the
 * other side gets its own bytes back. What is another value stays unknown.
 */
#include "supervisor/mcp/line/id.h"
#include "tests/unit/mcp_expect.h"

#define ANSWER(id) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"result\":{}}"
#define PROGRESS(token) \
	ASK0("notifications/progress", "\"progressToken\":" token ",\"progress\":1")
#define CANCEL(id)    ASK0("notifications/cancelled", "\"requestId\":" id)
#define WITH_TOKEN(t) "\"name\":\"a\",\"_meta\":{\"progressToken\":" t "}"

static struct json
scanned(const char *text, struct json_message *m)
{
	assert_int_equal(json_scan((const uint8_t *)text, strlen(text), m), 0);
	return m->root;
}

static bool
same(const char *a, const char *b)
{
	struct json_message left, right;

	return id_same(scanned(a, &left), scanned(b, &right));
}

static void
numbers_are_values(void **state)
{
	static const char *const one[] = {
	    "1", "1.0", "1e0", "1E0", "10e-1", "0.1e1", "1.000"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(one); i++)
		for (size_t k = 0; k < ARRAY_LEN(one); k++)
			assert_true(same(one[i], one[k]));
	assert_true(same("0", "-0"));
	assert_true(same("0.0", "0e99"));
	assert_true(same("-3", "-3.0"));
	assert_true(same("9007199254740992", "9007199254740992.0"));
	assert_true(same("\"a\"", "\"\\u0061\""));
	assert_false(same("1", "-1"));
	assert_false(same("1", "10"));
	assert_false(same("1", "\"1\""));
	assert_false(same("1", "1.0000000001"));
	assert_false(same("9007199254740992", "9007199254740993"));
	/* beyond 2^53 as written */
	assert_true(same("9007199254740993", "9007199254740993"));
	assert_false(same("9007199254740993", "9007199254740993.0"));
	assert_false(same("1e20", "100000000000000000000"));
	assert_false(same("1e999999999999999999999", "1e9999999999999999999999"));
	assert_false(same("null", "null"));
}

static void
answers_have_the_asker_s_bytes(void **state)
{
	static const struct {
		const char *asked, *answered;
	} row[] = {
	    {"1", "1.0"},
	    {"0", "0.0"},
	    {"1.0", "1"},
	    {"1e0", "1"},
	    {"7", "\"7\""},
	    {"7", "\"7.0\""},
	    {"7", "\"\\u0037\""},
	    {"-4", "\"-4\""},
	    {"9007199254740993", "\"9007199254740993\""},
	    {"\"a\"", "\"\\u0061\""},
	};
	char line[200], want[200];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		open_all(false);
		(void)snprintf(line, sizeof(line),
		    "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"ping\"}", row[i].asked);
		agent_passes(line);
		(void)snprintf(line, sizeof(line),
		    "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{}}", row[i].answered);
		(void)snprintf(want, sizeof(want),
		    "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{}}\n", row[i].asked);
		agent_sees(line, want);
		server_dropped(line); /* once */
		rig_close(&R);
	}
}

static void
other_values_are_unknown(void **state)
{
	static const char *const no[] = {"2", "1.5", "\"one\"", "\"01\"", "\"1e0\"",
	    "\" 1\"", "\"0x1\"", "\"\"", "10", "-1"};
	char line[200];

	(void)state;
	open_all(false);
	agent_passes(ASK("1", "ping", ""));
	for (size_t i = 0; i < ARRAY_LEN(no); i++) {
		(void)snprintf(line, sizeof(line),
		    "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{}}", no[i]);
		server_dropped(line);
	}
	server_passes(ANSWER("1"));
	rig_close(&R);
}

/* The string is another open request: it is answered, and not the number. */
static void
a_string_that_is_open_is_itself(void **state)
{
	(void)state;
	open_all(false);
	agent_passes(ASK("1", "ping", ""));
	agent_passes(ASK("\"1\"", "tools/list", ""));
	agent_refused(ASK("1.0", "ping", ""), "-32600");
	server_passes(ANSWER("\"1\""));
	agent_sees(ANSWER("\"1\""), ANSWER("1") "\n"); /* now no other id reads so */
	rig_close(&R);
}

/* An agent gets no such leave: a string of its is not the number that a server chose. */
static void
an_agent_answers_numbers_by_value(void **state)
{
	(void)state;
	open_all(false);
	server_passes(ASK("5", "roots/list", ""));
	rig_agent(&R, ANSWER("\"5\""));
	assert_string_equal(rig_server_got(&R), "");
	rig_agent(&R, ANSWER("5.0"));
	assert_string_equal(rig_server_got(&R), ANSWER("5") "\n");
	rig_close(&R);
}

static void
a_list_is_filtered_however_its_id_is_written(void **state)
{
	(void)state;
	open_some(0);
	agent_passes(ASK("1", "tools/list", ""));
	agent_sees("{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"result\":{\"tools\":[{\"name\":"
		   "\"read_a\"},{\"name\":\"read_key\"}]}}",
	    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"tools\":[{\"name\":\"read_a\"}]}"
	    "}"
	    "\n");
	rig_close(&R);
}

static void
tokens_have_the_asker_s_bytes(void **state)
{
	(void)state;
	open_all(false);
	agent_passes(ASK("1", "tools/call", WITH_TOKEN("5")));
	agent_passes(ASK("2", "tools/call", WITH_TOKEN("\"t\"")));
	agent_sees(PROGRESS("5.0"), PROGRESS("5") "\n");
	agent_sees(PROGRESS("\"5\""), PROGRESS("5") "\n");
	agent_sees(PROGRESS("\"\\u0074\""), PROGRESS("\"t\"") "\n");
	server_passes(PROGRESS("5"));
	server_passes(PROGRESS("6.0")); /* of no call: as it is */
	server_passes(ANSWER("1"));
	server_passes(PROGRESS("5.0"));
	server_passes(ASK("9", "roots/list", "\"_meta\":{\"progressToken\":3}"));
	rig_agent(&R, PROGRESS("3.0"));
	assert_string_equal(rig_server_got(&R), PROGRESS("3") "\n");
	rig_close(&R);
}

static void
cancellations_have_the_asker_s_bytes(void **state)
{
	(void)state;
	open_all(false);
	agent_passes(ASK("1", "ping", ""));
	rig_agent(&R, CANCEL("1.0"));
	assert_string_equal(rig_server_got(&R), CANCEL("1") "\n");
	server_passes(ASK("4", "roots/list", ""));
	agent_sees(CANCEL("4e0"), CANCEL("4") "\n");
	rig_close(&R);
}

static void
a_subscription_has_the_asker_s_bytes(void **state)
{
#define UPDATED(id) \
	ASK0("notifications/tools/list_changed", \
	    "\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":" id "}")
	(void)state;
	open_all(false);
	agent_passes(ASK("3", "subscriptions/listen", "\"notifications\":{}"));
	agent_sees(UPDATED("3.0"), UPDATED("3") "\n");
	rig_close(&R);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(numbers_are_values),
	    cmocka_unit_test(answers_have_the_asker_s_bytes),
	    cmocka_unit_test(other_values_are_unknown),
	    cmocka_unit_test(a_string_that_is_open_is_itself),
	    cmocka_unit_test(an_agent_answers_numbers_by_value),
	    cmocka_unit_test(a_list_is_filtered_however_its_id_is_written),
	    cmocka_unit_test(tokens_have_the_asker_s_bytes),
	    cmocka_unit_test(cancellations_have_the_asker_s_bytes),
	    cmocka_unit_test(a_subscription_has_the_asker_s_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
