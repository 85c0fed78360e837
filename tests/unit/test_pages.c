/*
 * Where a list ends: without a cursor, where one does not advance, where a page comes again,
 * and after many pages.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "supervisor/mcp/line/pages.h"

static struct pages P;
static bool again;

static enum pages_is
take(const char *text)
{
	static char kept[PAGES_MAX + 8][128];
	static size_t n;
	char *mine = kept[n++ % (PAGES_MAX + 8)];
	struct json list = {0}, cursor = {0};
	struct json_message m;

	(void)snprintf(mine, sizeof(kept[0]), "%s", text); /* fits */
	assert_int_equal(json_scan((const uint8_t *)mine, strlen(mine), &m), 0);
	if (m.root.type == JSON_IS_OBJECT)
		(void)json_get(m.root, "tools", &list); /* none */
	return pages_take(&P, m.root, list, &cursor, &again);
}

static int
fresh(void **state)
{
	memset(&P, 0, sizeof(P));
	(void)state;
	return 0;
}

static void
plain(void **state)
{
	assert_int_equal(take("{\"tools\":[1],\"nextCursor\":\"a\"}"), PAGES_MORE);
	assert_int_equal(take("{\"tools\":[2],\"nextCursor\":\"b\"}"), PAGES_MORE);
	assert_int_equal(take("{\"tools\":[3]}"), PAGES_END);
	assert_false(again);
	assert_string_equal(pages_why(PAGES_END), "");
	(void)state;
}

static void
no_cursor(void **state)
{
	static const char *const end[] = {"{\"tools\":[1],\"nextCursor\":null}",
	    "{\"tools\":[1],\"nextCursor\":7}", "{\"tools\":[1],\"nextCursor\":[\"a\"]}",
	    "{}", "[]", "\"a\""};

	for (size_t i = 0; i < sizeof(end) / sizeof(end[0]); i++)
		assert_int_equal(take(end[i]), PAGES_END);
	(void)state;
}

static void
stands_still(void **state)
{
	assert_int_equal(take("{\"tools\":[1],\"nextCursor\":\"a\"}"), PAGES_MORE);
	assert_int_equal(take("{\"tools\":[2],\"nextCursor\":\"b\"}"), PAGES_MORE);
	assert_int_equal(take("{\"tools\":[3],\"nextCursor\":\"a\"}"), PAGES_STILL);
	assert_false(again); /* its items are new, and count */
	assert_string_equal(pages_why(PAGES_STILL), "its cursor does not advance");
	(void)state;
}

static void
page_again(void **state)
{
	assert_int_equal(take("{\"tools\":[1],\"nextCursor\":\"a\"}"), PAGES_MORE);
	assert_int_equal(take("{\"tools\":[1],\"nextCursor\":\"b\"}"), PAGES_STILL);
	assert_true(again);
	(void)state;
}

/* "" is a cursor; older servers that end with it answer with the first page or an error. */
static void
empty(void **state)
{
	assert_false(pages_end_refused(&P));
	assert_int_equal(take("{\"tools\":[1],\"nextCursor\":\"\"}"), PAGES_MORE);
	assert_true(pages_end_refused(&P));
	assert_int_equal(take("{\"tools\":[2],\"nextCursor\":\"x\"}"), PAGES_MORE);
	assert_false(pages_end_refused(&P));
	(void)fresh(state);
	assert_int_equal(take("{\"tools\":[1],\"nextCursor\":\"\"}"), PAGES_MORE);
	assert_int_equal(take("{\"tools\":[1],\"nextCursor\":\"\"}"), PAGES_END);
	assert_true(again);
}

/* A filter makes pages without items: they are not each other. */
static void
without_items(void **state)
{
	assert_int_equal(take("{\"tools\":[],\"nextCursor\":\"a\"}"), PAGES_MORE);
	assert_int_equal(take("{\"tools\":[],\"nextCursor\":\"b\"}"), PAGES_MORE);
	assert_int_equal(take("{\"nextCursor\":\"c\"}"), PAGES_MORE);
	assert_false(again);
	assert_int_equal(take("{\"tools\":[],\"nextCursor\":\"b\"}"), PAGES_STILL);
	(void)state;
}

static void
many(void **state)
{
	char text[128];

	for (int i = 0; i < PAGES_MAX; i++) {
		(void)snprintf(text, sizeof(text),
		    "{\"tools\":[%d],\"nextCursor\":\"%d\"}", i, i); /* fits */
		assert_int_equal(take(text), PAGES_MORE);
	}
	assert_int_equal(take("{\"tools\":[-1],\"nextCursor\":\"last\"}"), PAGES_MANY);
	assert_string_equal(pages_why(PAGES_MANY), "it has more than 1000 pages");
	(void)state;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup(plain, fresh),
	    cmocka_unit_test_setup(no_cursor, fresh),
	    cmocka_unit_test_setup(stands_still, fresh),
	    cmocka_unit_test_setup(page_again, fresh),
	    cmocka_unit_test_setup(empty, fresh),
	    cmocka_unit_test_setup(without_items, fresh),
	    cmocka_unit_test_setup(many, fresh),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
