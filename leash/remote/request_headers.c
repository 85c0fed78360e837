/*
 * The headers of a request.  The agent's part in them (a method, a name) is
 * encoded if it is not plain, so that no value can begin another header.
 */
#include "leash/remote/oauth_text.h"
#include "leash/remote/private.h"

#include <errno.h>
#include <string.h>

/* An offset while text may still move; a pointer after it. */
struct made {
	size_t at[HEADERS_MAX];
	size_t n;
};

static int
header_begin(struct header_list *l, struct made *m, const char *name)
{
	if (m->n == HEADERS_MAX)
		return -EMSGSIZE;
	m->at[m->n++] = l->text.len;
	return buf_printf(&l->text, "%s: ", name);
}

static int
header_put(struct header_list *l, struct made *m, const char *name, const char *value)
{
	int r = header_begin(l, m, name);

	if (r == 0)
		r = buf_puts(&l->text, value);
	return r == 0 ? buf_putc(&l->text, '\0') : r;
}

static bool
is_plain(const struct buf *b)
{
	size_t i;

	for (i = 0; i < b->len; i++)
		if (b->data[i] < ' ' || b->data[i] >= 0x7f)
			return false;
	return b->len > 0 && b->data[0] != ' ' && b->data[b->len - 1] != ' ' &&
	       (b->len < 2 || memcmp(b->data, "=?", 2) != 0);
}

/* A string of JSON, as =?base64?...?= if it is not plain. */
static int
header_value(struct header_list *l, struct made *m, const char *name, struct slice value)
{
	struct buf plain;
	int r;

	if (value.len == 0)
		return 0;
	buf_init(&plain, MESSAGE_MAX);
	r = message_unescape(value, &plain);
	if (r == -EBADMSG) { /* kennel sent no such string */
		buf_free(&plain);
		return 0;
	}
	if (r == 0)
		r = header_begin(l, m, name);
	if (r == 0 && is_plain(&plain)) {
		r = buf_put(&l->text, plain.data, plain.len);
	} else if (r == 0) {
		r = buf_puts(&l->text, "=?base64?");
		if (r == 0)
			r = text_base64(&l->text, plain.data, plain.len);
		if (r == 0)
			r = buf_puts(&l->text, "?=");
	}
	buf_free(&plain);
	return r == 0 ? buf_putc(&l->text, '\0') : r;
}

struct params {
	struct header_list *list;
	struct made *made;
	int error;
};

/* A marked argument: a string, a number, true or false; null has no header. */
static void
param(void *arg, const char *name, struct slice value)
{
	struct params *p = arg;
	struct slice text = slice_text(value);

	if (p->error != 0)
		return;
	if (text.len == 0 && (value.at[0] == '"' || value.at[0] == '{' ||
				 value.at[0] == '[' || slice_is(value, "null")))
		return;
	p->error = header_value(p->list, p->made, name, text.len > 0 ? text : value);
}

/* 2026-07-28: each request says what it is; there is no session. */
static int
modern(const struct exchange *x, struct header_list *l, struct made *m)
{
	struct params params = {.list = l, .made = m};
	int r = header_value(l, m, "MCP-Protocol-Version", x->message.version);

	if (r == 0)
		r = header_value(l, m, "Mcp-Method", x->message.method);
	if (r == 0)
		r = header_value(l, m, "Mcp-Name", x->message.name);
	if (r == 0)
		tool_headers(x, param, &params);
	return r == 0 ? params.error : r;
}

static int
legacy(const struct exchange *x, struct header_list *l, struct made *m)
{
	const struct remote *remote = x->remote;
	int r = 0;

	if (remote->version[0] != '\0')
		r = header_put(l, m, "MCP-Protocol-Version", remote->version);
	if (r == 0 && remote->session[0] != '\0')
		r = header_put(l, m, "Mcp-Session-Id", remote->session);
	if (r == 0 && (x->kind == EXCHANGE_STREAM || x->resuming) && x->sse.id[0] != '\0')
		r = header_put(l, m, "Last-Event-ID", x->sse.id);
	return r;
}

int
request_headers(const struct exchange *x, struct header_list *ret)
{
	bool get = x->kind == EXCHANGE_STREAM || x->resuming;
	struct header_list *l = ret;
	struct made m = {.n = 0};
	int r = 0;

	l->n = 0;
	buf_init(&l->text, MESSAGE_MAX);
	if (!get)
		r = header_put(l, &m, "Content-Type", "application/json");
	if (r == 0)
		r = header_put(l, &m, "Accept",
		    get ? "text/event-stream" : "application/json, text/event-stream");
	if (r == 0)
		r = x->message.version.len > 0 ? modern(x, l, &m) : legacy(x, l, &m);
	if (r < 0) {
		buf_free(&l->text);
		return r;
	}
	for (size_t i = 0; i < m.n; i++)
		l->line[l->n++] = (const char *)l->text.data + m.at[i];
	for (size_t i = 0; i < x->remote->own_n; i++)
		l->line[l->n++] = x->remote->own[i];
	if (x->remote->oauth != NULL && oauth_header(x->remote->oauth) != NULL)
		l->line[l->n++] = oauth_header(x->remote->oauth);
	return 0;
}
