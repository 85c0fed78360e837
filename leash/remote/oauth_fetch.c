/*
 * One HTTP request, and its whole answer: for metadata and tokens.
 *
 * Nothing else happens meanwhile.  A token is what every other request waits for, and
 * OAUTH_ALL_MS bounds the time.
 */
#include "leash/remote/oauth.h"
#include "leash/remote/private.h"

#include "shim/base/loop.h"

#include <stdio.h>
#include <string.h>

static int
on_head(void *arg, const char *line, size_t len)
{
	struct oauth_reply *a = arg;

	a->large = response_head_line(&a->head, line, len) < 0;
	return a->large ? -1 : 0;
}

static int
on_body(void *arg, const char *bytes, size_t len)
{
	struct oauth_reply *a = arg;

	a->large = buf_put(&a->body, bytes, len) < 0;
	return a->large ? -1 : 0;
}

static void
on_done(void *arg, const char *why)
{
	struct oauth_reply *a = arg;

	a->over = true;
	if (why != NULL)
		(void)snprintf(a->why, sizeof(a->why), "%s", why);
}

static const char *
host_of(const struct oauth *o, const struct http *http)
{
	return http == o->own ? o->remote->host : o->issuer;
}

int
oauth_fetch(struct oauth *o, struct http *http, const struct http_request *q,
    struct oauth_reply *ret)
{
	static const struct http_events events = {on_head, on_body, on_done};
	uint64_t now = loop_now();
	struct http_request own = *q;
	char url[OAUTH_URL_MAX + 1];
	struct http_call *call;

	*ret = (struct oauth_reply){.over = false};
	buf_init(&ret->body, OAUTH_BODY_MAX);
	if (http_redirect(http, q->url, q->url, url, sizeof(url)) < 0)
		return oauth_fail(
		    o, "auth-failed: a URL of %s is not of this host", host_of(o, http));
	if (now >= o->until_ns)
		return oauth_fail(o, "auth-failed: no token within %d s: try again",
		    OAUTH_ALL_MS / 1000);
	own.url = url;
	own.timeout_ms = (long)((o->until_ns - now) / LOOP_MS) + 1;
	if (own.timeout_ms > OAUTH_ONE_MS)
		own.timeout_ms = OAUTH_ONE_MS;
	/* at once: memory that grows leaves copies */
	if (buf_reserve(&ret->body, OAUTH_BODY_MAX) < 0 ||
	    http_start(http, &own, &events, ret, &call) < 0)
		return oauth_fail(o, "out of memory");
	while (!ret->over)
		(void)http_wait(http, -1, 1000);
	if (ret->large)
		return oauth_fail(
		    o, "auth-failed: %s sent more than 64 KiB", host_of(o, http));
	if (ret->why[0] != '\0')
		return oauth_fail(
		    o, "unable to reach %s for a token: %s", host_of(o, http), ret->why);
	if (ret->head.status / 100 == 3)
		return oauth_fail(o,
		    "auth-failed: %s redirects a request for metadata or a token, which "
		    "is "
		    "refused",
		    host_of(o, http));
	return 0;
}

void
oauth_reply_end(struct oauth_reply *a)
{
	buf_free_wiped(&a->body);
}
