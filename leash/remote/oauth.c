/*
 * Which token a request gets, and what a 401 or 403 means.
 *
 *	request, with the access token or without one
 *	  401, with a token that is the present one, or none:
 *		discovery, a token by the policy's grant, the request once more
 *	  401, with a token that was replaced meanwhile: the request once more
 *	  401 again: an error
 *	  403, error="insufficient_scope": an error that names the scope
 *
 * Process: kennel-remote.  Holds: the client's secret, the tokens of one server.  Trusts:
 * the policy for which host may issue a token.  Must never: send a token to another
 * origin than the server's, the secret or a refresh token to another than the issuer's,
 * or pass on a message that contains one of them.
 */
#include "leash/remote/oauth.h"
#include "leash/remote/private.h"
#include "leash/refresh_request.h"

#include "shim/base/array.h"
#include "shim/base/log.h"
#include "shim/base/loop.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AGAIN_MS 100 /* after a failure */

static void
refuse(const char *what)
{
	log_error("%s", what);
	exit(EXIT_REFUSED);
}

/* ---- the command line ------------------------------------------------------------- */

static struct oauth *
oauth_new(struct remote *r)
{
	const char *fd = getenv(REFRESH_FD_VARIABLE);
	struct oauth *o = calloc(1, sizeof(*o));

	if (o == NULL || tokens_new(&o->tokens) < 0)
		die("out of memory");
	o->remote = r;
	o->refresh_fd = fd != NULL ? (int)strtol(fd, NULL, 10) : -1;
	buf_init(&o->line, TOKEN_MAX + 64);
	return o;
}

static const char *
secret_of(const char *variable)
{
	const char *value = getenv(variable);

	if (value == NULL || value[0] == '\0')
		refuse("no client secret: the variable of `auth oauth2` is not set");
	return value;
}

void
oauth_option(struct remote *r, const char *name, const char *value)
{
	struct oauth *o = r->oauth != NULL ? r->oauth : oauth_new(r);

	r->oauth = o;
	name += strlen("--oauth-");
	if (strcmp(name, "client") == 0)
		o->client = value;
	else if (strcmp(name, "grant") == 0)
		o->code = strcmp(value, "code") == 0;
	else if (strcmp(name, "issuer") == 0)
		o->issuer = value;
	else if (strcmp(name, "scope") == 0)
		o->scope = value;
	else if (strcmp(name, "secret") == 0)
		o->secret = secret_of(value);
	else
		o->server = value;
}

void
oauth_ready(struct remote *r)
{
	struct oauth *o = r->oauth;

	if (o == NULL)
		return;
	if (o->client == NULL || o->issuer == NULL || o->server == NULL ||
	    snprintf(o->at_issuer_url, sizeof(o->at_issuer_url), "%s://%s/",
		r->ca != NULL ? "https" : "http",
		o->issuer) >= (int)sizeof(o->at_issuer_url))
		refuse("incomplete options --oauth-...; kennel-remote is started by "
		       "kennel, for `auth oauth2` in a policy");
}

void
oauth_free(struct oauth *o)
{
	if (o == NULL)
		return;
	tokens_free(o->tokens);
	buf_free_wiped(&o->line);
	free(o);
}

int
oauth_fail(struct oauth *o, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(o->why, sizeof(o->why), fmt, ap); /* may be cut */
	va_end(ap);
	for (char *p = o->why; *p != '\0'; p++)
		if (*p < ' ' || *p >= 0x7f)
			*p = '?';
	return -1;
}

/* ---- a renewal ---------------------------------------------------------------------- */

int
oauth_begin(struct oauth *o)
{
	struct remote *r = o->remote;

	o->until_ns = loop_now() + OAUTH_ALL_MS * LOOP_MS;
	if (http_new(r->url, r->ca, &o->own) == 0 &&
	    http_new(o->at_issuer_url, r->ca, &o->at_issuer) == 0)
		return 0;
	return oauth_fail(o, "out of memory");
}

void
oauth_end(struct oauth *o)
{
	http_free(o->own); /* takes NULL */
	http_free(o->at_issuer);
	o->own = o->at_issuer = NULL;
}

static void
failed(struct oauth *o)
{
	o->metadata = false; /* it may have changed */
	o->again_ns = loop_now() + AGAIN_MS * LOOP_MS;
}

/* Another access token: 0, or -1 with why. */
static int
renew(struct oauth *o, const struct challenge *c)
{
	int r;

	if (loop_now() < o->again_ns)
		return -1; /* for the same reason */
	tokens_drop(o->tokens, TOKEN_ACCESS);
	r = oauth_begin(o);
	if (r == 0)
		r = oauth_discover(o, c);
	if (r == 0)
		r = oauth_obtain(o);
	oauth_end(o);
	if (r < 0)
		failed(o);
	return r;
}

/* ---- requests ------------------------------------------------------------------------ */

const char *
oauth_header(const struct oauth *o)
{
	return tokens_present(o->tokens, TOKEN_ACCESS) != NULL
		   ? (const char *)o->line.data
		   : NULL;
}

/* The serial of the access token; 0: it is absent. */
static uint64_t
present(const struct oauth *o)
{
	return oauth_header(o) != NULL ? o->serial : 0;
}

void
oauth_sending(struct exchange *x)
{
	if (x->remote->oauth != NULL)
		x->token = present(x->remote->oauth);
}

static bool
needs_scope(struct exchange *x)
{
	const struct challenge *c = &x->head.challenge;
	struct oauth *o = x->remote->oauth;
	/* what answers no request is logged, and may be a token: only answers are redacted */
	const char *scope = x->kind == EXCHANGE_REQUEST && !x->internal ? c->scope : "";

	if (x->head.status != 403 || !c->bearer ||
	    strcmp(c->error, "insufficient_scope") != 0)
		return false;
	exchange_fail(x,
	    "auth-required: %s wants another scope%s%s%s: a person adds it to `auth "
	    "oauth2 "
	    "... scope` in the policy%s%s",
	    x->remote->host, scope[0] != '\0' ? " (" : "", scope,
	    scope[0] != '\0' ? ")" : "", o->code ? ", and runs kennel server login " : "",
	    o->code ? o->server : "");
	return true;
}

bool
oauth_answered(struct exchange *x)
{
	struct oauth *o = x->remote->oauth;

	if (o == NULL)
		return false;
	if (x->head.status != 401) {
		x->renewed = 0;
		return needs_scope(x);
	}
	if (x->renewed != 0 && x->renewed == x->token) {
		(void)oauth_fail(o,
		    "auth-failed: %s refuses the token that %s issued for it",
		    x->remote->host, o->issuer);
		failed(o);
		exchange_fail(x, "%s", o->why);
		return true;
	}
	if (x->token == present(o) && renew(o, &x->head.challenge) < 0) {
		exchange_fail(x, "%s", o->why);
		return true;
	}
	x->renewed = o->serial;
	x->answered = false; /* a refused stream counts as answered */
	exchange_send(x);
	return true;
}

int
oauth_redact(struct oauth *o, const char *text, size_t len, struct buf *out)
{
	return tokens_redact(o->tokens, text, len, out);
}
