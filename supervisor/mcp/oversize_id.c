/*
 * Finds the id of a line that is too long to buffer: a small state machine that reads
 * every byte, so that it finds the id even after a huge result. It does not validate;
 * the id is checked before use and only serves to refuse the right request.
 */
#include "supervisor/json/json.h"

#include <string.h>

void
skim_begin(struct skim *k)
{
	memset(k, 0, sizeof(*k));
}

static void
token_add(struct skim *k, uint8_t c)
{
	if (k->token_len < sizeof(k->token))
		k->token[k->token_len] = c;
	k->token_len++;
}

static bool
token_is(const struct skim *k, const char *text)
{
	return k->token_len == strlen(text) && memcmp(k->token, text, k->token_len) == 0;
}

/* A token at the top level is complete. */
static void
token_end(struct skim *k)
{
	struct json_message m;

	if (k->token_len == 0)
		return;
	if (!k->wants_value) {
		k->id_next = token_is(k, "\"id\"");
		k->has_method = k->has_method || token_is(k, "\"method\"");
		k->has_jsonrpc = k->has_jsonrpc || token_is(k, "\"jsonrpc\"");
		k->has_answer = k->has_answer || token_is(k, "\"result\"") ||
				token_is(k, "\"error\"");
	} else if (k->id_next && k->token_len < sizeof(k->token) &&
		   json_scan(k->token, k->token_len, &m) == 0 &&
		   (m.root.type == JSON_IS_STRING || m.root.type == JSON_IS_NUMBER)) {
		memcpy(k->id, k->token, k->token_len);
		k->id_len = k->token_len;
	}
	k->token_len = 0;
}

static void
skim_outside(struct skim *k, uint8_t c)
{
	bool top = k->depth == 1;

	if (c == '"') {
		k->in_string = true;
		if (top)
			token_add(k, c);
	} else if (c == '{' || c == '[') {
		token_end(k);
		k->depth++;
		if (top)
			k->id_next = false;
	} else if (c == '}' || c == ']') {
		if (top)
			token_end(k);
		if (k->depth > 0)
			k->depth--;
		k->done = k->depth == 0; /* what follows belongs to another message */
	} else if (!top) {
		return;
	} else if (c == ':') {
		token_end(k);
		k->wants_value = true;
	} else if (c == ',') {
		token_end(k);
		k->wants_value = false;
		k->id_next = false;
	} else if (c != ' ' && c != '\t' && c != '\r')
		token_add(k, c);
}

/* Skips inside a string up to its quote or a backslash. */
static size_t
skim_string(const uint8_t *p, size_t len)
{
	const uint8_t *quote = memchr(p, '"', len);
	size_t n = quote == NULL ? len : (size_t)(quote - p);
	const uint8_t *back = memchr(p, '\\', n);

	return back == NULL ? n : (size_t)(back - p);
}

void
skim_feed(struct skim *k, const uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len && !k->done; i++) {
		if (!k->in_string) {
			skim_outside(k, p[i]);
			continue;
		}
		if (k->depth != 1 && !k->escaped) {
			i += skim_string(p + i, len - i);
			if (i >= len)
				return;
		}
		if (k->depth == 1)
			token_add(k, p[i]);
		if (k->escaped)
			k->escaped = false;
		else if (p[i] == '\\')
			k->escaped = true;
		else if (p[i] == '"')
			k->in_string = false;
	}
}
