#include "supervisor/import/config/config_tree.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/array.h"
#include "shim/base/hex.h"

char *
config_copy(const char *bytes, size_t len)
{
	char *copy = malloc(len + 1);

	if (copy == NULL)
		return NULL;
	memcpy(copy, bytes, len);
	copy[len] = '\0';
	return copy;
}

void
config_wipe(char *text)
{
	if (text != NULL)
		explicit_bzero(text, strlen(text));
	free(text);
}

size_t
config_line(const struct config_tree *t, size_t at)
{
	size_t line = 1;

	for (size_t i = 0; i < at && i < t->len; i++)
		line += t->bytes[i] == '\n';
	return line;
}

void
config_twice(struct config_tree *t, size_t at)
{
	if (t->twice == TREE_NONE || at < t->twice)
		t->twice = at;
}

int
config_bad(struct config_tree *t, size_t at, const char *why)
{
	t->line = config_line(t, at);
	(void)snprintf(t->why, sizeof(t->why), "%s", why); /* fits */
	return -EBADMSG;
}

/* Makes room for one more item after n. */
static int
grow(void **items, size_t n, size_t *cap, size_t item_len)
{
	size_t more = *cap == 0 ? 64 : 2 * *cap;
	void *moved;

	if (n == TREE_NODES_MAX)
		return -E2BIG;
	if (n < *cap)
		return 0;
	moved = reallocarray(*items, more, item_len);
	if (moved == NULL)
		return -ENOMEM;
	*items = moved;
	*cap = more;
	return 0;
}

void
config_comment(struct config_tree *t, size_t from, size_t to)
{
	int r;

	if (t->comment_n > 0 && from < t->comment[t->comment_n - 1].to)
		return;
	r = grow(
	    (void **)&t->comment, t->comment_n, &t->comment_cap, sizeof(*t->comment));
	if (r == 0)
		t->comment[t->comment_n++] = (struct config_comment){from, to};
	else
		t->failed = r;
}

int
config_add(struct config_tree *t, size_t parent, struct config_node node, size_t *ret)
{
	int r = grow((void **)&t->node, t->n, &t->cap, sizeof(*t->node));
	size_t i = t->n;

	if (r < 0) {
		config_wipe(node.key);
		config_wipe(node.text);
		return r;
	}
	node.first = node.last = node.next = TREE_NONE;
	node.parent = parent;
	t->node[t->n++] = node;
	if (parent != TREE_NONE) {
		struct config_node *p = &t->node[parent];

		if (p->last == TREE_NONE)
			p->first = i;
		else
			t->node[p->last].next = i;
		p->last = i;
	}
	*ret = i;
	return 0;
}

/* ---- duplicate keys ---------------------------------------------------------- */

/* The next character, folded as Go's encoding/json folds it. 0 at the end. */
static unsigned char
next_folded(const char **at)
{
	const char *p = *at;

	*at += *p != '\0';
	if (strncmp(p, "\xc5\xbf", 2) == 0) { /* U+017F, a long s */
		*at = p + 2;
		return 's';
	}
	if (strncmp(p, "\xe2\x84\xaa", 3) == 0) { /* U+212A, the sign of kelvin */
		*at = p + 3;
		return 'k';
	}
	return *p >= 'A' && *p <= 'Z' ? (unsigned char)(*p + 'a' - 'A')
				      : (unsigned char)*p;
}

static int
fold_compare(const char *a, const char *b)
{
	unsigned char x, y;

	do {
		x = next_folded(&a);
		y = next_folded(&b);
	} while (x == y && x != '\0');
	return (x > y) - (x < y);
}

bool
config_key_is(const struct config_tree *t, const char *key, const char *name)
{
	return (t->folds ? fold_compare(key, name) : strcmp(key, name)) == 0;
}

struct keyed {
	const struct config_node *node;
	int (*compare)(const char *, const char *);
};

/* By parent, then by key, then by place. */
static int
by_key(const void *a, const void *b)
{
	const struct config_node *x = ((const struct keyed *)a)->node;
	const struct config_node *y = ((const struct keyed *)b)->node;
	int c;

	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	c = ((const struct keyed *)a)->compare(x->key, y->key);
	return c != 0 ? c : (x > y) - (x < y);
}

static void
mark_ambiguous(struct config_tree *t, size_t i)
{
	for (; i != TREE_NONE && !t->node[i].ambiguous; i = t->node[i].parent)
		t->node[i].ambiguous = true;
}

/* Is it a member of the file, or of one of the servers in this object? Others are names
 * that the user chose, which are read as they are. */
static bool
is_folded(const struct config_tree *t, size_t i, const char *servers)
{
	size_t server = t->node[i].parent, list;

	if (server == 0)
		return true;
	list = server == TREE_NONE ? TREE_NONE : t->node[server].parent;
	return list != TREE_NONE && list != 0 && t->node[list].parent == 0 &&
	       t->node[list].key != NULL && fold_compare(t->node[list].key, servers) == 0;
}

/* Finds the keys that an object has twice, by the text that they have when decoded; with
 * the key of the servers, those that are folded. */
static int
find_twice(struct config_tree *t, const char *servers)
{
	struct keyed *by = reallocarray(NULL, t->n + 1, sizeof(*by));
	size_t n = 0;

	if (by == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < t->n; i++)
		if (t->node[i].key != NULL &&
		    (servers == NULL || is_folded(t, i, servers)))
			by[n++] = (struct keyed){
			    &t->node[i], servers == NULL ? strcmp : fold_compare};
	if (n > 0)
		qsort(by, n, sizeof(*by), by_key);
	for (size_t i = 1; i < n; i++) {
		if (by[i].node->parent != by[i - 1].node->parent ||
		    by[i].compare(by[i].node->key, by[i - 1].node->key) != 0)
			continue;
		config_twice(t, by[i].node->from);
		mark_ambiguous(t, by[i].node->parent);
	}
	free(by);
	return 0;
}

int
config_parse(enum dialect dialect, const char *bytes, size_t len, struct config_tree *ret)
{
	static int (*const parse[])(struct config_tree *) = {
	    [DIALECT_JSON] = json_file_parse,
	    [DIALECT_TOML] = toml_file_parse,
	    [DIALECT_YAML] = yaml_file_parse,
	};

	int r;

	*ret = (struct config_tree){
	    .bytes = bytes, .len = len, .dialect = dialect, .twice = TREE_NONE};
	if (len > TREE_FILE_MAX)
		return -E2BIG;
	if (memchr(bytes, '\0', len) != NULL)
		return config_bad(ret, 0, "the file has a NUL byte");
	r = parse[dialect](ret);
	if (r == 0)
		r = ret->failed;
	return r == 0 ? find_twice(ret, NULL) : r;
}

int
config_fold(struct config_tree *t, const char *key)
{
	t->folds = true;
	return find_twice(t, key);
}

void
config_free(struct config_tree *t)
{
	for (size_t i = 0; i < t->n; i++) {
		config_wipe(t->node[i].key);
		config_wipe(t->node[i].text);
	}
	free(t->node);
	free(t->comment);
	*t = (struct config_tree){.n = 0};
}

enum config_found
config_get(const struct config_tree *t, size_t object, const char *key, size_t *ret)
{
	size_t found = TREE_NONE;

	if (t->node[object].type != NODE_OBJECT)
		return CONFIG_ABSENT;
	for (size_t i = t->node[object].first; i != TREE_NONE; i = t->node[i].next) {
		if (t->node[i].key == NULL || !config_key_is(t, t->node[i].key, key))
			continue;
		if (found != TREE_NONE)
			return CONFIG_TWICE;
		*ret = found = i;
	}
	return found == TREE_NONE ? CONFIG_ABSENT : CONFIG_FOUND;
}

const char *
config_text(const struct config_tree *t, size_t object, const char *key)
{
	size_t i;

	if (config_get(t, object, key, &i) != CONFIG_FOUND ||
	    t->node[i].type != NODE_STRING)
		return NULL;
	return t->node[i].text;
}

/* ---- escapes ----------------------------------------------------------------- */

size_t
config_utf8(char *out, unsigned long point)
{
	static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
	size_t n = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;

	if (n == 1) {
		out[0] = (char)point;
		return 1;
	}
	for (size_t i = n; i-- > 1; point >>= 6)
		out[i] = (char)(0x80 | (point & 0x3f));
	out[0] = (char)(lead[n] | point);
	return n;
}

static int
hex_digits(const char *p, size_t left, size_t n, unsigned long *ret)
{
	unsigned long value = 0;

	if (left < n)
		return -EILSEQ;
	for (size_t i = 0; i < n; i++) {
		if (hex_any(p[i]) < 0)
			return -EILSEQ;
		value = value << 4 | (unsigned long)hex_any(p[i]);
	}
	*ret = value;
	return 0;
}

/* \xHH, \uHHHH or \UHHHHHHHH at p, after its backslash; a pair of surrogates is one. */
static int
unicode(const char *p, size_t left, char *out, size_t *ret_read, size_t *ret_written)
{
	size_t n = p[0] == 'x' ? 2 : p[0] == 'u' ? 4 : 8, len = n + 1;
	unsigned long point, low;

	if (hex_digits(p + 1, left - 1, n, &point) < 0)
		return -EILSEQ;
	if (n == 4 && point >= 0xd800 && point < 0xdc00 && left >= 11 && p[5] == '\\' &&
	    p[6] == 'u' && hex_digits(p + 7, left - 7, 4, &low) == 0 && low >= 0xdc00 &&
	    low < 0xe000) {
		point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
		len = 11;
	}
	if (point == 0 || point > 0x10ffff || (point >= 0xd800 && point < 0xe000))
		return -EILSEQ;
	*ret_read = len;
	*ret_written = config_utf8(out, point);
	return 0;
}

int
config_unescape(const char *p, size_t len, char **ret)
{
	static const char from[] = "\"\\/bfnrte ", to[] = "\"\\/\b\f\n\r\t\x1b ";
	char *out = malloc(len + 1);
	size_t n = 0, read, written;
	const char *at;

	if (out == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < len;) {
		if (p[i] != '\\') {
			out[n++] = p[i++];
			continue;
		}
		i++;
		at = i < len ? memchr(from, p[i], sizeof(from) - 1) : NULL;
		if (at != NULL) {
			out[n++] = to[at - from];
			i++;
			continue;
		}
		if (i == len || strchr("xuU", p[i]) == NULL ||
		    unicode(p + i, len - i, out + n, &read, &written) < 0) {
			out[n] = '\0';
			config_wipe(out);
			return -EILSEQ;
		}
		i += read;
		n += written;
	}
	out[n] = '\0';
	*ret = out;
	return 0;
}
