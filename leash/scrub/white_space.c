/*
 * White space around a value: see white_space.h.
 *
 * Process: the leash, before it sandboxes itself.
 */
#include <stdbool.h>

#include "leash/scrub/white_space.h"
#include "shim/base/array.h"
#include "shim/base/utf8.h"

#define CHARACTER_MAX 4 /* bytes */

static bool
is_white(uint32_t code)
{
	static const struct {
		uint32_t first, last;
	} ranges[] = {
	    {0x0000, 0x0020}, /* Java's trim() removes all of them, PHP's the NUL */
	    {0x0085, 0x0085}, {0x00a0, 0x00a0}, {0x1680, 0x1680},
	    {0x180e, 0x180e}, /* white space before Unicode 6.3 */
	    {0x2000, 0x200d}, /* from 0x200b on: without a width */
	    {0x2028, 0x2029}, {0x202f, 0x202f}, {0x205f, 0x2060}, {0x3000, 0x3000},
	    {0xfeff, 0xfeff}, /* byte order mark, on either side */
	};

	for (size_t i = 0; i < ARRAY_LEN(ranges); i++)
		if (code >= ranges[i].first && code <= ranges[i].last)
			return true;
	return false;
}

/* The first character, and its length.  A byte that is not UTF-8 is its own code: the
 * text may be in Latin-1. */
static uint32_t
first_code(const uint8_t *text, size_t len, size_t *ret_len)
{
	const char *at = (const char *)text;
	uint32_t code = utf8_take(&at, at + len);

	*ret_len = code == UTF8_INVALID ? 1 : (size_t)(at - (const char *)text);
	return code == UTF8_INVALID ? text[0] : code;
}

size_t
white_space_first(const uint8_t *text, size_t len)
{
	size_t n;

	return len > 0 && is_white(first_code(text, len, &n)) ? n : 0;
}

size_t
white_space_last(const uint8_t *text, size_t len)
{
	size_t n;

	for (size_t k = 2; k <= CHARACTER_MAX && k <= len; k++) {
		const uint8_t *at = text + len - k;
		uint32_t code = first_code(at, k, &n);

		if (n == k)
			return is_white(code) ? k : 0;
	}
	return len > 0 && is_white(text[len - 1]) ? 1 : 0;
}

size_t
white_space_line_end(const uint8_t *text, size_t len)
{
	uint32_t code;
	size_t n;

	if (len == 0)
		return 0;
	code = text[0] < 0x80 ? text[0] : first_code(text, len, &n);
	if (code == '\n' || code == '\r')
		return 1;
	/* a lone byte of 0x85 may be anything */
	return (code == 0x85 && n == 2) || code == 0x2028 || code == 0x2029 ? n : 0;
}
