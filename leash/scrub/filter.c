/*
 * Finds the patterns.  If every pattern has m bytes or more, each place of one
 * covers wholly one of the runs of q bytes that start at every (m-q+1)-th byte
 * of the text: only these are looked up, first in a bit map, then by hash.
 * What is found there is compared, and the Z array keeps that linear too.
 *
 *	text	..........|qqqqqqqq|.................|qqqqqqqq|........
 *	pattern	      pppppqqqqqqqqpppppp    (m = 19, q = 8, stride 12)
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "leash/scrub/private.h"

#define STRIDE_MAX 64 /* a line of the cache: more saves nothing */
#define Q_LONG     8
#define Q_SHORT    4
#define LONG_MIN   16 /* patterns from this length on take long runs */

static uint64_t
load(const uint8_t *at, size_t q)
{
	uint64_t eight;
	uint32_t four;

	if (q == Q_LONG) {
		memcpy(&eight, at, sizeof(eight));
		return eight;
	}
	memcpy(&four, at, sizeof(four));
	return four;
}

static uint64_t
hash(uint64_t bytes)
{
	return bytes * 0x9e3779b97f4a7c15u;
}

static bool
maybe(const struct filter *f, uint64_t h)
{
	uint64_t i = h >> (64 - FILTER_BITS);

	return f->bit[i >> 6] >> (i & 63) & 1;
}

/* Runs of one pattern, offsets upwards: a chain then has them downwards, and
 * the places they stand for come in the order of the text. */
static void
add_grams(struct filter *f, const struct pattern *p, uint32_t number)
{
	size_t offset;

	for (offset = 0; offset < f->stride; offset++) {
		struct gram *g = &f->gram[f->gram_n];
		uint64_t bytes = load(p->data + offset, f->q), h = hash(bytes);
		uint64_t i = h >> (64 - FILTER_BITS);
		int32_t *chain = &f->chain[h >> (64 - FILTER_CHAIN)];

		*g = (struct gram){bytes, number, (uint32_t)offset, *chain};
		*chain = (int32_t)f->gram_n++;
		f->bit[i >> 6] |= 1ull << (i & 63);
	}
}

int
filter_build(struct scrub *s)
{
	struct filter *f = &s->filter;
	size_t i, len_min = SIZE_MAX;

	memset(f->chain, 0xff, sizeof(f->chain));
	memset(f->first, 0xff, sizeof(f->first));
	for (i = 0; i < s->pattern_n; i++) {
		struct pattern *p = &s->pattern[i];

		if (p->len < len_min)
			len_min = p->len;
		if (p->len > f->len_max)
			f->len_max = p->len;
		p->next = f->first[p->data[0]];
		f->first[p->data[0]] = (int32_t)i;
	}
	if (s->pattern_n == 0)
		return 0;
	f->q = len_min >= LONG_MIN ? Q_LONG : Q_SHORT;
	f->stride = len_min - f->q + 1;
	if (f->stride > STRIDE_MAX)
		f->stride = STRIDE_MAX;
	f->gram = reallocarray(NULL, s->pattern_n * f->stride, sizeof(*f->gram));
	if (f->gram == NULL)
		return -ENOMEM;
	for (i = 0; i < s->pattern_n; i++)
		add_grams(f, &s->pattern[i], (uint32_t)i);
	return 0;
}

/* How many bytes of the pattern stand at text[start..n). */
static size_t
agree(struct pattern *p, uint64_t scan, const uint8_t *text, size_t n, size_t start)
{
	size_t m = 0, rest, max;

	if (p->scan == scan && start >= p->start && start < p->start + p->lcp) {
		rest = p->start + p->lcp - start;
		m = p->z[start - p->start];
		if (m < rest)
			return m;
		m = rest;
	}
	max = n - start < p->len ? n - start : p->len;
	while (m < max && text[start + m] == p->data[m])
		m++;
	p->scan = scan;
	p->start = start;
	p->lcp = m;
	return m;
}

static int
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

/* The run at text[at] is one of ours, or looks like it. */
static int
look(struct scrub *s, const uint8_t *text, size_t n, size_t at, struct hits *hits)
{
	struct filter *f = &s->filter;
	uint64_t bytes = load(text + at, f->q);
	int32_t i = f->chain[hash(bytes) >> (64 - FILTER_CHAIN)];
	int r = 0;

	for (; i >= 0 && r == 0; i = f->gram[i].next) {
		const struct gram *g = &f->gram[i];
		struct pattern *p = &s->pattern[g->pattern];

		if (g->bytes != bytes || g->offset > at)
			continue;
		if (agree(p, f->scan, text, n, at - g->offset) == p->len)
			r = hits_add(
			    hits, at - g->offset, at - g->offset + p->len, p->value);
	}
	return r;
}

int
filter_find(struct scrub *s, const uint8_t *text, size_t n, struct hits *hits)
{
	struct filter *f = &s->filter;
	size_t at, last;
	int r;

	f->scan++;
	if (n < f->q)
		return 0;
	last = n - f->q;
	for (at = 0; at <= last; at += f->stride) {
		if (!maybe(f, hash(load(text + at, f->q))))
			continue;
		r = look(s, text, n, at, hits);
		if (r < 0)
			return r;
	}
	return 0;
}

size_t
filter_tail(struct scrub *s, const uint8_t *text, size_t n)
{
	struct filter *f = &s->filter;
	size_t at = n > f->len_max - 1 ? n - (f->len_max - 1) : 0;
	int32_t i;

	f->scan++;
	for (; at < n; at++) {
		for (i = f->first[text[at]]; i >= 0; i = s->pattern[i].next) {
			struct pattern *p = &s->pattern[i];

			if (n - at < p->len && agree(p, f->scan, text, n, at) == n - at)
				return at;
		}
	}
	return n;
}
