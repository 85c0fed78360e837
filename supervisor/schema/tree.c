/*
 * A JSON value as an array of its values, in the order of the text: each is read once,
 * keys are decoded and found by their hash, and duplicate keys are refused, because
 * readers do not agree on which of them counts.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/hash.h"
#include "shim/base/sort.h"
#include "supervisor/schema/private.h"

struct reader {
	const uint8_t *p, *end;
	struct value_tree tree;
	uint32_t cap, max;
	size_t text_len;
	uint32_t parent; /* the open container, or NO_VALUE */
	const char *key; /* of the next value, or NULL */
	uint32_t key_len;
};

/* ---- values --------------------------------------------------------------- */

static int
grow(struct reader *r)
{
	uint32_t cap = r->cap == 0 ? 16 : r->cap * 2;
	struct value *more;

	if (r->tree.n == r->max)
		return -E2BIG;
	if (r->tree.n + 1 < r->cap) /* one is spare */
		return 0;
	more = realloc(r->tree.value, cap * sizeof(*more));
	if (more == NULL)
		return -ENOMEM;
	r->tree.value = more;
	r->cap = cap;
	return 0;
}

static const uint8_t *
string_end(const uint8_t *p)
{
	for (p++; *p != '"'; p++)
		if (*p == '\\')
			p++;
	return p + 1;
}

/* The string here: in place, or decoded. False: it cannot be decoded. */
static bool
read_string(struct reader *r, const char **ret_text, uint32_t *ret_len)
{
	const uint8_t *from = r->p;
	struct json string = {from, 0, JSON_IS_STRING};
	size_t len;

	r->p = string_end(from);
	string.len = (size_t)(r->p - from);
	*ret_text = (const char *)from + 1;
	*ret_len = (uint32_t)(string.len - 2);
	if (memchr(from, '\\', string.len) == NULL)
		return true;
	if (json_text(string, r->tree.text + r->text_len, string.len, &len) < 0)
		return false;
	*ret_text = r->tree.text + r->text_len;
	*ret_len = (uint32_t)len;
	r->text_len += len;
	return true;
}

static const uint8_t *
scalar_end(const uint8_t *p, const uint8_t *end)
{
	while (p < end && (*p == 0 || strchr(" \t\r\n,]}", *p) == NULL))
		p++;
	return p;
}

static enum json_type
type_of(uint8_t c)
{
	static const enum json_type first[256] = {
	    ['{'] = JSON_IS_OBJECT,
	    ['['] = JSON_IS_ARRAY,
	    ['"'] = JSON_IS_STRING,
	    ['t'] = JSON_IS_TRUE,
	    ['f'] = JSON_IS_FALSE,
	    ['n'] = JSON_IS_NULL,
	};

	return first[c] == JSON_IS_NONE ? JSON_IS_NUMBER : first[c];
}

static int
read_value(struct reader *r)
{
	uint32_t i = r->tree.n;
	struct value *v;
	int e = grow(r);

	if (e < 0)
		return e;
	v = &r->tree.value[r->tree.n++];
	*v = (struct value){.type = type_of(*r->p), .parent = r->parent, .next = i + 1};
	if (r->parent != NO_VALUE)
		r->tree.value[r->parent].n++;
	v->key = r->key;
	v->key_len = r->key_len;
	if (r->key != NULL)
		v->key_hash = hash32(r->key, r->key_len);
	r->key = NULL;
	if (v->type == JSON_IS_OBJECT || v->type == JSON_IS_ARRAY) {
		r->parent = i;
		r->p++;
	} else if (v->type == JSON_IS_STRING)
		v->raw = !read_string(r, &v->text, &v->len);
	else {
		v->text = (const char *)r->p;
		r->p = scalar_end(r->p, r->end);
		v->len = (uint32_t)(r->p - (const uint8_t *)v->text);
	}
	return 0;
}

static void
close_container(struct reader *r)
{
	struct value *v = &r->tree.value[r->parent];

	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): the open container is one */
	v->next = r->tree.n;
	r->parent = v->parent;
	r->p++;
}

/* One key, value or end of a container. */
static int
step(struct reader *r)
{
	while (strchr(" \t\r\n,:", *r->p) != NULL)
		r->p++;
	if (*r->p == '}' || *r->p == ']') {
		close_container(r);
		return 0;
	}
	if (r->key != NULL || r->parent == NO_VALUE ||
	    r->tree.value[r->parent].type != JSON_IS_OBJECT)
		return read_value(r);
	return read_string(r, &r->key, &r->key_len) ? 0 : -EILSEQ;
}

/* ---- duplicate keys ------------------------------------------------------- */

static int
by_key(const void *one, const void *two)
{
	const struct value *a = *(const struct value *const *)one;
	const struct value *b = *(const struct value *const *)two;

	if (a->key_hash != b->key_hash)
		return a->key_hash < b->key_hash ? -1 : 1;
	if (a->key_len != b->key_len)
		return a->key_len < b->key_len ? -1 : 1;
	return memcmp(a->key, b->key, a->key_len);
}

/* A member whose key another one has, or NO_VALUE. Sorted, they are neighbours. */
static uint32_t
duplicate_in(const struct value_tree *t, uint32_t object, const struct value **member)
{
	size_t n = 0;

	for (uint32_t c = object + 1; c < t->value[object].next; c = t->value[c].next)
		member[n++] = &t->value[c];
	sort_in_place(member, n, sizeof(const struct value *), by_key);
	for (size_t i = 1; i < n; i++)
		if (by_key(&member[i - 1], &member[i]) == 0)
			return (uint32_t)(member[i] - t->value);
	return NO_VALUE;
}

static int
find_duplicate(const struct value_tree *t, uint32_t *ret_at)
{
	const struct value **member;
	uint32_t most = 1;
	int r = 0;

	for (uint32_t i = 0; i < t->n; i++)
		if (t->value[i].type == JSON_IS_OBJECT && t->value[i].n > most)
			most = t->value[i].n;
	member = malloc(most * sizeof(const struct value *));
	if (member == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; r == 0 && i < t->n; i++) {
		if (t->value[i].type != JSON_IS_OBJECT || t->value[i].n < 2)
			continue;
		*ret_at = duplicate_in(t, i, member);
		if (*ret_at != NO_VALUE)
			r = -EEXIST;
	}
	free(member);
	return r;
}

/* ---- public --------------------------------------------------------------- */

int
value_tree_new(struct json json, uint32_t max, struct value_tree *ret, uint32_t *ret_at)
{
	struct reader r = {
	    .p = json.at, .end = json.at + json.len, .max = max, .parent = NO_VALUE};
	int e = 0;

	*ret_at = NO_VALUE;
	/* A decoded string with its NUL is not longer than the string with its
	 * quotes. */
	if (memchr(json.at, '\\', json.len) != NULL &&
	    (r.tree.text = malloc(json.len)) == NULL)
		return -ENOMEM;
	do
		e = step(&r);
	while (e == 0 && r.parent != NO_VALUE);
	if (e == -EILSEQ)
		*ret_at = r.parent;
	if (e == 0)
		e = find_duplicate(&r.tree, ret_at);
	*ret = r.tree;
	return e;
}

void
value_tree_free(struct value_tree *t)
{
	free(t->value);
	free(t->text);
	*t = (struct value_tree){0};
}

uint32_t
value_tree_like(const struct value_tree *t, uint32_t object, const struct value *like)
{
	if (t->value[object].type != JSON_IS_OBJECT)
		return NO_VALUE;
	for (uint32_t c = object + 1; c < t->value[object].next; c = t->value[c].next) {
		const struct value *v = &t->value[c];

		if (v->key_hash == like->key_hash && v->key_len == like->key_len &&
		    memcmp(v->key, like->key, like->key_len) == 0)
			return c;
	}
	return NO_VALUE;
}

uint32_t
value_tree_member(
    const struct value_tree *t, uint32_t object, const char *key, size_t len)
{
	const struct value like = {
	    .key = key, .key_len = (uint32_t)len, .key_hash = hash32(key, len)};

	return value_tree_like(t, object, &like);
}

uint32_t
value_tree_named(const struct value_tree *t, uint32_t object, const char *name)
{
	return value_tree_member(t, object, name, strlen(name));
}

bool
value_tree_text_is(const struct value *v, const char *text)
{
	return v->type == JSON_IS_STRING && !v->raw && v->len == strlen(text) &&
	       memcmp(v->text, text, v->len) == 0;
}
