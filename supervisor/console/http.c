/*
 * HTTP on the loopback sockets, by libmicrohttpd in the console's own loop: no thread.
 *
 * Every reply has the same security headers, also a refusal. What libmicrohttpd answers
 * itself (a request that is not HTTP) is a short text.
 */
#include "supervisor/console/http.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "shim/base/array.h"
#include "shim/host/http_heads.h"

#define STRANGERS_MAX   16          /* of HTTP_CONNECTIONS_MAX, for all other users */
#define CONNECTION_S    30          /* without a byte */
#define CONNECTION_POOL (32u << 10) /* headers of a request and of its reply */
#define TOKEN \
	"!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

struct http {
	struct http_order o;
	struct MHD_Daemon *daemon;
	struct http_heads heads;
	struct http_wait *stream[HTTP_STREAMS_MAX]; /* NULL: free */
	int timer;
};

/* A request from its first header to the end of its reply. */
struct http_wait {
	struct http *h;
	struct MHD_Connection *at;
	struct buf body;
	bool malformed, too_large;
	enum { RECEIVING, WAITING, FILLED } state;
	/* of a stream, whose events are in the reply's body */
	bool suspended, over;
	struct http_reply reply;
};

static const char *const security[][2] = {
    {MHD_HTTP_HEADER_CACHE_CONTROL, "no-store"},
    {"Content-Security-Policy",
	"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
	"connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri "
	"'none'"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Referrer-Policy", "no-referrer"},
    {"X-Content-Type-Options", "nosniff"},
    {"X-Frame-Options", "DENY"},
};

static void on_timer(struct loop *, void *arg);
static void run(struct http *);

/* ---- a request ---------------------------------------------------------------- */

struct header_count {
	const char *name, *value;
	unsigned int n;
};

static enum MHD_Result
count_header(void *arg, enum MHD_ValueKind kind, const char *name, const char *value)
{
	struct header_count *c = arg;

	if (strcasecmp(name, c->name) == 0) {
		c->value = value;
		c->n++;
	}
	return MHD_YES;
}

static const char *
header(struct MHD_Connection *at, const char *name, struct http_request *ret)
{
	struct header_count c = {.name = name};

	(void)MHD_get_connection_values(at, MHD_HEADER_KIND, count_header, &c);
	if (c.n > 1)
		ret->repeated = true;
	return c.n == 1 ? c.value : NULL;
}

/* What may be read in two ways, such as a body with two lengths. */
struct header_shape {
	unsigned int lengths;
	bool bad;
};

static enum MHD_Result
judge_header(void *arg, enum MHD_ValueKind kind, const char *name, size_t name_len,
    const char *value, size_t value_len)
{
	static const char *const of_length[] = {
	    MHD_HTTP_HEADER_CONTENT_LENGTH, MHD_HTTP_HEADER_TRANSFER_ENCODING};
	struct header_shape *s = arg;

	/* a name is a token (RFC 9110, section 5.6.2) */
	s->bad |= name_len == 0 || strspn(name, TOKEN) != name_len;
	for (size_t i = 0; i < ARRAY_LEN(of_length); i++)
		s->lengths += strcasecmp(name, of_length[i]) == 0;
	return MHD_YES;
}

static bool
is_malformed(struct MHD_Connection *at)
{
	struct header_shape s = {0};
	const char *encoding;

	(void)MHD_get_connection_values_n(at, MHD_HEADER_KIND, judge_header, &s);
	encoding = MHD_lookup_connection_value(
	    at, MHD_HEADER_KIND, MHD_HTTP_HEADER_TRANSFER_ENCODING);
	return s.bad || s.lengths > 1 ||
	       (encoding != NULL && strcasecmp(encoding, "chunked") != 0);
}

static void
request_read(struct http *h, struct MHD_Connection *at, const char *method,
    const char *path, struct http_wait *w, struct http_request *ret)
{
	*ret = (struct http_request){.method = method, .path = path, .wait = w};
	ret->host = header(at, MHD_HTTP_HEADER_HOST, ret);
	ret->origin = header(at, MHD_HTTP_HEADER_ORIGIN, ret);
	ret->fetch_site = header(at, "Sec-Fetch-Site", ret);
	ret->type = header(at, MHD_HTTP_HEADER_CONTENT_TYPE, ret);
	ret->page_key = header(at, "X-Kennel-Key", ret);
	ret->background = header(at, "X-Kennel-Background", ret) != NULL;
	ret->cookie = MHD_lookup_connection_value(at, MHD_COOKIE_KIND, h->o.cookie);
	ret->malformed = w->malformed;
	ret->too_large = w->too_large;
	ret->body = w->body.len > 0 ? w->body.data : (const uint8_t *)"";
	ret->body_len = w->body.len;
}

/* ---- its reply ------------------------------------------------------------------ */

/* Callback of libmicrohttpd: the next bytes of a stream. */
static ssize_t
next_events(void *arg, uint64_t position, char *out, size_t max)
{
	struct http_wait *w = arg;
	struct buf *events = &w->reply.body;
	size_t n = events->len < max ? events->len : max;

	if (w->over)
		return MHD_CONTENT_READER_END_OF_STREAM;
	if (n == 0) {
		w->suspended = true;
		MHD_suspend_connection(w->at);
		return 0;
	}
	memcpy(out, events->data, n);
	buf_drop(events, n);
	return (ssize_t)n;
}

/* The body changes its owner, but that of a stream. */
static struct MHD_Response *
response_of(struct http_wait *w)
{
	struct http_reply *reply = &w->reply;
	struct MHD_Response *made;

	if (reply->stream)
		return MHD_create_response_from_callback(
		    MHD_SIZE_UNKNOWN, HTTP_EVENTS_MAX, next_events, w, NULL);
	if (reply->page != NULL)
		return MHD_create_response_from_buffer(reply->page_len,
		    (void *)(uintptr_t)reply->page, MHD_RESPMEM_PERSISTENT);
	made = MHD_create_response_from_buffer(
	    reply->body.len, reply->body.data, MHD_RESPMEM_MUST_FREE);
	if (made != NULL)
		buf_init(&reply->body, 0);
	return made;
}

static enum MHD_Result
send_reply(struct http_wait *w)
{
	struct http_reply *reply = &w->reply;
	struct MHD_Response *made = response_of(w);
	enum MHD_Result r = made != NULL ? MHD_YES : MHD_NO;

	for (size_t i = 0; r == MHD_YES && i < ARRAY_LEN(security); i++)
		r = MHD_add_response_header(made, security[i][0], security[i][1]);
	if (r == MHD_YES)
		r = MHD_add_response_header(
		    made, MHD_HTTP_HEADER_CONTENT_TYPE, reply->type);
	/* the head of another request would not be checked */
	if (r == MHD_YES)
		r = MHD_add_response_header(made, MHD_HTTP_HEADER_CONNECTION, "close");
	if (r == MHD_YES && reply->cookie[0] != '\0')
		r = MHD_add_response_header(
		    made, MHD_HTTP_HEADER_SET_COOKIE, reply->cookie);
	if (r == MHD_YES)
		r = MHD_queue_response(w->at, reply->status, made);
	if (made != NULL)
		MHD_destroy_response(made);
	return r;
}

static enum MHD_Result
send_filled(struct http_wait *w)
{
	enum MHD_Result r = send_reply(w);

	explicit_bzero(w->reply.cookie, sizeof(w->reply.cookie));
	return r; /* MHD_NO: the connection is closed */
}

static void
stream_open(struct http_wait *w)
{
	for (size_t i = 0; i < HTTP_STREAMS_MAX; i++)
		if (w->h->stream[i] == NULL) {
			w->h->stream[i] = w;
			return;
		}
	w->reply.stream = false;
	w->reply.status = MHD_HTTP_SERVICE_UNAVAILABLE;
	buf_clear(&w->reply.body);
}

static void
wake(struct http_wait *w)
{
	if (w->suspended)
		MHD_resume_connection(w->at); /* next_events is called again */
	w->suspended = false;
}

void
http_event(struct http *h, const char *text)
{
	for (size_t i = 0; i < HTTP_STREAMS_MAX; i++) {
		struct http_wait *w = h->stream[i];

		if (w == NULL || w->reply.body.len > HTTP_EVENTS_MAX)
			continue;
		(void)buf_puts(&w->reply.body, text); /* else the reader misses it */
		wake(w);
	}
	run(h);
}

size_t
http_streams(struct http *h, http_alive_fn *alive)
{
	size_t n = 0;

	for (size_t i = 0; i < HTTP_STREAMS_MAX; i++) {
		struct http_wait *w = h->stream[i];

		if (w == NULL)
			continue;
		n++;
		w->over |= !alive(&w->reply.owner);
		if (w->over)
			wake(w);
	}
	run(h);
	return n;
}

static enum MHD_Result
answer(struct http_wait *w, const char *method, const char *path)
{
	struct http *h = w->h;
	struct http_request request;

	w->reply = (struct http_reply){
	    .status = MHD_HTTP_INTERNAL_SERVER_ERROR, .type = "text/plain"};
	buf_init(&w->reply.body, HTTP_REPLY_MAX);
	request_read(h, w->at, method, path, w, &request);
	h->o.fn(h->o.arg, &request, &w->reply);
	if (w->reply.stream)
		stream_open(w);
	if (!w->reply.later)
		return send_filled(w);
	w->state = WAITING;
	MHD_suspend_connection(w->at);
	return MHD_YES;
}

struct http_reply *
http_reply_of(struct http_wait *w)
{
	return &w->reply;
}

void
http_reply_done(struct http_wait *w)
{
	w->state = FILLED;
	MHD_resume_connection(w->at); /* the next run calls on_request again */
	run(w->h);
}

/* Callback of libmicrohttpd: once with the headers, then with the parts of the body, and
 * with none at its end. */
static enum MHD_Result
on_request(void *arg, struct MHD_Connection *at, const char *url, const char *method,
    const char *version, const char *upload, size_t *upload_len, void **state)
{
	struct http_wait *w = *state;

	if (w == NULL) {
		w = calloc(1, sizeof(*w));
		if (w == NULL)
			return MHD_NO;
		buf_init(&w->body, HTTP_BODY_MAX);
		w->h = arg;
		w->at = at;
		w->malformed = is_malformed(at);
		*state = w;
		/* a reply before the body ends the connection: what follows is not read */
		return w->malformed ? answer(w, method, url) : MHD_YES;
	}
	if (*upload_len == 0)
		return w->state == FILLED ? send_filled(w) : answer(w, method, url);
	if (!w->too_large && buf_put(&w->body, upload, *upload_len) < 0) {
		w->too_large = true;
		buf_free(&w->body);
	}
	*upload_len = 0;
	return MHD_YES;
}

static void
on_complete(void *arg, struct MHD_Connection *at, void **state,
    enum MHD_RequestTerminationCode how)
{
	struct http_wait *w = *state;

	if (w == NULL)
		return;
	for (size_t i = 0; i < HTTP_STREAMS_MAX; i++)
		if (w->h->stream[i] == w)
			w->h->stream[i] = NULL;
	if (w->body.data != NULL)
		explicit_bzero(w->body.data, w->body.len);
	buf_free(&w->body);
	buf_free(&w->reply.body);
	free(w);
	*state = NULL;
}

/* ---- the loop ------------------------------------------------------------------- */

/* Runs what is ready, and returns when there is more to do: libmicrohttpd closes
 * connections that are idle. */
static void
run(struct http *h)
{
	MHD_UNSIGNED_LONG_LONG wait_ms;
	uint64_t least;

	/* syscalls: epoll_wait epoll_ctl accept4 recvfrom sendto sendmsg writev shutdown
	 * syscalls: setsockopt getsockopt */
	do {
		least = UINT64_MAX;
		(void)MHD_run(h->daemon); /* what failed is closed */
	} while (http_heads_run(&h->heads, &least) > 0);
	if (MHD_get_timeout(h->daemon, &wait_ms) == MHD_YES && wait_ms < least)
		least = wait_ms;
	loop_timer_stop(h->o.loop, h->timer);
	h->timer = least == UINT64_MAX ? -1
				       : loop_timer_at(h->o.loop,
					     loop_now() + least * LOOP_MS, on_timer, h);
}

static void
on_timer(struct loop *loop, void *arg)
{
	struct http *h = arg;

	h->timer = -1;
	run(h);
}

static void
on_ready(struct loop *loop, int fd, short revents, void *arg)
{
	run(arg);
}

/* Callback of libmicrohttpd: a path stays as it was sent. No path of the console needs an
 * escape, and a decoded NUL would end it. */
static size_t
keep_escapes(void *arg, struct MHD_Connection *at, char *text)
{
	return strlen(text);
}

/* Callback of libmicrohttpd. */
static void
on_connection(void *arg, struct MHD_Connection *at, void **state,
    enum MHD_ConnectionNotificationCode what)
{
	struct http *h = arg;

	if (what == MHD_CONNECTION_NOTIFY_STARTED)
		*state = http_heads_started(&h->heads,
		    MHD_get_connection_info(at, MHD_CONNECTION_INFO_CONNECTION_FD)
			->connect_fd);
	else
		http_heads_ended(*state);
}

/* Callback of http_heads. */
static bool
add(void *arg, int fd, const struct sockaddr *peer, socklen_t len)
{
	struct http *h = arg;

	/* syscalls: fcntl */
	return MHD_add_connection(h->daemon, fd, peer, len) == MHD_YES;
}

static int
start(struct http *h)
{
	const union MHD_DaemonInfo *info;

	h->daemon = MHD_start_daemon(
	    MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_NO_LISTEN_SOCKET, 0, NULL,
	    NULL, on_request, h, MHD_OPTION_NOTIFY_COMPLETED, on_complete, NULL,
	    MHD_OPTION_NOTIFY_CONNECTION, on_connection, h, MHD_OPTION_CONNECTION_LIMIT,
	    (unsigned int)HTTP_CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT,
	    (unsigned int)CONNECTION_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
	    (size_t)CONNECTION_POOL, MHD_OPTION_STRICT_FOR_CLIENT, 1,
	    MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes, NULL, MHD_OPTION_END);
	if (h->daemon == NULL)
		return errno != 0 ? -errno : -EIO;
	info = MHD_get_daemon_info(h->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	if (info == NULL)
		return -EIO;
	if (loop_add(h->o.loop, info->epoll_fd, POLLIN, on_ready, h) < 0 ||
	    loop_add(h->o.loop, h->heads.epoll, POLLIN, on_ready, h) < 0)
		return -ENOSPC;
	return 0;
}

int
http_open(
    const struct http_order *order, const int fd[HTTP_SOCKETS_MAX], struct http **ret)
{
	struct http *h = calloc(1, sizeof(*h));
	int r;

	if (h == NULL)
		return -ENOMEM;
	/* libmicrohttpd writes dates: the C library reads the time zone's file once */
	tzset(); /* early: openat */
	h->o = *order;
	h->timer = -1;
	h->heads.most = HTTP_CONNECTIONS_MAX;
	h->heads.wait_s = CONNECTION_S;
	h->heads.fn = add;
	h->heads.arg = h;
	loopback_peers_open(&h->heads.peers, order->port, STRANGERS_MAX);
	r = http_heads_open(&h->heads, fd);
	if (r == 0)
		r = start(h);
	*ret = h;
	return r; /* after a failure the process ends */
}
