/*
 * A small MCP client over pipes. Runs in kennel, on the output of a confined server
 * (scrubbed by its leash). Trusts nothing, waits a bounded time, holds one message at
 * a time.
 */
#include "shim/base/loop.h"
#include "supervisor/cli/mcp_client.h"
#include "supervisor/mcp/line/id.h"
#include "supervisor/mcp/line/pages.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "shim/base/log.h"

#define LEGACY "2025-11-25"
#define MODERN "2026-07-28"

#define QUESTION_MAX (256u << 10)
#define ID_TEXT_MAX  16
#define POLL_MS      60000 /* then the deadline is looked at again */

#define CLIENT_INFO "{\"name\":\"kennel\",\"version\":\"1\"}"

static int
failed(struct client *c, int r, const char *why)
{
	(void)snprintf(c->why, sizeof(c->why), "%s", why); /* ours: fits */
	return r;
}

/* ---- output --------------------------------------------------------------- */

static int
say(struct client *c)
{
	/* syscalls: write */
	int r = fd_write_all(c->to, c->text.data, c->text.len);

	return r < 0 ? failed(c, -EPIPE, "the server takes no more input") : 0;
}

static int
put_question(struct client *c, const char *method, const char *params)
{
	const char *comma = params[0] == '\0' ? "" : ",";
	int r;

	buf_clear(&c->text);
	r = buf_printf(&c->text,
	    "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"%s\",\"params\":{%s", ++c->id,
	    method, params);
	if (r == 0 && c->modern)
		r = buf_printf(&c->text,
		    "%s\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"" MODERN
		    "\",\"io.modelcontextprotocol/clientInfo\":" CLIENT_INFO
		    ",\"io.modelcontextprotocol/clientCapabilities\":%s}",
		    comma, c->shown);
	if (r == 0)
		r = buf_puts(&c->text, "}}\n");
	return r < 0 ? failed(c, r, "a request is too long") : 0;
}

/* ---- input ---------------------------------------------------------------- */

/* Reads one line into c->m, before the deadline. */
static int
hear(struct client *c, uint64_t deadline)
{
	enum frame_what what;
	const uint8_t *line;
	uint64_t len, now, wait;
	int r;

	for (;;) {
		what = frame_next(&c->in, &line, &len);
		if (what == FRAME_OVERSIZE)
			return failed(
			    c, -EPROTO, "the server sent a line that is too long");
		if (what == FRAME_LINE && json_scan(line, (size_t)len, &c->m) == 0)
			return 0; /* ignore invalid JSON */
		if (what == FRAME_LINE)
			continue;
		now = loop_now();
		if (now >= deadline)
			return failed(c, -ETIMEDOUT, "the server did not answer in time");
		wait = (deadline - now) / LOOP_MS + 1;
		/* syscalls: poll */
		(void)poll(&(struct pollfd){.fd = c->from, .events = POLLIN}, 1,
		    wait < POLL_MS ? (int)wait : POLL_MS); /* reported by frame_fill */
		r = frame_fill(&c->in);
		if (r == 0)
			return failed(c, -EPIPE, "the server closed its output");
		if (r < 0 && r != -EAGAIN)
			return failed(c, r, "unable to read the server's output");
	}
}

/* Answers a request of the server: an empty list of roots, a pong, or an error. */
static int
reply(struct client *c)
{
	struct json id = c->m.top[TOP_ID];
	char method[MCP_METHOD_MAX];
	const char *body = "\"error\":{\"code\":-32601,\"message\":\"not here\"}";
	size_t len;
	int r;

	if (id.type == JSON_IS_NONE || id.len > MCP_ID_MAX ||
	    json_text(c->m.top[TOP_METHOD], method, sizeof(method), &len) < 0)
		return 0;
	if (strcmp(method, "ping") == 0)
		body = "\"result\":{}";
	if (strcmp(method, "roots/list") == 0)
		body = "\"result\":{\"roots\":[]}";
	buf_clear(&c->text);
	r = buf_printf(&c->text, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,%s}\n", (int)id.len,
	    (const char *)id.at, body);
	return r < 0 ? failed(c, r, "out of memory") : say(c);
}

/* The lines of a foreign text, each as printable characters; cut if there is no room. */
static void
quote_lines(char *out, size_t cap, const char *text)
{
	size_t at = 0;

	out[0] = '\0';
	while (*text != '\0' && at + 1 < cap) {
		size_t n = strcspn(text, "\n");

		at += strlen(log_quote(out + at, cap - at, text, n));
		text += n + (text[n] == '\n');
		if (*text != '\0' && at + 2 < cap)
			at += (size_t)snprintf(out + at, cap - at, "\n"); /* fits */
	}
}

/* The server was not started; why. */
static int
refused(struct client *c)
{
	char text[8 * CLIENT_WHY_MAX], shown[CLIENT_WHY_MAX];
	struct json message;
	size_t len;

	if (json_get(c->m.top[TOP_PARAMS], "message", &message) < 0 ||
	    json_text(message, text, sizeof(text), &len) < 0)
		return failed(c, -ECANCELED, "the server was not started");
	quote_lines(shown, sizeof(shown), text);
	return failed(c, -ECANCELED, shown);
}

static bool
is_refusal(const struct client *c)
{
	static const char method[] = "\"" CLIENT_REFUSED "\"";
	struct json is = c->m.top[TOP_METHOD];

	return is.len == sizeof(method) - 1 && memcmp(is.at, method, is.len) == 0;
}

/* True if the current line answers our last request. */
static bool
is_ours(const struct client *c)
{
	struct json id = c->m.top[TOP_ID], own = {.type = JSON_IS_NUMBER};
	char text[ID_TEXT_MAX];
	struct id_key k, asked;

	own.len = (size_t)snprintf(text, sizeof(text), "%u", c->id);
	own.at = (const uint8_t *)text;
	id_key(&asked, own.at, own.len);
	return id_same(id, own) || (id_of_text(id, &k) && id_key_same(&k, &asked));
}

/* The error is the server's, or kennel's about it: shown as printable characters. */
static int
answered_no(struct client *c)
{
	char text[4096], shown[CLIENT_WHY_MAX / 2] = "";
	struct json message;
	size_t len;

	if (c->m.top[TOP_ERROR].type == JSON_IS_OBJECT &&
	    json_get(c->m.top[TOP_ERROR], "message", &message) == 0 &&
	    json_text(message, text, sizeof(text), &len) == 0)
		quote_lines(shown, sizeof(shown), text);
	(void)snprintf(c->why, sizeof(c->why), "the server answered with an error%s%s",
	    shown[0] != '\0' ? ": " : "", shown); /* fits */
	return -EREMOTEIO;
}

static int
answer(struct client *c)
{
	uint64_t ms = c->answered ? CLIENT_WAIT_MS : c->start_ms, deadline;
	int r;

	deadline = ms == CLIENT_START_OF_RUN ? UINT64_MAX : loop_now() + ms * LOOP_MS;
	if (c->until != 0 && c->until < deadline)
		deadline = c->until;
	for (;;) {
		if ((r = hear(c, deadline)) < 0)
			return r;
		if (is_refusal(c))
			return refused(c);
		if (c->m.top[TOP_METHOD].type != JSON_IS_NONE) {
			if ((r = reply(c)) < 0)
				return r;
			continue;
		}
		if (!is_ours(c))
			continue;
		c->answered = true;
		if ((c->m.flags & (JSON_TOP_TWICE | JSON_RESULT_TWICE)) != 0)
			return failed(c, -EPROTO, "duplicate key in the response");
		if (c->m.top[TOP_RESULT].type == JSON_IS_OBJECT)
			return 0;
		return answered_no(c);
	}
}

int
client_ask(struct client *c, const char *method, const char *params)
{
	int r = put_question(c, method, params);

	if (r == 0)
		r = say(c);
	return r < 0 ? r : answer(c);
}

/* The page of this cursor is next: 0 or -E2BIG. */
static int
next_page(struct client *c, struct json cursor, char params[CLIENT_PAGE_MAX])
{
	if (cursor.len > MCP_NAME_MAX)
		return failed(c, -E2BIG, "a cursor of the server is too long");
	(void)snprintf(params, CLIENT_PAGE_MAX, "\"cursor\":%.*s", /* fits */
	    (int)cursor.len, (const char *)cursor.at);
	return 0;
}

int
client_list(struct client *c, const char *method, enum json_result key,
    client_page_fn *fn, void *arg)
{
	char params[CLIENT_PAGE_MAX] = "";
	struct pages pages = {0};
	enum pages_is is = PAGES_MORE;
	struct json cursor;
	bool again;
	int r = 0;

	c->why[0] = '\0';
	while (r == 0 && is == PAGES_MORE) {
		r = client_ask(c, method, params);
		if (r == -EREMOTEIO && pages_end_refused(&pages))
			return 0;
		if (r < 0)
			return r;
		is = pages_take(
		    &pages, c->m.top[TOP_RESULT], c->m.result[key], &cursor, &again);
		if (!again)
			r = fn(arg, c->m.result[key]);
		if (r == 0 && is == PAGES_MORE)
			r = next_page(c, cursor, params);
	}
	if (r == 0 && is == PAGES_MANY) {
		(void)snprintf(
		    c->why, sizeof(c->why), "%s: %s", method, pages_why(is)); /* fits */
		return -E2BIG;
	}
	if (r == 0 && is == PAGES_STILL)
		log_warn("the server's list %s ends early: %s", method, pages_why(is));
	return r;
}

struct tools_reader {
	client_tool_fn *fn;
	void *arg;
};

/* Callback of client_list. */
static int
each_tool(void *arg, struct json tools)
{
	struct tools_reader *reader = arg;
	struct json key, item;
	struct json_walk w;
	int r = 0;

	json_walk(&w, tools);
	while (r == 0 && json_next(&w, &key, &item))
		r = reader->fn(reader->arg, item);
	return r;
}

int
client_tools(struct client *c, client_tool_fn *fn, void *arg)
{
	struct tools_reader reader = {fn, arg};

	return client_list(c, "tools/list", RESULT_TOOLS, each_tool, &reader);
}

/* ---- begin and end -------------------------------------------------------- */

static int
greet(struct client *c)
{
	char params[512], why[CLIENT_WHY_MAX];
	int n, r;

	n = snprintf(params, sizeof(params),
	    "\"protocolVersion\":\"" LEGACY "\",\"capabilities\":%s,"
	    "\"clientInfo\":" CLIENT_INFO,
	    c->shown);
	if (n < 0 || (size_t)n >= sizeof(params))
		return failed(c, -E2BIG, "too many capabilities");
	r = client_ask(c, "initialize", params);
	if (r == 0) { /* the answer stays in place: nothing is read here */
		buf_clear(&c->text);
		r = buf_puts(&c->text,
		    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
		return r < 0 ? failed(c, r, "out of memory") : say(c);
	}
	if (r != -EREMOTEIO)
		return r;
	/* A server that knows only the later protocol has no initialize. One that has
	 * ended has said why in its first answer. */
	(void)snprintf(why, sizeof(why), "%s", c->why);
	c->modern = true;
	r = client_ask(c, "server/discover", "");
	return r == -EPIPE ? failed(c, -EREMOTEIO, why) : r;
}

static int
open_client(struct client *c)
{
	int r;

	buf_init(&c->text, QUESTION_MAX);
	r = frame_in_init(&c->in, c->from, MCP_MESSAGE_MAX);
	if (r == 0)
		r = fd_nonblock(c->from, true);
	if (r < 0)
		return failed(c, r, "unable to talk to the server");
	return greet(c);
}

int
client_open(
    struct client *c, int to, int from, const char *capabilities, uint64_t start_ms)
{
	*c = (struct client){
	    .to = to, .from = from, .shown = capabilities, .start_ms = start_ms};
	return open_client(c);
}

int
client_open_until(
    struct client *c, int to, int from, const char *capabilities, uint64_t until)
{
	*c = (struct client){.to = to,
	    .from = from,
	    .shown = capabilities,
	    .start_ms = CLIENT_WAIT_MS,
	    .until = until};
	return open_client(c);
}

void
client_free(struct client *c)
{
	fd_close(&c->to);
	fd_close(&c->from);
	frame_in_free(&c->in);
	buf_free(&c->text);
}

/* ---- the process -------------------------------------------------------------- */

int
client_spawn(const char *purpose, const char *const *argv, pid_t *ret_pid, int *ret_to,
    int *ret_from)
{
	static const char *word[CLIENT_ARGS_MAX + 3];
	posix_spawn_file_actions_t act;
	int in[2] = {-1, -1}, out[2] = {-1, -1}, r;
	size_t n = 0;

	for (const char *const *at = argv; *at != NULL && n < CLIENT_ARGS_MAX; at++) {
		word[n++] = *at;
		if (at == argv + 1) { /* after the verb */
			word[n++] = "--for";
			word[n++] = purpose;
		}
	}
	if (n >= CLIENT_ARGS_MAX)
		return -E2BIG;
	word[n] = NULL;
	/* early: pipe2 clone vfork execve dup2 */
	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0 ||
	    posix_spawn_file_actions_init(&act) != 0) {
		r = -errno;
		goto out;
	}
	(void)posix_spawn_file_actions_adddup2(&act, in[0], 0);  /* else it fails */
	(void)posix_spawn_file_actions_adddup2(&act, out[1], 1); /* so */
	r = -posix_spawn(ret_pid, "/proc/self/exe", &act, NULL,
	    (char *const *)(uintptr_t)word, environ); /* spawn does not modify it */
	(void)posix_spawn_file_actions_destroy(&act); /* frees */
	if (r < 0)
		goto out;
	*ret_to = in[1];
	*ret_from = out[0];
	in[1] = out[0] = -1;
out:
	fd_close(&in[0]);
	fd_close(&in[1]);
	fd_close(&out[0]);
	fd_close(&out[1]);
	return r;
}

int
client_reap(pid_t pid)
{
	int status = 0;

	/* early: wait4 kill nanosleep clock_nanosleep */
	for (int i = 0; i < 30; i++) {
		if (waitpid(pid, &status, WNOHANG) != 0)
			return status;
		(void)usleep(100000); /* one more round */
	}
	(void)kill(pid, SIGTERM);       /* kennel ends its server and itself */
	(void)waitpid(pid, &status, 0); /* ours */
	return status;
}

/* ---- why ------------------------------------------------------------------ */

void
client_log(const char *what, const char *why)
{
	size_t n = strcspn(why, "\n");

	log_error("%s: %.*s", what, (int)n, why);
	for (why += n; *why == '\n'; why += n) {
		n = strcspn(++why, "\n");
		log_error("  %.*s", (int)n, why);
	}
}

void
client_put_why(FILE *out, const char *before, const char *why)
{
	size_t n = strcspn(why, "\n");

	if (why[n] == '\0') {
		fprintf(out, ": %s.\n", why);
		return;
	}
	fprintf(out, ":\n%s%.*s\n", before, (int)n, why);
	for (why += n; *why == '\n'; why += n) {
		n = strcspn(++why, "\n");
		fprintf(out, "%s%.*s\n", before, (int)n, why);
	}
}
