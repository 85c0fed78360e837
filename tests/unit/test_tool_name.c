/*
 * The spellings of a tool's name: plain ones as they are, the others by a digest of
 * the name itself, and never more than clients accept.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "shim/base/array.h"
#include "supervisor/json/json.h"
#include "supervisor/serve/tools/tool_name.h"

#define A10 "aaaaaaaaaa"
#define A55 A10 A10 A10 A10 A10 "aaaaa"
#define A60 A10 A10 A10 A10 A10 A10

static void
wire_is(const char *server, const char *tool, const char *wanted)
{
	char out[TOOL_WIRE_MAX + 1];

	tool_wire_name(server, tool, strlen(tool), out);
	assert_string_equal(out, wanted);
}

/* The digests are sha256sum's. */
static void
names(void **state)
{
	static const struct {
		const char *server, *tool, *wire;
	} rows[] = {
	    /* plain */
	    {"github", "create_issue", "github__create_issue"},
	    {"my_srv", "a__b", "my_srv__a__b"},
	    {"My-Srv", "Get-It9", "My-Srv__Get-It9"},
	    {"s", "a_", "s__a_"},
	    {"s", A60 "a", "s__" A60 "a"}, /* 64 bytes */
	    /* too long */
	    {"s", A60 "aa", "s__" A10 A10 A10 A10 A10 "aa_4f82d9d5"},
	    /* a byte that clients refuse */
	    {"s", "a.b", "s__a_b_17ad37df"},
	    {"github", "r\xc3\xa9sum\xc3\xa9", "github__r__sum___d82f2c5d"},
	    /* could be divided in another place */
	    {"my__srv", "x", "my__srv__x_c4f8f754"},
	    {"srv_", "x", "srv___x_e38c02ec"},
	    {"srv", "_x", "srv___x_6282e125"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		wire_is(rows[i].server, rows[i].tool, rows[i].wire);
}

/* Names that would be equal if they were only cut and cleaned. */
static void
apart(void **state)
{
	static const char *const pair[][4] = {
	    {"s", "a.b", "s", "a/b"},
	    {"a_", "b", "a", "_b"},
	    {"a__b", "c", "a", "b__c"},
	    {"s", A60 A60 "1", "s", A60 A60 "2"},
	    {A60, "read", A60, "write"},
	};
	char one[TOOL_WIRE_MAX + 1], two[TOOL_WIRE_MAX + 1];

	for (size_t i = 0; i < ARRAY_LEN(pair); i++) {
		tool_wire_name(pair[i][0], pair[i][1], strlen(pair[i][1]), one);
		tool_wire_name(pair[i][2], pair[i][3], strlen(pair[i][3]), two);
		assert_string_not_equal(one, two);
	}
}

/* Any name becomes one to 64 bytes that every client accepts, and the same each time. */
static void
any_bytes(void **state)
{
	static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "0123456789_-";
	char server[TOOL_SERVER_MAX + 1], again[TOOL_WIRE_MAX + 1];
	char out[TOOL_WIRE_MAX + 1], *tool = malloc(MCP_NAME_MAX);

	assert_non_null(tool);
	for (size_t len = 0; len <= MCP_NAME_MAX; len = len < 80 ? len + 1 : len * 2) {
		size_t n = len % TOOL_SERVER_MAX + 1;

		memset(server, 's', n);
		server[n] = '\0';
		for (size_t i = 0; i < len; i++)
			tool[i] = (char)(i * 7 + len);
		tool_wire_name(server, tool, len, out);
		assert_in_range(strlen(out), 1, TOOL_WIRE_MAX);
		assert_int_equal(strspn(out, good), strlen(out));
		tool_wire_name(server, tool, len, again);
		assert_string_equal(out, again);
	}
	free(tool);
}

static void
mcp_is(const char *server, const char *tool, size_t len, const char *wanted)
{
	char out[TOOL_MCP_MAX + 1];

	tool_mcp_name(server, tool, len, out);
	assert_string_equal(out, wanted);
}

static void
mcp_names(void **state)
{
	char longest[TOOL_MCP_MAX + 1], tool[TOOL_MCP_MAX];
	size_t fits = TOOL_MCP_MAX - strlen("mcp_s_");

	mcp_is("GitHub", "createIssue", 11, "mcp_github_createissue");
	mcp_is("my-srv", "get.it/now", 10, "mcp_my_srv_get_it_now");
	mcp_is("s", "\0\xff", 2, "mcp_s___");
	mcp_is("s", "", 0, "mcp_s_");
	memset(tool, 'a', sizeof(tool));
	memset(longest, 'a', sizeof(longest));
	memcpy(longest, "mcp_s_", 6);
	longest[TOOL_MCP_MAX] = '\0';
	mcp_is("s", tool, fits, longest);
	mcp_is("s", tool, fits + 1, "");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    {"S3-24 wire names: plain, or with a digest (C15)", names, NULL, NULL, NULL},
	    {"C15 what only looks equal has two wire names", apart, NULL, NULL, NULL},
	    {"C15 any bytes become a name that clients accept", any_bytes, NULL, NULL,
		NULL},
	    {"S2-48 mcp_ names: lower case, bounded (C31)", mcp_names, NULL, NULL, NULL},
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
