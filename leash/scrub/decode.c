/*
 * How each spelling is decoded, one escape at a time, and when decoding is
 * worthwhile.  The decoder does not check whether an offset is inside a JSON
 * string: JSON has no backslash outside of strings, and text that is not JSON may
 * quote some.
 */
#include <string.h>

#include "leash/scrub/private.h"
#include "shim/base/utf8.h"

#define SEPARATOR_MAX 40 /* between two bytes of hex, with indentation */
#define BLANKS_MAX    76 /* a line of quoted-printable has no more bytes */

/* The value of a hex digit plus one; zero for all other bytes. */
static const uint8_t worth[256] = {['0'] = 1,
    ['1'] = 2,
    ['2'] = 3,
    ['3'] = 4,
    ['4'] = 5,
    ['5'] = 6,
    ['6'] = 7,
    ['7'] = 8,
    ['8'] = 9,
    ['9'] = 10,
    ['a'] = 11,
    ['b'] = 12,
    ['c'] = 13,
    ['d'] = 14,
    ['e'] = 15,
    ['f'] = 16,
    ['A'] = 11,
    ['B'] = 12,
    ['C'] = 13,
    ['D'] = 14,
    ['E'] = 15,
    ['F'] = 16};

int
decode_hex_digit(uint8_t c)
{
	return worth[c] - 1;
}

/* Counts the hex digits that end before src[at]. */
static size_t
digits_before(const uint8_t *src, size_t at, size_t from)
{
	size_t n = 0;

	while (at - n > from && decode_hex_digit(src[at - n - 1]) >= 0)
		n++;
	return n;
}

static size_t
digits_from(const uint8_t *src, size_t n, size_t at)
{
	size_t i = at;

	while (i < n && decode_hex_digit(src[i]) >= 0)
		i++;
	return i - at;
}

/* Exactly count hex digits at src[n]: NONE, UNFINISHED, or count, the value in *ret. */
static int
hex_number(const uint8_t *src, size_t n, size_t count, uint32_t *ret)
{
	uint32_t value = 0;
	size_t i;
	int d;

	for (i = 0; i < count; i++) {
		if (i == n)
			return UNFINISHED;
		d = decode_hex_digit(src[i]);
		if (d < 0)
			return NONE;
		value = value << 4 | (uint32_t)d;
	}
	*ret = value;
	return (int)count;
}

/* ---- JSON ------------------------------------------------------------------------ */

static const uint8_t simple[256] = {['"'] = '"',
    ['\''] = '\'',
    ['\\'] = '\\',
    ['/'] = '/',
    ['b'] = '\b',
    ['f'] = '\f',
    ['n'] = '\n',
    ['r'] = '\r',
    ['t'] = '\t'};

/* "\uXXXX" at src[n]: NONE, UNFINISHED, or 6 and the value in *ret. */
static int
json_unit(const uint8_t *src, size_t n, uint32_t *ret)
{
	int r;

	if (n == 0 || (n == 1 && src[0] == '\\'))
		return UNFINISHED;
	if (src[0] != '\\' || src[1] != 'u')
		return NONE;
	r = hex_number(src + 2, n - 2, 4, ret);
	return r > 0 ? 6 : r;
}

static int
json(const uint8_t *src, size_t n, uint8_t out[static 4], uint8_t *ret_len)
{
	uint32_t high, low;
	int r;

	if (n < 2)
		return UNFINISHED;
	*ret_len = 1;
	if (simple[src[1]] != 0) {
		out[0] = simple[src[1]];
		return 2;
	}
	if (src[1] == 'x') {
		r = hex_number(src + 2, n - 2, 2, &low);
		out[0] = r > 0 ? (uint8_t)low : 0;
		return r > 0 ? 4 : r;
	}
	r = json_unit(src, n, &high);
	if (r <= 0)
		return r;
	if (high >= 0xdc00 && high <= 0xdfff)
		return NONE;
	if (high >= 0xd800 && high <= 0xdbff) {
		r = json_unit(src + 6, n - 6, &low);
		if (r <= 0)
			return r;
		if (low < 0xdc00 || low > 0xdfff)
			return NONE;
		high = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
		r = 12;
	}
	*ret_len = (uint8_t)utf8_put(high, out);
	return r;
}

/* ---- percent, quoted-printable ------------------------------------------ */

static int
percent(const uint8_t *src, size_t n, uint8_t out[static 4], uint8_t *ret_len)
{
	uint32_t value;
	int r = hex_number(src + 1, n - 1, 2, &value);

	if (r <= 0)
		return r;
	out[0] = (uint8_t)value;
	*ret_len = 1;
	return 3;
}

/* Backslashes, any number as in nested JSON, then one of these letters. */
static int
escaped(const uint8_t *src, size_t n, const char *letters)
{
	size_t i = 0;

	while (i < n && i < 4 && src[i] == '\\')
		i++;
	if (i == n)
		return UNFINISHED;
	if (i == 0 || src[i] == '\0' || strchr(letters, src[i]) == NULL)
		return NONE;
	return (int)i + 1;
}

static int
blank(const uint8_t *src, size_t n)
{
	if (n == 0)
		return UNFINISHED;
	return src[0] == ' ' || src[0] == '\t' ? 1 : escaped(src, n, "t");
}

int
decode_line_end(const uint8_t *src, size_t n)
{
	if (n == 0)
		return UNFINISHED;
	return src[0] == '\n' || src[0] == '\r' ? 1 : escaped(src, n, "nr");
}

/* "=" at the end of a line, with blanks between: RFC 2045 lets a transport add them. */
static int
soft_line_end(const uint8_t *src, size_t n)
{
	size_t i = 1;
	int r = NONE, more;

	while (i <= BLANKS_MAX && (r = blank(src + i, n - i)) > 0)
		i += (size_t)r;
	if (r == UNFINISHED)
		return UNFINISHED;
	r = decode_line_end(src + i, n - i);
	if (r <= 0)
		return r;
	/* a newline must follow a carriage return */
	i += (size_t)r;
	if (src[i - 1] != 'r' && src[i - 1] != '\r')
		return (int)i;
	more = decode_line_end(src + i, n - i);
	return more == UNFINISHED ? UNFINISHED : (int)i + more;
}

static int
quoted(const uint8_t *src, size_t n, uint8_t out[static 4], uint8_t *ret_len)
{
	uint32_t value;
	int r = soft_line_end(src, n);

	*ret_len = 0;
	if (r != NONE)
		return r;
	r = hex_number(src + 1, n - 1, 2, &value);
	if (r <= 0)
		return r;
	out[0] = (uint8_t)value;
	*ret_len = 1;
	return 3;
}

/* ---- separators ------------------------------------------------------------------ */

bool
decode_is_base64(uint8_t c)
{
	return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') ||
	       c == '+' || c == '/' || c == '-' || c == '_';
}

/* Line ends and the next line's indentation, with base64 on both sides. */
static int
broken(const uint8_t *src, size_t n, size_t at)
{
	size_t i = at;
	int r;

	if (at == 0 || !decode_is_base64(src[at - 1]))
		return NONE;
	while ((r = decode_line_end(src + i, n - i)) > 0)
		i += (size_t)r;
	if (i == at)
		return r; /* none, or one that is not finished */
	while ((r = blank(src + i, n - i)) > 0)
		i += (size_t)r;
	if (i == n || r == UNFINISHED)
		return UNFINISHED;
	return i - at <= SEPARATOR_MAX && decode_is_base64(src[i]) ? (int)(i - at) : NONE;
}

/* One part of the separator between two bytes of hex. */
static int
separator(const uint8_t *src, size_t n)
{
	if (n == 0)
		return UNFINISHED;
	if (src[0] != '\0' && strchr(" ,:;|-._\t\n\r\"'", src[0]) != NULL)
		return 1;
	if (src[0] == '0' && n > 1 && (src[1] | 0x20) == 'x')
		return 2;
	return escaped(src, n, "nrtxX\"'");
}

/* Two digits, separators, two digits. */
static int
pairs(const uint8_t *src, size_t n, size_t at)
{
	uint32_t value;
	size_t i = at;
	int r;

	if (at < 2 || decode_hex_digit(src[at - 1]) < 0 ||
	    decode_hex_digit(src[at - 2]) < 0)
		return NONE;
	while (i < n && i - at < SEPARATOR_MAX && (r = separator(src + i, n - i)) != 0) {
		if (r == UNFINISHED)
			return UNFINISHED;
		i += (size_t)r;
	}
	if (i == at)
		return NONE;
	r = hex_number(src + i, n - i, 2, &value);
	return r > 0 ? (int)(i - at) : r;
}

int
decode(enum spelling how, const uint8_t *src, size_t n, size_t at, uint8_t out[static 4],
    uint8_t *ret_len)
{
	*ret_len = 0;
	switch (how) {
	case SPELL_JSON:
		return json(src + at, n - at, out, ret_len);
	case SPELL_PERCENT:
		return percent(src + at, n - at, out, ret_len);
	case SPELL_ENTITY:
		return entity(src + at, n - at, out, ret_len);
	case SPELL_QUOTED:
		return quoted(src + at, n - at, out, ret_len);
	case SPELL_BROKEN:
		return broken(src, n, at);
	default:
		return pairs(src, n, at);
	}
}

static size_t
next_of(const uint8_t *src, size_t n, size_t at, int c)
{
	const uint8_t *found = memchr(src + at, c, n - at);

	return found == NULL ? n : (size_t)(found - src);
}

/* The offset after two hex digits that are followed by a non-digit or by "0x". */
static size_t
next_pairs(const uint8_t *src, size_t n, size_t at)
{
	if (at < 2)
		at = 2;
	while (at < n) {
		if (worth[src[at - 1]] == 0)
			at += 2; /* no pair ends here or at the next byte */
		else if (worth[src[at - 2]] == 0 ||
			 (worth[src[at]] != 0 && src[at] != '0'))
			at++;
		else
			return at;
	}
	return n;
}

size_t
decode_next(enum spelling how, const uint8_t *src, size_t n, size_t at)
{
	static const char lead[SPELLINGS] = {'\\', '%', '&', '='};

	if (how == SPELL_BROKEN)
		return sieve_line(src, n, at);
	if (how == SPELL_PAIRS)
		return next_pairs(src, n, at);
	return next_of(src, n, at, lead[how]);
}

/* ---- is decoding worthwhile? ------------------------------------------------------- */

/* A byte that occurs in a pattern, or that begins another spelling. */
static bool
matters(const struct filter *f, uint8_t c)
{
	return f->byte[c] || c == '%' || c == '&' || c == '=';
}

/* A run of backslashes at text[at] and what follows, decoded once or twice. */
static bool
json_matters(
    const struct filter *f, const uint8_t *text, size_t n, size_t at, size_t *end)
{
	size_t i = at;
	uint8_t out[4] = {0}, len;
	int r;

	while (i < n && text[i] == '\\')
		i++;
	*end = i;
	if (i == n)
		return true;
	if (i - at > 1)
		return f->byte['\\'] || text[i] == 'u' || text[i] == 'x' ||
		       (simple[text[i]] != 0 && matters(f, simple[text[i]]));
	r = json(text + at, n - at, out, &len);
	if (r == NONE)
		return false;
	if (r == UNFINISHED || out[0] == '\\')
		return true;
	*end = at + (size_t)r;
	if (len > 1)
		return f->high;
	/* line ends and tabs are also handled undecoded */
	return matters(f, out[0]) || (r > 2 && separator(out, 1) == 1);
}

static bool
json_wanted(const struct filter *f, const uint8_t *text, size_t n)
{
	size_t at = 0, end;

	while ((at = next_of(text, n, at, '\\')) < n) {
		if (json_matters(f, text, n, at, &end))
			return true;
		at = end;
	}
	return false;
}

static bool
escapes_wanted(
    enum spelling how, const struct filter *f, const uint8_t *text, size_t n, bool more)
{
	size_t at = 0;
	uint8_t out[4], len;
	int r;

	for (; (at = decode_next(how, text, n, at)) < n; at++) {
		r = decode(how, text, n, at, out, &len);
		if (r == NONE)
			continue;
		if (r == UNFINISHED && !more)
			continue;
		if (r == UNFINISHED || len == 0 || (len > 1 && f->high))
			return true;
		if (matters(f, out[0]))
			return true;
	}
	return false;
}

/* Consecutive lines with enough base64 in total for a pattern. */
static bool
broken_wanted(const struct filter *f, const uint8_t *text, size_t n, bool more)
{
	size_t at = 0, joined = 0, line = 0, run, i;
	int r;

	for (; (at = sieve_line(text, n, at)) < n; at++) {
		r = broken(text, n, at);
		if (r == UNFINISHED && more)
			return true;
		if (r <= 0)
			continue;
		for (run = 0; at - run > line && decode_is_base64(text[at - run - 1]);
		     run++)
			;
		joined = at - run == line ? joined + run : run;
		at += (size_t)r;
		line = at;
		for (i = at; i < n && i - at < f->broken_min && decode_is_base64(text[i]);
		     i++)
			;
		if (joined + i - at >= f->broken_min || (i == n && more))
			return true;
		at--;
	}
	return false;
}

/* Does the text end in two digits and a separator? */
static bool
pairs_open(const uint8_t *text, size_t n)
{
	size_t at = n > SEPARATOR_MAX + 4 ? n - SEPARATOR_MAX - 4 : 0;

	for (; (at = next_pairs(text, n, at)) < n; at++)
		if (pairs(text, n, at) == UNFINISHED)
			return true;
	return false;
}

/* Do pairs in text[from..n) contain enough digits for a pattern, or could they with
 * the bytes that follow? */
static bool
pairs_from(const struct filter *f, const uint8_t *text, size_t n, size_t from, bool more)
{
	size_t at = from, joined = 0, group = from, run;
	int r;

	for (; (at = next_pairs(text, n, at)) < n; at++) {
		r = pairs(text, n, at);
		if (r <= 0)
			continue;
		run = digits_before(text, at, group);
		joined = at - run == group ? joined + run : run;
		at += (size_t)r;
		group = at;
		run = digits_from(text, n, at);
		if (joined + run >= f->hex_min || (at + run == n && more))
			return true;
		at--;
	}
	return more && pairs_open(text, n);
}

static bool
pairs_wanted(
    const struct filter *f, unsigned int flags, const uint8_t *text, size_t n, bool more)
{
	size_t tail;

	/* short pairs may fill fewer lanes than the prefilter counts */
	if ((flags & TRIAGE_PAIRS) != 0 ||
	    f->hex_min < (size_t)(f->net.lanes_min + 1) * SIEVE_LANE)
		return pairs_from(f, text, n, 0, more);
	/* near the end, fewer lanes than that may be present */
	tail = (size_t)(f->net.lanes_min + 2) * SIEVE_LANE;
	return more && pairs_from(f, text, n, n > tail ? n - tail : 0, true);
}

bool
decode_wanted(enum spelling how, const struct filter *f, unsigned int flags,
    const uint8_t *text, size_t n, bool more, bool key)
{
	static const unsigned int sign[SPELLINGS] = {
	    TRIAGE_BACKSLASH, TRIAGE_PERCENT, TRIAGE_AMPERSAND, TRIAGE_EQUALS};

	if (key && (flags & sign[how]) != 0)
		return true;
	if (how >= SPELL_BROKEN && f->len_max == 0)
		return false;
	switch (how) {
	case SPELL_JSON:
		return (flags & TRIAGE_BACKSLASH) != 0 && json_wanted(f, text, n);
	case SPELL_PERCENT:
		return (flags & TRIAGE_PERCENT) != 0 &&
		       escapes_wanted(how, f, text, n, more);
	case SPELL_ENTITY:
		return (flags & TRIAGE_AMPERSAND) != 0 &&
		       escapes_wanted(how, f, text, n, more);
	case SPELL_QUOTED:
		return (flags & TRIAGE_EQUALS) != 0 &&
		       escapes_wanted(how, f, text, n, more);
	case SPELL_BROKEN:
		return (flags & (TRIAGE_LINE | TRIAGE_BACKSLASH)) != 0 &&
		       broken_wanted(f, text, n, more);
	default:
		return pairs_wanted(f, flags, text, n, more);
	}
}
