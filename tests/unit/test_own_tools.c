/*
 * Kennel's own tools and their facets: which exist, in which order, who lists them,
 * and what their definitions say.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "shim/base/array.h"
#include "shim/base/buf.h"
#include "supervisor/json/json.h"
#include "supervisor/serve/tools/own_tools.h"

#define LIST_MAX 1024
#define SEARCH   "tool_search tool_describe tool_invoke"
#define SECRETS \
	"secrets_list secrets_describe secrets_request_provision " \
	"secrets_request_rotation secrets_propose_metadata secrets_propose_new_path " \
	"secrets_request_use_approval secrets_poll_status"
#define ALL SECRETS " " SEARCH " mcp_query mcp_register"

/* The names for which the answer is yes, with spaces between. */
static const char *
those(bool (*is)(const struct facets *, const struct own_tool *), const struct facets *f)
{
	static char out[LIST_MAX];

	out[0] = '\0';
	for (size_t i = 0; i < OWN_TOOL_N; i++)
		if (is(f, &own_tools[i])) {
			if (out[0] != '\0')
				strcat(out, " ");
			strcat(out, own_tools[i].name);
		}
	return out;
}

/* As if every tool were built. */
static bool
in_default(const struct facets *f, const struct own_tool *tool)
{
	struct own_tool built = *tool;

	built.definition = "{}";
	return facets_list(f, &built);
}

/* ---- the table ------------------------------------------------------------ */

static void
budget(void **state)
{
	struct facets f;
	struct reason why;
	size_t n = 0;

	assert_int_equal(DEFAULT_TOOL_BUDGET, 12);
	assert_int_equal(facets_from(&(struct facet_lists){0}, &f, &why), 0);
	for (size_t i = 0; i < OWN_TOOL_N; i++)
		n += in_default(&f, &own_tools[i]);
	assert_int_equal(n, DEFAULT_TOOL_BUDGET);
	assert_string_equal(those(in_default, &f),
	    "secrets_list secrets_describe secrets_request_provision "
	    "secrets_request_rotation secrets_propose_metadata secrets_propose_new_path "
	    "secrets_request_use_approval secrets_poll_status "
	    "tool_search tool_describe tool_invoke mcp_query");
	assert_string_equal(own_tools[OWN_MCP_REGISTER].name, "mcp_register");
	assert_int_equal(OWN_TOOL_N, DEFAULT_TOOL_BUDGET + 1);
	/* what can be listed today */
	assert_string_equal(those(facets_list, &f), SECRETS " " SEARCH " mcp_query");
}

static void
find(void **state)
{
	enum own_tool_id id = OWN_TOOL_N;

	for (size_t i = 0; i < OWN_TOOL_N; i++) {
		const char *name = own_tools[i].name;

		assert_int_equal(own_tool_find(name, strlen(name), &id), 0);
		assert_int_equal(id, i);
		assert_int_equal(own_tool_find(name, strlen(name) - 1, &id), -ENOENT);
		assert_null(strstr(name, "__")); /* never a downstream tool's name */
	}
	assert_int_equal(own_tool_find("", 0, &id), -ENOENT);
	assert_int_equal(own_tool_find("mcp_query\0x", 11, &id), -ENOENT);
	assert_int_equal(own_tool_find("MCP_QUERY", 9, &id), -ENOENT);
}

/* ---- definitions ---------------------------------------------------------- */

static struct json
scan(const char *text)
{
	struct json_message m;

	assert_int_equal(json_scan((const uint8_t *)text, strlen(text), &m), 0);
	return m.root;
}

static struct json
member(struct json object, const char *name)
{
	struct json value;

	assert_int_equal(json_get(object, name, &value), 0);
	return value;
}

static void
value_is(struct json value, const char *wanted)
{
	assert_int_equal(value.len, strlen(wanted));
	assert_memory_equal(value.at, wanted, value.len);
}

static void
definitions(void **state)
{
	for (size_t i = 0; i < OWN_TOOL_N; i++) {
		const struct own_tool *tool = &own_tools[i];
		struct json root, text;
		struct buf canon;
		char name[64];
		size_t len;

		if (tool->definition == NULL) {
			assert_int_equal(tool->facet, FACET_SECRETS);
			continue;
		}
		root = scan(tool->definition);
		buf_init(&canon, MCP_MESSAGE_MAX);
		assert_int_equal(json_canon(root, &canon), 0);
		assert_string_equal(buf_str(&canon), tool->definition);
		buf_free(&canon);
		assert_int_equal(
		    json_text(member(root, "name"), name, sizeof(name), &len), 0);
		assert_string_equal(name, tool->name);
		assert_true(member(root, "title").len > 2);
		if (tool->facet == FACET_SECRETS)
			value_is(member(member(root, "_meta"), "kennel/secrets-protocol"),
			    "\"1.0\"");
		assert_true(member(root, "description").len > 100);
		value_is(member(member(root, "inputSchema"), "type"), "\"object\"");
		if (i == OWN_TOOL_INVOKE) {
			assert_int_equal(json_get(root, "outputSchema", &text), -ENOENT);
			value_is(
			    member(root, "execution"), "{\"taskSupport\":\"optional\"}");
			continue;
		}
		value_is(member(member(root, "outputSchema"), "type"), "\"object\"");
		assert_int_equal(json_get(root, "execution", &text), -ENOENT);
	}
}

static void
annotations(void **state)
{
	static const char reads[] = "{\"destructiveHint\":false,\"idempotentHint\":true,"
				    "\"openWorldHint\":false,\"readOnlyHint\":true}";
	static const char destroys[] =
	    "{\"destructiveHint\":true,\"idempotentHint\":false,"
	    "\"openWorldHint\":true,\"readOnlyHint\":false}";
	static const char changes[] =
	    "{\"destructiveHint\":false,\"idempotentHint\":false,"
	    "\"openWorldHint\":false,\"readOnlyHint\":false}";
	static const struct {
		enum own_tool_id id;
		const char *is;
	} rows[] = {
	    {OWN_SECRETS_LIST, reads},
	    {OWN_SECRETS_DESCRIBE, reads},
	    {OWN_SECRETS_REQUEST_USE_APPROVAL, changes},
	    {OWN_SECRETS_POLL_STATUS, reads},
	    {OWN_TOOL_SEARCH, reads},
	    {OWN_TOOL_DESCRIBE, reads},
	    {OWN_TOOL_INVOKE, destroys},
	    {OWN_MCP_QUERY, destroys},
	    {OWN_MCP_REGISTER, changes},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		value_is(member(scan(own_tools[rows[i].id].definition), "annotations"),
		    rows[i].is);
}

/* The members of properties, with spaces between. */
static const char *
property_names(struct json schema)
{
	static char out[LIST_MAX];
	struct json key, value;
	struct json_walk w;

	out[0] = '\0';
	json_walk(&w, member(schema, "properties"));
	while (json_next(&w, &key, &value)) {
		if (out[0] != '\0')
			strcat(out, " ");
		strncat(out, (const char *)key.at + 1, key.len - 2);
	}
	return out;
}

static void
golden(void **state)
{
	struct json out =
	    member(scan(own_tools[OWN_MCP_QUERY].definition), "outputSchema");
	struct json properties = member(out, "properties");

	assert_string_equal(property_names(out), "detail result server state tool");
	value_is(member(out, "required"), "[\"server\",\"tool\",\"state\"]");
	value_is(member(out, "additionalProperties"), "false");
	value_is(member(member(properties, "state"), "enum"),
	    "[\"ok\",\"denied\",\"error\",\"skipped\"]");
	value_is(member(member(properties, "result"), "type"), "\"object\"");
	value_is(member(member(properties, "detail"), "type"), "\"string\"");
}

static void
arguments(void **state)
{
	static const struct {
		enum own_tool_id id;
		const char *names, *required; /* NULL: none */
	} rows[] = {
	    {OWN_SECRETS_LIST, "include_internal path_contains scope status", NULL},
	    {OWN_SECRETS_DESCRIBE, "path", "[\"path\"]"},
	    {OWN_SECRETS_REQUEST_USE_APPROVAL, "path reason ttl_seconds",
		"[\"path\",\"reason\"]"},
	    {OWN_SECRETS_POLL_STATUS, "request_id", "[\"request_id\"]"},
	    {OWN_TOOL_SEARCH, "cursor limit query server", "[\"query\"]"},
	    {OWN_TOOL_DESCRIBE, "name", "[\"name\"]"},
	    {OWN_TOOL_INVOKE, "arguments name", "[\"name\"]"},
	    {OWN_MCP_QUERY, "arguments server timeout_seconds tool",
		"[\"server\",\"tool\"]"},
	    {OWN_MCP_REGISTER, "action args command name note", NULL},
	};
	struct json limit, in, none;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		in = member(scan(own_tools[rows[i].id].definition), "inputSchema");
		assert_string_equal(property_names(in), rows[i].names);
		if (rows[i].required == NULL)
			assert_int_equal(json_get(in, "required", &none), -ENOENT);
		else
			value_is(member(in, "required"), rows[i].required);
	}
	in = member(scan(own_tools[OWN_TOOL_SEARCH].definition), "inputSchema");
	limit = member(member(in, "properties"), "limit");
	value_is(member(limit, "minimum"), "1");
	value_is(member(limit, "maximum"), "100");
	value_is(member(limit, "default"), "20");
	in = member(scan(own_tools[OWN_MCP_REGISTER].definition), "inputSchema");
	in = member(member(in, "properties"), "action");
	value_is(member(in, "enum"), "[\"add\",\"list\",\"remove\"]");
	value_is(member(in, "default"), "\"add\"");
}

/* ---- facets --------------------------------------------------------------- */

static void
precedence(void **state)
{
	static const struct {
		struct facet_lists lists;
		const char *listed, *offered;
	} rows[] = {
	    {{0}, SECRETS " " SEARCH " mcp_query", ALL},
	    /* a list replaces the default, and the first one counts */
	    {{"mcp,query", NULL, 0, 0}, "mcp_query mcp_register", ALL},
	    {{"mcp", "query", 1u << FACET_SEARCH, 0}, "mcp_register", ALL},
	    {{NULL, "query", 1u << FACET_SEARCH, 0}, "mcp_query", ALL},
	    {{NULL, "", 1u << FACET_SEARCH, 0}, SEARCH, ALL},
	    {{"secrets", NULL, 0, 0}, SECRETS, ALL},
	    /* deny wins over each of them */
	    {{"mcp,query", NULL, 0, 1u << FACET_MCP}, "mcp_query",
		SECRETS " " SEARCH " mcp_query"},
	    {{NULL, "mcp,query", 0, 1u << FACET_MCP}, "mcp_query",
		SECRETS " " SEARCH " mcp_query"},
	    {{NULL, NULL, 1u << FACET_MCP, 1u << FACET_MCP}, "",
		SECRETS " " SEARCH " mcp_query"},
	    {{NULL, NULL, 0, 1u << FACET_SEARCH | 1u << FACET_QUERY}, SECRETS,
		SECRETS " mcp_register"},
	    {{NULL, NULL, 0, 1u << FACET_SECRETS}, SEARCH " mcp_query",
		SEARCH " mcp_query mcp_register"},
	};
	struct facets f;
	struct reason why;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(facets_from(&rows[i].lists, &f, &why), 0);
		assert_string_equal(those(facets_list, &f), rows[i].listed);
		assert_string_equal(those(facets_offer, &f), rows[i].offered);
	}
}

static void
unknown(void **state)
{
	static const struct {
		struct facet_lists lists;
		const char *why;
	} rows[] = {
	    {{"serach", NULL, 0, 0},
		"unknown facet `serach` in --facet: did you mean `search`?"},
	    {{"query,board", NULL, 0, 0},
		"unknown facet `board` in --facet: expected one of secrets, search, "
		"query, mcp"},
	    {{NULL, "mcp;query", 0, 0},
		"unknown facet `mcp;query` in KENNEL_FACETS: expected one of secrets, "
		"search, query, mcp"},
	    /* never ignored, not even if another list replaces it */
	    {{"mcp", "x\x1b[2J", 0, 0},
		"unknown facet `x\\x1b[2J` in KENNEL_FACETS: expected one of secrets, "
		"search, query, mcp"},
	    {{"", NULL, 0, 0},
		"expected a list of facets in --facet, separated by commas: secrets, "
		"search, query, mcp"},
	    {{"mcp,", NULL, 0, 0},
		"expected a list of facets in --facet, separated by commas: secrets, "
		"search, query, mcp"},
	    {{"MCP", NULL, 0, 0},
		"unknown facet `MCP` in --facet: expected one of secrets, search, query, "
		"mcp"},
	};
	struct facets f = {.listed = 7, .denied = 7};
	struct reason why;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(facets_from(&rows[i].lists, &f, &why), -EINVAL);
		assert_string_equal(why.text, rows[i].why);
		assert_int_equal(f.listed, 7);
		assert_int_equal(f.denied, 7);
	}
}

static void
facet_words(void **state)
{
	char list[LIST_MAX] = "";
	enum facet f;

	for (size_t i = 0; i < FACET_N; i++) {
		const char *name = facet_name((enum facet)i);

		assert_int_equal(facet_find(name, strlen(name), &f), 0);
		assert_int_equal(f, i);
		strcat(strcat(list, i > 0 ? ", " : ""), name);
	}
	assert_string_equal(facet_names(), list);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    {"S4-11 twelve tools by default: names and order (C22)", budget, NULL, NULL,
		NULL},
	    {"S4-08 an own tool is found by its exact name", find, NULL, NULL, NULL},
	    {"definitions are canonical and have what clients need", definitions, NULL,
		NULL, NULL},
	    {"S4-09 annotations say what a call may change", annotations, NULL, NULL,
		NULL},
	    {"S4-51 mcp_query declares the golden object", golden, NULL, NULL, NULL},
	    {"S4-08 S4-13 arguments of each tool", arguments, NULL, NULL, NULL},
	    {"S4-10 S4-12 which list of facets counts; deny always wins", precedence,
		NULL, NULL, NULL},
	    {"an unknown facet is an error with its place", unknown, NULL, NULL, NULL},
	    {"every facet has a name", facet_words, NULL, NULL, NULL},
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
