/*
 * One direction of one pipe, with every secret value of the server redacted.
 *
 * Process: the leash.  Trusts: nothing; its input is untrusted: any bytes, split
 * anywhere.
 *
 * Overlapping matches in a block (scan_block.c) are merged and replaced by one
 * mask.
 *
 *	in:    ....ab\u0063d...........abc|  held: "abc" may become a value
 *	out:   ....***...........           next block starts with it
 *
 * A block always starts at a boundary of all decodings, so that scanning the same
 * bytes again finds the same matches.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "leash/scrub/private.h"
#include "leash/vault/vault.h"
#include "shim/base/sort.h"

#define BLOCK    (64u << 10)
#define HELD_MAX ((size_t)4 << 20) /* 64 KiB of value, each byte spelled in 36 */
#define PIECE    4096              /* of new bytes, joined to the held ones */

struct scrub_stream {
	struct scrub *scrub;
	struct buf held; /* bytes not passed on yet */
	size_t masked;   /* of them, bytes already covered by a mask */
	struct decodings decodings;
	uint64_t run;                      /* number of the last mask */
	uint8_t before[CREDENTIAL_BEFORE]; /* the last bytes that were passed on */
	bool messages;                     /* a line is a JSON message: */
	bool in_string, in_escape;         /* where in it the next byte is */
	int error;                         /* sticky */
};

int
scrub_stream_new(struct scrub *s, struct scrub_stream **ret)
{
	struct scrub_stream *st;
	int r;

	if (!s->built) {
		r = encodings_build(s);
		if (r == 0)
			r = filter_build(s);
		if (r < 0)
			return r;
		s->built = true;
	}
	st = calloc(1, sizeof(*st));
	if (st == NULL)
		return -ENOMEM;
	st->scrub = st->decodings.scrub = s;
	buf_init(&st->held, HELD_MAX);
	*ret = st;
	return 0;
}

void
scrub_stream_messages(struct scrub_stream *st)
{
	st->messages = true;
}

void
scrub_stream_free(struct scrub_stream *st)
{
	if (st == NULL)
		return;
	decodings_free(&st->decodings);
	buf_free_wiped(&st->held);
	free(st);
}

uint64_t
scrub_credential_count(const struct scrub *s, uint32_t number)
{
	return number < SCRUB_CREDENTIALS_MAX ? s->credential_count[number] : 0;
}

uint64_t
scrub_free_count(const struct scrub *s)
{
	uint64_t n = 0;

	for (uint32_t i = 0; scrub_credential(i) != NULL; i++)
		n += credentials_free(i) ? s->credential_count[i] : 0;
	return n;
}

/* ---- output ------------------------------------------------------------------ */

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

	if ((h->value & HIT_CREDENTIAL) != 0)
		return;
	v = &st->scrub->value[h->value];
	if (v->run == st->run)
		return; /* the same mask: a line or part of it */
	v->run = st->run;
	v->count++;
}

bool
scrub_is_number(uint8_t c)
{
	return (c >= '0' && c <= '9') || (c != '\0' && strchr("+-.eE", c) != NULL);
}

/* Tracks over the passed data[from..to) whether the next byte is in a JSON string.
 * Only needed if a value may occur outside of one. */
static void
follow_strings(struct scrub_stream *st, const uint8_t *data, size_t from, size_t to)
{
	if (!st->messages || !st->scrub->filter.bare)
		return;
	for (; from < to; from++) {
		if (st->in_escape)
			st->in_escape = false;
		else if (data[from] == '"')
			st->in_string = !st->in_string;
		else
			st->in_escape = st->in_string && data[from] == '\\';
	}
}

/*
 * The mask of a value outside of a string, chosen to keep the JSON valid.  An
 * object or an array becomes a string.  Digits of a number become a 1, which is
 * valid wherever they were, with the point or exponent that they began or ended
 * with.
 */
static int
put_bare(const uint8_t *text, size_t n, struct buf *out)
{
	size_t i;
	int r = 0;

	if (text[0] == '{' || text[0] == '[')
		return buf_puts(out, "\"" SCRUB_MASK "\"");
	for (i = 0; i < n && scrub_is_number(text[i]); i++)
		;
	if (i < n)
		return buf_puts(out, SCRUB_MASK);
	if (text[0] == '.' || (text[0] | 0x20) == 'e')
		r = buf_putc(out, text[0]);
	if (r == 0)
		r = buf_putc(out, '1');
	if (r == 0 && n > 1 && (text[n - 1] | 0x20) == 'e')
		r = buf_putc(out, text[n - 1]);
	return r;
}

/* Writes the mask for the hit that begins it. */
static int
put_mask(
    struct scrub_stream *st, const uint8_t *data, const struct hit *h, struct buf *out)
{
	st->run = ++st->scrub->run;
	if ((h->value & HIT_CREDENTIAL) != 0) {
		st->scrub->credential_count[h->value & ~HIT_CREDENTIAL]++;
		return buf_puts(out, credentials_mask(h->value & ~HIT_CREDENTIAL));
	}
	if (st->messages && st->scrub->filter.bare && !st->in_string)
		return put_bare(data + h->from, h->to - h->from, out);
	return buf_puts(out, SCRUB_MASK);
}

/* Writes data[0..end), redacted. */
static int
emit(struct scrub_stream *st, const uint8_t *data, size_t end, struct buf *out)
{
	size_t at = st->masked, i; /* everything before is written or masked */
	size_t seen = 0;
	int r = 0;

	if (st->decodings.hits.n > 1)
		sort_in_place(st->decodings.hits.hit, st->decodings.hits.n,
		    sizeof(*st->decodings.hits.hit), hit_order);
	for (i = 0; i < st->decodings.hits.n && r == 0; i++) {
		const struct hit *h = &st->decodings.hits.hit[i];

		if (h->from >= end)
			break;
		if (h->from >= at) {
			follow_strings(st, data, seen, h->from);
			seen = h->from;
			r = buf_put(out, data + at, h->from - at);
			if (r == 0)
				r = put_mask(st, data, h, out);
		}
		count(st, h);
		if (h->to > at)
			at = h->to;
	}
	if (r == 0 && at < end) {
		r = buf_put(out, data + at, end - at);
		at = end;
	}
	follow_strings(st, data, seen, end);
	st->masked = at > end ? at - end : 0;
	return r;
}

/* Keeps the last bytes of data[0..end): they decide what may begin next. */
static void
keep_before(struct scrub_stream *st, const uint8_t *data, size_t end)
{
	size_t n = size_min(end, sizeof(st->before));

	memmove(st->before, st->before + n, sizeof(st->before) - n);
	memcpy(st->before + sizeof(st->before) - n, data + end - n, n);
}

static int
pass(struct scrub_stream *st, const uint8_t *data, size_t n, bool last, struct buf *out,
    size_t *ret_used)
{
	size_t end;
	int r;

	r = decodings_find(&st->decodings, data, n, st->before, last);
	if (r < 0)
		return r;
	end = last ? n : decodings_certain(&st->decodings, data, n);
	r = emit(st, data, end, out);
	if (r < 0)
		return r;
	keep_before(st, data, end);
	*ret_used = end;
	return 0;
}

/* ---- input --------------------------------------------------------------------- */

/* The held bytes and a piece of the new ones form one block. */
static int
feed_held(struct scrub_stream *st, const uint8_t *in, size_t len, bool last,
    struct buf *out, size_t *ret_taken)
{
	size_t before = st->held.len, n = size_min(len, before + PIECE), used = 0;
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
	size_t n = size_min(len, BLOCK), used = 0;
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
		st->in_string = st->in_escape = false;
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
	const uint8_t *data = in, *end = NULL;
	size_t whole, before = out->len;
	int r = 0;

	if (st->messages && len > 0)
		end = memrchr(data, '\n', len);
	whole = end == NULL ? 0 : (size_t)(end - data) + 1;
	if (whole > 0)
		r = feed(st, data, whole, true, out);
	if (r == 0 && whole < len)
		r = feed(st, data + whole, len - whole, false, out);
	if (r < 0)
		out->len = before;
	return r;
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

/* Length of the held bytes through the last line end, else 0. */
static size_t
held_lines(const struct scrub_stream *st)
{
	const uint8_t *end = NULL;

	if (st->held.len > 0)
		end = memrchr(st->held.data, '\n', st->held.len);
	return end == NULL ? 0 : (size_t)(end - st->held.data) + 1;
}

bool
scrub_holds_lines(const struct scrub_stream *st)
{
	return held_lines(st) > 0;
}

int
scrub_flush_lines(struct scrub_stream *st, struct buf *out)
{
	size_t lines = held_lines(st), used = 0, before = out->len;
	int r = st->error;

	if (r < 0 || lines == 0)
		return r;
	r = pass(st, st->held.data, lines, true, out, &used);
	buf_drop(&st->held, lines);
	/* scan the rest again: it may no longer be the beginning of a match */
	used = 0;
	if (r == 0 && st->held.len > 0)
		r = pass(st, st->held.data, st->held.len, false, out, &used);
	if (used > 0)
		buf_drop(&st->held, used);
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
		r = scrub_message(st, text, strlen(text), out);
	if (r == 0)
		r = buf_put(out, "", 1);
	scrub_stream_free(st);
	return r;
}
