/*
 * YAML, as far as the clients write it: the mapping `extensions` at the top, with
 * mappings, sequences and texts in block and in flow style. Other keys at the top are
 * skipped. Anything else, as anchors and tags, is refused: an edit must not rest on
 * a guess.
 */
#include <errno.h>
#include <string.h>

#include "supervisor/import/config/yaml_text.h"

static const char top_key[] = "extensions";

static int flow_at(
    struct yaml_scan *s, size_t parent, struct config_node, const char *stop, int depth);
static int block(struct yaml_scan *s, size_t i, size_t indent, int depth);

/* ---- lines ------------------------------------------------------------------- */

static void
comment(struct yaml_scan *s)
{
	if (yaml_peek(s) == '#')
		config_comment(s->t, s->at, s->end);
}

/* The indentation of the next line with content, at whose start s is then; -1: none. */
static int
content(struct yaml_scan *s, size_t *ret_indent)
{
	for (;; yaml_line_next(s)) {
		size_t start = s->at;

		if (s->at == s->t->len)
			return -1;
		while (yaml_peek(s) == ' ')
			s->at++;
		*ret_indent = s->at - start;
		if (yaml_peek(s) == '\t')
			yaml_blanks(s);
		if (yaml_peek(s) != -1 && yaml_peek(s) != '#') {
			s->at = start;
			return 0;
		}
		comment(s);
		s->at = start;
	}
}

static bool
is_item(const struct yaml_scan *s, size_t indent)
{
	const char *p = s->t->bytes + s->at + indent;
	size_t left = s->end - s->at - indent;

	return left > 0 && p[0] == '-' && (left == 1 || p[1] == ' ');
}

/* After a value: nothing, or a comment. */
static int
line_over(struct yaml_scan *s)
{
	size_t at = s->at;

	yaml_blanks(s);
	if (yaml_peek(s) != -1 && (yaml_peek(s) != '#' || s->at == at))
		return config_bad(s->t, s->at, "expected the end of the line");
	comment(s);
	yaml_line_next(s);
	return 0;
}

/* ---- scalars and flow collections -------------------------------------------- */

/* The key before a colon, and the colon. */
static int
key_at(struct yaml_scan *s, char **ret)
{
	size_t from = s->at, end;
	int r = 0;

	if (yaml_peek(s) == '"' || yaml_peek(s) == '\'') {
		end = s->end;
		r = yaml_quoted(s, ret);
		if (r == 0 && (*ret == NULL || s->end != end)) {
			config_wipe(*ret);
			return config_bad(
			    s->t, from, "a key with an invalid escape, or over lines");
		}
	} else {
		if (yaml_peek(s) == -1 || strchr("&*!|>@`%?#,[]{}", yaml_peek(s)) != NULL)
			return config_bad(s->t, from, "expected a key");
		/* in a flow collection more bytes would end it */
		while (yaml_peek(s) != -1 &&
		       strchr(s->least == 0 ? ":#,[]{}" : ":#", yaml_peek(s)) == NULL)
			s->at++;
		for (end = s->at; end > from && strchr(" \t", s->t->bytes[end - 1]);)
			end--;
		*ret = config_copy(s->t->bytes + from, end - from);
		r = *ret == NULL ? -ENOMEM : 0;
	}
	if (r < 0)
		return r;
	yaml_blanks(s);
	if (*ret != NULL && strcmp(*ret, "<<") == 0)
		r = config_bad(s->t, from, "a merge key (<<) is not supported");
	else if (yaml_peek(s) == ':' && s->at + 1 < s->end &&
		 strchr(" \t", s->t->bytes[s->at + 1]) == NULL)
		r = config_bad(s->t, s->at, "expected a blank after :");
	else if (yaml_peek(s) != ':')
		r = config_bad(s->t, s->at, "expected : after the key");
	if (r < 0)
		config_wipe(*ret);
	s->at++;
	return r;
}

/* Moves over blanks, comments and line ends in a flow collection. */
static int
flow_blanks(struct yaml_scan *s)
{
	size_t at = s->at;

	for (yaml_blanks(s);; yaml_blanks(s)) {
		if (yaml_peek(s) == '#' && s->at > at) {
			comment(s);
			s->at = s->end;
		}
		if (yaml_peek(s) != -1)
			return 0;
		at = s->end;
		if (!yaml_line_continues(s))
			return config_bad(s->t, at, "expected a closing bracket");
	}
}

/* The items of [a, b] or {a: b}, and the closing bracket. */
static int
/* NOLINTNEXTLINE(misc-no-recursion): at most TREE_DEPTH_MAX deep */
flow_items(struct yaml_scan *s, size_t i, int depth)
{
	bool object = s->t->node[i].type == NODE_OBJECT;
	int close = object ? '}' : ']', r;

	for (s->at++;;) {
		struct config_node node = {.comma = TREE_NONE};

		r = flow_blanks(s);
		if (r == 0 && yaml_peek(s) == close) {
			s->t->node[i].end = ++s->at;
			return 0;
		}
		node.from = s->at;
		if (r == 0 && object)
			r = key_at(s, &node.key);
		if (r == 0 && (r = flow_blanks(s)) < 0)
			config_wipe(node.key);
		if (r == 0)
			r = flow_at(s, i, node, ",]}[{", depth);
		if (r == 0)
			r = flow_blanks(s);
		if (r < 0)
			return r;
		if (yaml_peek(s) == ',')
			s->t->node[s->t->node[i].last].comma = s->at++;
		else if (yaml_peek(s) != close)
			return config_bad(
			    s->t, s->at, "expected a comma or a closing bracket");
	}
}

/* A text or a flow collection. Takes the node with its key and from. */
static int
/* NOLINTNEXTLINE(misc-no-recursion): at most TREE_DEPTH_MAX deep */
flow_at(struct yaml_scan *s, size_t parent, struct config_node node, const char *stop,
    int depth)
{
	int c = yaml_peek(s), r;
	size_t i;

	node.at = s->at;
	if (depth == TREE_DEPTH_MAX) {
		config_wipe(node.key);
		return config_bad(s->t, s->at, "nested too deep");
	}
	if (c == '{' || c == '[') {
		node.type = c == '{' ? NODE_OBJECT : NODE_ARRAY;
		r = config_add(s->t, parent, node, &i);
		s->least = 0;
		return r < 0 ? r : flow_items(s, i, depth + 1);
	}
	if (c == '"' || c == '\'') {
		node.type = NODE_STRING;
		r = yaml_quoted(s, &node.text);
		node.end = s->at;
	} else {
		r = yaml_plain(s, stop, &node);
	}
	if (r < 0) {
		config_wipe(node.key);
		return r;
	}
	return config_add(s->t, parent, node, &i);
}

/* ---- blocks ------------------------------------------------------------------ */

/* Is a key at s, with its colon on this line? */
static bool
is_key(struct yaml_scan s)
{
	int quote = yaml_peek(&s), c;

	if (quote == -1 || strchr("[{|>", quote) != NULL || is_item(&s, 0))
		return false;
	if (quote != '"' && quote != '\'')
		quote = 0;
	for (s.at += quote != 0; (c = yaml_peek(&s)) != -1; s.at++) {
		int next = s.at + 1 < s.end ? s.t->bytes[s.at + 1] : ' ';

		if ((quote == '"' && c == '\\') ||
		    (quote == '\'' && c == quote && next == quote))
			s.at++;
		else if (quote != 0 && c == quote)
			quote = 0;
		else if (quote == 0 && c == ':' && (next == ' ' || next == '\t'))
			return true;
		else if (quote == 0 && (c == ' ' || c == '\t') && next == '#')
			return false;
	}
	return false;
}

/* A text or a flow collection, and the end of its line. */
static int
text_at(
    struct yaml_scan *s, size_t parent, struct config_node node, size_t indent, int depth)
{
	int r;

	s->least = indent + 1;
	r = flow_at(s, parent, node, "", depth);
	return r == 0 ? line_over(s) : r;
}

/* The value after a colon or a dash, on this line or on the next ones. */
static int
/* NOLINTNEXTLINE(misc-no-recursion): at most TREE_DEPTH_MAX deep */
value_at(
    struct yaml_scan *s, size_t parent, struct config_node node, size_t indent, int depth)
{
	size_t after = s->at, next, i;
	struct yaml_scan line;
	int r;

	yaml_blanks(s);
	if (yaml_peek(s) == '|' || yaml_peek(s) == '>') {
		node.at = s->at;
		r = yaml_block_text(s, indent, &node);
		if (r == 0)
			return config_add(s->t, parent, node, &i);
		config_wipe(node.key);
		return r;
	}
	if (yaml_peek(s) != -1 && yaml_peek(s) != '#')
		return text_at(s, parent, node, indent, depth);
	node.at = node.end = after;
	node.type = NODE_OTHER;
	comment(s);
	yaml_line_next(s);
	if (content(s, &next) < 0 ||
	    (next <= indent &&
		!(next == indent && node.key != NULL && is_item(s, next)))) {
		node.text = config_copy("", 0);
		return config_add(s->t, parent, node, &i);
	}
	line = *s;
	line.at += next;
	if (!is_item(s, next) && !is_key(line)) {
		*s = line;
		return text_at(s, parent, node, indent, depth);
	}
	node.type = is_item(s, next) ? NODE_ARRAY : NODE_OBJECT;
	r = config_add(s->t, parent, node, &i);
	return r < 0 ? r : block(s, i, next, depth + 1);
}

/* A key at s, which is so far in, and its value. */
static int
/* NOLINTNEXTLINE(misc-no-recursion): at most TREE_DEPTH_MAX deep */
pair_at(struct yaml_scan *s, size_t parent, size_t indent, int depth)
{
	struct config_node node = {.from = s->at, .comma = TREE_NONE, .lines = true};
	int r;

	s->least = indent + 1;
	r = key_at(s, &node.key);
	return r < 0 ? r : value_at(s, parent, node, indent, depth);
}

/* A dash at s, which is so far in, and its value: a collection may begin on its line. */
static int
/* NOLINTNEXTLINE(misc-no-recursion): at most TREE_DEPTH_MAX deep */
item_at(struct yaml_scan *s, size_t parent, size_t indent, int depth)
{
	struct config_node node = {.from = s->at, .comma = TREE_NONE, .lines = true};
	size_t start = s->at - indent, column, i;
	int r;

	s->at++;
	yaml_blanks(s);
	if (!is_key(*s) && !is_item(s, 0))
		return value_at(s, parent, node, indent, depth);
	if (depth == TREE_DEPTH_MAX)
		return config_bad(s->t, s->at, "nested too deep");
	node.type = is_item(s, 0) ? NODE_ARRAY : NODE_OBJECT;
	node.at = s->at;
	column = s->at - start;
	r = config_add(s->t, parent, node, &i);
	if (r == 0 && is_item(s, 0))
		r = item_at(s, i, column, depth + 1);
	else if (r == 0)
		r = pair_at(s, i, column, depth + 1);
	if (r == 0)
		s->t->node[i].end = s->t->node[s->t->node[i].last].end;
	return r < 0 ? r : block(s, i, column, depth + 1);
}

/* The members of a block at this indentation. */
static int
/* NOLINTNEXTLINE(misc-no-recursion): at most TREE_DEPTH_MAX deep */
block(struct yaml_scan *s, size_t i, size_t indent, int depth)
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
		s->at += indent;
		r = array ? item_at(s, i, indent, depth) : pair_at(s, i, indent, depth);
		if (r == 0 && s->t->node[i].last != TREE_NONE)
			s->t->node[i].end = s->t->node[s->t->node[i].last].end;
	}
	return r;
}

/* ---- the file ---------------------------------------------------------------- */

/* A key at the top that is not ours: its lines, whatever they are. */
static int
skip_top(struct yaml_scan *s, struct config_node node)
{
	size_t indent, i;
	char *text;
	int r;

	node.type = NODE_OTHER;
	node.at = s->at;
	node.end = s->end;
	r = config_add(s->t, 0, node, &i);
	yaml_blanks(s);
	if (r == 0 && (yaml_peek(s) == '"' || yaml_peek(s) == '\'')) {
		r = yaml_quoted(s, &text); /* a line of it may look like a key */
		if (r == 0)
			config_wipe(text);
	}
	do
		yaml_line_next(s);
	while (r == 0 && content(s, &indent) == 0 && (indent > 0 || is_item(s, 0)));
	return r;
}

/* The key decides, however it is quoted: "extensions" in quotes is ours too. */
static int
top_at(struct yaml_scan *s)
{
	struct config_node node = {.from = s->at, .comma = TREE_NONE};
	int r;

	s->least = 1;
	r = key_at(s, &node.key);
	if (r < 0 || node.key == NULL)
		return r;
	if (strcmp(node.key, top_key) != 0)
		return skip_top(s, node);
	node.lines = true;
	return value_at(s, 0, node, 0, 0);
}

/* A byte that its client takes for a line end, and an editor may not: the offset, or len. */
static size_t
other_line_end(const char *p, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if ((p[i] == '\r' && (i + 1 == len || p[i + 1] != '\n')) ||
		    (len - i >= 2 && memcmp(p + i, "\xc2\x85", 2) == 0) ||
		    (len - i >= 3 && (memcmp(p + i, "\xe2\x80\xa8", 3) == 0 ||
					 memcmp(p + i, "\xe2\x80\xa9", 3) == 0)))
			break;
	return i;
}

int
yaml_file_parse(struct config_tree *t)
{
	struct yaml_scan s = {.t = t};
	size_t root, indent;
	int r = config_add(t, TREE_NONE,
	    (struct config_node){.type = NODE_OBJECT, .comma = TREE_NONE, .end = t->len},
	    &root);

	if (r == 0 && other_line_end(t->bytes, t->len) < t->len)
		return config_bad(t, other_line_end(t->bytes, t->len),
		    "a line ends with a character that is not a line feed");
	if (t->len >= 3 && memcmp(t->bytes, "\xef\xbb\xbf", 3) == 0)
		s.at = 3;
	yaml_line_find_end(&s);
	if (content(&s, &indent) == 0 && s.end - s.at == 3 &&
	    memcmp(t->bytes + s.at, "---", 3) == 0)
		yaml_line_next(&s);
	while (r == 0 && content(&s, &indent) == 0) {
		if (indent > 0 || t->bytes[s.at] == '\t')
			return config_bad(t, s.at, "unexpected indentation");
		r = top_at(&s);
	}
	return r;
}
