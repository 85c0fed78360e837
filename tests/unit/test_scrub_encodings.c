/*
 * Every encoder, cut everywhere, at every alignment, between random neighbours:
 * the value is found, and found alike however the text comes in.  S4-35 S4-36
 * K-06 ESCAPES 80
 *
 * The encoders here are their own, written as simply as can be.  CASES is how
 * many texts are cut and looked at (make scrub-long: a million and more).
 */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "leash/scrub/private.h"
#include "leash/scrub/scrub.h"
#include "leash/vault/vault.h"
#include "policy/tokens/weak_value.h"
#include "shim/base/array.h"
#include "shim/base/utf8.h"
#include "tests/unit/roll.h"
#include "tests/unit/scrub_kit.h"

/* ---- encoders: pre, value and post in, text out ------------------------------------- */

typedef void encoder(struct text *, const uint8_t *, size_t);

static void
bits(struct text *t, const uint8_t *v, size_t n, const char *alphabet, unsigned int width,
    size_t columns, const char *line)
{
	unsigned int have = 0, acc = 0;
	size_t i, col = 0;

	for (i = 0; i < n || have > 0; i++) {
		acc = acc << 8 | (i < n ? v[i] : 0u);
		have += 8;
		for (; have >= width || (i >= n && have > 0); have -= width) {
			if (have < width) {
				acc <<= width - have;
				have = width;
			}
			if (columns > 0 && col++ == columns) {
				puts_to(t, line);
				col = 1;
			}
			put(t, alphabet[acc >> (have - width) & ((1u << width) - 1)]);
			acc &= (1u << (have - width)) - 1;
		}
		if (i >= n)
			break;
	}
}

#define B64 "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
static void
raw(struct text *t, const uint8_t *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		put(t, v[i]);
}
static void
base64(struct text *t, const uint8_t *v, size_t n)
{
	bits(t, v, n, B64 "+/", 6, 0, "");
}
static void
base64url(struct text *t, const uint8_t *v, size_t n)
{
	bits(t, v, n, B64 "-_", 6, 0, "");
}
static void
base64_columns(struct text *t, const uint8_t *v, size_t n)
{
	bits(t, v, n, B64 "+/", 6, roll(2) ? 76 : 64, roll(2) ? "\r\n" : "\n");
}
static void
base64_columns_json(struct text *t, const uint8_t *v, size_t n)
{
	bits(t, v, n, B64 "+/", 6, roll(2) ? 76 : 64, roll(2) ? "\\r\\n" : "\\n");
}
static void
base64_slashes(struct text *t, const uint8_t *v, size_t n)
{
	struct text plain = {.n = 0};

	base64(&plain, v, n);
	for (size_t i = 0; i < plain.n; i++) {
		if (plain.byte[i] == '/')
			puts_to(t, "\\/");
		else if (plain.byte[i] == '+')
			puts_to(t, "\\u002b");
		else
			put(t, plain.byte[i]);
	}
}
static void
base64_percent(struct text *t, const uint8_t *v, size_t n)
{
	struct text plain = {.n = 0};

	base64(&plain, v, n);
	for (size_t i = 0; i < plain.n; i++) {
		if (plain.byte[i] == '/')
			puts_to(t, "%2F");
		else if (plain.byte[i] == '+')
			puts_to(t, "%2b");
		else
			put(t, plain.byte[i]);
	}
}
static void
base32(struct text *t, const uint8_t *v, size_t n)
{
	bits(t, v, n,
	    roll(2) ? "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
		    : "abcdefghijklmnopqrstuvwxyz234567",
	    5, 0, "");
}
/* The formats below are all of this file. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
static void
numbers(
    struct text *t, const uint8_t *v, size_t n, const char *format, const char *between)
{
	char one[32];

	for (size_t i = 0; i < n; i++) {
		(void)snprintf(one, sizeof(one), format, v[i]);
		puts_to(t, i > 0 ? between : "");
		puts_to(t, one);
	}
}
#pragma GCC diagnostic pop
static void
hex_lower(struct text *t, const uint8_t *v, size_t n)
{
	numbers(t, v, n, "%02x", "");
}
static void
hex_upper(struct text *t, const uint8_t *v, size_t n)
{
	numbers(t, v, n, "%02X", "");
}
static void
hex_mixed(struct text *t, const uint8_t *v, size_t n)
{
	size_t from = t->n;

	numbers(t, v, n, "%02x", "");
	for (; from < t->n; from++)
		if (roll(2))
			t->byte[from] = (uint8_t)toupper(t->byte[from]);
}
static void
hex_colons(struct text *t, const uint8_t *v, size_t n)
{
	numbers(t, v, n, roll(2) ? "%02x" : "%02X", ":");
}
static void
hex_spaces(struct text *t, const uint8_t *v, size_t n)
{
	numbers(t, v, n, roll(2) ? "%02x" : "%02X", " ");
}
static void
hex_c(struct text *t, const uint8_t *v, size_t n)
{
	numbers(t, v, n, roll(2) ? "0x%02x" : "0x%02X", roll(2) ? ", " : ",");
}
static void
hex_backslash(struct text *t, const uint8_t *v, size_t n)
{
	numbers(t, v, n, "\\x%02x", "");
}
static void
hex_backslash_json(struct text *t, const uint8_t *v, size_t n)
{
	numbers(t, v, n, "\\\\x%02x", "");
}
static void
percent_all(struct text *t, const uint8_t *v, size_t n)
{
	numbers(t, v, n, roll(2) ? "%%%02x" : "%%%02X", "");
}
static void
percent_some(struct text *t, const uint8_t *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (isalnum(v[i]) && roll(4))
			put(t, v[i]);
		else
			numbers(t, v + i, 1, "%%%02X", "");
}
static void
percent_twice(struct text *t, const uint8_t *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (isalnum(v[i]))
			put(t, v[i]);
		else
			numbers(t, v + i, 1, "%%25%02X", "");
}
static void
json_units(struct text *t, const uint8_t *v, size_t n)
{
	numbers(t, v, n, roll(2) ? "\\u%04x" : "\\u%04X", "");
}
static void
json_units_twice(struct text *t, const uint8_t *v, size_t n)
{
	numbers(t, v, n, "\\\\u%04x", "");
}
/* The character of UTF-8 at v[n], and its length. */
static unsigned int
code_at(const uint8_t *v, size_t n, size_t *ret_len)
{
	size_t len = v[0] >= 0xf0 ? 4 : v[0] >= 0xe0 ? 3 : v[0] >= 0xc0 ? 2 : 1, i;
	unsigned int code = len == 1 ? v[0] : v[0] & (0xffu >> (len + 1));

	assert_true(len <= n);
	for (i = 1; i < len; i++)
		code = code << 6 | (v[i] & 0x3fu);
	*ret_len = len;
	return code;
}

static void
json_some(struct text *t, const uint8_t *v, size_t n)
{
	for (size_t i = 0, used; i < n; i += used) {
		unsigned int code = code_at(v + i, n - i, &used);
		char unit[16];

		if (code == '\n') {
			puts_to(t, "\\n");
		} else if (code == '"' || code == '\\' || code == '/') {
			put(t, '\\');
			put(t, (int)code);
		} else if (roll(5) == 0) {
			if (code < 0x10000)
				(void)snprintf(unit, sizeof(unit), "\\u%04X", code);
			else
				(void)snprintf(unit, sizeof(unit), "\\u%04x\\u%04x",
				    0xd800 + ((code - 0x10000) >> 10),
				    0xdc00 + ((code - 0x10000) & 0x3ff));
			puts_to(t, unit);
		} else {
			raw(t, v + i, used);
		}
	}
}
static void
json_thrice(struct text *t, const uint8_t *v, size_t n)
{
	struct text once = {.n = 0}, twice = {.n = 0};

	json_some(&once, v, n);
	json_some(&twice, once.byte, once.n);
	json_some(t, twice.byte, twice.n);
}
static void
entities(struct text *t, const uint8_t *v, size_t n)
{
	static const char *const format[] = {
	    "&#%u;", "&#x%x;", "&#X%X;", "&#%05u;", "&#%u", "&#x%x"};

	numbers(t, v, n, format[roll(6)], "");
}
static void
entities_named(struct text *t, const uint8_t *v, size_t n)
{
	static const struct {
		const char *character, *name;
	} names[] = {{"&", "amp;"}, {"<", "lt;"}, {">", "gt"}, {"\"", "quot"},
	    {"'", "apos;"}, {"!", "excl;"}, {"#", "num;"}, {"$", "dollar;"},
	    {"%", "percnt;"}, {"+", "plus;"}, {"/", "sol;"}, {"=", "equals;"},
	    {":", "colon;"}, {"@", "commat;"}, {".", "period;"}, {"_", "lowbar;"},
	    {"\\", "bsol;"}, {"\n", "NewLine;"}, {"\u00e9", "eacute;"},
	    {"\u00fc", "uuml;"}, {"\u20ac", "euro;"}};
	size_t i = 0, k, len;

	while (i < n) {
		for (k = 0; k < ARRAY_LEN(names); k++) {
			len = strlen(names[k].character);
			if (n - i >= len && memcmp(v + i, names[k].character, len) == 0)
				break;
		}
		if (k == ARRAY_LEN(names)) {
			put(t, v[i++]);
			continue;
		}
		put(t, '&');
		puts_to(t, names[k].name);
		i += len;
	}
}
static void
entities_some(struct text *t, const uint8_t *v, size_t n)
{
	static const char *const name[] = {
	    "&&amp;", "<&lt;", ">&gt;", "\"&quot;", "'&apos;"};

	for (size_t i = 0, k; i < n; i++) {
		for (k = 0; k < 5 && name[k][0] != v[i]; k++)
			;
		if (k < 5)
			puts_to(t, name[k] + 1);
		else if (isalnum(v[i]))
			put(t, v[i]);
		else
			numbers(t, v + i, 1, "&#%u;", "");
	}
}
static void
quoted_printable(struct text *t, const uint8_t *v, size_t n)
{
	static const char *const soft[] = {
	    "=\r\n", "=\n", "= \r\n", "=\t\n", "= \t  \n", "=  \\r\\n"};

	for (size_t i = 0; i < n; i++) {
		if (i > 0 && roll(9) == 0)
			puts_to(t, soft[roll(ARRAY_LEN(soft))]);
		if (isalnum(v[i]) && v[i] < 0x80 && roll(5))
			put(t, v[i]);
		else
			numbers(t, v + i, 1, "=%02X", "");
	}
}
static void
utf16(struct text *t, const uint8_t *v, size_t n, bool big)
{
	for (size_t i = 0, used; i < n; i += used) {
		unsigned int code = code_at(v + i, n - i, &used), high = 0;

		if (code >= 0x10000) {
			high = 0xd800 + ((code - 0x10000) >> 10);
			code = 0xdc00 + ((code - 0x10000) & 0x3ff);
			put(t, (int)(big ? high >> 8 : high & 255));
			put(t, (int)(big ? high & 255 : high >> 8));
		}
		put(t, (int)(big ? code >> 8 : code & 255));
		put(t, (int)(big ? code & 255 : code >> 8));
	}
}
static void
utf16_little(struct text *t, const uint8_t *v, size_t n)
{
	utf16(t, v, n, false);
}
static void
utf16_cut(struct text *t, const uint8_t *v, size_t n)
{
	utf16(t, v, n, false);
	t->n -= t->byte[t->n - 1] == 0;
}
static void
utf16_big(struct text *t, const uint8_t *v, size_t n)
{
	utf16(t, v, n, true);
}
static void
utf16_base64(struct text *t, const uint8_t *v, size_t n)
{
	struct text wide = {.n = 0};

	utf16(&wide, v, n, roll(2) == 0);
	base64(t, wide.byte, wide.n);
}
static void
utf16_base64url(struct text *t, const uint8_t *v, size_t n)
{
	struct text wide = {.n = 0};

	utf16(&wide, v, n, roll(2) == 0);
	base64url(t, wide.byte, wide.n);
}
static void
hex_signs(struct text *t, const uint8_t *v, size_t n)
{
	static const char *const between[] = {";", "|", "; ", " | "};

	numbers(t, v, n, roll(2) ? "%02x" : "%02X", between[roll(4)]);
}
static void
hex_strings(struct text *t, const uint8_t *v, size_t n)
{
	static const char *const between[] = {"\",\"", "\", \"", "\",\n  \"", "', '"};

	numbers(t, v, n, roll(2) ? "%02x" : "0x%02X", between[roll(4)]);
}
static void
hex_strings_json(struct text *t, const uint8_t *v, size_t n)
{
	numbers(t, v, n, "%02x", roll(2) ? "\\\",\\\"" : "\\\",\\n\\\"");
}
static void
reversed(struct text *t, const uint8_t *v, size_t n)
{
	while (n-- > 0)
		put(t, v[n]);
}
static void
reversed_text(struct text *t, const uint8_t *v, size_t n)
{
	size_t from = t->n, used;

	for (size_t i = 0; i < n; i += used) {
		(void)code_at(v + i, n - i, &used);
		memmove(t->byte + from + used, t->byte + from, t->n - from);
		memcpy(t->byte + from, v + i, used);
		t->n += used;
	}
}

/* The bytes that an encoder made, each as a character. */
static void
as_characters(struct text *t, const struct text *bytes)
{
	uint8_t out[4];

	for (size_t i = 0; i < bytes->n; i++)
		for (size_t k = 0, used = utf8_put(bytes->byte[i], out); k < used; k++)
			put(t, out[k]);
}
static void
utf16_little_characters(struct text *t, const uint8_t *v, size_t n)
{
	static struct text bytes;

	bytes.n = 0;
	utf16(&bytes, v, n, false);
	as_characters(t, &bytes);
}
static void
utf16_big_characters(struct text *t, const uint8_t *v, size_t n)
{
	static struct text bytes;

	bytes.n = 0;
	utf16(&bytes, v, n, true);
	as_characters(t, &bytes);
}
static void
reversed_characters(struct text *t, const uint8_t *v, size_t n)
{
	static struct text bytes;

	bytes.n = 0;
	reversed(&bytes, v, n);
	as_characters(t, &bytes);
}

static const struct {
	const char *name;
	encoder *encode;
	bool line; /* what a line's end splits is held from four bytes on only */
} encoders[] = {
    {"raw", raw, false},
    {"base64", base64, false},
    {"base64url", base64url, false},
    {"base64 in columns", base64_columns, true},
    {"base64 in columns, JSON", base64_columns_json, false},
    {"base64, slashes escaped", base64_slashes, false},
    {"base64, percent", base64_percent, false},
    {"base32", base32, false},
    {"hex", hex_lower, false},
    {"HEX", hex_upper, false},
    {"HeX", hex_mixed, false},
    {"he:x", hex_colons, false},
    {"he x", hex_spaces, false},
    {"0xhe, 0x", hex_c, false},
    {"\\xhe", hex_backslash, false},
    {"\\\\xhe", hex_backslash_json, false},
    {"%XX", percent_all, false},
    {"percent where it must", percent_some, false},
    {"percent twice", percent_twice, false},
    {"\\uXXXX", json_units, false},
    {"\\\\uXXXX", json_units_twice, false},
    {"JSON", json_some, false},
    {"JSON in JSON in JSON", json_thrice, false},
    {"&#NN;", entities, false},
    {"&name;", entities_named, false},
    {"entities where they must", entities_some, false},
    {"quoted-printable", quoted_printable, false},
    {"UTF-16LE", utf16_little, false},
    {"UTF-16BE", utf16_big, false},
    {"UTF-16LE without its last zero", utf16_cut, false},
    {"base64 of UTF-16", utf16_base64, false},
    {"base64url of UTF-16", utf16_base64url, false},
    {"he;x", hex_signs, false},
    {"[\"he\",\"x\"]", hex_strings, false},
    {"[\\\"he\\\",\\\"x\\\"]", hex_strings_json, false},
    {"reversed", reversed, false},
    {"reversed by characters", reversed_text, false},
    {"UTF-16LE, each byte a character", utf16_little_characters, false},
    {"UTF-16BE, each byte a character", utf16_big_characters, false},
    {"reversed, each byte a character", reversed_characters, false},
};
#define ENCODERS (ARRAY_LEN(encoders))

/* ---- one case ------------------------------------------------------------------------ */

static void
value_of(char *out, size_t n)
{
	static const char chars[] = B64 "-_+/=.:@!#$%&<>\"'\\ ~";

	for (size_t i = 0; i < n; i++)
		out[i] = chars[roll(roll(3) ? 62 : sizeof(chars) - 1)];
	out[n] = '\0';
}

/* A value of n characters: of letters and signs, with quotes, letters that are not
 * ASCII, newlines, or digits alone. */
static void
value_like(char *out, size_t n, unsigned int kind)
{
	static const char *const letters[] = {
	    "\u00e9", "\u00fc", "\u20ac", "\u0436", "\U0001f600", "a", "Z", "7"};
	static const char *const quotes[] = {"\"", "'", "\\", "`", "{", "a", "9"};
	char one[8] = {0};

	if (kind == 0) {
		value_of(out, n);
		return;
	}
	for (*out = '\0'; n > 0; n--) {
		value_of(one, 1);
		if (kind == 1)
			strcat(out, letters[roll(8)]);
		else if (kind == 2)
			strcat(out, quotes[roll(7)]);
		else if (kind == 3)
			strcat(out, roll(9) == 0 ? "\n" : one);
		else
			strcat(out, (const char[]){(char)('0' + roll(10)), '\0'});
	}
	/* what is trimmed is not all masked */
	out[0] = out[0] == '\n' ? 'x' : out[0];
	if (out[strlen(out) - 1] == '\n')
		out[strlen(out) - 1] = 'y';
}

static void
neighbours(struct text *t, size_t n)
{
	static const char chars[] = "aZ09 +/=-_.,:;{}[]\"\\%&#xun<>\n\t(";

	while (n-- > 0)
		put(t, chars[roll(sizeof(chars) - 1)]);
}

/* pre and post are encoded with the value, as a server would that prints an
 * object; more stands around it as it is. */
static void
make_text(const struct kit *k, size_t e, size_t align, struct text *t)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
	struct text in = {.n = 0};
	size_t i;

	t->n = 0;
	neighbours(t, roll(roll(30) ? 12 : 700));
	put(t, '"');
	for (i = 0; i < align; i++)
		put(&in, letters[roll(26)]);
	raw(&in, k->value, k->n);
	for (i = roll(40); i > 0; i--)
		put(&in, letters[roll(26)]);
	encoders[e].encode(t, in.byte, in.n);
	put(t, '"');
	neighbours(t, roll(12));
}

static void
tell(const struct kit *k, size_t e, const struct text *t, const struct buf *out)
{
	print_error("%s\n value %.*s\n in  %.*s\n out %.*s\n", encoders[e].name,
	    (int)k->n, k->value, (int)t->n, t->byte, (int)out->len, out->data);
	fail();
}

static void
every_encoder_every_cut(void **state)
{
	static struct text t;
	struct buf whole, cut;
	long cases = 0, goal = getenv("CASES") ? atol(getenv("CASES")) : 60000;
	size_t e, align, i, times = 0;
	char value[256];
	struct kit k;

	if (getenv("SEED") != NULL)
		seed = strtoull(getenv("SEED"), NULL, 0) | 1;
	buf_init(&whole, 1 << 20);
	buf_init(&cut, 1 << 20);
	while (cases < goal) {
		do
			value_like(value, 8 + roll(roll(2) ? 12 : 40), times % 5);
		while (weak_value((uint8_t *)value, strlen(value)) != NULL);
		kit_open(&k, value);
		(void)net_walks(
		    &k.scrub->filter.net, times % SIEVE_KINDS); /* if it can */
		e = times % ENCODERS;
		align = times++ / ENCODERS % 5;
		make_text(&k, e, align, &t);
		through(&k, &t, 0, 0, &whole);
		/* each byte of the value is spelled in one or more, but for the
		 * ends that the neighbours determine too */
		if (whole.len + k.characters > t.n + 3 ||
		    memmem(whole.data, whole.len, "***", 3) == NULL)
			tell(&k, e, &t, &whole);
		for (i = 0; i <= t.n; i++, cases++) {
			through(&k, &t, i, i + roll((unsigned int)(t.n - i + 1)), &cut);
			if (encoders[e].line)
				continue; /* may be less than could be: see stream.c */
			if (cut.len != whole.len ||
			    memcmp(cut.data, whole.data, cut.len) != 0) {
				print_error("cut at %zu\n", i);
				tell(&k, e, &t, &cut);
			}
		}
		kit_close(&k);
	}
	print_message("%ld cases, %zu texts\n", cases, times);
	buf_free(&whole);
	buf_free(&cut);
}

/* ---- the ways of the sieve ------------------------------------------------------------ */

#define WALKED 1200

/* What one way over a text sees: flags, and where it stops for which hooks. */
struct walked {
	unsigned int flags;
	bool stopped[WALKED / SIEVE_CHUNK + 1];
	uint64_t hook[WALKED / SIEVE_CHUNK + 1][SIEVE_WORDS];
};

static bool
walk(struct net *net, enum sieve_kind kind, const uint8_t *text, size_t n,
    struct walked *w)
{
	struct sieve sieve = {0};
	size_t at = 0;

	memset(w, 0, sizeof(*w));
	if (!net_walks(net, kind))
		return false;
	for (; (at = sieve_next(net, text, n, at, &sieve)) < n; at += SIEVE_CHUNK) {
		w->stopped[at / SIEVE_CHUNK] = true;
		memcpy(w->hook[at / SIEVE_CHUNK], sieve.hook, sizeof(sieve.hook));
	}
	w->flags = sieve.flags;
	return true;
}

static void
random_text(uint8_t *text, size_t n)
{
	static const char some[] =
	    "\\%&=\n\r0:9aF x,nr_-.ghp_AKIAxoxb-sk-lp.aeyJ~\x80\xff";
	static const char pairs[] = "0123456789abcdef: ,x";
	unsigned int kind = roll(3);

	for (size_t i = 0; i < n; i++) {
		if (kind == 0)
			text[i] = (uint8_t)pairs[roll(20)];
		else if (kind == 1)
			text[i] = (uint8_t)('g' + roll(14));
		else
			text[i] = (uint8_t)some[roll(sizeof(some) - 1 - roll(8))];
	}
}

/* Wider ways stop wherever the plain one does, and see the same escapes. */
static void
all_ways_say_the_same(void **state)
{
	static const char *const values[] = {"short", "a-value-of-twenty-by",
	    "one-that-is-as-long-as-the-usual-ones-are-too"};
	static uint8_t text[WALKED];
	struct walked plain, wide;
	size_t n, i, k, stops = 0;
	struct net *net = NULL;
	struct kit kit;

	kit_open(&kit, values[0]);
	for (int turn = 0; turn < 9000; turn++) {
		if (turn % 3000 == 0) {
			kit_close(&kit);
			kit_open(&kit, values[turn / 3000]);
			net = &kit.scrub->filter.net;
		}
		n = roll(roll(3) ? 300 : WALKED);
		random_text(text, n);
		if (n > 100 && roll(4) == 0)
			memcpy(text + roll((unsigned int)n - 50), kit.value, kit.n);
		assert_true(walk(net, SIEVE_PLAIN, text, n, &plain));
		for (int kind = SIEVE_AVX2; kind < SIEVE_KINDS; kind++) {
			if (!walk(net, kind, text, n, &wide))
				continue;
			assert_int_equal(plain.flags, wide.flags);
			for (i = 0; i < sizeof(plain.stopped); i++) {
				stops += plain.stopped[i];
				assert_true(wide.stopped[i] || !plain.stopped[i]);
				for (k = 0; k < SIEVE_WORDS; k++)
					assert_true(
					    (plain.hook[i][k] & ~wide.hook[i][k]) == 0);
			}
		}
	}
	kit_close(&kit);
	/* none where the processor has no wide way */
	print_message("%zu stops of wider ways\n", stops);
}

static void
values_stand_at_every_place(void **state)
{
	static const size_t lens[] = {
	    4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 16, 17, 23, 31, 38, 39, 40, 70, 200};
	char value[256];
	struct kit k;

	for (size_t i = 0; i < ARRAY_LEN(lens); i++)
		for (int kind = 0; kind < SIEVE_KINDS; kind++) {
			value_of(value, lens[i]);
			value[0] = '#'; /* not of the text around it */
			value[lens[i] - 1] = '#';
			kit_open(&k, value);
			if (net_walks(&k.scrub->filter.net, kind))
				at_every_place(&k, value, "***");
			kit_close(&k);
		}
}

/* Digits of hex by the group, however many the server writes together. */
static void
attack_hex_in_groups_at_every_place(void **state)
{
	static const size_t lens[] = {8, 11, 12, 40}, groups[] = {2, 4, 8, 10, 16, 20};
	static const char *const between[] = {":", " ", "\\t", "\\n", "_", ", 0x"};
	static const char digit[] = "0123456789abcdef";
	char value[65];
	static struct text t;
	struct kit k;

	for (size_t i = 0; i < 4 * 6 * SIEVE_KINDS; i++) {
		size_t len = lens[i % 4], group = groups[i / 4 % 6];

		value_of(value, len);
		kit_open(&k, value);
		t.n = 0;
		for (size_t at = 0; at < 2 * len; at++) {
			unsigned int c = k.value[at / 2];

			if (at > 0 && at % group == 0)
				puts_to(&t, between[(i + i / 24) % 6]);
			put(&t, digit[at % 2 ? c & 15 : c >> 4]);
		}
		put(&t, '\0');
		if (net_walks(&k.scrub->filter.net, (enum sieve_kind)(i / 24)))
			at_every_place(&k, (const char *)t.byte, "***");
		kit_close(&k);
	}
}

/* ---- what is told apart from ordinary text --------------------------------------------- */

static void
weak_values_are_named(void **state)
{
	static const struct {
		const char *value;
		bool weak;
	} rows[] = {{"1234567", true}, {"12345678", true}, {"password", true},
	    {"ChangeMe", true}, {"aaaaaaaaaaaa", true}, {"abababababab", true},
	    {"hgfedcba", true}, {"s3cret-v4lue", false}, {"Tr0ub4dor", false},
	    {"00112233445566778899", false}};
	struct vault *v;
	struct secret *s;
	struct reason why;

	assert_int_equal(vault_new(1u << 16, &v), 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "KENNEL_W%zu", i);
		assert_int_equal(setenv(name, rows[i].value, 1), 0);
		assert_int_equal(secret_from_env(v, name, &s, &why), 0);
		assert_int_equal(scrub_weakness(s) != NULL, rows[i].weak);
	}
	vault_free(v);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
	    cmocka_unit_test(all_ways_say_the_same),
	    cmocka_unit_test(values_stand_at_every_place),
	    cmocka_unit_test(attack_hex_in_groups_at_every_place),
	    cmocka_unit_test(weak_values_are_named),
	    cmocka_unit_test(every_encoder_every_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
