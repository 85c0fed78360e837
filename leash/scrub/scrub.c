/*
 * One direction of one pipe, with every value of the server taken out.
 *
 * Process: the leash.  Its input is a stranger's: any bytes, in any pieces.
 *
 * A block is read as it stands and, where that could show something else, with
 * its escapes decoded: JSON once and twice, percent, entities and so on, each
 * also upon the other as the table says.  The places found are brought back to
 * the block, joined where they overlap, and masked; a decoded match masks its
 * whole spelling.
 *
 *	in:    ....ab\u0063d...........abc|  held: "abc" may become a value
 *	out:   ....***...........           next block starts with it
 *
 * A block always starts where all readings have a boundary, so that reading it
 * again finds the same.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "leash/scrub/private.h"
#include "leash/vault/vault.h"

#define BLOCK    (64u << 10)
#define HELD_MAX ((size_t)4 << 20) /* 64 KiB of value, each byte spelled in 36 */
#define RAW      (-1)              /* the block itself */

#define PIECE      4096 /* of new bytes, joined to those that were held */
#define ESCAPE_MAX 12   /* a pair of surrogates */
#define BROKEN_MIN 4

/* What is decoded upon what: rows name a row above them, or the block. */
static const struct view {
	enum spelling spelling;
	int upon;
} views[] = {
    {SPELL_JSON, RAW},
    {SPELL_JSON, 0},
    {SPELL_PERCENT, RAW},
    {SPELL_PERCENT, 0},
    {SPELL_PERCENT, 1},
    {SPELL_PERCENT, 2},
    {SPELL_PERCENT, 3},
    {SPELL_JSON, 2},
    {SPELL_ENTITY, RAW},
    {SPELL_ENTITY, 0},
    {SPELL_ENTITY, 1},
    {SPELL_QUOTED, RAW},
    {SPELL_QUOTED, 0},
    {SPELL_QUOTED, 1},
    {SPELL_BROKEN, RAW},
    {SPELL_BROKEN, 0},
    {SPELL_BROKEN, 1},
    {SPELL_BROKEN, 2},
    {SPELL_BROKEN, 3},
    {SPELL_PAIRS, RAW},
    {SPELL_PAIRS, 0},
    {SPELL_PAIRS, 1},
};
#define VIEWS ((int)(sizeof(views) / sizeof(views[0])))

struct scrub_stream {
	struct scrub *scrub;
	struct buf held; /* bytes not passed on yet */
	size_t masked;   /* of the next ones, already behind a mask */
	struct reading reading[VIEWS];
	bool made[VIEWS]; /* which differ from what they are upon */
	struct hits hits;
	struct shaping shaping;
	uint64_t run;      /* number of the last mask */
	uint8_t before[2]; /* the last bytes that were passed on */
	int error;         /* sticks */
};

int
scrub_stream_new(struct scrub *s, struct scrub_stream **ret)
{
	struct scrub_stream *st;
	int r;

	if (!s->built) {
		r = forms_build(s);
		if (r == 0)
			r = filter_build(s);
		if (r < 0)
			return r;
		s->built = true;
	}
	st = calloc(1, sizeof(*st));
	if (st == NULL)
		return -ENOMEM;
	st->scrub = s;
	buf_init(&st->held, HELD_MAX);
	*ret = st;
	return 0;
}

void
scrub_stream_free(struct scrub_stream *st)
{
	int i;

	if (st == NULL)
		return;
	for (i = 0; i < VIEWS; i++)
		reading_free(&st->reading[i]);
	if (st->held.data != NULL)
		explicit_bzero(st->held.data, st->held.cap);
	buf_free(&st->held);
	free(st->hits.hit);
	free(st);
}

const char *
scrub_shape(uint32_t number)
{
	return shapes_name(number);
}

uint64_t
scrub_shape_count(const struct scrub *s, uint32_t number)
{
	return number < SCRUB_SHAPES_MAX ? s->shape_count[number] : 0;
}

uint64_t
scrub_free_count(const struct scrub *s)
{
	uint64_t n = 0;

	for (uint32_t i = 0; shapes_name(i) != NULL; i++)
		n += shapes_free(i) ? s->shape_count[i] : 0;
	return n;
}

/* ---- where values stand ---------------------------------------------------- */

/* From a place in view i to the block. */
static void
to_block(const struct scrub_stream *st, int i, size_t *from, size_t *to)
{
	for (; i != RAW; i = views[i].upon)
		reading_source(&st->reading[i], from, to);
}

/* Hits from the n-th on are places in view i.  One without an escape in it is
 * a place in what the view is upon as well and was found there. */
static void
hits_to_block(struct scrub_stream *st, int i, size_t n)
{
	size_t kept = n, from, to;

	for (; n < st->hits.n; n++) {
		struct hit *h = &st->hits.hit[n];

		from = h->from;
		to = h->to;
		reading_source(&st->reading[i], &from, &to);
		if (to - from == h->to - h->from)
			continue;
		to_block(st, views[i].upon, &from, &to);
		st->hits.hit[kept++] = (struct hit){from, to, h->value};
	}
	st->hits.n = kept;
}

static enum fits
fits_in(int i)
{
	if (views[i].spelling == SPELL_BROKEN)
		return FIT_BROKEN;
	return views[i].spelling == SPELL_PAIRS ? FIT_PAIRS : FIT_ALL;
}

/* What stands in a text; shapes are NULL in a view.  *ret_flags: which decoders
 * could say something about it. */
static int
find_in(struct scrub_stream *st, const uint8_t *text, size_t n, enum fits fits,
    struct shaping *shapes, unsigned int *ret_flags)
{
	const struct net *net = &st->scrub->filter.net;
	struct sieve sieve = {0};
	size_t at = 0;
	int r = 0;

	filter_start(st->scrub);
	for (; (at = sieve_next(net, text, n, at, &sieve)) < n; at += SIEVE_CHUNK) {
		if (shapes != NULL)
			r = shapes_find(net, shapes, text, n, at, sieve.hook, &st->hits);
		if (r == 0 && sieve.run)
			r = filter_find(st->scrub, text, n, at, fits, &st->hits);
		if (r < 0)
			return r;
	}
	*ret_flags = sieve.flags;
	return 0;
}

/* View i of a text, if it could show something. */
static int
find_in_view(struct scrub_stream *st, int i, const uint8_t *text, size_t n, bool last,
    unsigned int *flags)
{
	struct reading *r = &st->reading[i];
	size_t before = st->hits.n;
	int e;

	if (!decode_wanted(views[i].spelling, &st->scrub->filter, *flags, text, n, !last))
		return 0;
	e = reading_make(r, views[i].spelling, text, n, last);
	if (e < 0)
		return e;
	st->made[i] = true;
	e = find_in(st, r->data, r->len, fits_in(i), NULL, flags);
	if (e == 0)
		hits_to_block(st, i, before);
	return e;
}

static int
find_all(struct scrub_stream *st, const uint8_t *data, size_t n, bool last)
{
	unsigned int flags[VIEWS], raw = 0;
	int i, upon, r;

	st->hits.n = 0;
	memset(st->made, 0, sizeof(st->made));
	st->shaping =
	    (struct shaping){.before = st->before, .last = last, .open = SIZE_MAX};
	r = find_in(st, data, n, FIT_ALL, &st->shaping, &raw);
	if (st->scrub->pattern_n == 0)
		return r;
	for (i = 0; i < VIEWS && r == 0; i++) {
		upon = views[i].upon;
		flags[i] = upon == RAW ? raw : flags[upon];
		if (upon == RAW)
			r = find_in_view(st, i, data, n, last, &flags[i]);
		else if (st->made[upon])
			r = find_in_view(st, i, st->reading[upon].data,
			    st->reading[upon].len, last, &flags[i]);
	}
	return r;
}

static size_t
least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Where a place in the block stands in view i; in *at its boundary there. */
static size_t
/* NOLINTNEXTLINE(misc-no-recursion): as deep as one view stands upon another */
in_view(const struct scrub_stream *st, int i, size_t *at)
{
	size_t there = *at, from, to;

	if (i == RAW)
		return there;
	there = in_view(st, views[i].upon, at);
	from = to = reading_boundary(&st->reading[i], there);
	if (from != there) {
		there = from;
		to_block(st, views[i].upon, &from, &to);
		*at = from;
	}
	return reading_offset(&st->reading[i], there);
}

/*
 * A place at or before at that is inside of no escape of JSON, once or twice
 * decoded: what follows is read alike without what stands before.
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
	/* four of them are one that was escaped twice */
	if (i == at)
		return start + ((at - start) & ~(size_t)3);
	if ((i - start) % 2 == 0)
		return at;
	i--;
	if (i == start && i >= ESCAPE_MAX / 2 &&
	    decode(SPELL_JSON, text, n, i - ESCAPE_MAX / 2, out, &len) == ESCAPE_MAX)
		start = i -= ESCAPE_MAX / 2;
	r = text[i] == '\\' ? decode(SPELL_JSON, text, n, i, out, &len) : NONE;
	if (r == UNFINISHED || (r > 0 && i + (size_t)r > at))
		return start + ((i - start) & ~(size_t)3);
	return at;
}

/* Down to a place that is a boundary in every view. */
static size_t
common_boundary(struct scrub_stream *st, const uint8_t *data, size_t n, size_t at)
{
	size_t before, there, from, to;
	int i;

	do {
		before = at;
		at = before_escape(data, n, at);
		for (i = 0; i < VIEWS; i++) {
			const struct reading *r = &st->reading[i];

			if (!st->made[i])
				continue;
			there = in_view(st, i, &at);
			if (there > r->len)
				there = r->len;
			from = to = before_escape(r->data, r->len, there);
			if (from == there)
				continue;
			to_block(st, i, &from, &to);
			at = least(at, from);
		}
	} while (at < before);
	return at;
}

/* A server that speaks line by line is not kept waiting for what may be the
 * beginning of base64 in columns, unless there is something of it. */
static bool
is_too_little(const struct reading *r, size_t tail)
{
	return r->spelling == SPELL_BROKEN && r->src_n > 0 &&
	       r->src[r->src_n - 1] == '\n' && r->len - tail < BROKEN_MIN;
}

/* Up to where the block is certain. */
static size_t
certain(struct scrub_stream *st, const uint8_t *data, size_t n)
{
	size_t at = filter_tail(st->scrub, data, n, FIT_ALL), from, to;
	int i;

	at = least(at, shapes_tail(&st->shaping, data, n));
	for (i = 0; i < VIEWS; i++) {
		const struct reading *r = &st->reading[i];

		if (!st->made[i])
			continue;
		/* An escape that has not ended may begin or carry on anything;
		 * what joins others begins nothing. */
		if (r->spelling < SPELL_BROKEN) {
			from = to = r->open;
			to_block(st, views[i].upon, &from, &to);
			at = least(at, from);
		}
		from = to = filter_tail(st->scrub, r->data, r->len, fits_in(i));
		if (from == r->len || is_too_little(r, from))
			continue;
		to_block(st, i, &from, &to);
		at = least(at, from);
	}
	return common_boundary(st, data, n, at);
}

/* ---- out --------------------------------------------------------------------- */

static int
hit_order(const void *a, const void *b)
{
	const struct hit *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return x->value < y->value ? -1 : x->value > y->value;
}

static void
count(struct scrub_stream *st, const struct hit *h)
{
	struct value *v;

	if ((h->value & HIT_SHAPE) != 0)
		return;
	v = &st->scrub->value[h->value];
	if (v->run == st->run)
		return; /* the same mask: its lines, a piece of itself */
	v->run = st->run;
	v->count++;
}

/* The mask for the hit that begins it. */
static int
put_mask(struct scrub_stream *st, const struct hit *h, struct buf *out)
{
	st->run = ++st->scrub->run;
	if ((h->value & HIT_SHAPE) == 0)
		return buf_puts(out, SCRUB_MASK);
	st->scrub->shape_count[h->value & ~HIT_SHAPE]++;
	return buf_puts(out, shapes_mask(h->value & ~HIT_SHAPE));
}

/* data[0..end) passes, masked. */
static int
emit(struct scrub_stream *st, const uint8_t *data, size_t end, struct buf *out)
{
	size_t at = st->masked, i; /* up to here it is out, or behind a mask */
	int r = 0;

	if (st->hits.n > 1)
		qsort(st->hits.hit, st->hits.n, sizeof(*st->hits.hit), hit_order);
	for (i = 0; i < st->hits.n && r == 0; i++) {
		const struct hit *h = &st->hits.hit[i];

		if (h->from >= end)
			break;
		if (h->from >= at) {
			r = buf_put(out, data + at, h->from - at);
			if (r == 0)
				r = put_mask(st, h, out);
		}
		count(st, h);
		if (h->to > at)
			at = h->to;
	}
	if (r == 0 && at < end) {
		r = buf_put(out, data + at, end - at);
		at = end;
	}
	st->masked = at > end ? at - end : 0;
	return r;
}

static int
pass(struct scrub_stream *st, const uint8_t *data, size_t n, bool last, struct buf *out,
    size_t *ret_used)
{
	size_t end;
	int r;

	r = find_all(st, data, n, last);
	if (r < 0)
		return r;
	end = last ? n : certain(st, data, n);
	r = emit(st, data, end, out);
	if (r < 0)
		return r;
	if (end > 0) {
		st->before[0] = end > 1 ? data[end - 2] : st->before[1];
		st->before[1] = data[end - 1];
	}
	*ret_used = end;
	return 0;
}

/* ---- in ------------------------------------------------------------------------ */

/* With bytes held: they and a piece of the new ones are one block. */
static int
feed_held(struct scrub_stream *st, const uint8_t *in, size_t len, bool last,
    struct buf *out, size_t *ret_taken)
{
	size_t before = st->held.len, n = least(len, before + PIECE), used = 0;
	int r;

	r = buf_put(&st->held, in, n);
	if (r < 0)
		return r;
	r = pass(st, st->held.data, st->held.len, last && n == len, out, &used);
	if (r < 0)
		return r;
	if (used >= before) {
		buf_clear(&st->held);
		*ret_taken = used - before;
	} else {
		buf_drop(&st->held, used);
		*ret_taken = n;
	}
	return 0;
}

static int
feed_plain(struct scrub_stream *st, const uint8_t *in, size_t len, bool last,
    struct buf *out, size_t *ret_taken)
{
	size_t n = least(len, BLOCK), used = 0;
	int r;

	r = pass(st, in, n, last && n == len, out, &used);
	if (r < 0)
		return r;
	if (used == 0 || n == len) {
		r = buf_put(&st->held, in + used, n - used);
		used = n;
	}
	if (r == 0)
		*ret_taken = used;
	return r;
}

static int
feed(struct scrub_stream *st, const uint8_t *in, size_t len, bool last, struct buf *out)
{
	size_t taken = 0, before = out->len;
	int r = st->error;

	while (len > 0 && r == 0) {
		if (st->held.len > 0)
			r = feed_held(st, in, len, last, out, &taken);
		else
			r = feed_plain(st, in, len, last, out, &taken);
		if (r < 0)
			break;
		in += taken;
		len -= taken;
	}
	if (r == 0 && last && st->held.len > 0)
		r = pass(st, st->held.data, st->held.len, true, out, &taken);
	if (last) {
		buf_clear(&st->held);
		st->masked = 0;
		memset(st->before, 0, sizeof(st->before));
	}
	if (r < 0) {
		out->len = before;
		st->error = r;
	}
	return r;
}

int
scrub_feed(struct scrub_stream *st, const void *in, size_t len, struct buf *out)
{
	return feed(st, in, len, false, out);
}

int
scrub_message(struct scrub_stream *st, const void *in, size_t len, struct buf *out)
{
	return feed(st, in, len, true, out);
}

int
scrub_flush(struct scrub_stream *st, struct buf *out)
{
	return feed(st, (const uint8_t *)"", 0, true, out);
}

int
scrub_text(struct scrub *s, const char *text, struct buf *out)
{
	struct scrub_stream *st = NULL;
	int r = scrub_stream_new(s, &st);

	buf_clear(out);
	if (r == 0)
		r = scrub_message(st, text, strlen(text), out);
	if (r == 0)
		r = buf_put(out, "", 1);
	scrub_stream_free(st);
	return r;
}
