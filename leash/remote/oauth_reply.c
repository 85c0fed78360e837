/*
 * The JSON that an authorization server and a protected resource send.
 *
 * Its bytes are hostile.  What is kept of them is visible ASCII, so that it can be a URL
 * or a header; anything else counts as absent.
 */
#include "leash/remote/oauth_reply.h"

#include "leash/remote/message.h"
#include "shim/base/buf.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

/* The text of a string to out; "" for another type, or of other characters. */
static void
text_put(struct slice value, char *out, size_t cap)
{
	struct slice s = slice_text(value);
	struct buf b;
	size_t i;

	out[0] = '\0';
	if (s.len == 0)
		return;
	buf_init(&b, cap - 1);
	/* at once: memory that grows leaves copies */
	if (buf_reserve(&b, cap - 1) == 0 && message_unescape(s, &b) == 0) {
		for (i = 0; i < b.len; i++)
			if (b.data[i] <= ' ' || b.data[i] >= 0x7f)
				break;
		if (i == b.len) {
			memcpy(out, b.data, b.len);
			out[b.len] = '\0';
		}
	}
	buf_free_wiped(&b);
}

static int
members(const char *text, size_t len, member_fn *fn, void *arg)
{
	struct message m;
	size_t i = 0;

	/* brackets are closed, and nothing is after the last */
	if (message_read(text, len, &m) < 0 || m.batch)
		return -EBADMSG;
	while (i < len && text[i] != '{')
		i++;
	return slice_members((struct slice){text + i, len - i}, fn, arg);
}

/* ---- the protected resource -------------------------------------------------------- */

struct resource_reader {
	struct resource_metadata *out;
	issuer_fits_fn *fits;
	void *arg;
};

static void
resource_issuer(void *arg, struct slice key, struct slice value)
{
	struct resource_reader *r = arg;
	char url[OAUTH_URL_MAX + 1];

	text_put(value, url, sizeof(url));
	if (url[0] != '\0' && r->out->issuer[0] == '\0' && r->fits(r->arg, url))
		memcpy(r->out->issuer, url, sizeof(url));
}

static void
resource_member(void *arg, struct slice key, struct slice value)
{
	struct resource_reader *r = arg;

	if (slice_is(key, "resource"))
		text_put(value, r->out->resource, sizeof(r->out->resource));
	else if (slice_is(key, "authorization_servers"))
		(void)slice_items(value, resource_issuer, r); /* no array: no issuer */
}

int
resource_metadata_read(const char *text, size_t len, issuer_fits_fn *fits, void *arg,
    struct resource_metadata *ret)
{
	struct resource_reader r = {ret, fits, arg};

	*ret = (struct resource_metadata){.issuer = ""};
	return members(text, len, resource_member, &r);
}

/* ---- the issuer --------------------------------------------------------------------- */

static void
challenge_method(void *arg, struct slice key, struct slice value)
{
	struct issuer_metadata *m = arg;

	m->s256 = m->s256 || slice_is(value, "\"S256\"");
}

static void
auth_method(void *arg, struct slice key, struct slice value)
{
	struct issuer_metadata *m = arg;

	m->basic = m->basic || slice_is(value, "\"client_secret_basic\"");
	m->post = m->post || slice_is(value, "\"client_secret_post\"");
}

static void
issuer_member(void *arg, struct slice key, struct slice value)
{
	struct issuer_metadata *m = arg;

	if (slice_is(key, "issuer"))
		text_put(value, m->issuer, sizeof(m->issuer));
	else if (slice_is(key, "authorization_endpoint"))
		text_put(value, m->authorize, sizeof(m->authorize));
	else if (slice_is(key, "token_endpoint"))
		text_put(value, m->token, sizeof(m->token));
	else if (slice_is(key, "authorization_response_iss_parameter_supported"))
		m->sends_iss = slice_is(value, "true");
	else if (slice_is(key, "code_challenge_methods_supported"))
		(void)slice_items(value, challenge_method, m); /* no array: none */
	else if (slice_is(key, "token_endpoint_auth_methods_supported"))
		(void)slice_items(value, auth_method, m); /* the same */
}

int
issuer_metadata_read(const char *text, size_t len, struct issuer_metadata *ret)
{
	*ret = (struct issuer_metadata){.issuer = ""};
	return members(text, len, issuer_member, ret);
}

/* ---- tokens --------------------------------------------------------------------------- */

static void
token_member(void *arg, struct slice key, struct slice value)
{
	struct token_reply *t = arg;
	char type[16];

	if (slice_is(key, "access_token"))
		text_put(value, t->access, sizeof(t->access));
	else if (slice_is(key, "refresh_token"))
		text_put(value, t->refresh, sizeof(t->refresh));
	else if (slice_is(key, "error")) {
		text_put(value, t->error, sizeof(t->error));
		if (strspn(t->error, "abcdefghijklmnopqrstuvwxyz_") != strlen(t->error))
			t->error[0] = '\0';
	} else if (slice_is(key, "token_type")) {
		text_put(value, type, sizeof(type));
		t->bearer = strcasecmp(type, "Bearer") == 0;
	}
}

int
token_reply_read(const char *text, size_t len, struct token_reply *ret)
{
	explicit_bzero(ret, sizeof(*ret));
	return members(text, len, token_member, ret);
}
