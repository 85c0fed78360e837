/*
 * The console's API: JSON, under /api/. Each request but the exchange of a link needs a
 * login. The static pages need none, and contain nothing.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/array.h"
#include "supervisor/console/approvals.h"
#include "supervisor/console/private.h"
#include "supervisor/console/request_check.h"
#include "supervisor/json/json.h"

#define APPROVALS    CONSOLE_API "approvals/"
#define COOKIE_AGE_S ((unsigned int)(LOGIN_LIFE_NS / NS_PER_S))

/* ---- replies -------------------------------------------------------------------- */

/* Any text becomes a JSON string; a reply that does not fit stays without content. */
void
console_error(struct http_reply *reply, unsigned int status, const char *why)
{
	buf_clear(&reply->body);
	if (buf_puts(&reply->body, "{\"error\":{\"message\":") < 0 ||
	    json_quote(&reply->body, why, strlen(why)) < 0 ||
	    buf_puts(&reply->body, "}}") < 0)
		buf_clear(&reply->body);
	reply->status = status;
}

void
console_not_run(struct http_reply *reply, int r, const char *invalid)
{
	console_error(reply, r == -EINVAL ? HTTP_BAD : HTTP_UNAVAILABLE,
	    r == -EINVAL  ? invalid
	    : r == -EBUSY ? "too many commands run; try again in a second"
			  : "unable to run a command of kennel; try again");
}

bool
console_text(struct json object, const char *name, char *out, size_t cap)
{
	struct json value;
	size_t len;

	return json_get(object, name, &value) == 0 &&
	       json_text(value, out, cap, &len) == 0;
}

static void
put_login(struct http_reply *reply, uint64_t left_ns, const char *key)
{
	int r = buf_printf(&reply->body, "{\"left_seconds\":%llu",
	    (unsigned long long)(left_ns / NS_PER_S));

	if (r == 0 && key != NULL)
		r = buf_printf(&reply->body, ",\"key\":\"%s\"", key);
	if (r == 0)
		r = buf_puts(&reply->body, "}");
	if (r < 0)
		buf_clear(&reply->body);
	reply->status = r < 0 ? HTTP_INTERNAL : HTTP_OK;
}

/* ---- the login ------------------------------------------------------------------ */

static void
enter_refused(struct console *c, struct http_reply *reply, int r)
{
	if (r == -EALREADY) {
		command_report(&c->commands, REPORT_LINK_REUSED, 0);
		record_link_reused(c);
	} else {
		record_refused(c);
	}
	console_error(reply, HTTP_FORBIDDEN,
	    r == -EALREADY
		? "this link was opened before, and that login has ended now; if it was "
		  "not yours, another user of this machine has seen the link: run "
		  "`kennel console` again for a new one"
		: "expected a link that was not used and is not older than 60 s; run "
		  "`kennel console` again for a new one");
}

/* A login whose record is being written. */
struct entered {
	struct console *c;
	struct http_wait *wait;
	struct login_keys keys;
};

/* No browser has its keys. */
static void
entered_free(struct entered *e, bool recorded)
{
	struct login *login =
	    login_find(&e->c->logins, loop_now(), e->keys.cookie, e->keys.page, false);

	if (!recorded && login != NULL)
		login_end(login);
	explicit_bzero(e, sizeof(*e)); /* the keys */
	free(e);
}

static void
not_recorded(struct http_reply *reply)
{
	console_error(reply, HTTP_UNAVAILABLE,
	    "unable to record the login in the audit log; run `kennel audit log` and "
	    "see why, then `kennel console` again for a new link");
}

/* Callback of record_login. */
static void
on_recorded(void *arg, int status, struct buf *output)
{
	struct entered *e = arg;
	struct http_wait *wait = e->wait;
	struct http_reply *reply = http_reply_of(wait);

	if (status == 0) {
		(void)snprintf(reply->cookie, sizeof(reply->cookie),
		    "%s=%s; Path=/; Max-Age=%u; HttpOnly; SameSite=Strict", e->c->cookie,
		    e->keys.cookie, COOKIE_AGE_S); /* fits */
		put_login(reply, LOGIN_IDLE_NS, e->keys.page);
	} else {
		not_recorded(reply);
	}
	entered_free(e, status == 0);
	http_reply_done(wait);
}

static void
enter(struct console *c, const struct http_request *q, struct http_reply *reply)
{
	char link[LOGIN_TEXT_MAX];
	struct json_message m;
	struct entered *e;
	int r;

	if (json_scan(q->body, q->body_len, &m) < 0 ||
	    !console_text(m.root, "link", link, sizeof(link))) {
		console_error(reply, HTTP_BAD, "expected the member `link`, a text");
		return;
	}
	e = calloc(1, sizeof(*e));
	if (e == NULL)
		return; /* 500 */
	*e = (struct entered){.c = c, .wait = q->wait};
	r = login_enter(&c->logins, loop_now(), link, &e->keys);
	if (r < 0) {
		free(e);
		enter_refused(c, reply, r);
		return;
	}
	reply->later = record_login(c, on_recorded, e) == 0;
	if (!reply->later) {
		entered_free(e, false);
		not_recorded(reply);
	}
}

static void
show_login(struct console *c, struct login *login, const struct http_request *q,
    struct http_reply *reply)
{
	put_login(reply, login_left(login, loop_now()), NULL);
}

static void
leave(struct console *c, struct login *login, const struct http_request *q,
    struct http_reply *reply)
{
	login_end(login);
	(void)snprintf(reply->cookie, sizeof(reply->cookie),
	    "%s=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict", c->cookie);
	put_login(reply, 0, NULL);
}

/* ---- the table ------------------------------------------------------------------- */

static void
list_approvals(struct console *c, struct login *login, const struct http_request *q,
    struct http_reply *reply)
{
	approvals_list(reply);
}

static void
open_events(struct console *c, struct login *login, const struct http_request *q,
    struct http_reply *reply)
{
	events_open(c, login, reply);
}

static const struct {
	const char *method, *path;
	void (*fn)(struct console *, struct login *, const struct http_request *,
	    struct http_reply *);
} routes[] = {
    {"GET", CONSOLE_API "login", show_login},
    {"POST", CONSOLE_API "logout", leave},
    {"GET", CONSOLE_API "approvals", list_approvals},
    {"GET", CONSOLE_API "events", open_events},
};

static void
api(struct console *c, const struct http_request *q, struct http_reply *reply)
{
	struct login *login;

	reply->type = "application/json";
	if (strcmp(q->method, "POST") == 0 && strcmp(q->path, CONSOLE_API "login") == 0) {
		enter(c, q, reply);
		return;
	}
	login =
	    login_find(&c->logins, loop_now(), q->cookie, q->page_key, !q->background);
	if (login == NULL) {
		console_error(reply, HTTP_LOGIN,
		    "not logged in; run `kennel console` in a terminal, and open the "
		    "link that it prints");
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(routes); i++)
		if (strcmp(q->method, routes[i].method) == 0 &&
		    strcmp(q->path, routes[i].path) == 0) {
			routes[i].fn(c, login, q, reply);
			return;
		}
	if (strcmp(q->method, "POST") == 0 &&
	    strncmp(q->path, APPROVALS, strlen(APPROVALS)) == 0) {
		approvals_answer(c, q->path + strlen(APPROVALS), q, reply);
		return;
	}
	if (!keys_answer(c, q, reply) && !view_answer(c, q, reply))
		console_error(reply, HTTP_NOT_FOUND, "no such path in the API");
}

void
console_answer(void *arg, const struct http_request *q, struct http_reply *reply)
{
	struct console *c = arg;
	const struct page *page;
	const char *why;
	unsigned int status = request_check(q, c->authority, &why);

	if (status != 0) {
		if (request_is_foreign(status))
			record_refused(c);
		reply->type = "application/json";
		console_error(reply, status, why);
		return;
	}
	if (request_is_api(q)) {
		api(c, q, reply);
		return;
	}
	page = page_find(q->path);
	if (page == NULL) {
		reply->type = "application/json";
		console_error(reply, HTTP_NOT_FOUND, "no such page");
		return;
	}
	reply->status = HTTP_OK;
	reply->type = page->type;
	reply->page = page->begin;
	reply->page_len = (size_t)(page->end - page->begin);
}
