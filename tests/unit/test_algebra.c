/*
 * The algebra against brute force: random families of sets over small domains,
 * every member of the domain asked one by one.  The seed is fixed.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <arpa/inet.h>
#include <cmocka.h>

#include "policy/algebra/algebra.h"
#include "shim/base/array.h"

#define LEN(a) (ARRAY_LEN(a))

static uint64_t seed = 20261122;

static uint32_t
roll(uint32_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(seed >> 33) % n;
}

/* ---- a second matcher, plain and slow ------------------------------------------- */

static bool
glob(const char *p, size_t pn, const char *t, size_t tn)
{
	if (pn == 0)
		return tn == 0;
	if (*p == '*')
		return glob(p + 1, pn - 1, t, tn) ||
		       (tn > 0 && glob(p, pn, t + 1, tn - 1));
	return tn > 0 && *p == *t && glob(p + 1, pn - 1, t + 1, tn - 1);
}

static bool
word_matches(const struct sets_word *w, const char *t)
{
	size_t at = 0, end, n = strlen(t);

	if (w->kind == SETS_LITERAL)
		return w->len == n && memcmp(w->text, t, n) == 0;
	if (w->kind == SETS_GLOB)
		return glob(w->text, w->len, t, n);
	if (w->kind == SETS_ANY)
		return true;
	for (;; at = end + 1) {
		for (end = at; end < w->len && w->text[end] != '|'; end++)
			;
		if (end - at == n && memcmp(w->text + at, t, n) == 0)
			return true;
		if (end == w->len)
			return false;
	}
}

struct pattern {
	struct sets_word word[4];
	size_t n;
	char text[4][12];
};

static bool
matches(const struct pattern *p, const char *const *t, size_t n)
{
	size_t i;

	for (i = 0; i < p->n; i++) {
		if (p->word[i].kind == SETS_REST)
			return true;
		if (i >= n || !word_matches(&p->word[i], t[i]))
			return false;
	}
	return n == p->n;
}

/* ---- a family, and what its members were seen to be in --------------------------- */

struct family {
	struct pattern p[6];
	uint32_t number[6];
	size_t n;
	uint32_t cell[256]; /* bits of patterns */
	size_t cell_n;
};

static void
random_word(struct pattern *p, size_t i, enum sets_domain domain)
{
	static const char letters[] = "ab*";
	size_t n = roll(4), k;
	char *t = p->text[i];

	p->word[i].kind = SETS_LITERAL + (enum sets_kind)roll(5);
	if (p->word[i].kind == SETS_REST && domain != SETS_ARGV)
		p->word[i].kind = SETS_GLOB;
	for (k = 0; k < n; k++)
		t[k] = letters[roll(p->word[i].kind == SETS_GLOB ? 3 : 2)];
	if (p->word[i].kind == SETS_CHOICE) {
		t[n++] = '|';
		for (k = roll(3); k > 0; k--)
			t[n++] = letters[roll(2)];
	}
	if (p->word[i].kind == SETS_ANY || p->word[i].kind == SETS_REST)
		n = 0;
	p->word[i].text = t;
	p->word[i].len = n;
}

static void
random_family(struct family *f, enum sets_domain domain)
{
	size_t i, k;

	memset(f, 0, sizeof(*f));
	f->n = 1 + roll(LEN(f->p));
	for (i = 0; i < f->n; i++) {
		f->p[i].n = domain == SETS_ARGV ? roll(4) : 1;
		for (k = 0; k < f->p[i].n; k++) {
			random_word(&f->p[i], k, domain);
			if (f->p[i].word[k].kind == SETS_REST)
				f->p[i].n = k + 1;
		}
	}
}

static uint32_t
bits_of(const struct family *f, const char *const *t, size_t n)
{
	uint32_t bits = 0;
	size_t i;

	for (i = 0; i < f->n; i++)
		if (matches(&f->p[i], t, n))
			bits |= 1u << f->number[i];
	return bits;
}

static int
see_cell(void *arg, const struct sets_cell *c)
{
	struct family *f = arg;
	uint32_t bits = 0;
	size_t i;

	for (i = 0; i < c->in_n; i++)
		bits |= 1u << c->in[i];
	/* the witness is in these patterns and in no other */
	assert_int_equal(bits, bits_of(f, c->text, c->text_n));
	for (i = 0; i < f->cell_n; i++)
		assert_int_not_equal(f->cell[i], bits);
	f->cell[f->cell_n++] = bits;
	return 0;
}

static void
is_a_cell(const struct family *f, const char *const *t, size_t n)
{
	uint32_t bits = bits_of(f, t, n);
	size_t i;

	for (i = 0; i < f->cell_n; i++)
		if (f->cell[i] == bits)
			return;
	fail_msg("a member of the domain is in no cell");
}

static const char *const texts[] = {"", "a", "b", "c", "aa", "ab", "ba", "bb", "ac", "ca",
    "aaa", "aab", "aba", "abb", "baa", "bab", "bba", "bbb", "abc", "cab", "aaaa", "abab",
    "bbaa"};

static void
family_open(struct family *f, struct sets **ret, enum sets_domain domain)
{
	struct sets *s = sets_new(domain);
	size_t i;

	assert_non_null(s);
	for (i = 0; i < f->n; i++)
		assert_int_equal(sets_add(s, f->p[i].word, f->p[i].n, &f->number[i]), 0);
	assert_int_equal(sets_cells(s, see_cell, f), 0);
	*ret = s;
}

static void
names_are_cut_into_their_cells(void **state)
{
	struct family f;
	struct sets *s;
	size_t i;
	int round;

	for (round = 0; round < 1500; round++) {
		random_family(&f, round % 2 == 0 ? SETS_NAME : SETS_TEXT);
		family_open(&f, &s, round % 2 == 0 ? SETS_NAME : SETS_TEXT);
		for (i = round % 2 == 0 ? 1 : 0; i < LEN(texts); i++)
			is_a_cell(&f, &texts[i], 1);
		sets_free(s);
	}
}

static void
argument_lists_are_cut_into_their_cells(void **state)
{
	const char *t[3];
	struct family f;
	struct sets *s;
	size_t i, k, m;
	int round;

	for (round = 0; round < 500; round++) {
		random_family(&f, SETS_ARGV);
		family_open(&f, &s, SETS_ARGV);
		is_a_cell(&f, t, 0);
		for (i = 0; i < LEN(texts); i++)
			for (k = 0; k < LEN(texts); k++) {
				t[0] = texts[i];
				t[1] = texts[k];
				t[2] = texts[(i * 7 + k) % LEN(texts)];
				for (m = 1; m <= 3; m++)
					is_a_cell(&f, t, m);
			}
		sets_free(s);
	}
}

static int
count_cell(void *arg, const struct sets_cell *c)
{
	++*(size_t *)arg;
	return 0;
}

static void
what_is_too_large_is_said(void **state)
{
	char text[64];
	struct sets_word w = {.text = text, .kind = SETS_GLOB};
	struct sets *s = sets_new(SETS_NAME);
	size_t cells = 0;
	uint32_t at;
	int i;

	/* *aX*bX*..: what was seen of each is remembered beside all others */
	for (i = 0; i < 30; i++) {
		w.len = (size_t)snprintf(
		    text, sizeof(text), "*%c*%c*", 'a' + i % 26, 'A' + i % 26);
		if (i >= 26)
			w.len = (size_t)snprintf(text, sizeof(text), "*%d*x*", i);
		assert_int_equal(sets_add(s, &w, 1, &at), 0);
	}
	assert_int_equal(sets_cells(s, count_cell, &cells), -E2BIG);
	assert_int_equal(cells, 0);
	sets_free(s);
}

static void
equal_patterns_have_one_number_and_bad_ones_none(void **state)
{
	struct sets_word w[2] = {{"a", 1, SETS_LITERAL}, {"", 0, SETS_REST}};
	struct sets *s = sets_new(SETS_ARGV), *name = sets_new(SETS_NAME);
	uint32_t a, b;

	assert_int_equal(sets_add(s, w, 2, &a), 0);
	assert_int_equal(sets_add(s, w, 2, &b), 0);
	assert_int_equal(a, b);
	assert_int_equal(sets_add(s, w, 1, &b), 0);
	assert_int_not_equal(a, b);
	assert_int_equal(sets_add(name, w, 2, &a), -EINVAL);
	w[0].kind = SETS_REST;
	assert_int_equal(sets_add(s, w, 2, &a), -EINVAL); /* "**" not last */
	assert_int_equal(sets_add(name, w, 1, &a), -EINVAL);
	w[0] = (struct sets_word){"a\0b", 3, SETS_LITERAL};
	assert_int_equal(sets_add(s, w, 1, &a), -EINVAL);
	sets_free(s);
	sets_free(name);
}

/* ---- prefixes ------------------------------------------------------------------------- */

static bool
below(const char *outer, const char *inner, bool host)
{
	size_t o = strlen(outer), i = strlen(inner);

	if (strcmp(outer, inner) == 0)
		return !host; /* *.x is not x */
	if (host)
		return i > o && strcmp(inner + i - o, outer) == 0 &&
		       inner[i - o - 1] == '.';
	return strcmp(outer, "/") == 0 ||
	       (i > o && strncmp(outer, inner, o) == 0 && inner[o] == '/');
}

static uint32_t
prefix_bits(const struct points *m, const char *t, bool host)
{
	uint32_t bits = 0;
	size_t i;

	for (i = 0; i < m->n; i++)
		bits |= (below(m->v[i], t, host) ? 1u : 0) << (2 * i) |
			(strcmp(m->v[i], t) == 0 ? 2u : 0) << (2 * i);
	return bits;
}

static void
prefix_round(bool host)
{
	static const char *const paths[] = {"/a", "/a/b", "/a/b/a", "/b", "/ab", "/a/c",
	    "/c/a", "/any", "/a/any", "/b/b/b/b"};
	static const char *const hosts[] = {"a.b", "b.a.b", "a.a.b", "b.b", "ab.b", "c.b",
	    "a.c", "any.b", "any.a.b", "c.c.c.b"};
	const char *const *all = host ? hosts : paths, *t;
	struct points m = {.n = 0}, p;
	size_t i, k, n = 1 + roll(6);

	for (i = 0; i < n; i++) {
		t = all[roll(10)];
		points_add(&m, t, strlen(t));
	}
	assert_int_equal(host ? points_hosts(&m, &p) : points_paths(&m, &p), 0);
	for (i = 0; i < 10; i++) {
		for (k = 0; k < p.n; k++)
			if (prefix_bits(&m, p.v[k], host) ==
			    prefix_bits(&m, all[i], host))
				break;
		assert_true(k < p.n);
	}
	points_free(&m);
	points_free(&p);
}

static void
paths_and_hosts_are_cut_into_their_cells(void **state)
{
	int round;

	for (round = 0; round < 2000; round++)
		prefix_round(round % 2 == 0);
}

/* ---- intervals -------------------------------------------------------------------------- */

static void
ports_are_cut_into_their_cells(void **state)
{
	uint32_t range[4][2], *v, a, b;
	size_t n, i, k, count;
	int round;

	for (round = 0; round < 1000; round++) {
		n = 1 + roll(4);
		for (i = 0; i < n; i++) {
			range[i][0] = 1 + roll(20);
			range[i][1] = roll(8) == 0 ? 65535 : range[i][0] + roll(9);
		}
		assert_int_equal(
		    points_ports((const uint32_t(*)[2])range, n, &v, &count), 0);
		for (a = 1; a < 40; a++) {
			for (k = 0; k < count; k++) {
				for (b = 1, i = 0; i < n; i++)
					b &= (a >= range[i][0] && a <= range[i][1]) ==
					     (v[k] >= range[i][0] && v[k] <= range[i][1]);
				if (b)
					break;
			}
			assert_true(k < count);
		}
		free(v);
	}
}

static uint32_t
v4_of(const uint8_t a[16])
{
	return (uint32_t)a[12] << 24 | (uint32_t)a[13] << 16 | (uint32_t)a[14] << 8 |
	       a[15];
}

static void
addresses_are_cut_into_their_cells(void **state)
{
	static const uint8_t mapped[16] = {[10] = 0xff, [11] = 0xff, [12] = 10};
	struct points_range range[4];
	struct points p;
	struct in_addr in;
	uint32_t a, b, bits[2];
	size_t n, i, k;
	int round;

	for (round = 0; round < 1000; round++) {
		n = 1 + roll(4);
		for (i = 0; i < n; i++) {
			b = roll(5);
			memcpy(range[i].first, mapped, 16);
			range[i].first[15] = (uint8_t)(roll(16) >> b << b);
			memcpy(range[i].last, range[i].first, 16);
			range[i].last[15] |= (uint8_t)((1u << b) - 1);
		}
		assert_int_equal(points_addresses(range, n, &p), 0);
		for (a = 0x0a000000; a < 0x0a000012; a++) {
			for (k = 0; k < p.n; k++) {
				if (inet_pton(AF_INET, p.v[k], &in) != 1)
					continue;
				bits[0] = bits[1] = 0;
				for (i = 0; i < n; i++) {
					bits[0] |=
					    (uint32_t)(a >= v4_of(range[i].first) &&
						       a <= v4_of(range[i].last))
					    << i;
					b = ntohl(in.s_addr);
					bits[1] |=
					    (uint32_t)(b >= v4_of(range[i].first) &&
						       b <= v4_of(range[i].last))
					    << i;
				}
				if (bits[0] == bits[1])
					break;
			}
			assert_true(k < p.n);
		}
		points_free(&p);
	}
}

static void
numbers_have_one_of_each_kind(void **state)
{
	static const char *const forms[] = {"", ".0", "e0", "0e-1", ".00E+0"};
	struct points m, p;
	char text[32];
	double half, v;
	size_t n, i, k;
	int round, x[5], low, high, y;

	for (round = 0; round < 2000; round++) {
		memset(&m, 0, sizeof(m));
		n = 1 + roll(5);
		low = 100;
		high = -100;
		for (i = 0; i < n; i++) {
			x[i] = (int)roll(9) - 4;
			low = x[i] < low ? x[i] : low;
			high = x[i] > high ? x[i] : high;
			(void)snprintf(text, sizeof(text), "%d%s", x[i], forms[roll(5)]);
			points_add(&m, text, strlen(text));
		}
		assert_int_equal(numbers_cells(&m, &p), 0);
		/* every half from -5 to 5 has one that compares as it does */
		for (half = -5; half <= 5; half += 0.5) {
			for (k = 0; k < p.n; k++) {
				v = strtod(p.v[k], NULL);
				for (y = 1, i = 0; i < n; i++)
					y &= (v < x[i]) == (half < x[i]) &&
					     (v > x[i]) == (half > x[i]);
				if (y)
					break;
			}
			assert_true(k < p.n);
		}
		points_free(&m);
		points_free(&p);
	}
}

static void
numbers_are_not_rounded(void **state)
{
	struct points m = {.n = 0}, p;
	size_t i;
	bool found = false;

	points_add(&m, "9007199254740993", 16);
	points_add(&m, "9007199254740992.9999999999999999999999", 39);
	assert_int_equal(numbers_cells(&m, &p), 0);
	for (i = 0; i < p.n; i++)
		found = found ||
			strcmp(p.v[i], "9007199254740992.99999999999999999999991") == 0;
	assert_true(found);
	points_free(&p);
	points_add(&m, "1e9999", 6);
	assert_int_equal(numbers_cells(&m, &p), -E2BIG);
	points_free(&m);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(names_are_cut_into_their_cells),
	    cmocka_unit_test(argument_lists_are_cut_into_their_cells),
	    cmocka_unit_test(what_is_too_large_is_said),
	    cmocka_unit_test(equal_patterns_have_one_number_and_bad_ones_none),
	    cmocka_unit_test(paths_and_hosts_are_cut_into_their_cells),
	    cmocka_unit_test(ports_are_cut_into_their_cells),
	    cmocka_unit_test(addresses_are_cut_into_their_cells),
	    cmocka_unit_test(numbers_have_one_of_each_kind),
	    cmocka_unit_test(numbers_are_not_rounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
