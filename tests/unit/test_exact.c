/*
 * Where the policy allows everything, every byte passes as it came: each example
 * message of the specification, as what it is or inside a message.
 */
#include <stdint.h>

#include "tests/unit/corpus.h"
#include "tests/unit/mcp_expect.h"

#define EXAMPLES "../shared/data/schemas/2026-07-28/examples"

/* A text with room; the line end of a pretty print is a space. */
static char *
as_line(const char *head, const uint8_t *bytes, size_t len, const char *tail)
{
	char *line = malloc(strlen(head) + len + strlen(tail) + 1),
	     *p = stpcpy(line, head);

	for (size_t i = 0; i < len; i++)
		*p++ = bytes[i] == '\n' || bytes[i] == '\r' ? ' ' : (char)bytes[i];
	strcpy(p, tail);
	return line;
}

static void
no_message(const uint8_t *bytes, size_t len)
{
	char *params =
	    as_line("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x/y\",\"params\":[",
		bytes, len, "]}");
	char *result =
	    as_line("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":", bytes, len, "}}");

	agent_passes(params);
	server_passes(params);
	server_passes(result);
	agent_passes(result);
	free(params);
	free(result);
}

/* A question of the agent's with the id of this answer. */
static void
ask_first(struct json id)
{
	char line[400];

	snprintf(line, sizeof(line),
	    "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"method\":\"x/y\"}", (int)id.len,
	    (const char *)id.at);
	agent_passes(line);
}

static void
one_example(const char *name, const uint8_t *bytes, size_t len)
{
	char *line = as_line("", bytes, len, "");
	enum rpc_kind kind = RPC_INVALID;
	const char *why = "";
	struct json_message m;

	(void)name;
	assert_int_equal(json_scan((uint8_t *)line, len, &m), 0);
	open_all(false);
	if (m.top[TOP_JSONRPC].type != JSON_IS_NONE)
		kind = rpc_kind(&m, &why);
	if (kind == RPC_ANSWER)
		ask_first(m.top[TOP_ID]);
	if (kind == RPC_INVALID)
		no_message(bytes, len);
	if (kind == RPC_REQUEST || kind == RPC_NOTIFICATION)
		agent_passes(line);
	if (kind == RPC_ANSWER || kind == RPC_NOTIFICATION)
		server_passes(line);
	rig_close(&R);
	free(line);
}

static void
examples(void **state)
{
	(void)state;
	if (corpus_each(EXAMPLES, one_example) == 0) {
		print_message("skipped: %s is not here\n", EXAMPLES);
		skip();
	}
}

/* Numbers that no double holds, spaces, escapes, unknown members: nothing is
 * written anew. */
static void
odd_bytes(void **state)
{
	static const char *const value[] = {
	    "1.0",
	    "1e400",
	    "-0",
	    "123456789012345678901234567890",
	    "0.1000000000000000055",
	    "\"\\u0041\\/\\ud83d\\ude00\"",
	    "\"\\ud800\"",
	    "\"\\u0000\"",
	    "\"\x7f\"",
	    "{\"a\":1,\"a\":2}",
	    "[ \t1 ,\t2 ]",
	    "{ }",
	    "null",
	    "\"\xf4\x8f\xbf\xbf\"",
	};

	(void)state;
	for (size_t i = 0; i < N(value); i++) {
		open_all(true);
		no_message((const uint8_t *)value[i], strlen(value[i]));
		rig_close(&R);
	}
}

/* An id is what was written: these are all different, and come back as such. */
static void
ids(void **state)
{
	static const char *const id[] = {"1", "1.0", "1e0", "\"1\"", "-1", "\"\"",
	    "9007199254740993", "9007199254740992", "\"\\u0031x\"", "\" 1\"",
	    "123456789012345678901234567890"};
	char line[200];

	(void)state;
	open_all(false);
	for (size_t i = 0; i < N(id); i++)
		ask_first(
		    (struct json){(const uint8_t *)id[i], strlen(id[i]), JSON_IS_NUMBER});
	for (size_t i = N(id); i-- > 0;) {
		snprintf(line, sizeof(line),
		    "{\"jsonrpc\":\"2.0\",\"result\":{},\"id\":%s}", id[i]);
		server_passes(line);
		server_dropped(line); /* once */
	}
	rig_close(&R);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(examples),
	    cmocka_unit_test(odd_bytes),
	    cmocka_unit_test(ids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
