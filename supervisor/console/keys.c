/*
 * Security keys, and pages for what is typed. The page's browser asks the key; what it signed
 * goes to the keeper unjudged (kennel secret key confirm). A value or a new key is typed into a
 * page of kennel-form, of which this program has the address and nothing else.
 *
 *	page			kennel-console		kennel secret ...
 *	keys/challenge -------> COMMAND_KEY_CHALLENGE -> the keeper's, for one digest
 *	approvals/ID,
 *	  with an assertion --> COMMAND_KEY_CONFIRM ---> the keeper's answer; only then
 *				ANSWER to the session
 *	form -----------------> COMMAND_FORM_... ------> its first line is an address
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/array.h"
#include "supervisor/approve/approve.h"
#include "supervisor/console/private.h"
#include "supervisor/console/request_check.h"
#include "supervisor/json/json.h"

#define FORMS_MAX 3 /* each runs a command for up to five minutes */
#define FIELD_MAX 4096
#define ADDRESS   "http://localhost:"

/* ---- a challenge ------------------------------------------------------------------- */

/* Callback of command_run: JSON, or why it is missing. */
static void
on_challenge(void *arg, int status, struct buf *output)
{
	struct http_wait *wait = arg;
	struct http_reply *reply = http_reply_of(wait);
	struct json_message m;

	if (status != 0 || json_scan(output->data, output->len, &m) < 0)
		view_refuse(reply, HTTP_CONFLICT, output);
	else if (buf_put(&reply->body, output->data, output->len) == 0)
		reply->status = HTTP_OK;
	http_reply_done(wait);
}

/* POST /api/keys/challenge {"sha256":HEX} */
static void
draw_challenge(struct console *c, const struct http_request *q, struct http_reply *reply)
{
	char sha256[2 * QUESTION_DIGEST_LEN + 1];
	struct command_call call = {.command = COMMAND_KEY_CHALLENGE,
	    .word = {sha256},
	    .word_n = 1,
	    .fn = on_challenge,
	    .arg = q->wait};
	struct json_message m;
	int r = -EINVAL;

	if (json_scan(q->body, q->body_len, &m) == 0 &&
	    console_text(m.root, "sha256", sha256, sizeof(sha256)))
		r = command_run(&c->commands, &call);
	reply->later = r == 0;
	if (r < 0)
		console_not_run(reply, r, CONSOLE_INVALID);
}

/* ---- what a key signed ---------------------------------------------------------------- */

int
key_confirm(struct console *c, const char *sha256, const struct http_request *q,
    command_fn *fn, void *arg)
{
	/* the lines of kennel secret key confirm, in its order */
	static const char *const name[] = {
	    "challenge", "id", "client_data", "authenticator_data", "signature"};
	struct command_call call = {.command = COMMAND_KEY_CONFIRM,
	    .word = {sha256},
	    .word_n = 1,
	    .fn = fn,
	    .arg = arg};
	struct json_message m;
	struct json assertion;
	struct buf lines;
	char text[FIELD_MAX];
	int r = 0;

	if (json_scan(q->body, q->body_len, &m) < 0 ||
	    json_get(m.root, "assertion", &assertion) < 0)
		return -ENOKEY;
	buf_init(&lines, COMMAND_INPUT_MAX);
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(name); i++) {
		r = console_text(assertion, name[i], text, sizeof(text)) ? 0 : -EINVAL;
		if (r == 0 && i > 0)
			r = buf_putc(&lines, '\n');
		if (r == 0)
			r = buf_puts(&lines, text);
	}
	call.input = lines.data;
	call.input_len = lines.len;
	if (r == 0)
		r = command_run(&c->commands, &call);
	buf_free(&lines);
	return r;
}

/* ---- a form ----------------------------------------------------------------------------- */

static size_t forms; /* that are open */

struct opened_form {
	struct http_wait *wait; /* NULL: it was answered */
};

/* The address, once its line is complete. */
static size_t
address_len(const struct buf *output)
{
	const uint8_t *end =
	    output->len == 0 ? NULL : memchr(output->data, '\n', output->len);
	size_t len = end == NULL ? 0 : (size_t)(end - output->data);

	return len > strlen(ADDRESS) &&
		       memcmp(output->data, ADDRESS, strlen(ADDRESS)) == 0
		   ? len
		   : 0;
}

/* Callback of command_run, while it runs. */
static void
on_address(void *arg, const struct buf *output)
{
	struct opened_form *f = arg;
	size_t len = address_len(output);
	struct http_wait *wait = f->wait;
	struct http_reply *reply;
	int r;

	if (wait == NULL || len == 0)
		return;
	f->wait = NULL;
	reply = http_reply_of(wait);
	r = buf_puts(&reply->body, "{\"url\":");
	if (r == 0)
		r = json_quote(&reply->body, (const char *)output->data, len);
	if (r == 0)
		r = buf_puts(&reply->body, "}");
	reply->status = r < 0 ? HTTP_FAILED : HTTP_OK;
	http_reply_done(wait);
}

/* Callback of command_run. What was saved is known to the keeper, and the command has
 * informed the sessions that wait for a value. */
static void
on_form_ended(void *arg, int status, struct buf *output)
{
	struct opened_form *f = arg;
	struct http_wait *wait = f->wait;

	forms--;
	free(f);
	if (wait == NULL)
		return;
	view_refuse(http_reply_of(wait), HTTP_CONFLICT, output);
	http_reply_done(wait);
}

void
form_open(struct console *c, enum command command, const char *path, const char *project,
    const struct http_request *q, struct http_reply *reply)
{
	struct opened_form *f;
	struct command_call call = {.command = command,
	    .word = {project, path},
	    .word_n = path != NULL ? 2 : 0,
	    .fn = on_form_ended,
	    .more = on_address};
	int r;

	if (forms == FORMS_MAX) {
		console_error(reply, HTTP_UNAVAILABLE,
		    "three forms are open: save or close one of them, then try again");
		return;
	}
	f = calloc(1, sizeof(*f));
	if (f == NULL)
		return; /* 500 */
	f->wait = q->wait;
	call.arg = f;
	r = command_run(&c->commands, &call);
	if (r == 0) {
		forms++;
		reply->later = true;
		return;
	}
	free(f);
	console_not_run(reply, r, CONSOLE_INVALID);
}

/* POST /api/form {"what":"value","path":PATH,"mode":"set"|"rotate"} or {"what":"key"} */
static void
open_asked(struct console *c, const struct http_request *q, struct http_reply *reply)
{
	char what[8], mode[8] = "set", path[QUESTION_PATH_MAX + 1];
	struct json_message m;
	bool is_good = json_scan(q->body, q->body_len, &m) == 0 &&
		       console_text(m.root, "what", what, sizeof(what));

	if (is_good && strcmp(what, "key") == 0) {
		form_open(c, COMMAND_FORM_KEY, NULL, NULL, q, reply);
		return;
	}
	is_good = is_good && strcmp(what, "value") == 0 &&
		  console_text(m.root, "path", path, sizeof(path)) &&
		  console_text(m.root, "mode", mode, sizeof(mode)) &&
		  (strcmp(mode, "set") == 0 || strcmp(mode, "rotate") == 0);
	if (is_good)
		form_open(c,
		    strcmp(mode, "set") == 0 ? COMMAND_FORM_SET : COMMAND_FORM_ROTATE,
		    path, "", q, reply);
	else
		console_error(reply, HTTP_BAD,
		    "expected `what`: key; or value, with `path` and `mode`: set or "
		    "rotate");
}

bool
keys_answer(struct console *c, const struct http_request *q, struct http_reply *reply)
{
	static const struct {
		const char *path;
		void (*fn)(
		    struct console *, const struct http_request *, struct http_reply *);
	} row[] = {
	    {CONSOLE_API "keys/challenge", draw_challenge},
	    {CONSOLE_API "form", open_asked},
	};

	for (size_t i = 0; strcmp(q->method, "POST") == 0 && i < ARRAY_LEN(row); i++)
		if (strcmp(q->path, row[i].path) == 0) {
			row[i].fn(c, q, reply);
			return true;
		}
	return false;
}
