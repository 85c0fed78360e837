/*
 * What cannot be judged: it never passes, who waits for it is told at once, and
 * a flood of it is counted, not written down line by line.
 */
#include "tests/unit/mcp_expect.h"

#define RESULT(id, body) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"result\":" body "}"

/* ---- answers that cannot pass ------------------------------------------------ */

/* Id 1 is open; the line ends it with an error. */
static void
ends_the_call(const char *line, const char *why)
{
	open_all(false);
	agent_passes(ASK("1", "x", ""));
	agent_passes(ASK("2", "x", ""));
	rig_server(&R, line);
	if (strncmp(rig_agent_got(&R), "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":", 32) !=
		0 ||
	    strstr(rig_agent_got(&R), why) == NULL)
		fail_msg("%s: %s", line, rig_agent_got(&R));
	assert_non_null(strstr(rig_events, "dropped server"));
	server_dropped(RESULT("1", "{}")); /* it is over */
	server_passes(RESULT("2", "{}"));  /* the other one is not */
	rig_close(&R);
}

static void
lost_answers(void **state)
{
	char deep[400] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":", *p;

	(void)state;
	ends_the_call(RESULT("1", "\"\xc0\xaf\""), "UTF-8");
	ends_the_call(RESULT("1", "{\"\xff\":1}"), "UTF-8");
	ends_the_call(
	    "{\"result\":\"\xed\xa0\x80\",\"id\":1,\"jsonrpc\":\"2.0\"}", "UTF-8");
	ends_the_call(RESULT("1", "NaN"), "not JSON");
	ends_the_call(RESULT("1", "{\"a\":'b'}"), "not JSON");
	ends_the_call(RESULT("1", "{}") "}", "not JSON");
	ends_the_call(RESULT("1", "{}") "\r" RESULT("7", "{}"), "not JSON");
	ends_the_call(
	    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":1,\"result\":2}", "duplicate");
	ends_the_call(
	    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":1,\"x\":1,\"x\":2}", "duplicate");
	ends_the_call("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":1,\"error\":{}}", "both");
	ends_the_call("{\"jsonrpc\":\"1.0\",\"id\":1,\"result\":1}", "jsonrpc");
	p = deep + strlen(deep);
	memset(p, '[', 129);
	memset(p + 129, ']', 129);
	strcpy(p + 258, "}");
	ends_the_call(deep, "too deep");
}

/* Nobody's answer: no call ends. */
static void
no_answers(void **state)
{
	static const char *const line[] = {
	    "{\"level\":30,\"id\":1,\"msg\":\"listening\"}",
	    "{\"level\":30,\"id\":1,\"result\":\"listening\"}",
	    "{\"level\":30,\"id\":1,\"msg\":\"\xff\"}",
	    "{\"jsonrpc\":\"2.0\",\"result\":{\"id\":1,\"x\":\"\xff\"}}",
	    "{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"result\":\"\xff\"}",
	    "{\"jsonrpc\":\"2.0\",\"id\":1,\"params\":\"\xff\"}",
	    "{\"jsonrpc\":\"2.0\",\"id\":null,\"result\":\"\xff\"}",
	    "{\"jsonrpc\":\"2.0\",\"id\":[1],\"result\":\"\xff\"}",
	    "jsonrpc id 1 result \xff",
	    "\"id\":1,\"result\":2",
	};

	(void)state;
	open_all(false);
	agent_passes(ASK("1", "x", ""));
	for (size_t i = 0; i < N(line); i++)
		server_dropped(line[i]);
	server_passes(RESULT("1", "{}"));
	rig_close(&R);
}

/* The first answer of all: the deadline of the start is over with it. */
static void
lost_start(void **state)
{
	static const struct sealed_limit limit[] = {{.kind = TIMEOUT_START, .value = 50}};

	(void)state;
	open_limits(limit, 1);
	agent_passes(ASK("0", "initialize", ""));
	rig_server(&R, RESULT("0", "\"\xff\""));
	assert_non_null(strstr(rig_agent_got(&R), "\"id\":0,\"error\""));
	rig_run(&R, 120);
	assert_int_equal(R.ends, 0);
	rig_close(&R);
}

/* Requests of the server, and the agent's answers to them. */
static void
both_ways(void **state)
{
	(void)state;
	open_all(false);
	rig_server(&R, ASK("\"s\"", "roots/list", "\"a\":\"\xff\""));
	assert_string_equal(rig_agent_got(&R), "");
	assert_non_null(strstr(rig_server_got(&R), "\"id\":\"s\",\"error\""));
	rig_server(&R, ASK("5", "roots/list", "\"a\":1,\"a\":2"));
	assert_string_equal(rig_agent_got(&R), "");
	assert_non_null(strstr(rig_server_got(&R), "\"id\":5,\"error\""));

	server_passes(ASK("6", "roots/list", ""));
	rig_agent(&R, RESULT("6", "\"\xff\""));
	assert_string_equal(rig_agent_got(&R), "");
	assert_non_null(strstr(rig_server_got(&R), "\"id\":6,\"error\""));
	server_passes(ASK("7", "roots/list", ""));
	rig_agent(&R, "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":1,\"error\":2}");
	assert_string_equal(rig_agent_got(&R), "");
	assert_non_null(strstr(rig_server_got(&R), "\"id\":7,\"error\""));
	server_passes(ASK("7", "roots/list", "")); /* the id is free again */
	agent_passes(RESULT("7", "{}"));

	agent_refused(ASK("8", "ping", "\"a\":\"\xff\""), "\"id\":8,\"error\"");
	agent_refused("{\"id\":8,\"method\":\"ping\",", "\"id\":null,\"error\"");
	rig_close(&R);
}

/* ---- members ------------------------------------------------------------------ */

/* n members "k0", "k1"...; the last one is named last when that is given. */
static char *
members(const char *head, int n, const char *last, const char *tail)
{
	char *text = malloc((size_t)n * 16 + 200), *p = text;

	p += sprintf(p, "%s", head);
	for (int i = 0; i < n; i++)
		p += i == n - 1 && last != NULL ? sprintf(p, ",\"%s\":0", last)
						: sprintf(p, ",\"k%d\":0", i);
	sprintf(p, "%s", tail);
	return text;
}

static void
many_members(void **state)
{
	static const char head[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"";
	static const char params[] =
	    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":{\"z\":0";
	const struct {
		const char *head;
		int n;
		const char *last, *tail, *refused;
	} row[] = {
	    {head, 1024, NULL, "}", NULL},
	    {head, JSON_KEYS_MAX - 3, NULL, "}", NULL},
	    {head, JSON_KEYS_MAX - 2, NULL, "}", "more than 2048 members"},
	    {head, 1024, "k0", "}", "duplicate"},
	    {head, 1024, "k1022", "}", "duplicate"},
	    {head, 1024, "Method", "}", "duplicate"},
	    {params, 1024, NULL, "}}", NULL},
	    {params, JSON_KEYS_MAX - 1, NULL, "}}", NULL},
	    {params, JSON_KEYS_MAX, NULL, "}}", "more than 2048 members"},
	    {params, 100000, NULL, "}}", "more than 2048 members"},
	    {params, 1024, "k512", "}}", "duplicate"},
	    {params, 65, "z", "}}", "duplicate"},
	};

	(void)state;
	for (size_t i = 0; i < N(row); i++) {
		char *line = members(row[i].head, row[i].n, row[i].last, row[i].tail);

		open_all(false);
		if (row[i].refused == NULL)
			agent_passes(line);
		else
			agent_refused(line, row[i].refused);
		rig_close(&R);
		free(line);
	}
}

/* ---- batches ------------------------------------------------------------------ */

static void
one_array(void **state)
{
	char *big, *p;

	(void)state;
	open_some(ALL_FLAGS);
	agent_passes(ASK("0", "initialize", ""));
	server_passes(RESULT("0", "{\"protocolVersion\":\"2025-03-26\"}"));
	rig_agent(&R, "[" CALL("3", "\"no\"") "," ASK("4", "ping", "") ",7," CALL(
			  "5", "\"no\"") "]");
	assert_string_equal(rig_server_got(&R), "[" ASK("4", "ping", "") "]\n");
	assert_int_equal(
	    strncmp(rig_agent_got(&R), "[{\"jsonrpc\":\"2.0\",\"id\":3,", 25), 0);
	assert_non_null(strstr(rig_agent_got(&R), "},{\"jsonrpc\":\"2.0\",\"id\":null,"));
	assert_non_null(strstr(rig_agent_got(&R), "},{\"jsonrpc\":\"2.0\",\"id\":5,"));
	p = strchr(R.agent_got.len > 0 ? (char *)R.agent_got.data : "", '\n');
	assert_ptr_equal(p, (char *)R.agent_got.data + R.agent_got.len - 1);
	assert_int_equal(p[-1], ']');
	/* A server's: what may not pass is answered to it, and to the agent. */
	agent_passes(ASK("8", "tools/list", ""));
	rig_server(&R, "[" ASK("1", "ping", "\"a\":1,\"a\":1") "," RESULT(
			   "8", "{\"tools\":7}") "," RESULT("4", "{}") "]");
	assert_non_null(
	    strstr(rig_server_got(&R), "[{\"jsonrpc\":\"2.0\",\"id\":1,\"error\""));
	assert_non_null(strstr(rig_agent_got(&R), "[" RESULT("4", "{}") "]\n"));
	assert_non_null(
	    strstr(rig_agent_got(&R), "[{\"jsonrpc\":\"2.0\",\"id\":8,\"error\""));
	/* And not for ever. */
	big = members("[0", MCP_BATCH_MAX, NULL, "]");
	for (p = big; *p != '\0'; p++)
		if (*p == 'k' || *p == ':' || *p == '"')
			*p = *p == ':' ? '1' : '1';
	agent_refused(big, "at most 4096 elements");
	free(big);
	agent_passes(ASK("9", "ping", ""));
	rig_close(&R);
}

/* ---- floods ------------------------------------------------------------------- */

static size_t
count(const char *text, const char *what)
{
	size_t n = 0;

	for (; (text = strstr(text, what)) != NULL; text++)
		n++;
	return n;
}

static void
flood(void **state)
{
	(void)state;
	open_some(0);
	rig_events[0] = '\0';
	for (int i = 0; i < 5000; i++)
		rig_bytes(&R, R.out, "junk\n", 5);
	assert_string_equal(rig_agent_got(&R), "");
	for (int i = 0; i < 500; i++)
		rig_server(&R, ASK("7", "roots/list", ""));
	assert_true(count(rig_events, "refused server") < 100);
	assert_true(count(rig_events, "dropped server 4 bytes not JSON\n") >= 1);
	assert_true(count(rig_events, "dropped") < 1000);
	rig_close(&R);
	/* The end tells how many more there were. */
	assert_non_null(strstr(rig_events, "more lines of that kind"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(lost_answers),
	    cmocka_unit_test(no_answers),
	    cmocka_unit_test(lost_start),
	    cmocka_unit_test(both_ways),
	    cmocka_unit_test(many_members),
	    cmocka_unit_test(one_array),
	    cmocka_unit_test(flood),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
