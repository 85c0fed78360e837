#include <stdint.h>
#include <string.h>

#include "shim/base/hex.h"

static const char digit[] = "0123456789abcdef";

char *
hex_put(char *ret, const void *bytes, size_t n)
{
	const uint8_t *in = bytes;

	for (size_t i = 0; i < n; i++) {
		ret[2 * i] = digit[in[i] >> 4];
		ret[2 * i + 1] = digit[in[i] & 15];
	}
	ret[2 * n] = '\0';
	return ret;
}

void
hex_print(FILE *f, const void *bytes, size_t n)
{
	char two[3];

	for (size_t i = 0; i < n; i++)
		(void)fputs(hex_put(two, (const uint8_t *)bytes + i, 1), f);
}

size_t
hex_span(const char *text)
{
	return strspn(text, digit);
}

bool
hex_is(const char *text, size_t len, size_t n)
{
	return len == n && hex_span(text) == n;
}

bool
hex_get(const char *text, size_t len, void *ret, size_t n)
{
	uint8_t *out = ret;

	if (len != 2 * n)
		return false;
	for (size_t i = 0; i < n; i++) {
		int high = hex_lower(text[2 * i]), low = hex_lower(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		out[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}
