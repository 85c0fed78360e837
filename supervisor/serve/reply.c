/*
 * What kennel answers itself: errors, refusals, results of its own tools.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "shim/base/log.h"
#include "shim/host/remote_mark.h"
#include "supervisor/serve/private.h"
#include "supervisor/serve/secrets_tools.h"

#ifndef KENNEL_VERSION
#define KENNEL_VERSION "0.1"
#endif

#define ERRORS_ROOM     (4u << 20) /* of the agent's queue, kept for errors */
#define TOOL_ANSWER_MAX ((FRAME_MAX - ERRORS_ROOM) / 3 - (1u << 20))

/* ---- texts ----------------------------------------------------------------- */

void
quote(struct buf *out, const void *bytes, size_t len)
{
	(void)json_quote(out, bytes, len); /* errors surface at the end of the line */
}

void
quote_text(struct buf *out, const char *text)
{
	quote(out, text, strlen(text));
}

void
quote_name(struct buf *out, const struct item *i)
{
	struct buf name;

	buf_init(&name, (size_t)2 * MCP_NAME_MAX);
	(void)buf_printf(&name, "%s.", i->server->name); /* fits */
	(void)buf_put(&name, i->name, i->name_len);      /* fits */
	quote(out, name.data, name.len);
	buf_free(&name);
}

const char *
text_of(struct json value, char *out, size_t cap)
{
	size_t len;

	return json_text(value, out, cap, &len) == 0 ? out : NULL;
}

bool
is_of_token(const struct server *s, const struct json_message *m, const char *text)
{
	static const char mark[] = REMOTE_ERROR;
	struct json error = m->top[TOP_ERROR];
	const char *p = text;

	if (policy_remote_url(&s->policy, s->sealed) == NULL ||
	    error.type != JSON_IS_OBJECT || error.len < sizeof(mark) ||
	    memcmp(error.at, mark, sizeof(mark) - 1) != 0 ||
	    (strncmp(text, "auth-required: ", 15) != 0 &&
		strncmp(text, "auth-failed: ", 13) != 0))
		return false;
	while (*p >= ' ' && *p < 0x7f)
		p++;
	return *p == '\0';
}

/* ---- lines ----------------------------------------------------------------- */

/* At most so many bytes may then be queued. */
static int
send_within(struct hub *h, size_t most)
{
	int r;

	if (!h->to_agent.closed && frame_queued(&h->to_agent) + h->text.len > most)
		return -EMSGSIZE;
	r = frame_say(&h->to_agent, h->text.data, h->text.len);
	if (r < 0)
		h->error = r;
	return 0;
}

int
reply_send(struct hub *h)
{
	return send_within(h, FRAME_MAX - ERRORS_ROOM);
}

/* An error, which says why there is no answer. Only an agent that does not read loses it:
 * those of all requests under way, or of a batch, fit. */
static void
send_error(struct hub *h)
{
	if (send_within(h, FRAME_MAX) < 0)
		log_debug("the agent does not read; an error is lost");
}

static struct json
id_of(const struct incoming *in)
{
	struct json id = in->m.top[TOP_ID];

	if ((id.type != JSON_IS_STRING && id.type != JSON_IS_NUMBER) ||
	    id.len > MCP_ID_MAX)
		id.len = 0;
	return id;
}

void
reply_error_why(struct hub *h, const struct incoming *in, int code, const char *message,
    const struct rpc_why *why)
{
	struct json id = id_of(in);
	int r;

	buf_clear(&h->text);
	r = rpc_error(&h->text, id.at, id.len, (enum rpc_code)code, message, why);
	if (r < 0)
		h->error = r;
	send_error(h);
}

void
reply_error(struct hub *h, const struct incoming *in, int code, const char *message)
{
	static const struct rpc_why why = {.outcome = "refused"};

	reply_error_why(h, in, code, message, &why);
}

void
reply_refusal(struct hub *h, const struct incoming *in, const char *text,
    const char *outcome, const struct rpc_why *given)
{
	struct rpc_why why = given != NULL ? *given : (struct rpc_why){0};
	struct json id = id_of(in);
	int r;

	why.outcome = outcome;
	buf_clear(&h->text);
	r = rpc_tool_refusal(&h->text, id.at, id.len, text, &why, in->modern);
	if (r < 0)
		h->error = r;
	send_error(h);
}

static void
begin(struct hub *h, const struct incoming *in)
{
	struct json id = id_of(in);

	buf_clear(&h->text);
	(void)buf_puts(&h->text, "{\"jsonrpc\":\"2.0\",\"id\":"); /* at the end */
	(void)buf_put(&h->text, id.at, id.len);                   /* likewise */
	(void)buf_puts(&h->text, ",\"result\":{");                /* likewise */
	if (in->modern)
		(void)buf_puts(&h->text, "\"resultType\":\"complete\","); /* likewise */
}

/* meta: a further member of _meta; NULL: none. */
static void
finish(struct hub *h, const struct incoming *in, const char *meta)
{
	if (in->modern)
		(void)buf_printf(&h->text, /* at the end */
		    ",\"_meta\":{\"io.modelcontextprotocol/serverInfo\":{\"name\":"
		    "\"kennel\",\"title\":\"kennel\",\"version\":\"" KENNEL_VERSION
		    "\"}%s%s}",
		    meta != NULL ? "," : "", meta != NULL ? meta : "");
	else if (meta != NULL)
		(void)buf_printf(&h->text, ",\"_meta\":{%s}", meta); /* likewise */
	if (buf_puts(&h->text, "}}\n") < 0)
		h->error = -ENOMEM;
	if (reply_send(h) < 0)
		reply_error(h, in, RPC_NO_RECORD,
		    "kennel: earlier answers have not been read; read them and repeat "
		    "the request");
}

static void
result(struct hub *h, const struct incoming *in, const struct buf *members, int ttl_ms,
    const char *meta)
{
	begin(h, in);
	if (members->len == 0 && in->modern)
		h->text.len--;                                /* the comma */
	(void)buf_put(&h->text, members->data, members->len); /* surfaces at the end */
	if (in->modern && ttl_ms >= 0)
		(void)buf_printf(&h->text, ",\"ttlMs\":%d,\"cacheScope\":\"private\"",
		    ttl_ms); /* likewise */
	finish(h, in, meta);
}

void
reply_result(
    struct hub *h, const struct incoming *in, const struct buf *members, int ttl_ms)
{
	result(h, in, members, ttl_ms, NULL);
}

void
reply_greeting(
    struct hub *h, const struct incoming *in, const struct buf *members, int ttl_ms)
{
	result(h, in, members, ttl_ms, secrets_meta(h));
}

static void
tool_result(struct hub *h, const struct incoming *in, const struct buf *structured,
    const char *text, bool is_error, const char *meta)
{
	/* what is quoted grows at most twofold, and must fit beside the original */
	if (structured->len > TOOL_ANSWER_MAX) {
		reply_error(h, in, RPC_TOO_BIG, "kennel: the answer is too long");
		return;
	}
	begin(h, in);
	(void)buf_puts(
	    &h->text, "\"content\":[{\"type\":\"text\",\"text\":"); /* at the end */
	if (text != NULL)
		quote_text(&h->text, text);
	else
		quote(&h->text, structured->data, structured->len);
	(void)buf_puts(&h->text, "}],\"structuredContent\":");      /* likewise */
	(void)buf_put(&h->text, structured->data, structured->len); /* likewise */
	if (is_error)
		(void)buf_puts(&h->text, ",\"isError\":true"); /* likewise */
	finish(h, in, meta);
}

void
reply_tool(struct hub *h, const struct incoming *in, const struct buf *structured,
    const char *text, bool is_error)
{
	tool_result(h, in, structured, text, is_error, NULL);
}

void
reply_not_ready(struct hub *h, const struct incoming *in, const struct buf *structured,
    const char *text)
{
	tool_result(h, in, structured, text, true,
	    "\"kennel/refusal\":{\"outcome\":\"not ready\"}");
}

void
notify(struct hub *h, const char *method)
{
	buf_clear(&h->text);
	if (buf_printf(&h->text, "{\"jsonrpc\":\"2.0\",\"method\":\"%s\"}\n", method) < 0)
		h->error = -ENOMEM;
	(void)reply_send(h); /* a notice; an agent that does not read loses it */
}
