/*
 * A text with one kind of escape decoded, and the mapping of each byte back to its
 * source.  Applied to its own result, it decodes JSON inside a JSON string.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "leash/scrub/private.h"

void
decoding_free(struct decoding *r)
{
	if (r->data != NULL)
		explicit_bzero(r->data, r->cap);
	free(r->data);
	free(r->escape);
	*r = (struct decoding){0};
}

/* Reserves memory for a source of n bytes; the decoded text is never longer. */
static int
reserve(struct decoding *r, size_t n)
{
	uint8_t *data;

	if (n <= r->cap)
		return 0;
	data = malloc(n);
	if (data == NULL)
		return -ENOMEM;
	if (r->data != NULL)
		explicit_bzero(r->data, r->cap);
	free(r->data);
	r->data = data;
	r->cap = n;
	return 0;
}

static int
reserve_escape(struct decoding *r)
{
	struct escape *more;
	size_t cap = r->escape_cap * 2 + 256;

	if (r->escape_n < r->escape_cap)
		return 0;
	more = reallocarray(r->escape, cap, sizeof(*more));
	if (more == NULL)
		return -ENOMEM;
	r->escape = more;
	r->escape_cap = cap;
	return 0;
}

/* At the end of the stream an entity may lack its terminator. */
static int
last_entity(const uint8_t *src, size_t n, struct escape *e, uint8_t out[static 4])
{
	uint8_t copy[16];

	if (n >= sizeof(copy))
		return NONE;
	memcpy(copy, src, n);
	copy[n] = ' ';
	return entity(copy, n + 1, out, &e->len);
}

/* Decodes the escape at src[at], or copies the byte.  Returns the source offset after
 * it; 0 if the rest is an incomplete escape. */
static size_t
take_one(struct decoding *r, size_t at, bool last)
{
	struct escape *e = &r->escape[r->escape_n];
	uint8_t out[4];
	int got = decode(r->spelling, r->src, r->src_n, at, out, &e->len);

	if (got == UNFINISHED && !last)
		return 0;
	if (got == UNFINISHED && r->spelling == SPELL_ENTITY)
		got = last_entity(r->src + at, r->src_n - at, e, out);
	if (got <= 0) {
		r->data[r->len++] = r->src[at];
		return 1;
	}
	e->at = r->len;
	e->src = at;
	e->src_len = (uint32_t)got;
	r->escape_n++;
	memcpy(r->data + r->len, out, e->len);
	r->len += e->len;
	return (size_t)got;
}

int
decoding_make(
    struct decoding *r, enum spelling spelling, const uint8_t *src, size_t n, bool last)
{
	size_t at = 0, next, took;

	if (reserve(r, n + 4) < 0)
		return -ENOMEM;
	r->spelling = spelling;
	r->src = src;
	r->src_n = n;
	r->len = r->escape_n = 0;
	r->open = n;
	while (at < n) {
		next = decode_next(spelling, src, n, at);
		memcpy(r->data + r->len, src + at, next - at);
		r->len += next - at;
		at = next;
		if (at == n)
			break;
		if (reserve_escape(r) < 0)
			return -ENOMEM;
		took = take_one(r, at, last);
		if (took == 0) {
			r->open = at;
			break;
		}
		at += took;
	}
	return 0;
}

/* The last escape that starts at or before an offset, decoded or source. */
static const struct escape *
escape_before(const struct decoding *r, size_t at, bool in_source)
{
	size_t low = 0, high = r->escape_n, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if ((in_source ? r->escape[mid].src : r->escape[mid].at) <= at)
			low = mid + 1;
		else
			high = mid;
	}
	return low == 0 ? NULL : &r->escape[low - 1];
}

/* The start and the end of the unit that contains decoded offset at. */
static void
unit_of(const struct decoding *r, size_t at, size_t *ret_from, size_t *ret_to)
{
	const struct escape *e = escape_before(r, at, false);
	size_t src = at;

	if (e != NULL && at < e->at + e->len) {
		*ret_from = e->src;
		*ret_to = e->src + e->src_len;
		return;
	}
	if (e != NULL)
		src = e->src + e->src_len + (at - e->at - e->len);
	*ret_from = src;
	*ret_to = src + 1;
}

void
decoding_source(const struct decoding *r, size_t *from, size_t *to)
{
	size_t start, end, unused;

	unit_of(r, *from, &start, &unused);
	if (*to == *from)
		end = start;
	else
		unit_of(r, *to - 1, &unused, &end);
	*from = start;
	*to = end;
}

size_t
decoding_boundary(const struct decoding *r, size_t at)
{
	const struct escape *e = escape_before(r, at, true);
	size_t back;

	if (e != NULL && at < e->src + e->src_len)
		at = e->src;
	if (r->spelling != SPELL_PAIRS || at >= r->src_n ||
	    decode_hex_digit(r->src[at]) < 0)
		return at;
	/* inside a byte: the separator test needs both digits */
	for (back = 0; back < 2 && at > 0 && decode_hex_digit(r->src[at - 1]) >= 0;
	     back++)
		at--;
	return at;
}

size_t
decoding_offset(const struct decoding *r, size_t at)
{
	const struct escape *e = escape_before(r, at, true);

	if (e == NULL)
		return at;
	return e->src == at ? e->at : e->at + e->len + (at - e->src - e->src_len);
}
