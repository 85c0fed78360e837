/*
 * MCP-ATTACKS 47: what a person agreed to is what is done.  Each member of params
 * that changes makes it another question; what is left out of the question has to
 * be agreed to as such.
 */
#include <signal.h>

#include "supervisor/approve/approve.h"
#include "supervisor/mcp/methods.h"
#include "tests/unit/mcp_expect.h"

#define HEAD      "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"tools/call\",\"params\":{"
#define DONE      "{\"jsonrpc\":\"2.0\",\"id\":9,\"result\":{}}"
#define ARGUMENTS "\"name\":\"push\",\"arguments\":{\"a\":1,\"b\":[\"x\"]}"
#define PLAIN     HEAD ARGUMENTS "}}"
#define PARENT    "\"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\""

static struct queue *queue;

static void
begin(void)
{
	static const struct rig_gate asks[] = {
	    {.kind = GATE_TOOL, .name = "*", .verdict = VERDICT_ASK},
	    {.kind = GATE_RESOURCE, .name = "*", .verdict = VERDICT_ASK},
	    {.kind = GATE_PROMPT, .name = "*", .verdict = VERDICT_ASK}};

	rig_policy(&R, 0, asks, N(asks), NULL, 0);
	rig_open(&R, false);
	assert_int_equal(queue_new(&R.loop, 60000, &queue), 0);
	R.session->o.questions = queue;
}

static void
end(void)
{
	rig_close(&R);
	queue_free(queue);
}

static int
say(enum question_answer answer, bool unseen)
{
	const struct question *q = queue_next(queue, 0);
	const struct question_reply reply = {answer, unseen, {0, 1}};
	int r;

	assert_non_null(q);
	r = question_answer(queue, q->number, q->text.digest, &reply);
	rig_run(&R, 5);
	return r;
}

/* The server's answer, which says that a person has agreed. */
static void
answered(const char *how)
{
	char want[256];

	(void)snprintf(want, sizeof(want),
	    "{\"jsonrpc\":\"2.0\",\"id\":9,\"result\":{\"_meta\":{\"kennel/approval\":"
	    "{\"requirement\":\"confirm\",\"answer\":\"%s\"}}}}\n",
	    how);
	agent_sees(DONE, want);
}

/* Nobody is asked again, and the server gets it as it came. */
static void
passes(const char *line)
{
	agent_passes(line);
	assert_null(queue_next(queue, 0));
	answered("session");
}

/* A person is asked, and the question holds this. They agree: after three refusals nobody
 * would be asked about this tool again. */
static void
asked(const char *line, const char *shown)
{
	const struct question *q;
	const char *got;

	rig_agent(&R, line);
	assert_string_equal(rig_server_got(&R), "");
	q = queue_next(queue, 0);
	if (q == NULL || strstr(q->text.detail, shown) == NULL)
		fail_msg("%s: %s", line, q == NULL ? "not asked" : q->text.detail);
	assert_int_equal(say(ANSWER_ONCE, false), 0);
	got = rig_server_got(&R);
	assert_int_equal(strlen(got), strlen(line) + 1);
	assert_memory_equal(got, line, strlen(line));
	answered("once");
}

static char *
padded(const char *before, size_t n, const char *after)
{
	size_t len = strlen(before);
	char *line = malloc(len + n + strlen(after) + 1);

	assert_non_null(line);
	memcpy(line, before, len);
	memset(line + len, 'x', n);
	strcpy(line + len + n, after);
	return line;
}

/* ---- what is digested and shown ------------------------------------------------ */

static void
each_member(void **state)
{
	static const struct {
		const char *line, *shown;
	} more[] = {
	    {HEAD ARGUMENTS ",\"task\":{\"ttl\":1}}}", "\"task\":{\"ttl\":1}"},
	    {HEAD ARGUMENTS ",\"requestState\":\"s\"}}", "\"requestState\":\"s\""},
	    {HEAD ARGUMENTS ",\"requestState\":\"s\",\"inputResponses\":{}}}",
		"\"inputResponses\":{}"},
	    {HEAD ARGUMENTS ",\"inputResponses\":{}}}", "\"inputResponses\":{}"},
	    {HEAD ARGUMENTS ",\"inputResponses\":{\"k\":{\"action\":\"accept\"}}}}",
		"\"action\":\"accept\""},
	    {HEAD ARGUMENTS ",\"other\":null}}", "\"other\":null"},
	    {HEAD ARGUMENTS ",\"_meta\":{\"x\":1,\"progressToken\":1}}}",
		"\"_meta\":{\"x\":1}"},
	    {HEAD ARGUMENTS ",\"_meta\":{\"ProgressToken\":1}}}", "ProgressToken"},
	    {HEAD ARGUMENTS ",\"_meta\":null}}", "\"_meta\":null"},
	    {HEAD "\"name\":\"push\",\"arguments\":{\"a\":1,\"b\":[\"y\"]}}}", "\"y\""},
	    {HEAD "\"name\":\"push\",\"arguments\":{\"a\":1.0,\"b\":[\"x\"]}}}", "1.0"},
	    {HEAD "\"name\":\"push\",\"arguments\":{}}}", "\"arguments\":{}"},
	    {HEAD "\"name\":\"push\"}}", ""},
	    {HEAD "\"name\":\"push2\",\"arguments\":{\"a\":1,\"b\":[\"x\"]}}}",
		"\"a\":1"},
	    {HEAD "\"name\":\"push\",\"arguments\":{\"a\":1,\"b\":[\"x\"],\"c\\u0000\":2}"
		  "}}",
		"c\\u0000"},
	};

	(void)state;
	begin();
	rig_agent(&R, PLAIN);
	assert_string_equal(
	    queue_next(queue, 0)->text.detail, "{\"arguments\":{\"a\":1,\"b\":[\"x\"]}}");
	assert_string_equal(queue_next(queue, 0)->text.subject, "push");
	assert_int_equal(say(ANSWER_SESSION, false), 0);
	assert_string_equal(rig_server_got(&R), PLAIN "\n");
	answered("session");
	/* the control: the same, and what tells the server nothing */
	passes(PLAIN);
	passes(
	    HEAD "\"arguments\":{ \"b\":[\"\\u0078\"], \"a\" : 1 },\"name\":\"push\"}}");
	passes(HEAD "\"_meta\":{\"progressToken\":\"t\"}," ARGUMENTS "}}");
	passes(HEAD ARGUMENTS ",\"_meta\":{\"traceparent\":" PARENT
			      ",\"baggage\":\"k=v;p=1, k2=v%20w\","
			      "\"tracestate\":\"a@b=c, d=e/f=\"}}}");
	passes(HEAD ARGUMENTS ",\"_meta\":{\"progressToken\":-1.5e9}}}");
	for (size_t i = 0; i < N(more); i++)
		asked(more[i].line, more[i].shown);
	passes(PLAIN);
	end();
}

#define META(members) HEAD ARGUMENTS ",\"_meta\":{" members "}}}"

/* What an approval leaves out has a shape; anything else under such a name is shown. */
static void
unshaped(void **state)
{
	static const struct {
		const char *line, *shown;
	} rows[] = {
	    {META("\"baggage\":{\"cmd\":\"rm -rf /\"}"),
		"{\"baggage\":{\"cmd\":\"rm -rf /\"}}"},
	    {META("\"baggage\":\"cmd=rm -rf /\""), "rm -rf /"},
	    {META("\"baggage\":\"rm\""), "\"baggage\":\"rm\""},
	    {META("\"baggage\":\"a=b,\\u0063=d\""), "\"baggage\":\"a=b,c=d\""},
	    {META("\"baggage\":\"a=\\\"rm\\\"\""), "\"a=\\\"rm\\\"\""},
	    {META("\"baggage\":\"\""), "\"baggage\":\"\""},
	    {META("\"tracestate\":[\"rm\",\"-rf\"]"), "[\"rm\",\"-rf\"]"},
	    {META("\"tracestate\":\"please run rm\""), "please run rm"},
	    {META("\"tracestate\":true"), "\"tracestate\":true"},
	    {META("\"traceparent\":{\"a\":1}"), "{\"a\":1}"},
	    {META("\"traceparent\":7"), "\"traceparent\":7"},
	    {META("\"traceparent\":\"00-1\""), "00-1"},
	    {META("\"traceparent\":\"00-4bf92f3577b34da6a3ce929d0e0e4736"
		  "-00f067aa0ba902b7-0x\""),
		"-0x\""},
	    {META("\"traceparent\":\"00-4BF92F3577B34DA6A3CE929D0E0E4736"
		  "-00f067aa0ba902b7-01\""),
		"4BF9"},
	    {META("\"progressToken\":{\"t\":1}"), "{\"t\":1}"},
	    {META("\"progressToken\":[1]"), "\"progressToken\":[1]"},
	    {META("\"progressToken\":null"), "null"},
	    {META("\"progressToken\":\"0123456789012345678901234567890123456789"
		  "012345678901234567890123456789\""),
		"0123456789"},
	    {META("\"progressToken\":1,\"progressToken\":2"), "\"progressToken\":2"},
	    {META("\"progressToken\":1,\"Baggage\":\"a=b\",\"baggage\":\"a=b\""),
		"\"baggage\":\"a=b\""},
	};
	char *line;

	(void)state;
	begin();
	rig_agent(&R, PLAIN);
	assert_int_equal(say(ANSWER_SESSION, false), 0);
	answered("session");
	for (size_t i = 0; i < N(rows); i++) {
		asked(rows[i].line, rows[i].shown);
		passes(PLAIN); /* the control */
	}
	/* bounded, too */
	line = padded(HEAD ARGUMENTS ",\"_meta\":{\"tracestate\":\"k=", 510, "\"}}}");
	passes(line);
	free(line);
	line = padded(HEAD ARGUMENTS ",\"_meta\":{\"tracestate\":\"k=", 511, "\"}}}");
	asked(line, "\"tracestate\":\"k=");
	free(line);
	end();
}

/* ---- how it is shown ------------------------------------------------------------- */

/* A person reads what is hashed, and not how the agent spelled it. */
static void
spelled(void **state)
{
	static const struct {
		const char *arguments, *shown;
		bool ambiguous;
	} rows[] = {
	    {"{\"cmd\":\"\\u0072\\u006d\\u0020\\u002d\\u0072f\"}",
		"{\"arguments\":{\"cmd\":\"rm -rf\"}}", false},
	    {"{\"\\u0063md\" : \"\\/\\u00e9\\ud83d\\ude00\" }",
		"{\"arguments\":{\"cmd\":\"/\xc3\xa9\xf0\x9f\x98\x80\"}}", false},
	    {"{\"b\":1,\"a\":[{\"d\":2,\"\\u0063\":\"\\\\u0063\"}]}",
		"{\"arguments\":{\"a\":[{\"c\":\"\\\\u0063\",\"d\":2}],\"b\":1}}", false},
	    {"{\"cmd\":\"\\u0022\\u005c\\u000A\\u001F\"}",
		"{\"arguments\":{\"cmd\":\"\\\"\\\\\\n\\u001f\"}}", false},
	    /* without a canonical form: as it came, and each text readable */
	    {"{\"cmd\":\"\\u0072\\u006d\",\"cmd\":\"\\u006cs\"}",
		"{\"arguments\":{\"cmd\":\"rm\",\"cmd\":\"ls\"}}", true},
	    {"{\"z\":\"\\u0072\\ud83dm\", \"a\":\"\\u006c\\u0000\\udc00\\u0022s\"}",
		"{\"arguments\":{\"z\":\"r\\ud83dm\",\"a\":\"l\\u0000\\udc00\\\"s\"}}",
		true},
	    {"{\"a\":\"\\ud83d\\ud83d\\ude00\"}",
		"{\"arguments\":{\"a\":\"\\ud83d\xf0\x9f\x98\x80\"}}", true},
	};
	const struct question *q;
	char line[512];

	(void)state;
	begin();
	for (size_t i = 0; i < N(rows); i++) {
		(void)snprintf(line, sizeof(line),
		    HEAD "\"name\":\"push\",\"arguments\":%s}}", rows[i].arguments);
		rig_agent(&R, line);
		q = queue_next(queue, 0);
		assert_non_null(q);
		assert_string_equal(q->text.detail, rows[i].shown);
		assert_int_equal(q->text.ambiguous, rows[i].ambiguous);
		assert_false(q->text.cut);
		assert_int_equal(say(ANSWER_ONCE, false), 0);
		/* the server gets the agent's bytes */
		assert_int_equal(strlen(rig_server_got(&R)), strlen(line) + 1);
		answered("once");
	}
	end();
}

/* ---- which method ---------------------------------------------------------------- */

/* A request of this method, about one and the same name. */
static char *
request(const struct method *m, char out[256])
{
	(void)snprintf(out, 256,
	    "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"%s\",\"params\":{\"%s\":\"x:y\"}"
	    "}",
	    m->name, m->where == WHERE_NAME ? "name" : "uri");
	return out;
}

static bool
may_ask(const struct method *m)
{
	return m->gate != 0 && (m->where == WHERE_NAME || m->where == WHERE_URI);
}

/* A person is asked about this method; they refuse. */
static void
asked_by(const struct method *m)
{
	const struct question *q = queue_next(queue, 0);
	char line[256];

	assert_null(q);
	rig_agent(&R, request(m, line));
	assert_string_equal(rig_server_got(&R), "");
	q = queue_next(queue, 0);
	if (q == NULL || strcmp(q->text.method, m->name) != 0)
		fail_msg("%s: %s", m->name, q == NULL ? "not asked" : q->text.method);
	assert_int_equal(say(ANSWER_DENY, false), 0);
}

/* late: the yes comes after the call was refused. */
static void
agree_to(const struct method *m, enum question_answer answer, bool late)
{
	char line[256];

	R.session->wait_ns = (late ? 10 : 50000) * LOOP_MS;
	rig_agent(&R, request(m, line));
	if (late) {
		rig_run(&R, 60);
		assert_non_null(strstr(rig_agent_got(&R), "no answer yet"));
	}
	assert_int_equal(say(answer, false), 0);
	R.session->wait_ns = 50000 * LOOP_MS;
	if (!late) {
		assert_int_equal(strlen(rig_server_got(&R)), strlen(line) + 1);
		answered(answer == ANSWER_ONCE ? "once" : "session");
	}
}

/* A yes to one method lets no other one pass, whatever gate they share. */
static void
one_method_each(void **state)
{
	static const struct {
		enum question_answer answer;
		bool late;
	} ways[] = {{ANSWER_SESSION, false}, {ANSWER_ONCE, true}, {ANSWER_SESSION, true}};
	const struct method *yes, *other;
	char line[256];
	size_t pairs = 0;

	(void)state;
	for (size_t w = 0; w < N(ways); w++)
		for (size_t i = 0; (yes = method_row(i)) != NULL; i++)
			for (size_t k = 0; (other = method_row(k)) != NULL; k++) {
				if (i == k || !may_ask(yes) || !may_ask(other))
					continue;
				begin();
				agree_to(yes, ways[w].answer, ways[w].late);
				asked_by(other);
				/* the control: for its own it holds */
				agent_passes(request(yes, line));
				assert_null(queue_next(queue, 0));
				end();
				pairs += yes->gate == other->gate;
			}
	assert_true(pairs >= N(ways) * 6); /* read, subscribe, directory/read */
}

/* Beside params nothing is shown, so nothing may be there. */
static void
beside_params(void **state)
{
	(void)state;
	begin();
	agent_refused("{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"tools/call\","
		      "\"params\":{" ARGUMENTS "},\"arguments\":{\"a\":2}}",
	    "besides jsonrpc");
	assert_null(queue_next(queue, 0));
	/* the control: where nobody is asked it passes */
	end();
	open_all(false);
	agent_passes("{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"tools/call\","
		     "\"params\":{" ARGUMENTS "},\"arguments\":{\"a\":2}}");
	rig_close(&R);
}

/* Two servers with one tool are two questions; a resource is no tool. */
static void
other_kinds(void **state)
{
	const struct question *q;
	uint8_t digest[32];

	(void)state;
	begin();
	rig_agent(&R, HEAD "\"name\":\"x:y\"}}");
	q = queue_next(queue, 0);
	memcpy(digest, q->text.digest, sizeof(digest));
	assert_int_equal(say(ANSWER_DENY, false), 0);
	rig_agent(&R, ASK("9", "resources/read", "\"uri\":\"x:y\""));
	q = queue_next(queue, 0);
	assert_string_equal(q->text.detail, "");
	assert_memory_not_equal(q->text.digest, digest, sizeof(digest));
	assert_int_equal(say(ANSWER_DENY, false), 0);
	/* what reads as another resource is nobody's question */
	agent_refused(ASK("9", "resources/read", "\"uri\":\"x:/a/../y\""), "normal form");
	end();
}

/* ---- what is not shown ---------------------------------------------------------- */

static void
cut(void **state)
{
	static const struct {
		const char *before, *after;
	} pads[] = {
	    {HEAD "\"name\":\"push\",\"arguments\":{\"pad\":\"",
		"\",\"danger\":\"rm -rf\"}}}"},
	    {HEAD "\"name\":\"push\",\"arguments\":{\"a\":{\"pad\":\"",
		"\"},\"danger\":[\"rm -rf\"]}}}"},
	    {HEAD "\"name\":\"push\",\"extra\":\"",
		"\",\"arguments\":{\"danger\":\"rm -rf\"}}}"},
	    {HEAD "\"name\":\"push\",\"_meta\":{\"pad\":\"",
		"\"},\"arguments\":{\"danger\":\"rm -rf\"}}}"},
	    {HEAD "\"name\":\"push\",\"arguments\":{\"danger\":\"rm -rf; ",
		" # rm -rf\"}}}"},
	};
	const struct question *q;
	char *line;

	(void)state;
	begin();
	for (size_t i = 0; i < N(pads); i++) {
		line = padded(pads[i].before, 40000, pads[i].after);
		rig_agent(&R, line);
		q = queue_next(queue, 0);
		assert_non_null(q);
		assert_true(q->text.cut);
		if (strstr(q->text.detail, "\"danger\":") == NULL ||
		    strstr(q->text.detail, "rm -rf\"") == NULL ||
		    strstr(q->text.detail, "\" ...") == NULL)
			fail_msg("%zu: %s", i, q->text.detail);
		/* agreed to as what was shown: no */
		assert_int_equal(say(ANSWER_ONCE, false), -EPERM);
		assert_int_equal(say(ANSWER_SESSION, false), -EPERM);
		assert_string_equal(rig_server_got(&R), "");
		assert_int_equal(say(ANSWER_ONCE, true), 0);
		assert_int_equal(strlen(rig_server_got(&R)), strlen(line) + 1);
		answered("once");
		free(line);
	}
	/* a no needs no reading; the control: what fits is agreed to */
	line = padded(pads[0].before, 40000, pads[0].after);
	rig_agent(&R, line);
	assert_int_equal(say(ANSWER_DENY, false), 0);
	free(line);
	line = padded(pads[0].before, 4000, pads[0].after);
	rig_agent(&R, line);
	assert_false(queue_next(queue, 0)->text.cut);
	assert_int_equal(say(ANSWER_ONCE, false), 0);
	assert_int_equal(strlen(rig_server_got(&R)), strlen(line) + 1);
	free(line);
	end();
}

/* Blanks between members hide nothing; too many members are not shown. */
static void
blanks_and_members(void **state)
{
	size_t n = 9000;
	char *line = padded(
	    HEAD "\"name\":\"push\",\"arguments\":{\"a\":", n, "1,\"danger\":2}}}");
	const struct question *q;
	char *many = malloc(400000), *at;

	(void)state;
	begin();
	memset(strstr(line, "xxx"), ' ', n);
	rig_agent(&R, line);
	assert_string_equal(
	    queue_next(queue, 0)->text.detail, "{\"arguments\":{\"a\":1,\"danger\":2}}");
	assert_false(queue_next(queue, 0)->text.cut);
	assert_int_equal(say(ANSWER_DENY, false), 0);
	free(line);
	assert_non_null(many);
	at = many + sprintf(many, HEAD "\"name\":\"push\",\"arguments\":{\"first\":1");
	for (int i = 0; i < 10000; i++)
		at += sprintf(at, ",\"key%d\":%d", i, i);
	sprintf(at, ",\"last\":2}}}");
	rig_agent(&R, many);
	q = queue_next(queue, 0);
	assert_true(q->text.cut);
	assert_non_null(strstr(q->text.detail, "\"first\":1"));
	assert_non_null(strstr(q->text.detail, "\"last\":2"));
	assert_int_equal(say(ANSWER_SESSION, false), -EPERM);
	assert_int_equal(say(ANSWER_DENY, false), 0);
	free(many);
	end();
}

/* ---- the two functions that shorten ----------------------------------------------- */

static void
shortened(void **state)
{
	static struct question_text q;
	static char text[200000];
	char out[256];
	size_t i, n;
	bool is_cut = false;

	(void)state;
	question_shorten(out, sizeof(out), "short", 5, &is_cut);
	assert_string_equal(out, "short");
	assert_false(is_cut);
	/* no character is broken, whatever the length */
	for (n = sizeof(out); n < 600; n++) {
		for (i = 0; i < n; i++)
			text[i] = (char)(i % 2 == 0 ? 0xc3 : 0xa9);
		is_cut = false;
		question_shorten(out, sizeof(out), text, n & ~1u, &is_cut);
		assert_true(is_cut == ((n & ~1u) >= sizeof(out)));
		for (i = 0; out[i] != '\0'; i++)
			if ((uint8_t)out[i] == 0xc3)
				assert_int_equal((uint8_t)out[i + 1], 0xa9);
			else if ((uint8_t)out[i] == 0xa9)
				assert_int_equal((uint8_t)out[i - 1], 0xc3);
	}
	/* nor an escape, and a quote in a text ends none */
	for (n = 9000; n < 9020; n++) {
		strcpy(text, "{\"k\\\"\":\"");
		for (i = strlen(text); i < n; i += 6)
			memcpy(text + i, i % 2 == 0 ? "\\u0022" : "\\\\\\\"zz", 6);
		strcpy(text + i, "\",\"n\":7}");
		q = (struct question_text){.cut = false};
		question_detail(&q, text, strlen(text));
		assert_true(q.cut);
		assert_non_null(strstr(q.detail, "{\"k\\\"\":\"\\"));
		assert_non_null(strstr(q.detail, ",\"n\":7}"));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(each_member),
	    cmocka_unit_test(unshaped),
	    cmocka_unit_test(spelled),
	    cmocka_unit_test(one_method_each),
	    cmocka_unit_test(beside_params),
	    cmocka_unit_test(other_kinds),
	    cmocka_unit_test(cut),
	    cmocka_unit_test(blanks_and_members),
	    cmocka_unit_test(shortened),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
