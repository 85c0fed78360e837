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
	agent_passes(ASK("0", "ping", "")); /* a call's own time begins after an answer */
	server_passes("{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{}}");
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
	agent_passes(ASK("0", "ping", "")); /* a call's own time begins after an answer */
	server_passes("{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{}}");
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

#define PING "{\"jsonrpc\":\"2.0\",\"id\":\"kennel-"

static void
greet(const char *version)
{
	char text[200];

	agent_passes(ASK("0", "initialize", ""));
	snprintf(text, sizeof(text),
	    "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"protocolVersion\":\"%s\"}}",
	    version);
	server_passes(text);
}

/* The id of kennel's ping, as written: "" where there is none. */
static const char *
pinged(void)
{
	static char id[64];
	const char *at;

	buf_clear(&R.agent_got);
	pings_send(R.session);
	session_recorded(R.session);
	rig_run(&R, 0);
	at = strstr(rig_agent_got(&R), PING);
	id[0] = '\0';
	if (at != NULL)
		assert_int_equal(sscanf(at + strlen(PING) - 8, "%63[^,]", id), 1);
	return id;
}

static const char *
answer_to(const char *id, const char *body)
{
	static char line[200];

	snprintf(line, sizeof(line), "{\"jsonrpc\":\"2.0\",\"id\":%s,%s}", id, body);
	return line;
}

/* Kennel asks for a sign of life and keeps the answer; the next one has another
 * name, and none is sent while one is out. */
static void
pings_are_sent(void **state)
{
	char first[64];

	(void)state;
	open_limits(limits, 2);
	greet("2025-11-25");
	snprintf(first, sizeof(first), "%s", pinged());
	assert_true(strlen(first) > strlen("\"kennel-\""));
	assert_string_equal(pinged(), "");
	rig_agent(&R, answer_to(first, "\"result\":{}"));
	assert_string_equal(rig_server_got(&R), "");
	assert_null(strstr(rig_events, "dropped"));
	assert_string_not_equal(pinged(), "");
	assert_string_not_equal(pinged(), first);
	pings_end(R.session);
	assert_non_null(strstr(rig_events, "call kennel ping 1 of 2 answered"));
	/* control: what nobody asked for is thrown away, and that is said */
	rig_agent(&R, answer_to(first, "\"result\":{}"));
	assert_string_equal(rig_server_got(&R), "");
	assert_non_null(strstr(rig_events, "dropped agent"));
	rig_close(&R);
}

/* Its id is in nobody's way: what the server names so is refused, and cannot be
 * cancelled by it. */
static void
pings_are_kennels(void **state)
{
	char line[200], id[64];

	(void)state;
	open_limits(limits, 2);
	greet("2025-03-26");
	snprintf(id, sizeof(id), "%s", pinged());
	snprintf(line, sizeof(line),
	    "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"ping\"}", id);
	rig_server(&R, line);
	assert_string_equal(rig_agent_got(&R), "");
	assert_non_null(strstr(rig_server_got(&R), "this id is still in use"));
	snprintf(line, sizeof(line),
	    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
	    "\"requestId\":%s}}",
	    id);
	server_dropped(line);
	/* control: the server's own ping goes there and back */
	server_passes("{\"jsonrpc\":\"2.0\",\"id\":\"s\",\"method\":\"ping\"}");
	agent_passes("{\"jsonrpc\":\"2.0\",\"id\":\"s\",\"result\":{}}");
	/* who knows no pings is sent no other; the server hears nothing of it */
	rig_agent(&R, answer_to(id, "\"error\":{\"code\":-32601,\"message\":\"no\"}"));
	assert_string_equal(rig_server_got(&R), "");
	assert_string_equal(pinged(), "");
	rig_close(&R);
}

/* An answer that cannot be judged is one, and is not the server's either. */
static void
pings_answered_badly(void **state)
{
	(void)state;
	open_limits(limits, 2);
	greet("2024-11-05");
	rig_agent(&R, answer_to(pinged(), "\"result\":{},\"result\":{}"));
	assert_string_equal(rig_server_got(&R), "");
	assert_null(R.session->pings.open);
	assert_string_equal(pinged(), "");
	rig_close(&R);
}

/* Before the versions are agreed, and where there are no pings: none. */
static void
pings_have_their_time(void **state)
{
	static const struct {
		const char *version;
		bool pings;
	} known[] = {{"2024-11-05", true}, {"2025-03-26", true}, {"2025-06-18", true},
	    {"2025-11-25", true}, {"2026-07-28", false}, {"2031-01-01", false}};

	(void)state;
	for (size_t i = 0; i < N(known); i++) {
		open_limits(limits, 2);
		assert_string_equal(pinged(), "");
		greet(known[i].version);
		assert_int_equal(pinged()[0] != '\0', known[i].pings);
		rig_close(&R);
	}
}

/* By the clock, while somebody is asked and no longer. */
static void
pings_while_asked(void **state)
{
	(void)state;
	open_limits(limits, 2);
	greet("2025-11-25");
	buf_clear(&R.agent_got);
	session_program(R.session, 1, false);
	for (int i = 0; i < 200 && R.agent_got.len == 0; i++)
		rig_run(&R, 50);
	assert_non_null(strstr(rig_agent_got(&R), PING));
	assert_true(R.session->held_timer >= 0);
	session_program(R.session, -1, true);
	R.session->pings.open = NULL;
	buf_clear(&R.agent_got);
	loop_timer_stop(&R.loop, R.session->held_timer);
	R.session->held_timer = -1;
	held_arm(R.session);
	assert_int_equal(R.session->held_timer, -1);
	assert_string_equal(rig_agent_got(&R), "");
	rig_close(&R);
	assert_non_null(strstr(rig_events, "0 of 1 answered"));
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

/* 2025-03-26: each element has its own call, and its own place for the words. */
static void
refused_in_a_batch(void **state)
{
	const char *got, *at;

	(void)state;
	open_all(true);
	greet("2025-03-26");
	agent_passes(CALL("1", "\"old\""));
	rig_server(&R, "[" FAILED("1", TEXT("before")) "]"); /* nothing was refused yet */
	assert_null(strstr(rig_agent_got(&R), "kennel"));
	agent_passes("[" CALL("2", "\"a\"") "," CALL("3", "\"b\"") "," CALL(
	    "4", "\"c\"") "," CALL("5", "\"d\"") "]");
	session_exec_refused(R.session, &push);
	assert_non_null(strstr(rig_events, " 2 /usr/bin/git p.kennel:7"));
	assert_non_null(strstr(rig_events, " 5 /usr/bin/git p.kennel:7"));
	assert_null(strstr(rig_events, " 1 /usr/bin/git"));
	/* between them what may not pass: an answer to nothing */
	rig_server(&R,
	    "[" FAILED("77", TEXT("x")) "," FAILED("2",
		TEXT("two")) ","
			     "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"content\":"
			     "[" TEXT("fine") "]}}," FAILED("78",
				 TEXT("x")) ","
					    "{\"jsonrpc\":\"2.0\",\"id\":4,\"error\":{"
					    "\"code\":-1,\"message\":\"oh\"}}," FAILED(
						"5", "") "," FAILED("79", TEXT("x")) "]");
	got = rig_agent_got(&R);
	at = strstr(got, "[{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"content\":[" TEXT(
			     "two") ",{\"type\":\"text\",\"text\":\"kennel: ");
	assert_ptr_equal(at, got);
	at = strstr(at,
	    "pull request\"}],\"isError\":true}},{\"jsonrpc\":\"2.0\",\"id\":3,"
	    "\"result\":{\"content\":[" TEXT("fine") "]}},");
	assert_non_null(at);
	at = strstr(at, "\"message\":\"oh (kennel: ");
	assert_non_null(at);
	at = strstr(at, "pull request)\"}},{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{"
			"\"content\":[{\"type\":\"text\",\"text\":\"kennel: ");
	assert_non_null(at);
	assert_non_null(strstr(at, "pull request\"}],\"isError\":true}}]\n"));
	assert_null(strchr(strchr(got, '\n') + 1, '\n')); /* one line */
	/* and what came before it is not said again */
	agent_passes(CALL("6", "\"c\""));
	server_passes("[" FAILED("6", TEXT("x")) "]");
	rig_close(&R);
}

static void
hears(void *arg)
{
	if ((*(int *)arg)++ == 0)
		session_exec_refused(R.session, &push);
}

/* What the leash has said counts for every element, though only some failed. */
static void
a_batch_is_heard_for(void **state)
{
	int n = 0;

	(void)state;
	open_all(true);
	greet("2025-03-26");
	R.session->o.hear = hears;
	R.session->o.hear_arg = &n;
	agent_passes("[" CALL("1", "\"a\"") "," CALL("2", "\"b\"") "]");
	rig_server(
	    &R, "[{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[]}}," FAILED(
		    "2", TEXT("x")) "]");
	assert_int_equal(n, 1);
	assert_non_null(strstr(rig_agent_got(&R), "Instead: open a pull request"));
	assert_non_null(strstr(rig_events, " 1 /usr/bin/git"));
	assert_non_null(strstr(rig_events, " 2 /usr/bin/git"));
	rig_close(&R);
}

/* As much as one line may hold: the rest of the elements pass as they are. */
static void
a_batch_is_bounded(void **state)
{
	enum { CALLS = 4000 };
	char *line = malloc(CALLS * 200), *at = line;
	size_t said = 0;

	(void)state;
	open_all(true);
	greet("2025-03-26");
	for (int i = 0; i < CALLS; i++)
		at += sprintf(at,
		    "%c{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/"
		    "call\",\"params\":{\"name\":\"a\"}}",
		    i == 0 ? '[' : ',', i);
	strcpy(at, "]");
	agent_passes(line);
	session_exec_refused(R.session, &push);
	at = line;
	for (int i = 0; i < CALLS; i++)
		at += sprintf(at,
		    "%c{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{\"isError\":"
		    "true,\"content\":[]}}",
		    i == 0 ? '[' : ',', i);
	strcpy(at, "]");
	rig_server(&R, line);
	for (const char *p = rig_agent_got(&R); (p = strstr(p, "Instead")) != NULL; p++)
		said++;
	assert_true(said > 100 && said <= CALLS);
	assert_true(R.agent_got.len <= strlen(line) + 1 + (1u << 20));
	free(line);
	rig_close(&R);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(time_stands),
	    cmocka_unit_test(time_is_bounded),
	    cmocka_unit_test(pings_are_answered),
	    cmocka_unit_test(pings_are_sent),
	    cmocka_unit_test(pings_are_kennels),
	    cmocka_unit_test(pings_answered_badly),
	    cmocka_unit_test(pings_have_their_time),
	    cmocka_unit_test(pings_while_asked),
	    cmocka_unit_test(progress_is_told),
	    cmocka_unit_test(refused_is_told),
	    cmocka_unit_test(refused_in_other_answers),
	    cmocka_unit_test(refused_in_a_batch),
	    cmocka_unit_test(a_batch_is_heard_for),
	    cmocka_unit_test(a_batch_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
