/*
 * One message and its answer.
 *
 *	POST ─▶ 2xx JSON: one message          ─▶ done
 *	     ─▶ 2xx events: messages, the last of them the response ─▶ done
 *	          └ the stream ends before it, and events had ids ─▶ wait, GET with
 *	            Last-Event-ID, as often as TRIES_MAX without an event
 *	     ─▶ 307, 308 to the same origin    ─▶ POST there, HOPS_MAX times
 *	     ─▶ 404, and there is a session    ─▶ a new session, and once more
 *	     ─▶ anything else                  ─▶ an error as the response
 *
 * The GET stream of a session is an exchange without a message, and begins again
 * whenever it ends, later and later, until the server refuses it.
 *
 * A message that may have arrived is never sent again: the server may have done what it
 * asks.  Its error reports an unknown outcome.
 *
 * What comes is hostile: a message, an event, a head has a limit, and nothing of it is
 * quoted in an error.
 */
#include "leash/remote/private.h"

#include "shim/base/log.h"
#include "shim/base/loop.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOPS_MAX     3
#define TRIES_MAX    6
#define NOTE_MS      30000L
#define LINGER_MS    500 /* from the response to the end of its stream */
#define RETRY_MS     1000
#define ANSWERS_MAX  (64u << 20) /* bytes of memory for unfinished answers */
#define SMALL_MAX    (64u << 10) /* of one, which may go beyond that */
#define RETRY_MS_MIN 100
#define RETRY_MS_MAX 60000
#define WAIT_MS_MAX  60000

/* The end of an error after which the request may have been done. */
#define UNKNOWN \
	"it may have done what was asked: find out before the request is sent again"

static void on_event(void *arg, char *data, size_t len);

/* A free row, or that of an exchange that only waits for the end of its stream. */
static struct exchange *
row(struct remote *r)
{
	struct exchange *x, *lingers = NULL;

	for (x = r->exchange; x < r->exchange + EXCHANGES_MAX; x++) {
		if (x->kind == EXCHANGE_FREE)
			return x;
		if (x->answered && x->at_ns != 0 && x != r->barrier && !x->internal)
			lingers = x;
	}
	if (lingers != NULL)
		exchange_free(lingers);
	return lingers;
}

struct exchange *
exchange_new(struct remote *r, enum exchange_kind kind)
{
	struct exchange *x = row(r);

	if (x == NULL)
		return NULL;
	*x = (struct exchange){.remote = r, .kind = kind};
	buf_init(&x->body, MESSAGE_MAX);
	buf_init(&x->json, MESSAGE_MAX);
	sse_init(&x->sse, MESSAGE_MAX, on_event, x);
	return x;
}

void
exchange_free(struct exchange *x)
{
	http_stop(x->remote->http, x->call); /* takes NULL */
	if (x->remote->stream == x)
		x->remote->stream = NULL;
	if (x->remote->barrier == x)
		x->remote->barrier = NULL;
	if (x->remote->renewal == x)
		x->remote->renewal = NULL;
	free(x->asked);
	buf_free(&x->body);
	buf_free(&x->json);
	sse_free(&x->sse);
	free(x->url);
	*x = (struct exchange){.kind = EXCHANGE_FREE};
}

/* ---- to kennel ------------------------------------------------------------------- */

static void
on_event(void *arg, char *data, size_t len)
{
	struct exchange *x = arg;

	x->heard = true;
	x->tries = 0;
	if (x->broken == NULL)
		answers_message(x, data, len);
}

void
exchange_fail(struct exchange *x, const char *fmt, ...)
{
	struct remote *r = x->remote;
	char why[WHY_CAP];
	va_list ap;
	char *p;

	va_start(ap, fmt);
	(void)vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	/* libcurl may quote a certificate */
	for (p = why; *p != '\0'; p++)
		if (*p < ' ' || *p >= 0x7f || *p == '"' || *p == '\\')
			*p = '?';
	if (x->kind == EXCHANGE_REQUEST && !x->internal)
		answers_fail(x, why);
	else
		log_warn("%s", why);
	session_done(r, x);
}

/* ---- from the server ------------------------------------------------------------ */

static bool
is_modern(const struct exchange *x)
{
	return x->message.version.len > 0;
}

static bool
is_good(const struct exchange *x)
{
	return x->head.status >= 200 && x->head.status < 300;
}

/* A stream that the server keeps open would hold a place for ever. */
static void
linger(struct exchange *x)
{
	if (x->at_ns == 0)
		x->at_ns = loop_now() + LINGER_MS * LOOP_MS;
}

static size_t
memory_of(const struct exchange *x)
{
	return x->kind == EXCHANGE_FREE ? 0
					: x->json.cap + x->sse.line.cap + x->sse.data.cap;
}

/* Is the memory of all answers used up?  Also a stream that has brought its response, and
 * is still open, can fill it.  A small answer is not refused for the large ones. */
static bool
is_full(const struct exchange *x)
{
	const struct exchange *all = x->remote->exchange;
	size_t i, sum = 0;

	for (i = 0; i < EXCHANGES_MAX; i++)
		sum += memory_of(&all[i]);
	return sum > ANSWERS_MAX && memory_of(x) > SMALL_MAX;
}

static int
on_head(void *arg, const char *line, size_t len)
{
	struct exchange *x = arg;

	if (response_head_line(&x->head, line, len) < 0) {
		x->broken = "an invalid or too large head of a response";
		return -1;
	}
	/* the status is all that a note waits for, and a body may never end */
	if (x->kind == EXCHANGE_NOTE && is_good(x) && !x->answered) {
		x->answered = true;
		linger(x);
	}
	return 0;
}

static int
on_body(void *arg, const char *bytes, size_t len)
{
	struct exchange *x = arg;
	int r = 0;

	if (x->kind == EXCHANGE_NOTE)
		return 0;
	if (x->kind == EXCHANGE_STREAM && !(x->head.body == BODY_EVENTS && is_good(x))) {
		x->answered = true; /* there is no stream, and this body may never end */
		linger(x);
		return 0;
	}
	if (x->head.body == BODY_EVENTS && is_good(x))
		r = sse_feed(&x->sse, bytes, len);
	else if (x->head.body == BODY_JSON && x->kind == EXCHANGE_REQUEST)
		r = buf_put(&x->json, bytes, len);
	if (r < 0 && x->broken == NULL)
		x->broken = r == -EMSGSIZE ? "a message of more than 16 MiB"
					   : "more than the memory of this server holds";
	if (x->broken == NULL && is_full(x))
		x->broken = "more than 64 MiB of unfinished answers";
	if (x->answered)
		linger(x);
	if (x->broken == NULL)
		return 0;
	buf_free(&x->json); /* now: libcurl goes on with others first */
	sse_free(&x->sse);
	return -1;
}

/* ---- going on -------------------------------------------------------------------- */

static uint64_t
later(const struct exchange *x)
{
	uint32_t ms = x->sse.retry_ms;
	unsigned int i;

	if (ms == SSE_NO_RETRY)
		ms = RETRY_MS;
	for (i = 1; i < x->tries && ms < RETRY_MS_MAX; i++)
		ms *= 2;
	if (ms < RETRY_MS_MIN)
		ms = RETRY_MS_MIN;
	if (ms > RETRY_MS_MAX)
		ms = RETRY_MS_MAX;
	return loop_now() + ms * LOOP_MS;
}

/* The stream of a request ended early: another GET may bring the rest, unless the server
 * has refused one. */
static bool
resume(struct exchange *x, const char *why)
{
	bool refused = why == NULL && !is_good(x) && x->head.status < 500;

	if (x->kind != EXCHANGE_REQUEST || x->sse.id[0] == '\0' || x->broken != NULL ||
	    refused || is_modern(x) || ++x->tries > TRIES_MAX)
		return false;
	x->resuming = true;
	x->at_ns = later(x);
	return true;
}

/* The GET stream: true if it goes on. */
static bool
stream_ended(struct exchange *x, const char *why)
{
	unsigned int status = x->head.status;

	if (x->broken != NULL)
		log_warn(
		    "%s sent %s on its stream: closed it", x->remote->host, x->broken);
	if (x->broken != NULL ||
	    (why == NULL && (x->head.body != BODY_EVENTS || !is_good(x)) && status < 500))
		return false; /* 405: it has no stream */
	x->tries = x->heard ? 1 : x->tries + 1;
	x->answered = false;
	x->at_ns = later(x);
	return true;
}

static bool
redirect(struct exchange *x)
{
	unsigned int status = x->head.status;
	char url[URL_CAP];
	int r;

	if (status / 100 != 3)
		return false;
	if ((status != 307 && status != 308) || x->head.location[0] == '\0') {
		exchange_fail(x,
		    "%s answered with status %u, which is no redirect of a POST",
		    x->remote->host, status);
		return true;
	}
	r = http_redirect(x->remote->http, x->url != NULL ? x->url : x->remote->url,
	    x->head.location, url, sizeof(url));
	/* a failed exchange is over: another one may have its row already */
	if (r == -EXDEV) {
		exchange_fail(x,
		    "%s redirects to another host, which is refused: a person writes the "
		    "URL of that host into the policy",
		    x->remote->host);
		return true;
	}
	if (r < 0 || ++x->hops > HOPS_MAX) {
		exchange_fail(x, "%s sent an invalid redirect, or more than %d",
		    x->remote->host, HOPS_MAX);
		return true;
	}
	free(x->url);
	x->url = strdup(url);
	exchange_send(x);
	return true;
}

/* The first answer decides whether there is a server at all.  The outcome of a call that
 * may have arrived is reported. */
static bool
unreachable(struct exchange *x, const char *why)
{
	struct remote *r = x->remote;
	bool lost = why != NULL && x->sent && slice_is(x->message.method, "tools/call");

	if (r->served || x->internal || (why == NULL && x->head.status < 500) ||
	    x->broken != NULL || lost)
		return false;
	if (why != NULL)
		log_error("unable to reach %s: %s", r->host, why);
	else
		log_error("unable to reach %s: it answered with status %u", r->host,
		    x->head.status);
	r->status = EXIT_UNREACHABLE;
	return true;
}

/* A JSON body: the response, or an error in its place. */
static void
json_body(struct exchange *x)
{
	char *text = (char *)x->json.data;
	struct message m;

	if (x->json.len == 0 || x->head.body != BODY_JSON)
		return;
	if (message_read(text, x->json.len, &m) < 0) {
		x->broken = "a body that is no JSON object";
		return;
	}
	/* with another status, only the response itself counts */
	if (is_good(x) || (m.answers && slice_same(m.id, x->message.id)))
		answers_message(x, text, x->json.len);
}

static void
request_failed(struct exchange *x, const char *why)
{
	const char *host = x->remote->host;
	unsigned int status = x->head.status;

	if (x->broken != NULL)
		exchange_fail(x, "%s sent %s", host, x->broken);
	else if (why != NULL && x->sent)
		exchange_fail(x, "lost the connection to %s (%s): " UNKNOWN, host, why);
	else if (why != NULL)
		exchange_fail(x, "unable to reach %s: %s", host, why);
	else if (x->resuming && !is_good(x))
		exchange_fail(x,
		    "%s refused the rest of its answer (status %u): " UNKNOWN, host,
		    status);
	else if (status == 401 || status == 403)
		exchange_fail(x,
		    "%s answered with status %u: the credential is missing or refused "
		    "(`auth` in the policy)",
		    host, status);
	else if (!is_good(x))
		exchange_fail(x, "%s answered with status %u", host, status);
	else
		exchange_fail(
		    x, "%s ended its answer without a response: " UNKNOWN, host);
}

static void
on_sent(void *arg)
{
	((struct exchange *)arg)->sent = true;
}

static void
on_done(void *arg, const char *why)
{
	struct exchange *x = arg;
	struct remote *r = x->remote;

	x->call = NULL;
	if (why == NULL && x->broken == NULL && oauth_answered(x))
		return;
	if (x->kind == EXCHANGE_STREAM) {
		if (!stream_ended(x, why))
			exchange_free(x);
		return;
	}
	if (why == NULL && x->broken == NULL && redirect(x))
		return;
	if (unreachable(x, why))
		return;
	if (why == NULL && x->head.status == 404 && x->session != 0 && !x->again &&
	    !x->resuming && !x->internal) {
		session_renew(r, x);
		return;
	}
	if (why == NULL)
		json_body(x);
	if (x->answered || (x->kind == EXCHANGE_NOTE && why == NULL && is_good(x)))
		session_done(r, x);
	else if (!resume(x, why))
		request_failed(x, why);
}

/* ---- sending ---------------------------------------------------------------------- */

void
exchange_send(struct exchange *x)
{
	static const struct http_events events = {on_head, on_body, on_done, on_sent};
	bool get = x->kind == EXCHANGE_STREAM || x->resuming;
	struct remote *r = x->remote;
	struct http_request q = {.method = get ? "GET" : "POST",
	    .url = x->url != NULL ? x->url : r->url,
	    .timeout_ms = x->kind == EXCHANGE_NOTE ? NOTE_MS : 0};
	struct header_list headers;

	if (!get) {
		q.body = x->body.data;
		q.body_len = x->body.len;
		x->session = is_modern(x) || r->session[0] == '\0' ? 0 : r->session_n;
		x->sent = false;
	}
	x->at_ns = 0;
	x->heard = false;
	x->broken = NULL;
	x->head = (struct response_head){.status = 0};
	buf_clear(&x->json);
	sse_restart(&x->sse);
	oauth_sending(x);
	if (request_headers(x, &headers) < 0) {
		exchange_fail(x, "the headers of this request are too large");
		return;
	}
	q.header = headers.line;
	q.header_n = headers.n;
	if (http_start(r->http, &q, &events, x, &x->call) < 0)
		die("out of memory");
	buf_free(&headers.text);
}

static void
due(struct exchange *x, uint64_t now)
{
	if (x->until_ns != 0 && x->until_ns <= now)
		exchange_fail(
		    x, "%s did not begin another session in time", x->remote->host);
	else if (x->at_ns == 0 || x->at_ns > now)
		return;
	else if (x->answered)
		session_done(x->remote, x);
	else
		exchange_send(x);
}

int
exchanges_due(struct remote *r)
{
	uint64_t now = loop_now(), next = UINT64_MAX, left;
	struct exchange *x, *end = r->exchange + EXCHANGES_MAX;

	for (x = r->exchange; x < end; x++)
		if (x->kind != EXCHANGE_FREE)
			due(x, now);
	for (x = r->exchange; x < end; x++) {
		if (x->at_ns != 0 && x->at_ns < next)
			next = x->at_ns;
		if (x->until_ns != 0 && x->until_ns < next)
			next = x->until_ns;
	}
	if (next == UINT64_MAX)
		return -1;
	left = next > now ? (next - now) / LOOP_MS + 1 : 0;
	return left < WAIT_MS_MAX ? (int)left : WAIT_MS_MAX;
}
