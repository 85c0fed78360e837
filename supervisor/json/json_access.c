/*
 * Access to a scanned message: its members, its strings as text, its keys in the form
 * for comparison. Only for bytes that the scanner has accepted.
 */
#include "shim/base/hex.h"
#include "supervisor/json/json.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "shim/base/utf8.h"

/* Four hex digits at p, or -1. */
int32_t
json_hex4(const uint8_t *p, const uint8_t *end)
{
	int32_t v = 0;

	if (end - p < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		int h = hex_any(p[i]);

		if (h < 0)
			return -1;
		v = v << 4 | h;
	}
	return v;
}

/* ---- keys --------------------------------------------------------------- */

/* ASCII letters to lower case, and the two letters outside ASCII that fold to
 * one (U+017F s, U+212A k): some parsers match names that way. */
static size_t
fold(const char *text, size_t len, char *out)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		if (len - i >= 2 && memcmp(text + i, "\xc5\xbf", 2) == 0) {
			out[n++] = 's';
			i += 1;
		} else if (len - i >= 3 && memcmp(text + i, "\xe2\x84\xaa", 3) == 0) {
			out[n++] = 'k';
			i += 2;
		} else if (text[i] >= 'A' && text[i] <= 'Z')
			out[n++] = (char)(text[i] | 0x20);
		else
			out[n++] = text[i];
	}
	out[n] = '\0';
	return n;
}

bool
json_folds(const char *text, size_t len, const char *name)
{
	char folded[JSON_KEY_MAX + 1];
	size_t n = strlen(name);

	if (len < n || len > 3 * n || len > JSON_KEY_MAX)
		return false;
	return fold(text, len, folded) == n && strncasecmp(folded, name, n) == 0;
}

/* Text of the key: in place, or decoded into out. NULL if it is too long, or an item of an
 * array, which has none. */
const char *
json_key_text(const struct json *key, char out[JSON_KEY_MAX], size_t *ret_len)
{
	const char *text;

	*ret_len = 0;
	if (key->at == NULL)
		return NULL;
	text = (const char *)key->at + 1;
	*ret_len = key->len - 2;
	if (memchr(text, '\\', *ret_len) == NULL)
		return text;
	return json_text(*key, out, JSON_KEY_MAX, ret_len) < 0 ? NULL : out;
}

/* ---- iteration: validated bytes only ------------------------------------ */

static const uint8_t *
skip_string(const uint8_t *p, const uint8_t *end)
{
	for (p++; p < end && *p != '"'; p++)
		if (*p == '\\')
			p++;
	return p < end ? p + 1 : end;
}

static const uint8_t *
skip_value(const uint8_t *p, const uint8_t *end, enum json_type *ret_type)
{
	size_t depth = 0;

	*ret_type = *p == '{'   ? JSON_IS_OBJECT
		    : *p == '[' ? JSON_IS_ARRAY
		    : *p == '"' ? JSON_IS_STRING
		    : *p == 't' ? JSON_IS_TRUE
		    : *p == 'f' ? JSON_IS_FALSE
		    : *p == 'n' ? JSON_IS_NULL
				: JSON_IS_NUMBER;
	do {
		if (*p == '"') {
			p = skip_string(p, end);
			continue;
		}
		if (*p == '{' || *p == '[')
			depth++;
		else if (*p == '}' || *p == ']')
			depth--;
		else if (depth == 0) { /* a number or a literal */
			while (p < end && strchr(" \t\r\n,]}", *p) == NULL)
				p++;
			return p;
		}
		p++;
	} while (p < end && depth > 0);
	return p;
}

static void
walk_space(struct json_walk *w)
{
	while (w->p < w->end && strchr(" \t\r\n,:", *w->p) != NULL && *w->p != 0)
		w->p++;
}

void
json_walk(struct json_walk *w, struct json container)
{
	w->object = container.type == JSON_IS_OBJECT;
	w->p = w->end = container.at;
	if (container.type == JSON_IS_OBJECT || container.type == JSON_IS_ARRAY) {
		w->p = container.at + 1;
		w->end = container.at + container.len - 1;
	}
}

bool
json_next(struct json_walk *w, struct json *ret_key, struct json *ret_value)
{
	struct json key = {0};

	walk_space(w);
	if (w->p >= w->end)
		return false;
	if (w->object) {
		key.at = w->p;
		key.type = JSON_IS_STRING;
		w->p = skip_string(w->p, w->end);
		key.len = (size_t)(w->p - key.at);
		walk_space(w);
		if (w->p >= w->end)
			return false;
	}
	ret_value->at = w->p;
	w->p = skip_value(w->p, w->end, &ret_value->type);
	ret_value->len = (size_t)(w->p - ret_value->at);
	*ret_key = key;
	return true;
}

int
json_key_is(struct json key, const char *name)
{
	char memory[JSON_KEY_MAX];
	size_t len, n = strlen(name);
	const char *text = json_key_text(&key, memory, &len);

	if (text == NULL)
		return 0;
	if (len == n && memcmp(text, name, n) == 0)
		return 1;
	return json_folds(text, len, name) ? -EEXIST : 0;
}

const char *
json_type_name(enum json_type type)
{
	static const char *const names[] = {
	    [JSON_IS_NONE] = "nothing",
	    [JSON_IS_OBJECT] = "an object",
	    [JSON_IS_ARRAY] = "an array",
	    [JSON_IS_STRING] = "a string",
	    [JSON_IS_NUMBER] = "a number",
	    [JSON_IS_TRUE] = "a boolean",
	    [JSON_IS_FALSE] = "a boolean",
	    [JSON_IS_NULL] = "null",
	};

	return names[type];
}

int
json_get(struct json object, const char *name, struct json *ret)
{
	struct json key, value, found = {0};
	struct json_walk w;

	if (object.type != JSON_IS_OBJECT)
		return -ENOENT;
	json_walk(&w, object);
	while (json_next(&w, &key, &value)) {
		int is = json_key_is(key, name);

		if (is < 0 || (is > 0 && found.type != JSON_IS_NONE))
			return -EEXIST;
		if (is > 0)
			found = value;
	}
	if (found.type == JSON_IS_NONE)
		return -ENOENT;
	*ret = found;
	return 0;
}

/* ---- decoding ----------------------------------------------------------- */

/* Decodes the escape at *p (its backslash); moves *p past it. */
static int
escape_decode(const uint8_t **p, const uint8_t *end, uint32_t *ret)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *at;
	int32_t c, low;

	if ((*p)[1] != 'u') {
		if ((at = strchr(from, (*p)[1])) == NULL)
			return -EILSEQ;
		*ret = (uint32_t)to[at - from];
		*p += 2;
		return 0;
	}
	if ((c = json_hex4(*p + 2, end)) <= 0)
		return -EILSEQ;
	*p += 6;
	if (c >= 0xdc00 && c < 0xe000)
		return -EILSEQ;
	if (c >= 0xd800 && c < 0xdc00) {
		if (end - *p < 6 || (*p)[0] != '\\' || (*p)[1] != 'u')
			return -EILSEQ;
		low = json_hex4(*p + 2, end);
		if (low < 0xdc00 || low >= 0xe000)
			return -EILSEQ;
		c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
		*p += 6;
	}
	*ret = (uint32_t)c;
	return 0;
}

int
json_text(struct json string, char *out, size_t cap, size_t *ret_len)
{
	const uint8_t *p, *end;
	size_t n = 0;

	if (string.type != JSON_IS_STRING || string.len < 2)
		return -EINVAL;
	p = string.at + 1;
	end = string.at + string.len - 1;
	while (p < end) {
		uint8_t four[4];
		size_t len = 1;
		uint32_t c;

		if (*p == '\\') {
			if (end - p < 2 || escape_decode(&p, end, &c) < 0)
				return -EILSEQ;
			len = utf8_put(c, four);
		} else
			four[0] = *p++;
		if (n + len >= cap)
			return -EMSGSIZE;
		memcpy(out + n, four, len);
		n += len;
	}
	out[n] = '\0';
	*ret_len = n;
	return 0;
}
