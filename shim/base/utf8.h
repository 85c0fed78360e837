/*
 * Encodes a code point as UTF-8, for all decoders of \u escapes.  Code that
 * checks UTF-8 has its own grammar, because each also refuses something else.
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

#endif
