/*
 * A session when things go wrong: bad lines, lines that are too long, peers
 * that do not read, do not answer, or leave.
 */
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/corpus.h"
#include "tests/unit/mcp_expect.h"

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
	/* a byte order mark is left out at the beginning of a line, and nowhere else */
	rig_agent(&R, "\xef\xbb\xbf" ASK("41", "ping", ""));
	assert_string_equal(rig_server_got(&R), ASK("41", "ping", "") "\n");
	agent_sees("\xef\xbb\xbf{\"jsonrpc\":\"2.0\",\"id\":41,\"result\":{}}",
	    "{\"jsonrpc\":\"2.0\",\"id\":41,\"result\":{}}\n");
	agent_refused("\xef\xbb\xbf\xef\xbb\xbf" ASK("41", "ping", ""),
	    "it begins with `\\u005cxef\\u005cxbb\\u005cxbf{\\u0022jsonrpc\\u0022");
	agent_refused(" \xef\xbb\xbf" ASK("41", "ping", ""), "-32700");
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

/* Its last words wait for an agent that reads late. */
static void
last_words(void **state)
{
	char *big = big_line(
	    "{\"jsonrpc\":\"2.0\",\"method\":\"n\",\"params\":[\"", 1000000, "\"]}");
	size_t len = strlen(big), at = 0;

	(void)state;
	open_all(false);
	agent_passes(CALL("1", "\"a\""));
	buf_clear(&R.agent_got);
	while (at < len) {
		ssize_t n = write(R.out, big + at, len - at);

		at += n > 0 ? (size_t)n : 0;
		(void)loop_once(&R.loop, 0);
	}
	rig_events[0] = '\0';
	assert_true(
	    write(R.out, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n", 37) == 37);
	session_server_gone(R.session, "killed");
	assert_false(session_drained(R.session));
	rig_run(&R, 10);
	assert_int_equal(R.agent_got.len, len + 37);
	assert_true(session_drained(R.session));
	assert_int_equal(R.ends, 1);
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
	agent_passes(ASK("0", "ping", "")); /* a call's own time begins after an answer */
	server_passes("{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{}}");
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

/* S3-34: without `timeout call`, 30 seconds. */
static void
deadline_by_default(void **state)
{
	uint64_t left;

	(void)state;
	open_all(false);
	agent_passes(ASK("0", "ping", "")); /* a call's own time begins after an answer */
	server_passes("{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{}}");
	agent_passes(CALL("1", "\"slow\""));
	left = calls_soonest(&R.session->asked)->deadline_ns - session_clock(R.session);
	assert_in_range(left, 20 * 1000 * LOOP_MS, 30 * 1000 * LOOP_MS);
	assert_int_equal(R.session->call_ns, 30 * 1000 * LOOP_MS);
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
	open_some(0);
	agent_passes(ASK("1", "tools/list", ""));
	agent_passes(ASK0("notifications/cancelled", "\"requestId\":1"));
	agent_refused(ASK("1", "x/unknown", ""), "still in use");
	agent_sees(
	    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"tools\":[{\"name\":\"no\"}]}}",
	    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"tools\":[]}}\n");
	agent_passes(ASK("1", "x/unknown", ""));
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
	rig_report_late = true; /* the disk is full */
	agent_refused(CALL("1", "\"a\""), "-32005");
	rig_report_late = false;
	agent_passes(CALL("1", "\"a\""));
	rig_close(&R);
}

/* An agent that is faster than the disk waits; it is not refused. */
static void
agent_waits_for_log(void **state)
{
	(void)state;
	open_all(false);
	rig_agent(&R, CALL("1", "\"a\""));
	assert_string_equal(rig_server_got(&R), CALL("1", "\"a\"") "\n");
	rig_report_pending = REPORT_QUEUE_MAX;
	rig_agent(&R, CALL("2", "\"a\"")); /* a round that is under way may still hear */
	rig_agent(&R, CALL("3", "\"a\""));
	assert_string_equal(rig_server_got(&R), "");
	assert_string_equal(rig_agent_got(&R), "");
	rig_report_pending = 0;
	session_recorded(R.session);
	rig_run(&R, 50);
	assert_non_null(strstr(rig_server_got(&R), CALL("3", "\"a\"")));
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
		assert_int_equal(R.ends, 0); /* it still reads, and 1 is under way */
		fd_nonblock(R.into, true);
		assert_int_equal(read(R.into, &c, 1), -1);
		server_passes("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
		assert_int_equal(R.ends, 1);
		assert_string_equal(R.why, "agent closed its end");
		assert_int_equal(read(R.into, &c, 1), 0); /* the server sees it too */
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
	static const struct rpc_why again = {.because = "again"};
	int fd[2];
	char got[512];
	ssize_t n;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	assert_int_equal(write(fd[0], say, sizeof(say) - 1), sizeof(say) - 1);
	session_refuse(fd[1], fd[1],
	    &(struct rpc_why){.because = "toy.kennel:3: no \"such\" file",
		.cause = "not-stored",
		.variable = "A\"",
		.path = "b/x/y"},
	    1000);
	n = read(fd[0], got, sizeof(got) - 1);
	assert_true(n > 0);
	got[n] = '\0';
	assert_non_null(strstr(got, "\"id\":\"a\",\"error\":{\"code\":-32000"));
	assert_non_null(strstr(got, "\"kennel\":{"));
	assert_non_null(strstr(got, "toy.kennel:3"));
	assert_non_null(strstr(got, "\"outcome\":\"refused\""));
	assert_non_null(strstr(got,
	    "\"cause\":\"not-stored\",\"variable\":\"A\\u0022\",\"path\":\"b/x/y\"}"));
	session_refuse(fd[1], fd[1], &again, 50); /* nobody asks: it returns */
	close(fd[0]);
	session_refuse(fd[1], fd[1], &again, 50);
	close(fd[1]);
}

/* ---- what the fuzzer knows ---------------------------------------------------- */

static void
corpus(void **state)
{
	(void)state;
	if (corpus_each("tests/fuzz/corpus/session", corpus_input) == 0) {
		print_message("skipped: tests/fuzz/corpus/session is not here\n");
		skip();
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(bad_lines),
	    cmocka_unit_test(oversize),
	    cmocka_unit_test(huge),
	    cmocka_unit_test(backpressure),
	    cmocka_unit_test(last_words),
	    cmocka_unit_test(deadline),
	    cmocka_unit_test(deadline_by_default),
	    cmocka_unit_test(deadline_stands_still),
	    cmocka_unit_test(start_and_idle),
	    cmocka_unit_test(cancel),
	    cmocka_unit_test(no_record_no_act),
	    cmocka_unit_test(agent_waits_for_log),
	    cmocka_unit_test(agent_leaves),
	    cmocka_unit_test(server_leaves),
	    cmocka_unit_test(start_refused),
	    cmocka_unit_test(corpus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
