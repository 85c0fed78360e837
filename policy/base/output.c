/*
 * Writes the output of "kennel policy" verbs: JSON and printable text, byte by
 * byte.
 */
#include "policy/base/output.h"

#include <inttypes.h>
#include <string.h>

/* ---- characters ----------------------------------------------------------- */

size_t
utf8_read(const char *text, size_t len, uint32_t *ret)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	const unsigned char *p = (const unsigned char *)text;
	uint32_t code;
	size_t n, i;

	if (p[0] < 0x80) {
		*ret = p[0];
		return 1;
	}
	n = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
	if (p[0] < 0xc2 || p[0] > 0xf4 || n > len)
		return 0;
	code = p[0] & (0x7fu >> n);
	for (i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (p[i] & 0x3f);
	}
	if (code < least[n] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
		return 0;
	*ret = code;
	return n;
}

bool
utf8_is_unseen(uint32_t c)
{
	return (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
	       (c >= 0x2060 && c <= 0x206f) || c == 0xfeff || c == 0xad || c == 0x61c;
}

/* ---- JSON ----------------------------------------------------------------- */

void
out_init(struct out *o, FILE *f)
{
	memset(o, 0, sizeof(*o));
	o->f = f;
}

/* Writes what precedes a value: a comma, a key. */
static void
lead(struct out *o, const char *key)
{
	if (o->more[o->depth])
		(void)fputc(',', o->f);
	o->more[o->depth] = true;
	if (key == NULL)
		return;
	out_string(o->f, key, strlen(key));
	(void)fputc(':', o->f);
}

static void
begin(struct out *o, const char *key, char open, char close)
{
	lead(o, key);
	(void)fputc(open, o->f);
	if (o->depth + 1 < OUT_DEPTH_MAX)
		o->depth++;
	o->more[o->depth] = false;
	o->close[o->depth] = close;
}

void
out_object(struct out *o, const char *key)
{
	begin(o, key, '{', '}');
}

void
out_list(struct out *o, const char *key)
{
	begin(o, key, '[', ']');
}

void
out_end(struct out *o)
{
	(void)fputc(o->close[o->depth], o->f);
	if (o->depth > 0)
		o->depth--;
	if (o->depth == 0)
		(void)fputc('\n', o->f);
}

void
out_bytes(struct out *o, const char *key, const char *text, size_t len)
{
	lead(o, key);
	out_string(o->f, text, len);
}

void
out_text(struct out *o, const char *key, const char *text)
{
	out_bytes(o, key, text, strlen(text));
}

void
out_number(struct out *o, const char *key, uint64_t value)
{
	lead(o, key);
	(void)fprintf(o->f, "%" PRIu64, value);
}

void
out_yes(struct out *o, const char *key, bool value)
{
	lead(o, key);
	(void)fputs(value ? "true" : "false", o->f);
}

void
out_null(struct out *o, const char *key)
{
	lead(o, key);
	(void)fputs("null", o->f);
}

void
out_text_or_null(struct out *o, const char *key, const char *text)
{
	if (text == NULL)
		out_null(o, key);
	else
		out_text(o, key, text);
}

void
out_json_or_null(struct out *o, const char *key, const char *json)
{
	if (json == NULL) {
		out_null(o, key);
		return;
	}
	lead(o, key);
	(void)fputs(json, o->f);
}

/* ---- text ------------------------------------------------------------------- */

void
out_string(FILE *f, const char *text, size_t len)
{
	uint32_t code;
	size_t i, n;

	(void)fputc('"', f);
	for (i = 0; i < len; i += n) {
		n = utf8_read(text + i, len - i, &code);
		if (n == 0) {
			n = 1;
			(void)fputs("\\ufffd", f);
		} else if (code == '"' || code == '\\') {
			(void)fprintf(f, "\\%c", (int)code);
		} else if (code < 0x20 || (code >= 0x7f && code < 0xa0) ||
			   utf8_is_unseen(code)) {
			(void)fprintf(f, "\\u%04x", code);
		} else {
			(void)fwrite(text + i, 1, n, f); /* ferror, at the end */
		}
	}
	(void)fputc('"', f);
}

/* One code point as it is displayed; with html, `&lt;` and similar. */
static void
put_code(FILE *f, const char *text, size_t n, uint32_t code, bool html)
{
	static const char marks[] = "&<>\"'";
	static const char *const names[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
	const char *mark = code < 0x80 && code != 0 ? strchr(marks, (int)code) : NULL;
	size_t i;

	if (html && mark != NULL) {
		(void)fputs(names[mark - marks], f);
	} else if (n == 0 || code < 0x20 || (code >= 0x7f && code < 0xa0) ||
		   utf8_is_unseen(code)) {
		for (i = 0; i < (n == 0 ? 1 : n); i++)
			(void)fprintf(f, "\\x%02x", (unsigned char)text[i]);
	} else {
		(void)fwrite(text, 1, n, f); /* ferror, at the end */
	}
}

static void
put_text(FILE *f, const char *text, size_t len, bool html)
{
	uint32_t code = 0;
	size_t i, n;

	for (i = 0; i < len; i += n == 0 ? 1 : n) {
		n = utf8_read(text + i, len - i, &code);
		put_code(f, text + i, n, code, html);
	}
}

void
out_plain(FILE *f, const char *text, size_t len)
{
	put_text(f, text, len, false);
}

void
out_html(FILE *f, const char *text, size_t len)
{
	put_text(f, text, len, true);
}
