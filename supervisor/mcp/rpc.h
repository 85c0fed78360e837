/*
 * Message types: request, answer, notification; errors (rpc.c).  JSON-RPC 2.0.
 */
#ifndef KENNEL_SUPERVISOR_MCP_RPC_H
#define KENNEL_SUPERVISOR_MCP_RPC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/base/buf.h"
#include "supervisor/json/json.h"

enum rpc_kind { RPC_INVALID, RPC_REQUEST, RPC_NOTIFICATION, RPC_ANSWER };

/* Scans a line, as json_scan does; -EBADMSG also for a carriage return inside. */
int rpc_scan(const uint8_t *, size_t, struct json_message *ret);
/* Classifies the message; for RPC_INVALID *ret_why gives the reason. */
enum rpc_kind rpc_kind(const struct json_message *, const char **ret_why);

enum rpc_code {
	RPC_PARSE = -32700,
	RPC_REQUEST_BAD = -32600,
	RPC_NO_METHOD = -32601,
	RPC_PARAMS_BAD = -32602,
	RPC_BUDGET = -32603,      /* more requests of a server than kennel forwards */
	RPC_SERVER_GONE = -32000, /* SDKs: connection closed */
	RPC_TIMEOUT = -32001,     /* SDKs: request timed out */
	RPC_TOO_BIG = -32003,
	RPC_REFUSED = -32004, /* an answer that the policy forbids */
	RPC_NO_RECORD = -32005,
};

struct rpc_why { /* data.kennel of an error; NULL fields are omitted */
	const char *outcome;
	const char *rule; /* file:line */
	const char *because;
	const char *instead;
	const char *cause; /* of a start, and its secret: launch/refused_start.h */
	const char *variable, *path;
	const char *uri; /* of an error: data.uri, the resource that there is not */
};

/* Writes one line: an error for this id as received (id_len 0: null). */
int rpc_error(struct buf *, const uint8_t *id, size_t id_len, enum rpc_code,
    const char *message, const struct rpc_why *);
/* Writes one line: a tools/call result that reports a refusal. */
int rpc_tool_refusal(struct buf *, const uint8_t *id, size_t id_len, const char *message,
    const struct rpc_why *, bool modern);
/* Writes this text as a JSON string; without quotes, only its contents. */
void rpc_text(struct buf *, const char *text, bool quotes);
/* Writes one line: notifications/cancelled for this id. */
int rpc_cancel(struct buf *, const uint8_t *id, size_t id_len, const char *reason);

#endif
