/*
 * Base64 with padding (RFC 4648, section 4), as used in signed notes.
 */
#include <errno.h>
#include <string.h>

#include "shim/base/wire.h"
#include "supervisor/audit/log/signed_note.h"

static const char digit[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void
base64_put(char *out, const void *bytes, size_t len)
{
	const uint8_t *in = bytes;

	for (size_t i = 0; i < len; i += 3) {
		uint32_t three = (uint32_t)in[i] << 16;

		if (i + 1 < len)
			three |= (uint32_t)in[i + 1] << 8;
		if (i + 2 < len)
			three |= in[i + 2];
		*out++ = digit[three >> 18];
		*out++ = digit[three >> 12 & 63];
		*out++ = (char)(i + 1 < len ? digit[three >> 6 & 63] : '=');
		*out++ = (char)(i + 2 < len ? digit[three & 63] : '=');
	}
	*out = '\0';
}

static int
value_of(uint8_t c)
{
	const char *at = c != '\0' ? strchr(digit, c) : NULL;

	return at != NULL ? (int)(at - digit) : -1;
}

long
base64_get(struct span text, uint8_t *out, size_t out_cap)
{
	size_t n = text.len, o = 0;

	if (n % 4 != 0)
		return -EBADMSG;
	if (n > 0 && text.data[n - 1] == '=')
		n--;
	if (n > 0 && n < text.len && text.data[n - 1] == '=')
		n--;
	for (size_t i = 0; i < n; i += 4) {
		uint32_t four = 0;
		size_t have = n - i < 4 ? n - i : 4;

		for (size_t k = 0; k < 4; k++) {
			int v = k < have ? value_of(text.data[i + k]) : 0;

			if (v < 0)
				return -EBADMSG;
			four = four << 6 | (uint32_t)v;
		}
		/* unused bits must be zero, so that each value has one encoding */
		if ((have == 2 && (four & 0xffff) != 0) ||
		    (have == 3 && (four & 0xff) != 0))
			return -EBADMSG;
		for (size_t k = 0; k + 1 < have; k++) {
			if (o == out_cap)
				return -EBADMSG;
			out[o++] = (uint8_t)(four >> (16 - 8 * k));
		}
	}
	return (long)o;
}
