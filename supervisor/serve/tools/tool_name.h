/*
 * The spellings of a tool's name that an agent may use, apart from `server.tool`.
 *
 * Each depends on server and tool alone, so that no other tool's presence changes it.
 * Two tools may get the same spelling: the catalogue looks for that.
 */
#ifndef KENNEL_SUPERVISOR_SERVE_TOOLS_TOOL_NAME_H
#define KENNEL_SUPERVISOR_SERVE_TOOLS_TOOL_NAME_H

#include <stddef.h>

#define TOOL_SERVER_MAX 64  /* bytes of a server's name: the policy language's limit */
#define TOOL_WIRE_MAX   64  /* bytes that MCP clients accept in a tool's name */
#define TOOL_MCP_MAX    256 /* bytes of an `mcp_` spelling; longer names have none */

/*
 * The name in `tools/list`: server, `__`, tool; or, if that is not plain, a cut form
 * with a digest. Prompts use it too. server has at most TOOL_SERVER_MAX bytes, tool
 * at most MCP_NAME_MAX, of any value.
 */
void tool_wire_name(
    const char *server, const char *tool, size_t tool_len, char out[TOOL_WIRE_MAX + 1]);

/*
 * `mcp_SERVER_TOOL` in lower case, with `_` for every byte but letters and digits; "",
 * which no caller may match, if it would be longer than TOOL_MCP_MAX.
 */
void tool_mcp_name(
    const char *server, const char *tool, size_t tool_len, char out[TOOL_MCP_MAX + 1]);

#endif
