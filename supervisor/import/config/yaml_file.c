/*
 * YAML, as far as the clients write it: the mapping `extensions` at the top, in block
 * style, with scalars, sequences of scalars and flow collections on one line. Other
 * keys at the top are skipped. Anything else is refused: an edit must not rest on
 * a guess.
 */
#include <errno.h>
#include <string.h>

#include "supervisor/import/config/config_tree.h"

static const char top_key[] = "extensions";

struct scan {
	struct config_tree *t;
	size_t at;  /* in a line */
	size_t end; /* of the line, without its line end */
};

static int flow_at(
    struct scan *s, size_t parent, struct config_node, const char *stop, int depth);
static int block(struct scan *s, size_t i, size_t indent, int depth);

static int
peek(const struct scan *s)
{
	return s->at < s->end ? (unsigned char)s->t->bytes[s->at] : -1;
}

static void
blanks(struct scan *s)
{
	while (peek(s) == ' ' || peek(s) == '\t')
		s->at++;
}

/* ---- lines ------------------------------------------------------------------- */

static void
line_find_end(struct scan *s)
{
	const char *nl = memchr(s->t->bytes + s->at, '\n', s->t->len - s->at);

	s->end = nl == NULL ? s->t->len : (size_t)(nl - s->t->bytes);
	if (s->end > s->at && s->t->bytes[s->end - 1] == '\r')
		s->end--;
}

/* Moves to the start of the next line. */
static void
line_next(struct scan *s)
{
	const char *nl = memchr(s->t->bytes + s->end, '\n', s->t->len - s->end);

	s->at = nl == NULL ? s->t->len : (size_t)(nl + 1 - s->t->bytes);
	line_find_end(s);
}

static void
comment(struct scan *s)
{
	if (peek(s) == '#')
		config_comment(s->t, s->at, s->end);
}

/* The indentation of the next line with content, at whose start s is then; -1: none. */
static int
content(struct scan *s, size_t *ret_indent)
{
	for (;; line_next(s)) {
		size_t start = s->at;

		if (s->at == s->t->len)
			return -1;
		while (peek(s) == ' ')
			s->at++;
		*ret_indent = s->at - start;
		if (peek(s) == '\t')
			blanks(s);
		if (peek(s) != -1 && peek(s) != '#') {
			s->at = start;
			return 0;
		}
		comment(s);
		s->at = start;
	}
}

static bool
is_item(const struct scan *s, size_t indent)
{
	const char *p = s->t->bytes + s->at + indent;
	size_t left = s->end - s->at - indent;

	return left > 0 && p[0] == '-' && (left == 1 || p[1] == ' ');
}

/* After a value: nothing, or a comment. */
static int
line_over(struct scan *s)
{
	size_t at = s->at;

	blanks(s);
	if (peek(s) != -1 && (peek(s) != '#' || s->at == at))
		return config_bad(s->t, s->at, "expected the end of the line");
	comment(s);
	line_next(s);
	return 0;
}

/* ---- scalars and flow collections -------------------------------------------- */

static int
quoted(struct scan *s, char **ret)
{
	char quote = (char)peek(s);
	size_t from = s->at + 1, n = 0;
	int r;

	for (s->at++;; s->at++) {
		if (peek(s) == -1)
			return config_bad(
			    s->t, from, "a quoted text that goes over lines");
		if (quote == '"' && peek(s) == '\\') {
			s->at++;
		} else if (peek(s) == quote) {
			if (quote == '"' || s->at + 1 >= s->end ||
			    s->t->bytes[s->at + 1] != quote)
				break;
			s->at++; /* '' is one ' */
		}
	}
	s->at++;
	if (quote == '"') {
		r = config_unescape(s->t->bytes + from, s->at - 1 - from, ret);
		if (r == -EILSEQ)
			*ret = NULL;
		return r == -EILSEQ ? 0 : r;
	}
	*ret = config_copy(s->t->bytes + from, s->at - 1 - from);
	if (*ret == NULL)
		return -ENOMEM;
	for (const char *p = *ret; *p != '\0'; p++) {
		(*ret)[n++] = *p;
		p += p[0] == '\'';
	}
	(*ret)[n] = '\0';
	return 0;
}

static bool
is_other(const char *text)
{
	static const char *const word[] = {"", "~", "null", "Null", "NULL", "true",
	    "True", "TRUE", "false", "False", "FALSE"};

	for (size_t i = 0; i < sizeof(word) / sizeof(word[0]); i++)
		if (strcmp(text, word[i]) == 0)
			return true;
	return text[strspn(text, "0123456789.+-eE")] == '\0' &&
	       strpbrk(text, "0123456789") != NULL;
}

/* A plain scalar up to a byte of stop, a comment, or the end of the line. */
static int
plain(struct scan *s, const char *stop, struct config_node *node)
{
	size_t end;

	if (peek(s) == -1 || strchr("&*!|>@`%?\"'#,[]{}", peek(s)) != NULL)
		return config_bad(s->t, s->at, "expected a plain or quoted text");
	for (end = s->at; peek(s) != -1 && strchr(stop, peek(s)) == NULL; s->at++) {
		int c = peek(s), next = s->at + 1 < s->end ? s->t->bytes[s->at + 1] : -1;

		if (c == ':' && (next == -1 || next == ' ' || next == '\t'))
			return config_bad(s->t, s->at, "unexpected mapping");
		if ((c == ' ' || c == '\t') && next == '#')
			break;
		if (c != ' ' && c != '\t')
			end = s->at + 1;
	}
	s->at = end;
	node->end = end;
	node->text = config_copy(s->t->bytes + node->at, end - node->at);
	if (node->text == NULL)
		return -ENOMEM;
	node->type = is_other(node->text) ? NODE_OTHER : NODE_STRING;
	return 0;
}

/* The key before a colon, and the colon. */
static int
key_at(struct scan *s, char **ret)
{
	size_t from = s->at, end;
	int r = 0;

	if (peek(s) == '"' || peek(s) == '\'') {
		r = quoted(s, ret);
		if (r == 0 && *ret == NULL)
			return config_bad(s->t, from, "invalid escape in a key");
	} else {
		if (peek(s) == -1 || strchr("&*!|>@`%?#,[]{}", peek(s)) != NULL)
			return config_bad(s->t, from, "expected a key");
		while (peek(s) != -1 && peek(s) != ':' && peek(s) != '#')
			s->at++;
		for (end = s->at; end > from && s->t->bytes[end - 1] == ' ';)
			end--;
		*ret = config_copy(s->t->bytes + from, end - from);
		r = *ret == NULL ? -ENOMEM : 0;
	}
	if (r < 0)
		return r;
	blanks(s);
	if (*ret != NULL && strcmp(*ret, "<<") == 0)
		r = config_bad(s->t, from, "a merge key (<<) is not supported");
	else if (peek(s) == ':' && s->at + 1 < s->end &&
		 strchr(" \t", s->t->bytes[s->at + 1]) == NULL)
		r = config_bad(s->t, s->at, "expected a blank after :");
	else if (peek(s) != ':')
		r = config_bad(s->t, s->at, "expected : after the key");
	if (r < 0)
		config_wipe(*ret);
	s->at++;
	return r;
}

/* The items of [a, b] or {a: b}, and the closing bracket. */
static int
/* NOLINTNEXTLINE(misc-no-recursion): at most TREE_DEPTH_MAX deep */
flow_items(struct scan *s, size_t i, int depth)
{
	bool object = s->t->node[i].type == NODE_OBJECT;
	int close = object ? '}' : ']', r;

	for (s->at++;;) {
		struct config_node node = {.comma = TREE_NONE};

		blanks(s);
		if (peek(s) == close) {
			s->t->node[i].end = ++s->at;
			return 0;
		}
		node.from = s->at;
		r = object ? key_at(s, &node.key) : 0;
		if (r == 0) {
			blanks(s);
			r = flow_at(s, i, node, ",]}[{", depth);
		}
		if (r < 0)
			return r;
		blanks(s);
		if (peek(s) == ',')
			s->t->node[s->t->node[i].last].comma = s->at++;
		else if (peek(s) != close)
			return config_bad(s->t, s->at,
			    "expected a comma or a closing bracket on this line");
	}
}

/* A value on one line. Takes the node with its key and from. */
static int
/* NOLINTNEXTLINE(misc-no-recursion): at most TREE_DEPTH_MAX deep */
flow_at(
    struct scan *s, size_t parent, struct config_node node, const char *stop, int depth)
{
	int c = peek(s), r;
	size_t i;

	node.at = s->at;
	if (depth == TREE_DEPTH_MAX) {
		config_wipe(node.key);
		return config_bad(s->t, s->at, "nested too deep");
	}
	if (c == '{' || c == '[') {
		node.type = c == '{' ? NODE_OBJECT : NODE_ARRAY;
		r = config_add(s->t, parent, node, &i);
		return r < 0 ? r : flow_items(s, i, depth + 1);
	}
	if (c == '"' || c == '\'') {
		node.type = NODE_STRING;
		r = quoted(s, &node.text);
		node.end = s->at;
	} else {
		r = plain(s, stop, &node);
	}
	if (r < 0) {
		config_wipe(node.key);
		return r;
	}
	return config_add(s->t, parent, node, &i);
}

/* ---- blocks ------------------------------------------------------------------ */

/* The lines of a block scalar: blank, or further in than its key. Not decoded. */
static int
block_scalar(struct scan *s, size_t parent, struct config_node node, size_t indent)
{
	size_t i;

	node.type = NODE_STRING;
	node.at = s->at;
	node.end = s->end;
	for (line_next(s); s->at < s->t->len; line_next(s)) {
		size_t n = 0;

		while (s->at + n < s->end && s->t->bytes[s->at + n] == ' ')
			n++;
		if (s->at + n < s->end && n <= indent)
			break;
		if (s->at + n < s->end)
			node.end = s->end;
	}
	return config_add(s->t, parent, node, &i);
}

/* No line after a value may continue it. */
static int
not_continued(struct scan *s, size_t indent)
{
	size_t next;

	return content(s, &next) == 0 && next > indent
		   ? config_bad(s->t, s->at, "a text that goes over lines")
		   : 0;
}

/* The value after a colon, on this line or on the next ones. */
static int
/* NOLINTNEXTLINE(misc-no-recursion): at most TREE_DEPTH_MAX deep */
value_at(struct scan *s, size_t parent, struct config_node node, size_t indent, int depth)
{
	size_t after = s->at, next, i;
	int r;

	blanks(s);
	if (peek(s) == '|' || peek(s) == '>')
		return block_scalar(s, parent, node, indent);
	if (peek(s) != -1 && peek(s) != '#') {
		r = flow_at(s, parent, node, "", depth);
		if (r == 0)
			r = line_over(s);
		return r == 0 ? not_continued(s, indent) : r;
	}
	node.at = node.end = after;
	node.type = NODE_OTHER;
	comment(s);
	line_next(s);
	if (content(s, &next) < 0 ||
	    (next <= indent && !(next == indent && is_item(s, next)))) {
		node.text = config_copy("", 0);
		return config_add(s->t, parent, node, &i);
	}
	node.type = is_item(s, next) ? NODE_ARRAY : NODE_OBJECT;
	r = config_add(s->t, parent, node, &i);
	return r < 0 ? r : block(s, i, next, depth + 1);
}

static int
/* NOLINTNEXTLINE(misc-no-recursion): at most TREE_DEPTH_MAX deep */
pair_at(struct scan *s, size_t parent, size_t indent, int depth)
{
	struct config_node node = {.comma = TREE_NONE, .lines = true};
	int r;

	s->at += indent;
	node.from = s->at;
	r = key_at(s, &node.key);
	return r < 0 ? r : value_at(s, parent, node, indent, depth);
}

static int
item_at(struct scan *s, size_t parent, size_t indent, int depth)
{
	struct config_node node = {.comma = TREE_NONE, .lines = true};
	int r;

	s->at += indent;
	node.from = s->at++;
	blanks(s);
	r = flow_at(s, parent, node, "", depth);
	if (r == 0)
		r = line_over(s);
	return r == 0 ? not_continued(s, indent) : r;
}

/* The members of a block at this indentation. */
static int
/* NOLINTNEXTLINE(misc-no-recursion): at most TREE_DEPTH_MAX deep */
block(struct scan *s, size_t i, size_t indent, int depth)
{
	bool array = s->t->node[i].type == NODE_ARRAY;
	size_t next;
	int r = 0;

	if (depth == TREE_DEPTH_MAX)
		return config_bad(s->t, s->at, "nested too deep");
	while (r == 0 && content(s, &next) == 0 && next >= indent) {
		if (next > indent)
			return config_bad(s->t, s->at, "unexpected indentation");
		if (is_item(s, next) != array) {
			if (array)
				break; /* the next key after a sequence at its indent */
			return config_bad(s->t, s->at, "unexpected -");
		}
		if (s->t->bytes[s->at + indent] == '\t')
			return config_bad(s->t, s->at, "a tab in the indentation");
		r = array ? item_at(s, i, indent, depth) : pair_at(s, i, indent, depth);
		if (r == 0 && s->t->node[i].last != TREE_NONE)
			s->t->node[i].end = s->t->node[s->t->node[i].last].end;
	}
	return r;
}

/* ---- the file ---------------------------------------------------------------- */

/* A key at the top that is not ours: its lines, whatever they are. */
static int
skip_top(struct scan *s, struct config_node node)
{
	size_t indent, i;
	int r;

	node.type = NODE_OTHER;
	node.at = s->at;
	node.end = s->end;
	r = config_add(s->t, 0, node, &i);
	do
		line_next(s);
	while (r == 0 && content(s, &indent) == 0 && (indent > 0 || is_item(s, 0)));
	return r;
}

/* The key decides, however it is quoted: "extensions" in quotes is ours too. */
static int
top_at(struct scan *s)
{
	struct config_node node = {.from = s->at, .comma = TREE_NONE};
	int r = key_at(s, &node.key);

	if (r < 0 || node.key == NULL)
		return r;
	if (strcmp(node.key, top_key) != 0)
		return skip_top(s, node);
	node.lines = true;
	return value_at(s, 0, node, 0, 0);
}

int
yaml_file_parse(struct config_tree *t)
{
	struct scan s = {.t = t};
	size_t root, indent;
	int r = config_add(t, TREE_NONE,
	    (struct config_node){.type = NODE_OBJECT, .comma = TREE_NONE, .end = t->len},
	    &root);

	if (t->len >= 3 && memcmp(t->bytes, "\xef\xbb\xbf", 3) == 0)
		s.at = 3;
	line_find_end(&s);
	if (content(&s, &indent) == 0 && s.end - s.at == 3 &&
	    memcmp(t->bytes + s.at, "---", 3) == 0)
		line_next(&s);
	while (r == 0 && content(&s, &indent) == 0) {
		if (indent > 0 || t->bytes[s.at] == '\t')
			return config_bad(t, s.at, "unexpected indentation");
		r = top_at(&s);
	}
	return r;
}
