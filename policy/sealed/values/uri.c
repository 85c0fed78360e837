/*
 * URIs of resources.  A policy compares bytes, but servers resolve a URI first:
 * `file:///a/../b`, `file:///%62` and `FILE:///b` all read b.  A URI that is
 * not in the one form that resolves to itself matches every deny and no allow
 * (match_mcp.c). RFC 3986, section 6.2; the URL standard for `\` and for bytes
 * that are dropped.
 */
#include "policy/sealed/values/uri.h"
#include "shim/base/array.h"
#include "shim/base/hex.h"
#include "shim/base/utf8.h"

#include <stdint.h>
#include <string.h>

#define RAW_STAR 256 /* a star of the pattern, not an encoded one */

/* The byte encoded at s[i], or -1: the `%` is a plain byte. */
static int
encoded(const char *s, size_t len, size_t i)
{
	int high, low;

	if (s[i] != '%' || len - i < 3)
		return -1;
	high = hex_any(s[i + 1]);
	low = hex_any(s[i + 2]);
	return high < 0 || low < 0 ? -1 : high << 4 | low;
}

/* The next byte, decoded; moves *i past it. */
static int
next(const char *s, size_t len, size_t *i)
{
	int c = encoded(s, len, *i);

	*i += c < 0 ? 1 : 3;
	return c < 0 ? (unsigned char)s[*i - 1] : c;
}

/* The next character, decoded; UTF8_INVALID: none that all readers agree on. */
static uint32_t
next_char(const char *s, size_t len, size_t *i)
{
	char bytes[4];
	const char *p = bytes;
	size_t n = 0, end[4] = {0}, at = *i;
	uint32_t c;

	while (n < sizeof(bytes) && at < len) {
		bytes[n] = (char)next(s, len, &at);
		end[n++] = at;
	}
	c = utf8_take(&p, bytes + n);
	*i = end[p - bytes - 1];
	return c;
}

static bool
is_alnum(int c)
{
	return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

static bool
is_unreserved(int c)
{
	return is_alnum(c) || (c != 0 && c < 0x80 && strchr("-._~", c) != NULL);
}

/* A byte that never needs encoding in a URI. */
static bool
is_plain(char c)
{
	return is_unreserved((unsigned char)c) ||
	       (c != 0 && strchr(":/?#[]@!$&'()*+,;={}", c) != NULL);
}

/* ---- parts ------------------------------------------------------------------ */

/* Length of the scheme without its colon; 0: no scheme. */
static size_t
scheme_len(const char *s, size_t len)
{
	size_t n = 0;

	while (n < len && (is_alnum(s[n]) || strchr("+-.", s[n]) != NULL) && s[n] != 0)
		n++;
	return n < len && s[n] == ':' ? n : 0;
}

static bool
is_upper(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (s[i] >= 'A' && s[i] <= 'Z')
			return true;
	return false;
}

static bool
ends_segment(char c)
{
	return c == '/' || c == '?' || c == '#';
}

/*
 * A segment that a server may read as `.` or `..`, or as none: `..;x`, because servers of
 * Java drop what follows a `;`; `.. `, because Windows drops blanks at the end; and dots
 * that become ASCII's in a compatibility form.
 */
static bool
is_dots(const char *s, size_t len)
{
	size_t i = 0, dots = 0;
	bool blank = false;
	uint32_t c;

	while (i < len) {
		c = next_char(s, len, &i);
		if (c == ';')
			break;
		blank = blank || c == ' ';
		if (c == ' ' && dots > 0)
			continue;
		if (blank || (c != '.' && c != 0x2024 && c != 0x2025 && c != 0xfe52 &&
				 c != 0xff0e))
			return false;
		dots += c == 0x2025 ? 2 : 1; /* two dots as one character */
	}
	return dots == 1 || dots == 2 || (dots == 0 && len > 0);
}

/* Has a segment `.` or `..`, or an empty one between two slashes. */
static bool
has_odd_segment(const char *s, size_t len)
{
	size_t i, n, from = 0;

	for (i = 0; i <= len; i++) {
		if (i < len && !ends_segment(s[i]))
			continue;
		n = i - from;
		/* the part before the first slash may be one of data: */
		if (is_dots(s + from, n) && (from > 0 || s[from] != ';'))
			return true;
		if (n == 0 && from > 0 && i < len && s[i] == '/' && s[from - 1] == '/')
			return true;
		from = i + 1;
	}
	return false;
}

/* Has text that is not UTF-8, which readers decode in more than one way (overlong forms are
 * ASCII to some), or a slash that is not ASCII's, which a compatibility form makes one. */
static bool
has_odd_char(const char *s, size_t len)
{
	static const uint32_t slashes[] = {UTF8_INVALID, 0x2044, 0x2215, 0x2216, 0x29f5,
	    0x29f8, 0x29f9, 0xfe68, 0xff0f, 0xff3c};
	size_t i = 0, k;
	uint32_t c;

	while (i < len) {
		c = next_char(s, len, &i);
		for (k = 0; k < ARRAY_LEN(slashes); k++)
			if (c == slashes[k])
				return true;
	}
	return false;
}

/*
 * Has an encoded byte that need not be encoded, that ends a path, or that gives
 * another encoded byte once decoded.
 */
static bool
has_odd_code(const char *s, size_t len)
{
	size_t i;
	int c;

	for (i = 0; i < len; i++) {
		if (s[i] != '%')
			continue;
		c = encoded(s, len, i);
		if (c < 0x20 || c == 0x7f || c == '/' || c == '\\' || is_unreserved(c))
			return true;
		if (c == '%' && len - i >= 5 && hex_any(s[i + 3]) >= 0 &&
		    hex_any(s[i + 4]) >= 0)
			return true;
	}
	return false;
}

/* Has bytes that parsers drop or change. */
static bool
has_odd_byte(const char *s, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if ((unsigned char)s[i] < 0x20 || s[i] == 0x7f || s[i] == '\\')
			return true;
	return len > 0 && (s[0] == ' ' || s[len - 1] == ' ');
}

enum uri_form
uri_form(const char *s, size_t len)
{
	size_t scheme = scheme_len(s, len), path = scheme == 0 ? 0 : scheme + 1, i;

	if (is_upper(s, scheme) || has_odd_byte(s, len) || has_odd_code(s, len) ||
	    has_odd_char(s, len))
		return URI_ODD;
	/* file:/a, file://localhost/a and file:///a are the same file */
	if (scheme == 4 && memcmp(s, "file", 4) == 0 &&
	    (len - path < 3 || memcmp(s + path, "///", 3) != 0))
		return URI_ODD;
	if (path > 0 && len - path >= 2 && memcmp(s + path, "//", 2) == 0) {
		path += 2; /* the authority, which may be empty */
		if (path < len && s[path] == '/')
			path++;
		if (path < len && s[path] == '/')
			return URI_ODD;
	}
	if (has_odd_segment(s + path, len - path))
		return URI_ODD;
	for (i = 0; i < len && is_plain(s[i]) && s[i] != ';'; i++)
		;
	return i == len ? URI_PLAIN : URI_CODED;
}

/* ---- decoded ---------------------------------------------------------------- */

static int
pattern_next(const char *s, size_t len, size_t *i)
{
	bool star = s[*i] == '*';
	int c = next(s, len, i);

	return star ? RAW_STAR : c;
}

/* Moves past `;PARAMETER`, which some servers drop from each segment of a path. */
static size_t
past_params(const char *s, size_t len, size_t i)
{
	if (i < len && (s[i] == ';' || encoded(s, len, i) == ';'))
		while (i < len && !ends_segment(s[i]))
			i++;
	return i;
}

/* Fast path: most URIs have none. */
static bool
may_have_params(const char *s, size_t len)
{
	return memchr(s, ';', len) != NULL || memchr(s, '%', len) != NULL;
}

static bool
glob(const char *pattern, size_t pattern_len, const char *text, size_t text_len,
    bool params)
{
	size_t p = 0, t = 0, star = SIZE_MAX, from = 0, p_after, t_after;

	while (t = params ? t : past_params(text, text_len, t), t < text_len) {
		p_after = p;
		t_after = t;
		if (p < pattern_len && pattern[p] == '*') {
			star = ++p;
			from = t;
		} else if (p < pattern_len &&
			   pattern_next(pattern, pattern_len, &p_after) ==
			       next(text, text_len, &t_after)) {
			p = p_after;
			t = t_after;
		} else if (star != SIZE_MAX) {
			p = star;
			(void)next(text, text_len, &from); /* skips one byte */
			t = from;
		} else
			return false;
	}
	while (p < pattern_len && pattern[p] == '*')
		p++;
	return p == pattern_len;
}

bool
uri_glob(const char *pattern, size_t pattern_len, const char *text, size_t text_len)
{
	return glob(pattern, pattern_len, text, text_len, true) ||
	       (may_have_params(text, text_len) &&
		   glob(pattern, pattern_len, text, text_len, false));
}

size_t
uri_fixed(const char *pattern, size_t len)
{
	size_t n = 0;

	while (n < len && pattern[n] != '*' && is_plain(pattern[n]))
		n++;
	return n;
}

size_t
uri_decode(const char *s, size_t len, char *out)
{
	size_t i = 0, n = 0;

	while (i < len)
		out[n++] = (char)next(s, len, &i);
	return n;
}
