/*
 * A growable byte buffer with a size limit.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/buf.h"

#define BUF_FIRST 256 /* the first allocation, large enough for most messages */

void
buf_init(struct buf *b, size_t max)
{
	*b = (struct buf){.max = max};
}

void
buf_free(struct buf *b)
{
	free(b->data);
	*b = (struct buf){.max = b->max};
}

void
buf_free_wiped(struct buf *b)
{
	if (b->data != NULL)
		explicit_bzero(b->data, b->cap);
	buf_free(b);
}

int
buf_reserve(struct buf *b, size_t more)
{
	size_t want, cap;
	uint8_t *bigger;

	if (more > b->max - b->len)
		return -EMSGSIZE;
	want = b->len + more;
	if (want <= b->cap)
		return 0;
	cap = b->cap > 0 ? b->cap : BUF_FIRST;
	while (cap < want)
		cap = cap > SIZE_MAX / 2 ? want : cap * 2;
	bigger = realloc(b->data, cap);
	if (bigger == NULL)
		return -ENOMEM;
	b->data = bigger;
	b->cap = cap;
	return 0;
}

int
buf_put(struct buf *b, const void *bytes, size_t n)
{
	int r = buf_reserve(b, n);

	if (r == 0 && n > 0) {
		memcpy(b->data + b->len, bytes, n);
		b->len += n;
	}
	return r;
}

int
buf_puts(struct buf *b, const char *text)
{
	return buf_put(b, text, strlen(text));
}

int
buf_putc(struct buf *b, int c)
{
	uint8_t byte = (uint8_t)c;

	return buf_put(b, &byte, 1);
}

int
buf_printf(struct buf *b, const char *format, ...)
{
	va_list ap;
	int n, r;

	va_start(ap, format);
	n = vsnprintf(NULL, 0, format, ap);
	va_end(ap);
	if (n < 0)
		return -EINVAL;
	/* vsnprintf also writes a NUL, which is not counted. */
	r = buf_reserve(b, (size_t)n + 1);
	if (r != 0)
		return r;
	va_start(ap, format);
	(void)vsnprintf((char *)b->data + b->len, (size_t)n + 1, format, ap);
	va_end(ap);
	b->len += (size_t)n;
	return 0;
}

void
buf_drop(struct buf *b, size_t n)
{
	if (n < b->len)
		memmove(b->data, b->data + n, b->len - n);
	b->len -= n;
}

void
buf_clear(struct buf *b)
{
	b->len = 0;
}

const char *
buf_str(struct buf *b)
{
	if (b->len == b->cap) {
		uint8_t *bigger = realloc(b->data, b->cap + 1);

		if (bigger == NULL)
			return "";
		b->data = bigger;
		b->cap++;
	}
	b->data[b->len] = '\0';
	return (const char *)b->data;
}
