/*
 * Conditions on JSON values: compared in place, in three-valued logic.
 */
#include <string.h>

#include "policy/sealed/json_reader.h"
#include "policy/sealed/policy.h"
#include "policy/sealed/values/number.h"
#include "policy/sealed/values/uri.h"

#define PATH_LEN_MAX 4096

/* ---- comparisons ------------------------------------------------------------------ */

/* The JSON type of a value with this first byte. */
static enum sealed_value_type
type_of(uint8_t c)
{
	static const char first[] = "\"tfn{[";
	static const enum sealed_value_type type[] = {
	    VALUE_STRING, VALUE_TRUE, VALUE_FALSE, VALUE_NULL};
	const char *at = strchr(first, c);

	if (at == NULL)
		return VALUE_NUMBER;
	return at < first + 4 ? type[at - first] : (enum sealed_value_type)0;
}

/* One value of the message and one of the policy. */
struct pair {
	const struct policy *p;
	struct value_reader *r;
	struct value_found found;
	const struct sealed_value *value;
};

static enum policy_truth
yes(bool is)
{
	return is ? TRUTH_YES : TRUTH_NO;
}

/*
 * If the policy's value is null, the answer is yes or no.  Otherwise a value of
 * another type is unknown, because the server may convert it.
 */
static enum policy_truth
is_equal(const struct pair *c)
{
	enum sealed_value_type type = type_of(c->r->s[c->found.from]);
	uint32_t want = c->value->type;
	const char *text = policy_str(c->p, c->value->text);
	int order;

	if (want == VALUE_NULL)
		return yes(type == VALUE_NULL);
	if ((type == VALUE_TRUE || type == VALUE_FALSE) &&
	    (want == VALUE_TRUE || want == VALUE_FALSE))
		return yes(type == want);
	if (type != want)
		return TRUTH_UNKNOWN;
	if (type == VALUE_STRING)
		return yes(value_is(c->r, c->found.from, text, c->value->text.len));
	if (value_number_order((const char *)c->r->s + c->found.from,
		c->found.to - c->found.from, text, c->value->text.len, &order) < 0)
		return TRUTH_UNKNOWN;
	return yes(order == 0);
}

/* Like policy_glob, by characters: decodes the string while reading it. */
static enum policy_truth
matches(const struct pair *c)
{
	struct value_reader t = {.s = c->r->s, .len = c->r->len, .at = c->found.from + 1};
	struct value_reader p = {.s = (const uint8_t *)policy_str(c->p, c->value->text),
	    .len = c->value->text.len};
	struct value_reader star = p, from = t, next;
	bool starred = false;
	uint32_t x, y;

	if (type_of(c->r->s[c->found.from]) != VALUE_STRING)
		return TRUTH_UNKNOWN;
	for (next = t; value_char(&next, &x); next = t) {
		if (value_peek(&p) == '*') {
			p.at++;
			star = p;
			from = t;
			starred = true;
			continue;
		}
		if (value_text_char(&p, &y) && x == y) {
			t = next;
			continue;
		}
		if (!starred)
			return TRUTH_NO;
		(void)value_char(&from, &x); /* there is one: moves t past it */
		t = from;
		p = star;
	}
	while (value_peek(&p) == '*')
		p.at++;
	return yes(p.at == p.len);
}

/* Writes c as UTF-8; returns how many bytes. */
static size_t
put_utf8(uint32_t c, char *out)
{
	static const uint8_t lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
	size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4, i;

	for (i = n; i-- > 1; c >>= 6)
		out[i] = (char)(0x80 | (c & 0x3f));
	out[0] = (char)(n == 1 ? c : lead[n] | c);
	return n;
}

#define DECODES_MAX 8 /* a path with more layers of encoding has no answer */

/*
 * A path that is relative or not in normal form may lead anywhere.  So may one
 * that differs after a server decodes it.
 */
static enum policy_truth
path_under(char *path, size_t n, const char *folder, size_t len)
{
	char below[PATH_LEN_MAX + 4];
	bool is = policy_under(path, n, folder, len);
	size_t before, i;

	memcpy(below, folder, len);
	for (i = 0; i < DECODES_MAX; i++) {
		if (!policy_is_path(path, n) || memchr(path, '\\', n) != NULL ||
		    memchr(path, 0, n) != NULL || policy_under(path, n, below, len) != is)
			return TRUTH_UNKNOWN;
		before = n;
		n = uri_decode(path, n, path);
		len = uri_decode(below, len, below);
		if (n == before)
			return yes(is);
	}
	return TRUTH_UNKNOWN;
}

/*
 * A relative path that every program looks up below its working directory.  Not: a home
 * directory (~), a URL or a name with a prefix (file:x), also where the text is decoded.
 */
static bool
plainly_relative(const char *text, size_t n)
{
	char copy[PATH_LEN_MAX + 4];
	const char *slash;
	size_t before, i;

	memcpy(copy, text, n);
	for (i = 0; i < DECODES_MAX; i++) {
		slash = memchr(copy, '/', n);
		if (n == 0 || copy[0] == '/' || copy[0] == '~' ||
		    memchr(copy, ':', slash == NULL ? n : (size_t)(slash - copy)) != NULL)
			return false;
		before = n;
		n = uri_decode(copy, n, copy);
		if (n == before)
			return true;
	}
	return false;
}

/* Puts the working directory before the text; 0: the path is too long, or leads nowhere
 * that is known. */
static size_t
put_cwd(const struct pair *c, const char *text, size_t n, char out[PATH_LEN_MAX + 4])
{
	struct sealed_ref cwd = c->value[1].text;
	bool root = cwd.len == 1;

	if (!plainly_relative(text, n) || cwd.len + 1 + n > PATH_LEN_MAX)
		return 0;
	memcpy(out, policy_str(c->p, cwd), cwd.len);
	if (!root)
		out[cwd.len] = '/';
	memcpy(out + cwd.len + !root, text, n);
	return cwd.len + !root + n;
}

static enum policy_truth
under(const struct pair *c, bool relative)
{
	struct value_reader t = {.s = c->r->s, .len = c->r->len, .at = c->found.from + 1};
	const char *folder = policy_str(c->p, c->value->text);
	char text[PATH_LEN_MAX + 4], path[PATH_LEN_MAX + 4];
	size_t n = 0;
	uint32_t x;

	if (type_of(c->r->s[c->found.from]) != VALUE_STRING)
		return TRUTH_UNKNOWN;
	while (value_char(&t, &x)) {
		if (x == 0 || n >= PATH_LEN_MAX)
			return TRUTH_UNKNOWN;
		n += put_utf8(x, text + n);
	}
	if (!relative || n == 0 || text[0] == '/')
		return path_under(text, n, folder, c->value->text.len);
	n = put_cwd(c, text, n, path);
	return n == 0 ? TRUTH_UNKNOWN : path_under(path, n, folder, c->value->text.len);
}

static enum policy_truth
ordered(const struct pair *c, uint32_t op)
{
	int order;

	if (type_of(c->r->s[c->found.from]) != VALUE_NUMBER ||
	    value_number_order((const char *)c->r->s + c->found.from,
		c->found.to - c->found.from, policy_str(c->p, c->value->text),
		c->value->text.len, &order) < 0)
		return TRUTH_UNKNOWN;
	return yes(op == COND_LT   ? order < 0
		   : op == COND_LE ? order <= 0
		   : op == COND_GT ? order > 0
				   : order >= 0);
}

/* ---- conditions ---------------------------------------------------------- */

static enum policy_truth
not_truth(enum policy_truth t)
{
	return t == TRUTH_UNKNOWN ? t : yes(t == TRUTH_NO);
}

/* Kleene's three-valued logic: a deciding value wins, then unknown. */
static enum policy_truth
both(enum policy_truth a, enum policy_truth b, enum policy_truth decides)
{
	if (a == decides || b == decides)
		return decides;
	return a == TRUTH_UNKNOWN ? a : b;
}

static enum policy_truth
compare(const struct policy *p, const struct sealed_cond *c, struct value_reader *r)
{
	struct pair pair = {.p = p, .r = r, .value = &p->value[c->values.first]};
	enum policy_truth there = value_place(p, c->steps, r, &pair.found), t = TRUTH_NO;
	uint32_t i;

	if (c->op == COND_EXISTS)
		return there;
	if (there != TRUTH_YES)
		return TRUTH_UNKNOWN;
	if (c->op == COND_IN) {
		for (i = 0; i < c->values.n && t != TRUTH_YES; i++, pair.value++)
			t = both(t, is_equal(&pair), TRUTH_YES);
		return t;
	}
	if (c->op == COND_EQ)
		return is_equal(&pair);
	if (c->op == COND_NE)
		return not_truth(is_equal(&pair));
	if (c->op == COND_MATCHES)
		return matches(&pair);
	return c->op == COND_UNDER ? under(&pair, c->values.n > 1)
				   : ordered(&pair, c->op);
}

enum policy_truth
policy_conds(
    const struct policy *p, struct sealed_range range, const char *json, size_t len)
{
	enum policy_truth stack[SEALED_COND_DEPTH_MAX + 1] = {0};
	struct value_reader r = {.s = (const uint8_t *)json, .len = len};
	const struct sealed_cond *c;
	uint32_t i, takes, n = 0;

	if (range.n == 0)
		return TRUTH_YES;
	if (!policy_is_json(json, len))
		return TRUTH_UNKNOWN;
	for (i = 0; i < range.n; i++) {
		c = &p->cond[range.first + i];
		takes = c->op == COND_NOT ? 1 : 0;
		takes = c->op == COND_AND || c->op == COND_OR ? 2 : takes;
		/*
		 * The loader checked the stack depth; rows from elsewhere must
		 * not overrun it.
		 */
		if (n < takes || n == SEALED_COND_DEPTH_MAX + 1)
			return TRUTH_UNKNOWN;
		if (c->op == COND_NOT)
			stack[n - 1] = not_truth(stack[n - 1]);
		else if (c->op == COND_AND || c->op == COND_OR) {
			n--;
			stack[n - 1] = both(stack[n - 1], stack[n],
			    c->op == COND_AND ? TRUTH_NO : TRUTH_YES);
		} else {
			r.bad = false;
			stack[n++] = compare(p, c, &r);
		}
	}
	return n == 1 ? stack[0] : TRUTH_UNKNOWN;
}
