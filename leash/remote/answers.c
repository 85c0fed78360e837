/*
 * Which requests the server has answered.
 *
 * The response to a request comes in the answer to its POST; but a server may also send
 * it in the stream of another request, or in an array.  Wherever it comes, its exchange
 * is over: nothing more is expected there, and kennel, which has the response, cancels
 * nothing.
 */
#include "leash/remote/private.h"

#include "shim/base/log.h"
#include "shim/base/loop.h"
#include "shim/host/remote_mark.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BATCH_VERSION "2025-03-26" /* the only one with batches */

/* ---- requests ------------------------------------------------------------------ */

static void
add(struct exchange *x, struct slice id)
{
	x->asked[x->asked_n++] = (struct asked){.id = id};
	x->open++;
}

static void
count(void *arg, struct slice key, struct slice item)
{
	(void)key; /* an item of an array */
	(void)item;
	++*(size_t *)arg;
}

static void
batch_request(void *arg, struct slice key, struct slice item)
{
	struct message m;

	(void)key; /* likewise */
	if (message_read(item.at, item.len, &m) == 0 && m.method.len > 0 && m.id.len > 0)
		add(arg, m.id);
}

int
answers_begin(struct exchange *x)
{
	const struct message *m = &x->message;
	size_t n = 1;

	if (m->batch) {
		n = 0;
		(void)slice_items(m->items, count, &n); /* kennel has checked it */
	}
	x->asked = calloc(n + 1, sizeof(*x->asked));
	if (x->asked == NULL)
		return -ENOMEM;
	if (m->batch)
		(void)slice_items(m->items, batch_request, x); /* likewise; at most n */
	else if (m->method.len > 0 && m->id.len > 0)
		add(x, m->id);
	return 0;
}

static struct asked *
find(const struct exchange *x, struct slice id)
{
	for (size_t i = 0; i < x->asked_n; i++)
		if (slice_same(x->asked[i].id, id))
			return &x->asked[i];
	return NULL;
}

static void
settle(struct exchange *x, struct asked *a)
{
	a->done = true;
	if (--x->open == 0)
		x->answered = true;
}

bool
answers_cancel(struct exchange *x, struct slice id)
{
	struct asked *a = find(x, id);

	if (a != NULL && !a->done)
		settle(x, a);
	return a != NULL && x->open == 0;
}

/* ---- from the server ------------------------------------------------------------- */

/* The exchange that this response belongs to, and its request; or NULL. */
static struct exchange *
owner(struct exchange *from, struct slice id, struct asked **ret)
{
	struct remote *r = from->remote;
	struct exchange *x;

	*ret = find(from, id);
	if (*ret != NULL)
		return from;
	for (x = r->exchange; x < r->exchange + EXCHANGES_MAX; x++) {
		*ret = x->open > 0 ? find(x, id) : NULL;
		if (*ret != NULL && !(*ret)->done)
			return x;
	}
	return NULL;
}

/* Notes a response; false if kennel does not get it. */
static bool
response(struct exchange *from, const struct message *m, const char *text, size_t len)
{
	struct remote *r = from->remote;
	struct asked *a;
	struct exchange *x = owner(from, m->id, &a);

	if (x == NULL)
		return true; /* kennel did not ask for it, and drops it */
	if (a->done)
		return false; /* the first one counts */
	r->served = true;
	settle(x, a);
	if (slice_is(x->message.method, "initialize"))
		session_answered(r, x, m);
	tool_headers_keep(r, &x->message, text, len);
	if (x != from && x->answered)
		x->at_ns = loop_now(); /* at once, but not inside of libcurl */
	return !x->internal;
}

static void
batch_item(void *arg, struct slice key, struct slice item)
{
	struct message m;

	(void)key; /* an item of an array */
	if (message_read(item.at, item.len, &m) == 0 && m.answers && m.method.len == 0)
		(void)response(
		    arg, &m, item.at, item.len); /* kennel gets them together */
}

/* What the server sends never has the mark of kennel-remote's own errors, whatever it
 * means: its name is spelled otherwise, which is the same text. */
static void
put_unmarked(struct remote *r, const char *text, size_t len)
{
	static const char mark[] = REMOTE_MARK;
	const char *end = text + len, *at = memmem(text, len, mark, sizeof(mark) - 1);
	struct buf out;
	int e = 0;

	if (at == NULL) {
		remote_put(r, text, len);
		return;
	}
	buf_init(&out, 2 * (size_t)MESSAGE_MAX);
	for (; e == 0 && at != NULL;
	     at = memmem(text, (size_t)(end - text), mark, sizeof(mark) - 1)) {
		e = buf_put(&out, text, (size_t)(at - text));
		if (e == 0)
			e = buf_puts(&out, REMOTE_MARK_SPELLED);
		text = at + sizeof(mark) - 1;
	}
	if (e < 0 || buf_put(&out, text, (size_t)(end - text)) < 0)
		die("out of memory");
	remote_put(r, (const char *)out.data, out.len);
	buf_free(&out);
}

void
answers_message(struct exchange *from, char *text, size_t len)
{
	struct remote *r = from->remote;
	struct message m;

	if (message_read(text, len, &m) < 0) {
		from->broken = "a message that is no JSON object";
		return;
	}
	if (m.batch && strcmp(r->version, BATCH_VERSION) != 0) {
		from->broken = "a batch, which this protocol version does not have";
		return;
	}
	message_one_line(text, len);
	if (m.batch)
		(void)slice_items(
		    m.items, batch_item, from); /* kennel finds what is wrong */
	else if (m.answers && m.method.len == 0 && !response(from, &m, text, len))
		return;
	put_unmarked(r, text, len);
}

/* ---- in place of the server ------------------------------------------------------- */

void
answers_error(struct remote *r, struct slice id, const char *why)
{
	struct buf out;

	buf_init(&out, MESSAGE_MAX);
	if (buf_puts(&out, "{\"jsonrpc\":\"2.0\",\"id\":") < 0 ||
	    buf_put(&out, id.at, id.len) < 0 ||
	    buf_printf(&out, ",\"error\":" REMOTE_ERROR "\"message\":\"%s\"}}", why) < 0)
		die("out of memory");
	remote_put(r, (const char *)out.data, out.len);
	buf_free(&out);
}

void
answers_fail(struct exchange *x, const char *why)
{
	for (size_t i = 0; i < x->asked_n; i++)
		if (!x->asked[i].done)
			answers_error(x->remote, x->asked[i].id, why);
}
