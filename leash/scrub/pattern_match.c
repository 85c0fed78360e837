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
#include <sys/mman.h>

#include "leash/scrub/private.h"

#define BITS_MIN 13 /* bits of the size: 1 KiB, for one short value */
#define BITS_MAX \
	24 /* 2 MiB; 64 values of 40 bytes take 512 KiB, which fits the L2 cache */
#define PAGE   4096
#define LARGE  (256u << 10) /* bytes of a table */
#define SPARSE 7            /* bits of the map per run, of which it sets three */

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
add_grams(struct filter *f, const struct pattern *p, size_t number)
{
	size_t row = number << f->gram_shift, i;
	struct hash h[STEP_USUAL]; /* a step is never larger */

	/* Fast path: waits for all lines of the large tables at once; a sixth less time. */
	for (i = 0; i < f->net.step; i++) {
		h[i] = sieve_hash(p->data + i, f->net.q);
		__builtin_prefetch(&f->chain[h[i].low >> f->chain_shift], 1);
		__builtin_prefetch(&f->net.bit[h[i].low >> f->net.word_shift], 1);
	}
	for (i = 0; i < f->net.step; i++, row++) {
		uint32_t *chain = &f->chain[h[i].low >> f->chain_shift];

		f->gram[row] = (struct gram){tag_of(h[i]), *chain};
		*chain = (uint32_t)row + 1;
		f->net.bit[h[i].low >> f->net.word_shift] |= sieve_bits(h[i]);
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

	f->prefix[i >> 6] |= 1ull << (i & 63);
	p->next = f->first[p->data[0] | 0x20];
	f->first[p->data[0] | 0x20] = number;
}

/* Marks the bytes that a match may consist of. */
static void
mark_bytes(struct filter *f, const struct scrub *s)
{
	bool seen[2][256] = {{false}}; /* in patterns that ignore case: the second */

	for (size_t i = 0; i < s->pattern_n; i++) {
		const struct pattern *p = &s->pattern[i];
		bool *in = seen[p->fold];

		for (size_t k = 0; k < p->len; k++)
			in[p->data[k]] = true;
	}
	for (size_t c = 0; c < 256; c++) {
		if (!seen[0][c] && !seen[1][c])
			continue;
		f->byte[c] = true;
		if (seen[1][c] && c >= 'a' && c <= 'z')
			f->byte[c - 0x20] = true;
		f->high |= c >= 0x80;
	}
}

/*
 * Fast path: every page of a large table will be written, in no order.  One call for all
 * pages instead of a fault for each: 0.6 ms less for 512 values.
 */
static void
write_soon(void *table, size_t len)
{
	size_t skip = -(uintptr_t)table & (PAGE - 1);

	if (len >= LARGE)
		/* syscalls: madvise */
		(void)madvise((uint8_t *)table + skip, (len - skip) & ~(size_t)(PAGE - 1),
		    MADV_POPULATE_WRITE); /* before Linux 5.14: by faults */
}

static int
make_tables(struct filter *f, size_t patterns)
{
	size_t runs = patterns * f->net.step, words;
	unsigned int bits = BITS_MIN;

	while (bits < BITS_MAX && (runs << SPARSE) > (size_t)1 << bits)
		bits++;
	f->net.word_shift = 64 - bits + 6;
	words = ((size_t)1 << bits) / 64;
	f->net.bit = calloc(words, sizeof(*f->net.bit));
	bits = BITS_MIN - 3;
	while (bits < BITS_MAX && runs > (size_t)1 << bits)
		bits++;
	f->chain_shift = 64 - bits;
	f->chain = calloc((size_t)1 << bits, sizeof(*f->chain));
	while ((size_t)1 << f->gram_shift < f->net.step)
		f->gram_shift++;
	f->gram = reallocarray(NULL, patterns << f->gram_shift, sizeof(*f->gram));
	if (f->net.bit == NULL || f->chain == NULL || f->gram == NULL)
		return -ENOMEM;
	write_soon(f->net.bit, words * sizeof(*f->net.bit));
	write_soon(f->chain, sizeof(*f->chain) << bits);
	write_soon(f->gram, (patterns << f->gram_shift) * sizeof(*f->gram));
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
	mark_bytes(f, s);
	net_plan(&f->net, f->len_min, f->hex_min);
	r = make_tables(f, s->pattern_n);
	for (i = 0; i < s->pattern_n && r == 0; i++)
		add_grams(f, &s->pattern[i], i);
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

static void
make_z(const uint8_t *data, size_t len, uint32_t *z)
{
	size_t i, left = 0, right = 0, m;

	z[0] = (uint32_t)len;
	for (i = 1; i < len; i++) {
		m = 0;
		if (i < right)
			m = z[i - left] < right - i ? z[i - left] : right - i;
		while (i + m < len && data[m] == data[i + m])
			m++;
		z[i] = (uint32_t)m;
		if (i + m > right) {
			left = i;
			right = i + m;
		}
	}
}

/* How many bytes of the pattern match at text[start..n). */
static size_t
agree(struct pattern *p, uint64_t scan, const uint8_t *text, size_t n, size_t start)
{
	size_t m = 0, rest;

	if (p->scan == scan && start >= p->start && start < p->start + p->lcp) {
		if (p->z[0] == 0)
			make_z(p->data, p->len, p->z);
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
	uint32_t row = f->chain[h.low >> f->chain_shift], rows = 1u << f->gram_shift;
	int r = 0;

	for (; row != 0 && r == 0; row = f->gram[row - 1].next) {
		struct pattern *p;
		size_t from;

		if (f->gram[row - 1].tag != tag_of(h))
			continue;
		p = &s->pattern[(row - 1) >> f->gram_shift];
		from = at - ((row - 1) & (rows - 1));
		if (from > at || (p->fits & fits) == 0)
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
