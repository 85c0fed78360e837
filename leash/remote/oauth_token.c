/*
 * Requests to the token endpoint, and which grant gets an access token.
 *
 *	client-credentials	the client's secret, and nothing else
 *	code			a refresh token, which `kennel server login` put into the
 *				vault; the issuer may replace it with each answer
 *
 * Several sessions of a server share one refresh token.  So each renewal takes it from
 * the vault, and one from memory only if the vault is locked.
 */
#include "leash/remote/oauth.h"
#include "leash/remote/oauth_text.h"
#include "leash/remote/private.h"

#include "leash/vault/vault.h"
#include "shim/base/array.h"
#include "shim/base/log.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

#define FAILED       "auth-failed: "
#define OTHERS_TRIES 3
#define OTHERS_MS    150

/* ---- the client ---------------------------------------------------------------------- */

static int
put_text(struct buf *form, const char *name, const char *value)
{
	return form_put(form, name, value, strlen(value));
}

static bool
uses_basic(const struct oauth *o)
{
	return o->secret != NULL && (o->found.basic || !o->found.post);
}

/* RFC 6749, 2.3.1: both are encoded as in a form first. */
static int
basic_line(const struct oauth *o, struct buf *line)
{
	struct buf pair;
	int r;

	buf_init(&pair, OAUTH_BODY_MAX);
	r = buf_reserve(&pair, OAUTH_BODY_MAX);
	if (r == 0)
		r = text_encode(&pair, o->client, strlen(o->client));
	if (r == 0)
		r = buf_putc(&pair, ':');
	if (r == 0)
		r = text_encode(&pair, o->secret, strlen(o->secret));
	if (r == 0)
		r = buf_puts(line, "Authorization: Basic ");
	if (r == 0)
		r = text_base64(line, pair.data, pair.len);
	if (r == 0)
		r = buf_putc(line, '\0');
	buf_free_wiped(&pair);
	return r;
}

/* The client, the resource, and what it may do. */
static int
client_put(const struct oauth *o, struct buf *form)
{
	int r = put_text(form, "resource", o->resource);

	if (r == 0 && o->scope != NULL)
		r = put_text(form, "scope", o->scope);
	if (r == 0 && !uses_basic(o))
		r = put_text(form, "client_id", o->client);
	if (r == 0 && o->secret != NULL && !uses_basic(o))
		r = put_text(form, "client_secret", o->secret);
	return r;
}

/* ---- the answer ---------------------------------------------------------------------- */

/* The header of each request. */
static int
line_set(struct oauth *o)
{
	const struct secret *access = tokens_present(o->tokens, TOKEN_ACCESS);
	int r;

	buf_clear(&o->line);
	r = buf_reserve(&o->line, TOKEN_MAX + 64);
	if (r == 0)
		r = buf_puts(&o->line, "Authorization: Bearer ");
	if (r == 0)
		r = buf_put(&o->line, secret_expose(access), secret_len(access));
	return r == 0 ? buf_putc(&o->line, '\0') : r;
}

static int
keep(struct oauth *o, enum token_kind kind, const char *token)
{
	const char *what = NULL;
	int r = tokens_add(o->tokens, kind, token, strlen(token), &what);

	if (r < 0)
		return oauth_fail(o, FAILED "the token of %s is not used: %s", o->issuer,
		    what != NULL ? what : strerror(-r));
	return 0;
}

static int
take(struct oauth *o, const struct token_reply *t)
{
	const struct secret *refresh;
	const char *why = "";

	if (!t->bearer || t->access[0] == '\0')
		return oauth_fail(
		    o, FAILED "the answer of %s has no bearer token", o->issuer);
	if (keep(o, TOKEN_ACCESS, t->access) < 0)
		return -1;
	if (line_set(o) < 0)
		return oauth_fail(o, "out of memory");
	o->serial++;
	if (!o->code || t->refresh[0] == '\0')
		return 0;
	refresh = tokens_present(o->tokens, TOKEN_REFRESH);
	if (refresh != NULL && secret_equals(refresh, t->refresh, strlen(t->refresh)))
		return 0;
	if (keep(o, TOKEN_REFRESH, t->refresh) < 0)
		return -1;
	/* the access token is good in any case: only the next start needs the other */
	refresh = tokens_present(o->tokens, TOKEN_REFRESH);
	o->unstored = refresh_put(o, refresh, &why) < 0 ? why : NULL;
	return 0;
}

/* The newest refresh token: from the vault, unless it is not there yet. */
static int
newest_refresh(struct oauth *o, const char **ret_why)
{
	const struct secret *present = tokens_present(o->tokens, TOKEN_REFRESH);

	if (o->unstored == NULL || present == NULL)
		return refresh_get(o, ret_why);
	if (refresh_put(o, present, ret_why) == 0)
		o->unstored = NULL;
	return 1;
}

/* Errors of RFC 6749, 5.2, in words; of no other text. */
static int
refused(struct oauth *o, unsigned int status, const char *error)
{
	static const struct {
		const char *error, *words;
		int r;
	} rows[] = {
	    {"invalid_client", "the client id or secret is wrong (`auth` in the policy)",
		-1},
	    {"invalid_grant", "the login is over", -EKEYREJECTED},
	    {"invalid_scope", "the `scope` of the policy is not granted", -1},
	    {"invalid_target", "no token is issued for this server", -1},
	    {"unauthorized_client", "the client may not use this `grant`", -1},
	    {"unsupported_grant_type", "the issuer does not support this `grant`", -1},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (strcmp(rows[i].error, error) == 0) {
			(void)oauth_fail(
			    o, FAILED "%s refused a token: %s", o->issuer, rows[i].words);
			return rows[i].r;
		}
	return oauth_fail(o, FAILED "%s answered a request for a token with status %u",
	    o->issuer, status);
}

static int
answered(struct oauth *o, const struct oauth_reply *a)
{
	static struct token_reply t;
	int r = -1;

	if (a->head.body != BODY_JSON ||
	    token_reply_read((const char *)a->body.data, a->body.len, &t) < 0)
		t = (struct token_reply){.error = ""};
	r = a->head.status == 200 ? take(o, &t) : refused(o, a->head.status, t.error);
	explicit_bzero(&t, sizeof(t));
	return r;
}

int
oauth_token(struct oauth *o, struct buf *form)
{
	const char *header[] = {"Content-Type: application/x-www-form-urlencoded",
	    "Accept: application/json", NULL};
	struct http_request q = {
	    .method = "POST", .url = o->found.token, .header = header, .header_n = 2};
	struct oauth_reply a;
	struct buf line;
	int r;

	buf_init(&line, OAUTH_BODY_MAX);
	r = client_put(o, form);
	if (r == 0 && uses_basic(o)) {
		r = buf_reserve(&line, OAUTH_BODY_MAX);
		if (r == 0)
			r = basic_line(o, &line);
		header[q.header_n++] = (const char *)line.data;
	}
	if (r < 0) {
		(void)oauth_fail(o, "out of memory, or a credential is too long");
	} else {
		q.body = form->data;
		q.body_len = form->len;
		r = oauth_fetch(o, o->at_issuer, &q, &a);
		if (r == 0)
			r = answered(o, &a);
		oauth_reply_end(&a);
	}
	buf_free_wiped(&line);
	return r;
}

/* ---- grants --------------------------------------------------------------------------- */

static int
by_client(struct oauth *o, struct buf *form)
{
	if (put_text(form, "grant_type", "client_credentials") < 0)
		return oauth_fail(o, "out of memory");
	return oauth_token(o, form);
}

static int
send_refresh(struct oauth *o, struct buf *form)
{
	const struct secret *token = tokens_present(o->tokens, TOKEN_REFRESH);
	int r;

	explicit_bzero(form->data, form->cap);
	buf_clear(form);
	r = put_text(form, "grant_type", "refresh_token");
	if (r == 0)
		r = form_put(
		    form, "refresh_token", secret_expose(token), secret_len(token));
	return r < 0 ? oauth_fail(o, "out of memory") : oauth_token(o, form);
}

static int
by_refresh(struct oauth *o, struct buf *form)
{
	const char *why = "";
	int r = newest_refresh(o, &why);

	if (tokens_present(o->tokens, TOKEN_REFRESH) == NULL)
		return oauth_fail(o, "auth-required: %s", why);
	if (r < 0)
		log_warn("using the refresh token of before: %s", why);
	r = send_refresh(o, form);
	/* another session may have used it, and be about to store the next one */
	for (int i = 0; r == -EKEYREJECTED && i < OTHERS_TRIES; i++) {
		(void)poll(NULL, 0, OTHERS_MS);
		if (newest_refresh(o, &why) == 0)
			r = send_refresh(o, form);
	}
	if (r == 0 && o->unstored != NULL)
		log_warn(
		    "the new refresh token is not in the vault: %s; then log in again "
		    "with kennel server login %s",
		    o->unstored, o->server);
	if (r != -EKEYREJECTED)
		return r;
	tokens_drop(o->tokens, TOKEN_REFRESH);
	o->unstored = NULL;
	return oauth_fail(o,
	    "auth-required: the login at %s is over: a person runs kennel server login "
	    "%s",
	    o->issuer, o->server);
}

int
oauth_obtain(struct oauth *o)
{
	struct buf form;
	int r;

	buf_init(&form, OAUTH_BODY_MAX);
	r = buf_reserve(&form, OAUTH_BODY_MAX);
	if (r < 0)
		r = oauth_fail(o, "out of memory");
	else
		r = o->code ? by_refresh(o, &form) : by_client(o, &form);
	buf_free_wiped(&form);
	return r < 0 ? -1 : 0;
}
