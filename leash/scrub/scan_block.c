/*
 * Scans a block in all decodings: raw and, where decoding could reveal more, with
 * its escapes decoded: JSON up to three times, percent, entities and others,
 * combined as in the table.  Matches are mapped back to the block; a decoded match
 * covers its whole spelling.
 *
 * Process: the leash.  Trusts: nothing; its input is untrusted: any bytes, split
 * anywhere.
 */
#include <stdlib.h>
#include <string.h>

#include "leash/scrub/private.h"
#include "shim/base/array.h"

#define RAW        (-1)
#define ESCAPE_MAX 12 /* bytes; a surrogate pair */
#define RUN        8  /* backslashes that encode one, escaped three times */
#define BROKEN_MIN 4

/* The decodings that others are decoded from, by index in the table. */
enum { JSON_1, JSON_2, JSON_3, PERCENT_RAW, PERCENT_JSON };

/* The source of each decoding: an earlier row, or the block. */
static const struct source {
	enum spelling spelling;
	int upon;
} sources[] = {
    [JSON_1] = {SPELL_JSON, RAW},
    [JSON_2] = {SPELL_JSON, JSON_1},
    [JSON_3] = {SPELL_JSON, JSON_2},
    [PERCENT_RAW] = {SPELL_PERCENT, RAW},
    [PERCENT_JSON] = {SPELL_PERCENT, JSON_1},
    {SPELL_PERCENT, JSON_2},
    {SPELL_PERCENT, PERCENT_RAW},
    {SPELL_PERCENT, PERCENT_JSON},
    {SPELL_JSON, PERCENT_RAW},
    {SPELL_ENTITY, RAW},
    {SPELL_ENTITY, JSON_1},
    {SPELL_ENTITY, JSON_2},
    {SPELL_QUOTED, RAW},
    {SPELL_QUOTED, JSON_1},
    {SPELL_QUOTED, JSON_2},
    {SPELL_BROKEN, RAW},
    {SPELL_BROKEN, JSON_1},
    {SPELL_BROKEN, JSON_2},
    {SPELL_BROKEN, PERCENT_RAW},
    {SPELL_BROKEN, PERCENT_JSON},
    {SPELL_PAIRS, RAW},
    {SPELL_PAIRS, JSON_1},
    {SPELL_PAIRS, JSON_2},
};
#define DECODINGS ((int)(ARRAY_LEN(sources)))

_Static_assert(ARRAY_LEN(sources) <= DECODINGS_MAX, "room for all decodings");

void
decodings_free(struct decodings *v)
{
	for (int i = 0; i < DECODINGS; i++)
		decoding_free(&v->decoding[i]);
	free(v->hits.hit);
}

/* ---- mapping to the block -------------------------------------------------- */

/* Maps offsets in decoding i to the block. */
static void
to_block(const struct decodings *v, int i, size_t *from, size_t *to)
{
	for (; i != RAW; i = sources[i].upon)
		decoding_source(&v->decoding[i], from, to);
}

/* Hits from the n-th on are offsets in decoding i.  A match without an escape also exists
 * in the source of the decoding and was found there. */
static void
hits_to_block(struct decodings *v, int i, size_t n)
{
	size_t kept = n, from, to;

	for (; n < v->hits.n; n++) {
		struct hit *h = &v->hits.hit[n];

		from = h->from;
		to = h->to;
		decoding_source(&v->decoding[i], &from, &to);
		if (to - from == h->to - h->from && (h->value & HIT_CREDENTIAL) == 0)
			continue;
		to_block(v, sources[i].upon, &from, &to);
		v->hits.hit[kept++] = (struct hit){from, to, h->value};
	}
	v->hits.n = kept;
}

static enum fits
fits_in(int i)
{
	if (sources[i].spelling == SPELL_BROKEN)
		return FIT_BROKEN;
	return sources[i].spelling == SPELL_PAIRS ? FIT_PAIRS : FIT_ALL;
}

/* Decoders that join fragments reveal no credentials: none is written that way. */
static bool
has_credentials(int i)
{
	return sources[i].spelling < SPELL_BROKEN;
}

/* Finds matches in a text; search is NULL if credentials are not searched for.
 * *ret_flags: the decoders that could reveal more. */
static int
find_in(struct decodings *v, const uint8_t *text, size_t n, enum fits fits,
    struct credential_search *search, unsigned int *ret_flags)
{
	const struct net *net = &v->scrub->filter.net;
	struct sieve sieve = {0};
	size_t at = 0;
	int r = 0;

	filter_start(v->scrub);
	for (; (at = sieve_next(net, text, n, at, &sieve)) < n; at += SIEVE_CHUNK) {
		if (search != NULL)
			r = credentials_find(
			    net, search, text, n, at, sieve.hook, &v->hits);
		if (r == 0 && sieve.run)
			r = filter_find(v->scrub, text, n, at, fits, &v->hits);
		if (r < 0)
			return r;
	}
	*ret_flags = sieve.flags;
	return 0;
}

/* Scans decoding i, if it could reveal something that its source does not. */
static int
find_in_decoding(struct decodings *v, int i, const uint8_t *text, size_t n, bool last,
    unsigned int *flags)
{
	const struct credential_search *upon =
	    &v->search[sources[i].upon == RAW ? DECODINGS_MAX : sources[i].upon];
	struct decoding *r = &v->decoding[i];
	size_t before = v->hits.n;
	int e;

	if (!decode_wanted(sources[i].spelling, &v->scrub->filter, *flags, text, n, !last,
		has_credentials(i) && upon->key))
		return 0;
	e = decoding_make(r, sources[i].spelling, text, n, last);
	if (e < 0)
		return e;
	v->made[i] = true;
	v->search[i] = *upon;
	v->search[i].done = 0;
	v->search[i].open = SIZE_MAX;
	e = find_in(v, r->data, r->len, fits_in(i),
	    has_credentials(i) ? &v->search[i] : NULL, flags);
	if (e == 0)
		hits_to_block(v, i, before);
	return e;
}

int
decodings_find(
    struct decodings *v, const uint8_t *data, size_t n, const uint8_t *before, bool last)
{
	unsigned int flags[DECODINGS_MAX], raw = 0;
	int i, upon, r;

	v->hits.n = 0;
	memset(v->made, 0, sizeof(v->made));
	v->search[DECODINGS_MAX] =
	    (struct credential_search){.before = before, .last = last, .open = SIZE_MAX};
	r = find_in(v, data, n, FIT_ALL, &v->search[DECODINGS_MAX], &raw);
	for (i = 0; i < DECODINGS && r == 0; i++) {
		upon = sources[i].upon;
		flags[i] = upon == RAW ? raw : flags[upon];
		if (upon == RAW)
			r = find_in_decoding(v, i, data, n, last, &flags[i]);
		else if (v->made[upon])
			r = find_in_decoding(v, i, v->decoding[upon].data,
			    v->decoding[upon].len, last, &flags[i]);
	}
	return r;
}

/* Maps an offset in the block to decoding i; sets *at to the boundary there. */
static size_t
/* NOLINTNEXTLINE(misc-no-recursion): as deep as decodings are nested */
in_decoding(const struct decodings *v, int i, size_t *at)
{
	size_t there = *at, from, to;

	if (i == RAW)
		return there;
	there = in_decoding(v, sources[i].upon, at);
	from = to = decoding_boundary(&v->decoding[i], there);
	if (from != there) {
		there = from;
		to_block(v, sources[i].upon, &from, &to);
		*at = from;
	}
	return decoding_offset(&v->decoding[i], there);
}

/*
 * An offset at or before at that is not inside a JSON escape, however often it is
 * decoded: what follows decodes the same without what precedes it.
 */
static size_t
before_escape(const uint8_t *text, size_t n, size_t at)
{
	size_t least_i = at > ESCAPE_MAX ? at - ESCAPE_MAX : 0, i = at, start;
	uint8_t out[4], len;
	int r;

	while (i > least_i && text[i - 1] != '\\')
		i--;
	if (i == least_i)
		return at;
	for (start = i; start > 0 && text[start - 1] == '\\'; start--)
		;
	if (i == at)
		return start + ((at - start) & ~(size_t)(RUN - 1));
	if ((i - start) % 2 == 0)
		return at;
	i--;
	if (i == start && i >= ESCAPE_MAX / 2 &&
	    decode(SPELL_JSON, text, n, i - ESCAPE_MAX / 2, out, &len) == ESCAPE_MAX)
		start = i -= ESCAPE_MAX / 2;
	r = text[i] == '\\' ? decode(SPELL_JSON, text, n, i, out, &len) : NONE;
	if (r == UNFINISHED || (r > 0 && i + (size_t)r > at))
		return start + ((i - start) & ~(size_t)(RUN - 1));
	return at;
}

/* Moves down to an offset that is a boundary in every decoding. */
static size_t
common_boundary(struct decodings *v, const uint8_t *data, size_t n, size_t at)
{
	size_t before, there, from, to;
	int i;

	do {
		before = at;
		at = before_escape(data, n, at);
		for (i = 0; i < DECODINGS; i++) {
			const struct decoding *r = &v->decoding[i];

			if (!v->made[i])
				continue;
			there = in_decoding(v, i, &at);
			if (there > r->len)
				there = r->len;
			from = to = before_escape(r->data, r->len, there);
			if (from == there)
				continue;
			to_block(v, i, &from, &to);
			at = size_min(at, from);
		}
	} while (at < before);
	return at;
}

/* Lines of a server are not delayed for a possible beginning of base64 in columns that
 * is shorter than a minimum. */
static bool
is_too_little(const struct decoding *r, size_t tail)
{
	return r->spelling == SPELL_BROKEN && r->src_n > 0 &&
	       r->src[r->src_n - 1] == '\n' && r->len - tail < BROKEN_MIN;
}

/* The first offset in decoding i from which a match may still become complete. */
static size_t
decoding_tail(struct decodings *v, int i)
{
	const struct decoding *r = &v->decoding[i];
	size_t at = filter_tail(v->scrub, r->data, r->len, fits_in(i));

	if (has_credentials(i))
		at = size_min(at, credentials_tail(&v->search[i], r->data, r->len));
	return at;
}

size_t
decodings_certain(struct decodings *v, const uint8_t *data, size_t n)
{
	size_t at = filter_tail(v->scrub, data, n, FIT_ALL), from, to;
	int i;

	at = size_min(at, credentials_tail(&v->search[DECODINGS_MAX], data, n));
	for (i = 0; i < DECODINGS; i++) {
		const struct decoding *r = &v->decoding[i];

		if (!v->made[i])
			continue;
		/* An unfinished escape may begin or continue anything; a decoder that
		 * joins fragments begins nothing. */
		if (r->spelling < SPELL_BROKEN) {
			from = to = r->open;
			to_block(v, sources[i].upon, &from, &to);
			at = size_min(at, from);
		}
		from = to = decoding_tail(v, i);
		if (from == r->len || is_too_little(r, from))
			continue;
		to_block(v, i, &from, &to);
		at = size_min(at, from);
	}
	return common_boundary(v, data, n, at);
}
