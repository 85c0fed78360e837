/*
 * Which subordinate id is taken, of what /etc/subuid may say; the corpus of the
 * fuzz target, and what comes of it by changing bytes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "shim/base/array.h"
#include "shim/host/subid.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/corpus.h"

#define CHANGES 20000

static void
one_is_taken(void **state)
{
	static const struct {
		const char *text;
		uint32_t id; /* 0: none */
	} rows[] = {
	    {"", 0},
	    {"joe:100000:65536\n", 165535},
	    {"joe:100000:65536", 165535},
	    {"ann:100000:65536\njoe:165536:1\n", 165536},
	    {"1005:7000:2\n", 7001},
	    {"joe:7000:2\njoe:9000:2\n", 7001},
	    {"joey:7000:2\njo:7000:2\n:7000:2\n", 0},
	    /* never root's, never the user's own, never what is no uid */
	    {"joe:0:65536\n", 0},
	    {"joe:1000:6\n", 0},
	    {"joe:1000:5\n", 1004},
	    {"joe:1006:5\n", 1010},
	    {"joe:4294967290:6\n", 0},
	    {"joe:4294967290:5\n", 4294967294u},
	    {"joe:4294967295:1\n", 0},
	    {"joe:99999999999:1\n", 0},
	    {"joe:7000:0\n", 0},
	    {"joe:7000\njoe:7000:\njoe::2\njoe\n", 0},
	    {"joe: 7000:2\njoe:+7000:2\njoe:-7000:2\njoe:0x70:2\njoe:7000:2 \n", 0},
	    {"joe:7000:x\njoe:8000:2\n", 8001},
	};
	uint32_t id;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		id = 0;
		assert_int_equal(
		    subid_in(rows[i].text, strlen(rows[i].text), "joe", 1005, &id),
		    rows[i].id != 0);
		assert_int_equal(id, rows[i].id);
	}
	assert_false(subid_in("joe\0:7000:2\n", 12, "joe", 1005, &id));
	assert_false(subid_in(":7000:2\n", 8, "", 1005, &id));
}

static uint32_t seed = 1;

static void
changed(const char *name, const uint8_t *data, size_t len)
{
	uint8_t copy[256];

	(void)name;
	(void)LLVMFuzzerTestOneInput(data, len);
	for (int i = 0; i < CHANGES && len > 0 && len < sizeof(copy); i++) {
		memcpy(copy, data, len);
		for (int k = 0; k < 1 + i % 4; k++) {
			seed = seed * 1664525u + 1013904223u;
			copy[(seed >> 8) % len] =
			    (uint8_t) ":\n0941j\0"[(seed >> 28) % 8];
		}
		(void)LLVMFuzzerTestOneInput(copy, len - (seed >> 4) % (len / 4 + 1));
	}
}

static void
any_bytes(void **state)
{
	(void)state;
	assert_true(corpus_each("tests/fuzz/corpus/subid", changed) >= 4);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
	    cmocka_unit_test(one_is_taken),
	    cmocka_unit_test(any_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
