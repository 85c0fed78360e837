/*
 * Reads JSON values of a message in place and compares them as written.
 *
 * It builds no tree and allocates nothing: a reader walks the bytes, finds the
 * value that a condition names, and compares it there.  An attacker passes a
 * gate if two readers parse one message differently.  So every ambiguous input
 * (a name twice or again in another case, a lone surrogate, invalid UTF-8)
 * gives the answer unknown, with which a denial holds and an allowance does
 * not.  RFC 8259.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "policy/sealed/json_reader.h"
#include "policy/sealed/policy.h"
#include "shim/base/hash.h"
#include "shim/base/hex.h"

#define DEPTH_MAX   128  /* nested arrays and objects */
#define MEMBERS_MAX 1024 /* of an object that a condition reads */

static bool skip_value(struct value_reader *);

/* ---- bytes --------------------------------------------------------------------- */

/* The byte here, 0 at the end (valid JSON contains no NUL). */
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
	int d;

	for (i = 0; i < 4; i++) {
		d = hex_any(value_peek(r));
		if (d < 0)
			return fail(r);
		v = v << 4 | (uint32_t)d;
		r->at++;
	}
	*ret = v;
	return true;
}

/* Reads the part of an escape after the backslash. */
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
	/* a high and a low surrogate, or the escape is invalid */
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

/*
 * A character of two to four bytes: shortest form, no surrogates, up to
 * U+10FFFF.
 */
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

/*
 * The next character of a string whose opening quote is already read.  False at
 * its end (after reading the closing quote) and at an error.
 */
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
		/* fast path over plain ASCII, most of any string */
		while (r->at < r->len && r->s[r->at] >= 0x20 && r->s[r->at] < 0x80 &&
		       r->s[r->at] != '"' && r->s[r->at] != '\\')
			r->at++;
		if (!value_char(r, &c))
			return !r->bad;
	}
}

/* The next character of valid UTF-8 without escapes; false at its end. */
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

/* A hash of the name at r (FNV-1a over its characters); skips the name. */
static uint64_t
name_hash(struct value_reader *r)
{
	uint64_t h = HASH64_START;
	uint32_t c;

	if (value_peek(r) != '"')
		return fail(r);
	r->at++;
	while (value_char(r, &c)) {
		if (c == 0) /* a server in C would see the name end here */
			return fail(r);
		h = hash64_add(h, c);
	}
	return h;
}

/* Lower case, including the two letters outside ASCII that fold into it. */
static uint32_t
folded(uint32_t c)
{
	if (c == 0x17f)
		return 's';
	if (c == 0x212a)
		return 'k';
	return c >= 'A' && c <= 'Z' ? c | 0x20 : c;
}

/* Compares the string at `from` with this text, character by character. */
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

/* Is it the same name for a case-insensitive server (Go's encoding/json)? */
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

/* A value that contains no other value. */
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

/* One value with its contents; a bit for each open level: object or array. */
static bool
skip_value(struct value_reader *r)
{
	uint8_t object[DEPTH_MAX / 8] = {0}, c;
	uint32_t depth = 0;
	bool open =
	    false; /* the value just begun can contain others and is still empty */

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
		/* after a value: close levels, or go on to the next value */
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

/* ---- finding values ------------------------------------------------------ */

/*
 * Finds a member of the object at r->at, and checks every name in it.  False:
 * not found, or (bad) a name occurs twice, or a name equals this one except for
 * its case.
 */
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
		/* equal hashes count as equal names */
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

/*
 * Follows the steps from the whole value.  YES: found; NO: not there; UNKNOWN:
 * ambiguous, for example because a server may parse the JSON in a string.
 */
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
