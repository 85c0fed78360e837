/*
 * Equality of JSON values: numbers by their value (1 and 1.0 are equal), strings by
 * their characters, objects without the order of their members.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/hash.h"
#include "shim/base/sort.h"
#include "supervisor/schema/private.h"

static int
equal_numbers(struct check *c, uint32_t at, const struct value *a, const struct value *b)
{
	int order = 0, r;

	if (a->len == b->len && memcmp(a->text, b->text, a->len) == 0)
		return 1;
	r = eval_spend(c, (a->len + b->len) / 64);
	if (r == 0 && decimal_order(a, b, &order) < 0)
		r = eval_limit(c, -E2BIG, at, "a number has too large an exponent");
	return r < 0 ? r : order == 0;
}

static int
equal_strings(struct check *c, uint32_t at, const struct value *a, const struct value *b)
{
	int r;

	if (a->raw || b->raw)
		return eval_limit(
		    c, -E2BIG, at, "a string has a NUL or an unpaired surrogate");
	if (a->len != b->len)
		return 0;
	r = eval_spend(c, a->len / 64);
	return r < 0 ? r : memcmp(a->text, b->text, a->len) == 0;
}

static int
/* NOLINTNEXTLINE(misc-no-recursion): as deep as a message, MCP_DEPTH_MAX */
equal_children(struct check *c, uint32_t at, const struct value_tree *t, uint32_t other)
{
	const struct value *a = &c->tree.value[at], *b = &t->value[other];
	uint32_t match = other + 1;
	int r = 1;

	for (uint32_t i = at + 1; r > 0 && i < a->next; i = c->tree.value[i].next) {
		if (a->type == JSON_IS_OBJECT) {
			r = eval_spend(c, b->n / 16);
			match = value_tree_like(t, other, &c->tree.value[i]);
		}
		if (r >= 0)
			r = match == NO_VALUE ? 0 : equal_values(c, i, t, match);
		if (match != NO_VALUE)
			match = t->value[match].next;
	}
	return r;
}

int
/* NOLINTNEXTLINE(misc-no-recursion): as deep as a message, MCP_DEPTH_MAX */
equal_values(struct check *c, uint32_t at, const struct value_tree *t, uint32_t other)
{
	const struct value *a = &c->tree.value[at], *b = &t->value[other];
	int r;

	if (a->type != b->type || a->n != b->n)
		return 0;
	r = eval_spend(c, 1);
	if (r < 0)
		return r;
	if (a->type == JSON_IS_NUMBER)
		return equal_numbers(c, at, a, b);
	if (a->type == JSON_IS_STRING)
		return equal_strings(c, at, a, b);
	return equal_children(c, at, t, other);
}

/* ---- equal items ---------------------------------------------------------- */

struct hashed {
	uint64_t hash;
	uint32_t at, place;
};

static int
hash_scalar(struct check *c, uint32_t at, uint64_t *ret)
{
	const struct value *v = &c->tree.value[at];
	uint64_t h = hash64_add(HASH64_START, v->type);
	int r = eval_spend(c, 1 + v->len / 64);

	if (r == 0 && v->type == JSON_IS_NUMBER && decimal_hash(v, &h) < 0)
		r = eval_limit(c, -E2BIG, at, "a number has too large an exponent");
	if (v->type == JSON_IS_STRING)
		h = hash64(h, v->text, v->len);
	*ret = h;
	return r;
}

/* Equal values have the same hash. */
static int
/* NOLINTNEXTLINE(misc-no-recursion): as deep as a message, MCP_DEPTH_MAX */
hash_value(struct check *c, uint32_t at, uint64_t *ret)
{
	const struct value *v = &c->tree.value[at];
	uint64_t h = hash64_add(HASH64_START, v->type), inner;
	int r;

	if (v->type != JSON_IS_OBJECT && v->type != JSON_IS_ARRAY)
		return hash_scalar(c, at, ret);
	r = eval_spend(c, 1);
	for (uint32_t i = at + 1; r == 0 && i < v->next; i = c->tree.value[i].next) {
		r = hash_value(c, i, &inner);
		if (r < 0)
			break;
		if (v->type == JSON_IS_ARRAY)
			h = hash64_add(h, inner);
		else /* in any order */
			h += hash64_add(inner, c->tree.value[i].key_hash);
	}
	*ret = h;
	return r;
}

static int
by_hash(const void *one, const void *two)
{
	const struct hashed *a = one, *b = two;

	return (a->hash > b->hash) - (a->hash < b->hash);
}

/* Items with one hash, compared with each other. */
static int
compare_run(struct check *c, const struct hashed *h, size_t n, uint32_t *ret_one,
    uint32_t *ret_two)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++)
		for (size_t j = i + 1; r == 0 && j < n; j++) {
			r = equal_values(c, h[i].at, &c->tree, h[j].at);
			*ret_one = h[i].place < h[j].place ? h[i].place : h[j].place;
			*ret_two = h[i].place + h[j].place - *ret_one;
		}
	return r;
}

int
equal_items(struct check *c, uint32_t array, uint32_t *ret_one, uint32_t *ret_two)
{
	const struct value *v = &c->tree.value[array];
	struct hashed *h;
	size_t n = 0, run;
	int r = 0;

	if (v->n < 2)
		return 0;
	h = malloc(v->n * sizeof(*h));
	if (h == NULL)
		return -ENOMEM;
	for (uint32_t i = array + 1; r == 0 && i < v->next; i = c->tree.value[i].next) {
		h[n].at = i;
		h[n].place = (uint32_t)n;
		r = hash_value(c, i, &h[n++].hash);
	}
	if (r == 0)
		sort_in_place(h, n, sizeof(*h), by_hash);
	for (size_t i = 0; r == 0 && i < n; i += run) {
		for (run = 1; i + run < n && h[i + run].hash == h[i].hash; run++)
			;
		r = compare_run(c, h + i, run, ret_one, ret_two);
	}
	free(h);
	return r;
}
