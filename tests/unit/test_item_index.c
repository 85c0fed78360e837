/*
 * Items by what the agent calls them: found as by looking at each, also after one server's
 * were forgotten.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "shim/base/array.h"
#include "supervisor/serve/private.h"

#define ITEMS   600
#define SERVERS 5

static char names[SERVERS][2] = {"c", "a", "e", "b", "d"};
static struct server servers[SERVERS];
static struct item *made[ITEMS];
static size_t made_n;

static const char *
key_of(const struct item *i)
{
	return i->wire != NULL ? i->wire : i->name;
}

static bool
same_key(const struct item *a, const struct item *b)
{
	return a->kind == b->kind && strcmp(key_of(a), key_of(b)) == 0;
}

static struct item *
make(uint32_t draw)
{
	static const enum sealed_pin_kind kinds[] = {
	    PIN_TOOL, PIN_RESOURCE, PIN_TEMPLATE};
	struct item *i = calloc(1, sizeof(*i));

	assert_non_null(i);
	i->server = &servers[draw % SERVERS];
	i->kind = kinds[draw / 8 % ARRAY_LEN(kinds)];
	assert_true(asprintf(&i->name, "n%u", draw / 64 % 90) > 0);
	i->name_len = strlen(i->name);
	if (i->kind == PIN_TOOL)
		i->wire = strdup(i->name);
	return i;
}

static bool
counts_all(const struct item *i)
{
	(void)i;
	return true;
}

static bool
counts_none(const struct item *i)
{
	(void)i;
	return false;
}

/* Stubs: no URI is looked up here. */
bool
item_offered(const struct item *i)
{
	(void)i;
	return true;
}

struct server *
server_find(struct hub *h, const char *name, size_t len)
{
	(void)h;
	(void)name;
	(void)len;
	return NULL;
}

/* The answers of the index are those of a look at every item. */
static void
agrees(const struct items *all)
{
	assert_int_equal(all->n, made_n);
	for (size_t i = 0; i < made_n; i++) {
		const struct item *it = made[i], *first = it;
		size_t n = 0;

		for (size_t k = 0; k < made_n; k++) {
			const struct item *other = made[k];

			if (!same_key(it, other))
				continue;
			n++;
			if (strcmp(other->server->name, first->server->name) < 0)
				first = other;
		}
		assert_ptr_equal(
		    item_index_find(all, it->kind, key_of(it), strlen(key_of(it))),
		    first);
		assert_int_equal(item_index_alone(all, it, counts_all), n == 1);
		assert_true(item_index_alone(all, it, counts_none));
		assert_int_equal(it->twin, it->kind == PIN_TOOL && n > 1);
	}
	assert_null(item_index_find(all, PIN_TOOL, "n", 1));
	assert_null(item_index_find(all, PIN_TOOL, "zz", 2));
}

static void
finds(void **state)
{
	struct items all = {.n = 0};
	uint32_t draw = 1;

	for (int s = 0; s < SERVERS; s++)
		servers[s].name = names[s];
	assert_null(item_index_find(&all, PIN_TOOL, "n", 1));
	while (made_n < ITEMS / 2) {
		struct item *i;
		bool there = false;

		draw = draw * 1103515245u + 12345u;
		i = make(draw >> 8);
		for (size_t k = 0; k < made_n; k++)
			there |= made[k]->server == i->server && same_key(made[k], i);
		if (there) { /* a server has a name once */
			free(i->name);
			free(i->wire);
			free(i);
			continue;
		}
		assert_int_equal(item_index_add(&all, i), 0);
		all.n++;
		made[made_n++] = i;
	}
	agrees(&all);
	for (int s = 0; s < SERVERS; s++) {
		size_t n = 0;

		item_index_forget(&all, &servers[s]);
		for (size_t i = 0; i < made_n; i++)
			if (made[i]->server != &servers[s]) {
				made[n++] = made[i];
			} else {
				free(made[i]->name);
				free(made[i]->wire);
				free(made[i]);
			}
		all.n = made_n = n;
		agrees(&all);
	}
	free(all.by_key);
	(void)state;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(finds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
