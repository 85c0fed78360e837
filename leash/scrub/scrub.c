/*
 * One direction of one pipe, with every value of the server taken out.
 *
 * Process: the leash.  Its input is a stranger's: any bytes, in any pieces.
 *
 * A block is read three times: as it stands, with JSON escapes decoded, and
 * decoded twice (a server that answers with JSON inside a JSON string).  The
 * places found are brought back to the block, joined where they overlap, and
 * masked; a decoded match masks its whole spelling.
 *
 *	in:    ....ab\u0063d...........abc|  held: "abc" may become a value
 *	out:   ....***...........           next block starts with it
 *
 * A block always starts where all three readings have a boundary, so that
 * reading it again finds the same.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "leash/scrub/private.h"

#define BLOCK    (64u << 10)
#define DECODED  2                 /* readings beside the plain one */
#define HELD_MAX ((size_t)4 << 20) /* 64 KiB of value, each byte spelled in 36 */

struct scrub_stream {
	struct scrub *scrub;
	struct buf held; /* bytes not passed on yet */
	size_t masked;   /* of the next ones, already behind a mask */
	struct reading reading[DECODED];
	int reading_n; /* how many differ from the text */
	struct hits hits;
	uint64_t run; /* number of the last mask */
	int error;    /* sticks */
};

int
scrub_stream_new(struct scrub *s, struct scrub_stream **ret)
{
	struct scrub_stream *st;
	int r;

	if (!s->built) {
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
	for (i = 0; i < DECODED; i++)
		reading_free(&st->reading[i]);
	if (st->held.data != NULL)
		explicit_bzero(st->held.data, st->held.cap);
	buf_free(&st->held);
	free(st->hits.hit);
	free(st);
}

/* ---- where values stand ---------------------------------------------------- */

/* From a place in reading number i (0: the first decoded) to the block. */
static void
to_block(const struct scrub_stream *st, int i, size_t *from, size_t *to)
{
	for (; i >= 0; i--)
		reading_source(&st->reading[i], from, to);
}

/* Hits from the n-th on are places in reading i.  One without an escape in it
 * is a place in the reading below as well and was found there. */
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
		to_block(st, i - 1, &from, &to);
		st->hits.hit[kept++] = (struct hit){from, to, h->value};
	}
	st->hits.n = kept;
}

static int
find_all(struct scrub_stream *st, const uint8_t *data, size_t n, bool last)
{
	const uint8_t *text = data;
	size_t len = n, before;
	int i, r;

	st->hits.n = 0;
	st->reading_n = 0;
	r = filter_find(st->scrub, text, len, &st->hits);
	for (i = 0; i < DECODED && r == 0; i++) {
		if (memchr(text, '\\', len) == NULL)
			break;
		r = reading_make(&st->reading[i], text, len, last);
		if (r < 0)
			break;
		st->reading_n = i + 1;
		text = st->reading[i].data;
		len = st->reading[i].len;
		before = st->hits.n;
		r = filter_find(st->scrub, text, len, &st->hits);
		if (r == 0)
			hits_to_block(st, i, before);
	}
	return r;
}

static size_t
least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Up to where the block is certain. */
static size_t
certain(struct scrub_stream *st, const uint8_t *data, size_t n)
{
	size_t at = filter_tail(st->scrub, data, n), from, to, step[DECODED + 1];
	int i;

	for (i = 0; i < st->reading_n; i++) {
		const struct reading *r = &st->reading[i];

		/* An escape that has not ended may begin or carry on anything. */
		from = to = r->open;
		if (i > 0)
			to_block(st, i - 1, &from, &to);
		at = least(at, from);
		from = to = filter_tail(st->scrub, r->data, r->len);
		to_block(st, i, &from, &to);
		at = least(at, from);
	}
	/* Down to a place that is a boundary in every reading. */
	step[0] = at;
	for (i = 0; i < st->reading_n; i++) {
		step[i] = reading_boundary(&st->reading[i], step[i]);
		step[i + 1] = reading_offset(&st->reading[i], step[i]);
	}
	if (st->reading_n == 0)
		return at;
	from = to = step[st->reading_n - 1];
	to_block(st, st->reading_n - 2, &from, &to);
	return from;
}

/* ---- out --------------------------------------------------------------------- */

static int
hit_order(const void *a, const void *b)
{
	const struct hit *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

static void
count(struct scrub_stream *st, const struct hit *h)
{
	struct value *v = &st->scrub->value[h->value];

	if (v->run == st->run)
		return; /* the same mask: its lines, a piece of itself */
	v->run = st->run;
	v->count++;
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
				r = buf_puts(out, SCRUB_MASK);
			st->run = ++st->scrub->run;
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
	if (r == 0)
		*ret_used = end;
	return r;
}

/* ---- in ------------------------------------------------------------------------ */

/* With bytes held: they and a piece of the new ones are one block. */
static int
feed_held(struct scrub_stream *st, const uint8_t *in, size_t len, struct buf *out,
    size_t *ret_taken)
{
	size_t n = least(len, BLOCK), before = st->held.len, used = 0;
	int r;

	r = buf_put(&st->held, in, n);
	if (r < 0)
		return r;
	r = pass(st, st->held.data, st->held.len, false, out, &used);
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
feed_plain(struct scrub_stream *st, const uint8_t *in, size_t len, struct buf *out,
    size_t *ret_taken)
{
	size_t n = least(len, BLOCK), used = 0;
	int r;

	r = pass(st, in, n, false, out, &used);
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

int
scrub_feed(struct scrub_stream *st, const void *in, size_t len, struct buf *out)
{
	const uint8_t *at = in;
	size_t taken = 0, before = out->len;
	int r = st->error;

	if (r == 0 && st->scrub->pattern_n == 0) {
		r = buf_put(out, in, len);
		len = 0;
	}
	while (len > 0 && r == 0) {
		if (st->held.len > 0)
			r = feed_held(st, at, len, out, &taken);
		else
			r = feed_plain(st, at, len, out, &taken);
		if (r < 0)
			break;
		at += taken;
		len -= taken;
	}
	if (r < 0) {
		out->len = before;
		st->error = r;
	}
	return r;
}

int
scrub_flush(struct scrub_stream *st, struct buf *out)
{
	size_t used, before = out->len;
	int r = st->error;

	if (r == 0 && st->held.len > 0)
		r = pass(st, st->held.data, st->held.len, true, out, &used);
	buf_clear(&st->held);
	st->masked = 0;
	if (r < 0) {
		out->len = before;
		st->error = r;
	}
	return r;
}

int
scrub_text(struct scrub *s, const char *text, struct buf *out)
{
	struct scrub_stream *st = NULL;
	int r = scrub_stream_new(s, &st);

	buf_clear(out);
	if (r == 0)
		r = scrub_feed(st, text, strlen(text), out);
	if (r == 0)
		r = scrub_flush(st, out);
	if (r == 0)
		r = buf_put(out, "", 1);
	scrub_stream_free(st);
	return r;
}
