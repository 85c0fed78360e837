/* The row of each path. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

#include "policy/base/path_index.h"

static void
test_nearest(void **state)
{
	struct arena *a = arena_new();
	struct path_index x = {.entry = NULL};

	(void)state;
	assert_int_equal(path_index_get(&x, "/a", 2), PATH_INDEX_NONE);
	assert_int_equal(path_index_holder(&x, "/a"), PATH_INDEX_NONE);
	assert_int_equal(path_index_set(a, &x, "/srv", 1), 0);
	assert_int_equal(path_index_set(a, &x, "/srv/a/b", 2), 0);
	assert_int_equal(path_index_holder(&x, "/srv/a/b"), 2);
	assert_int_equal(path_index_holder(&x, "/srv/a/b/c/d"), 2);
	assert_int_equal(path_index_holder(&x, "/srv/a"), 1);
	assert_int_equal(path_index_holder(&x, "/srv/a/bc"), 1);
	assert_int_equal(path_index_holder(&x, "/srvx"), PATH_INDEX_NONE);
	assert_int_equal(path_index_get(&x, "/srv/a/b/c", 8), 2);
	assert_int_equal(path_index_set(a, &x, "/srv", 7), 0);
	assert_int_equal(path_index_holder(&x, "/srv/z"), 7);
	assert_int_equal(x.n, 2);
	arena_free(a);
}

static void
test_many(void **state)
{
	enum { N = 5000 };
	struct arena *a = arena_new();
	struct path_index x = {.entry = NULL};
	static char path[N][24];

	(void)state;
	for (uint32_t i = 0; i < N; i++) {
		(void)snprintf(path[i], sizeof(path[i]), "/srv/%u", i);
		assert_int_equal(path_index_set(a, &x, path[i], i), 0);
	}
	for (uint32_t i = 0; i < N; i++)
		assert_int_equal(path_index_get(&x, path[i], strlen(path[i])), i);
	assert_int_equal(path_index_get(&x, "/srv/5000", 9), PATH_INDEX_NONE);
	arena_free(a);
}

static void
test_above(void **state)
{
	(void)state;
	assert_int_equal(path_above("/a/bc", 5), 2);
	assert_int_equal(path_above("/a/bc", 2), 0);
	assert_int_equal(path_above("/", 1), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_nearest),
	    cmocka_unit_test(test_many),
	    cmocka_unit_test(test_above),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
