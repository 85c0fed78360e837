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
	static const char *const id[] = {"1", "7.0", "3e0", "\"one\"", "-1", "\"\"",
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

/* ---- method by version ------------------------------------------------------- */

#define VERSIONS 5
static const char *const version_text[VERSIONS] = {
    "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"};

/* Who sends it, in each version: c the client, s the server, b both, - nobody. */
static const struct {
	const char *name, *who;
} matrix[] = {
    {"completion/complete", "ccccc"},
    {"elicitation/create", "--ss-"},
    {"logging/setLevel", "cccc-"},
    {"notifications/cancelled", "bbbbb"},
    {"notifications/elicitation/complete", "---s-"},
    {"notifications/initialized", "cccc-"},
    {"notifications/message", "sssss"},
    {"notifications/progress", "bbbbs"},
    {"notifications/prompts/list_changed", "sssss"},
    {"notifications/resources/list_changed", "sssss"},
    {"notifications/resources/updated", "sssss"},
    {"notifications/roots/list_changed", "cccc-"},
    {"notifications/subscriptions/acknowledged", "----s"},
    {"notifications/tasks/status", "---b-"},
    {"notifications/tools/list_changed", "sssss"},
    {"ping", "bbbb-"},
    {"prompts/get", "ccccc"},
    {"prompts/list", "ccccc"},
    {"resources/list", "ccccc"},
    {"resources/read", "ccccc"},
    {"resources/subscribe", "cccc-"},
    {"resources/templates/list", "ccccc"},
    {"resources/unsubscribe", "cccc-"},
    {"roots/list", "ssss-"},
    {"sampling/createMessage", "ssss-"},
    {"server/discover", "----c"},
    {"subscriptions/listen", "----c"},
    {"tasks/cancel", "---b-"},
    {"tasks/get", "---b-"},
    {"tasks/list", "---b-"},
    {"tasks/result", "---b-"},
    {"tools/call", "ccccc"},
    {"tools/list", "ccccc"},
};

/* What a gate looks for, and what it does not know. */
#define META \
	"\"_meta\": {\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"," \
	"\"io.modelcontextprotocol/clientCapabilities\":{},\"x/y\":[1.50]}"
#define PARAMS \
	"{ \"name\":\"a\",\"uri\" : \"a://b\",\"ref\":{\"type\":\"ref/prompt\"," \
	"\"name\":\"p\"},\"notifications\":{\"toolsListChanged\":true}, \"new\":1e2%s}"

static void
one_method(size_t row, size_t version)
{
	char line[1000], answer[200], params[600], id[32] = "";
	bool request = strncmp(matrix[row].name, "notifications/", 14) != 0;
	char who = matrix[row].who[version];

	snprintf(params, sizeof(params), PARAMS, version == 4 ? ", " META : "");
	if (request)
		snprintf(id, sizeof(id), ",\"id\":\"%zu.%zu\"", version, row);
	snprintf(line, sizeof(line),
	    "{\"method\":\"%s\", \"jsonrpc\":\"2.0\"%s,\"params\":%s}", matrix[row].name,
	    id, params);
	snprintf(answer, sizeof(answer),
	    "{\"result\": {\"resultType\":\"complete\" },\"jsonrpc\":\"2.0\"%s}", id);
	if (who == 'c' || who == 'b') {
		agent_passes(line);
		if (request)
			server_passes(answer);
	}
	if (who == 's' || who == 'b') {
		server_passes(line);
		if (request)
			agent_passes(answer);
	}
}

static void
every_version(void **state)
{
	char line[300];

	(void)state;
	for (size_t v = 0; v < VERSIONS; v++) {
		open_all(v % 2 != 0);
		snprintf(line, sizeof(line),
		    "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":"
		    "{\"protocolVersion\":\"%s\",\"capabilities\":{}}}",
		    version_text[v]);
		if (v < 4)
			agent_passes(line);
		snprintf(line, sizeof(line),
		    "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"protocolVersion\":\"%"
		    "s\"}}",
		    version_text[v]);
		if (v < 4)
			server_passes(line);
		for (size_t i = 0; i < N(matrix); i++)
			one_method(i, v);
		rig_close(&R);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(examples),
	    cmocka_unit_test(every_version),
	    cmocka_unit_test(odd_bytes),
	    cmocka_unit_test(ids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
