/*
 * Programs that a server starts, as its session sees them: while a person is
 * asked about one, time stands and kennel answers; what was refused is put
 * together with the calls that were open.  MCP-ATTACKS 27.
 */
#include <unistd.h>

#include "tests/unit/mcp_expect.h"

#define FAILED(id, content) \
	"{\"jsonrpc\":\"2.0\",\"id\":" id ",\"result\":{\"content\":[" content \
	"],\"isError\":true}}"
#define TEXT(t) "{\"type\":\"text\",\"text\":\"" t "\"}"

static const struct session_refusal push = {.program = "/usr/bin/git",
    .rule = "p.kennel:7",
    .because = "pushing \"needs\" a review",
    .instead = "open a pull request",
    .reason = ""};

static const struct sealed_limit limits[] = {
    {.kind = TIMEOUT_CALL, .value = 100},
    {.kind = TIMEOUT_ASK, .value = 60000},
};

/* S3-34: the deadline of a call, of the start. */
static void
time_stands(void **state)
{
	static const struct sealed_limit start[] = {
	    {.kind = TIMEOUT_START, .value = 60}, {.kind = TIMEOUT_ASK, .value = 60000}};

	(void)state;
	open_limits(limits, 2);
	agent_passes(CALL("1", "\"slow\""));
	session_program(R.session, 1, false);
	rig_run(&R, 250);
	assert_string_equal(rig_agent_got(&R), "");
	session_program(R.session, -1, true);
	rig_run(&R, 250);
	assert_non_null(strstr(rig_agent_got(&R), "\"id\":1,\"error\":{\"code\":-32001"));
	rig_close(&R);
	open_limits(start, 2);
	agent_passes(ASK("1", "initialize", ""));
	session_program(R.session, 1, false);
	rig_run(&R, 200);
	assert_int_equal(R.ends, 0);
	session_program(R.session, -1, false);
	rig_run(&R, 200);
	assert_int_equal(R.ends, 1);
	rig_close(&R);
}

/* Nobody answers, again and again: the calls that were open get no more time than
 * one question has; the next call begins anew. */
static void
time_is_bounded(void **state)
{
	static const struct sealed_limit limit[] = {
	    {.kind = TIMEOUT_CALL, .value = 50}, {.kind = TIMEOUT_ASK, .value = 100}};

	(void)state;
	open_limits(limit, 2);
	agent_passes(CALL("1", "\"slow\""));
	for (int i = 0; i < 4; i++) {
		session_program(R.session, 1, false);
		rig_run(&R, 80);
		session_program(R.session, -1, false);
	}
	assert_non_null(strstr(rig_events, "timeout"));
	agent_passes(CALL("2", "\"slow\""));
	assert_int_equal(R.session->budget_ns, 100 * LOOP_MS);
	rig_close(&R);
}

static void
pings_are_answered(void **state)
{
	(void)state;
	open_limits(limits, 2);
	agent_passes(ASK("1", "ping", ""));
	server_passes("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
	session_program(R.session, 1, false);
	buf_clear(&R.agent_got);
	buf_clear(&R.server_got);
	rig_agent(&R, ASK("\"p\"", "ping", ""));
	assert_string_equal(
	    rig_agent_got(&R), "{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"result\":{}}\n");
	assert_string_equal(rig_server_got(&R), "");
	assert_non_null(strstr(rig_events, "answered by kennel"));
	session_program(R.session, -1, true);
	agent_passes(ASK("\"p\"", "ping", ""));
	rig_close(&R);
}

/* More than the server said last, and only where it was asked for. */
static void
progress_is_told(void **state)
{
	(void)state;
	open_limits(limits, 2);
	R.session->asks_programs = true;
	agent_passes(
	    ASK("1", "tools/call", "\"name\":\"a\",\"_meta\":{\"progressToken\":\"t\"}"));
	agent_passes(CALL("2", "\"b\""));
	server_passes(
	    ASK0("notifications/progress", "\"progressToken\":\"t\",\"progress\":41.5"));
	buf_clear(&R.agent_got);
	programs_progress(R.session); /* nothing is asked */
	session_program(R.session, 1, false);
	rig_run(&R, 20);
	assert_non_null(strstr(rig_agent_got(&R),
	    "\"params\":{\"progressToken\":\"t\",\"progress\":41.500001,"));
	assert_null(strstr(strchr(rig_agent_got(&R), '\n') + 1, "progress"));
	rig_close(&R);
}

static void
refused_is_told(void **state)
{
	static const struct session_refusal plain = {
	    "/bin/x", "", "", "", "no grant names this file"};
	const char *got;

	(void)state;
	open_all(true);
	session_exec_refused(R.session, &push); /* no call is open */
	agent_passes(CALL("1", "\"a\""));
	agent_passes(CALL("2", "\"b\""));
	session_exec_refused(R.session, &push);
	session_exec_refused(R.session, &push);
	session_exec_refused(R.session, &plain);
	assert_non_null(strstr(rig_events, " 1 /usr/bin/git p.kennel:7"));
	assert_non_null(strstr(rig_events, " 2 /bin/x no grant names this file"));
	rig_server(&R, FAILED("1", TEXT("died")));
	got = rig_agent_got(&R);
	assert_non_null(
	    strstr(got, TEXT("died") ",{\"type\":\"text\",\"text\":\"kennel: "));
	assert_non_null(
	    strstr(got, "pushing \\u0022needs\\u0022 a review. Instead: open a "
			"pull request\"}],\"isError\":true}}\n"));
	assert_null(strstr(strstr(got, "Instead") + 1, "Instead")); /* once */
	assert_null(strstr(got, "/bin/x")); /* the policy has no words for it */
	server_passes("{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"content\":[]}}");
	agent_passes(CALL("3", "\"c\"")); /* after it all */
	server_passes(FAILED("3", TEXT("x")));
	rig_close(&R);
}

static void
refused_in_other_answers(void **state)
{
	(void)state;
	open_all(true);
	agent_passes(CALL("1", "\"a\""));
	agent_passes(CALL("2", "\"a\""));
	agent_passes(CALL("3", "\"a\""));
	agent_passes(ASK("4", "tools/list", ""));
	session_exec_refused(R.session, &push);
	rig_server(&R, FAILED("1", ""));
	assert_non_null(strstr(
	    rig_agent_got(&R), "\"content\":[{\"type\":\"text\",\"text\":\"kennel: "));
	rig_server(&R, "{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-1,\"message\":"
		       "\"oh\"}}");
	assert_non_null(strstr(rig_agent_got(&R), "\"message\":\"oh (kennel: "));
	assert_non_null(strstr(rig_agent_got(&R), "pull request)\"}}\n"));
	/* what has no place for it stays as it is */
	server_passes("{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"isError\":true,"
		      "\"content\":7}}");
	server_passes("{\"jsonrpc\":\"2.0\",\"id\":4,\"error\":{\"code\":-1,\"message\":"
		      "\"oh\"}}");
	rig_close(&R);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(time_stands),
	    cmocka_unit_test(time_is_bounded),
	    cmocka_unit_test(pings_are_answered),
	    cmocka_unit_test(progress_is_told),
	    cmocka_unit_test(refused_is_told),
	    cmocka_unit_test(refused_in_other_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
