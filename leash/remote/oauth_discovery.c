/*
 * Discovery: the resource of a token, and who issues it.
 *
 *	401, WWW-Authenticate: Bearer resource_metadata="U"
 *	GET U, at the server		RFC 9728: resource, authorization_servers
 *	GET I/.well-known/...		RFC 8414, else OpenID Connect: issuer, endpoints
 *
 * The server chooses among issuers, but only the host of the policy counts.  U is of the
 * server's own origin, the resource is its URL or a path above it, the metadata of an
 * issuer names that same issuer, and its token endpoint is of that origin.
 */
#include "leash/remote/oauth.h"
#include "leash/remote/oauth_text.h"
#include "leash/remote/private.h"

#include "shim/base/array.h"

#include <string.h>

#define FAILED "auth-failed: "

/* The JSON at this URL: 0, with the reply open; 1: not there; -1 with why. */
static int
get(struct oauth *o, struct http *http, const char *url, struct oauth_reply *ret)
{
	static const char *const header[] = {"Accept: application/json"};
	const struct http_request q = {
	    .method = "GET", .url = url, .header = header, .header_n = ARRAY_LEN(header)};
	int r = oauth_fetch(o, http, &q, ret);

	if (r == 0 && (ret->head.status != 200 || ret->head.body != BODY_JSON))
		r = 1;
	if (r != 0)
		oauth_reply_end(ret);
	return r;
}

/* ---- the server -------------------------------------------------------------------- */

static bool
issuer_fits(void *arg, const char *url)
{
	struct oauth *o = arg;
	char out[OAUTH_URL_MAX + 1];

	return http_redirect(o->at_issuer, url, url, out, sizeof(out)) == 0 &&
	       strpbrk(url, "?#") == NULL;
}

/* Is the resource the server's URL, or a path above it, at the same origin? */
static bool
resource_fits(const struct oauth *o, const char *resource)
{
	char out[OAUTH_URL_MAX + 1], url[OAUTH_URL_MAX + 1];
	size_t len;

	if (http_redirect(o->own, resource, resource, out, sizeof(out)) < 0 ||
	    http_redirect(o->own, o->remote->url, o->remote->url, url, sizeof(url)) < 0)
		return false;
	len = strlen(out);
	if (strncmp(out, url, len) != 0)
		return false;
	return out[len - 1] == '/' || url[len] == '\0' || url[len] == '/' ||
	       url[len] == '?';
}

static int
resource_get(struct oauth *o, const char *url, struct resource_metadata *ret)
{
	struct oauth_reply a;
	int r = get(o, o->own, url, &a);

	if (r != 0)
		return r;
	r = resource_metadata_read(
	    (const char *)a.body.data, a.body.len, issuer_fits, o, ret);
	oauth_reply_end(&a);
	if (r < 0)
		return oauth_fail(
		    o, FAILED "the metadata of %s is no JSON object", o->remote->host);
	return 0;
}

/* Where the metadata may be: as the 401 says, else by the URL (RFC 9728, 3.1). */
static int
resource_find(struct oauth *o, const struct challenge *c, struct resource_metadata *ret)
{
	static const char name[] = "oauth-protected-resource";
	static const char root[] = "/.well-known/oauth-protected-resource";
	const char *base = o->remote->url, *host = o->remote->host;
	char url[OAUTH_URL_MAX + 64];
	int r;

	if (c->metadata[0] != '\0') {
		if (http_redirect(o->own, c->metadata, c->metadata, url, sizeof(url)) < 0)
			return oauth_fail(o,
			    FAILED
			    "%s has its metadata at another host, which is refused",
			    host);
		r = resource_get(o, url, ret);
	} else {
		if (well_known(base, name, false, url, sizeof(url)) < 0)
			return oauth_fail(o, FAILED "the URL is too long");
		r = resource_get(o, url, ret);
		if (r == 1 && url_has_path(base) &&
		    http_redirect(o->own, base, root, url, sizeof(url)) == 0)
			r = resource_get(o, url, ret);
	}
	return r == 1 ? oauth_fail(o, FAILED "%s has no metadata (RFC 9728)", host) : r;
}

/* ---- the issuer ---------------------------------------------------------------------- */

/* An endpoint of the issuer's own origin, as libcurl reads it. */
static int
endpoint(struct oauth *o, char url[OAUTH_URL_MAX + 1], const char *what)
{
	char out[OAUTH_URL_MAX + 1];

	if (url[0] == '\0')
		return oauth_fail(o, FAILED "%s has no %s", o->issuer, what);
	if (http_redirect(o->at_issuer, url, url, out, sizeof(out)) < 0 ||
	    strchr(out, '#') != NULL)
		return oauth_fail(o,
		    FAILED "the %s of %s is at another host, which is refused", what,
		    o->issuer);
	memcpy(url, out, sizeof(out));
	return 0;
}

static int
issuer_check(struct oauth *o, const char *issuer, struct issuer_metadata *m)
{
	int r;

	if (strcmp(m->issuer, issuer) != 0)
		return oauth_fail(o,
		    FAILED "the metadata of %s is that of another issuer (RFC 8414, 3.3)",
		    o->issuer);
	r = endpoint(o, m->token, "token endpoint");
	if (r == 0 && o->code)
		r = endpoint(o, m->authorize, "authorization endpoint");
	if (r == 0 && o->code && !m->s256)
		r = oauth_fail(o, FAILED "%s does not support PKCE with S256", o->issuer);
	return r;
}

static int
issuer_find(struct oauth *o, const char *issuer, struct issuer_metadata *ret)
{
	static const struct {
		const char *name;
		bool after;
	} at[] = {{"oauth-authorization-server", false}, {"openid-configuration", false},
	    {"openid-configuration", true}};
	char url[OAUTH_URL_MAX + 64];
	struct oauth_reply a;
	int r = 1;

	for (size_t i = 0; r == 1 && i < ARRAY_LEN(at); i++) {
		if (at[i].after && !url_has_path(issuer))
			continue; /* the same as the one before */
		if (well_known(issuer, at[i].name, at[i].after, url, sizeof(url)) < 0)
			return oauth_fail(o, FAILED "the issuer's URL is too long");
		r = get(o, o->at_issuer, url, &a);
	}
	if (r == 1)
		return oauth_fail(o, FAILED "%s has no metadata (RFC 8414)", o->issuer);
	if (r < 0)
		return r;
	r = issuer_metadata_read((const char *)a.body.data, a.body.len, ret);
	oauth_reply_end(&a);
	return r < 0 ? oauth_fail(
			   o, FAILED "the metadata of %s is no JSON object", o->issuer)
		     : issuer_check(o, issuer, ret);
}

int
oauth_discover(struct oauth *o, const struct challenge *c)
{
	static struct resource_metadata resource;
	static struct issuer_metadata found;
	int r;

	if (o->metadata)
		return 0;
	r = resource_find(o, c, &resource);
	if (r < 0)
		return r;
	if (!resource_fits(o, resource.resource))
		return oauth_fail(o,
		    FAILED "the metadata of %s is for another resource (RFC 9728, 3.3)",
		    o->remote->host);
	if (resource.issuer[0] == '\0')
		return oauth_fail(o,
		    FAILED "%s does not name %s as its issuer: a person writes another "
			   "`issuer` into the policy",
		    o->remote->host, o->issuer);
	r = issuer_find(o, resource.issuer, &found);
	if (r < 0)
		return r;
	memcpy(o->resource, resource.resource, sizeof(o->resource));
	o->found = found;
	o->metadata = true;
	return 0;
}
