/*
 * Values are taken out of what a server says, however it is cut and spelled.
 * S4-35 S4-36 K-06
 *
 * Run with "bench" it prints its speed beside memcpy instead.
 */
#include <ctype.h>
#include <errno.h>
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
#include "tests/unit/roll.h"
#include "tests/unit/scrub_bench.h"

#define VALUES 6

struct kit {
	struct vault *vault;
	struct scrub *scrub;
	char value[VALUES][600];
	int n;
};

static void
kit_open(struct kit *k)
{
	memset(k, 0, sizeof(*k));
	assert_int_equal(vault_new(1u << 20, &k->vault), 0);
	assert_int_equal(scrub_new(&k->scrub), 0);
}

static void
kit_learn(struct kit *k, const char *value)
{
	struct secret *s;
	struct reason why;
	char name[16];

	(void)snprintf(name, sizeof(name), "KENNEL_S%d", k->n);
	assert_int_equal(setenv(name, value, 1), 0);
	assert_int_equal(secret_from_env(k->vault, name, &s, &why), 0);
	assert_int_equal(scrub_learn(k->scrub, s, (uint32_t)k->n), 0);
	(void)snprintf(k->value[k->n++], sizeof(k->value[0]), "%s", value);
}

static void
kit_close(struct kit *k)
{
	scrub_free(k->scrub);
	vault_free(k->vault);
}

/* In through pieces that end at cut[0..cut_n). */
static void
run(struct kit *k, const char *in, size_t len, const size_t *cut, size_t cut_n,
    struct buf *out)
{
	struct scrub_stream *st;
	size_t i, at = 0;

	buf_clear(out);
	assert_int_equal(scrub_stream_new(k->scrub, &st), 0);
	for (i = 0; i < cut_n; i++) {
		assert_int_equal(scrub_feed(st, in + at, cut[i] - at, out), 0);
		at = cut[i];
	}
	assert_int_equal(scrub_feed(st, in + at, len - at, out), 0);
	assert_int_equal(scrub_flush(st, out), 0);
	scrub_stream_free(st);
}

/* ---- what it must do, written as simply as can be -------------------------- */

struct ref {
	char byte[8192];
	size_t from[8192], to[8192]; /* in the text */
	size_t n;
};

static int
ref_hex4(const struct ref *r, size_t i)
{
	char four[5] = {0};
	size_t k;

	if (i + 6 > r->n || r->byte[i] != '\\' || r->byte[i + 1] != 'u')
		return -1;
	for (k = 0; k < 4; k++) {
		if (strchr("0123456789abcdefABCDEF", r->byte[i + 2 + k]) == NULL ||
		    r->byte[i + 2 + k] == '\0')
			return -1;
		four[k] = r->byte[i + 2 + k];
	}
	return (int)strtol(four, NULL, 16);
}

static void
ref_put(struct ref *d, char c, size_t from, size_t to)
{
	d->byte[d->n] = c;
	d->from[d->n] = from;
	d->to[d->n++] = to;
}

static void
ref_code(struct ref *d, const struct ref *s, unsigned int c, size_t i, size_t len)
{
	size_t from = s->from[i], to = s->to[i + len - 1];

	if (c < 0x80) {
		ref_put(d, (char)c, from, to);
	} else if (c < 0x800) {
		ref_put(d, (char)(0xc0 + c / 64), from, to);
		ref_put(d, (char)(0x80 + c % 64), from, to);
	} else if (c < 0x10000) {
		ref_put(d, (char)(0xe0 + c / 4096), from, to);
		ref_put(d, (char)(0x80 + c / 64 % 64), from, to);
		ref_put(d, (char)(0x80 + c % 64), from, to);
	} else {
		ref_put(d, (char)(0xf0 + c / 262144), from, to);
		ref_put(d, (char)(0x80 + c / 4096 % 64), from, to);
		ref_put(d, (char)(0x80 + c / 64 % 64), from, to);
		ref_put(d, (char)(0x80 + c % 64), from, to);
	}
}

static void
ref_decode(const struct ref *s, struct ref *d)
{
	static const char names[] = "\"'\\/bfnrt", chars[] = "\"'\\/\b\f\n\r\t";
	size_t i = 0;

	d->n = 0;
	while (i < s->n) {
		const char *simple = NULL;
		int a = ref_hex4(s, i), b = ref_hex4(s, i + 6);

		if (s->byte[i] == '\\' && i + 1 < s->n && s->byte[i + 1] != '\0')
			simple = strchr(names, s->byte[i + 1]);
		if (simple != NULL) {
			ref_put(d, chars[simple - names], s->from[i], s->to[i + 1]);
			i += 2;
		} else if (a >= 0xd800 && a < 0xdc00 && b >= 0xdc00 && b < 0xe000) {
			ref_code(d, s,
			    0x10000u + (unsigned int)(a - 0xd800) * 1024u +
				(unsigned int)(b - 0xdc00),
			    i, 12);
			i += 12;
		} else if (a >= 0 && (a < 0xd800 || a > 0xdfff)) {
			ref_code(d, s, (unsigned int)a, i, 6);
			i += 6;
		} else {
			ref_put(d, s->byte[i], s->from[i], s->to[i]);
			i++;
		}
	}
}

/* mask[i]: byte i of the text is masked; start[i]: a hit starts at i. */
static void
ref_mark(const struct ref *r, const char *p, size_t len, size_t *reach)
{
	size_t i;

	for (i = 0; i + len <= r->n; i++)
		if (memcmp(r->byte + i, p, len) == 0 &&
		    reach[r->from[i]] < r->to[i + len - 1])
			reach[r->from[i]] = r->to[i + len - 1];
}

/* The same without outer white space. */
static void
ref_mark_inner(const struct ref *r, const char *p, size_t len, size_t *reach)
{
	for (; len > 0 && (unsigned char)*p <= 0x20; p++)
		len--;
	while (len > 0 && (unsigned char)p[len - 1] <= 0x20)
		len--;
	if (len >= SCRUB_LEN_MIN)
		ref_mark(r, p, len, reach);
}

/* Is this line of a value looked for? */
static bool
ref_is_line(const char *p, size_t len)
{
	bool some = false;
	size_t i;

	for (; len > 0 && (unsigned char)*p <= 0x20; p++)
		len--;
	while (len > 0 && (unsigned char)p[len - 1] <= 0x20)
		len--;
	for (i = 0; i < len; i++)
		some |= isalnum((unsigned char)p[i]) || (unsigned char)p[i] >= 0x80;
	return some && weak_value((const uint8_t *)p, len) == NULL;
}

static void
ref_mark_lines(const struct ref *r, const char *p, const char *ends, size_t *reach)
{
	size_t len;

	if (strpbrk(p, ends) == NULL)
		return;
	for (; *p != '\0'; p += len + (p[len] != '\0')) {
		len = strcspn(p, ends);
		if (ref_is_line(p, len))
			ref_mark_inner(r, p, len, reach);
	}
}

/* Which bytes of the last text the reference masked. */
static bool ref_masked[8192];

static void
reference(const struct kit *k, const char *in, size_t len, struct buf *out)
{
	static struct ref r[4];
	static size_t reach[8192];
	size_t i, end = 0;
	int d, v;

	assert_true(len < 8000);
	memset(reach, 0, sizeof(reach));
	r[0].n = 0;
	for (i = 0; i < len; i++)
		ref_put(&r[0], in[i], i, i + 1);
	ref_decode(&r[0], &r[1]);
	ref_decode(&r[1], &r[2]);
	ref_decode(&r[2], &r[3]);
	for (d = 0; d < 4; d++) {
		for (v = 0; v < k->n; v++) {
			const char *p = k->value[v];

			ref_mark(&r[d], p, strlen(p), reach);
			ref_mark_inner(&r[d], p, strlen(p), reach);
			ref_mark_lines(&r[d], p, "\n", reach);
			ref_mark_lines(&r[d], p, "\n\r", reach);
		}
	}
	buf_clear(out);
	for (i = 0; i < len; i++) {
		if (reach[i] > 0 && i >= end)
			assert_int_equal(buf_puts(out, "***"), 0);
		if (reach[i] > end)
			end = reach[i];
		ref_masked[i] = i < end;
		if (i >= end)
			assert_int_equal(buf_put(out, in + i, 1), 0);
	}
}

/* ---- every spelling × every split × many texts -------------------------------- */

/* One byte or character of p as some JSON encoder might write it. */
static size_t
spell(const unsigned char *p, char *out, bool always)
{
	static const char names[] = "\"\\/bfnrt", chars[] = "\"\\/\b\f\n\r\t";
	const char *c = strchr(chars, *p);
	unsigned int code = *p, n = 1;

	if (*p >= 0xf0 && p[1] >= 0x80 && p[2] >= 0x80 && p[3] >= 0x80) {
		code = (*p & 7u) << 18 | (p[1] & 63u) << 12 | (p[2] & 63u) << 6 |
		       (p[3] & 63u);
		n = 4;
	} else if (*p >= 0xe0 && *p < 0xf0 && p[1] >= 0x80 && p[2] >= 0x80) {
		code = (*p & 15u) << 12 | (p[1] & 63u) << 6 | (p[2] & 63u);
		n = 3;
	} else if (*p >= 0xc0 && *p < 0xe0 && p[1] >= 0x80) {
		code = (*p & 31u) << 6 | (p[1] & 63u);
		n = 2;
	}
	if (c != NULL && *p != '\0' && roll(3) > 0)
		(void)sprintf(out, "\\%c", names[c - chars]);
	else if (code >= 0x10000 && roll(2) == 0)
		(void)sprintf(out, roll(2) ? "\\u%04x\\u%04X" : "\\u%04X\\u%04x",
		    0xd800 + ((code - 0x10000) >> 10),
		    0xdc00 + ((code - 0x10000) & 1023));
	else if (code < 0x10000 && (*p < 0x80 || n > 1) &&
		 (*p < 0x20 || *p == '"' || *p == '\\' || always || roll(6) == 0))
		(void)sprintf(out, roll(2) ? "\\u%04x" : "\\u%04X", code);
	else
		(void)sprintf(out, "%.*s", (int)n, (const char *)p);
	return n;
}

static void
spell_all(const char *p, size_t len, char *out)
{
	char copy[1024] = {0};
	size_t i = 0;
	bool always = roll(8) == 0;

	memcpy(copy, p, len);
	*out = '\0';
	while (i < len) {
		i += spell((unsigned char *)copy + i, out, always);
		out += strlen(out);
	}
}

static void
make_value(char *out, const char *before)
{
	static const char *const piece[] = {"a", "b", "a", "ab", "\"", "\\", "\n", "/",
	    "\t", "é", "€", "😀", "u", "n", "0041", "\r", "\x01", "\xff"};
	unsigned int n = 4 + roll(roll(2) ? 6 : 24);

	*out = '\0';
	if (before != NULL && roll(3) == 0) /* one value begins another */
		(void)sprintf(out, "%.*s", (int)(strlen(before) / 2), before);
	while (n-- > 0)
		strcat(out, piece[roll(ARRAY_LEN(piece))]);
	if (strlen(out) < 4)
		strcat(out, "xyzt");
}

static size_t
make_text(const struct kit *k, char *out)
{
	static const char *const noise[] = {"a", "b", "\\", "\"", "\\\\", "\\u", "\\u00",
	    "{\"x\":", "ab", "\\ud83d", "\n", "é", "\xf0", "\\n", "0041", "*", "\\u005c"};
	char once[6000], twice[12000];
	unsigned int n = 1 + roll(5);

	*out = '\0';
	while (n-- > 0 && strlen(out) < 90) {
		const char *v = k->value[roll((unsigned int)k->n)];
		size_t len = strlen(v), from = 0;

		if (roll(3) == 0)
			len = roll((unsigned int)len + 1); /* nearly */
		else if (roll(6) == 0)
			from = roll((unsigned int)len);
		switch (roll(5)) {
		case 0:
		case 1:
			strncat(out, v + from, len - from);
			break;
		case 2:
			spell_all(v + from, len - from, once);
			strcat(out, once);
			break;
		case 3:
			spell_all(v + from, len - from > 20 ? 20 : len - from, once);
			spell_all(once, strlen(once) > 900 ? 900 : strlen(once), twice);
			strcat(out, twice);
			break;
		default:
			strcat(out, noise[roll(ARRAY_LEN(noise))]);
		}
	}
	return strlen(out);
}

/* Can got be the text with masks such that no byte is left that the reference
 * masked?  here[i]: got up to some byte can be the text up to i. */
static bool
masks_as_much(const char *in, size_t len, const struct buf *got)
{
	static bool can[4][8193]; /* of four bytes of got, one behind the other */
	size_t i, j, first;

	memset(can, 0, sizeof(can));
	can[0][0] = true;
	for (j = 0; j < got->len; j++) {
		bool *here = can[j % 4], *next = can[(j + 1) % 4],
		     *behind = can[(j + 3) % 4];
		bool mask = got->len - j >= 3 && memcmp(got->data + j, "***", 3) == 0;

		memset(behind, 0, sizeof(can[0]));
		first = len + 1;
		for (i = 0; i <= len; i++) {
			if (mask && i > first)
				behind[i] = true;
			if (!here[i])
				continue;
			if (first > len)
				first = i;
			if (i < len && !ref_masked[i] && in[i] == (char)got->data[j])
				next[i + 1] = true;
		}
	}
	return can[got->len % 4][len];
}

/* Texts of which more was masked than the reference knows of: it does not join
 * lines of base64, of which some lines of values consist, and knows no encoding. */
static size_t more_than_it_knows;

static void
same(const struct kit *k, const char *in, size_t len, const struct buf *got,
    const struct buf *want, size_t cut)
{
	if (got->len == want->len && memcmp(got->data, want->data, got->len) == 0)
		return;
	if (masks_as_much(in, len, got)) {
		more_than_it_knows += cut == 0;
		return;
	}
	print_error("cut at %zu\n in   %.*s\n got  %.*s\n want %.*s\n", cut, (int)len, in,
	    (int)got->len, got->data, (int)want->len, want->data);
	for (int i = 0; i < k->n; i++)
		print_error(" value %s\n", k->value[i]);
	fail();
}

static void
it_does_what_the_reference_does(void **state)
{
	static char text[64000];
	struct buf got, want;
	struct kit k;
	size_t len, i, cut[64], masked = 0;
	long cases = 0, goal = getenv("CASES") ? atol(getenv("CASES")) : 200000;

	if (getenv("SEED") != NULL)
		seed = strtoull(getenv("SEED"), NULL, 0) | 1;
	buf_init(&got, 1 << 20);
	buf_init(&want, 1 << 20);
	while (cases < goal) {
		int n = 1 + (int)roll(VALUES), t;
		char v[600];

		kit_open(&k);
		while (k.n < n) {
			make_value(v, k.n > 0 ? k.value[k.n - 1] : NULL);
			kit_learn(&k, v);
		}
		for (t = 0; t < 60; t++) {
			len = make_text(&k, text);
			reference(&k, text, len, &want);
			masked += want.len != len || memcmp(want.data, text, len) != 0;
			for (i = 0; i <= len; i++, cases++) {
				run(&k, text, len, &i, 1, &got);
				same(&k, text, len, &got, &want, i);
			}
			for (i = 0; i < 64 && i < len; i++)
				cut[i] = i + 1; /* byte by byte */
			run(&k, text, len, cut, i, &got);
			same(&k, text, len, &got, &want, 99999);
			cases++;
		}
		kit_close(&k);
	}
	print_message("%ld cases, %zu texts with a value, %zu with more\n", cases, masked,
	    more_than_it_knows);
	assert_true(masked > 100);
	assert_true(more_than_it_knows <= 1 + masked / 500);
	buf_free(&got);
	buf_free(&want);
}

/* ---- single cases ---------------------------------------------------------------- */

struct row {
	const char *value[3];
	const char *in; /* '|' cuts */
	const char *out;
};

static const struct row rows[] = {
    {{"s3cret"}, "the s3cret is out", "the *** is out"},
    {{"s3cret"}, "s3crets3cret", "******"},
    {{"s3cret"}, "s3cre", "s3cre"},
    /* overlapping ones are one mask; a value that begins another */
    {{"abcdef", "defghi"}, "xabcdefghix", "x***x"},
    {{"token", "token-long"}, "token-lon token-long tokem", "***-lon *** tokem"},
    {{"abab"}, "abababab", "***"},
    {{"abab"}, "xab|ab|ab|aby", "x***y"},
    /* the two leaks of GitLab's masker */
    {{"xaab"}, "xaxa|xaab", "xaxa***"},
    {{"aaaaaaaaTOKEN"}, "xaaaaaaaa|aTOKEN", "xa***"},
    {{"aaab"}, "aa|aab", "a***"},
    /* JSON spellings */
    {{"a\"b\\c/d"}, "{\"v\":\"a\\\"b\\\\c\\/d\"}", "{\"v\":\"***\"}"},
    {{"a\"b\\c/d"}, "\\u0061\\u0022\\u0062\\u005C\\u0063\\u002f\\u0064", "***"},
    {{"a\"b\\c/d"}, "x\\u00|61\\|\"b\\\\|c/dx", "x***x"},
    {{"two\nlines"}, "two\\nlines two\nlines two\\\\nlines", "*** *** ***"},
    {{"a\"bc"}, "a\\\\\\\"bc a\\u005c\\u0022bc", "*** ***"},
    {{"caf\xc3\xa9-\xf0\x9f\x98\x80"}, "caf\\u00E9-\\uD83D\\ude00!", "***!"},
    {{"caf\xc3\xa9-\xf0\x9f\x98\x80"}, "caf\\u00E9-\\uD83D|\\|ude00!", "***!"},
    {{"abcd"}, "ab\\u0063e \\ud83d \\x \\", "ab\\u0063e \\ud83d \\x \\"},
    {{"abc\\"}, "abc\\", "***"},
    /* each line of a value of several, from eight bytes on */
    {{"first-line\nsecond-line\nshort"}, "x second-line y short z", "x *** y short z"},
    {{"first-line\nsecond-line\nshort"}, "first-line\\nsecond-line\\nshort", "***"},
    {{"first-line\r\nsecond-line\r\n"}, "first-line\nsecond-line\n", "***\n***\n"},
};

static void
rows_hold(void **state)
{
	char text[512];
	size_t i, v, len, cut_n, cut[16];
	struct buf out;
	struct kit k;
	const char *c;

	buf_init(&out, 4096);
	for (i = 0; i < ARRAY_LEN(rows); i++) {
		kit_open(&k);
		for (v = 0; v < 3 && rows[i].value[v] != NULL; v++)
			kit_learn(&k, rows[i].value[v]);
		len = cut_n = 0;
		for (c = rows[i].in; *c != '\0'; c++) {
			if (*c == '|')
				cut[cut_n++] = len;
			else
				text[len++] = *c;
		}
		run(&k, text, len, cut, cut_n, &out);
		assert_string_equal(buf_str(&out), rows[i].out);
		kit_close(&k);
	}
	buf_free(&out);
}

/* The longest value, each byte spelled in 36, byte by byte at its end. */
static void
the_longest_spelling_is_held(void **state)
{
	static char value[VAULT_VALUE_MAX + 1];
	struct kit k = {0};
	struct scrub_stream *st;
	struct secret *s;
	struct buf out, text;
	struct reason why;
	char six[8], *c;
	size_t i;

	for (i = 0; i < VAULT_VALUE_MAX; i++)
		value[i] = (char)('a' + i % 7 + i % 11);
	assert_int_equal(vault_new(1u << 20, &k.vault), 0);
	assert_int_equal(scrub_new(&k.scrub), 0);
	(void)setenv("KENNEL_BIG", value, 1);
	assert_int_equal(secret_from_env(k.vault, "KENNEL_BIG", &s, &why), 0);
	assert_int_equal(scrub_learn(k.scrub, s, 7), 0);
	assert_int_equal(scrub_stream_new(k.scrub, &st), 0);
	assert_int_equal(scrub_learn(k.scrub, s, 8), -EBUSY);
	buf_init(&out, 8 << 20);
	buf_init(&text, 8 << 20);
	for (i = 0; i < VAULT_VALUE_MAX; i++) {
		(void)snprintf(six, sizeof(six), "\\u%04x", value[i]);
		for (c = six; *c != '\0'; c++)
			assert_int_equal(buf_printf(&text, "\\u%04x", *c), 0);
	}
	assert_int_equal(buf_puts(&text, " end"), 0);
	for (i = 0; i < text.len; i += 300001)
		assert_int_equal(scrub_feed(st, text.data + i,
				     text.len - i < 300001 ? text.len - i : 300001, &out),
		    0);
	assert_int_equal(scrub_flush(st, &out), 0);
	assert_string_equal(buf_str(&out), "*** end");
	assert_int_equal(scrub_count(k.scrub, 7), 1);
	scrub_stream_free(st);
	buf_free(&out);
	buf_free(&text);
	kit_close(&k);
}

static void
only_what_may_become_a_value_is_held(void **state)
{
	struct scrub_stream *st;
	struct buf out;
	struct kit k;

	kit_open(&k);
	kit_learn(&k, "token-value");
	buf_init(&out, 100);
	assert_int_equal(scrub_stream_new(k.scrub, &st), 0);
	assert_int_equal(scrub_feed(st, "hello tok", 9, &out), 0);
	assert_string_equal(buf_str(&out), "hello ");
	assert_int_equal(scrub_feed(st, "ay.", 3, &out), 0);
	assert_string_equal(buf_str(&out), "hello tokay.");
	assert_int_equal(scrub_feed(st, " token-", 7, &out), 0);
	assert_int_equal(scrub_flush(st, &out), 0);
	assert_string_equal(buf_str(&out), "hello tokay. token-");
	/* a flush forgets: the next message does not go on with it */
	assert_int_equal(scrub_feed(st, "value.", 6, &out), 0);
	assert_string_equal(buf_str(&out), "hello tokay. token-value.");
	assert_int_equal(scrub_count(k.scrub, 0), 0);
	scrub_stream_free(st);
	buf_free(&out);
	kit_close(&k);
}

static void
counts_are_per_value_over_streams(void **state)
{
	struct kit k;
	struct buf out;
	size_t cut[] = {3, 9};

	kit_open(&k);
	kit_learn(&k, "first-value");
	kit_learn(&k, "second-value");
	buf_init(&out, 1000);
	run(&k, "first-value second-value first\\u002dvalue", 41, cut, 2, &out);
	assert_string_equal(buf_str(&out), "*** *** ***");
	run(&k, "first-value", 11, NULL, 0, &out);
	assert_int_equal(scrub_count(k.scrub, 0), 3);
	assert_int_equal(scrub_count(k.scrub, 1), 1);
	assert_int_equal(scrub_count(k.scrub, 2), 0);
	buf_free(&out);
	kit_close(&k);
}

static void
a_full_buffer_ends_the_stream(void **state)
{
	struct scrub_stream *st;
	struct buf out;
	struct kit k;

	kit_open(&k);
	kit_learn(&k, "token-value");
	buf_init(&out, 10);
	assert_int_equal(scrub_stream_new(k.scrub, &st), 0);
	assert_int_equal(scrub_feed(st, "....!", 5, &out), 0);
	assert_int_equal(scrub_feed(st, "12 token-value 34", 17, &out), -EMSGSIZE);
	assert_string_equal(buf_str(&out), "....!");
	buf_clear(&out);
	assert_int_equal(scrub_feed(st, "x", 1, &out), -EMSGSIZE);
	assert_int_equal(scrub_flush(st, &out), -EMSGSIZE);
	assert_int_equal(out.len, 0);
	scrub_stream_free(st);
	buf_free(&out);
	kit_close(&k);
}

/* S4-30, ESCAPES 82: what goes into a record goes through here first. */
static void
a_text_for_a_record(void **state)
{
	struct buf out;
	struct kit k;

	kit_open(&k);
	kit_learn(&k, "token-value");
	buf_init(&out, 64);
	assert_int_equal(scrub_text(k.scrub, "/bin/token-value", &out), 0);
	assert_string_equal((char *)out.data, "/bin/***");
	assert_int_equal(scrub_text(k.scrub, "token-valu", &out), 0);
	assert_string_equal((char *)out.data, "token-valu");
	assert_int_equal(scrub_text(k.scrub, "", &out), 0);
	assert_string_equal((char *)out.data, "");
	buf_free(&out);
	buf_init(&out, 8);
	assert_true(scrub_text(k.scrub, "more than eight", &out) < 0);
	buf_free(&out);
	kit_close(&k);
}

static void
nothing_to_hide_passes_everything(void **state)
{
	struct buf out;
	struct kit k;

	kit_open(&k);
	buf_init(&out, 100);
	run(&k, "abc\\u0041\\", 10, NULL, 0, &out);
	assert_string_equal(buf_str(&out), "abc\\u0041\\");
	buf_free(&out);
	kit_close(&k);
}

int
main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
	    cmocka_unit_test(rows_hold),
	    cmocka_unit_test(it_does_what_the_reference_does),
	    cmocka_unit_test(the_longest_spelling_is_held),
	    cmocka_unit_test(only_what_may_become_a_value_is_held),
	    cmocka_unit_test(counts_are_per_value_over_streams),
	    cmocka_unit_test(a_full_buffer_ends_the_stream),
	    cmocka_unit_test(a_text_for_a_record),
	    cmocka_unit_test(nothing_to_hide_passes_everything),
	};

	if (argc > 1 && strcmp(argv[1], "bench") == 0)
		return scrub_bench();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
