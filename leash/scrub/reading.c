/*
 * A text as a JSON parser reads its strings: \" \\ \/ \b \f \n \r \t \uXXXX,
 * surrogate pairs joined, all as UTF-8.  Whether a place is inside a string is
 * not asked: outside of one JSON has no backslash, and what is not JSON at all
 * may quote some.  Applied to its own result it reads JSON inside a string.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "leash/scrub/private.h"
#include "shim/base/utf8.h"

void
reading_free(struct reading *r)
{
	if (r->data != NULL)
		explicit_bzero(r->data, r->cap);
	free(r->data);
	free(r->escape);
	*r = (struct reading){0};
}

/* Room for a source of n bytes: a reading is never longer. */
static int
reserve(struct reading *r, size_t n)
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
reserve_escape(struct reading *r)
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

static int
hex_digit(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

enum { UNFINISHED = -1, NONE = 0 };

/* "\uXXXX" at src[n]: NONE, UNFINISHED, or 6 and *ret. */
static int
hex_unit(const uint8_t *src, size_t n, uint32_t *ret)
{
	uint32_t value = 0;
	size_t i;
	int d;

	for (i = 0; i < 6; i++) {
		if (i == n)
			return UNFINISHED;
		if (i < 2) {
			if (src[i] != (uint8_t) "\\u"[i])
				return NONE;
			continue;
		}
		d = hex_digit(src[i]);
		if (d < 0)
			return NONE;
		value = value << 4 | (uint32_t)d;
	}
	*ret = value;
	return 6;
}

/* The escape at src[n], whose first byte is a backslash: its length there and
 * *ret_len bytes in out; NONE; UNFINISHED. */
static int
escape_read(const uint8_t *src, size_t n, uint8_t out[static 4], uint8_t *ret_len)
{
	static const uint8_t simple[256] = {['"'] = '"',
	    ['\\'] = '\\',
	    ['/'] = '/',
	    ['b'] = '\b',
	    ['f'] = '\f',
	    ['n'] = '\n',
	    ['r'] = '\r',
	    ['t'] = '\t'};
	uint32_t high, low;
	int r;

	if (n < 2)
		return UNFINISHED;
	if (simple[src[1]] != 0) {
		out[0] = simple[src[1]];
		*ret_len = 1;
		return 2;
	}
	r = hex_unit(src, n, &high);
	if (r <= 0)
		return r;
	if (high >= 0xdc00 && high <= 0xdfff)
		return NONE;
	if (high >= 0xd800 && high <= 0xdbff) {
		r = hex_unit(src + 6, n - 6, &low);
		if (r <= 0)
			return r;
		if (low < 0xdc00 || low > 0xdfff)
			return NONE;
		high = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
		r = 12;
	} else {
		r = 6;
	}
	*ret_len = (uint8_t)utf8_put(high, out);
	return r;
}

int
reading_make(struct reading *r, const uint8_t *src, size_t n, bool last)
{
	size_t at = 0, run;
	const uint8_t *slash;
	int got;

	if (reserve(r, n + 4) < 0)
		return -ENOMEM;
	r->len = r->escape_n = 0;
	r->open = n;
	while (at < n) {
		slash = memchr(src + at, '\\', n - at);
		run = slash == NULL ? n - at : (size_t)(slash - (src + at));
		memcpy(r->data + r->len, src + at, run);
		r->len += run;
		at += run;
		if (slash == NULL)
			break;
		if (reserve_escape(r) < 0)
			return -ENOMEM;
		struct escape *e = &r->escape[r->escape_n];
		got = escape_read(src + at, n - at, r->data + r->len, &e->len);
		if (got == UNFINISHED && !last) {
			r->open = at;
			break;
		}
		if (got <= 0) {
			r->data[r->len++] = '\\';
			at++;
			continue;
		}
		e->at = r->len;
		e->src = at;
		e->src_len = (uint8_t)got;
		r->escape_n++;
		r->len += e->len;
		at += (size_t)got;
	}
	return 0;
}

/* The last escape that starts at or before: by reading or by source offset. */
static const struct escape *
escape_before(const struct reading *r, size_t at, bool in_source)
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

/* Where the unit that reading offset at lies in starts, and ends. */
static void
unit_of(const struct reading *r, size_t at, size_t *ret_from, size_t *ret_to)
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
reading_source(const struct reading *r, size_t *from, size_t *to)
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
reading_boundary(const struct reading *r, size_t at)
{
	const struct escape *e = escape_before(r, at, true);

	return e != NULL && at < e->src + e->src_len ? e->src : at;
}

size_t
reading_offset(const struct reading *r, size_t at)
{
	const struct escape *e = escape_before(r, at, true);

	if (e == NULL)
		return at;
	return e->src == at ? e->at : e->at + e->len + (at - e->src - e->src_len);
}
