/*
 * What kennel-remote makes of a server that answers late, elsewhere, not at all or too
 * much.  libcurl, kennel and the clock are stand-ins: a test says what each of them does,
 * and when.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "leash/remote/private.h"
#include "shim/base/array.h"
#include "shim/base/loop.h"

#define CALLS_MAX 2000

static uint64_t now;
static struct remote r;
static struct buf out; /* to kennel: lines */

/* ---- the clock, kennel and libcurl ----------------------------------------------- */

uint64_t
loop_now(void)
{
	return now;
}

void
remote_put(struct remote *to, const char *text, size_t len)
{
	(void)to;
	assert_null(memchr(text, '\n', len));
	assert_int_equal(buf_put(&out, text, len), 0);
	assert_int_equal(buf_putc(&out, '\n'), 0);
}

struct http_call {
	char method[8], *body;
	struct buf headers; /* lines */
	struct http_events events;
	void *arg;
	bool over;
};

static struct http_call calls[CALLS_MAX];
static size_t calls_n;

int
http_start(struct http *h, const struct http_request *q, const struct http_events *events,
    void *arg, struct http_call **ret)
{
	struct http_call *c = &calls[calls_n++];

	(void)h;
	assert_true(calls_n <= CALLS_MAX);
	*c = (struct http_call){.events = *events, .arg = arg};
	(void)snprintf(c->method, sizeof(c->method), "%s", q->method);
	c->body = strndup(q->body_len > 0 ? q->body : "", q->body_len);
	assert_non_null(c->body);
	buf_init(&c->headers, 1u << 26);
	for (size_t i = 0; i < q->header_n; i++)
		assert_int_equal(buf_printf(&c->headers, "%s\n", q->header[i]), 0);
	*ret = c;
	return 0;
}

void
http_stop(struct http *h, struct http_call *c)
{
	(void)h;
	if (c != NULL)
		c->over = true;
}

/* For tokens, which no exchange here needs. */
int
http_new(const char *url, const char *ca, struct http **ret)
{
	return -ENOMEM;
}

void
http_free(struct http *h)
{
}

bool
http_wait(struct http *h, int fd, int wait_ms)
{
	(void)h;
	(void)fd;
	(void)wait_ms;
	for (size_t i = 0; i < calls_n; i++)
		if (!calls[i].over && strcmp(calls[i].method, "DELETE") == 0) {
			calls[i].over = true;
			calls[i].events.done(calls[i].arg, NULL);
		}
	return false;
}

int
http_redirect(
    struct http *h, const char *from, const char *location, char *to, size_t cap)
{
	(void)h;
	(void)from;
	(void)snprintf(to, cap, "%s", location);
	return 0;
}

/* ---- what a test says -------------------------------------------------------------- */

/* A line of kennel's. */
static void
line(const char *text)
{
	session_message(&r, text, strlen(text));
}

static void
call(int id)
{
	char text[200];

	(void)snprintf(text, sizeof(text),
	    "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/"
	    "call\",\"params\":{\"name\":\"t"
	    "\"}}",
	    id);
	line(text);
}

/* The last request that is under way. */
static struct http_call *
last(void)
{
	for (size_t i = calls_n; i > 0; i--)
		if (!calls[i - 1].over)
			return &calls[i - 1];
	fail_msg("nothing is under way");
	return NULL;
}

/* The server has the message, and its head is this: lines, each with its end. */
static int
head(struct http_call *c, const char *lines)
{
	int result = 0;

	if (c->events.sent != NULL && c->body[0] != '\0')
		c->events.sent(c->arg);
	for (const char *end; *lines != '\0' && result == 0; lines = end + 1) {
		end = strchr(lines, '\n');
		result = c->events.head(c->arg, lines, (size_t)(end - lines) + 1);
	}
	return result;
}

static int
bytes(struct http_call *c, const char *text)
{
	return c->events.body(c->arg, text, strlen(text));
}

static void
end(struct http_call *c, const char *why)
{
	assert_false(c->over);
	c->over = true;
	c->events.done(c->arg, why);
}

#define JSON   "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
#define EVENTS "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"

static void
status(struct http_call *c, int code)
{
	char text[64];

	(void)snprintf(text, sizeof(text), "HTTP/1.1 %d X\r\n\r\n", code);
	assert_int_equal(head(c, text), 0);
	end(c, NULL);
}

/* A JSON body, and the end. */
static void
answer(struct http_call *c, const char *text)
{
	assert_int_equal(head(c, JSON "\r\n"), 0);
	assert_int_equal(bytes(c, text), 0);
	end(c, NULL);
}

static void
later(uint64_t ms)
{
	now += ms * LOOP_MS;
	(void)exchanges_due(&r);
}

static bool
said(const char *part)
{
	return out.len > 0 && strstr(buf_str(&out), part) != NULL;
}

static size_t
times(const char *part)
{
	size_t n = 0;

	for (const char *p = out.len > 0 ? buf_str(&out) : "";
	     (p = strstr(p, part)) != NULL; p++)
		n++;
	return n;
}

static bool
has_header(struct http_call *c, const char *part)
{
	return strstr(buf_str(&c->headers), part) != NULL;
}

/* Requests so far whose message or method has this. */
static size_t
sent(const char *part)
{
	size_t n = 0;

	for (size_t i = 0; i < calls_n; i++)
		n += strstr(calls[i].body, part) != NULL ||
		     strcmp(calls[i].method, part) == 0;
	return n;
}

/* Rows that are in use, without the GET stream. */
static size_t
rows(void)
{
	size_t n = 0;

	for (size_t i = 0; i < EXCHANGES_MAX; i++)
		n += r.exchange[i].kind != EXCHANGE_FREE &&
		     r.exchange[i].kind != EXCHANGE_STREAM;
	return n;
}

/* The answer to `initialize`, in a session of this name. */
static void
begin(const char *session, const char *version, const char *capabilities)
{
	struct http_call *c = last();
	struct message m;
	char text[600];

	assert_non_null(strstr(c->body, "\"initialize\""));
	assert_int_equal(message_read(c->body, strlen(c->body), &m), 0);
	(void)snprintf(text, sizeof(text), JSON "Mcp-Session-Id: %s\r\n\r\n", session);
	assert_int_equal(head(c, text), 0);
	(void)snprintf(text, sizeof(text),
	    "{\"id\": %.*s, \"result\": {\"protocolVersion\":\"%s\",\n \"capabilities\": "
	    "%s}}",
	    (int)m.id.len, m.id.at, version, capabilities);
	assert_int_equal(bytes(c, text), 0);
	end(c, NULL);
}

static void
begun(void)
{
	struct http_call *c = last();

	assert_non_null(strstr(c->body, "notifications/initialized"));
	status(c, 202);
}

static void
greet(const char *version)
{
	line("{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{}}");
	begin("first", version, "{\"tools\": {}}");
	line("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
	begun();
	assert_non_null(r.stream);
	assert_int_equal(rows(), 0);
	buf_clear(&out);
}

static int
setup(void **state)
{
	(void)state;
	now = 1000 * NS_PER_S;
	r = (struct remote){.status = -1, .url = "http://h/mcp", .host = "h"};
	r.exchange = calloc(EXCHANGES_MAX, sizeof(*r.exchange));
	buf_init(&out, 1u << 30);
	return r.exchange == NULL ? -1 : 0;
}

static int
teardown(void **state)
{
	(void)state;
	session_close(&r);
	for (; calls_n > 0; calls_n--) {
		free(calls[calls_n - 1].body);
		buf_free(&calls[calls_n - 1].headers);
	}
	buf_free(&r.init);
	buf_free(&r.initialized);
	buf_free(&r.agreed);
	buf_free(&r.lists);
	free(r.exchange);
	buf_free(&out);
	return 0;
}

/* ---- answers ----------------------------------------------------------------------- */

/* The response to 1 comes in the stream of 2. */
static void
on_another_stream(void **state)
{
	struct http_call *one, *two;

	(void)state;
	greet("2025-11-25");
	call(1);
	one = last();
	assert_int_equal(head(one, EVENTS), 0);
	call(2);
	two = last();
	assert_int_equal(head(two, EVENTS), 0);
	assert_int_equal(bytes(two, "data: {\"id\":1,\"result\":{}}\n\n"), 0);
	assert_true(said("\"id\":1"));
	later(0);
	assert_true(one->over);
	assert_false(two->over);
	assert_int_equal(rows(), 1);
	/* a control: no request has this id, and nothing ends */
	assert_int_equal(bytes(two, "data: {\"id\":7,\"result\":{}}\n\n"), 0);
	assert_int_equal(
	    bytes(two, "data: {\"id\":2,\"method\":\"x\",\"result\":{}}\n\n"), 0);
	later(1000);
	assert_false(two->over);
	/* the first response counts */
	assert_int_equal(bytes(two, "data: {\"id\":2,\"result\":{}}\n\n"), 0);
	assert_int_equal(bytes(two, "data: {\"id\":2,\"result\":{\"no\":1}}\n\n"), 0);
	assert_false(said("no"));
	later(1000);
	assert_true(two->over);
	assert_int_equal(rows(), 0);
}

/* A server writes an id in its own way: the text is the same. */
static void
escaped_ids(void **state)
{
	static const char *const of[][2] = {
	    {"\"gr\xc3\xb6\xc3\x9f\x65\"", "\"gr\\u00f6\\u00DFe\""},
	    {"\"a/b\"", "\"a\\/\\u0062\""},
	    {"\"\\ud83d\\ude00\"", "\"\xf0\x9f\x98\x80\""},
	};
	char text[200];

	(void)state;
	greet("2025-11-25");
	for (size_t i = 0; i < ARRAY_LEN(of); i++) {
		(void)snprintf(text, sizeof(text),
		    "{\"id\":%s,\"method\":\"tools/list\"}", of[i][0]);
		line(text);
		(void)snprintf(
		    text, sizeof(text), "{\"id\":%s,\"r\\u0065sult\":{}}", of[i][1]);
		answer(last(), text);
		assert_int_equal(rows(), 0);
	}
	assert_int_equal(times("\\u0065sult"), 3);
	assert_false(said("error"));
	/* a control: 1 and "1" are two ids */
	call(1);
	answer(last(), "{\"id\":\"1\",\"result\":{}}");
	assert_true(said("without a response"));
}

/* A batch is done with its last response, in whatever order and form they come. */
static void
batches(void **state)
{
	struct http_call *c;

	(void)state;
	greet("2025-03-26");
	line(" [{\"id\":1,\"method\":\"ping\"},{\"method\":\"x\"},{\"id\":2,\"method\":"
	     "\"ping\"},"
	     "{\"id\":3,\"method\":\"ping\"}]");
	c = last();
	assert_int_equal(head(c, EVENTS), 0);
	assert_int_equal(bytes(c, "data: {\"id\":2,\"result\":{}}\n\n"), 0);
	later(60000);
	assert_false(c->over);
	assert_int_equal(
	    bytes(c, "data: [{\"id\":3,\"result\":{}},{\"id\":1,\"result\":{}}]\n\n"), 0);
	assert_true(said("[{\"id\":3,"));
	assert_false(c->over); /* not inside of libcurl */
	later(1000);
	assert_true(c->over);
	/* each that is open gets an error; of notifications alone, there is no answer */
	line("[{\"id\":4,\"method\":\"ping\"},{\"id\":5,\"method\":\"ping\"},{\"id\":6,"
	     "\"method\":\"ping\"}]");
	line("{\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":6}}");
	status(last(), 202);
	end(last(), "cut");
	assert_true(said("\"id\":4,\"error\"") && said("\"id\":5,\"error\""));
	assert_false(said("\"id\":6"));
	line("[{\"method\":\"x\"}]");
	status(last(), 202);
	assert_int_equal(rows(), 0);
	assert_int_equal(times("error"), 2);
	/* the agent gives up all of a batch */
	line("[{\"id\":7,\"method\":\"ping\"},{\"id\":8,\"method\":\"ping\"}]");
	c = last();
	line("{\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":7}}");
	assert_false(c->over);
	line("{\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":\"8\"}}");
	assert_false(c->over);
	line("{\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":8}}");
	assert_true(c->over);
}

static void
no_batches(void **state)
{
	(void)state;
	greet("2025-06-18");
	call(1);
	answer(last(), "[{\"id\":1,\"result\":{}}]");
	assert_true(said("a batch"));
	assert_int_equal(times("\"id\":1"), 1);
}

/* ---- memory and rows ----------------------------------------------------------------- */

/* Streams that stay open after their responses fill no more memory than others. */
static void
answered_streams_fill(void **state)
{
	static char much[12u << 20];
	struct http_call *c;
	size_t refused = 0;

	(void)state;
	greet("2025-11-25");
	memset(much, 'x', sizeof(much));
	for (int i = 1; i <= 8; i++) {
		char text[100];

		call(i);
		c = last();
		assert_int_equal(head(c, EVENTS), 0);
		(void)snprintf(
		    text, sizeof(text), "data: {\"id\":%d,\"result\":{}}\n\n", i);
		assert_int_equal(bytes(c, text), 0);
		if (c->events.body(c->arg, much, sizeof(much)) != 0) {
			refused++;
			end(c, "refused");
		}
	}
	assert_in_range(refused, 3, 5);
	later(1000);
	assert_int_equal(rows(), 0);
	assert_false(said("error"));
	/* a large event that is over costs nothing */
	call(9);
	c = last();
	assert_int_equal(head(c, EVENTS), 0);
	for (int i = 0; i < 12; i++) {
		assert_int_equal(bytes(c, ": "), 0);
		assert_int_equal(c->events.body(c->arg, much, sizeof(much)), 0);
		assert_int_equal(bytes(c, "\n"), 0);
	}
	assert_in_range(
	    r.exchange[0].sse.line.cap + r.exchange[1].sse.line.cap, 0, 1u << 20);
}

/* Large answers side by side: the one that goes beyond the limit is refused, and a small
 * one is not, although libcurl brings it before that one's end. */
static void
small_beside_large(void **state)
{
	static char much[12u << 20];
	struct http_call *c;
	int refused = 0;

	(void)state;
	greet("2025-11-25");
	memset(much, 'x', sizeof(much));
	for (int i = 1; refused == 0; i++) {
		call(i);
		c = last();
		assert_int_equal(head(c, EVENTS), 0);
		refused = c->events.body(c->arg, much, sizeof(much));
		assert_in_range(i, 1, 8);
	}
	call(100);
	answer(last(), "{\"id\":100,\"result\":{}}");
	assert_true(said("\"id\":100,\"result\""));
	end(c, "refused");
	assert_true(said("64 MiB"));
	/* also while the others keep all of it */
	call(101);
	answer(last(), "{\"id\":101,\"result\":{}}");
	assert_true(said("\"id\":101,\"result\""));
}

/* Rows of streams that only stay open are free for new messages. */
static void
rows_of_answered_streams(void **state)
{
	(void)state;
	greet("2025-11-25");
	for (int i = 1; i <= 2 * EXCHANGES_MAX; i++) {
		char text[100];
		struct http_call *c;

		call(i);
		c = last();
		assert_int_equal(head(c, EVENTS), 0);
		(void)snprintf(
		    text, sizeof(text), "data: {\"id\":%d,\"result\":{}}\n\n", i);
		assert_int_equal(bytes(c, text), 0);
	}
	assert_false(said("error"));
	assert_int_equal(sent("tools/call"), 2 * EXCHANGES_MAX);
	later(1000);
	assert_int_equal(rows(), 0);
	/* a control: what is not answered is refused beyond the limit, and gets an error */
	for (int i = 1; i <= REQUESTS_MAX + 1; i++)
		call(1000 + i);
	assert_int_equal(times("try again later"), 1);
}

/* What a server that has no stream answers to GET may have no end. */
static void
endless_refusal_of_a_stream(void **state)
{
	struct http_call *c;

	(void)state;
	greet("2025-11-25");
	c = last();
	assert_string_equal(c->method, "GET");
	assert_int_equal(head(c, "HTTP/1.1 405 X\r\nContent-Type: text/html\r\n\r\n"), 0);
	assert_int_equal(bytes(c, "<html>"), 0);
	later(1000);
	assert_true(c->over);
	assert_null(r.stream);
	later(100000);
	assert_int_equal(sent("GET"), 1);
}

/* ---- sessions ------------------------------------------------------------------------- */

/* 404 to the last call: another session is begun. */
static struct http_call *
renewing(void)
{
	struct http_call *c;

	status(last(), 404);
	c = last();
	assert_non_null(strstr(c->body, "\"initialize\""));
	assert_false(has_header(c, "Mcp-Session-Id"));
	assert_null(strstr(c->body, "\"id\":0"));
	return c;
}

static void
renewed_session(void **state)
{
	struct http_call *c;

	(void)state;
	greet("2025-11-25");
	call(1);
	(void)renewing();
	begin("second", "2025-11-25", " { \"tools\" :{ } }");
	begun();
	c = &calls[calls_n - 2]; /* after it, the stream */
	if (strstr(c->body, "tools/call") == NULL)
		c = last();
	assert_true(has_header(c, "Mcp-Session-Id: second"));
	answer(c, "{\"id\":1,\"result\":{}}");
	assert_true(said("\"id\":1,\"result\""));
	assert_int_equal(times("\n"), 1); /* kennel sees nothing of it */
	assert_int_equal(sent("tools/call"), 2);
	assert_int_equal(r.status, -1);
	assert_int_equal(rows(), 0);
}

/* Another version, or other capabilities: the agent has not agreed to these. */
static void
renewed_differently(void **state)
{
	static const char *const of[][2] = {{"2025-06-18", "{\"tools\":{}}"},
	    {"2025-11-25", "{\"tools\":{\"listChanged\":true}}"}, {"2025-11-25", "{}"},
	    {"2025-11-25", "{\"tools\":{},\"prompts\":{}}"}};
	struct http_call *c;

	for (size_t i = 0; i < ARRAY_LEN(of); i++) {
		greet("2025-11-25");
		call(1);
		(void)renewing();
		begin("second", of[i][0], of[i][1]);
		assert_true(said("\"id\":1,\"error\"") && said("other capabilities"));
		assert_int_equal(r.status, EXIT_DIFFERS);
		assert_int_equal(sent("tools/call"), 1);
		session_close(&r);
		c = &calls[calls_n - 1]; /* the new session ends, too */
		assert_string_equal(c->method, "DELETE");
		assert_true(has_header(c, "Mcp-Session-Id: second"));
		assert_int_equal(teardown(state), 0);
		assert_int_equal(setup(state), 0);
	}
}

/* A server that never answers the new `initialize` holds nothing up for ever. */
static void
renewal_without_end(void **state)
{
	struct http_call *c;

	(void)state;
	greet("2025-11-25");
	call(1);
	c = renewing();
	assert_int_equal(head(c, EVENTS), 0);
	/* messages are read on: one waits, one is cancelled and never sent */
	assert_null(r.barrier);
	call(2);
	call(3);
	line("{\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":3}}");
	for (int i = 0; i < 200; i++) {
		assert_false(c->over);
		assert_int_equal(bytes(c, "id: 1\n: more\n\n"), 0);
		later(99);
	}
	assert_in_range(exchanges_due(&r), 0, 1000);
	later(1000);
	assert_true(c->over);
	assert_true(said("\"id\":1,\"error\"") && said("\"id\":2,\"error\""));
	assert_false(said("\"id\":3"));
	assert_int_equal(sent("tools/call"), 1);
	assert_int_equal(r.status, -1);
	/* the next call tries again */
	buf_clear(&out);
	call(4);
	status(last(), 404);
	assert_true(said("\"id\":4,\"error\""));
}

static void
renewal_refused(void **state)
{
	struct http_call *c;

	(void)state;
	greet("2025-11-25");
	call(1);
	c = renewing();
	answer(c, "{\"id\":\"kennel-remote: another session\",\"error\":{\"code\":-1}}");
	assert_true(said("\"id\":1,\"error\""));
	assert_int_equal(sent("notifications/initialized"), 1);
	assert_int_equal(rows(), 0);
}

/* Calls side by side, and the session ends: one other is begun, not one for each. */
static void
renewed_once(void **state)
{
	struct http_call *one, *two, *three;

	(void)state;
	greet("2025-11-25");
	call(1);
	one = last();
	call(2);
	two = last();
	call(3);
	three = last();
	status(one, 404);
	status(two, 404); /* while it is begun */
	begin("second", "2025-11-25", "{\"tools\":{}}");
	begun();
	status(three, 404); /* after */
	assert_int_equal(sent("\"initialize\""), 2);
	assert_int_equal(sent("tools/call"), 6);
	assert_false(said("error"));
	status(
	    last(), 404); /* the new one ends at once: each call is sent twice at most */
	assert_int_equal(sent("\"initialize\""), 2);
	assert_int_equal(times("status 404"), 1);
}

/* An event's id of a session that has ended is not sent in the next one. */
static void
renewed_stream(void **state)
{
	struct http_call *stream;

	(void)state;
	greet("2025-11-25");
	stream = last();
	assert_string_equal(stream->method, "GET");
	assert_int_equal(head(stream, EVENTS), 0);
	assert_int_equal(bytes(stream, "id: p0\ndata: {\"method\":\"x\"}\n\n"), 0);
	end(stream, NULL);
	later(2000);
	stream = last();
	assert_true(has_header(stream, "Last-Event-ID: p0"));
	assert_int_equal(head(stream, EVENTS), 0);
	call(1);
	(void)renewing();
	assert_true(stream->over);
	later(5000);
	assert_int_equal(sent("GET"), 2); /* none while there is no session */
	begin("second", "2025-11-25", "{\"tools\":{}}");
	begun();
	assert_int_equal(sent("GET"), 3);
	for (size_t i = calls_n - 2; i < calls_n; i++) {
		assert_true(has_header(&calls[i], "Mcp-Session-Id: second"));
		assert_false(has_header(&calls[i], "Last-Event-ID"));
	}
}

/* ---- unknown outcomes ------------------------------------------------------------------ */

/* A server that has lost the rest of an answer: the call is not sent again, and no other
 * session is begun for it. */
static void
resumed_404(void **state)
{
	struct http_call *c;

	(void)state;
	greet("2025-11-25");
	for (int code = 404; code <= 405; code++) {
		buf_clear(&out);
		call(code);
		c = last();
		assert_int_equal(head(c, EVENTS), 0);
		assert_int_equal(bytes(c, "id: e1\ndata:\n\n"), 0);
		end(c, NULL);
		later(2000);
		c = last();
		assert_string_equal(c->method, "GET");
		assert_true(has_header(c, "Last-Event-ID: e1"));
		status(c, code);
		assert_true(said("find out before"));
		later(100000);
	}
	assert_int_equal(sent("GET"), 3); /* with the stream of the session */
	assert_int_equal(sent("tools/call"), 2);
	assert_int_equal(sent("\"initialize\""), 1);
	/* a control: a server that is down for a while is asked again */
	call(1);
	c = last();
	assert_int_equal(head(c, EVENTS), 0);
	assert_int_equal(bytes(c, "id: e1\ndata:\n\n"), 0);
	end(c, NULL);
	later(2000);
	status(last(), 503);
	later(5000);
	c = last();
	assert_string_equal(c->method, "GET");
	assert_int_equal(head(c, EVENTS), 0);
	assert_int_equal(bytes(c, "data: {\"id\":1,\"result\":{}}\n\n"), 0);
	assert_true(said("\"id\":1,\"result\""));
}

static void
lost(void **state)
{
	(void)state;
	greet("2025-11-25");
	call(1);
	end(last(), "no route");
	assert_true(said("unable to reach h: no route"));
	assert_false(said("find out"));
	call(2);
	assert_int_equal(head(last(), ""), 0);
	end(last(), "reset");
	assert_true(said("lost the connection to h (reset)") && said("find out before"));
	assert_int_equal(sent("tools/call"), 2);
	/* the first request of a modern agent: reported, not taken for an absent server */
	assert_int_equal(teardown(state), 0);
	assert_int_equal(setup(state), 0);
	line("{\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"t\",\"_meta\":"
	     "{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}}}");
	assert_int_equal(head(last(), ""), 0);
	end(last(), "reset");
	assert_true(said("find out before"));
	assert_int_equal(r.status, -1);
}

/* ---- heads ---------------------------------------------------------------------------- */

/* What looks like a head after the head changes nothing. */
static void
trailers(void **state)
{
	struct http_call *c;

	(void)state;
	greet("2025-11-25");
	call(1);
	c = last();
	assert_int_equal(head(c, "HTTP/1.1 100 Continue\r\n\r\n" JSON "\r\n"), 0);
	assert_int_equal(bytes(c, "{\"id\":1,\"result\":{}}"), 0);
	assert_int_equal(head(c, "HTTP/1.1 404 X\r\nContent-Type: text/html\r\n\r\n"), 0);
	end(c, NULL);
	assert_true(said("\"id\":1,\"result\""));
	assert_int_equal(sent("\"initialize\""), 1);
}

static void
endless_heads(void **state)
{
	struct http_call *c;
	size_t n = 0;

	(void)state;
	greet("2025-11-25");
	call(1);
	c = last();
	while (n < 10000 && head(c, "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n") == 0)
		n++;
	assert_in_range(n, 100, 5000);
	end(c, "refused");
	assert_true(said("head of a response"));
	call(2);
	assert_int_not_equal(
	    head(last(), JSON "Transfer-Encoding: gzip, chunked\r\n"), 0);
	end(last(), "refused");
	call(3);
	assert_int_equal(head(last(), JSON "Transfer-Encoding: chunked\r\n\r\n"), 0);
}

/* ---- arguments that are headers ---------------------------------------------------------- */

#define MODERN "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}"

static void
list(const char *tools, size_t len)
{
	struct http_call *c;

	line("{\"id\":1,\"method\":\"tools/list\",\"params\":{" MODERN "}}");
	c = last();
	assert_int_equal(head(c, JSON "\r\n"), 0);
	assert_int_equal(bytes(c, "{\"id\":1,\"result\":{\"tools\":["), 0);
	assert_int_equal(c->events.body(c->arg, tools, len), 0);
	assert_int_equal(bytes(c, "]}}"), 0);
	end(c, NULL);
}

static struct http_call *
with_arguments(const char *name, const char *arguments)
{
	struct buf text;

	buf_init(&text, 1u << 28);
	assert_int_equal(
	    buf_printf(&text,
		"{\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"%s\"," MODERN
		",\"arguments\":",
		name),
	    0);
	assert_int_equal(buf_puts(&text, arguments), 0);
	assert_int_equal(buf_puts(&text, "}}"), 0);
	line(buf_str(&text));
	buf_free(&text);
	return last();
}

static size_t
params(struct http_call *c)
{
	size_t n = 0;

	for (const char *p = buf_str(&c->headers); (p = strstr(p, "Mcp-Param-")) != NULL;
	     p++)
		n++;
	return n;
}

static void
marks(void **state)
{
	static const char tools[] =
	    "{\"name\":\"other\",\"inputSchema\":{\"properties\":{\"a\":{\"x-mcp-"
	    "header\":\"O\"}}}},"
	    "{\"name\":\"gr\\u00f6\\u00dfe\",\"inputSchema\":{\"properties\":{"
	    "\"\\u0061\":{\"x-mcp-header\":\"A\"},\"b\":{\"x-mcp-header\":\"a\"},"
	    "\"c\":{\"x-mcp-header\":\"C\",\"properties\":{\"d\":{\"x-mcp-header\":\"D\"}"
	    ","
	    "\"e\":{\"properties\":{\"a\":{\"x-mcp-header\":\"E\"}}}}},"
	    "\"f\":{\"x-mcp-header\":\"F\"}}}},"
	    "{\"name\":\"gr\xc3\xb6\xc3\x9f\x65\",\"inputSchema\":{\"properties\":{\"b\":"
	    "{\"x-mcp-header\":\"B\"}}}}";
	struct http_call *c;

	(void)state;
	list(tools, sizeof(tools) - 1);
	c = with_arguments("gr\xc3\xb6\xc3\x9f\x65",
	    "{\"a\":1,\"b\":2,\"c\":{\"d\":\"3\",\"a\":9,\"e\":"
	    "{\"\\u0061\":4}},\"d\":5,\"g\":{\"f\":6}}");
	assert_true(has_header(c, "Mcp-Param-A: 1\n"));
	assert_true(has_header(c, "Mcp-Param-D: 3\n"));
	assert_true(has_header(c, "Mcp-Param-E: 4\n"));
	assert_int_equal(params(c), 3);
	c = with_arguments("none", "{\"a\":1}");
	assert_int_equal(params(c), 0);
}

/* As many properties as a list may have, and as many arguments: each is read once. */
static void
many_marks(void **state)
{
	struct buf tools, arguments;
	struct http_call *c;

	(void)state;
	buf_init(&tools, 1u << 28);
	buf_init(&arguments, 1u << 28);
	assert_int_equal(
	    buf_puts(&tools, "{\"name\":\"t\",\"inputSchema\":{\"properties\":{\"x\":{"
			     "\"x-mcp-header\":\"X\"}"),
	    0);
	assert_int_equal(buf_puts(&arguments, "{\"x\":1"), 0);
	for (int i = 0; i < 100000; i++) {
		assert_int_equal(buf_printf(&tools, ",\"p%06d\":{}", i), 0);
		assert_int_equal(buf_printf(&arguments, ",\"p%06d\":%d", i, i), 0);
	}
	for (int i = 0; i < 100; i++) {
		assert_int_equal(
		    buf_printf(&tools, ",\"q%d\":{\"x-mcp-header\":\"Q%d\"}", i, i), 0);
		assert_int_equal(buf_printf(&arguments, ",\"q%d\":%d", i, i), 0);
	}
	assert_int_equal(buf_puts(&tools, "}}}"), 0);
	assert_int_equal(buf_puts(&arguments, "}"), 0);
	list(buf_str(&tools), tools.len);
	(void)alarm(60); /* the product of both takes many minutes */
	c = with_arguments("t", buf_str(&arguments));
	(void)alarm(0);
	assert_true(
	    has_header(c, "Mcp-Param-X: 1\n") && has_header(c, "Mcp-Param-Q0: 0\n"));
	assert_int_equal(params(c), 64);
	assert_false(said("headers of this request"));
	buf_free(&tools);
	buf_free(&arguments);
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
	    TEST(on_another_stream),
	    TEST(escaped_ids),
	    TEST(batches),
	    TEST(no_batches),
	    TEST(answered_streams_fill),
	    TEST(small_beside_large),
	    TEST(rows_of_answered_streams),
	    TEST(endless_refusal_of_a_stream),
	    TEST(renewed_session),
	    TEST(renewed_differently),
	    TEST(renewal_without_end),
	    TEST(renewal_refused),
	    TEST(renewed_once),
	    TEST(renewed_stream),
	    TEST(resumed_404),
	    TEST(lost),
	    TEST(trailers),
	    TEST(endless_heads),
	    TEST(marks),
	    TEST(many_marks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
