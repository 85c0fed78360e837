/*
 * What a message of kennel's becomes: a request, a note, or the end of one.
 *
 * Legacy (2025-03-26 to 2025-11-25): `initialize` begins a session, and
 * `notifications/initialized` its GET stream.  Nothing else is sent while one of the
 * two is under way.  Modern (2026-07-28): each request is complete in itself.
 */
#include "leash/remote/private.h"

#include "shim/base/log.h"

#include <stdio.h>
#include <string.h>

#define CLOSE_MS 500L

static bool
is_barrier(const struct message *m)
{
	return slice_is(m->method, "initialize") ||
	       slice_is(m->method, "notifications/initialized");
}

static bool
expects_response(const struct message *m)
{
	return m->batch || (m->method.len > 0 && m->id.len > 0);
}

static void
keep(struct buf *to, const char *text, size_t len)
{
	buf_free(to);
	buf_init(to, MESSAGE_MAX);
	if (buf_put(to, text, len) < 0)
		die("out of memory");
}

/* A new exchange with this message, not yet sent; NULL: none is free. */
static struct exchange *
prepare(struct remote *r, const char *text, size_t len, enum exchange_kind kind)
{
	struct exchange *x = exchange_new(r, kind);

	if (x == NULL)
		return NULL;
	if (buf_put(&x->body, text, len) < 0 ||
	    message_read((char *)x->body.data, len, &x->message) < 0)
		die("out of memory"); /* it was read before */
	return x;
}

static size_t
requests(const struct remote *r)
{
	size_t i, n = 0;

	for (i = 0; i < EXCHANGES_MAX; i++)
		n += r->exchange[i].kind == EXCHANGE_REQUEST;
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
		    !slice_same(x->message.id, m->request))
			continue;
		modern = x->message.version.len > 0;
		exchange_free(x);
	}
	return modern;
}

/* ---- messages -------------------------------------------------------------------- */

void
session_message(struct remote *r, const char *text, size_t len)
{
	enum exchange_kind kind;
	struct exchange *x;
	struct message m;

	if (message_read(text, len, &m) < 0) {
		log_warn("kennel sent a line that is no message: ignored it");
		return;
	}
	kind = expects_response(&m) ? EXCHANGE_REQUEST : EXCHANGE_NOTE;
	if (kind == EXCHANGE_REQUEST && !m.batch)
		r->modern = m.version.len > 0;
	if (slice_is(m.method, "notifications/cancelled") && cancel(r, &m))
		return;
	if (slice_is(m.method, "initialize")) {
		keep(&r->init, text, len);
		r->session[0] = r->version[0] = '\0';
	} else if (slice_is(m.method, "notifications/initialized")) {
		keep(&r->initialized, text, len);
	}
	x = prepare(r, text, len, kind);
	if (x == NULL) {
		log_warn("more than %d messages under way: dropped one", EXCHANGES_MAX);
		return;
	}
	if (kind == EXCHANGE_REQUEST && requests(r) > REQUESTS_MAX) {
		exchange_fail(
		    x, "more than %d requests under way: try again later", REQUESTS_MAX);
		return;
	}
	if (is_barrier(&m))
		r->barrier = x;
	exchange_send(x);
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

/* Those that wait for a session are sent in it, or fail. */
static void
waiting(struct remote *r, bool good)
{
	size_t i;

	for (i = 0; i < EXCHANGES_MAX; i++) {
		struct exchange *x = &r->exchange[i];

		if (x->kind == EXCHANGE_FREE || !x->needs_session)
			continue;
		x->needs_session = false;
		if (good)
			exchange_send(x);
		else
			exchange_fail(x,
			    "%s ended the session and refused another: restart the "
			    "server with kennel server restart",
			    r->host);
	}
}

static void
internal(struct remote *r, const struct buf *message, enum exchange_kind kind)
{
	struct exchange *x = prepare(r, (char *)message->data, message->len, kind);

	if (x == NULL) {
		waiting(r, false);
		return;
	}
	x->internal = true;
	r->barrier = x;
	exchange_send(x);
}

void
session_renew(struct remote *r, struct exchange *x)
{
	x->again = x->needs_session = true;
	x->resuming = false;
	if (r->barrier != NULL && r->barrier != x)
		return; /* another has begun it */
	if (r->init.len == 0) {
		waiting(r, false);
		return;
	}
	log_warn("%s ended the session: beginning another", r->host);
	r->session[0] = r->version[0] = '\0';
	internal(r, &r->init, EXCHANGE_REQUEST);
}

void
session_done(struct remote *r, struct exchange *x)
{
	bool begins = slice_is(x->message.method, "initialize");
	bool begun = slice_is(x->message.method, "notifications/initialized");
	bool own = x->internal, good = x->answered || x->kind == EXCHANGE_NOTE;

	if (begins && x->answered)
		memcpy(r->session, x->head.session, sizeof(r->session));
	exchange_free(x);
	if (begun)
		stream_begin(r);
	if (own && begins && good && r->initialized.len > 0)
		internal(r, &r->initialized, EXCHANGE_NOTE);
	else if (own)
		waiting(r, good);
}

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
	static const struct http_events events = {ignore_bytes, ignore_bytes, closed};
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
