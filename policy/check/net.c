/*
 * Checks of `net`, and of secrets with a list of hosts.
 */
#define DIAG_CODE "net"

#include "policy/check/check.h"
#include "policy/lang/host.h"
#include "policy/lang/manifest.h"
#include "policy/lang/secret_source.h"
#include "shim/base/array.h"

#include <string.h>

/*
 * Public suffixes: anyone can register a name below them, so `*.` of one does
 * not limit the owner.
 */
static const char *const shared[] = {"co.uk", "org.uk", "com.au", "co.jp", "com.br",
    "co.in", "co.nz", "com.cn", "github.io", "gitlab.io", "githubusercontent.com",
    "herokuapp.com", "vercel.app", "netlify.app", "pages.dev", "workers.dev", "web.app",
    "firebaseapp.com", "appspot.com", "run.app", "azurewebsites.net", "cloudapp.net",
    "blob.core.windows.net", "amazonaws.com", "s3.amazonaws.com", "cloudfront.net",
    "elasticbeanstalk.com", "ngrok.io", "ngrok-free.app", "trycloudflare.com", "fly.dev",
    "onrender.com", "surge.sh", "nip.io", "sslip.io", "duckdns.org"};

#define PORTS_MAX 64

static void
broad(struct check *c, const struct word *w, const struct host *h)
{
	size_t i;

	for (i = 0; h->kind == HOST_SUFFIX && i < ARRAY_LEN(shared); i++)
		if (strlen(shared[i]) == h->len &&
		    memcmp(shared[i], h->name, h->len) == 0)
			diag_warning(c->diag, w->at,
			    "anyone can register a name under %s: name the hosts",
			    shared[i]);
	if (h->kind == HOST_CIDR && h->prefix < (h->addr[10] == 0xff ? 96 + 8 : 16))
		diag_warning(c->diag, w->at,
		    "this block covers a large part of the network: grant a smaller one");
}

/* What kennel-egress could not enforce (leash/egress/plan.h). */
static void
possible(
    struct check *c, const struct stmt *s, const struct word *w, const struct host *h)
{
	if (h->port_last - h->port_first >= PORTS_MAX)
		diag_error(c->diag, w->at,
		    "more than %d ports in one allow or ask grant: name the ports in use",
		    PORTS_MAX);
	if (h->kind == HOST_CIDR && stmt_qual(s, KW_NO_SNI) == NULL &&
	    stmt_qual(s, KW_PLAIN) == NULL)
		diag_error(c->diag, w->at,
		    "an IP address cannot be the server name of a TLS ClientHello: add "
		    "`no-sni` (TLS without a name) or `plain` (any protocol)");
	else if (h->kind == HOST_CIDR && h->prefix < 128)
		diag_warning(c->diag, w->at,
		    "for an address block, kennel listens on %s of every address: no "
		    "program of this server can listen there",
		    h->port_first == h->port_last ? "this port" : "these ports");
}

/* loopback, private, or an address block. */
bool
net_scope_read(
    const struct word *w, uint32_t *ret_scope, uint8_t addr[16], uint32_t *ret_prefix)
{
	*ret_prefix = 0;
	*ret_scope = NET_CIDR;
	if (strcmp(w->text, "loopback") == 0)
		*ret_scope = NET_LOOPBACK;
	else if (strcmp(w->text, "private") == 0)
		*ret_scope = NET_PRIVATE;
	return *ret_scope != NET_CIDR ||
	       host_cidr(w->text, w->len, addr, ret_prefix) == 0;
}

int
net_starttls(const char *name)
{
	static const char *const names[] = {"postgres", "smtp", "imap", "mysql"};
	size_t i;

	for (i = 0; i < ARRAY_LEN(names); i++)
		if (strcmp(name, names[i]) == 0)
			return NET_STARTTLS_POSTGRES + (int)i;
	return -1;
}

static void
quals(struct check *c, const struct stmt *s)
{
	static const enum keyword protos[] = {KW_PLAIN, KW_NO_SNI, KW_STARTTLS};
	const struct qual *q = stmt_qual(s, KW_TO), *first = NULL;
	uint32_t scope, prefix;
	uint8_t addr[16];
	size_t i;

	if (q != NULL && !net_scope_read(&q->word[0], &scope, addr, &prefix))
		diag_error(c->diag, q->word[0].at,
		    "`to` takes loopback, private, or an address block with its host "
		    "bits 0, as in 10.1.0.0/16");
	for (i = 0; i < ARRAY_LEN(protos); i++) {
		q = stmt_qual(s, protos[i]);
		if (q == NULL)
			continue;
		if (first != NULL)
			diag_error(c->diag, q->at,
			    "`%s` and `%s` exclude each other: remove one",
			    keyword_name(first->kw), keyword_name(q->kw));
		first = q;
	}
	q = stmt_qual(s, KW_STARTTLS);
	if (q != NULL && net_starttls(q->word[0].text) < 0)
		diag_error(c->diag, q->word[0].at, "`starttls` takes %s",
		    keyword_row(KW_STARTTLS)->takes);
}

void
check_net(struct check *c, struct stmt *s)
{
	const char *why;
	struct host h;
	size_t i;

	for (i = 0; i < s->word_n; i++) {
		if (!s->word[i].quoted && s->word[i].literal != NULL &&
		    strchr(s->word[i].text, '*') != NULL &&
		    memchr(s->word[i].raw, '*', s->word[i].raw_len) == NULL) {
			diag_error(c->diag, s->word[i].at,
			    "the value of a `let` is never a pattern: write the `*` "
			    "here");
			continue;
		}
		why = host_read(&s->word[i], true, &h);
		if (why != NULL)
			diag_error(c->diag, s->word[i].at, "%s", why);
		else if (s->verdict != VERDICT_DENY) {
			broad(c, &s->word[i], &h);
			possible(c, s, &s->word[i], &h);
		}
	}
	quals(c, s);
	check_exception(c, s);
}

/* ---- secrets ------------------------------------------------------------- */

void
check_secret_options(struct check *c, struct stmt *s)
{
	const struct qual *q = stmt_qual(s, KW_APPROVE);
	const char *why;
	struct host h;
	size_t i;

	if (q != NULL && strcmp(q->word[0].text, "session") != 0 &&
	    strcmp(q->word[0].text, "per-call") != 0)
		diag_error(c->diag, q->word[0].at, "`approve` takes session or per-call");
	if (q != NULL && q->word_n > 1 && manifest_factor(q->word, q->word_n) == NULL)
		diag_error(
		    c->diag, q->word[1].at, "expected `with passphrase` or `with key`");
	q = stmt_qual(s, KW_AS);
	if (q != NULL && strcmp(q->word[0].text, "file") != 0)
		diag_error(c->diag, q->word[0].at, "`as` takes file");
	q = stmt_qual(s, KW_WEAK);
	if (q != NULL && strcmp(q->word[0].text, "allowed") != 0)
		diag_error(c->diag, q->word[0].at, "`weak` takes allowed");
	q = stmt_qual(s, KW_MAY);
	for (i = 0; q != NULL && i < q->word_n; i++)
		if (strcmp(q->word[i].text, "network") != 0 &&
		    strcmp(q->word[i].text, "files") != 0)
			diag_error(
			    c->diag, q->word[i].at, "`may` takes network, files or both");
	if (q != NULL && !source_is_program(s->word[1].text))
		diag_error(c->diag, q->at,
		    "`may` is only allowed for a program, as in `from cmd`");
	q = stmt_qual(s, KW_HOSTS);
	if (q == NULL || (q->word_n == 1 && strcmp(q->word[0].text, "any") == 0))
		return;
	for (i = 0; i < q->word_n; i++) {
		why = host_read(&q->word[i], false, &h);
		if (why != NULL)
			diag_error(c->diag, q->word[i].at, "%s", why);
	}
}

static bool
hosts_cover(const struct qual *q, const struct host *net)
{
	struct host h;
	size_t i;

	for (i = 0; i < q->word_n; i++)
		if (host_read(&q->word[i], false, &h) == NULL && host_covers(&h, net) &&
		    (h.port_first == 0 || (h.port_first <= net->port_first &&
					      net->port_last <= h.port_last)))
			return true;
	return false;
}

/* Checks one net grant against one secret. */
static void
against_secret(struct check *c, const struct stmt *net, const struct stmt *secret)
{
	const struct qual *q = stmt_qual(secret, KW_HOSTS);
	struct host h;
	size_t i;

	if (q == NULL || (q->word_n == 1 && strcmp(q->word[0].text, "any") == 0))
		return;
	for (i = 0; i < net->word_n; i++)
		if (host_read(&net->word[i], true, &h) == NULL && !hosts_cover(q, &h))
			diag_error(c->diag, net->word[i].at,
			    "this host is not in `hosts` of secret %s on line %u: add it "
			    "there, or use `hosts any`",
			    secret->word[0].text, secret->at.line);
}

void
check_secret_hosts(struct check *c, const struct server *server)
{
	const struct stmt *s;
	size_t i, k;

	for (i = 0; i < server->stmt_n; i++) {
		s = &server->stmt[i];
		if (s->kw != KW_NET || s->verdict == VERDICT_DENY)
			continue;
		for (k = 0; k < server->stmt_n; k++)
			if (server->stmt[k].kw == KW_SECRET)
				against_secret(c, s, &server->stmt[k]);
	}
}
