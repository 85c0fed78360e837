/*
 * What a message of kennel's becomes: a request, a note, or the end of one.
 *
 * Legacy (2025-03-26 to 2025-11-25): `initialize` begins a session, and
 * `notifications/initialized` its GET stream.  Nothing else is sent while one of the
 * two is under way.  Modern (2026-07-28): each request is complete in itself.
 *
 * A server may end a session at any time (404).  The next one is begun with the agent's
 * own `initialize`, and must be like the first: the agent has agreed to that one's
 * version and capabilities.  If it is not, this process ends, and kennel decides.
 */
#include "leash/remote/private.h"

#include "shim/base/log.h"
#include "shim/base/loop.h"

#include <string.h>

#define CLOSE_MS   500L
#define RENEW_MS   20000 /* for each of the two messages that begin another session */
#define RENEWAL_ID "\"kennel-remote: another session\""

static bool
is_barrier(const struct message *m)
{
	return slice_is(m->method, "initialize") ||
	       slice_is(m->method, "notifications/initialized");
}

static void
keep(struct buf *to, const char *text, size_t len)
{
	buf_free(to);
	buf_init(to, MESSAGE_MAX);
	if (buf_put(to, text, len) < 0)
		die("out of memory");
}

/* Keeps `initialize`, with an id of our own: the agent's is used up. */
static void
keep_init(struct remote *r, const char *text, size_t len, struct slice id)
{
	size_t before = id.len > 0 ? (size_t)(id.at - text) : len;

	keep(&r->init, text, before);
	if (id.len > 0 && (buf_puts(&r->init, RENEWAL_ID) < 0 ||
			      buf_put(&r->init, id.at + id.len,
				  (size_t)(text + len - (id.at + id.len))) < 0))
		die("out of memory");
}

/* A new exchange with this message, not yet sent; NULL: none is free. */
static struct exchange *
prepare(struct remote *r, const char *text, size_t len)
{
	struct exchange *x = exchange_new(r, EXCHANGE_NOTE);

	if (x == NULL)
		return NULL;
	if (buf_put(&x->body, text, len) < 0 ||
	    message_read((char *)x->body.data, len, &x->message) < 0 ||
	    answers_begin(x) < 0)
		die("out of memory"); /* it was read before */
	if (x->open > 0)
		x->kind = EXCHANGE_REQUEST;
	return x;
}

static size_t
requests(const struct remote *r)
{
	size_t i, n = 0;

	for (i = 0; i < EXCHANGES_MAX; i++)
		n += r->exchange[i].kind == EXCHANGE_REQUEST && !r->exchange[i].answered;
	return n;
}

/* ---- ending a request ----------------------------------------------------------- */

/* True: the cancellation needs no message, since the closed stream says it. */
static bool
cancel(struct remote *r, const struct message *m)
{
	bool modern = r->modern;
	size_t i;

	for (i = 0; i < EXCHANGES_MAX; i++) {
		struct exchange *x = &r->exchange[i];

		if (x->kind != EXCHANGE_REQUEST || x->internal ||
		    !answers_cancel(x, m->request))
			continue;
		modern = x->message.version.len > 0;
		exchange_free(x);
	}
	return modern;
}

/* ---- sessions -------------------------------------------------------------------- */

static void
stream_begin(struct remote *r)
{
	if (r->stream != NULL)
		exchange_free(r->stream);
	r->stream = exchange_new(r, EXCHANGE_STREAM);
	if (r->stream != NULL)
		exchange_send(r->stream);
}

/* Those that wait for a session are sent in it; or fail, and why not is NULL then. */
static void
waiting(struct remote *r, const char *why_not)
{
	size_t i;

	for (i = 0; i < EXCHANGES_MAX; i++) {
		struct exchange *x = &r->exchange[i];

		if (x->kind == EXCHANGE_FREE || !x->needs_session)
			continue;
		x->needs_session = false;
		if (why_not == NULL)
			exchange_send(x);
		else
			exchange_fail(x, "%s ended the session and %s; this was not sent",
			    r->host, why_not);
	}
}

static void
renewal(struct remote *r, const struct buf *message)
{
	struct exchange *x = prepare(r, (char *)message->data, message->len);

	if (x == NULL) {
		waiting(r, "too many messages are under way: try again later");
		return;
	}
	x->internal = true;
	x->until_ns = loop_now() + RENEW_MS * LOOP_MS;
	r->renewal = x;
	exchange_send(x);
}

void
session_renew(struct remote *r, struct exchange *x)
{
	x->again = x->needs_session = true;
	sse_forget(&x->sse);
	if (r->renewal != NULL)
		return;
	if (x->session != r->session_n) { /* of the session before this one */
		x->needs_session = false;
		exchange_send(x);
		return;
	}
	if (r->init.len == 0) {
		waiting(r, "the agent began none with `initialize`");
		return;
	}
	log_warn("%s ended the session: beginning another", r->host);
	r->session[0] = r->version[0] = '\0';
	if (r->stream != NULL)
		exchange_free(r->stream);
	renewal(r, &r->init);
}

/* Version and capabilities, without the spaces between their parts. */
static void
agreement(const struct message *m, struct buf *out)
{
	bool string = false, escaped = false;
	int r = buf_put(out, m->settled.at, m->settled.len);

	if (r == 0)
		r = buf_putc(out, '\n');
	for (size_t i = 0; i < m->capabilities.len && r == 0; i++) {
		char c = m->capabilities.at[i];

		if (string || strchr(" \t\r\n", c) == NULL)
			r = buf_putc(out, c);
		if (c == '"' && !escaped)
			string = !string;
		escaped = c == '\\' && !escaped;
	}
	if (r < 0)
		die("out of memory");
}

void
session_answered(struct remote *r, struct exchange *x, const struct message *m)
{
	struct buf now;

	if (m->settled.len == 0 || m->settled.len >= VERSION_CAP)
		return;
	x->agreed = true;
	memcpy(r->version, m->settled.at, m->settled.len);
	r->version[m->settled.len] = '\0';
	/* it becomes a header */
	r->version[strspn(r->version, "0123456789-.abcdefghijklmnopqrstuvwxyz")] = '\0';
	buf_init(&now, MESSAGE_MAX);
	agreement(m, &now);
	r->differs = x->internal && (now.len != r->agreed.len ||
					memcmp(now.data, r->agreed.data, now.len) != 0);
	buf_free(&r->agreed);
	r->agreed = now;
}

/* A message of another session is over. */
static void
renewed(struct remote *r, bool begins, bool good)
{
	if (begins && good && r->differs) {
		log_error("%s ended the session, and the next one has another protocol "
			  "version or other capabilities: ending, so that kennel starts "
			  "this server again",
		    r->host);
		waiting(r, "the next one has another protocol version or other "
			   "capabilities: kennel starts this server again");
		r->status = EXIT_DIFFERS;
	} else if (begins && good && r->initialized.len > 0) {
		renewal(r, &r->initialized);
	} else {
		waiting(r, good ? NULL
				: "began no other: restart the server with kennel server "
				  "restart");
	}
}

void
session_done(struct remote *r, struct exchange *x)
{
	bool begins = slice_is(x->message.method, "initialize");
	bool begun = slice_is(x->message.method, "notifications/initialized");
	bool own = x->internal, good = x->agreed || x->kind == EXCHANGE_NOTE;

	if (begins && x->agreed) {
		memcpy(r->session, x->head.session, sizeof(r->session));
		r->session_n++;
	}
	exchange_free(x);
	if (begun)
		stream_begin(r);
	if (own)
		renewed(r, begins, good);
}

/* ---- messages -------------------------------------------------------------------- */

/* The agent begins a session. */
static void
initialize(struct remote *r, const char *text, size_t len, struct slice id)
{
	if (r->renewal != NULL)
		exchange_free(r->renewal);
	waiting(r, "the agent begins another");
	keep_init(r, text, len, id);
	r->session[0] = r->version[0] = '\0';
}

static void
no_row(struct remote *r, const struct message *m)
{
	log_warn("more than %d messages under way: dropped one", EXCHANGES_MAX);
	if (m->method.len > 0 && m->id.len > 0)
		answers_error(r, m->id, "too many messages under way: try again later");
}

void
session_message(struct remote *r, const char *text, size_t len)
{
	struct exchange *x;
	struct message m;

	if (message_read(text, len, &m) < 0) {
		log_warn("kennel sent a line that is no message: ignored it");
		return;
	}
	if (m.method.len > 0 && m.id.len > 0)
		r->modern = m.version.len > 0;
	if (slice_is(m.method, "notifications/cancelled") && cancel(r, &m))
		return;
	if (slice_is(m.method, "initialize"))
		initialize(r, text, len, m.id);
	else if (slice_is(m.method, "notifications/initialized"))
		keep(&r->initialized, text, len);
	x = prepare(r, text, len);
	if (x == NULL) {
		no_row(r, &m);
		return;
	}
	if (x->kind == EXCHANGE_REQUEST && requests(r) > REQUESTS_MAX) {
		exchange_fail(
		    x, "more than %d requests under way: try again later", REQUESTS_MAX);
		return;
	}
	if (is_barrier(&m))
		r->barrier = x;
	if (r->renewal != NULL && m.version.len == 0)
		x->needs_session = true;
	else
		exchange_send(x);
}

/* ---- the end --------------------------------------------------------------------- */

static int
ignore_bytes(void *arg, const char *bytes, size_t len)
{
	return 0;
}

static void
closed(void *arg, const char *why)
{
	*(bool *)arg = true;
}

void
session_close(struct remote *r)
{
	static const struct http_events events = {
	    .head = ignore_bytes, .body = ignore_bytes, .done = closed};
	struct exchange none = {.remote = r};
	struct http_request q = {
	    .method = "DELETE", .url = r->url, .timeout_ms = CLOSE_MS};
	struct header_list headers;
	struct http_call *call;
	bool over = false;
	size_t i;

	for (i = 0; i < EXCHANGES_MAX; i++)
		if (r->exchange[i].kind != EXCHANGE_FREE)
			exchange_free(&r->exchange[i]);
	if (r->session[0] == '\0' || request_headers(&none, &headers) < 0)
		return;
	q.header = headers.line;
	q.header_n = headers.n;
	if (http_start(r->http, &q, &events, &over, &call) == 0)
		while (!over)
			(void)http_wait(r->http, -1, 100);
	buf_free(&headers.text);
}
