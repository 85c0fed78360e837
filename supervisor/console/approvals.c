/*
 * Pending approvals as JSON, and their answers.
 *
 * The list is a copy of what the sessions have reported. An answer names the digest of
 * what the page has shown, and the session compares it with what it would do. Waits for
 * a session that does not reply, at most 5 s: it is a process of the same user.
 */
#include "supervisor/console/approvals.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/array.h"
#include "shim/base/fd.h"
#include "shim/base/hex.h"
#include "supervisor/answer/answer.h"
#include "supervisor/console/private.h"
#include "supervisor/console/session_sockets.h"
#include "supervisor/json/json.h"

#define ROUNDS_MAX (2 * QUESTIONS_MAX) /* packets of a session for one reply */
#define FIRST_MS   200                 /* for the first packet of a new session */

/* ---- the list -------------------------------------------------------------------- */

static bool list_changed;

static void
on_change(void *arg, const struct approval *a, enum question_answer how)
{
	list_changed = true;
}

static struct open_list *
pending(void)
{
	/* for the life of the process */
	static struct open_list pending_list = {.fn = on_change};

	return &pending_list;
}

void
approvals_open(int launcher)
{
	static struct session_sockets sockets; /* for the life of the process */
	static struct session_access access = {
	    session_sockets_list, session_sockets_connect, &sockets};

	sockets.launcher = launcher;
	pending()->access = &access;
}

/* Receives what sessions have sent. */
static void
receive_all(struct open_list *l, int first_ms)
{
	/* syscalls: recvmsg sendmsg poll */
	struct pollfd wait[SESSIONS_MAX];
	size_t before = l->session_n, n;
	int wait_ms;

	open_list_look(l);
	wait_ms = l->session_n > before ? first_ms : 0;
	for (int i = 0; i < ROUNDS_MAX; i++, wait_ms = 0) {
		n = open_list_poll(l, wait);
		if (n == 0 || poll(wait, n, wait_ms) <= 0)
			return;
		open_list_receive(l, wait);
	}
}

bool
approvals_changed(void)
{
	bool was;

	receive_all(pending(), 0);
	was = list_changed;
	list_changed = false;
	return was;
}

/* A text of a session, as a string of JSON; what is invalid UTF-8 becomes U+FFFD. */
static int
put_text(struct buf *out, const char *key, const char *text)
{
	const uint8_t *p = (const uint8_t *)text, *end = p + strlen(text);
	struct buf valid;
	int r;

	buf_init(&valid, (size_t)3 * QUESTION_DETAIL_MAX);
	for (r = 0; r == 0 && p < end;) {
		size_t n = *p < 0x80 ? 1 : json_utf8(p, end);

		r = n == 0 ? buf_puts(&valid, "\xef\xbf\xbd") : buf_put(&valid, p, n);
		p += n == 0 ? 1 : n;
	}
	if (r == 0)
		r = buf_printf(out, ",\"%s\":", key);
	if (r == 0)
		r = valid.len == 0 ? buf_puts(out, "\"\"")
				   : json_quote(out, (const char *)valid.data, valid.len);
	buf_free(&valid);
	return r;
}

static int
put_approval(struct buf *out, const struct open_approval *o)
{
	const struct approval *a = &o->a;
	const char *kind = question_kind_name((enum question_kind)a->kind);
	const char *factor = question_factor_name((enum question_factor)a->factor);
	const struct {
		const char *key, *text;
	} field[] = {{"server", a->server}, {"kind", kind != NULL ? kind : "unknown"},
	    {"method", a->method}, {"subject", a->subject}, {"detail", a->detail},
	    {"rule", a->rule}, {"because", a->because}, {"request", a->request},
	    {"factor", factor != NULL ? factor : "none"}};
	char id[QUESTION_ID_MAX], hex[2 * QUESTION_DIGEST_LEN + 1];
	uint64_t left = open_approval_left(o);
	int r = buf_printf(out, "{\"id\":\"%s\"", approval_id_text(a, id));

	for (size_t i = 0; r == 0 && i < ARRAY_LEN(field); i++)
		r = put_text(out, field[i].key, field[i].text);
	if (r < 0)
		return r;
	(void)hex_put(hex, a->digest.data, a->digest.len);
	return buf_printf(out,
	    ",\"whole\":%s,\"canonical\":%s,\"waits_ms\":%" PRIu64 ",\"left_ms\":%" PRIu64
	    ",\"refusals\":%u,\"destructive\":%s,\"sha256\":\"%s\"}",
	    a->cut != 0 ? "false" : "true", a->ambiguous ? "false" : "true",
	    a->waits_ms + a->left_ms - left, left, a->refused,
	    a->destructive ? "true" : "false", hex);
}

void
approvals_list(struct http_reply *reply)
{
	struct open_list *l = pending();
	int r;

	receive_all(l, FIRST_MS);
	r = buf_puts(&reply->body, "{\"approvals\":[");
	for (size_t i = 0; r == 0 && i < l->n; i++) {
		if (i > 0)
			r = buf_puts(&reply->body, ",");
		if (r == 0)
			r = put_approval(&reply->body, &l->item[i]);
	}
	if (r == 0)
		r = buf_puts(&reply->body, "]}");
	if (r < 0)
		console_error(reply, HTTP_UNAVAILABLE,
		    "unable to list the approvals; run `kennel approve list`");
	else
		reply->status = HTTP_OK;
}

/* ---- an answer --------------------------------------------------------------------- */

struct wanted {
	struct decision decision;
	char sha256[2 * QUESTION_DIGEST_LEN + 1];
	char name[QUESTION_PATH_MAX + 1]; /* of a new path; "": as it was suggested */
};

static bool
read_answer(const struct http_request *q, struct wanted *ret)
{
	static const struct {
		const char *word;
		enum question_answer answer;
	} answers[] = {
	    {"once", ANSWER_ONCE}, {"session", ANSWER_SESSION}, {"deny", ANSWER_DENY}};
	struct json_message m;
	struct json value;
	char word[16];

	*ret = (struct wanted){.decision.channel = VIA_CONSOLE};
	if (json_scan(q->body, q->body_len, &m) < 0 ||
	    !console_text(m.root, "answer", word, sizeof(word)))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(answers); i++)
		if (strcmp(word, answers[i].word) == 0)
			ret->decision.answer = answers[i].answer;
	if (json_get(m.root, "name", &value) == 0 &&
	    !console_text(m.root, "name", ret->name, sizeof(ret->name)))
		return false;
	ret->decision.unseen =
	    json_get(m.root, "unseen", &value) == 0 && value.type == JSON_IS_TRUE;
	return ret->decision.answer != 0 &&
	       console_text(m.root, "sha256", ret->sha256, sizeof(ret->sha256));
}

/* The approval that the page has shown under this id and digest. */
static const struct open_approval *
find(const char *text, const char *sha256)
{
	const struct open_list *l = pending();
	char id[QUESTION_ID_MAX], hex[2 * QUESTION_DIGEST_LEN + 1];

	for (size_t i = 0; i < l->n; i++) {
		const struct approval *a = &l->item[i].a;

		(void)hex_put(hex, a->digest.data, a->digest.len);
		if (strcmp(approval_id_text(a, id), text) == 0 &&
		    strcmp(hex, sha256) == 0)
			return &l->item[i];
	}
	return NULL;
}

/* What an agent proposes for a manifest. */
static bool
is_proposal(const struct approval *a)
{
	return a->kind == QUESTION_METADATA || a->kind == QUESTION_NEW_PATH;
}

/* Why the page cannot allow it so; NULL: it can. A passphrase is typed in a terminal. */
static const char *
terminal_only(const struct approval *a)
{
	if (a->kind == QUESTION_PROVISION || a->kind == QUESTION_ROTATION)
		return "a value is given once, or declined";
	if (a->kind == QUESTION_FILE)
		return "a file of a project is approved in a terminal: run `kennel "
		       "approve "
		       "watch` there";
	if (a->kind > QUESTION_ROTATION)
		return "a change of a manifest is accepted once, or denied";
	if (a->factor == QUESTION_KEY)
		return "it needs a security key for each use: allow it once";
	if (a->factor != QUESTION_NO_FACTOR)
		return "it needs a second factor, which is given in a terminal: run "
		       "`kennel approve watch` there";
	return NULL;
}

static void
report(struct http_reply *reply, int r)
{
	static const struct {
		int r;
		unsigned int status;
		const char *why;
	} rows[] = {
	    {-ENOENT, HTTP_NOT_FOUND, "it is no longer pending"},
	    {-ECONNREFUSED, HTTP_NOT_FOUND, "its session has ended"},
	    {-EPERM, HTTP_CONFLICT,
		"a part of it is not shown; check the rest at its source, then allow it "
		"with the box that accepts this"},
	    {-EINVAL, HTTP_CONFLICT, "it is not answered so; run `kennel approve watch`"},
	    {-ENOKEY, HTTP_CONFLICT,
		"its second factor was not given; run `kennel approve watch`"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (rows[i].r == r) {
			console_error(reply, rows[i].status, rows[i].why);
			return;
		}
	console_error(
	    reply, HTTP_UNAVAILABLE, "its session did not reply; try again in a second");
}

static int
answer_session(const struct approval_id *id, const struct approval_found *found,
    const struct decision *d)
{
	const struct session_access *access = pending()->access;
	int fd = access == NULL ? -ENOTCONN : access->connect(access->arg, id->pid), r;

	if (fd < 0)
		return fd;
	r = session_answer_at(fd, id, found, d);
	fd_close(&fd);
	return r;
}

/* The command writes the manifest, and informs the session. It gets what was shown, and
 * compares it with what is pending then. */
static void
accept(struct console *c, const struct open_approval *o, const struct wanted *w,
    const struct http_request *q, struct http_reply *reply)
{
	struct command_call call = {
	    .command = COMMAND_ALLOW, .word = {w->name}, .word_n = 1};
	struct buf shown;

	buf_init(&shown, COMMAND_INPUT_MAX);
	if (put_approval(&shown, o) < 0) {
		console_error(reply, HTTP_CONFLICT,
		    "it is too long for the page: run `kennel approve watch`");
	} else {
		call.input = shown.data;
		call.input_len = shown.len;
		view_change(c, &call, q, reply);
	}
	buf_free(&shown);
}

/* ---- with a value or a key ------------------------------------------------------------ */

/* The project that an agent's request is about: its manifest names the format. "": none,
 * or its name is longer than a command takes. */
static const char *
project_of(const struct approval *a, char out[COMMAND_WORD_MAX + 1])
{
	struct json_message m;

	if (json_scan((const uint8_t *)a->detail, strlen(a->detail), &m) < 0 ||
	    !console_text(m.root, "project", out, COMMAND_WORD_MAX + 1))
		out[0] = '\0';
	return out;
}

/* A form takes the value; its command informs the session. */
static void
type_value(struct console *c, const struct approval *a, const struct wanted *w,
    const struct http_request *q, struct http_reply *reply)
{
	char project[COMMAND_WORD_MAX + 1];

	if (a->cut != 0 && !w->decision.unseen)
		report(reply, -EPERM);
	else
		form_open(c,
		    a->kind == QUESTION_ROTATION ? COMMAND_FORM_ROTATE : COMMAND_FORM_SET,
		    a->subject, project_of(a, project), q, reply);
}

/* An answer that waits for the keeper. */
struct confirming {
	struct http_wait *wait;
	struct approval_id id;
	struct approval_found found;
	struct decision decision;
};

static void
put_answered(struct http_reply *reply, int r)
{
	if (r < 0)
		report(reply, r);
	else
		reply->status =
		    buf_puts(&reply->body, "{}") < 0 ? HTTP_UNAVAILABLE : HTTP_OK;
}

/* Callback of key_confirm. The session asks the keeper itself: this is not its proof. */
static void
on_confirmed(void *arg, int status, struct buf *output)
{
	struct confirming *w = arg;
	struct http_wait *wait = w->wait;

	if (status != 0)
		view_refuse(http_reply_of(wait), HTTP_CONFLICT, output);
	else
		put_answered(
		    http_reply_of(wait), answer_session(&w->id, &w->found, &w->decision));
	free(w);
	http_reply_done(wait);
}

static void
answer_with_key(struct console *c, const struct approval_id *id,
    const struct approval_found *found, const struct wanted *w,
    const struct http_request *q, struct http_reply *reply)
{
	struct confirming *wait;
	int r = -ENOMEM;

	if (found->cut != 0 && !w->decision.unseen) { /* before the keeper counts a use */
		report(reply, -EPERM);
		return;
	}
	wait = calloc(1, sizeof(*wait));
	if (wait != NULL) {
		wait->wait = q->wait;
		wait->id = *id;
		wait->found = *found;
		wait->decision = w->decision;
		r = key_confirm(c, w->sha256, q, on_confirmed, wait);
	}
	reply->later = r == 0;
	if (r == 0)
		return;
	free(wait);
	if (r == -ENOKEY)
		console_error(reply, HTTP_CONFLICT,
		    "it needs a security key: expected the member `assertion`");
	else
		console_not_run(reply, r, CONSOLE_INVALID);
}

/* ---- the request ------------------------------------------------------------------------ */

/* The session gets the answer; before, a key signs it if that is its factor. */
static void
answer_here(struct console *c, const struct approval *a, struct wanted *w,
    const struct http_request *q, struct http_reply *reply)
{
	static struct approval_found found;
	const struct approval_id named = approval_id_of(a);
	bool with_key = w->decision.answer == ANSWER_ONCE && a->factor == QUESTION_KEY;
	const char *why =
	    w->decision.answer == ANSWER_DENY || with_key ? NULL : terminal_only(a);

	found =
	    (struct approval_found){.kind = a->kind, .cut = a->cut, .factor = a->factor};
	memcpy(found.digest, a->digest.data, sizeof(found.digest));
	if (why != NULL)
		console_error(reply, HTTP_CONFLICT, why);
	else if (with_key)
		answer_with_key(c, &named, &found, w, q, reply);
	else
		put_answered(reply, answer_session(&named, &found, &w->decision));
}

/* Each kind of approval has its own way to be allowed once. */
static void
answer_found(struct console *c, const struct open_approval *o, struct wanted *w,
    const struct http_request *q, struct http_reply *reply)
{
	const struct approval *a = &o->a;
	bool once = w->decision.answer == ANSWER_ONCE;

	if (once && is_proposal(a))
		accept(c, o, w, q, reply);
	else if (once && (a->kind == QUESTION_PROVISION || a->kind == QUESTION_ROTATION))
		type_value(c, a, w, q, reply);
	else
		answer_here(c, a, w, q, reply);
}

void
approvals_answer(struct console *c, const char *id, const struct http_request *q,
    struct http_reply *reply)
{
	const struct open_approval *o;
	struct wanted w;

	if (!read_answer(q, &w)) {
		console_error(reply, HTTP_BAD,
		    "expected `answer`: once, session or deny; and `sha256`");
		return;
	}
	receive_all(pending(), FIRST_MS);
	o = find(id, w.sha256);
	if (o == NULL)
		report(reply, -ENOENT);
	else
		answer_found(c, o, &w, q, reply);
}
