/*
 * Fields separated by colons, and the numbers in them.
 */
#include <string.h>

#include "shim/host/passwd_line.h"

bool
colon_field(const char *line, const char *end, int n, char *out, size_t cap)
{
	const char *stop;
	size_t len;

	for (; n > 0; n--) {
		line = memchr(line, ':', (size_t)(end - line));
		if (line == NULL)
			return false;
		line++;
	}
	stop = memchr(line, ':', (size_t)(end - line));
	len = (size_t)((stop != NULL ? stop : end) - line);
	if (len == 0 || len >= cap || memchr(line, '\0', len) != NULL)
		return false;
	memcpy(out, line, len);
	out[len] = '\0';
	return true;
}

bool
colon_number(const char *text, uint32_t *ret)
{
	uint64_t v = 0;
	size_t i;

	for (i = 0; text[i] >= '0' && text[i] <= '9' && v < UINT32_MAX; i++)
		v = v * 10 + (uint64_t)(text[i] - '0');
	if (i == 0 || text[i] != '\0' || v >= UINT32_MAX)
		return false;
	*ret = (uint32_t)v;
	return true;
}
