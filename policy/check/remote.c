/*
 * `remote URL [to SCOPE] [ca FILE]`, `auth` and `header`: a server at a URL.
 *
 * Such a server is kennel-remote in a cell, with the grants that a person would
 * write for it: its command, one host, one file of certificates.  They are added here
 * as statements, so that every later check, rule and printer treats them like those
 * of any server:
 *
 *	remote https://mcp.example.com/mcp	run  .../kennel-remote --ca FILE
 *	auth   bearer TOKEN			         --bearer TOKEN
 *	    or oauth2 client ID issuer HOST	         --oauth-client ID ... --oauth-issuer HOST:443
 *	header X-Team "platform"		         --header X-Team platform
 *						         https://mcp.example.com/mcp
 *						net  allow mcp.example.com:443
 *						net  allow HOST:443
 *						read FILE
 */
#define DIAG_CODE "remote"

#include "policy/check/remote.h"

#include "policy/base/arena.h"
#include "policy/check/check.h"
#include "policy/lang/expand.h"
#include "policy/lang/host.h"
#include "policy/check/oauth_words.h"
#include "policy/lang/remote_url.h"
#include "shim/base/array.h"
#include "shim/host/install_path.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* Where systems keep the certificates that they trust. */
static const char *const bundles[] = {
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/cert.pem",
};

/* ---- one statement --------------------------------------------------------- */

static bool
is_literal(struct check *c, const struct word *w)
{
	if (word_is_literal(w))
		return true;
	diag_error(c->diag, w->at,
	    "a pattern is not allowed here: quote the word to use "
	    "the characters literally");
	return false;
}

void
check_remote(struct check *c, struct stmt *s)
{
	const struct qual *to = stmt_qual(s, KW_TO), *ca = stmt_qual(s, KW_CA);
	const struct word *w = &s->word[0];
	uint32_t scope = NET_PUBLIC, prefix;
	struct remote_url url;
	uint8_t addr[16];
	const char *why;

	if (!is_literal(c, w))
		return;
	why = remote_url_read(w->text, w->len, &url);
	if (why != NULL)
		diag_error(c->diag, w->at, "%s", why);
	if (to != NULL && !net_scope_read(&to->word[0], &scope, addr, &prefix))
		diag_error(c->diag, to->word[0].at,
		    "`to` takes loopback, private, or an address block with its host "
		    "bits 0, as in 10.1.0.0/16");
	if (ca != NULL)
		(void)check_path_word(c, &ca->word[0]); /* reports errors itself */
	if (why != NULL || url.tls)
		return;
	if (scope != NET_LOOPBACK)
		diag_error(c->diag, w->at,
		    "http:// is only allowed with `to loopback`: use https://");
	if (ca != NULL)
		diag_error(c->diag, ca->at, "`ca` is not allowed for an http:// URL");
}

/* The issuer and the secret's variable: server_auth and issuer_read. */
static void
auth_oauth(struct check *c, const struct stmt *s)
{
	struct oauth_words o;
	const char *why;
	size_t i, wrong = oauth_words_read(s, &o, &why);

	if (wrong > 0) {
		diag_error(c->diag, s->word[wrong - 1].at, "%s", why);
		return;
	}
	for (i = 1; i < s->word_n; i++)
		if (!is_literal(c, &s->word[i]))
			return;
	if (o.secret == NULL && o.grant != NULL &&
	    strcmp(o.grant->text, "client-credentials") == 0)
		diag_error(c->diag, o.grant->at,
		    "`grant client-credentials` needs `secret VARIABLE`: the client "
		    "proves with it who it is");
}

void
check_auth(struct check *c, struct stmt *s)
{
	const struct word *w = s->word;
	const char *why;

	if (oauth_is(s)) {
		auth_oauth(c, s);
		return;
	}
	if (strcmp(w[0].text, "bearer") == 0 && s->word_n == 2)
		return; /* the variable: server_auth */
	if (strcmp(w[0].text, "api-key") != 0 || s->word_n != 3) {
		diag_error(
		    c->diag, w[0].at, "`auth` takes %s", keyword_row(KW_AUTH)->takes);
		return;
	}
	why = remote_header_refused(w[1].text, w[1].len, true);
	if (is_literal(c, &w[1]) && why != NULL)
		diag_error(c->diag, w[1].at, "%s", why);
}

void
check_header(struct check *c, struct stmt *s)
{
	const struct word *w = s->word;
	const char *why = remote_header_refused(w[0].text, w[0].len, false);

	if (is_literal(c, &w[0]) && why != NULL)
		diag_error(c->diag, w[0].at, "%s", why);
	if (!w[1].quoted)
		diag_error(
		    c->diag, w[1].at, "`header` takes %s", keyword_row(KW_HEADER)->takes);
	else if (w[1].len > REMOTE_VALUE_MAX ||
		 !remote_value_is_plain(w[1].text, w[1].len))
		diag_error(c->diag, w[1].at,
		    "invalid value of a header: expected 1 to %d printable ASCII "
		    "characters, without spaces around them",
		    REMOTE_VALUE_MAX);
	else if (why == NULL && check_is_secret(w[0].text, w[1].text)) {
		c->diag->hide_line = true;
		diag_warning(c->diag, w[1].at,
		    "this value looks like a secret: policies and their copies beside "
		    "the "
		    "log are not encrypted; write `secret VARIABLE from vault PATH` and "
		    "`auth api-key %s VARIABLE`",
		    w[0].text);
	}
}

/* ---- the statements of a server ---------------------------------------------- */

/* What is collected of a server; first_* are NULL if it has none. */
struct remote {
	struct check *c;
	struct server *server;
	const struct stmt *remote, *auth, *run, *header, *tty;
};

static struct remote
remote_find(struct check *c, struct server *server)
{
	struct remote r = {.c = c, .server = server};
	size_t i;

	for (i = 0; i < server->stmt_n; i++) {
		const struct stmt *s = &server->stmt[i];

		if (s->kw == KW_REMOTE && r.remote == NULL)
			r.remote = s;
		if (s->kw == KW_AUTH && r.auth == NULL)
			r.auth = s;
		if (s->kw == KW_RUN && r.run == NULL)
			r.run = s;
		if (s->kw == KW_HEADER && r.header == NULL)
			r.header = s;
		if (s->kw == KW_TTY && r.tty == NULL)
			r.tty = s;
	}
	return r;
}

/* The argument of `auth` that names a variable, or NULL. */
static const struct word *
auth_variable(const struct stmt *auth)
{
	struct oauth_words o = {NULL};
	const char *why;

	if (!oauth_is(auth))
		return &auth->word[auth->word_n - 1];
	(void)oauth_words_read(auth, &o, &why); /* check_auth has reported errors */
	return o.secret;
}

/* The credential is a secret of this server, in a variable. */
static void
server_auth(const struct remote *r)
{
	const struct word *w = auth_variable(r->auth);
	struct shown shown;

	if (w == NULL)
		return;
	for (size_t i = 0; i < r->server->stmt_n; i++) {
		const struct stmt *s = &r->server->stmt[i];

		if (s->kw != KW_SECRET || strcmp(s->word[0].text, w->text) != 0)
			continue;
		if (stmt_qual(s, KW_AS) != NULL)
			diag_error(r->c->diag, w->at,
			    "secret `%s` is given as a file: remove `as file`, so that "
			    "`auth` finds it in its variable",
			    check_show(&shown, w));
		return;
	}
	diag_error(r->c->diag, w->at,
	    "no secret `%s` in this server: add `secret NAME from ...`, and name it here",
	    check_show(&shown, w));
}

/* HOST:PORT of the issuer, of the scheme of the URL: NULL with *ret, or why not. */
static const char *
issuer_read(const struct word *w, bool tls, struct remote_url *ret)
{
	char url[REMOTE_URL_MAX + 16];
	int n = snprintf(url, sizeof(url), "%s%s", tls ? "https://" : "http://", w->text);

	if (strpbrk(w->text, "/?#") != NULL || n < 0 || (size_t)n >= sizeof(url))
		return "`issuer` takes a host, as in login.example.com or "
		       "login.example.com:8443";
	return remote_url_read(url, (size_t)n, ret);
}

/* The issuer of `auth oauth2`; url: of `remote`, which is the default. */
static void
server_issuer(
    const struct remote *r, const struct remote_url *url, struct remote_url *ret)
{
	struct oauth_words o = {NULL};
	const char *why;

	*ret = *url;
	if (r->auth == NULL || !oauth_is(r->auth) ||
	    oauth_words_read(r->auth, &o, &why) != 0 || o.issuer == NULL)
		return;
	why = issuer_read(o.issuer, url->tls, ret);
	if (why != NULL)
		diag_error(r->c->diag, o.issuer->at, "%s", why);
}

static void
server_headers(const struct remote *r)
{
	const struct stmt *s, *before;
	struct shown shown;
	size_t i, k;

	for (i = 0; i < r->server->stmt_n; i++) {
		s = &r->server->stmt[i];
		for (k = 0; s->kw == KW_HEADER && k < i; k++) {
			before = &r->server->stmt[k];
			if (before->kw == KW_HEADER &&
			    strcasecmp(before->word[0].text, s->word[0].text) == 0)
				diag_error(r->c->diag, s->word[0].at,
				    "duplicate header `%s`: first defined on line %u",
				    check_show(&shown, &s->word[0]), before->at.line);
		}
	}
}

static bool
without_remote(const struct remote *r)
{
	const struct stmt *s = r->auth != NULL ? r->auth : r->header;

	if (r->remote != NULL)
		return false;
	if (s != NULL)
		diag_error(r->c->diag, s->at,
		    "`%s` is only allowed in a server with `remote URL`",
		    keyword_name(s->kw));
	return true;
}

/* ---- derived statements ------------------------------------------------------- */

static void
word_add(struct remote *r, struct stmt *s, const char *text, struct at at)
{
	struct arena *arena = r->c->tree->arena;
	struct word *all = arena_push(arena, s->word, s->word_n, sizeof(*all));
	char *copy = arena_copy(arena, text, strlen(text));

	if (all == NULL || copy == NULL)
		return; /* the statement is incomplete: the next allocation reports it */
	all[s->word_n++] = (struct word){.text = copy,
	    .len = strlen(text),
	    .raw = copy,
	    .raw_len = strlen(text),
	    .quoted = true,
	    .at = at};
	s->word = all;
}

static void
qual_add(struct remote *r, struct stmt *s, const struct qual *q)
{
	struct qual *all =
	    arena_push(r->c->tree->arena, s->qual, s->qual_n, sizeof(*all));

	if (all == NULL)
		return; /* as in word_add */
	all[s->qual_n++] = *q;
	s->qual = all;
}

static void
stmt_add(struct remote *r, const struct stmt *s)
{
	struct stmt *all = arena_push(
	    r->c->tree->arena, r->server->stmt, r->server->stmt_n, sizeof(*all));

	if (all == NULL)
		return; /* as in word_add */
	all[r->server->stmt_n++] = *s;
	r->server->stmt = all;
}

static struct stmt
derived(const struct remote *r, enum keyword kw)
{
	return (struct stmt){
	    .kw = kw, .at = r->remote->at, .expanded = true, .used_at = r->remote->at};
}

const char *
remote_certificates(void)
{
	for (size_t i = 0; i < ARRAY_LEN(bundles); i++)
		/* syscalls: access faccessat faccessat2 */
		if (access(bundles[i], R_OK) == 0)
			return bundles[i];
	return bundles[0];
}

static const char *
certificates(const struct remote *r)
{
	const struct qual *ca = stmt_qual(r->remote, KW_CA);

	return ca != NULL ? ca->word[0].text : remote_certificates();
}

static void
option_add(struct remote *r, struct stmt *run, const char *name, const char *value)
{
	word_add(r, run, name, r->auth->at);
	word_add(r, run, value, r->auth->at);
}

/* --oauth-... for `auth oauth2`; --bearer VAR, --api-key NAME VAR for the others. */
static void
auth_add(struct remote *r, struct stmt *run, const struct remote_url *issuer)
{
	struct oauth_words o = {NULL};
	const char *why;
	char option[64];

	if (!oauth_is(r->auth)) {
		(void)snprintf(option, sizeof(option), "--%s", r->auth->word[0].text);
		word_add(r, run, option, r->auth->at);
		for (size_t i = 1; i < r->auth->word_n; i++)
			word_add(r, run, r->auth->word[i].text, r->auth->word[i].at);
		return;
	}
	(void)oauth_words_read(r->auth, &o, &why); /* it was good before */
	option_add(r, run, "--oauth-client", o.client->text);
	option_add(r, run, "--oauth-grant", o.grant != NULL ? o.grant->text : "code");
	option_add(r, run, "--oauth-issuer", issuer->target);
	if (o.scope != NULL)
		option_add(r, run, "--oauth-scope", o.scope->text);
	if (o.secret != NULL)
		option_add(r, run, "--oauth-secret", o.secret->text);
	option_add(r, run, "--oauth-server", r->server->name.text);
}

/* kennel-remote [--ca FILE] [--bearer VAR | --api-key NAME VAR | --oauth-... ...]
 * [--header N V]... URL */
static void
run_add(struct remote *r, bool tls, const struct remote_url *issuer)
{
	const struct word *url = &r->remote->word[0];
	const char *prefix = install_prefix();
	struct stmt run = derived(r, KW_RUN);
	char path[PATH_MAX + 64];

	(void)snprintf(path, sizeof(path), "%s/libexec/kennel/kennel-remote",
	    prefix != NULL ? prefix : "/usr");
	word_add(r, &run, path, url->at);
	if (tls) {
		word_add(r, &run, "--ca", url->at);
		word_add(r, &run, certificates(r), url->at);
	}
	if (r->auth != NULL)
		auth_add(r, &run, issuer);
	for (size_t i = 0; i < r->server->stmt_n; i++) {
		const struct stmt *s = &r->server->stmt[i];

		if (s->kw != KW_HEADER)
			continue;
		word_add(r, &run, "--header", s->at);
		word_add(r, &run, s->word[0].text, s->word[0].at);
		word_add(r, &run, s->word[1].text, s->word[1].at);
	}
	word_add(r, &run, url->text, url->at);
	stmt_add(r, &run);
}

static void
net_add(struct remote *r, const struct remote_url *url)
{
	const struct qual *to = stmt_qual(r->remote, KW_TO);
	struct word target = {.text = url->target, .len = strlen(url->target)};
	struct stmt net = derived(r, KW_NET);
	struct qual how = {.at = r->remote->at};
	struct host h;

	net.has_verdict = true;
	net.verdict = VERDICT_ALLOW;
	word_add(r, &net, url->target, r->remote->word[0].at);
	if (to != NULL)
		qual_add(r, &net, to);
	if (!url->tls)
		how.kw = KW_PLAIN;
	else if (host_read(&target, true, &h) == NULL && h.kind == HOST_CIDR)
		how.kw = KW_NO_SNI; /* TLS to an address names no host */
	if (how.kw != KW_NONE)
		qual_add(r, &net, &how);
	stmt_add(r, &net);
}

void
remote_expand(struct check *c, struct server *server)
{
	struct remote r = remote_find(c, server);
	size_t errors = c->diag->error_n;
	struct remote_url url, issuer;
	struct oauth_words words;
	struct stmt read, copy;
	const char *why;
	bool good;

	if (without_remote(&r))
		return;
	if (r.run != NULL)
		diag_error(c->diag, r.remote->at,
		    "`run` and `remote` exclude each other: remove one");
	if (r.tty != NULL)
		diag_error(c->diag, r.tty->at,
		    "`tty` is not allowed in a server with `remote`: the server runs "
		    "elsewhere, and kennel-remote opens no terminal; remove it");
	server_headers(&r);
	if (r.auth != NULL)
		server_auth(&r);
	good = remote_url_read(r.remote->word[0].text, r.remote->word[0].len, &url) ==
		   NULL &&
	       (r.auth == NULL || !oauth_is(r.auth) ||
		   oauth_words_read(r.auth, &words, &why) == 0);
	if (good)
		server_issuer(&r, &url, &issuer);
	if (c->diag->error_n != errors || server->broken || !good)
		return;
	copy = *r.remote; /* the array moves */
	r.remote = &copy;
	if (url.tls) {
		read = derived(&r, KW_READ);
		word_add(&r, &read, certificates(&r), copy.at);
		stmt_add(&r, &read);
	}
	net_add(&r, &url);
	if (strcmp(url.target, issuer.target) != 0)
		net_add(&r, &issuer);
	/* r.auth may be in the old array, which stays as it was */
	run_add(&r, url.tls, &issuer);
}
