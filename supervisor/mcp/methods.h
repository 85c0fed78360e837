/*
 * The methods of each protocol version (methods.c).
 */
#ifndef KENNEL_SUPERVISOR_MCP_METHODS_H
#define KENNEL_SUPERVISOR_MCP_METHODS_H

#include <stddef.h>
#include <stdint.h>

enum mcp_version { /* bits */
	MCP_2024_11_05 = 1,
	MCP_2025_03_26 = 2, /* the only one with batches */
	MCP_2025_06_18 = 4,
	MCP_2025_11_25 = 8,
	MCP_2026_07_28 = 16,
};
/* The version with this name; 0 if unknown. */
enum mcp_version mcp_version_find(const char *, size_t);
const char *mcp_version_name(enum mcp_version); /* of one version */

enum method_where { WHERE_NONE, WHERE_NAME, WHERE_URI, WHERE_REF, WHERE_LISTEN };
enum method_flag {
	METHOD_DEADLINE = 1, /* "timeout call" applies */
	METHOD_ASKS = 2,     /* a user may be answering: deadlines stop */
	METHOD_RESULT = 4,   /* a refusal is a result with isError */
	METHOD_LIST = 8,
	METHOD_FIRST = 16,  /* may not be cancelled, not allowed in a batch */
	METHOD_GREETS = 32, /* the answer describes the server */
	METHOD_TASK = 64,   /* reports the outcome of a task */
	METHOD_KEEPS = 128, /* of the session itself: uses nothing of the server's */
};

struct method {
	const char *name;
	uint8_t from_agent; /* versions in which the agent may send it */
	uint8_t from_server;
	uint8_t gate;   /* enum sealed_gate_kind, 0: none */
	uint8_t where;  /* enum method_where: what the gate judges */
	uint8_t list;   /* METHOD_LIST: enum json_result */
	uint8_t flags;  /* enum method_flag */
	uint32_t needs; /* of a server's message: enum sealed_server_flag */
};

/* NULL: a method that kennel does not know; it passes. */
const struct method *method_find(const char *, size_t);
const struct method *method_row(size_t i); /* NULL after the last */

#define META_SERVER_INFO "io.modelcontextprotocol/serverInfo" /* of a result's _meta */

/* Names of the client capabilities that a flag of the policy covers. */
struct capability {
	const char *name;
	uint32_t needs;
};
extern const struct capability mcp_capabilities[3];

#endif
