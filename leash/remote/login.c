/*
 * The authorization code, for a person: `kennel server login NAME`.
 *
 *	person			kennel-remote			issuer
 *	   <---- a URL		401, discovery
 *	opens it in a browser, and logs in there --------------->
 *	   <------------------- http://127.0.0.1:PORT/?code=C&state=S&iss=I
 *	pastes that address --->
 *				state and iss are right?
 *				code, verifier (PKCE) ---------->
 *				   <------------------- both tokens
 *				refresh token to the leash, for the vault
 *
 * stdin and stdout are those of a terminal, never those of an agent: the leash sets
 * KENNEL_LOGIN for `kennel exec` only.  A code is worth nothing without the
 * verifier, which never leaves this process.
 */
#include "leash/remote/oauth.h"
#include "leash/remote/oauth_text.h"
#include "leash/remote/private.h"

#include "shim/base/array.h"
#include "shim/base/log.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* Nothing listens there: the browser shows an error, and the address in its bar. */
#define REDIRECT_URI "http://127.0.0.1:41927/callback"
#define ADDRESS_MAX  8192
#define CODE_MAX     2048
#define RANDOM_LEN   32
#define RANDOM_CAP   44 /* 32 bytes in base64url, without padding */

struct login {
	struct oauth *o;
	char state[RANDOM_CAP], verifier[RANDOM_CAP], challenge[RANDOM_CAP];
	char code[CODE_MAX + 1];
};

static int
random_text(char out[RANDOM_CAP])
{
	uint8_t raw[RANDOM_LEN];

	if (getrandom(raw, sizeof(raw), 0) != (ssize_t)sizeof(raw))
		return -EIO;
	(void)sodium_bin2base64(
	    out, RANDOM_CAP, raw, sizeof(raw), sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	explicit_bzero(raw, sizeof(raw));
	return 0;
}

/* State, verifier, and the verifier's digest (RFC 7636, 4.2). */
static int
draw(struct login *l)
{
	uint8_t digest[crypto_hash_sha256_BYTES];

	if (random_text(l->state) < 0 || random_text(l->verifier) < 0)
		return oauth_fail(l->o, "no random numbers from the kernel");
	(void)crypto_hash_sha256(
	    digest, (const uint8_t *)l->verifier, strlen(l->verifier));
	(void)sodium_bin2base64(l->challenge, RANDOM_CAP, digest, sizeof(digest),
	    sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	return 0;
}

/* A request without a token, for the 401. */
static int
challenged(struct oauth *o, struct challenge *ret)
{
	static const char *const header[] = {"Content-Type: application/json",
	    "Accept: application/json, text/event-stream"};
	static const char body[] =
	    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"
	    "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},"
	    "\"clientInfo\":{\"name\":\"kennel\",\"version\":\"1\"}}}";
	const struct http_request q = {.method = "POST",
	    .url = o->remote->url,
	    .header = header,
	    .header_n = ARRAY_LEN(header),
	    .body = body,
	    .body_len = sizeof(body) - 1};
	struct oauth_reply a;
	int r = oauth_fetch(o, o->own, &q, &a);

	if (r == 0 && a.head.status != 401)
		r = oauth_fail(o,
		    "%s does not ask for a login: it answered with status %u",
		    o->remote->host, a.head.status);
	*ret = a.head.challenge;
	oauth_reply_end(&a);
	return r;
}

/* ---- the person ---------------------------------------------------------------------- */

static int
put_url(struct login *l)
{
	const struct oauth *o = l->o;
	const char *const pair[][2] = {{"response_type", "code"},
	    {"client_id", o->client}, {"redirect_uri", REDIRECT_URI}, {"state", l->state},
	    {"code_challenge", l->challenge}, {"code_challenge_method", "S256"},
	    {"resource", o->resource}, {"scope", o->scope}};
	struct buf url;
	int r;

	buf_init(&url, OAUTH_BODY_MAX);
	r = buf_puts(&url, o->found.authorize);
	if (r == 0 && strchr(o->found.authorize, '?') == NULL)
		r = buf_putc(&url, '?');
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(pair); i++)
		if (pair[i][1] != NULL)
			r = form_put(&url, pair[i][0], pair[i][1], strlen(pair[i][1]));
	if (r == 0)
		(void)printf(
		    "To log in to %s, open this address in a browser:\n\n%.*s\n\n"
		    "After the login the browser goes to an address that begins "
		    "with\n" REDIRECT_URI " and shows an error, because nothing\n"
		    "listens there. Copy that address from its bar, paste it here, and "
		    "press return:\n",
		    o->remote->host, (int)url.len, (const char *)url.data);
	(void)fflush(stdout);
	buf_free(&url);
	return r < 0 ? oauth_fail(l->o, "out of memory") : 0;
}

/* The issuer of an answer is the one that was asked (RFC 9207, 2.4). */
static int
check_iss(struct oauth *o, const char *query)
{
	char iss[OAUTH_URL_MAX + 1] = "";
	bool given = form_get(query, "iss", iss, sizeof(iss));

	if (given ? strcmp(iss, o->found.issuer) != 0 : o->found.sends_iss)
		return oauth_fail(o,
		    "this address is of another issuer (`iss`), or an issuer answered "
		    "without it: it is not used");
	return 0;
}

static int
read_address(struct login *l)
{
	static char address[ADDRESS_MAX];
	char state[RANDOM_CAP], error[OAUTH_ERROR_MAX + 1];
	const char *query;
	int r;

	if (fgets(address, sizeof(address), stdin) == NULL)
		return oauth_fail(l->o, "no address was pasted: start the login again");
	address[strcspn(address, "\r\n# ")] = '\0';
	query = strchr(address, '?');
	query = query == NULL ? "" : query + 1;
	if (!form_get(query, "state", state, sizeof(state)) ||
	    sodium_memcmp(state, l->state, sizeof(state)) != 0)
		return oauth_fail(l->o, "this address is not the end of this login "
					"(`state`): start it again, "
					"and paste the whole address");
	r = check_iss(l->o, query);
	if (r < 0)
		return r;
	if (form_get(query, "error", error, sizeof(error)))
		return oauth_fail(l->o, "%s did not log you in%s", l->o->issuer,
		    strcmp(error, "access_denied") == 0 ? ": access denied" : "");
	if (!form_get(query, "code", l->code, sizeof(l->code)))
		return oauth_fail(
		    l->o, "this address has no code: start the login again");
	explicit_bzero(address, sizeof(address));
	return 0;
}

/* ---- the token ------------------------------------------------------------------------ */

static int
code_put(const struct login *l, struct buf *form)
{
	const char *const pair[][2] = {{"grant_type", "authorization_code"},
	    {"code", l->code}, {"redirect_uri", REDIRECT_URI},
	    {"code_verifier", l->verifier}};
	int r = buf_reserve(form, OAUTH_BODY_MAX);

	for (size_t i = 0; r == 0 && i < ARRAY_LEN(pair); i++)
		r = form_put(form, pair[i][0], pair[i][1], strlen(pair[i][1]));
	return r;
}

static int
tokens_get(struct login *l)
{
	struct oauth *o = l->o;
	struct buf form;
	int r;

	buf_init(&form, OAUTH_BODY_MAX);
	r = code_put(l, &form) < 0 ? oauth_fail(o, "out of memory")
				   : oauth_token(o, &form);
	buf_free_wiped(&form);
	if (r < 0)
		return -1;
	if (tokens_present(o->tokens, TOKEN_REFRESH) == NULL)
		return oauth_fail(o,
		    "%s gave no refresh token, so every start would need a login: add "
		    "its "
		    "scope for one (often offline_access) to `scope` in the policy",
		    o->issuer);
	if (o->unstored != NULL)
		return oauth_fail(
		    o, "the refresh token is not in the vault: %s", o->unstored);
	return 0;
}

int
login(struct remote *r)
{
	struct login l = {.o = r->oauth};
	struct challenge challenge;
	int status;

	status = oauth_begin(l.o);
	if (status == 0)
		status = challenged(l.o, &challenge);
	if (status == 0)
		status = oauth_discover(l.o, &challenge);
	if (status == 0)
		status = draw(&l);
	if (status == 0)
		status = put_url(&l);
	oauth_end(l.o); /* the person may take long */
	if (status == 0)
		status = read_address(&l);
	if (status == 0)
		status = oauth_begin(l.o);
	if (status == 0)
		status = tokens_get(&l);
	oauth_end(l.o);
	if (status == 0)
		(void)printf("Logged in. The refresh token is in the vault; the next "
			     "start of %s uses it.\n",
		    l.o->server);
	else
		log_error("unable to log in to %s: %s", r->host, l.o->why);
	oauth_free(l.o);
	r->oauth = NULL;
	explicit_bzero(&l, sizeof(l));
	return status == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
