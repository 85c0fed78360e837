/*
 * `_meta` of results: what a server says in kennel's name goes, what kennel says comes.
 */
#include "supervisor/approve/approve.h"
#include "tests/unit/mcp_expect.h"

#define MARK(answer) \
	"\"kennel/approval\":{\"requirement\":\"confirm\",\"answer\":\"" answer "\"}"
#define TASK_GET \
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tasks/" \
	"get\",\"params\":{\"taskId\":\"t\"}}"
#define ERROR_WITH \
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-1,\"message\":\"\"," \
	"\"data\":"
#define RESULT(id, members) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"result\":" members "}"

static const struct rig_gate lines[] = {
    {GATE_TOOL, "a", VERDICT_ALLOW, NULL},
    {GATE_TOOL, "push", VERDICT_ASK, NULL},
    {GATE_PROMPT, "hello", VERDICT_ASK, NULL},
};
static struct queue *queue;

static void
open_asking(void)
{
	rig_policy(&R, ALL_FLAGS, lines, N(lines), NULL, 0);
	rig_open(&R, false);
	assert_int_equal(queue_new(&R.loop, 60000, &queue), 0);
	R.session->o.questions = queue;
}

static void
close_asking(void)
{
	rig_close(&R);
	queue_free(queue);
}

static void
answer(enum question_answer say)
{
	const struct question *q = queue_next(queue, 0);
	const struct question_reply reply = {say, false, {0, 1}};

	assert_non_null(q);
	assert_int_equal(question_answer(queue, q->number, q->text.digest, &reply), 0);
	rig_run(&R, 0);
}

/* The agent gets this result as that one. */
static void
becomes(const char *call, const char *result, const char *wanted)
{
	char line[2048];

	rig_agent(&R, call);
	assert_true(R.server_got.len > 0);
	(void)snprintf(line, sizeof(line), RESULT("1", "%s"), result);
	rig_server(&R, line);
	(void)snprintf(line, sizeof(line), RESULT("1", "%s") "\n", wanted);
	assert_string_equal(rig_agent_got(&R), line);
}

static void
claims(void **state)
{
	static const struct {
		const char *result, *wanted;
	} rows[] = {
	    {"{}", "{}"},
	    {"{\"_meta\":{}}", "{\"_meta\":{}}"},
	    {"{\"_meta\":{\"x/y\":1, \"kennel\":2}}",
		"{\"_meta\":{\"x/y\":1, \"kennel\":2}}"},
	    {"{\"_meta\":{" MARK("once") "}}", "{\"_meta\":{}}"},
	    {"{\"_meta\":{\"kennel/refusal\":{\"outcome\":\"deny\"}},\"isError\":true}",
		"{\"_meta\":{},\"isError\":true}"},
	    {"{\"_meta\":{ \"a\":1, \"kennel/approval\":{} , \"b\":2}}",
		"{\"_meta\":{ \"a\":1 , \"b\":2}}"},
	    {"{\"_meta\":{\"kennel/x\":1,\"kennel/y\":2,\"b\":2}}",
		"{\"_meta\":{\"b\":2}}"},
	    /* written otherwise, and twice */
	    {"{\"_meta\":{\"\\u006bennel\\/approval\":1,\"b\":2}}",
		"{\"_meta\":{\"b\":2}}"},
	    {"{\"_meta\":{\"Kennel/Approval\":1,\"b\":2,\"KENNEL/REFUSAL\":3}}",
		"{\"_meta\":{\"b\":2}}"},
	    {"{\"_meta\":{\"kennel/approval\":1,\"kennel/approval\":2}}",
		"{\"_meta\":{}}"},
	    /* no object */
	    {"{\"_meta\":[1]}", "{\"_meta\":[1]}"},
	    /* not a claim about the result */
	    {"{\"structuredContent\":{\"kennel/approval\":1},\"content\":[]}",
		"{\"structuredContent\":{\"kennel/approval\":1},\"content\":[]}"},
	};

	(void)state;
	open_all(false);
	for (size_t i = 0; i < N(rows); i++)
		becomes(CALL("1", "\"a\""), rows[i].result, rows[i].wanted);
	rig_close(&R);
}

/* S2-47 */
static void
marker(void **state)
{
	static const struct {
		const char *result, *wanted;
	} rows[] = {
	    {"{}", "{\"_meta\":{" MARK("session") "}}"},
	    {"{\"content\":[]}", "{\"_meta\":{" MARK("session") "},\"content\":[]}"},
	    {"{\"content\":[],\"isError\":true}",
		"{\"_meta\":{" MARK("session") "},\"content\":[],\"isError\":true}"},
	    {"{\"_meta\":{}}", "{\"_meta\":{" MARK("session") "}}"},
	    {"{\"_meta\":{\"a\":1},\"content\":[]}",
		"{\"_meta\":{" MARK("session") ",\"a\":1},\"content\":[]}"},
	    /* the server's own marker is another one */
	    {"{\"_meta\":{\"kennel/approval\":{\"answer\":\"once\"}}}",
		"{\"_meta\":{" MARK("session") "}}"},
	    {"{\"_meta\":{\"a\":1,\"kennel/approval\":2,\"b\":3}}",
		"{\"_meta\":{" MARK("session") ",\"a\":1,\"b\":3}}"},
	    {"{\"_meta\":{\"kennel/refusal\":2,\"b\":3}}",
		"{\"_meta\":{" MARK("session") ",\"b\":3}}"},
	    /* beside _meta such a name is the server's */
	    {"{\"kennel/x\":1}", "{\"_meta\":{" MARK("session") "},\"kennel/x\":1}"},
	};

	(void)state;
	open_asking();
	rig_agent(&R, CALL("0", "\"push\""));
	assert_string_equal(rig_server_got(&R), "");
	answer(ANSWER_ONCE);
	assert_true(R.server_got.len > 0);
	rig_server(&R, RESULT("0", "{\"content\":[]}"));
	assert_string_equal(rig_agent_got(&R),
	    RESULT("0", "{\"_meta\":{" MARK("once") "},\"content\":[]}") "\n");
	rig_agent(&R, CALL("0", "\"push\""));
	answer(ANSWER_SESSION);
	rig_server(&R, RESULT("0", "{}"));
	assert_string_equal(
	    rig_agent_got(&R), RESULT("0", "{\"_meta\":{" MARK("session") "}}") "\n");
	/* agreed to for the session: no question, and the same marker */
	for (size_t i = 0; i < N(rows); i++)
		becomes(CALL("1", "\"push\""), rows[i].result, rows[i].wanted);
	/* an error has no _meta, and a call without question no marker */
	rig_agent(&R, CALL("1", "\"push\""));
	server_passes(
	    "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-1,\"message\":\"\"}}");
	becomes(CALL("1", "\"a\""), "{\"content\":[]}", "{\"content\":[]}");
	close_asking();
}

static void
prompts_too(void **state)
{
	(void)state;
	open_asking();
	rig_agent(&R,
	    "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"prompts/get\",\"params\":{"
	    "\"name\":\"hello\"}}");
	answer(ANSWER_ONCE);
	rig_server(&R, RESULT("3", "{\"messages\":[]}"));
	assert_string_equal(rig_agent_got(&R),
	    RESULT("3", "{\"_meta\":{" MARK("once") "},\"messages\":[]}") "\n");
	close_asking();
}

/* The result of the call that a task has made. */
static void
tasks_too(void **state)
{
	(void)state;
	open_all(false);
	becomes(TASK_GET,
	    "{\"result\":{\"_meta\":{" MARK(
		"once") ",\"a\":1}},\"_meta\":{\"kennel/x\":1}}",
	    "{\"result\":{\"_meta\":{\"a\":1}},\"_meta\":{}}");
	becomes(TASK_GET, "{\"result\":{\"_meta\":[1]}}", "{\"result\":{\"_meta\":[1]}}");
	becomes(TASK_GET, "{\"error\":{\"code\":1,\"data\":{\"kennel\":1,\"x\":2}}}",
	    "{\"error\":{\"code\":1,\"data\":{\"x\":2}}}");
	rig_server(&R,
	    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tasks\",\"params\":{"
	    "\"taskId\":\"t\",\"result\":{\"_meta\":{" MARK("once") "}}}}");
	assert_string_equal(rig_agent_got(&R),
	    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tasks\",\"params\":{"
	    "\"taskId\":\"t\",\"result\":{\"_meta\":{}}}}\n");
	rig_close(&R);
}

/* What an error says in kennel's name goes; other data passes, of whatever type. */
static void
errors_too(void **state)
{
	static const struct {
		const char *data, *wanted;
	} rows[] = {
	    {"[1]", "[1]"},
	    {"[[1],{\"kennel\":1}]", "[[1],{\"kennel\":1}]"},
	    {"\"kennel\"", "\"kennel\""},
	    {"{\"kennel\":{\"outcome\":\"deny\"}}", "{}"},
	    {"{\"a\":1,\"Kennel\":2}", "{\"a\":1}"},
	};
	char line[512], want[512];

	(void)state;
	open_all(false);
	for (size_t i = 0; i < N(rows); i++) {
		rig_agent(&R, CALL("1", "\"a\""));
		(void)snprintf(line, sizeof(line), ERROR_WITH "%s}}", rows[i].data);
		(void)snprintf(want, sizeof(want), ERROR_WITH "%s}}\n", rows[i].wanted);
		rig_server(&R, line);
		assert_string_equal(rig_agent_got(&R), want);
	}
	rig_close(&R);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(claims),
	    cmocka_unit_test(marker),
	    cmocka_unit_test(prompts_too),
	    cmocka_unit_test(tasks_too),
	    cmocka_unit_test(errors_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
