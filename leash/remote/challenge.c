/*
 * The value of a WWW-Authenticate header.
 *
 *	Bearer realm="x", error="invalid_token", resource_metadata="https://...", Basic
 *
 * A list of schemes and of parameters, both divided by commas.  A name without a `=`
 * after it is a scheme.  The bytes are hostile.
 */
#include "leash/remote/response_head.h"

#include "shim/base/array.h"

#include <string.h>
#include <strings.h>

struct reader {
	const char *p, *end;
};

static bool
is_token(char c)
{
	return c > ' ' && c < 0x7f && strchr("\"(),/:;<=>?@[\\]{}", c) == NULL;
}

static void
skip(struct reader *r, const char *set)
{
	while (r->p < r->end && *r->p != '\0' && strchr(set, *r->p) != NULL)
		r->p++;
}

/* A token; its length, 0: it is absent. */
static size_t
token(struct reader *r, const char **ret)
{
	*ret = r->p;
	while (r->p < r->end && is_token(*r->p))
		r->p++;
	return (size_t)(r->p - *ret);
}

/* A token or a quoted string, without its quotes and escapes, to out; false: too long, or
 * it is absent.  The reader is after it in either case. */
static bool
value(struct reader *r, char *out, size_t cap)
{
	bool quoted = r->p < r->end && *r->p == '"', good = true;
	size_t n = 0;

	if (quoted)
		r->p++;
	while (r->p < r->end && (quoted ? *r->p != '"' : is_token(*r->p))) {
		if (quoted && *r->p == '\\' && r->p + 1 < r->end)
			r->p++;
		if (n + 1 < cap)
			out[n++] = *r->p;
		else
			good = false;
		r->p++;
	}
	if (quoted && r->p == r->end)
		return false; /* the quote is open */
	r->p += quoted;
	out[n] = '\0';
	return good && n > 0 && memchr(out, '\0', n) == NULL;
}

/* ---- parameters ------------------------------------------------------------------ */

static bool
url_good(const char *s)
{
	for (; *s != '\0'; s++)
		if (*s <= ' ' || *s >= 0x7f || strchr("\"<>\\^`{|}", *s) != NULL)
			return false;
	return true;
}

static bool
scope_good(const char *s)
{
	for (; *s != '\0'; s++)
		if (*s < ' ' || *s >= 0x7f || *s == '"' || *s == '\\')
			return false;
	return true;
}

static bool
error_good(const char *s)
{
	return strspn(s, "abcdefghijklmnopqrstuvwxyz_") == strlen(s);
}

static void
param(struct challenge *c, const char *name, size_t len, const char *text)
{
	const struct {
		const char *name;
		char *at;
		size_t cap;
		bool (*good)(const char *);
	} rows[] = {
	    {"error", c->error, sizeof(c->error), error_good},
	    {"resource_metadata", c->metadata, sizeof(c->metadata), url_good},
	    {"scope", c->scope, sizeof(c->scope), scope_good},
	};
	size_t n = strlen(text);

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (strlen(rows[i].name) == len &&
		    strncasecmp(rows[i].name, name, len) == 0 && n < rows[i].cap &&
		    rows[i].at[0] == '\0' && rows[i].good(text))
			memcpy(rows[i].at, text, n + 1);
}

void
challenge_read(const char *text, size_t len, struct challenge *ret)
{
	struct reader r = {text, text + len};
	struct challenge c = {.bearer = false};
	char it[CHALLENGE_URL_MAX + 1];
	bool bearer = false;
	const char *name;
	size_t n;

	for (skip(&r, " \t,"); r.p < r.end; skip(&r, " \t,")) {
		n = token(&r, &name);
		if (n == 0) {
			r.p++; /* of a token68, or of no challenge at all */
			continue;
		}
		skip(&r, " \t");
		if (r.p == r.end || *r.p != '=') {
			if (c.bearer)
				break; /* the first one counts */
			bearer = n == 6 && strncasecmp(name, "Bearer", n) == 0;
			c.bearer = bearer;
			continue;
		}
		r.p++;
		skip(&r, " \t");
		if (value(&r, it, sizeof(it)) && bearer)
			param(&c, name, n, it);
	}
	*ret = c;
}
