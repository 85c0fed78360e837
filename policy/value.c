/*
 * JSON values as they stand in a message: read in place, compared as written.
 *
 * No tree and no memory: a reader walks the bytes, finds the value that a
 * condition names, and compares it there.  Numbers are decimals of any length
 * and never become floats.  Two readers that disagree about one message are how
 * gates are passed, so everything odd (a name twice, a lone surrogate, a byte
 * that is no UTF-8) is no answer at all, which holds for a denial and does not
 * for an allowance.  RFC 8259.
 */
#include <errno.h>
#include <string.h>

#include "policy/policy.h"

#define DEPTH_MAX    128  /* arrays and objects in each other */
#define MEMBERS_MAX  1024 /* of an object that a condition looks into */
#define PATH_LEN_MAX 4096
#define EXPONENT_MAX 17 /* digits: sums of these stay far below 2^63 */

/* Where a reader is.  bad: nothing after this counts. */
struct reader {
	const uint8_t *s;
	size_t len, at;
	bool bad;
};

/* A value found: bytes from to to, one whole JSON value. */
struct found {
	size_t from, to;
};

static bool skip_value(struct reader *);

/* ---- bytes --------------------------------------------------------------------- */

/* The byte here, 0 at the end (a NUL is no JSON outside strings, nor in them). */
static uint8_t
peek(const struct reader *r)
{
	return r->at < r->len ? r->s[r->at] : 0;
}

static void
space(struct reader *r)
{
	while (r->at < r->len && (r->s[r->at] == ' ' || r->s[r->at] == '\t' ||
				     r->s[r->at] == '\n' || r->s[r->at] == '\r'))
		r->at++;
}

static bool
fail(struct reader *r)
{
	r->bad = true;
	return false;
}

/* ---- strings --------------------------------------------------------------------- */

/* Four hex digits at r->at. */
static bool
hex4(struct reader *r, uint32_t *ret)
{
	uint32_t v = 0, i;
	uint8_t c;

	for (i = 0; i < 4; i++) {
		c = peek(r);
		if (c >= '0' && c <= '9')
			v = v << 4 | (uint32_t)(c - '0');
		else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
			v = v << 4 | (uint32_t)((c | 0x20) - 'a' + 10);
		else
			return fail(r);
		r->at++;
	}
	*ret = v;
	return true;
}

/* What stands behind a backslash. */
static bool
escape(struct reader *r, uint32_t *ret)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *found;
	uint32_t low;
	uint8_t c = peek(r);

	r->at++;
	if (c != 'u') {
		found = c == 0 ? NULL : strchr(from, c);
		if (found == NULL)
			return fail(r);
		*ret = (uint8_t)to[found - from];
		return true;
	}
	if (!hex4(r, ret))
		return false;
	if (*ret < 0xd800 || *ret > 0xdfff)
		return true;
	/* a high surrogate and a low one, or nothing */
	if (*ret > 0xdbff || peek(r) != '\\')
		return fail(r);
	r->at++;
	if (peek(r) != 'u')
		return fail(r);
	r->at++;
	if (!hex4(r, &low) || low < 0xdc00 || low > 0xdfff)
		return fail(r);
	*ret = 0x10000 + ((*ret - 0xd800) << 10) + (low - 0xdc00);
	return true;
}

/* A character of two to four bytes: shortest form, no surrogates, to U+10FFFF. */
static bool
utf8(struct reader *r, uint32_t *ret)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	uint8_t lead = r->s[r->at];
	uint32_t n = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2, i, v;

	if (lead < 0xc2 || lead > 0xf4 || n > r->len - r->at)
		return fail(r);
	v = lead & (0xffu >> (n + 1));
	for (i = 1; i < n; i++) {
		if ((r->s[r->at + i] & 0xc0) != 0x80)
			return fail(r);
		v = v << 6 | (r->s[r->at + i] & 0x3f);
	}
	if (v < least[n] || v > 0x10ffff || (v >= 0xd800 && v <= 0xdfff))
		return fail(r);
	r->at += n;
	*ret = v;
	return true;
}

/* The next character of a string whose opening quote is behind; false at its
 * end (the closing quote is then behind too) and where it is bad. */
static bool
string_next(struct reader *r, uint32_t *ret)
{
	uint8_t c = peek(r);

	if (c == '"') {
		r->at++;
		return false;
	}
	if (c < 0x20)
		return fail(r);
	if (c >= 0x80)
		return utf8(r, ret);
	r->at++;
	if (c == '\\')
		return escape(r, ret);
	*ret = c;
	return true;
}

static bool
skip_string(struct reader *r)
{
	uint32_t c;

	if (peek(r) != '"')
		return fail(r);
	r->at++;
	for (;;) {
		/* most of any string */
		while (r->at < r->len && r->s[r->at] >= 0x20 && r->s[r->at] < 0x80 &&
		       r->s[r->at] != '"' && r->s[r->at] != '\\')
			r->at++;
		if (!string_next(r, &c))
			return !r->bad;
	}
}

/* The next character of good UTF-8 without escapes; false at its end. */
static bool
text_next(struct reader *r, uint32_t *ret)
{
	if (r->at >= r->len)
		return false;
	if (r->s[r->at] >= 0x80)
		return utf8(r, ret);
	*ret = r->s[r->at++];
	return true;
}

/* A number for the name at r (FNV-1a over its characters), which is skipped. */
static uint64_t
name_hash(struct reader *r)
{
	uint64_t h = 0xcbf29ce484222325;
	uint32_t c;

	if (peek(r) != '"')
		return fail(r);
	r->at++;
	while (string_next(r, &c))
		h = (h ^ c) * 0x100000001b3;
	return h;
}

/* Is the string at `from` this text? */
static bool
string_is(const struct reader *r, size_t from, const char *text, size_t len)
{
	struct reader a = {.s = r->s, .len = r->len, .at = from + 1};
	struct reader b = {.s = (const uint8_t *)text, .len = len};
	uint32_t x, y;
	bool more;

	do {
		more = string_next(&a, &x);
		if (more != text_next(&b, &y))
			return false;
	} while (more && x == y);
	return !more;
}

/* ---- numbers ------------------------------------------------------------------- */

static bool
skip_digits(struct reader *r)
{
	size_t from = r->at;

	while (peek(r) >= '0' && peek(r) <= '9')
		r->at++;
	return r->at > from || fail(r);
}

static bool
skip_number(struct reader *r)
{
	if (peek(r) == '-')
		r->at++;
	if (peek(r) == '0')
		r->at++;
	else if (!skip_digits(r))
		return false;
	if (peek(r) == '.') {
		r->at++;
		if (!skip_digits(r))
			return false;
	}
	if (peek(r) == 'e' || peek(r) == 'E') {
		r->at++;
		if (peek(r) == '+' || peek(r) == '-')
			r->at++;
		return skip_digits(r);
	}
	return true;
}

bool
policy_is_number(const char *s, size_t len)
{
	struct reader r = {.s = (const uint8_t *)s, .len = len};

	return skip_number(&r) && r.at == len;
}

/* A number as sign, digits from the first that is not 0, and the power of ten of
 * that one. */
struct decimal {
	const char *s;
	size_t at, end; /* digits and at most one dot */
	int64_t power;
	int sign; /* 0: zero */
};

static int
decimal_of(const char *s, size_t len, struct decimal *ret)
{
	struct decimal d = {.s = s, .sign = 1};
	size_t i = 0, dot, digits = 0;
	bool minus = false;
	int64_t e = 0;

	if (len > 0 && s[0] == '-') {
		d.sign = -1;
		i = 1;
	}
	for (d.end = i; d.end < len && (s[d.end] | 0x20) != 'e'; d.end++)
		;
	for (dot = i; dot < d.end && s[dot] != '.'; dot++)
		;
	for (d.at = i; d.at < d.end && (s[d.at] == '0' || s[d.at] == '.'); d.at++)
		;
	if (d.at == d.end) {
		*ret = (struct decimal){.s = s};
		return 0; /* whatever the exponent */
	}
	i = d.end + (d.end < len);
	if (i < len && (s[i] == '-' || s[i] == '+'))
		minus = s[i++] == '-';
	for (; i < len; i++) {
		digits += digits > 0 || s[i] != '0';
		if (digits > EXPONENT_MAX)
			return -ERANGE;
		e = e * 10 + (s[i] - '0');
	}
	d.power = d.at < dot ? (int64_t)(dot - d.at) - 1 : -(int64_t)(d.at - dot);
	d.power += minus ? -e : e;
	*ret = d;
	return 0;
}

/* The next digit; 0 for ever behind the last. */
static char
digit_next(struct decimal *d, bool *more)
{
	if (d->at < d->end && d->s[d->at] == '.')
		d->at++;
	*more = *more || d->at < d->end;
	return d->at < d->end ? d->s[d->at++] : '0';
}

int
policy_number_compare(const char *a, size_t a_len, const char *b, size_t b_len, int *ret)
{
	struct decimal x, y;
	char v, w;
	bool more = true;
	int r;

	if ((r = decimal_of(a, a_len, &x)) < 0 || (r = decimal_of(b, b_len, &y)) < 0)
		return r;
	if (x.sign != y.sign || x.sign == 0) {
		*ret = (x.sign > y.sign) - (x.sign < y.sign);
		return 0;
	}
	if (x.power != y.power) {
		*ret = (x.power > y.power) == (x.sign > 0) ? 1 : -1;
		return 0;
	}
	while (more) {
		more = false;
		v = digit_next(&x, &more);
		w = digit_next(&y, &more);
		if (v != w) {
			*ret = (v > w) == (x.sign > 0) ? 1 : -1;
			return 0;
		}
	}
	*ret = 0;
	return 0;
}

/* ---- any value ------------------------------------------------------------------ */

static bool
skip_word(struct reader *r, const char *word)
{
	size_t n = strlen(word);

	if (n > r->len - r->at || memcmp(r->s + r->at, word, n) != 0)
		return fail(r);
	r->at += n;
	return true;
}

/* A value that holds no other. */
static bool
skip_plain(struct reader *r)
{
	uint8_t c = peek(r);

	if (c == '"')
		return skip_string(r);
	if (c == 't')
		return skip_word(r, "true");
	if (c == 'f')
		return skip_word(r, "false");
	if (c == 'n')
		return skip_word(r, "null");
	return skip_number(r);
}

/* A name and its colon. */
static bool
skip_name(struct reader *r)
{
	space(r);
	if (!skip_string(r))
		return false;
	space(r);
	return skip_word(r, ":");
}

/* One value with everything in it; a bit says of each open one what it is. */
static bool
skip_value(struct reader *r)
{
	uint8_t object[DEPTH_MAX / 8] = {0}, c;
	uint32_t depth = 0;
	bool open =
	    false; /* the value just begun can hold others, and none is there yet */

	for (;;) {
		space(r);
		c = peek(r);
		if (open && c == (object[depth / 8] >> depth % 8 & 1 ? '}' : ']')) {
			r->at++;
			depth--;
			open = false;
		} else {
			if (depth > 0 && (object[depth / 8] >> depth % 8 & 1) != 0 &&
			    !skip_name(r))
				return false;
			space(r);
			c = peek(r);
			open = c == '{' || c == '[';
			if (!open && !skip_plain(r))
				return false;
			if (open) {
				r->at++;
				if (++depth == DEPTH_MAX)
					return fail(r);
				object[depth / 8] &= (uint8_t) ~(1u << depth % 8);
				object[depth / 8] |= (uint8_t)((c == '{') << depth % 8);
				continue;
			}
		}
		/* behind a value: what ends, and what goes on */
		for (;;) {
			if (depth == 0)
				return true;
			space(r);
			c = peek(r);
			r->at++;
			if (c == ',')
				break;
			if (c != (object[depth / 8] >> depth % 8 & 1 ? '}' : ']'))
				return fail(r);
			depth--;
		}
	}
}

bool
policy_is_json(const char *s, size_t len)
{
	struct reader r = {.s = (const uint8_t *)s, .len = len};

	if (!skip_value(&r))
		return false;
	space(&r);
	return r.at == len;
}

/* ---- places --------------------------------------------------------------------- */

/* The member of the object at r->at; every name in it is looked at.  false: it
 * is not there, or (bad) some name is there twice. */
static bool
member(struct reader *r, const char *key, size_t len, struct found *ret)
{
	uint64_t seen[MEMBERS_MAX], h;
	struct found found = {0, 0};
	size_t n = 0, i, from;
	bool mine, is = false;

	r->at++;
	space(r);
	if (peek(r) == '}')
		return false;
	for (;;) {
		space(r);
		from = r->at;
		h = name_hash(r);
		/* two names of one number are taken for one name */
		for (i = 0; i < n && seen[i] != h; i++)
			;
		if (r->bad || i < n || n == MEMBERS_MAX)
			return fail(r);
		seen[n++] = h;
		mine = string_is(r, from, key, len);
		space(r);
		if (!skip_word(r, ":"))
			return false;
		space(r);
		from = r->at;
		if (!skip_value(r))
			return false;
		if (mine)
			found = (struct found){from, r->at};
		is = is || mine;
		space(r);
		if (peek(r) == '}')
			break;
		if (!skip_word(r, ","))
			return false;
	}
	*ret = found;
	return is;
}

static bool
element(struct reader *r, uint32_t index, struct found *ret)
{
	size_t from;

	r->at++;
	space(r);
	if (peek(r) == ']')
		return false;
	for (;;) {
		space(r);
		from = r->at;
		if (!skip_value(r))
			return false;
		if (index-- == 0) {
			*ret = (struct found){from, r->at};
			return true;
		}
		space(r);
		if (peek(r) == ']')
			return false;
		if (!skip_word(r, ","))
			return false;
	}
}

/* Where the steps lead from the whole value.  YES, NO: nowhere; UNKNOWN: the
 * way is not to be trusted. */
static enum policy_truth
place(const struct policy *p, struct sealed_range steps, struct reader *r,
    struct found *ret)
{
	struct found at;
	const struct sealed_step *step;
	uint32_t i;
	bool there;

	r->at = 0;
	space(r);
	at = (struct found){r->at, r->len};
	while (at.to > at.from && strchr(" \t\r\n", r->s[at.to - 1]) != NULL)
		at.to--;
	for (i = 0; i < steps.n; i++) {
		step = &p->step[steps.first + i];
		r->at = at.from;
		if (peek(r) != (step->is_index ? '[' : '{'))
			return TRUTH_NO;
		there = step->is_index
			    ? element(r, step->index, &at)
			    : member(r, policy_str(p, step->key), step->key.len, &at);
		if (!there)
			return r->bad ? TRUTH_UNKNOWN : TRUTH_NO;
	}
	*ret = at;
	return TRUTH_YES;
}

/* ---- comparisons ------------------------------------------------------------------ */

/* The JSON type of a value that begins like this. */
static enum sealed_value_type
type_of(uint8_t c)
{
	return c == '"'               ? VALUE_STRING
	       : c == 't'             ? VALUE_TRUE
	       : c == 'f'             ? VALUE_FALSE
	       : c == 'n'             ? VALUE_NULL
	       : c == '{' || c == '[' ? (enum sealed_value_type)0
				      : VALUE_NUMBER;
}

/* One value of the message against one of the policy. */
struct pair {
	const struct policy *p;
	struct reader *r;
	struct found found;
	const struct sealed_value *value;
};

static enum policy_truth
yes(bool is)
{
	return is ? TRUTH_YES : TRUTH_NO;
}

/* Of another type: who compares with null knows that it is none; else the one
 * who reads the message may make of it what he likes. */
static enum policy_truth
is_equal(const struct pair *c)
{
	enum sealed_value_type type = type_of(c->r->s[c->found.from]);
	uint32_t want = c->value->type;
	const char *text = policy_str(c->p, c->value->text);
	int order;

	if (want == VALUE_NULL)
		return yes(type == VALUE_NULL);
	if (want == VALUE_TRUE || want == VALUE_FALSE)
		return type == VALUE_TRUE || type == VALUE_FALSE ? yes(type == want)
								 : TRUTH_UNKNOWN;
	if (type != want)
		return TRUTH_UNKNOWN;
	if (type == VALUE_STRING)
		return yes(string_is(c->r, c->found.from, text, c->value->text.len));
	if (policy_number_compare((const char *)c->r->s + c->found.from,
		c->found.to - c->found.from, text, c->value->text.len, &order) < 0)
		return TRUTH_UNKNOWN;
	return yes(order == 0);
}

/* As policy_glob, by characters: the string is decoded as it is read. */
static enum policy_truth
matches(const struct pair *c)
{
	struct reader t = {.s = c->r->s, .len = c->r->len, .at = c->found.from + 1};
	struct reader p = {.s = (const uint8_t *)policy_str(c->p, c->value->text),
	    .len = c->value->text.len};
	struct reader star = p, from = t, next;
	bool starred = false;
	uint32_t x, y;

	if (type_of(c->r->s[c->found.from]) != VALUE_STRING)
		return TRUTH_UNKNOWN;
	for (next = t; string_next(&next, &x); next = t) {
		if (peek(&p) == '*') {
			p.at++;
			star = p;
			from = t;
			starred = true;
			continue;
		}
		if (text_next(&p, &y) && x == y) {
			t = next;
			continue;
		}
		if (!starred)
			return TRUTH_NO;
		(void)string_next(&from, &x); /* there is one: t is behind it */
		t = from;
		p = star;
	}
	while (peek(&p) == '*')
		p.at++;
	return yes(p.at == p.len);
}

/* c as UTF-8; how many bytes. */
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

/* A path that is relative or not in normal form may lead anywhere. */
static enum policy_truth
under(const struct pair *c)
{
	struct reader t = {.s = c->r->s, .len = c->r->len, .at = c->found.from + 1};
	const char *folder = policy_str(c->p, c->value->text);
	char path[PATH_LEN_MAX + 4];
	size_t n = 0;
	uint32_t x;

	if (type_of(c->r->s[c->found.from]) != VALUE_STRING)
		return TRUTH_UNKNOWN;
	while (string_next(&t, &x)) {
		if (x == 0 || n >= PATH_LEN_MAX)
			return TRUTH_UNKNOWN;
		n += put_utf8(x, path + n);
	}
	if (!policy_is_path(path, n))
		return TRUTH_UNKNOWN;
	return yes(policy_under(path, n, folder, c->value->text.len));
}

static enum policy_truth
ordered(const struct pair *c, uint32_t op)
{
	int order;

	if (type_of(c->r->s[c->found.from]) != VALUE_NUMBER ||
	    policy_number_compare((const char *)c->r->s + c->found.from,
		c->found.to - c->found.from, policy_str(c->p, c->value->text),
		c->value->text.len, &order) < 0)
		return TRUTH_UNKNOWN;
	return yes(op == COND_LT   ? order < 0
		   : op == COND_LE ? order <= 0
		   : op == COND_GT ? order > 0
				   : order >= 0);
}

/* ---- conditions --------------------------------------------------------------------- */

static enum policy_truth
not_truth(enum policy_truth t)
{
	return t == TRUTH_UNKNOWN ? t : yes(t == TRUTH_NO);
}

/* Kleene's three values: what decides wins, then what is not known. */
static enum policy_truth
both(enum policy_truth a, enum policy_truth b, enum policy_truth decides)
{
	if (a == decides || b == decides)
		return decides;
	return a == TRUTH_UNKNOWN ? a : b;
}

static enum policy_truth
compare(const struct policy *p, const struct sealed_cond *c, struct reader *r)
{
	struct pair pair = {.p = p, .r = r, .value = &p->value[c->values.first]};
	enum policy_truth there = place(p, c->steps, r, &pair.found), t = TRUTH_NO;
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
	return c->op == COND_UNDER ? under(&pair) : ordered(&pair, c->op);
}

enum policy_truth
policy_conds(
    const struct policy *p, struct sealed_range range, const char *json, size_t len)
{
	enum policy_truth stack[SEALED_COND_DEPTH_MAX + 1];
	struct reader r = {.s = (const uint8_t *)json, .len = len};
	const struct sealed_cond *c;
	uint32_t i, n = 0;

	if (range.n == 0)
		return TRUTH_YES;
	if (!policy_is_json(json, len))
		return TRUTH_UNKNOWN;
	for (i = 0; i < range.n; i++) {
		c = &p->cond[range.first + i];
		/* The loader has counted; rows from elsewhere must not reach past. */
		if (n < (c->op == COND_NOT                          ? 1u
			    : c->op == COND_AND || c->op == COND_OR ? 2u
								    : 0u) ||
		    n == SEALED_COND_DEPTH_MAX + 1)
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
