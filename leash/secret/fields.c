/*
 * Lines of base64url, which programs of kennel and pages pass to kennel-secret: no tree of
 * a parser in a process that has values. And texts as JSON, for those who read its lists.
 */
#include <string.h>

#include "leash/secret/private.h"
#include "shim/base/utf8.h"

static const char digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/* ---- base64url (RFC 4648, section 5), without padding ------------------------------ */

static int
value_of(char c)
{
	const char *at = c == '\0' ? NULL : strchr(digits, c);

	return at == NULL ? -1 : (int)(at - digits);
}

/* In place: a byte is written after the digits it is made of were read. False: another
 * character, or digits that are of no byte. */
static bool
decode(char *at, size_t len, size_t *ret_len)
{
	unsigned int bits = 0, n = 0;
	size_t out = 0;

	for (size_t i = 0; i < len; i++) {
		int value = value_of(at[i]);

		if (value < 0)
			return false;
		bits = bits << 6 | (unsigned int)value;
		n += 6;
		if (n < 8)
			continue;
		n -= 8;
		at[out++] = (char)(bits >> n & 0xff);
		bits &= (1u << n) - 1;
	}
	*ret_len = out;
	return n < 6 && bits == 0;
}

bool
fields_read(char *text, size_t len, struct typed *ret, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char *end = memchr(text, '\n', len);
		size_t line = end == NULL ? len : (size_t)(end - text);

		if ((end == NULL) != (i + 1 == n))
			return false;
		ret[i].bytes = text;
		if (!decode(text, line, &ret[i].len))
			return false;
		text += line + 1;
		len -= end == NULL ? len : line + 1;
	}
	return true;
}

void
base64url_print(FILE *f, struct span bytes)
{
	for (size_t i = 0; i < bytes.len; i += 3) {
		size_t n = bytes.len - i < 3 ? bytes.len - i : 3;
		unsigned int bits = (unsigned int)bytes.data[i] << 16;

		if (n > 1)
			bits |= (unsigned int)bytes.data[i + 1] << 8;
		if (n > 2)
			bits |= bytes.data[i + 2];
		for (size_t k = 0; k <= n; k++)
			(void)putc(digits[bits >> (18 - 6 * k) & 0x3f], f);
	}
}

/* ---- JSON ---------------------------------------------------------------------------- */

void
json_print(FILE *f, const char *text)
{
	const char *end = text + strlen(text);

	(void)putc('"', f);
	while (text < end) {
		uint32_t c = utf8_take(&text, end);

		if (c == '"' || c == '\\')
			fprintf(f, "\\%c", (int)c);
		else if (c >= 0x20 && c < 0x7f)
			(void)putc((int)c, f);
		else if (c < 0x10000)
			fprintf(f, "\\u%04x", c);
		else
			fprintf(f, "\\u%04x\\u%04x", 0xd800 + ((c - 0x10000) >> 10),
			    0xdc00 + ((c - 0x10000) & 0x3ff));
	}
	(void)putc('"', f);
}

void
date_text(uint64_t seconds, char out[DATE_TEXT_MAX])
{
	time_t t = (time_t)seconds;
	struct tm tm;

	if (seconds == 0 || gmtime_r(&t, &tm) == NULL ||
	    strftime(out, DATE_TEXT_MAX, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
		(void)snprintf(out, DATE_TEXT_MAX, "-");
}
