/*
 * One way to write a value: what differs only in how it was written becomes the
 * same bytes, what differs in meaning does not, what cannot be read for certain
 * is refused.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "shim/base/buf.h"
#include "supervisor/json/json.h"

static int
canon(const char *text, size_t max, struct buf *out)
{
	size_t len = strlen(text);
	uint8_t *copy = malloc(len + 1);
	struct json_message m;
	int r;

	memcpy(copy, text, len);
	buf_init(out, max);
	r = json_scan(copy, len, &m);
	if (r == 0)
		r = json_canon(m.root, out);
	free(copy);
	return r;
}

static void
is(const char *text, const char *wanted)
{
	struct buf out, again;

	assert_int_equal(canon(text, 4096, &out), 0);
	assert_string_equal(buf_str(&out), wanted);
	assert_int_equal(canon(buf_str(&out), 4096, &again), 0);
	assert_string_equal(buf_str(&again), wanted);
	buf_free(&out);
	buf_free(&again);
}

static void
is_not(const char *text, int error)
{
	struct buf out;

	assert_int_equal(canon(text, 4096, &out), error);
	assert_int_equal(out.len, 0);
	buf_free(&out);
}

static void
forms(void **state)
{
	(void)state;
	is("{\"b\" : 1 , \"a\":[ 1.0,\t1 , 1e3 ]}", "{\"a\":[1.0,1,1e3],\"b\":1}");
	is("{}", "{}");
	is("[]", "[]");
	is("[{},[],{\"\":[]}]", "[{},[],{\"\":[]}]");
	is("\"\\u0061\\/\\u00e9\\n\\u0001\"", "\"a/\xc3\xa9\\n\\u0001\"");
	is("\"\\ud83d\\ude00\"", "\"\xf0\x9f\x98\x80\"");
	is(" null ", "null");
	/* shorter before longer, and inner objects for themselves */
	is("{\"aa\":{\"z\":{\"y\":1,\"x\":2},\"b\":0},\"a\":[{\"d\":1,\"c\":2},3]}",
	    "{\"a\":[{\"c\":2,\"d\":1},3],\"aa\":{\"b\":0,\"z\":{\"x\":2,\"y\":1}}}");
	/* the key's text counts, not how it was written */
	is("{\"\\u0062\":1,\"a\":2}", "{\"a\":2,\"b\":1}");
}

static void
refused(void **state)
{
	(void)state;
	is_not("{\"a\":1,\"a\":1}", -EEXIST);
	is_not("{\"a\":1,\"b\":2,\"\\u0061\":3}", -EEXIST);
	is_not("[{\"x\":{\"k\":1,\"l\":2,\"k\":1}}]", -EEXIST);
	is_not("\"\\u0000\"", -EILSEQ);
	is_not("{\"\\ud800\":1}", -EILSEQ);
	is_not("[\"\\udc00\"]", -EILSEQ);
}

static void
bounded(void **state)
{
	struct buf out;

	(void)state;
	assert_int_equal(canon("{\"a\":\"12345678\"}", 8, &out), -EMSGSIZE);
	assert_int_equal(out.len, 0);
	buf_free(&out);
}

/* As deep as the scanner lets anything be. */
static void
deep(void **state)
{
	char text[2 * MCP_DEPTH_MAX + 1];
	size_t i;

	(void)state;
	for (i = 0; i < MCP_DEPTH_MAX; i++) {
		text[i] = '[';
		text[2 * MCP_DEPTH_MAX - 1 - i] = ']';
	}
	text[2 * MCP_DEPTH_MAX] = '\0';
	is(text, text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(forms),
	    cmocka_unit_test(refused),
	    cmocka_unit_test(bounded),
	    cmocka_unit_test(deep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
