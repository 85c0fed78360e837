/*
 * TOML: tables and their keys, with the place of each value. An array of tables
 * ([[x]]) is an array of objects. Dates and numbers are not interpreted.
 *
 * A key may be given once, and a table may be opened by any line. So all keys are in one
 * balanced tree (tsearch): a file with a million keys takes seconds, not hours.
 */
#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/import/config/config_tree.h"

#define KEY_PARTS_MAX 16

struct scan {
	struct config_tree *t;
	size_t at;
	void *names; /* struct name, by by_name */
};

struct name { /* a key of an object */
	size_t object;
	const char *key; /* of the node */
	size_t node;
};

struct key {
	char *part[KEY_PARTS_MAX];
	size_t n;
};

static int value_at(struct scan *s, struct config_node, size_t parent, int depth);

static int
peek(const struct scan *s)
{
	return s->at < s->t->len ? (unsigned char)s->t->bytes[s->at] : -1;
}

static bool
at_text(const struct scan *s, const char *text)
{
	size_t n = strlen(text);

	return s->at <= s->t->len && s->t->len - s->at >= n &&
	       memcmp(s->t->bytes + s->at, text, n) == 0;
}

static void
blanks(struct scan *s)
{
	while (peek(s) == ' ' || peek(s) == '\t')
		s->at++;
}

static void
comment(struct scan *s)
{
	size_t from = s->at;

	if (peek(s) != '#')
		return;
	while (peek(s) != -1 && peek(s) != '\n')
		s->at++;
	config_comment(s->t, from, s->at);
}

/* Blanks, comments and line ends. */
static void
space(struct scan *s)
{
	for (;;) {
		blanks(s);
		comment(s);
		if (peek(s) != '\n' && !at_text(s, "\r\n"))
			return;
		s->at += peek(s) == '\n' ? 1 : 2;
	}
}

/* What may follow a value or a header on its line. */
static int
line_end(struct scan *s)
{
	blanks(s);
	comment(s);
	if (at_text(s, "\r\n"))
		s->at++;
	if (peek(s) != '\n' && peek(s) != -1)
		return config_bad(s->t, s->at, "expected the end of the line");
	s->at += peek(s) == '\n';
	return 0;
}

/* ---- names --------------------------------------------------------------------- */

static int
by_name(const void *a, const void *b)
{
	const struct name *x = a, *y = b;

	if (x->object != y->object)
		return x->object < y->object ? -1 : 1;
	return strcmp(x->key, y->key);
}

/* The member with this key, or TREE_NONE. */
static size_t
name_find(const struct scan *s, size_t object, const char *key)
{
	const struct name wanted = {.object = object, .key = key};
	struct name *const *found = tfind(&wanted, &s->names, by_name);

	return found == NULL ? TREE_NONE : (*found)->node;
}

/* config_add, and its key can be found then. */
static int
add(struct scan *s, size_t parent, struct config_node node, size_t *ret)
{
	int r = config_add(s->t, parent, node, ret);
	struct name *name;

	if (r < 0 || node.key == NULL)
		return r;
	if (name_find(s, parent, node.key) != TREE_NONE)
		return 0; /* a duplicate, which the tree has: the first one is found */
	name = malloc(sizeof(*name));
	if (name == NULL)
		return -ENOMEM;
	*name = (struct name){.object = parent, .key = node.key, .node = *ret};
	if (tsearch(name, &s->names, by_name) != NULL)
		return 0;
	free(name);
	return -ENOMEM;
}

/* ---- strings and keys -------------------------------------------------------- */

/* A string of three quotes. Its text is decoded only if it has no escape. */
static int
long_string(struct scan *s, char quote, char **ret)
{
	const char three[] = {quote, quote, quote, '\0'};
	size_t from = s->at += 3, end;
	bool escape = false;

	for (; !at_text(s, three); s->at++) {
		if (peek(s) == -1)
			return config_bad(s->t, from, "expected three closing quotes");
		if (quote == '"' && peek(s) == '\\') {
			escape = true;
			s->at++;
		}
	}
	end = s->at;
	s->at += 3;
	for (int more = 0; more < 2 && peek(s) == quote; more++, end++)
		s->at++; /* up to two quotes are part of the text */
	*ret = NULL;
	if (escape)
		return 0;
	if (from < end && s->t->bytes[from] == '\r')
		from++;
	if (from < end && s->t->bytes[from] == '\n')
		from++;
	*ret = config_copy(s->t->bytes + from, end - from);
	return *ret == NULL ? -ENOMEM : 0;
}

static int
string_at(struct scan *s, char **ret)
{
	char quote = s->t->bytes[s->at];
	size_t from = s->at + 1;
	int r;

	for (s->at++; peek(s) != quote; s->at++) {
		if (peek(s) == -1 || peek(s) == '\n')
			return config_bad(
			    s->t, from, "expected a closing quote on this line");
		if (quote == '"' && peek(s) == '\\')
			s->at++;
	}
	s->at++;
	if (quote == '\'') {
		*ret = config_copy(s->t->bytes + from, s->at - 1 - from);
		return *ret == NULL ? -ENOMEM : 0;
	}
	r = config_unescape(s->t->bytes + from, s->at - 1 - from, ret);
	if (r == -EILSEQ)
		*ret = NULL;
	return r == -EILSEQ ? 0 : r;
}

static void
key_free(struct key *k)
{
	for (size_t i = 0; i < k->n; i++)
		config_wipe(k->part[i]);
	k->n = 0;
}

static int
key_part(struct scan *s, char **ret)
{
	size_t from = s->at;
	int c = peek(s), r;

	if (c == '"' || c == '\'') {
		r = string_at(s, ret);
		if (r < 0 || *ret != NULL)
			return r;
		(void)config_bad(s->t, from, "invalid escape in a key"); /* returns it */
		return -EBADMSG;
	}
	while ((c = peek(s)) == '-' || c == '_' || (c >= '0' && c <= '9') ||
	       (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'))
		s->at++;
	if (s->at == from)
		return config_bad(s->t, from, "expected a key");
	*ret = config_copy(s->t->bytes + from, s->at - from);
	return *ret == NULL ? -ENOMEM : 0;
}

/* a.b."c d" */
static int
key_at(struct scan *s, struct key *ret)
{
	int r;

	*ret = (struct key){.n = 0};
	for (;;) {
		if (ret->n == KEY_PARTS_MAX)
			r = config_bad(s->t, s->at, "too many parts of a key");
		else
			r = key_part(s, &ret->part[ret->n]);
		if (r < 0) {
			key_free(ret);
			return r;
		}
		ret->n++;
		blanks(s);
		if (peek(s) != '.')
			return 0;
		s->at++;
		blanks(s);
	}
}

/* An array of [[x]]: one in a line has an end. */
static bool
is_tables(const struct scan *s, size_t at)
{
	return s->t->node[at].type == NODE_ARRAY && s->t->node[at].end == 0;
}

/* May another line add keys? */
static bool
is_open(const struct scan *s, size_t at)
{
	const struct config_node *n = &s->t->node[at];

	return is_tables(s, at) || (n->type == NODE_OBJECT && n->end == 0);
}

/* Finds or creates the object for the first n parts of the key, below this one. */
static int
object_for(struct scan *s, const struct key *k, size_t n, size_t parent, size_t *ret)
{
	size_t at = s->at;
	int r = 0;

	for (size_t i = 0; r == 0 && i < n && k->part[i] != NULL; i++) {
		struct config_node node = {
		    .type = NODE_OBJECT, .from = at, .comma = TREE_NONE};
		size_t found = name_find(s, parent, k->part[i]);

		/* an inline table is complete: this is another of its name */
		if (found == TREE_NONE || !is_open(s, found)) {
			node.key = config_copy(k->part[i], strlen(k->part[i]));
			r = node.key == NULL ? -ENOMEM : add(s, parent, node, &found);
		}
		parent = found;
		if (is_tables(s, found))
			parent = s->t->node[found].last;
	}
	if (r == 0)
		*ret = parent;
	return r;
}

/* The next item of the array that [[KEY]] names; the first line of a KEY adds the array. */
static int
item_for(struct scan *s, const struct key *k, struct config_node node, size_t *ret)
{
	struct config_node list = {
	    .type = NODE_ARRAY, .from = node.from, .comma = TREE_NONE};
	const char *name = k->part[k->n - 1];
	size_t parent, found;
	int r = object_for(s, k, k->n - 1, 0, &parent);

	if (r < 0)
		return r;
	found = name == NULL ? TREE_NONE : name_find(s, parent, name);
	if (found != TREE_NONE && is_tables(s, found))
		return config_add(s->t, found, node, ret);
	if (name != NULL && (list.key = config_copy(name, strlen(name))) == NULL)
		return -ENOMEM;
	r = add(s, parent, list, &found);
	return r < 0 ? r : config_add(s->t, found, node, ret);
}

/* KEY = VALUE below this object. */
static int
/* NOLINTNEXTLINE(misc-no-recursion): at most TREE_DEPTH_MAX deep */
pair_at(struct scan *s, size_t parent, bool lines, int depth)
{
	struct config_node node = {.from = s->at, .comma = TREE_NONE, .lines = lines};
	struct key k;
	int r = key_at(s, &k);

	if (r < 0)
		return r;
	if (peek(s) != '=')
		r = config_bad(s->t, s->at, "expected = after the key");
	else if (!lines && k.n > 1)
		r = config_bad(s->t, s->at, "a dotted key in an inline table");
	if (r == 0) {
		s->at++;
		blanks(s);
		r = object_for(s, &k, k.n - 1, parent, &parent);
	}
	if (r == 0) {
		node.key = k.part[--k.n];
		r = value_at(s, node, parent, depth);
	}
	key_free(&k);
	return r;
}

/* ---- values ------------------------------------------------------------------ */

/* The items after the opening bracket, and the closing one. */
static int
/* NOLINTNEXTLINE(misc-no-recursion): at most TREE_DEPTH_MAX deep */
container(struct scan *s, size_t i, int depth)
{
	bool object = s->t->node[i].type == NODE_OBJECT;
	int close = object ? '}' : ']', r;
	struct config_node item = {.comma = TREE_NONE};

	for (s->at++;;) {
		space(s);
		if (peek(s) == close) {
			s->t->node[i].end = ++s->at;
			return 0;
		}
		item.from = s->at;
		r = object ? pair_at(s, i, false, depth) : value_at(s, item, i, depth);
		if (r < 0)
			return r;
		space(s);
		if (peek(s) == ',')
			s->t->node[s->t->node[i].last].comma = s->at++;
		else if (peek(s) != close)
			return config_bad(
			    s->t, s->at, "expected a comma or a closing bracket");
	}
}

static int
scalar(struct scan *s, struct config_node *node)
{
	const char *start = s->t->bytes + s->at;
	int c = peek(s);

	node->type = NODE_STRING;
	if (at_text(s, "\"\"\"") || at_text(s, "'''"))
		return long_string(s, (char)c, &node->text);
	if (c == '"' || c == '\'')
		return string_at(s, &node->text);
	node->type = NODE_OTHER;
	while ((c = peek(s)) != -1 && strchr(",]}#\r\n\"'={[", c) == NULL)
		s->at++;
	if (s->at == node->at)
		return config_bad(s->t, node->at, "expected a value");
	while (s->t->bytes[s->at - 1] == ' ' || s->t->bytes[s->at - 1] == '\t')
		s->at--;
	node->text = config_copy(start, s->at - node->at);
	return node->text == NULL ? -ENOMEM : 0;
}

/* Takes the node with its key and from. */
static int
/* NOLINTNEXTLINE(misc-no-recursion): at most TREE_DEPTH_MAX deep */
value_at(struct scan *s, struct config_node node, size_t parent, int depth)
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
		r = add(s, parent, node, &i);
		return r < 0 ? r : container(s, i, depth + 1);
	}
	r = scalar(s, &node);
	if (r < 0) {
		config_wipe(node.key);
		return r;
	}
	node.end = s->at;
	return add(s, parent, node, &i);
}

/* ---- the file ---------------------------------------------------------------- */

/* [a.b] or [[a.b]]: the table that the next lines belong to. */
static int
header(struct scan *s, size_t *ret)
{
	bool array = at_text(s, "[[");
	struct config_node node = {
	    .type = NODE_OBJECT, .comma = TREE_NONE, .from = s->at};
	struct key k;
	int r;

	s->at += array ? 2 : 1;
	blanks(s);
	r = key_at(s, &k);
	if (r < 0)
		return r;
	if (!at_text(s, array ? "]]" : "]"))
		r = config_bad(s->t, s->at, "expected ] after the table's name");
	if (r == 0 && array)
		r = item_for(s, &k, node, ret);
	else if (r == 0)
		r = object_for(s, &k, k.n, 0, ret);
	if (r == 0 && s->t->node[*ret].opened)
		config_twice(s->t, node.from);
	if (r == 0)
		s->t->node[*ret].opened = true;
	key_free(&k);
	s->at += array ? 2 : 1;
	return r == 0 ? line_end(s) : r;
}

int
toml_file_parse(struct config_tree *t)
{
	struct scan s = {.t = t};
	size_t table = 0;
	int r = config_add(t, TREE_NONE,
	    (struct config_node){.type = NODE_OBJECT, .comma = TREE_NONE}, &table);

	if (t->len >= 3 && memcmp(t->bytes, "\xef\xbb\xbf", 3) == 0)
		s.at = 3;
	for (space(&s); r == 0 && peek(&s) != -1; space(&s)) {
		if (peek(&s) == '[') {
			r = header(&s, &table);
		} else {
			r = pair_at(&s, table, true, 0);
			if (r == 0)
				r = line_end(&s);
		}
	}
	tdestroy(s.names, free);
	return r;
}
