/*
 * The scanner and the walker: the grammar to the letter, the fields that are
 * found, keys that stand there twice, texts as they are compared.
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
#include "supervisor/json/json.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/corpus.h"

#define SUITE    "../shared/data/JSONTestSuite/test_parsing"
#define EXAMPLES "../shared/data/schemas/2026-07-28/examples"

static int
scan(const char *text, struct json_message *m)
{
	/* Exactly as many bytes as there are: ASan sees one too far. */
	size_t len = strlen(text);
	uint8_t *copy = malloc(len + 1);
	int r;

	memcpy(copy, text, len);
	copy = realloc(copy, len + !len);
	r = json_scan(copy, len, m);
	free(copy);
	return r;
}

static int
scans(const char *text)
{
	struct json_message m;

	return scan(text, &m);
}

static void
one_of_suite(const char *name, const uint8_t *bytes, size_t len)
{
	struct json_message m;
	int r = json_scan(bytes, len, &m);

	if ((name[0] == 'y' && r < 0) || (name[0] == 'n' && r == 0))
		fail_msg("%s: %d", name, r);
}

static void
suite(void **state)
{
	(void)state;
	if (corpus_each(SUITE, one_of_suite) == 0) {
		print_message("skipped: %s is not here\n", SUITE);
		skip();
	}
}

static void
one_example(const char *name, const uint8_t *bytes, size_t len)
{
	struct json_message m;

	if (json_scan(bytes, len, &m) < 0)
		fail_msg("%s", name);
}

static void
examples(void **state)
{
	(void)state;
	if (corpus_each(EXAMPLES, one_example) == 0) {
		print_message("skipped: %s is not here\n", EXAMPLES);
		skip();
	}
}

static void
grammar(void **state)
{
	static const char *const good[] = {"0", "-0.5e+7", " [ ] ", "{}", "\"\\ud800\"",
	    "{\"a\":{\"b\":[1,{\"c\":null}]}}", "\"\xf4\x8f\xbf\xbf\"", "\"\x7f\"",
	    "\r\n\ttrue ", "[[],{},\"\",1E9]", "\"0123456789abcdef\xc3\xa9\""};
	static const char *const bad[] = {"", " ", "01", "1.", ".5", "+1", "-", "1e",
	    "[1,]", "[,1]", "{\"a\":1,}", "{a:1}", "{\"a\" 1}", "[1 2]", "1 2", "\"\t\"",
	    "\"\\x\"", "\"\\u12g4\"", "\"", "\"\\", "nul", "truex", "[", "{",
	    "{\"a\":", "]", "[}", "\xef\xbb\xbf{}", "NaN", "'a'", "[\"a\",\n",
	    "{\"a\":1]", "0123456789abcdef"};
	static const char *const not_utf8[] = {"\"\xc0\xaf\"", "\"\xe0\x80\x80\"",
	    "\"\xed\xa0\x80\"", "\"\xf5\x80\x80\x80\"", "\"\xf4\x90\x80\x80\"",
	    "\"\x80\"", "\"\xc3\"", "\"\xe2\x82", "\"0123456789abcde\xff\""};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++)
		if (scans(good[i]) != 0)
			fail_msg("%s", good[i]);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		if (scans(bad[i]) != -EBADMSG)
			fail_msg("%s", bad[i]);
	for (size_t i = 0; i < ARRAY_LEN(not_utf8); i++)
		if (scans(not_utf8[i]) != -EILSEQ)
			fail_msg("%zu", i);
}

static void
depth(void **state)
{
	char text[2 * MCP_DEPTH_MAX + 3];

	(void)state;
	for (int n = MCP_DEPTH_MAX; n <= MCP_DEPTH_MAX + 1; n++) {
		memset(text, '[', (size_t)n);
		memset(text + n, ']', (size_t)n);
		text[2 * n] = '\0';
		assert_int_equal(scans(text), n > MCP_DEPTH_MAX ? -E2BIG : 0);
	}
}

static bool
is(struct json j, const char *text)
{
	return j.len == strlen(text) && memcmp(j.at, text, j.len) == 0;
}

static void
fields(void **state)
{
	static const char text[] =
	    " {\"jsonrpc\" : \"2.0\", \"params\":{ \"_meta\":{\"name\":1}, "
	    "\"n\\u0061me\" : "
	    "\"x\",\"uri\":[{\"ref\":2}],\"deep\":{\"requestId\":3}},\"id\": -7 ,"
	    "\"method\":\"m\",\"z\":{\"id\":1,\"name\":2}} ";
	struct json_message m;

	(void)state;
	assert_int_equal(json_scan((const uint8_t *)text, sizeof(text) - 1, &m), 0);
	assert_true(is(m.top[TOP_ID], "-7"));
	assert_int_equal(m.top[TOP_ID].type, JSON_IS_NUMBER);
	assert_true(is(m.top[TOP_METHOD], "\"m\""));
	assert_true(is(m.param[PARAM_NAME], "\"x\""));
	assert_true(is(m.param[PARAM_META], "{\"name\":1}"));
	assert_true(is(m.param[PARAM_URI], "[{\"ref\":2}]"));
	assert_int_equal(m.param[PARAM_REF].type, JSON_IS_NONE);
	assert_int_equal(m.param[PARAM_REQUEST_ID].type, JSON_IS_NONE);
	assert_int_equal(m.top[TOP_RESULT].type, JSON_IS_NONE);
	assert_int_equal(m.flags, 0);
	assert_int_equal(m.root.len, sizeof(text) - 3);
}

static void
twice(void **state)
{
	static const struct {
		const char *text;
		unsigned int flags;
	} row[] = {
	    {"{\"id\":1,\"i\\u0064\":1}", JSON_TOP_TWICE},
	    {"{\"x\":1,\"x\":1}", JSON_TOP_TWICE},
	    {"{\"ID\":1}", JSON_TOP_TWICE},
	    {"{\"re\xc5\xbfult\":1}", JSON_TOP_TWICE},
	    {"{\"params\":{\"name\":1,\"name\":2}}", JSON_PARAM_TWICE},
	    {"{\"params\":{\"q\":1,\"\\u0071\":2}}", JSON_PARAM_TWICE},
	    {"{\"params\":{\"Name\":1}}", JSON_PARAM_TWICE},
	    {"{\"params\":{\"x\":{\"name\":1,\"name\":2}}}", 0},
	    {"{\"result\":{\"tools\":1,\"tools\":2}}", JSON_RESULT_TWICE},
	    {"{\"result\":{\"other\":1,\"other\":2}}", 0},
	    {"{\"x\":{\"id\":1,\"id\":2}}", 0},
	    {"{\"a\":1,\"b\":1,\"A\":1}", 0},
	};
	struct json_message m;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		assert_int_equal(scan(row[i].text, &m), 0);
		if (m.flags != row[i].flags)
			fail_msg("%s: %u", row[i].text, m.flags);
	}
}

/* A key that comes again is found among few and among many, wherever the first was. */
static void
twice_of_many(void **state)
{
	struct json_message m;
	char text[4096];

	(void)state;
	for (int n = 1; n <= 200; n++) {
		for (int again = -1; again < n; again += n < 40 ? 1 : 37) {
			size_t at = (size_t)snprintf(text, sizeof(text), "{");

			for (int i = 0; i < n; i++)
				at += (size_t)snprintf(
				    text + at, sizeof(text) - at, "\"k%d\":1,", i);
			(void)snprintf(text + at, sizeof(text) - at, "\"k%d\":1}",
			    again < 0 ? n : again);
			assert_int_equal(scan(text, &m), 0);
			assert_int_equal(m.flags, again < 0 ? 0 : JSON_TOP_TWICE);
		}
	}
}

static void
texts(void **state)
{
	static const struct {
		const char *json, *text;
		int error;
	} row[] = {
	    {"\"\"", "", 0},
	    {"\"a\\u00e9\\n\\/\"", "a\xc3\xa9\n/", 0},
	    {"\"\\ud83d\\ude00\"", "\xf0\x9f\x98\x80", 0},
	    {"\"\\ud83d\"", NULL, -EILSEQ},
	    {"\"\\ud83d\\u0041\"", NULL, -EILSEQ},
	    {"\"\\ude00\"", NULL, -EILSEQ},
	    {"\"a\\u0000\"", NULL, -EILSEQ},
	    {"\"0123456789abcdef\"", NULL, -EMSGSIZE},
	};
	struct json_message m;
	char text[16];
	size_t len;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		const uint8_t *p = (const uint8_t *)row[i].json;

		assert_int_equal(json_scan(p, strlen(row[i].json), &m), 0);
		assert_int_equal(
		    json_text(m.root, text, sizeof(text), &len), row[i].error);
		if (row[i].error == 0)
			assert_string_equal(text, row[i].text);
	}
}

static void
walker(void **state)
{
	static const char text[] =
	    "{ \"a\" : [ 1 , \"]\\\"\" , {\"x\":[ ]} ] ,\"b\":true}";
	struct json_message m;
	struct json_walk w;
	struct json key, value, a;
	char memory[JSON_KEY_MAX];
	size_t len = 1;

	(void)state;
	assert_int_equal(json_scan((const uint8_t *)text, sizeof(text) - 1, &m), 0);
	assert_int_equal(json_get(m.root, "b", &value), 0);
	assert_int_equal(value.type, JSON_IS_TRUE);
	assert_int_equal(json_get(m.root, "c", &value), -ENOENT);
	assert_int_equal(json_get(m.root, "a", &a), 0);
	json_walk(&w, a);
	assert_true(json_next(&w, &key, &value) && is(value, "1"));
	assert_int_equal(key.type, JSON_IS_NONE);
	assert_int_equal(json_key_is(key, "a"), 0);
	assert_null(json_key_text(&key, memory, &len));
	assert_int_equal(len, 0);
	assert_true(json_next(&w, &key, &value) && is(value, "\"]\\\"\""));
	assert_true(json_next(&w, &key, &value) && is(value, "{\"x\":[ ]}"));
	assert_false(json_next(&w, &key, &value));
	json_walk(&w, value); /* an object; then no container */
	assert_true(json_next(&w, &key, &value) && is(value, "[ ]"));
	json_walk(&w, value);
	assert_false(json_next(&w, &key, &value));
}

static void
corpus(void **state)
{
	(void)state;
	if (corpus_each("tests/fuzz/corpus/json", corpus_input) == 0) {
		print_message("skipped: tests/fuzz/corpus/json is not here\n");
		skip();
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(suite),
	    cmocka_unit_test(examples),
	    cmocka_unit_test(grammar),
	    cmocka_unit_test(depth),
	    cmocka_unit_test(fields),
	    cmocka_unit_test(twice),
	    cmocka_unit_test(twice_of_many),
	    cmocka_unit_test(texts),
	    cmocka_unit_test(walker),
	    cmocka_unit_test(corpus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
