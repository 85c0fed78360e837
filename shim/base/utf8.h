/*
 * Encodes a code point as UTF-8, for all decoders of \u escapes, and decodes one to show
 * it.  Code that checks UTF-8 has its own grammar, because each also refuses something
 * else.
 */
#ifndef KENNEL_SHIM_BASE_UTF8_H
#define KENNEL_SHIM_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* code: at most 0x10ffff.  Returns the number of bytes written. */
static inline size_t
utf8_put(uint32_t code, uint8_t out[static 4])
{
	if (code < 0x80) {
		out[0] = (uint8_t)code;
		return 1;
	}
	if (code < 0x800) {
		out[0] = (uint8_t)(0xc0 | code >> 6);
		out[1] = (uint8_t)(0x80 | (code & 0x3f));
		return 2;
	}
	if (code < 0x10000) {
		out[0] = (uint8_t)(0xe0 | code >> 12);
		out[1] = (uint8_t)(0x80 | (code >> 6 & 0x3f));
		out[2] = (uint8_t)(0x80 | (code & 0x3f));
		return 3;
	}
	out[0] = (uint8_t)(0xf0 | code >> 18);
	out[1] = (uint8_t)(0x80 | (code >> 12 & 0x3f));
	out[2] = (uint8_t)(0x80 | (code >> 6 & 0x3f));
	out[3] = (uint8_t)(0x80 | (code & 0x3f));
	return 4;
}

/* Decodes the character at *at, which is before end, and moves past it; UTF8_INVALID for
 * invalid UTF-8. */
#define UTF8_INVALID 0xfffdu
static inline uint32_t
utf8_take(const char **at, const char *end)
{
	static const struct {
		uint8_t mask, is;
		int more;
		uint32_t least;
	} form[] = {
	    {0x80, 0x00, 0, 0},
	    {0xe0, 0xc0, 1, 0x80},
	    {0xf0, 0xe0, 2, 0x800},
	    {0xf8, 0xf0, 3, 0x10000},
	};
	const uint8_t *s = (const uint8_t *)*at, *stop = (const uint8_t *)end;

	for (size_t i = 0; i < sizeof(form) / sizeof(form[0]); i++) {
		uint32_t c = s[0] & (uint8_t)~form[i].mask;
		int k = 0;

		if ((s[0] & form[i].mask) != form[i].is)
			continue;
		while (k < form[i].more && s + k + 1 < stop && (s[k + 1] & 0xc0) == 0x80)
			c = c << 6 | (s[++k] & 0x3f);
		*at += k + 1;
		if (k < form[i].more || c < form[i].least || c > 0x10ffff ||
		    (c >= 0xd800 && c < 0xe000))
			return UTF8_INVALID;
		return c;
	}
	*at += 1;
	return UTF8_INVALID;
}

#endif
