/*
 * JSON-RPC: classifies messages, and writes kennel's own.
 *
 * Error codes: a name that the policy does not allow is -32602, like a prompt or
 * resource that does not exist (a refused tool call is a result with isError, so that
 * the model reads it). A deadline is -32001 and a lost server -32000, as in the
 * common SDKs; kennel's own codes are below that. data.kennel contains the policy
 * rule.
 */
#include "shim/base/array.h"
#include "shim/base/buf.h"
#include "supervisor/json/json.h"
#include "supervisor/mcp/rpc.h"

#include <errno.h>
#include <string.h>

#define TEXT_SHOWN_MAX 800 /* bytes of untrusted text in a message of ours */

static bool
is_version_2(struct json version)
{
	char text[8];
	size_t len;

	return json_text(version, text, sizeof(text), &len) == 0 &&
	       strcmp(text, "2.0") == 0;
}

static bool
id_fits(struct json id)
{
	return (id.type == JSON_IS_STRING || id.type == JSON_IS_NUMBER) &&
	       id.len <= MCP_ID_MAX;
}

static const char *
answer_wrong(const struct json_message *m)
{
	bool result = m->top[TOP_RESULT].type != JSON_IS_NONE;
	bool error = m->top[TOP_ERROR].type != JSON_IS_NONE;

	if (!result && !error)
		return "neither method nor result nor error";
	if (result && error)
		return "both result and error";
	if (!id_fits(m->top[TOP_ID]))
		return "a response needs an id that is a string or a number";
	return NULL;
}

static const char *
call_wrong(const struct json_message *m)
{
	enum json_type id = m->top[TOP_ID].type, params = m->top[TOP_PARAMS].type;
	char method[MCP_METHOD_MAX];
	size_t len;

	/* A name that reads differently in C (a NUL inside) is invalid. */
	if (json_text(m->top[TOP_METHOD], method, sizeof(method), &len) < 0)
		return "method is not a plain text of at most 127 bytes";
	if (m->top[TOP_RESULT].type != JSON_IS_NONE ||
	    m->top[TOP_ERROR].type != JSON_IS_NONE)
		return "both a method and a response";
	if (id != JSON_IS_NONE && !id_fits(m->top[TOP_ID]))
		return "id is not a string or a number of at most 256 bytes";
	if (params != JSON_IS_NONE && params != JSON_IS_OBJECT &&
	    params != JSON_IS_ARRAY && params != JSON_IS_NULL)
		return "params is neither an object nor an array";
	return NULL;
}

/*
 * One line must be one message for every reader, or it does not pass. Some readers
 * also end a line at a carriage return (Python's universal newlines, Node's
 * readline), and would see an unjudged message between two of them.
 */
int
rpc_scan(const uint8_t *line, size_t len, struct json_message *ret)
{
	const uint8_t *cr = memchr(line, '\r', len);
	int r = json_scan(line, len, ret);

	if (r < 0 || cr == NULL || cr == line + len - 1)
		return r;
	ret->stop = (size_t)(cr - line);
	return -EBADMSG;
}

enum rpc_kind
rpc_kind(const struct json_message *m, const char **ret_why)
{
	const char *why = NULL;
	bool call = m->top[TOP_METHOD].type != JSON_IS_NONE;

	if (m->root.type != JSON_IS_OBJECT)
		why = "not an object";
	else if ((m->flags & JSON_TOP_TWICE) != 0)
		why = "duplicate key in the message";
	else if ((m->flags & JSON_TOO_MANY) != 0)
		why = "more than 2048 members in the message or in its params";
	else if (!is_version_2(m->top[TOP_JSONRPC]))
		why = "jsonrpc is not \"2.0\"";
	else if ((m->flags & JSON_PARAM_TWICE) != 0)
		why = "duplicate key in params";
	else
		why = call ? call_wrong(m) : answer_wrong(m);
	if (why != NULL) {
		*ret_why = why;
		return RPC_INVALID;
	}
	if (!call)
		return RPC_ANSWER;
	return m->top[TOP_ID].type == JSON_IS_NONE ? RPC_NOTIFICATION : RPC_REQUEST;
}

/* ---- messages from kennel ----------------------------------------------- */

/* Writes a JSON string: untrusted text is truncated, control bytes are escaped,
 * invalid UTF-8 becomes a question mark. */
void
rpc_text(struct buf *out, const char *text, bool quotes)
{
	const uint8_t *p = (const uint8_t *)text, *end = p + strlen(text);
	bool cut = end - p > TEXT_SHOWN_MAX;

	if (cut)
		end = p + TEXT_SHOWN_MAX;
	if (quotes)
		(void)buf_putc(out, '"'); /* errors surface at the end of the line */
	while (p < end) {
		size_t n = *p < 0x80 ? 1 : json_utf8(p, end);

		if (*p < 0x20 || *p == '"' || *p == '\\' || *p == 0x7f)
			(void)buf_printf(out, "\\u%04x", *p); /* likewise */
		else
			(void)buf_put(out, n == 0 ? (const uint8_t *)"?" : p, n + !n);
		p += n + !n;
	}
	(void)buf_puts(out, cut ? "..." : ""); /* likewise */
	if (quotes)
		(void)buf_putc(out, '"'); /* likewise */
}

static void
put_text(struct buf *out, const char *text)
{
	rpc_text(out, text, true);
}

static void
put_head(struct buf *out, const uint8_t *id, size_t id_len)
{
	(void)buf_puts(out, "{\"jsonrpc\":\"2.0\",\"id\":"); /* surfaces at the end */
	if (id_len == 0)
		(void)buf_puts(out, "null"); /* likewise */
	else
		(void)buf_put(out, id, id_len); /* likewise */
}

static void
put_why(struct buf *out, const struct rpc_why *why)
{
	const struct {
		const char *key, *value;
	} field[] = {
	    {"outcome", why->outcome},
	    {"rule", why->rule},
	    {"because", why->because},
	    {"instead", why->instead},
	    {"cause", why->cause},
	    {"variable", why->variable},
	    {"path", why->path},
	};
	const char *comma = "";

	(void)buf_putc(out, '{'); /* surfaces at the end */
	for (size_t i = 0; i < ARRAY_LEN(field); i++) {
		if (field[i].value == NULL || field[i].value[0] == '\0')
			continue;
		(void)buf_printf(out, "%s\"%s\":", comma, field[i].key); /* likewise */
		put_text(out, field[i].value);
		comma = ",";
	}
	(void)buf_putc(out, '}'); /* likewise */
}

int
rpc_error(struct buf *out, const uint8_t *id, size_t id_len, enum rpc_code code,
    const char *message, const struct rpc_why *why)
{
	static const struct rpc_why nothing;

	put_head(out, id, id_len);
	(void)buf_printf(out, ",\"error\":{\"code\":%d,\"message\":", code); /* at end */
	put_text(out, message);
	(void)buf_puts(out, ",\"data\":{"); /* surfaces at the end */
	if (why != NULL && why->uri != NULL) {
		(void)buf_puts(out, "\"uri\":"); /* likewise */
		put_text(out, why->uri);
		(void)buf_putc(out, ','); /* likewise */
	}
	(void)buf_puts(out, "\"kennel\":"); /* likewise */
	put_why(out, why != NULL ? why : &nothing);
	return buf_puts(out, "}}}\n");
}

int
rpc_tool_refusal(struct buf *out, const uint8_t *id, size_t id_len, const char *message,
    const struct rpc_why *why, bool modern)
{
	put_head(out, id, id_len);
	(void)buf_puts(out, ",\"result\":{"); /* surfaces at the end */
	if (modern)
		(void)buf_puts(out, "\"resultType\":\"complete\",");      /* likewise */
	(void)buf_puts(out, "\"content\":[{\"type\":\"text\",\"text\":"); /* likewise */
	put_text(out, message);
	(void)buf_puts(
	    out, "}],\"isError\":true,\"_meta\":{\"kennel/refusal\":"); /* likewise */
	put_why(out, why);
	return buf_puts(out, "}}}\n");
}

int
rpc_cancel(struct buf *out, const uint8_t *id, size_t id_len, const char *reason)
{
	(void)buf_puts(out, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
			    "\"params\":{\"requestId\":"); /* surfaces at the end */
	(void)buf_put(out, id, id_len);                    /* likewise */
	(void)buf_puts(out, ",\"reason\":");               /* likewise */
	put_text(out, reason);
	return buf_puts(out, "}}\n");
}
