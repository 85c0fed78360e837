/*
 * JSON as the clients read it: RFC 8259 with a byte order mark, comments and trailing
 * commas. The scanner of supervisor/json is strict and keeps no places.
 */
#include <errno.h>
#include <string.h>

#include "supervisor/import/config/config_tree.h"

struct scan {
	struct config_tree *t;
	size_t at;
};

static int value_at(struct scan *s, size_t parent, char *key, size_t from, int depth);

static int
peek(const struct scan *s)
{
	return s->at < s->t->len ? (unsigned char)s->t->bytes[s->at] : -1;
}

/* Blanks and comments. */
static int
skip(struct scan *s)
{
	const char *b = s->t->bytes, *end;

	for (;;) {
		int c = peek(s);
		size_t left = s->t->len - s->at;

		if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
			s->at++;
		} else if (c == '/' && left > 1 && b[s->at + 1] == '/') {
			end = memchr(b + s->at, '\n', left);
			end = end == NULL ? b + s->t->len : end;
			config_comment(s->t, s->at, (size_t)(end - b));
			s->at = (size_t)(end - b);
		} else if (c == '/' && left > 1 && b[s->at + 1] == '*') {
			end = memmem(b + s->at + 2, left - 2, "*/", 2);
			if (end == NULL)
				return config_bad(s->t, s->at, "expected */ after /*");
			config_comment(s->t, s->at, (size_t)(end - b) + 2);
			s->at = (size_t)(end - b) + 2;
		} else {
			return 0;
		}
	}
}

/* A string at the quote: decoded; NULL if it has no text. */
static int
string_at(struct scan *s, char **ret)
{
	size_t from = s->at + 1;
	int c, r;

	for (s->at++; (c = peek(s)) != '"'; s->at++) {
		if (c < ' ' && c != '\t')
			return config_bad(
			    s->t, from, "expected a closing quote on this line");
		if (c == '\\')
			s->at++;
	}
	r = config_unescape(s->t->bytes + from, s->at - from, ret);
	s->at++;
	if (r == -EILSEQ)
		*ret = NULL;
	return r == -EILSEQ ? 0 : r;
}

static int
/* NOLINTNEXTLINE(misc-no-recursion): at most TREE_DEPTH_MAX deep */
member(struct scan *s, size_t parent, int depth)
{
	size_t from = s->at;
	char *key = NULL;
	int r;

	if (peek(s) != '"')
		return config_bad(s->t, s->at, "expected a key in quotes");
	r = string_at(s, &key);
	if (r == 0 && key == NULL)
		r = config_bad(s->t, from, "invalid escape in a key");
	if (r == 0)
		r = skip(s);
	if (r == 0 && peek(s) != ':')
		r = config_bad(s->t, s->at, "expected : after the key");
	if (r == 0) {
		s->at++;
		r = skip(s);
	}
	if (r < 0) {
		config_wipe(key);
		return r;
	}
	return value_at(s, parent, key, from, depth);
}

/* The members after the opening bracket, and the closing one. */
static int
/* NOLINTNEXTLINE(misc-no-recursion): at most TREE_DEPTH_MAX deep */
container(struct scan *s, size_t i, int depth)
{
	bool object = s->t->node[i].type == NODE_OBJECT;
	int close = object ? '}' : ']', r;

	for (s->at++;;) {
		r = skip(s);
		if (r < 0)
			return r;
		if (peek(s) == close) {
			s->at++;
			s->t->node[i].end = s->at;
			return 0;
		}
		r = object ? member(s, i, depth) : value_at(s, i, NULL, s->at, depth);
		if (r == 0)
			r = skip(s);
		if (r < 0)
			return r;
		if (peek(s) == ',') {
			s->t->node[s->t->node[i].last].comma = s->at++;
		} else if (peek(s) != close) {
			return config_bad(
			    s->t, s->at, "expected a comma or a closing bracket");
		}
	}
}

static bool
is_word(const char *word, size_t len)
{
	static const char *const known[] = {"true", "false", "null"};

	for (size_t i = 0; i < 3; i++)
		if (strlen(known[i]) == len && memcmp(known[i], word, len) == 0)
			return true;
	return len > 0 && strchr("-0123456789", word[0]) != NULL;
}

static int
/* NOLINTNEXTLINE(misc-no-recursion): at most TREE_DEPTH_MAX deep */
value_at(struct scan *s, size_t parent, char *key, size_t from, int depth)
{
	struct config_node node = {
	    .key = key, .from = from, .at = s->at, .comma = TREE_NONE};
	const char *start = s->t->bytes + s->at;
	int c = peek(s), r = 0;
	size_t i, len;

	if (depth == TREE_DEPTH_MAX) {
		config_wipe(key);
		return config_bad(s->t, s->at, "nested too deep");
	}
	if (c == '{' || c == '[') {
		node.type = c == '{' ? NODE_OBJECT : NODE_ARRAY;
		r = config_add(s->t, parent, node, &i);
		return r < 0 ? r : container(s, i, depth + 1);
	}
	if (c == '"') {
		node.type = NODE_STRING;
		r = string_at(s, &node.text);
	} else {
		node.type = NODE_OTHER;
		for (len = 0; s->at < s->t->len &&
			      strchr(" \t\r\n,]}/:\"", s->t->bytes[s->at]) == NULL;
		     len++)
			s->at++;
		if (!is_word(start, len))
			r = config_bad(s->t, node.at, "expected a value");
		else if ((node.text = config_copy(start, len)) == NULL)
			r = -ENOMEM;
	}
	if (r < 0) {
		config_wipe(key);
		return r;
	}
	node.end = s->at;
	return config_add(s->t, parent, node, &i);
}

int
json_file_parse(struct config_tree *t)
{
	struct scan s = {.t = t};
	int r;

	if (t->len >= 3 && memcmp(t->bytes, "\xef\xbb\xbf", 3) == 0)
		s.at = 3;
	r = skip(&s);
	if (r < 0)
		return r;
	if (peek(&s) != '{')
		return config_bad(t, s.at, "expected {");
	r = value_at(&s, TREE_NONE, NULL, s.at, 0);
	if (r == 0)
		r = skip(&s);
	return r == 0 && s.at != t->len ? config_bad(t, s.at, "unexpected text after }")
					: r;
}
