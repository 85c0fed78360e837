/*
 * Lines of base64url as kennel-secret reads them: exactly so many, and only digits that
 * stand for bytes. JSON of its lists is ASCII, whatever a label contains.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "leash/secret/private.h"

static void
good(void **state)
{
	static const struct {
		const char *text, *bytes;
		size_t len;
	} row[] = {
	    {"", "", 0},
	    {"Zg", "f", 1},
	    {"Zm8", "fo", 2},
	    {"Zm9v", "foo", 3},
	    {"Zm9vYg", "foob", 4},
	    {"-_-_", "\xfb\xff\xbf", 3},
	    {"AAAA", "\0\0\0", 3},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		char text[64];
		struct typed field[3];
		int n =
		    snprintf(text, sizeof(text), "%s\nZm8\n%s", row[i].text, row[i].text);

		assert_true(fields_read(text, (size_t)n, field, 3));
		assert_int_equal(field[0].len, row[i].len);
		assert_int_equal(field[2].len, row[i].len);
		assert_memory_equal(field[0].bytes, row[i].bytes, row[i].len);
		assert_memory_equal(field[1].bytes, "fo", 2);
		assert_memory_equal(field[2].bytes, row[i].bytes, row[i].len);
	}
}

static void
bad(void **state)
{
	static const char *const row[] = {
	    "",
	    "\n\n\n",
	    "Zg",
	    "Zg\nZg\nZg",
	    "Z\nZg",
	    "Zh\nZg",
	    "Zg==\nZg",
	    "Zg\nZg ",
	    "Zg\r\nZg",
	    "Zg\nZ+",
	    "Zg\nZm9",
	    "Zg\nZ/8",
	    " Zg\nZg",
	    "Zg\n\xc3\xa9",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		char text[32];
		struct typed field[2];

		(void)snprintf(text, sizeof(text), "%s", row[i]);
		assert_false(fields_read(text, strlen(row[i]), field, 2));
	}
}

static void
print(void **state)
{
	static const struct {
		const char *text, *json;
	} row[] = {
	    {"blue \"1\"\\", "\"blue \\\"1\\\"\\\\\""},
	    {"cl\xc3\xa9\n", "\"cl\\u00e9\\u000a\""},
	    {"\xf0\x9f\x94\x91", "\"\\ud83d\\udd11\""},
	    {"a\xff\x7f", "\"a\\ufffd\\u007f\""},
	};
	char *text = NULL;
	size_t len = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		FILE *f = open_memstream(&text, &len);

		assert_non_null(f);
		json_print(f, row[i].text);
		assert_int_equal(fclose(f), 0);
		assert_string_equal(text, row[i].json);
		free(text);
	}
	for (size_t n = 0; n < 5; n++) {
		FILE *f = open_memstream(&text, &len);
		struct typed back;

		assert_non_null(f);
		base64url_print(f, (struct span){(const uint8_t *)"\xfb\xff\xbe\x01", n});
		assert_int_equal(fclose(f), 0);
		if (n == 4)
			assert_string_equal(text, "-_--AQ");
		assert_true(fields_read(text, len, &back, 1));
		assert_int_equal(back.len, n);
		free(text);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(good), cmocka_unit_test(bad), cmocka_unit_test(print)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
