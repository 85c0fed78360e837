/*
 * MCP-ATTACKS 36 37 40: sampling and elicitation by every other way than a request
 * of their own, methods that are named nearly like known ones, and ten thousand
 * messages of a server that are none.  Each attack has its control: the same
 * message where the policy allows it, or the one that it imitates.
 */
#include "policy/sealed/values/method_name.h"
#include "tests/unit/mcp_expect.h"

#define ELICITS \
	"\"inputRequests\":{\"k\":{\"method\":\"elicitation/create\",\"params\":{}}}"
#define RESULT(id, members) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"result\":{" members "}}"
#define FAILS(id, code) \
	"{\"jsonrpc\":\"2.0\",\"id\":" id ",\"error\":{\"code\":" code \
	",\"message\":\"x\"}}"

/* Both sides of the room know the same names, and no other folds to one of them. */
static void
names(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; method_row(i) != NULL; i++) {
		assert_non_null(method_name(i));
		assert_string_equal(method_name(i), method_row(i)->name);
		assert_int_equal(
		    method_form(method_name(i), strlen(method_name(i))), METHOD_KNOWN);
	}
	assert_null(method_name(i));
}

/* What a server with these grants may send at all: its methods, and of those that need a
 * grant the ones whose grant it has. */
static bool
may_send(const struct method *m, uint32_t flags)
{
	bool task = strncmp(m->name, "tasks/", 6) == 0;

	if (m->from_server == 0)
		return false;
	if (strncmp(m->name, "elicitation/", 12) == 0 ||
	    strcmp(m->name, "notifications/elicitation/complete") == 0)
		return (flags & SERVER_MCP_ELICITATION) != 0;
	if (strncmp(m->name, "sampling/", 9) == 0)
		return (flags & SERVER_MCP_SAMPLING) != 0;
	if (strcmp(m->name, "roots/list") == 0)
		return (flags & SERVER_MCP_ROOTS) != 0;
	return !task || (flags & (SERVER_MCP_SAMPLING | SERVER_MCP_ELICITATION)) != 0;
}

/* Each method of a server's that kennel knows, as a request or a notification, with each
 * set of grants. */
static void
without_grant(void **state)
{
	const struct method *m;
	char line[256];
	int refused = 0;

	(void)state;
	for (uint32_t flags = 0; flags <= ALL_FLAGS; flags++) {
		if ((flags & ~ALL_FLAGS) != 0)
			continue;
		rig_policy(&R, flags, open_gates, N(open_gates), NULL, 0);
		rig_open(&R, false);
		for (size_t i = 0; (m = method_row(i)) != NULL; i++) {
			bool note = strncmp(m->name, "notifications/", 14) == 0;
			char id[32] = "";

			if (!note)
				(void)snprintf(id, sizeof(id), "\"id\":%zu,", i + 1);
			(void)snprintf(line, sizeof(line),
			    "{\"jsonrpc\":\"2.0\",%s\"method\":\"%s\",\"params\":{}}", id,
			    m->name);
			if (may_send(m, flags)) { /* the control */
				server_passes(line);
				continue;
			}
			server_dropped(line);
			refused++;
			if (!note)
				assert_non_null(strstr(rig_server_got(&R), "-32601"));
		}
		rig_close(&R);
	}
	assert_true(refused > 100);
}

static const char *const twins[] = {"Tools/Call", "TOOLS/CALL", "tools/call ",
    " tools/call", "tools/call\\t", "tools/call\\n", "tools//call", "/tools/call",
    "tools/call/", "tools.call", "tools_call", "toolsCall", "tool\\u017f/call",
    "tools/call\\u200b", "\\ufefftools/call", "\\uff54ools/call", "tools\\u00a0/call",
    "tools\\u0430/call", "Sampling/CreateMessage", "sampling/createmessage",
    "elicitation/Create", "Roots/List", "Notifications/Tasks", "INITIALIZE",
    "Resources/Read ", "pi\\u0000ng"};
static const char *const others[] = {"skills/list", "tools/callx", "tool/call", "x",
    "ping2", "vendor/sampling/createMessage", "\\u00e9lan", "notifications/task"};

static void
nearly_known(void **state)
{
	char line[256];

	(void)state;
	open_all(false);
	for (size_t i = 0; i < N(twins); i++) {
		bool nul = strstr(twins[i], "u0000") != NULL;

		snprintf(line, sizeof(line), ASK("7", "%s", "\"name\":\"x\""), twins[i]);
		agent_refused(line, nul ? "-32600" : "could be mistaken for a known one");
		snprintf(line, sizeof(line), ASK0("%s", "\"name\":\"x\""), twins[i]);
		rig_agent(&R, line);
		assert_string_equal(rig_server_got(&R), "");
		snprintf(line, sizeof(line), ASK("7", "%s", ""), twins[i]);
		rig_server(&R, line);
		assert_string_equal(rig_agent_got(&R), "");
		assert_non_null(strstr(rig_server_got(&R), nul ? "-32600" : "-32601"));
		snprintf(line, sizeof(line), ASK0("%s", ""), twins[i]);
		server_dropped(line);
	}
	for (size_t i = 0; i < N(others); i++) { /* the control */
		snprintf(line, sizeof(line), ASK("7", "%s", "\"name\":\"x\""), others[i]);
		agent_passes(line);
		server_passes(RESULT("7", "\"a\":1"));
		snprintf(line, sizeof(line), ASK0("%s", ""), others[i]);
		agent_passes(line);
		server_passes(line);
		snprintf(line, sizeof(line), ASK("7", "%s", ""), others[i]);
		server_passes(line);
		agent_passes(RESULT("7", ""));
	}
	assert_non_null(strstr(rig_events, "skills/list"));
	agent_passes(CALL("8", "\"x\""));
	rig_close(&R);
}

/* ---- `method` lines ----------------------------------------------------------------- */

static void
method_lines(void **state)
{
	static const struct rig_gate deny[] = {
	    {.kind = GATE_TOOL, .name = "*", .verdict = VERDICT_ALLOW},
	    {.kind = GATE_METHOD, .name = "skills/*", .verdict = VERDICT_DENY},
	    {.kind = GATE_METHOD, .name = "logging/setLevel", .verdict = VERDICT_DENY}};
	static const struct rig_gate allow[] = {
	    {.kind = GATE_TOOL, .name = "*", .verdict = VERDICT_ALLOW},
	    {.kind = GATE_METHOD, .name = "skills/*", .verdict = VERDICT_ALLOW},
	    {.kind = GATE_METHOD, .name = "skills/put", .verdict = VERDICT_DENY}};

	(void)state;
	rig_policy(&R, 0, deny, N(deny), NULL, 0);
	rig_open(&R, false);
	agent_refused(ASK("1", "skills/list", ""), "denies the method");
	agent_refused(ASK("1", "Skills/ list", ""), "denies the method");
	agent_refused(ASK("1", "logging/setLevel", ""), "-32601");
	rig_agent(&R, ASK0("skills/x", ""));
	assert_string_equal(rig_server_got(&R), "");
	server_dropped(ASK0("skills/x", ""));
	rig_server(&R, ASK("1", "skills/x", ""));
	assert_non_null(strstr(rig_server_got(&R), "-32601"));
	agent_passes(ASK("1", "other/x", "")); /* the control */
	agent_passes(ASK("2", "tools/list", ""));
	rig_close(&R);
	rig_policy(&R, 0, allow, N(allow), NULL, 0);
	rig_open(&R, false);
	agent_passes(ASK("1", "skills/list", ""));
	agent_passes(ASK("2", "tools/list", ""));
	agent_passes(ASK("3", "logging/setLevel", ""));
	agent_refused(ASK("4", "skills/put", ""), "-32601");
	agent_refused(ASK("4", "Skills/list", ""), "not allowed by the policy");
	agent_refused(ASK("4", "other/x", ""), "not allowed by the policy");
	agent_refused(ASK("4", "Tools/List", ""), "could be mistaken");
	server_dropped(ASK0("other/x", ""));
	server_passes(ASK0("skills/changed", ""));
	rig_close(&R);
}

/* ---- requests and errors inside --------------------------------------------------------- */

/* What the server says where the agent has asked for a task, or for something that
 * kennel does not know. */
static const char *const inside[] = {
    RESULT("1", ELICITS),
    RESULT("1", "\"task\":{\"taskId\":\"t\"," ELICITS "}"),
    RESULT("1", "\"task\":{\"taskId\":\"t\",\"error\":{\"code\":-32042}}"),
    RESULT("1", "\"inputRequests\":{\"k\":{\"method\":\"el\\u0069citation/create\"}}"),
    RESULT("1", "\"inputRequests\":{\"k\":{\"method\":\"Elicitation/Create\"}}"),
    RESULT("1", "\"inputRequests\":{\"k\":{\"method\":\"elicitation/create \"}}"),
    RESULT("1", "\"inputRequests\":{\"a\":{\"method\":\"x\"},\"k\":{\"method\":"
		"\"sampling/createMessage\"}}"),
    RESULT("1", "\"inputRequests\":[{\"method\":\"roots/list\"}]"),
    RESULT("1", "\"InputRequests\":{}"),
    RESULT("1", "\"inputRequests\":{},\"inputRequests\":{}"),
    RESULT("1", "\"Task\":{" ELICITS "}"),
    RESULT("1", "\"task\":{\"inputRequests\":{},\"InputRequests\":{}}"),
    FAILS("1", "-32042"),
    FAILS("1", "-32042.0"),
    FAILS("1", "-3.2042e4"),
    FAILS("1", "-32042000e-3"),
    FAILS("1", "-32042.00000000000000000001"),
    FAILS("1", "-0.32042E+5"),
    FAILS("1", "\"-32042\""),
    FAILS("1", "\" -3.2042e4\""),
    FAILS("1", "-32042.0000000000000000000000000000000000000000000000000000000000000"),
};
static const char *const notes[] = {
    ASK0("notifications/tasks", "\"taskId\":\"t\"," ELICITS),
    ASK0("notifications/tasks", "\"task\":{" ELICITS "}"),
    ASK0("notifications/tasks/status", ELICITS),
    ASK0("notifications/tasks", "\"taskId\":\"t\",\"error\":{\"code\":-32042.0}"),
    ASK0("notifications/message", ELICITS),
    ASK0("notifications/tasks", "\"Inputrequests\":{}"),
    ASK0("elicitation/create", "\"message\":\"password?\""),
    ASK0("sampling/createMessage", ""),
    ASK0("roots/list", ""),
    ASK0("tools/call", ""),
};

static void
from_inside(void **state)
{
	static const char *const asks[] = {ASK("1", "tools/call", "\"name\":\"read_x\""),
	    ASK("1", "tasks/get", ""), ASK("1", "tasks/result", ""),
	    ASK("1", "vendor/x", "")};

	(void)state;
	open_some(0);
	for (size_t k = 0; k < N(asks); k++)
		for (size_t i = 0; i < N(inside); i++) {
			agent_passes(asks[k]);
			rig_server(&R, inside[i]);
			if (strstr(rig_agent_got(&R), "\"code\":-32004") == NULL)
				fail_msg("%s: %s", inside[i], rig_agent_got(&R));
			assert_null(strstr(rig_agent_got(&R), "nputRequests\":"));
			assert_null(strstr(rig_agent_got(&R), "-32042"));
		}
	agent_passes(asks[1]); /* what a task has failed with */
	rig_server(
	    &R, RESULT("1", "\"status\":\"failed\",\"error\":{\"code\":-32042.0}"));
	assert_non_null(strstr(rig_agent_got(&R), "-32004"));
	for (size_t i = 0; i < N(notes); i++)
		server_dropped(notes[i]);
	rig_close(&R);
}

/* The control: where the policy allows them they pass, as far as they are plain. */
static void
from_inside_allowed(void **state)
{
	static const char *const odd[] = {"Elicitation", "create ", "nputRequests\":{},",
	    "InputRequests", "Task", "Inputrequests"};
	bool is_odd;

	(void)state;
	open_all(false);
	for (size_t i = 0; i < N(inside); i++) {
		is_odd = false;
		for (size_t k = 0; k < N(odd); k++)
			is_odd = is_odd || strstr(inside[i], odd[k]) != NULL;
		agent_passes(ASK("1", "tasks/get", ""));
		if (!is_odd)
			server_passes(inside[i]);
		else
			rig_server(&R, inside[i]);
		assert_true(is_odd == (strstr(rig_agent_got(&R), "-32004") != NULL));
		agent_passes(ASK("1", "vendor/x", "")); /* unknown: not even then */
		rig_server(&R, inside[i]);
		if (strstr(inside[i], "nputRequests") != NULL)
			assert_non_null(strstr(rig_agent_got(&R), "-32004"));
	}
	for (size_t i = 0; i < N(notes); i++)
		if (strstr(notes[i], "notifications/") != NULL &&
		    strstr(notes[i], "Inputrequests") == NULL)
			server_passes(notes[i]);
		else
			server_dropped(notes[i]);
	server_dropped(ASK0("vendor/x", ELICITS));
	server_passes(ASK0("vendor/x", "\"task\":{}"));
	agent_refused(ASK("9", "vendor/x", ELICITS), "-32601");
	/* data of a tool that has such a key is data */
	agent_passes(CALL("1", "\"x\""));
	server_passes(RESULT("1", "\"structuredContent\":{" ELICITS "}"));
	agent_passes(CALL("1", "\"x\""));
	server_passes(FAILS("1", "-32041"));
	rig_close(&R);
}

/* ---- ten thousand messages that are none -------------------------------------------------- */

static uint32_t seed;

static uint32_t
draw(uint32_t below)
{
	seed = seed * 1664525u + 1013904223u;
	return (uint32_t)((uint64_t)seed * below >> 32);
}

enum told { NOTHING, REFUSED, ASKER /* the server, of its request */ };

struct odd_message {
	enum told told;   /* and nothing passes */
	const char *text; /* @: something drawn; #: blanks, drawn */
};

/* The agent waits for an answer to 1.  docs/MCP.md, "What does not pass". */
static const struct odd_message odd_messages[] = {
    {REFUSED, "{\"jsonrpc\":\"2.0\",#\"id\":1,\"result\":{\"a\":@}"},
    {REFUSED, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":@,}}"},
    {REFUSED, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":0@x}}"},
    {REFUSED, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":@}}#}"},
    {REFUSED, "{\"jsonrpc\":\"2.0\",\"id\":1,#\"result\":{\"a\":\"\xff@\"}}"},
    {REFUSED, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":\"\xc0\x80\",\"b\":@}}"},
    {REFUSED, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":\"\xed\xa0\x80\"}#}"},
    {REFUSED, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":\"\\x41\",\"b\":@}}"},
    {REFUSED, "{\"jsonrpc\":\"2.0\",\"id\":1,\r\"result\":{\"a\":@}}"},
    {REFUSED, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":@},\"result\":{\"a\":@}}"},
    {REFUSED, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":@},\"Result\":{}}"},
    {REFUSED, "{\"jsonrpc\":\"2.0\",\"jsonrpc\":\"2.0\",\"id\":1,\"result\":@}"},
    {REFUSED, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":@,\"error\":{\"code\":@}}"},
    {REFUSED, "{\"jsonrpc\":\"2.1\",\"id\":1,\"result\":@}"},
    {REFUSED, "{\"jsonrpc\":2.0,#\"id\":1,\"result\":@}"},
    {REFUSED, "{\"id\":1,\"jsonrpc\":null,\"error\":{\"code\":@}}"},
    {REFUSED, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"tools\":@,\"tools\":[]}}"},
    {REFUSED, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"Tools\":@}}"},
    {REFUSED, "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":1,\"code\":@}}"},
    {REFUSED, "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32042.0e0,#\"a\":@}}"},
    {REFUSED, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":@,#" ELICITS "}}"},
    {REFUSED,
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"task\":{\"a\":@," ELICITS "}}}"},
    {NOTHING, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"a\":@}}"},
    {NOTHING, "{\"jsonrpc\":\"2.0\",\"id\":\"x1\",\"result\":{\"a\":@}}"},
    {NOTHING, "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"result\":{\"a\":@}}"},
    {NOTHING, "{\"jsonrpc\":\"2.0\",\"id\":null,\"result\":{\"a\":@}}"},
    {NOTHING, "{\"jsonrpc\":\"2.0\",\"id\":[1],\"result\":{\"a\":@}}"},
    {NOTHING, "{\"jsonrpc\":\"2.0\",\"result\":{\"a\":@}}"},
    {NOTHING, "{\"id\":1,\"result\":{\"a\":@}}"},
    {NOTHING, "[{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":@}}]"},
    {NOTHING, "listening on port @"},
    {NOTHING, "\"@"},
    {NOTHING, "@"},
    {NOTHING, "[@,#@]"},
    {NOTHING, "\xef\xbb\xbf{\"method\":\"ping\",\"a\":@}"},
    {NOTHING, ASK0("elicitation/create", "\"message\":@")},
    {NOTHING, ASK0("sampling/createMessage", "#\"a\":@")},
    {NOTHING, ASK0("notifications/tasks", "\"a\":@," ELICITS)},
    {NOTHING, ASK0("notifications/tasks", "\"task\":{" ELICITS "},\"a\":@")},
    {NOTHING, ASK0("Notifications/Message", "\"a\":@")},
    {NOTHING, ASK0("notifications/message", "\"a\":@,\"_meta\":{},\"_Meta\":{}")},
    {ASKER, ASK("3", "elicitation/create", "\"a\":@")},
    {ASKER, ASK("3", "Sampling/createMessage", "\"a\":@")},
    {ASKER, ASK("3", "ping", "\"a\":@,#\"a\":@")},
    {ASKER, ASK("3", "vendor/x", "\"a\":@," ELICITS)},
    {ASKER, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":[@],\"params\":{}}"},
    {ASKER, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"ping\",\"params\":\"@"},
    {ASKER, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"ping\",\"result\":@}"},
};

/* A value, one that no method is. */
static size_t
put_drawn(char *out)
{
	static const char *const plain[] = {"0", "-1.5e300", "true", "null", "[]", "{}",
	    "\"\"", "\"\\u0000\"", "\"jsonrpc\"", "{\"id\":1}", "[[[[]]]]", "1E400"};
	size_t n = 0, len;

	if (draw(2) == 0)
		return (size_t)sprintf(out, "%s", plain[draw(N(plain))]);
	n += (size_t)sprintf(out, "{\"k%u\":\"", draw(1000));
	for (len = draw(4) == 0 ? draw(3000) : draw(20); len > 0; len--)
		out[n++] = "abc{}[]:,12 -_"[draw(14)];
	return n + (size_t)sprintf(out + n, "\\n\\\"\",\"m\":[%d]}", (int)draw(9) - 4);
}

static void
odd_message(const struct odd_message *from, char *out)
{
	const char *p;

	for (p = from->text; *p != '\0'; p++) {
		if (*p == '@')
			out += put_drawn(out);
		else if (*p == '#')
			for (uint32_t n = draw(40); n > 0; n--)
				*out++ = " \t"[draw(2)];
		else
			*out++ = *p;
	}
	*out = '\0';
}

#define AGENT_TOLD  "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32004,"
#define SERVER_TOLD "{\"jsonrpc\":\"2.0\",\"id\":3,\"error\":{\"code\":-32"

static void
ten_thousand(void **state)
{
	static char line[64 << 10];
	const struct odd_message *from;
	const char *agent, *server;
	size_t n[3] = {0};

	(void)state;
	seed = 12;
	rig_policy(&R, 0, some_gates, N(some_gates), NULL, 0);
	rig_open(&R, false);
	for (int i = 0; i < 10000; i++) {
		from = &odd_messages[draw(N(odd_messages))];
		odd_message(from, line);
		rig_events[0] = '\0';
		agent_passes(CALL("1", "\"read_x\""));
		rig_server(&R, line);
		agent = rig_agent_got(&R);
		server = rig_server_got(&R);
		if (from->told == REFUSED
			? strncmp(agent, AGENT_TOLD, strlen(AGENT_TOLD)) != 0 ||
			      strchr(agent, '\n')[1] != '\0'
			: agent[0] != '\0')
			fail_msg("%d: %s: the agent got %s", i, line, agent);
		if (from->told == ASKER
			? strncmp(server, SERVER_TOLD, strlen(SERVER_TOLD)) != 0
			: server[0] != '\0')
			fail_msg("%d: %s: the server got %s", i, line, server);
		assert_int_equal(R.ends, 0);
		n[from->told]++;
		/* the control: the session goes on, and what is a message passes */
		if (from->told != REFUSED)
			server_passes(RESULT("1", "\"content\":[]"));
	}
	assert_true(n[NOTHING] > 2000 && n[REFUSED] > 3000 && n[ASKER] > 1000);
	rig_close(&R);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(names),
	    cmocka_unit_test(without_grant),
	    cmocka_unit_test(nearly_known),
	    cmocka_unit_test(method_lines),
	    cmocka_unit_test(from_inside),
	    cmocka_unit_test(from_inside_allowed),
	    cmocka_unit_test(ten_thousand),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
