/*
 * Translates a pattern of ECMA-262 (with the flag u) to one of PCRE2 that matches the
 * same texts. What ECMA-262 does not have is refused and not passed on, because PCRE2
 * has a meaning for most of it.
 *
 *	ECMA-262			PCRE2
 *	\s, also in [ ]			the list of its white space
 *	.				any character but four line ends
 *	\uXXXX \u{X} \xXX \cX \0 \v	\x{X}
 *	[ in [ ]			\[
 *	[^] []				any character; none
 *	{ } ] that mean themselves	\{ \} \]
 *	\1				\g{1}
 *	\p{Letter} \p{Script=Greek}	\p{L} \p{sc:Greek}
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "shim/base/array.h"
#include "shim/base/buf.h"
#include "shim/base/hex.h"
#include "supervisor/schema/private.h"

#define SPACES \
	"\\x{9}-\\x{d} \\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}" \
	"\\x{205f}\\x{3000}\\x{feff}"
#define NOT_SPACES \
	"\\x{0}-\\x{8}\\x{e}-\\x{1f}!-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}" \
	"\\x{200b}-\\x{2027}\\x{202a}-\\x{202e}\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}" \
	"\\x{3001}-\\x{fefe}\\x{ff00}-\\x{10ffff}"

struct ecma {
	const char *p, *end;
	struct buf *out;
	bool atom; /* a quantifier may follow */
};

static int
at(const struct ecma *e, size_t ahead)
{
	return (size_t)(e->end - e->p) > ahead ? (unsigned char)e->p[ahead] : -1;
}

static bool
is_digit(int c)
{
	return c >= '0' && c <= '9';
}

static bool
is_letter(int c)
{
	return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

static bool
one_of(int c, const char *set)
{
	return c > 0 && strchr(set, c) != NULL;
}

/* ---- escapes -------------------------------------------------------------- */

/* n hex digits at p, or -1. */
static int32_t
hex_n(const struct ecma *e, size_t from, size_t n)
{
	int32_t v = 0;

	for (size_t i = 0; i < n; i++) {
		int h = at(e, from + i) < 0 ? -1 : hex_any((uint8_t)at(e, from + i));

		if (h < 0)
			return -1;
		v = v << 4 | h;
	}
	return v;
}

/* After "\u": four digits, two surrogates or {digits}. */
static int
escape_unicode(struct ecma *e)
{
	int32_t c = hex_n(e, 0, 4), low;
	size_t n = 0;

	if (at(e, 0) == '{') {
		while (n < 8 && hex_n(e, 1 + n, 1) >= 0)
			n++;
		c = n > 0 && n < 8 && at(e, 1 + n) == '}' ? hex_n(e, 1, n) : -1;
		n += 2;
	} else {
		n = 4;
		if (c >= 0xd800 && c < 0xdc00 && at(e, 4) == '\\' && at(e, 5) == 'u' &&
		    (low = hex_n(e, 6, 4)) >= 0xdc00 && low < 0xe000) {
			c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
			n = 10;
		}
	}
	if (c < 0 || c > 0x10ffff)
		return -EINVAL;
	e->p += n;
	return buf_printf(e->out, "\\x{%x}", (unsigned int)c);
}

static const struct property {
	const char *name, *name_pcre2;
} properties[] = {
    {"Cased_Letter", "L&"},
    {"Close_Punctuation", "Pe"},
    {"Connector_Punctuation", "Pc"},
    {"Control", "Cc"},
    {"Currency_Symbol", "Sc"},
    {"Dash_Punctuation", "Pd"},
    {"Decimal_Number", "Nd"},
    {"Enclosing_Mark", "Me"},
    {"Final_Punctuation", "Pf"},
    {"Format", "Cf"},
    {"Initial_Punctuation", "Pi"},
    {"LC", "L&"},
    {"Letter", "L"},
    {"Letter_Number", "Nl"},
    {"Line_Separator", "Zl"},
    {"Lowercase_Letter", "Ll"},
    {"Mark", "M"},
    {"Math_Symbol", "Sm"},
    {"Modifier_Letter", "Lm"},
    {"Modifier_Symbol", "Sk"},
    {"Nonspacing_Mark", "Mn"},
    {"Number", "N"},
    {"Open_Punctuation", "Ps"},
    {"Other", "C"},
    {"Other_Letter", "Lo"},
    {"Other_Number", "No"},
    {"Other_Punctuation", "Po"},
    {"Other_Symbol", "So"},
    {"Paragraph_Separator", "Zp"},
    {"Private_Use", "Co"},
    {"Punctuation", "P"},
    {"Separator", "Z"},
    {"Space_Separator", "Zs"},
    {"Spacing_Mark", "Mc"},
    {"Surrogate", "Cs"},
    {"Symbol", "S"},
    {"Titlecase_Letter", "Lt"},
    {"Unassigned", "Cn"},
    {"Uppercase_Letter", "Lu"},
};

static const struct property prefixes[] = {
    {"General_Category=", ""},
    {"gc=", ""},
    {"Script=", "sc:"},
    {"sc=", "sc:"},
    {"Script_Extensions=", "scx:"},
    {"scx=", "scx:"},
};

/* After "\p" or "\P": {name}. */
static int
escape_property(struct ecma *e, int letter)
{
	const char *close = memchr(e->p, '}', (size_t)(e->end - e->p));
	const char *prefix = "";
	char name[64];
	size_t n;

	if (at(e, 0) != '{' || close == NULL ||
	    (n = (size_t)(close - e->p) - 1) >= sizeof(name))
		return -EINVAL;
	memcpy(name, e->p + 1, n);
	name[n] = '\0';
	e->p = close + 1;
	for (size_t i = 0; i < ARRAY_LEN(prefixes); i++) {
		size_t len = strlen(prefixes[i].name);

		if (strncmp(name, prefixes[i].name, len) != 0)
			continue;
		prefix = prefixes[i].name_pcre2;
		memmove(name, name + len, n + 1 - len);
		break;
	}
	if (name[0] == '\0' ||
	    name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_"
			      "0123456789")] != '\0')
		return -EINVAL;
	for (size_t i = 0; prefix[0] == '\0' && i < ARRAY_LEN(properties); i++)
		if (strcmp(name, properties[i].name) == 0)
			return buf_printf(
			    e->out, "\\%c{%s}", letter, properties[i].name_pcre2);
	return buf_printf(e->out, "\\%c{%s%s}", letter, prefix, name);
}

/* The escapes of one character, after the backslash: 1; 0: another. */
static int
escape_character(struct ecma *e)
{
	static const char from[] = "0tnvfr", to[] = "\0\t\n\v\f\r";
	int c = at(e, 0), r;
	int32_t code;

	if (c == '0' && is_digit(at(e, 1)))
		return -EINVAL;
	if (one_of(c, from)) {
		e->p++;
		r = buf_printf(
		    e->out, "\\x{%x}", (unsigned int)to[strchr(from, c) - from]);
	} else if (c == 'u') {
		e->p++;
		r = escape_unicode(e);
	} else if (c == 'x') {
		if ((code = hex_n(e, 1, 2)) < 0)
			return -EINVAL;
		e->p += 3;
		r = buf_printf(e->out, "\\x{%x}", (unsigned int)code);
	} else if (c == 'c') {
		if (!is_letter(at(e, 1)))
			return -EINVAL;
		r = buf_printf(e->out, "\\x{%x}", (unsigned int)(at(e, 1) & 0x1f));
		e->p += 2;
	} else if (c >= 0x80 || (c > 0x20 && !is_letter(c) && !is_digit(c))) {
		e->p++;
		r = c >= 0x80 || c == '_' ? buf_putc(e->out, c)
					  : buf_printf(e->out, "\\%c", c);
	} else
		return 0;
	return r < 0 ? r : 1;
}

/* The escapes of a set of characters, after the backslash: 1; 0: another. */
static int
escape_set(struct ecma *e, bool in_class)
{
	int c = at(e, 0), r;

	if (!one_of(c, "dDwWsSpP"))
		return 0;
	e->p++;
	if (c == 'p' || c == 'P')
		r = escape_property(e, c);
	else if ((c | 0x20) != 's')
		r = buf_printf(e->out, "\\%c", c);
	else if (in_class)
		r = buf_puts(e->out, c == 's' ? SPACES : NOT_SPACES);
	else
		r = buf_puts(e->out, c == 's' ? "[" SPACES "]" : "[^" SPACES "]");
	return r < 0 ? r : 1;
}

/* \1 or \k<name>, after the backslash. */
static int
escape_reference(struct ecma *e)
{
	const char *from = e->p, *close;

	if (at(e, 0) == 'k') {
		close = memchr(e->p, '>', (size_t)(e->end - e->p));
		if (at(e, 1) != '<' || close == NULL)
			return -EINVAL;
		e->p = close + 1;
		return buf_printf(e->out, "\\%.*s", (int)(e->p - from), from);
	}
	while (is_digit(at(e, 0)) && e->p - from < 4)
		e->p++;
	if (e->p == from)
		return -EINVAL;
	return buf_printf(e->out, "\\g{%.*s}", (int)(e->p - from), from);
}

/* An escape outside [ ], after the backslash. */
static int
escape(struct ecma *e)
{
	int c = at(e, 0), r;

	e->atom = true;
	if (c == 'b' || c == 'B') {
		e->p++;
		e->atom = false;
		return buf_printf(e->out, "\\%c", c);
	}
	if ((r = escape_set(e, false)) != 0 || (r = escape_character(e)) != 0)
		return r < 0 ? r : 0;
	return escape_reference(e);
}

/* ---- [ ] ------------------------------------------------------------------ */

/* A hyphen next to a set is itself; PCRE2 sees what the set was translated to. */
static int
class_hyphen(struct ecma *e, bool after_set)
{
	bool before_set = at(e, 1) == '\\' && one_of(at(e, 2), "dDwWsSpP");

	e->p++;
	return buf_puts(e->out, after_set || before_set ? "\\-" : "-");
}

/* One element; *set: it was a set. */
static int
class_element(struct ecma *e, bool *set)
{
	bool after_set = *set;
	int c = at(e, 0), r;

	*set = false;
	if (c == '-')
		return class_hyphen(e, after_set);
	if (c != '\\') {
		e->p++;
		return c == '[' || c == '^' ? buf_printf(e->out, "\\%c", c)
					    : buf_putc(e->out, c);
	}
	e->p++;
	if (at(e, 0) == 'b') {
		e->p++;
		return buf_puts(e->out, "\\x{8}");
	}
	if ((r = escape_set(e, true)) != 0) {
		*set = true;
		return r < 0 ? r : 0;
	}
	r = escape_character(e);
	return r == 0 ? -EINVAL : r < 0 ? r : 0;
}

/* After "[". */
static int
class_read(struct ecma *e)
{
	bool negated = at(e, 0) == '^', set = false;
	int r;

	e->atom = true;
	e->p += negated;
	if (at(e, 0) == ']') {
		e->p++;
		return buf_puts(e->out, negated ? "[\\x{0}-\\x{10ffff}]" : "(?!)");
	}
	r = buf_puts(e->out, negated ? "[^" : "[");
	while (r == 0 && at(e, 0) != ']')
		r = at(e, 0) < 0 ? -EINVAL : class_element(e, &set);
	if (r < 0)
		return r;
	e->p++;
	return buf_putc(e->out, ']');
}

/* ---- groups and quantifiers ----------------------------------------------- */

/* After "(": what may follow it in ECMA-262. */
static int
group_open(struct ecma *e)
{
	static const char *const kinds[] = {
	    "?:", "?=", "?!", "?<=", "?<!", "?i:", "?-i:"};
	size_t left = (size_t)(e->end - e->p), n;

	e->atom = false;
	if (at(e, 0) != '?')
		return at(e, 0) == '*' ? -EINVAL : buf_putc(e->out, '(');
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		n = strlen(kinds[i]);
		if (left < n || memcmp(e->p, kinds[i], n) != 0)
			continue;
		e->p += n;
		return buf_printf(e->out, "(%s", kinds[i]);
	}
	if (at(e, 1) != '<' || !(is_letter(at(e, 2)) || at(e, 2) == '_'))
		return -EINVAL;
	e->p += 2;
	return buf_puts(e->out, "(?<");
}

/* Length of {N}, {N,} or {N,M} here, or 0. */
static size_t
braces(const struct ecma *e)
{
	size_t n = 1;

	while (is_digit(at(e, n)))
		n++;
	if (n == 1)
		return 0;
	if (at(e, n) == ',')
		for (n++; is_digit(at(e, n)); n++)
			;
	return at(e, n) == '}' ? n + 1 : 0;
}

static int
quantifier(struct ecma *e, size_t n)
{
	if (!e->atom)
		return -EINVAL;
	if (at(e, n) == '?')
		n++;
	e->atom = false; /* in PCRE2, one more has a meaning */
	e->p += n;
	return buf_put(e->out, e->p - n, n);
}

/* A character that is no escape, class, group or quantifier. */
static int
plain(struct ecma *e)
{
	int c = at(e, 0);

	e->p++;
	e->atom = !one_of(c, "^$|");
	if (c == '.')
		return buf_puts(e->out, "[^\\n\\r\\x{2028}\\x{2029}]");
	if (c == 0)
		return buf_puts(e->out, "\\x{0}");
	return one_of(c, "{}]") ? buf_printf(e->out, "\\%c", c) : buf_putc(e->out, c);
}

static int
step(struct ecma *e)
{
	int c = at(e, 0);
	size_t n = c == '{' ? braces(e) : one_of(c, "*+?");

	if (n > 0)
		return quantifier(e, n);
	if (c != '\\' && c != '[' && c != '(')
		return plain(e);
	e->p++;
	return c == '\\' ? escape(e) : c == '[' ? class_read(e) : group_open(e);
}

int
ecma_pattern(const char *text, size_t len, struct buf *out)
{
	struct ecma e = {.p = text, .end = text + len, .out = out};
	int r = 0;

	while (r == 0 && e.p < e.end)
		r = step(&e);
	return r;
}
