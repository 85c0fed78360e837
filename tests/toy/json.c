/* A JSON reader of one page for the toy server (json.h). */
#include "tests/toy/json.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const char *
skip_space(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\t' || *p == '\r' || *p == '\n'))
		p++;
	return p;
}

/* p stands on the opening quote; returns what is behind the closing one. */
static const char *
skip_string(const char *p, const char *end)
{
	for (p++; p < end && *p != '"'; p++)
		if (*p == '\\')
			p++;
	return p < end ? p + 1 : end;
}

static const char *
skip_value(const char *p, const char *end)
{
	int depth = 0;

	if (p < end && *p == '"')
		return skip_string(p, end);
	for (; p < end; p++) {
		if (*p == '"') {
			p = skip_string(p, end) - 1;
			continue;
		}
		if (*p == '{' || *p == '[')
			depth++;
		if ((*p == '}' || *p == ']') && depth-- <= 1)
			return depth < 0 ? p : p + 1;
		if (depth == 0 && (*p == ',' || *p == ' '))
			return p;
	}
	return end;
}

static struct json
member(struct json o, const char *name, size_t name_len)
{
	const char *end = o.at + o.len;
	const char *p = o.len > 0 ? skip_space(o.at, end) : end;

	if (p >= end || *p != '{')
		return (struct json){0};
	for (p = skip_space(p + 1, end); p < end && *p == '"';) {
		const char *key = p + 1;
		const char *behind = skip_string(p, end);
		const char *v = skip_space(behind, end);
		if (v >= end || *v != ':')
			break;
		v = skip_space(v + 1, end);
		const char *past = skip_value(v, end);
		if ((size_t)(behind - 1 - key) == name_len &&
		    memcmp(key, name, name_len) == 0)
			return (struct json){v, (size_t)(past - v)};
		p = skip_space(past, end);
		if (p < end && *p == ',')
			p = skip_space(p + 1, end);
	}
	return (struct json){0};
}

struct json
json_get(struct json o, const char *path)
{
	while (o.len > 0 && *path != '\0') {
		size_t n = strcspn(path, ".");
		o = member(o, path, n);
		path += n + (path[n] == '.');
	}
	return o;
}

struct json
json_item(struct json a, size_t i)
{
	const char *end = a.at + a.len;

	if (a.len < 2 || *a.at != '[')
		return (struct json){0};
	for (const char *p = skip_space(a.at + 1, end); p < end && *p != ']'; i--) {
		const char *past = skip_value(p, end);
		if (i == 0)
			return (struct json){p, (size_t)(past - p)};
		p = skip_space(past, end);
		if (p < end && *p == ',')
			p = skip_space(p + 1, end);
	}
	return (struct json){0};
}

static size_t
put_utf8(char *out, uint32_t c)
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c >= 0x10000) {
		out[0] = (char)(0xf0 | c >> 18);
		out[1] = (char)(0x80 | (c >> 12 & 0x3f));
		out[2] = (char)(0x80 | (c >> 6 & 0x3f));
		out[3] = (char)(0x80 | (c & 0x3f));
		return 4;
	}
	out[0] = (char)(0xe0 | c >> 12);
	out[1] = (char)(0x80 | (c >> 6 & 0x3f));
	out[2] = (char)(0x80 | (c & 0x3f));
	return 3;
}

static uint32_t
hex4(const char *p)
{
	char hex[5] = {p[0], p[1], p[2], p[3], '\0'};

	return (uint32_t)strtoul(hex, NULL, 16);
}

/* One escape; p stands behind the backslash. */
static const char *
escape(const char *p, const char *end, char *out, size_t *n)
{
	static const char from[] = "nrtbf\"\\/", to[] = "\n\r\t\b\f\"\\/";
	const char *hit = strchr(from, *p);

	if (*p == 'u' && end - p > 4) {
		uint32_t c = hex4(p + 1);
		p += 5;
		if (c >= 0xd800 && c < 0xdc00 && end - p > 5 && p[0] == '\\' &&
		    p[1] == 'u') {
			c = 0x10000 + ((c & 0x3ff) << 10) + (hex4(p + 2) & 0x3ff);
			p += 6;
		}
		*n += put_utf8(out + *n, c);
		return p;
	}
	out[(*n)++] = hit != NULL ? to[hit - from] : *p;
	return p + 1;
}

bool
json_text(struct json v, char *out, size_t out_cap)
{
	const char *p = v.at + 1, *end = v.at + v.len - 1;
	size_t n = 0;

	if (v.len < 2 || *v.at != '"' || out_cap < 6)
		return false;
	while (p < end) {
		if (n + 5 > out_cap)
			return false;
		if (*p == '\\' && p + 1 < end)
			p = escape(p + 1, end, out, &n);
		else
			out[n++] = *p++;
	}
	out[n] = '\0';
	return true;
}

long
json_number(struct json v, long otherwise)
{
	char text[32];

	if (v.len == 0 || v.len >= sizeof(text) || strchr("-0123456789", *v.at) == NULL)
		return otherwise;
	memcpy(text, v.at, v.len);
	text[v.len] = '\0';
	return strtol(text, NULL, 10);
}

bool
json_is(struct json v, const char *text)
{
	return v.len == strlen(text) + 2 && *v.at == '"' &&
	       memcmp(v.at + 1, text, v.len - 2) == 0;
}

void
json_put(FILE *f, const char *bytes, size_t len)
{
	putc('"', f);
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)bytes[i];
		if (c == '"' || c == '\\')
			fprintf(f, "\\%c", c);
		else if (c < 0x20)
			fprintf(f, "\\u%04x", c);
		else
			putc(c, f);
	}
	putc('"', f);
}
