/*
 * JSON values as they stand in a message: read in place, compared as written.
 *
 * No tree and no memory: a reader walks the bytes, finds the value that a
 * condition names, and compares it there.  Numbers are decimals of any length
 * and never become floats.  Two readers that disagree about one message are how
 * gates are passed, so everything odd (a name twice or a second time in other
 * case, a lone surrogate, a byte that is no UTF-8) is no answer at all, which
 * holds for a denial and does not for an allowance.  RFC 8259.
 */
#include <errno.h>
#include <string.h>

#include "policy/sealed/json_reader.h"

#define DEPTH_MAX    128  /* arrays and objects in each other */
#define MEMBERS_MAX  1024 /* of an object that a condition looks into */
#define EXPONENT_MAX 17   /* digits: sums of these stay far below 2^63 */

static bool skip_value(struct value_reader *);

/* ---- bytes --------------------------------------------------------------------- */

/* The byte here, 0 at the end (a NUL is no JSON outside strings, nor in them). */
uint8_t
value_peek(const struct value_reader *r)
{
	return r->at < r->len ? r->s[r->at] : 0;
}

static void
space(struct value_reader *r)
{
	while (r->at < r->len && (r->s[r->at] == ' ' || r->s[r->at] == '\t' ||
				     r->s[r->at] == '\n' || r->s[r->at] == '\r'))
		r->at++;
}

static bool
fail(struct value_reader *r)
{
	r->bad = true;
	return false;
}

/* ---- strings --------------------------------------------------------------------- */

/* Four hex digits at r->at. */
static bool
hex4(struct value_reader *r, uint32_t *ret)
{
	uint32_t v = 0, i;
	uint8_t c;

	for (i = 0; i < 4; i++) {
		c = value_peek(r);
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
escape(struct value_reader *r, uint32_t *ret)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *found;
	uint32_t low;
	uint8_t c = value_peek(r);

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
	if (*ret > 0xdbff || value_peek(r) != '\\')
		return fail(r);
	r->at++;
	if (value_peek(r) != 'u')
		return fail(r);
	r->at++;
	if (!hex4(r, &low) || low < 0xdc00 || low > 0xdfff)
		return fail(r);
	*ret = 0x10000 + ((*ret - 0xd800) << 10) + (low - 0xdc00);
	return true;
}

/* A character of two to four bytes: shortest form, no surrogates, to U+10FFFF. */
static bool
utf8(struct value_reader *r, uint32_t *ret)
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
bool
value_char(struct value_reader *r, uint32_t *ret)
{
	uint8_t c = value_peek(r);

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
skip_string(struct value_reader *r)
{
	uint32_t c;

	if (value_peek(r) != '"')
		return fail(r);
	r->at++;
	for (;;) {
		/* most of any string */
		while (r->at < r->len && r->s[r->at] >= 0x20 && r->s[r->at] < 0x80 &&
		       r->s[r->at] != '"' && r->s[r->at] != '\\')
			r->at++;
		if (!value_char(r, &c))
			return !r->bad;
	}
}

/* The next character of good UTF-8 without escapes; false at its end. */
bool
value_text_char(struct value_reader *r, uint32_t *ret)
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
name_hash(struct value_reader *r)
{
	uint64_t h = 0xcbf29ce484222325;
	uint32_t c;

	if (value_peek(r) != '"')
		return fail(r);
	r->at++;
	while (value_char(r, &c))
		h = (h ^ c) * 0x100000001b3;
	return h;
}

/* Letters to lower case, with the two outside ASCII that become one. */
static uint32_t
folded(uint32_t c)
{
	if (c == 0x17f)
		return 's';
	if (c == 0x212a)
		return 'k';
	return c >= 'A' && c <= 'Z' ? c | 0x20 : c;
}

/* The string at `from` and this text, character by character. */
static bool
same_text(
    const struct value_reader *r, size_t from, const char *text, size_t len, bool fold)
{
	struct value_reader a = {.s = r->s, .len = r->len, .at = from + 1};
	struct value_reader b = {.s = (const uint8_t *)text, .len = len};
	uint32_t x, y;
	bool more;

	do {
		more = value_char(&a, &x);
		if (more != value_text_char(&b, &y))
			return false;
	} while (more && (x == y || (fold && folded(x) == folded(y))));
	return !more;
}

/* Is the string at `from` this text? */
bool
value_is(const struct value_reader *r, size_t from, const char *text, size_t len)
{
	return same_text(r, from, text, len, false);
}

/* The same name to a server that does not mind case (Go's encoding/json). */
static bool
name_folds(const struct value_reader *r, size_t from, const char *text, size_t len)
{
	return same_text(r, from, text, len, true);
}

/* ---- numbers ------------------------------------------------------------------- */

static bool
skip_digits(struct value_reader *r)
{
	size_t from = r->at;

	while (value_peek(r) >= '0' && value_peek(r) <= '9')
		r->at++;
	return r->at > from || fail(r);
}

static bool
skip_number(struct value_reader *r)
{
	if (value_peek(r) == '-')
		r->at++;
	if (value_peek(r) == '0')
		r->at++;
	else if (!skip_digits(r))
		return false;
	if (value_peek(r) == '.') {
		r->at++;
		if (!skip_digits(r))
			return false;
	}
	if (value_peek(r) == 'e' || value_peek(r) == 'E') {
		r->at++;
		if (value_peek(r) == '+' || value_peek(r) == '-')
			r->at++;
		return skip_digits(r);
	}
	return true;
}

bool
policy_is_number(const char *s, size_t len)
{
	struct value_reader r = {.s = (const uint8_t *)s, .len = len};

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
	return (char)(d->at < d->end ? d->s[d->at++] : '0');
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
skip_word(struct value_reader *r, const char *word)
{
	size_t n = strlen(word);

	if (n > r->len - r->at || memcmp(r->s + r->at, word, n) != 0)
		return fail(r);
	r->at += n;
	return true;
}

/* A value that holds no other. */
static bool
skip_plain(struct value_reader *r)
{
	uint8_t c = value_peek(r);

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
skip_name(struct value_reader *r)
{
	space(r);
	if (!skip_string(r))
		return false;
	space(r);
	return skip_word(r, ":");
}

/* One value with everything in it; a bit says of each open one what it is. */
static bool
skip_value(struct value_reader *r)
{
	uint8_t object[DEPTH_MAX / 8] = {0}, c;
	uint32_t depth = 0;
	bool open =
	    false; /* the value just begun can hold others, and none is there yet */

	for (;;) {
		space(r);
		c = value_peek(r);
		if (open && c == (object[depth / 8] >> depth % 8 & 1 ? '}' : ']')) {
			r->at++;
			depth--;
			open = false;
		} else {
			if (depth > 0 && (object[depth / 8] >> depth % 8 & 1) != 0 &&
			    !skip_name(r))
				return false;
			space(r);
			c = value_peek(r);
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
			c = value_peek(r);
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
	struct value_reader r = {.s = (const uint8_t *)s, .len = len};

	if (!skip_value(&r))
		return false;
	space(&r);
	return r.at == len;
}

/* ---- places --------------------------------------------------------------------- */

/* The member of the object at r->at; every name in it is looked at.  false: it
 * is not there, or (bad) some name is there twice, or one that is this name but
 * for its case. */
static bool
member(struct value_reader *r, const char *key, size_t len, struct value_found *ret)
{
	uint64_t seen[MEMBERS_MAX], h;
	struct value_found found = {0, 0};
	size_t n = 0, i, from;
	bool mine, is = false;

	r->at++;
	space(r);
	if (value_peek(r) == '}')
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
		mine = value_is(r, from, key, len);
		if (!mine && name_folds(r, from, key, len))
			return fail(r);
		space(r);
		if (!skip_word(r, ":"))
			return false;
		space(r);
		from = r->at;
		if (!skip_value(r))
			return false;
		if (mine)
			found = (struct value_found){from, r->at};
		is = is || mine;
		space(r);
		if (value_peek(r) == '}')
			break;
		if (!skip_word(r, ","))
			return false;
	}
	*ret = found;
	return is;
}

static bool
element(struct value_reader *r, uint32_t index, struct value_found *ret)
{
	size_t from;

	r->at++;
	space(r);
	if (value_peek(r) == ']')
		return false;
	for (;;) {
		space(r);
		from = r->at;
		if (!skip_value(r))
			return false;
		if (index-- == 0) {
			*ret = (struct value_found){from, r->at};
			return true;
		}
		space(r);
		if (value_peek(r) == ']')
			return false;
		if (!skip_word(r, ","))
			return false;
	}
}

/* Where the steps lead from the whole value.  YES, NO: nowhere; UNKNOWN: the
 * way is not to be trusted: a server may read the JSON in a string. */
enum policy_truth
value_place(const struct policy *p, struct sealed_range steps, struct value_reader *r,
    struct value_found *ret)
{
	struct value_found at;
	const struct sealed_step *step;
	uint32_t i;
	bool there;

	r->at = 0;
	space(r);
	at = (struct value_found){r->at, r->len};
	while (at.to > at.from && strchr(" \t\r\n", r->s[at.to - 1]) != NULL)
		at.to--;
	for (i = 0; i < steps.n; i++) {
		step = &p->step[steps.first + i];
		r->at = at.from;
		if (value_peek(r) != (step->is_index ? '[' : '{'))
			return value_peek(r) == '"' ? TRUTH_UNKNOWN : TRUTH_NO;
		there = step->is_index
			    ? element(r, step->index, &at)
			    : member(r, policy_str(p, step->key), step->key.len, &at);
		if (!there)
			return r->bad ? TRUTH_UNKNOWN : TRUTH_NO;
	}
	*ret = at;
	return TRUTH_YES;
}
