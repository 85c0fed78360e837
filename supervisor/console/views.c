/*
 * What a command of kennel shows or changes, as replies of the API. A command prints JSON
 * that is checked here and passed on: its texts come from servers and agents, and stay
 * strings of JSON.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/array.h"
#include "shim/base/log.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/console/private.h"
#include "supervisor/console/request_check.h"
#include "supervisor/json/json.h"

#define MESSAGE_MAX    512
#define GENERATION_MAX 20

#define MCP      CONSOLE_API "mcp"
#define MCP_PATH MCP "/"
#define LOG_PATH CONSOLE_API "log"
#define POLICIES CONSOLE_API "policies"

/* Makes the body of the reply of what the command printed. 0 or -errno. */
typedef int view_fn(struct buf *output, struct buf *ret);

/* ---- what is shown ------------------------------------------------------------------- */

static int
wrap(const char *member, const struct buf *value, struct buf *ret)
{
	int r = buf_printf(ret, "{\"%s\":", member);

	if (r == 0)
		r = buf_put(ret, value->data, value->len);
	return r < 0 ? r : buf_puts(ret, "}");
}

static int
put_servers(struct buf *output, struct buf *ret)
{
	return wrap("servers", output, ret);
}

static int
put_whole(struct buf *output, struct buf *ret)
{
	return buf_put(ret, output->data, output->len);
}

static int
put_secrets(struct buf *output, struct buf *ret)
{
	return wrap("secrets", output, ret);
}

static int
put_versions(struct buf *output, struct buf *ret)
{
	return wrap("versions", output, ret);
}

/* One object a line: the first is about the log, the others are records. */
static int
put_log(struct buf *output, struct buf *ret)
{
	uint8_t *at = output->data, *end = at + output->len, *line;
	int r = 0;

	for (size_t n = 0; r == 0 && at < end; n++) {
		line = at;
		at = memchr(line, '\n', (size_t)(end - line));
		if (at == NULL)
			return -EBADMSG;
		r = buf_puts(ret, n == 0 ? "{\"log\":" : n == 1 ? ",\"records\":[" : ",");
		if (r == 0)
			r = buf_put(ret, line, (size_t)(at - line));
		at++;
		if (r == 0 && n == 0 && at == end)
			r = buf_puts(ret, ",\"records\":[");
	}
	return r < 0 ? r : buf_puts(ret, "]}");
}

/* With POST the body is what the command reads, and judges. */
static const struct view {
	const char *method, *path;
	enum command command;
	view_fn *put;
	const char *shell; /* the same for a person */
} views[] = {
    {"GET", MCP, COMMAND_SERVERS, put_servers, "kennel server list"},
    {"GET", CONSOLE_API "secrets", COMMAND_SECRETS, put_secrets,
	"kennel secret list --all"},
    {"GET", CONSOLE_API "versions", COMMAND_VERSIONS, put_versions,
	"kennel secret versions"},
    {"GET", CONSOLE_API "keys", COMMAND_KEYS, put_whole, "kennel secret key list"},
    {"POST", MCP, COMMAND_ADD, put_whole, "kennel server add"},
    {"GET", POLICIES, COMMAND_SCORES, put_whole, "kennel policy score --all"},
    {"GET", POLICIES "/check", COMMAND_CHECK, put_whole, "kennel policy check --all"},
    {"POST", POLICIES "/explain", COMMAND_EXPLAIN, put_whole, "kennel policy explain"},
};

#define LOG_UNVERIFIED 1 /* exit status of kennel audit (kennel-audit(1)) */

/* ---- when a command has ended --------------------------------------------------------- */

struct pending_view {
	struct http_wait *wait;
	const struct view *view; /* NULL: a change */
	enum command command;
};

static void
failed(struct http_reply *reply, const struct view *view)
{
	char why[MESSAGE_MAX];

	(void)snprintf(why, sizeof(why),
	    "`%s` has failed or printed too much; run it in a terminal", view->shell);
	console_error(reply, HTTP_FAILED, why);
}

/* A status other than 0 is not a failure if what it printed is complete: it also reports a
 * policy with an error. */
static void
put_view(
    struct http_reply *reply, const struct view *view, int status, struct buf *output)
{
	struct json_message m;
	const char *why = NULL;

	if (view->put == put_log && status == LOG_UNVERIFIED)
		why = "the log was not verified: run `kennel audit verify`, which "
		      "names what is wrong";
	if (view->put == put_log && status == EXIT_USAGE)
		why = "invalid filter: expected one that `kennel audit log` takes";
	if (why != NULL) {
		console_error(
		    reply, status == EXIT_USAGE ? HTTP_BAD : HTTP_CONFLICT, why);
		return;
	}
	if (view->put == put_log && status == EXIT_NOT_FOUND)
		(void)buf_puts(output, "{\"size\":0}\n"); /* no log yet; else: failed */
	if (view->put == put_versions && status != 0) {
		output->len = 0;
		/* no vault, or it is locked; else: failed */
		(void)buf_puts(output, "null");
	}
	if (output->len == 0 || view->put(output, &reply->body) < 0 ||
	    json_scan(reply->body.data, reply->body.len, &m) < 0) {
		failed(reply, view);
		return;
	}
	/* what a command refuses to read was the browser's */
	reply->status = status == EXIT_INPUT && strcmp(view->method, "POST") == 0
			    ? HTTP_BAD
			    : HTTP_OK;
}

static unsigned int
refusal_of(enum command command, int status)
{
	if (command == COMMAND_ENABLE && status == 1)
		return HTTP_CONFLICT; /* it is not what the page has shown */
	if (command != COMMAND_REMOVE)
		return HTTP_BAD;
	return status == EXIT_INPUT   ? HTTP_NOT_FOUND
	       : status == EXIT_USAGE ? HTTP_CONFLICT /* a policy or a file has it */
				      : HTTP_FAILED;
}

/* Where the last message begins: it is the error, and those before it are warnings, which may
 * be longer than what is shown. */
static size_t
last_message(const struct buf *output)
{
	static const char begin[] = "kennel: ";
	size_t n = sizeof(begin) - 1, at = 0;

	for (size_t i = 0; i + n <= output->len; i++)
		if ((i == 0 || output->data[i - 1] == '\n') &&
		    memcmp(output->data + i, begin, n) == 0)
			at = i;
	return at;
}

void
view_refuse(struct http_reply *reply, unsigned int status, struct buf *output)
{
	char why[MESSAGE_MAX];
	size_t at;

	while (output->len > 0 && output->data[output->len - 1] == '\n')
		output->len--;
	at = last_message(output);
	(void)log_quote(why, sizeof(why), output->data + at, output->len - at);
	console_error(reply, status, why);
}

static void
put_change(struct http_reply *reply, enum command command, int status, struct buf *output)
{
	if (status != 0) {
		view_refuse(reply, refusal_of(command, status), output);
		return;
	}
	reply->status = buf_puts(&reply->body, "{}") < 0 ? HTTP_FAILED : HTTP_OK;
}

/* Callback of command_run. */
static void
on_ended(void *arg, int status, struct buf *output)
{
	struct pending_view *p = arg;
	struct http_reply *reply = http_reply_of(p->wait);

	if (p->view != NULL)
		put_view(reply, p->view, status, output);
	else
		put_change(reply, p->command, status, output);
	http_reply_done(p->wait);
	free(p);
}

static void
start(struct console *c, struct command_call *call, const struct view *view,
    const struct http_request *q, struct http_reply *reply)
{
	struct pending_view *p = calloc(1, sizeof(*p));
	int r = -ENOMEM;

	if (p != NULL) {
		*p = (struct pending_view){
		    .wait = q->wait, .view = view, .command = call->command};
		call->fn = on_ended;
		call->arg = p;
		r = command_run(&c->commands, call);
	}
	if (r == 0) {
		reply->later = true;
		return;
	}
	free(p);
	console_not_run(reply, r,
	    view != NULL ? "a filter is longer than 255 bytes or has a control character"
			 : "a name is empty, longer than 255 bytes, begins with - or has "
			   "a control character");
}

/* ---- a page of the log ----------------------------------------------------------------- */

/* COMMAND_LOG takes them in this order. */
static const char *const log_filters[] = {
    "before", "after", "server", "kind", "verdict", "contains"};
typedef char log_words[ARRAY_LEN(log_filters)][COMMAND_WORD_MAX + 2];

/* "": it is not given. Also reads "verified". False: not an object of texts. */
static bool
read_filters(const struct http_request *q, log_words ret, bool *ret_verified)
{
	struct json_message m;
	struct json value;
	size_t len;
	int r;

	for (size_t i = 0; i < ARRAY_LEN(log_filters); i++)
		ret[i][0] = '\0';
	*ret_verified = false;
	if (strcmp(q->method, "GET") == 0)
		return true;
	if (json_scan(q->body, q->body_len, &m) < 0 || m.root.type != JSON_IS_OBJECT)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(log_filters); i++) {
		r = json_get(m.root, log_filters[i], &value);
		if (r == 0)
			r = json_text(value, ret[i], sizeof(ret[i]), &len);
		if (r < 0 && r != -ENOENT)
			return false;
	}
	*ret_verified =
	    json_get(m.root, "verified", &value) == 0 && value.type == JSON_IS_TRUE;
	return true;
}

/* POST /api/log {"before":"4711","server":"github",...,"verified":true}, all of them
 * optional. The command judges what they mean. */
static void
show_log(struct console *c, const struct http_request *q, struct http_reply *reply)
{
	static const struct view plain = {
	    "POST", LOG_PATH, COMMAND_LOG, put_log, "kennel audit log"};
	static const struct view verified = {"POST", LOG_PATH, COMMAND_LOG_VERIFIED,
	    put_log, "kennel audit log --verified"};
	struct command_call call = {.word_n = ARRAY_LEN(log_filters)};
	log_words words;
	bool verify;

	if (!read_filters(q, words, &verify)) {
		console_error(reply, HTTP_BAD,
		    "expected an object with filters, texts of at most 255 bytes");
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(log_filters); i++)
		call.word[i] = words[i];
	call.command = verify ? COMMAND_LOG_VERIFIED : COMMAND_LOG;
	start(c, &call, verify ? &verified : &plain, q, reply);
}

/* ---- changes ---------------------------------------------------------------------------- */

void
view_change(struct console *c, struct command_call *call, const struct http_request *q,
    struct http_reply *reply)
{
	start(c, call, NULL, q, reply);
}

/* The generation that the page has shown, for the command to judge; "": not given. False:
 * not a number, or one that is too long. */
static bool
read_generation(struct json root, char ret[GENERATION_MAX])
{
	struct json value;

	ret[0] = '\0';
	if (json_get(root, "generation", &value) < 0)
		return true;
	if (value.type != JSON_IS_NUMBER || value.len >= GENERATION_MAX)
		return false;
	memcpy(ret, value.at, value.len);
	ret[value.len] = '\0';
	return true;
}

/* POST /api/mcp/NAME {"enabled":true,"generation":7} */
static void
change_enabled(struct console *c, const struct http_request *q, struct http_reply *reply)
{
	const char *name = q->path + strlen(MCP_PATH);
	struct command_call call = {COMMAND_DISABLE, .word = {name}, .word_n = 1};
	char generation[GENERATION_MAX];
	struct json_message m;
	struct json value;

	if (json_scan(q->body, q->body_len, &m) < 0 ||
	    json_get(m.root, "enabled", &value) < 0 ||
	    (value.type != JSON_IS_TRUE && value.type != JSON_IS_FALSE)) {
		console_error(
		    reply, HTTP_BAD, "expected the member `enabled`, true or false");
		return;
	}
	if (!read_generation(m.root, generation)) {
		console_error(reply, HTTP_BAD,
		    "expected the member `generation`, a number, or none");
		return;
	}
	if (value.type == JSON_IS_TRUE)
		call = (struct command_call){
		    COMMAND_ENABLE, .word = {generation, name}, .word_n = 2};
	view_change(c, &call, q, reply);
}

/* False: the body is no JSON, and the reply says so. */
static bool
take_body(
    const struct http_request *q, struct command_call *call, struct http_reply *reply)
{
	struct json_message m;

	if (strcmp(q->method, "POST") != 0)
		return true;
	if (json_scan(q->body, q->body_len, &m) < 0) {
		console_error(reply, HTTP_BAD, "expected JSON");
		return false;
	}
	call->input = q->body;
	call->input_len = q->body_len;
	return true;
}

bool
view_answer(struct console *c, const struct http_request *q, struct http_reply *reply)
{
	struct command_call call = {.word_n = 0};

	if (strcmp(q->path, LOG_PATH) == 0 && strcmp(q->method, "DELETE") != 0) {
		show_log(c, q, reply);
		return true;
	}
	for (size_t i = 0; i < ARRAY_LEN(views); i++)
		if (strcmp(q->method, views[i].method) == 0 &&
		    strcmp(q->path, views[i].path) == 0) {
			call.command = views[i].command;
			if (take_body(q, &call, reply))
				start(c, &call, &views[i], q, reply);
			return true;
		}
	if (strcmp(q->method, "GET") == 0 ||
	    strncmp(q->path, MCP_PATH, strlen(MCP_PATH)) != 0)
		return false;
	if (strcmp(q->method, "DELETE") == 0) {
		call = (struct command_call){.command = COMMAND_REMOVE,
		    .word = {q->path + strlen(MCP_PATH)},
		    .word_n = 1};
		start(c, &call, NULL, q, reply);
	} else {
		change_enabled(c, q, reply);
	}
	return true;
}
