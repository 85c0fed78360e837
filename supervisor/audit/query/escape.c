/*
 * Escapes untrusted text for the format that it is printed in. Everything printed
 * from a record goes through here, because a tool's name, for one, comes from the
 * server.
 */
#include <stdio.h>
#include <string.h>

#include "shim/base/array.h"
#include "shim/base/utf8.h"
#include "supervisor/audit/log/record.h"
#include "supervisor/audit/query/escape.h"
#include "supervisor/audit/query/options.h"

void
escape_text(FILE *out, const char *text)
{
	for (; *text != '\0'; text++) {
		uint8_t c = (uint8_t)*text;

		if (c >= 0x20 && c < 0x7f && c != '\\')
			(void)fputc(c, out);
		else
			fprintf(out, "\\x%02x", c);
	}
}

void
escape_json(FILE *out, const char *text)
{
	const char *end = text + strlen(text);

	while (*text != '\0') {
		uint32_t c = utf8_take(&text, end);

		if (c == '"' || c == '\\')
			fprintf(out, "\\%c", (int)c);
		else if (c >= 0x20 && c < 0x7f)
			(void)fputc((int)c, out);
		else if (c < 0x10000)
			fprintf(out, "\\u%04x", (unsigned int)c);
		else
			fprintf(out, "\\u%04x\\u%04x",
			    (unsigned int)(0xd800 + ((c - 0x10000) >> 10)),
			    (unsigned int)(0xdc00 + ((c - 0x10000) & 0x3ff)));
	}
}

/* Spreadsheets treat a field that begins with one of these as a formula (`|`: a DDE
 * link). A tab or CR at the start is escaped below. */
void
escape_csv(FILE *out, const char *text)
{
	if (text[0] != '\0' && strchr("=+-@|", text[0]) != NULL)
		(void)fputc('\'', out);
	for (; *text != '\0'; text++) {
		uint8_t c = (uint8_t)*text;

		if (c == '"')
			fprintf(out, "\"\"");
		else if (c >= 0x20 && c < 0x7f && c != '\\')
			(void)fputc(c, out);
		else
			fprintf(out, "\\x%02x", c);
	}
}

/* Letters of left-to-right scripts that need no context: no combining marks, no
 * direction controls, no invisible spaces. */
static bool
legible(uint32_t c)
{
	static const struct {
		uint32_t first, last;
	} range[] = {
	    {0x20, 0x7e},
	    {0xa1, 0xac},
	    {0xae, 0x24f},
	    {0x370, 0x377},
	    {0x384, 0x482},
	    {0x48a, 0x52f},
	    {0x1e00, 0x1eff},
	    {0x2010, 0x2027},
	    {0x20a0, 0x20bf},
	    {0x3041, 0x3096},
	    {0x30a1, 0x30fa},
	    {0x4e00, 0x9fff},
	    {0xac00, 0xd7a3},
	};

	for (size_t i = 0; i < ARRAY_LEN(range); i++) {
		if (c >= range[i].first && c <= range[i].last)
			return true;
	}
	return false;
}

static void
put_character(FILE *out, uint32_t c)
{
	uint8_t bytes[4];
	size_t n = utf8_put(c, bytes);

	(void)fwrite(bytes, 1, n, out);
}

void
escape_html(FILE *out, const char *text)
{
	const char *end = text + strlen(text);

	while (*text != '\0') {
		uint32_t c = utf8_take(&text, end);

		if (c < 0x80 && strchr("<>&\"'`", (int)c) != NULL)
			fprintf(out, "&#%u;", (unsigned int)c);
		else if (legible(c))
			put_character(out, c);
		else
			fprintf(out, "\\u{%x}", (unsigned int)c);
	}
}

/* Escapes already in a body are ASCII. */
void
escape_body(FILE *out, const void *body, size_t len)
{
	static char text[AUDIT_BODY_MAX + 1];
	const char *at = text;

	if (len > AUDIT_BODY_MAX)
		return;
	memcpy(text, body, len);
	text[len] = '\0';
	while (*at != '\0') {
		char one[8] = {*at, '\0'};

		if ((uint8_t)*at < 0x80) {
			(void)fputc(*at++, out);
			continue;
		}
		for (const char *from = at, *end = from; end == from;) {
			(void)utf8_take(&end, text + len);
			memcpy(one, from, (size_t)(end - from));
			one[end - from] = '\0';
			at = end;
		}
		escape_json(out, one);
	}
}
