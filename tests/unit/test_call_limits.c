/*
 * Rates and quotas of calls: the sliding window against a plain count, which lines
 * limit a call, and what a session refuses because of them.
 */
#include "shim/base/loop.h"
#include "supervisor/approve/approve.h"
#include "supervisor/hub/hub.h"
#include "tests/unit/mcp_expect.h"

#define SECOND (1000 * LOOP_MS)
#define CALLS(id, name) \
	"{\"jsonrpc\":\"2.0\",\"id\":" id \
	",\"method\":\"tools/call\",\"params\":{\"name\":\"" name "\"}}"
#define MARK(id) \
	"{\"jsonrpc\":\"2.0\",\"id\":" id \
	",\"result\":{\"_meta\":{\"kennel/approval\":{" \
	"\"requirement\":\"confirm\",\"answer\":\"once\"}}}}\n"
#define DONE(id) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"result\":{}}"

static const struct rig_gate lines[] = {
    {GATE_TOOL, "search_*", VERDICT_ALLOW, "each costs"},
    {GATE_TOOL, "search_all", VERDICT_ALLOW, NULL},
    {GATE_TOOL, "*", VERDICT_ALLOW, NULL},
    {GATE_TOOL, "ask_*", VERDICT_ASK, NULL},
};

static void
limit(uint32_t gate, uint32_t rate, uint32_t rate_ms, uint32_t quota)
{
	struct sealed_gate *g = (struct sealed_gate *)(uintptr_t)&R.policy.gate[gate];

	g->rate = rate;
	g->rate_ms = rate_ms;
	g->quota = quota;
}

/* ---- the counters ---------------------------------------------------------------- */

static struct call_limits *counters;
static struct gate_answer answer;

static void
counters_open(void)
{
	assert_int_equal(call_limits_new(&R.policy, &R.server, &counters), 0);
}

/* Judges a call at this time, and counts it if it fits. */
static bool
call_at(const char *name, uint64_t now)
{
	const struct gate_ask ask = {.policy = &R.policy,
	    .server = &R.server,
	    .kind = GATE_TOOL,
	    .name = name,
	    .name_len = strlen(name),
	    .args = "{}",
	    .args_len = 2,
	    .limits = counters,
	    .now_ns = now};

	gate_judge(&ask, &answer);
	if (answer.allowed)
		gate_count(&ask);
	return answer.allowed;
}

static const char *
text_of(const char *name)
{
	static char text[GATE_TEXT_MAX];

	return gate_text(&answer, GATE_TOOL, name, text);
}

/* In no span of the duration more calls than the rate, and each call that fits passes. */
static void
window_is_exact(void **state)
{
	static uint64_t passed[4000];
	size_t n, first;
	uint64_t seed = 7, now;

	(void)state;
	for (uint32_t rate = 1; rate <= 9; rate++) {
		rig_policy(&R, 0, lines, N(lines), NULL, 0);
		limit(0, rate, 1000, 0);
		counters_open();
		n = first = 0;
		now = SECOND;
		for (int i = 0; i < 4000; i++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			now += (seed >> 33) % (400 * LOOP_MS);
			while (first < n && passed[first] + SECOND <= now)
				first++;
			assert_int_equal(call_at("search_x", now), n - first < rate);
			if (answer.allowed)
				passed[n++] = now;
			else
				assert_int_equal(
				    answer.over.wait_ns, passed[first] + SECOND - now);
		}
		assert_true(n > 100);
		assert_true(n < 4000);
		call_limits_free(counters);
	}
}

static void
rate_text(void **state)
{
	(void)state;
	rig_policy(&R, 0, lines, N(lines), NULL, 0);
	limit(0, 3, 60000, 0);
	counters_open();
	assert_true(call_at("search_a", 100 * SECOND));
	assert_true(call_at("search_b", 101 * SECOND));
	assert_true(call_at("search_a", 102 * SECOND)); /* the last that is allowed */
	assert_false(call_at("search_b", 148 * SECOND + 1));
	assert_string_equal(gate_outcome(&answer), "rate limit");
	assert_string_equal(text_of("search_b"),
	    "kennel: the policy limits the tool \"search_b\" (toy.kennel:1); it was not "
	    "used: rate limit: 3 in 1m, try again in 12 s: each costs");
	/* another tool has no such limit */
	assert_true(call_at("other", 148 * SECOND));
	assert_false(call_at("search_b", 160 * SECOND - 1));
	assert_true(call_at("search_b", 160 * SECOND));
	assert_false(call_at("search_b", 160 * SECOND));
	call_limits_free(counters);
}

static void
quota_text(void **state)
{
	(void)state;
	rig_policy(&R, 0, lines, N(lines), NULL, 0);
	limit(1, 0, 0, 100);
	counters_open();
	for (uint64_t i = 1; i <= 100; i++)
		assert_true(call_at("search_all", i));
	assert_false(call_at("search_all", 1000000 * SECOND));
	assert_string_equal(gate_outcome(&answer), "quota");
	assert_string_equal(text_of("search_all"),
	    "kennel: the policy limits the tool \"search_all\" (toy.kennel:2); it was "
	    "not "
	    "used: quota: 100 calls in this session are used up");
	assert_true(call_at("search_x", 1000000 * SECOND));
	call_limits_free(counters);
}

/* The call of a narrow line counts for a wide one; a refused call counts for none. */
static void
every_line_limits(void **state)
{
	(void)state;
	rig_policy(&R, 0, lines, N(lines), NULL, 0);
	limit(0, 0, 0, 3);
	limit(1, 1, 10000, 0);
	limit(2, 4, 1000, 0);
	counters_open();
	assert_true(call_at("search_all", SECOND));
	for (int i = 0; i < 10; i++) {
		assert_false(call_at("search_all", SECOND));
		assert_string_equal(answer.at, "toy.kennel:2");
	}
	assert_true(call_at("search_x", SECOND));
	assert_true(call_at("search_y", SECOND));
	assert_true(call_at("other", SECOND));
	/* the quota of line 1 is gone, and so is the rate of line 3 */
	assert_false(call_at("search_x", SECOND));
	assert_string_equal(answer.at, "toy.kennel:1");
	assert_false(call_at("other", SECOND));
	assert_string_equal(answer.at, "toy.kennel:3");
	assert_true(call_at("other", 2 * SECOND));
	/* a used-up quota is reported before a wait, the longest wait before others */
	assert_false(call_at("search_all", 3 * SECOND));
	assert_string_equal(answer.at, "toy.kennel:1");
	call_limits_free(counters);
	limit(0, 1, 5000, 0);
	counters_open();
	assert_true(call_at("search_all", SECOND));
	assert_false(call_at("search_all", SECOND));
	assert_string_equal(answer.at, "toy.kennel:2");
	assert_int_equal(answer.over.wait_ns, 10 * SECOND);
	call_limits_free(counters);
}

/* ---- a session -------------------------------------------------------------------- */

static void
refused(const char *line, const char *outcome)
{
	char want[128];

	rig_events[0] = '\0';
	agent_refused(line, "\"isError\":true");
	snprintf(want, sizeof(want), "\"kennel/refusal\":{\"outcome\":\"%s\"", outcome);
	if (strstr(rig_agent_got(&R), want) == NULL)
		fail_msg("%s not in %s", want, rig_agent_got(&R));
	if (strncmp(rig_events, "refused ", 8) != 0 ||
	    strstr(rig_events, outcome) == NULL)
		fail_msg("%s not in %s", outcome, rig_events);
}

static void
passes(const char *line, const char *done)
{
	agent_passes(line);
	server_passes(done);
}

static void
session_counts(void **state)
{
	(void)state;
	rig_policy(&R, 0, lines, N(lines), NULL, 0);
	limit(0, 0, 0, 2);
	limit(1, 1, 1000, 0);
	rig_open(&R, false);
	passes(CALLS("1", "search_x"), DONE("1"));
	/* what is no call does not count, and neither does what kennel refuses */
	passes("{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}",
	    "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"tools\":[{\"name\":\"search_x\"}"
	    "]}}");
	agent_refused(CALLS("3", "search_\\ud800"), "-32602");
	rig_report_error = -EPIPE;
	agent_refused(CALLS("4", "search_x"), "audit log");
	rig_report_error = 0;
	passes(CALLS("5", "search_x"), DONE("5")); /* the last that is allowed */
	refused(CALLS("6", "search_x"), "quota");
	assert_non_null(strstr(rig_agent_got(&R), "2 calls in this session are used up"));
	/* an error of the server's is a call; listed all the same */
	passes("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/list\"}",
	    "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"tools\":[{\"name\":\"search_x\"}"
	    "]}}");
	passes(CALLS("8", "other"), DONE("8"));
	rig_close(&R);
	/* the next session begins anew */
	rig_open(&R, false);
	passes(CALLS("1", "search_x"), DONE("1"));
	passes(CALLS("2", "search_all"), DONE("2"));
	refused(CALLS("3", "search_all"), "quota");
	rig_close(&R);
}

static void
session_waits(void **state)
{
	(void)state;
	rig_policy(&R, 0, lines, N(lines), NULL, 0);
	limit(0, 2, 1000, 0);
	rig_open(&R, false);
	passes(CALLS("1", "search_x"), DONE("1"));
	passes(CALLS("2", "search_y"), DONE("2"));
	refused(CALLS("3", "search_x"), "rate limit");
	assert_non_null(strstr(rig_agent_got(&R), "2 in 1s, try again in 1 s"));
	usleep(1000000);
	passes(CALLS("4", "search_x"), DONE("4"));
	rig_close(&R);
}

/* Each element of a batch is a call. */
static void
batch_counts(void **state)
{
	(void)state;
	rig_policy(&R, 0, lines, N(lines), NULL, 0);
	limit(0, 0, 0, 2);
	rig_open(&R, false);
	R.session->version = MCP_2025_03_26;
	rig_agent(&R, "[" CALLS("1", "search_a") "," CALLS("2", "search_b") "," CALLS(
			  "3", "search_c") "," CALLS("4", "other") "]");
	assert_string_equal(
	    rig_server_got(&R), "[" CALLS("1", "search_a") "," CALLS(
				    "2", "search_b") "," CALLS("4", "other") "]\n");
	rig_close(&R);
}

/* ---- calls that a person is asked about ------------------------------------------- */

static struct queue *queue;

static void
say(enum question_answer said)
{
	const struct question *q = queue_next(queue, 0);
	const struct question_reply reply = {said, false, {0, 1}};

	assert_non_null(q);
	assert_int_equal(question_answer(queue, q->number, q->text.digest, &reply), 0);
	rig_run(&R, 5);
}

static void
asked(const char *line)
{
	rig_agent(&R, line);
	assert_string_equal(rig_server_got(&R), "");
	assert_string_equal(rig_agent_got(&R), "");
}

/* Counted when the server gets it; used up, no person is asked. */
static void
asked_calls(void **state)
{
	(void)state;
	rig_policy(&R, 0, lines, N(lines), NULL, 0);
	limit(3, 0, 0, 2);
	rig_open(&R, false);
	assert_int_equal(queue_new(&R.loop, 60000, &queue), 0);
	R.session->o.questions = queue;
	asked(CALLS("1", "ask_a"));
	say(ANSWER_DENY); /* does not count */
	assert_non_null(strstr(rig_agent_got(&R), "denied by a person"));
	asked(CALLS("2", "ask_b"));
	say(ANSWER_ONCE);
	assert_string_equal(rig_server_got(&R), CALLS("2", "ask_b") "\n");
	rig_server(&R, DONE("2"));
	assert_string_equal(rig_agent_got(&R), MARK("2"));
	/* two wait, and there is room for one */
	asked(CALLS("3", "ask_c"));
	asked(CALLS("4", "ask_d"));
	say(ANSWER_ONCE);
	assert_string_equal(rig_server_got(&R), CALLS("3", "ask_c") "\n");
	rig_server(&R, DONE("3"));
	assert_string_equal(rig_agent_got(&R), MARK("3"));
	say(ANSWER_ONCE);
	assert_string_equal(rig_server_got(&R), "");
	assert_non_null(strstr(rig_agent_got(&R), "\"id\":4,\"result\""));
	assert_non_null(
	    strstr(rig_agent_got(&R), "\"kennel/refusal\":{\"outcome\":\"quota\""));
	assert_non_null(strstr(rig_agent_got(&R), "2 calls in this session are used up"));
	assert_null(queue_next(queue, 0));
	refused(CALLS("5", "ask_e"), "quota");
	assert_null(queue_next(queue, 0));
	rig_close(&R);
	queue_free(queue);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(window_is_exact),
	    cmocka_unit_test(rate_text),
	    cmocka_unit_test(quota_text),
	    cmocka_unit_test(every_line_limits),
	    cmocka_unit_test(session_counts),
	    cmocka_unit_test(session_waits),
	    cmocka_unit_test(batch_counts),
	    cmocka_unit_test(asked_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
