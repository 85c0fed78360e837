/*
 * Wire names and `mcp_` names of tools (tool_name.h).
 *
 *	github.create_issue	github__create_issue		plain
 *	github.create.issue	github__create_issue_5256d3bd	not plain: the byte `.`
 *
 * A plain name can be divided at its first `__`, and no other server and tool have
 * it. In the other form the digest keeps names apart that differ in a replaced byte,
 * in a byte after the cut, or in the place of the division.
 */
#include "shim/base/buf.h"
#include "supervisor/json/json.h"
#include "supervisor/serve/tools/tool_name.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "shim/base/hex.h"
#include "shim/base/log.h"

#define DIVIDER      "__"
#define DIGEST_BYTES 4 /* 8 hex digits */
#define CUT_LEN      (TOOL_WIRE_MAX - 1 - 2 * DIGEST_BYTES)

static bool
is_alnum(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool
is_wire(char c)
{
	return is_alnum(c) || c == '_' || c == '-';
}

/* Can the joined name be read back in only one way, by every client? */
static bool
is_plain(const char *server, size_t server_len, const char *tool, size_t tool_len)
{
	size_t i;

	if (server_len + strlen(DIVIDER) + tool_len > TOOL_WIRE_MAX)
		return false;
	if (strstr(server, DIVIDER) != NULL ||
	    (server_len > 0 && server[server_len - 1] == '_') ||
	    (tool_len > 0 && tool[0] == '_'))
		return false;
	for (i = 0; i < server_len; i++)
		if (!is_wire(server[i]))
			return false;
	for (i = 0; i < tool_len; i++)
		if (!is_wire(tool[i]))
			return false;
	return true;
}

/* Copies at most cap bytes, and returns how many. */
static size_t
put_wire(char *out, size_t cap, const char *text, size_t len)
{
	size_t i;

	for (i = 0; i < len && i < cap; i++)
		out[i] = (char)(is_wire(text[i]) ? text[i] : '_');
	return i;
}

static void
digest_store_name(const char *server, size_t server_len, const char *tool,
    size_t tool_len, uint8_t ret[32])
{
	uint8_t name[TOOL_SERVER_MAX + 1 + MCP_NAME_MAX];

	memcpy(name, server, server_len);
	name[server_len] = '.';
	memcpy(name + server_len + 1, tool, tool_len);
	mcp_digest(name, server_len + 1 + tool_len, ret);
}

void
tool_wire_name(
    const char *server, const char *tool, size_t tool_len, char out[TOOL_WIRE_MAX + 1])
{
	size_t server_len = strlen(server), n, cap;
	uint8_t digest[32];
	bool plain;

	if (server_len > TOOL_SERVER_MAX || tool_len > MCP_NAME_MAX)
		bug("the name of a tool is longer than its limit");
	plain = is_plain(server, server_len, tool, tool_len);
	cap = plain ? TOOL_WIRE_MAX : CUT_LEN;
	n = put_wire(out, cap, server, server_len);
	n += put_wire(out + n, cap - n, DIVIDER, strlen(DIVIDER));
	n += put_wire(out + n, cap - n, tool, tool_len);
	out[n] = '\0';
	if (plain)
		return;
	digest_store_name(server, server_len, tool, tool_len, digest);
	out[n++] = '_';
	(void)hex_put(out + n, digest, DIGEST_BYTES); /* out */
}

/* ---- the third spelling ---------------------------------------------------- */

static size_t
put_lower(char *out, const char *text, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++) {
		out[i] = (char)(is_alnum(text[i]) ? text[i] : '_');
		if (out[i] >= 'A' && out[i] <= 'Z')
			out[i] = (char)(out[i] | 0x20);
	}
	return len;
}

void
tool_mcp_name(
    const char *server, const char *tool, size_t tool_len, char out[TOOL_MCP_MAX + 1])
{
	static const char prefix[] = "mcp_";
	size_t server_len = strlen(server), n = 0;

	out[0] = '\0';
	if (server_len > TOOL_SERVER_MAX ||
	    tool_len > TOOL_MCP_MAX - strlen(prefix) - server_len - 1)
		return;
	n += put_lower(out + n, prefix, strlen(prefix));
	n += put_lower(out + n, server, server_len);
	out[n++] = '_';
	n += put_lower(out + n, tool, tool_len);
	out[n] = '\0';
}
