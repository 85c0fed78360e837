/*
 * Finds the patterns in the chunks that the prefilter stopped at (prefilter.h
 * explains why no other chunk contains one).  A run that is in the bit map is
 * looked up by its hash, candidates are compared, and the Z array keeps the
 * comparison linear.
 *
 * Hashes are computed with bit 5 of each byte set, which finds letters of both
 * cases.  The comparison then applies each pattern's own case rule.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "leash/scrub/private.h"

#define BITS_MIN 13 /* bits of the size: 1 KiB, for one short value */
#define BITS_MAX \
	24       /* 2 MiB; 64 values of 40 bytes take 512 KiB, which fits the L2 cache */
#define SPARSE 7 /* bits of the map per run, of which it sets three */

static uint64_t
load_eight(const uint8_t *at)
{
	uint64_t eight;

	memcpy(&eight, at, sizeof(eight));
	return eight;
}

static uint32_t
tag_of(struct hash h)
{
	return (uint32_t)(h.low >> 8);
}

/* ---- the tables ---------------------------------------------------------------- */

/* Adds the runs of one pattern by increasing offset.  A chain then has them by
 * decreasing offset, so matches are found in the order of the text. */
static void
add_grams(struct filter *f, const struct pattern *p, uint32_t number)
{
	size_t offset;

	for (offset = 0; offset < f->net.step; offset++) {
		struct gram *g = &f->gram[f->gram_n];
		struct hash h = sieve_hash(p->data + offset, f->net.q);
		int32_t *chain = &f->chain[h.low >> f->chain_shift];

		*g = (struct gram){tag_of(h), number, (uint32_t)offset, *chain};
		*chain = (int32_t)f->gram_n++;
		f->net.bit[h.low >> f->net.word_shift] |= sieve_bits(h);
	}
}

/* May it occur in JSON outside of a string? */
static bool
is_bare(const struct pattern *p)
{
	size_t i;

	if (p->data[0] == '{' || p->data[0] == '[')
		return true;
	for (i = 0; i < p->len && scrub_is_number(p->data[i]); i++)
		;
	return i == p->len;
}

static void
add_prefix(struct filter *f, struct pattern *p, int32_t number)
{
	uint64_t i = sieve_hash(p->data, SIEVE_SHORT).low >> (64 - PREFIX_BITS);
	size_t k;

	f->prefix[i >> 6] |= 1ull << (i & 63);
	p->next = f->first[p->data[0] | 0x20];
	f->first[p->data[0] | 0x20] = number;
	for (k = 0; k < p->len; k++) {
		uint8_t c = p->data[k];

		f->byte[c] = true;
		if (p->fold && c >= 'a' && c <= 'z')
			f->byte[c - 0x20] = true;
		f->high |= c >= 0x80;
	}
}

static int
make_tables(struct filter *f, size_t runs)
{
	unsigned int bits = BITS_MIN;

	while (bits < BITS_MAX && (runs << SPARSE) > (size_t)1 << bits)
		bits++;
	f->net.word_shift = 64 - bits + 6;
	f->net.bit = calloc(((size_t)1 << bits) / 64, sizeof(*f->net.bit));
	bits = BITS_MIN - 3;
	while (bits < BITS_MAX && runs > (size_t)1 << bits)
		bits++;
	f->chain_shift = 64 - bits;
	f->chain = calloc((size_t)1 << bits, sizeof(*f->chain));
	f->gram = reallocarray(NULL, runs, sizeof(*f->gram));
	if (f->net.bit == NULL || f->chain == NULL || f->gram == NULL)
		return -ENOMEM;
	memset(f->chain, 0xff, sizeof(*f->chain) << bits);
	return 0;
}

int
filter_build(struct scrub *s)
{
	struct filter *f = &s->filter;
	size_t i;
	int r;

	net_init(&f->net);
	memset(f->first, 0xff, sizeof(f->first));
	credentials_bytes(f->byte);
	f->len_min = f->hex_min = f->broken_min = SIZE_MAX;
	if (s->pattern_n == 0)
		return 0;
	for (i = 0; i < s->pattern_n; i++) {
		struct pattern *p = &s->pattern[i];

		if (p->len < f->len_min)
			f->len_min = p->len;
		if ((p->fits & FIT_BROKEN) != 0 && p->len < f->broken_min)
			f->broken_min = p->len;
		if ((p->fits & FIT_PAIRS) != 0 && p->len < f->hex_min)
			f->hex_min = p->len;
		if (p->len > f->len_max)
			f->len_max = p->len;
		f->bare |= is_bare(p);
		add_prefix(f, p, (int32_t)i);
	}
	net_plan(&f->net, f->len_min, f->hex_min);
	r = make_tables(f, s->pattern_n * f->net.step);
	for (i = 0; i < s->pattern_n && r == 0; i++)
		add_grams(f, &s->pattern[i], (uint32_t)i);
	return r;
}

void
filter_free(struct filter *f)
{
	free(f->net.bit);
	free(f->chain);
	free(f->gram);
}

/* ---- comparison ------------------------------------------------------------------ */

/* Extends a match of m bytes, to at most max; returns its length. */
static size_t
compare(const uint8_t *data, const uint8_t *text, size_t m, size_t max, bool fold)
{
	uint64_t mask = fold ? SIEVE_FOLD : 0, differ;

	while (m + 8 <= max) {
		differ = (load_eight(data + m) | mask) ^ (load_eight(text + m) | mask);
		if (differ != 0)
			return m + (size_t)__builtin_ctzll(differ) / 8;
		m += 8;
	}
	while (m < max && (data[m] | (uint8_t)mask) == (text[m] | (uint8_t)mask))
		m++;
	return m;
}

/* How many bytes of the pattern match at text[start..n). */
static size_t
agree(struct pattern *p, uint64_t scan, const uint8_t *text, size_t n, size_t start)
{
	size_t m = 0, rest;

	if (p->scan == scan && start >= p->start && start < p->start + p->lcp) {
		rest = p->start + p->lcp - start;
		m = p->z[start - p->start];
		if (m < rest)
			return m;
		m = rest;
	}
	m = compare(
	    p->data, text + start, m, n - start < p->len ? n - start : p->len, p->fold);
	p->scan = scan;
	p->start = start;
	p->lcp = m;
	return m;
}

/* Setting bit 5 turns some control bytes into digits; rejects those. */
static bool
is_really(const struct pattern *p, const uint8_t *text)
{
	size_t i;

	for (i = 0; p->fold && i < p->len; i++)
		if (text[i] < '0')
			return false;
	return true;
}

int
hits_add(struct hits *h, size_t from, size_t to, uint32_t value)
{
	struct hit *more;
	size_t cap;

	if (h->n == h->cap) {
		cap = h->cap * 2 + 64;
		if (cap > SCRUB_HITS_MAX)
			return -ENOMEM;
		more = reallocarray(h->hit, cap, sizeof(*more));
		if (more == NULL)
			return -ENOMEM;
		h->hit = more;
		h->cap = cap;
	}
	h->hit[h->n++] = (struct hit){from, to, value};
	return 0;
}

/* ---- search ----------------------------------------------------------------------- */

/* Compares the run at text[at], which is in the map, with the patterns. */
static int
look(struct scrub *s, const uint8_t *text, size_t n, size_t at, struct hash h,
    enum fits fits, struct hits *hits)
{
	struct filter *f = &s->filter;
	int32_t i = f->chain[h.low >> f->chain_shift];
	int r = 0;

	for (; i >= 0 && r == 0; i = f->gram[i].next) {
		const struct gram *g = &f->gram[i];
		struct pattern *p = &s->pattern[g->pattern];
		size_t from = at - g->offset;

		if (g->tag != tag_of(h) || g->offset > at || (p->fits & fits) == 0)
			continue;
		if (agree(p, f->scan, text, n, from) == p->len &&
		    is_really(p, text + from))
			r = hits_add(hits, from, from + p->len, p->value);
	}
	return r;
}

void
filter_start(struct scrub *s)
{
	s->filter.scan++;
}

int
filter_find(struct scrub *s, const uint8_t *text, size_t n, size_t at, enum fits fits,
    struct hits *hits)
{
	const struct net *net = &s->filter.net;
	struct hash h;
	uint64_t lacks;
	size_t i;
	int r = 0;

	for (i = 0; i < net->run_n && r == 0; i++, at += net->step) {
		if (n < net->q || at > n - net->q)
			break;
		h = sieve_hash(text + at, net->q);
		lacks = sieve_bits(h) & ~net->bit[h.low >> net->word_shift];
		if (lacks == 0)
			r = look(s, text, n, at, h, fits, hits);
	}
	return r;
}

static bool
may_begin(const struct filter *f, const uint8_t *text, size_t n, size_t at)
{
	uint64_t i;

	if (n - at < 4)
		return true;
	i = sieve_hash(text + at, SIEVE_SHORT).low >> (64 - PREFIX_BITS);
	return f->prefix[i >> 6] >> (i & 63) & 1;
}

size_t
filter_tail(struct scrub *s, const uint8_t *text, size_t n, enum fits fits)
{
	struct filter *f = &s->filter;
	size_t at;
	int32_t i;

	if (s->pattern_n == 0)
		return n;
	at = n > f->len_max - 1 ? n - (f->len_max - 1) : 0;
	f->scan++;
	for (; at < n; at++) {
		if (!may_begin(f, text, n, at))
			continue;
		for (i = f->first[text[at] | 0x20]; i >= 0; i = s->pattern[i].next) {
			struct pattern *p = &s->pattern[i];

			if ((p->fits & fits) != 0 && n - at < p->len &&
			    agree(p, f->scan, text, n, at) == n - at)
				return at;
		}
	}
	return n;
}
