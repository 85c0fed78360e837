/*
 * Text of OAuth requests.
 */
#include "leash/remote/oauth_text.h"

#include "shim/base/buf.h"
#include "shim/base/hex.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static bool
is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || (c != '\0' && strchr("-._~", c) != NULL);
}

int
text_encode(struct buf *out, const char *text, size_t len)
{
	static const char digits[] = "0123456789ABCDEF";
	int r = 0;

	for (size_t i = 0; i < len && r == 0; i++) {
		uint8_t c = (uint8_t)text[i];
		const char code[3] = {'%', digits[c >> 4], digits[c & 15]};

		r = is_plain(text[i]) ? buf_putc(out, text[i]) : buf_put(out, code, 3);
	}
	return r;
}

int
form_put(struct buf *out, const char *name, const char *value, size_t len)
{
	int r = 0;

	if (out->len > 0 && out->data[out->len - 1] != '?')
		r = buf_putc(out, '&');
	if (r == 0)
		r = buf_puts(out, name);
	if (r == 0)
		r = buf_putc(out, '=');
	return r == 0 ? text_encode(out, value, len) : r;
}

bool
form_get(const char *query, const char *name, char *out, size_t cap)
{
	size_t len = strlen(name), n = 0;
	const char *p = query;

	while (strncmp(p, name, len) != 0 || p[len] != '=') {
		p = strchr(p, '&');
		if (p == NULL)
			return false;
		p++;
	}
	for (p += len + 1; *p != '\0' && *p != '&'; p++) {
		char c = *p;

		if (c == '+')
			c = ' ';
		if (c == '%') {
			if (hex_any((uint8_t)p[1]) < 0 || hex_any((uint8_t)p[2]) < 0)
				return false;
			c = (char)(hex_any((uint8_t)p[1]) * 16 + hex_any((uint8_t)p[2]));
			p += 2;
		}
		if (n + 1 >= cap || c <= ' ' || c >= 0x7f)
			return false;
		out[n++] = c;
	}
	out[n] = '\0';
	return n > 0;
}

int
text_base64(struct buf *out, const void *bytes, size_t len)
{
	static const char digits[] =
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const uint8_t *s = bytes;
	uint32_t v;
	int r = 0;

	for (size_t i = 0; i < len && r == 0; i += 3) {
		v = (uint32_t)s[i] << 16;
		v |= i + 1 < len ? (uint32_t)s[i + 1] << 8 : 0;
		v |= i + 2 < len ? s[i + 2] : 0;
		r = buf_printf(out, "%c%c%c%c", digits[v >> 18], digits[v >> 12 & 63],
		    i + 1 < len ? digits[v >> 6 & 63] : '=',
		    i + 2 < len ? digits[v & 63] : '=');
	}
	return r;
}

/* ---- URLs ------------------------------------------------------------------------- */

/* The end of the origin: the first `/` or `?` after "//"; NULL: no origin. */
static const char *
origin_end(const char *url)
{
	const char *host = strstr(url, "://");

	return host == NULL ? NULL : host + 3 + strcspn(host + 3, "/?#");
}

static size_t
path_len(const char *path)
{
	size_t len = strcspn(path, "?#");

	while (len > 0 && path[len - 1] == '/')
		len--;
	return len;
}

bool
url_has_path(const char *url)
{
	const char *path = origin_end(url);

	return path != NULL && path_len(path) > 0;
}

int
well_known(const char *url, const char *name, bool after, char *out, size_t cap)
{
	const char *path = origin_end(url);
	int origin, len, n;

	if (path == NULL)
		return -EINVAL;
	origin = (int)(path - url);
	len = (int)path_len(path);
	n = after ? snprintf(
			out, cap, "%.*s%.*s/.well-known/%s", origin, url, len, path, name)
		  : snprintf(out, cap, "%.*s/.well-known/%s%.*s", origin, url, name, len,
			path);
	return n < 0 || (size_t)n >= cap ? -EMSGSIZE : 0;
}
