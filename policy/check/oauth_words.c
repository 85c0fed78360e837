/*
 * The arguments of `auth oauth2`: pairs of a keyword and its value, in any order.
 *
 *	auth oauth2 client ID [secret VARIABLE] [grant client-credentials | grant code]
 *	    [scope "..."] [issuer HOST]
 */
#include "policy/check/oauth_words.h"

#include "shim/base/array.h"

#include <string.h>

bool
oauth_is(const struct stmt *auth)
{
	return auth->word_n > 0 && strcmp(auth->word[0].text, "oauth2") == 0;
}

/* What a request can carry without an escape of its own: printable, one line. */
static const char *
wrong_text(const struct word *w)
{
	size_t i;

	for (i = 0; i < w->len; i++)
		if (w->text[i] <= ' ' || w->text[i] >= 0x7f)
			return "invalid client id: expected visible ASCII characters";
	return w->len == 0 || w->len > OAUTH_TEXT_MAX
		   ? "invalid client id: expected 1 to 1024 characters"
		   : NULL;
}

/* RFC 6749, 3.3: tokens of %x21 / %x23-5B / %x5D-7E, one space between two. */
static const char *
wrong_scope(const struct word *w)
{
	static const char why[] = "invalid scope: expected names of printable ASCII "
				  "without `\"` and `\\`, with one space between two";
	size_t i;

	for (i = 0; i < w->len; i++) {
		bool first = i == 0 || w->text[i - 1] == ' ';
		char c = w->text[i];

		if (c < ' ' || c >= 0x7f || c == '"' || c == '\\' || (c == ' ' && first))
			return why;
	}
	if (w->len == 0 || w->len > OAUTH_TEXT_MAX || w->text[w->len - 1] == ' ')
		return why;
	return NULL;
}

static const char *
wrong_grant(const struct word *w)
{
	return strcmp(w->text, "code") == 0 || strcmp(w->text, "client-credentials") == 0
		   ? NULL
		   : "`grant` takes code or client-credentials";
}

static const struct word **
place(struct oauth_words *o, const struct word *key,
    const char *(**ret_wrong)(const struct word *))
{
	const struct {
		const char *name;
		const struct word **at;
		const char *(*wrong)(const struct word *);
	} rows[] = {
	    {"client", &o->client, wrong_text},
	    {"grant", &o->grant, wrong_grant},
	    {"issuer", &o->issuer, NULL},
	    {"scope", &o->scope, wrong_scope},
	    {"secret", &o->secret, NULL},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (!key->quoted && strcmp(rows[i].name, key->text) == 0) {
			*ret_wrong = rows[i].wrong;
			return rows[i].at;
		}
	return NULL;
}

size_t
oauth_words_read(const struct stmt *auth, struct oauth_words *ret, const char **ret_why)
{
	const char *(*wrong)(const struct word *) = NULL;
	struct oauth_words o = {NULL};
	const struct word **at;
	size_t i;

	for (i = 1; i < auth->word_n; i += 2) {
		at = place(&o, &auth->word[i], &wrong);
		if (at == NULL)
			*ret_why = "expected client, secret, grant, scope or issuer";
		else if (*at != NULL)
			*ret_why = "duplicate word in `auth oauth2`";
		else
			*ret_why = i + 1 < auth->word_n
				       ? NULL
				       : "expected a value after this word";
		if (at == NULL || *ret_why != NULL)
			return i + 1;
		*at = &auth->word[i + 1];
		*ret_why = wrong != NULL ? wrong(*at) : NULL;
		if (*ret_why != NULL)
			return i + 2;
	}
	*ret_why = o.client == NULL ? "expected `client ID` after `oauth2`" : NULL;
	if (o.client == NULL)
		return 1;
	*ret = o;
	return 0;
}

bool
oauth_is_code(const struct stmt *auth)
{
	struct oauth_words o;
	const char *why;

	return oauth_is(auth) && oauth_words_read(auth, &o, &why) == 0 &&
	       (o.grant == NULL || strcmp(o.grant->text, "code") == 0);
}
