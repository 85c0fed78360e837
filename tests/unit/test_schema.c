/*
 * Arguments against the schema of a tool: each keyword with a value that matches and
 * one that does not, what is told about it, and limits that end a check.
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
#include "shim/base/buf.h"
#include "supervisor/schema/schema.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/corpus.h"

static char warning[1024];
static size_t warning_n;

static void
warn(void *arg, const char *at, const char *why)
{
	assert_ptr_equal(arg, &warning_n);
	if (warning_n++ == 0)
		snprintf(warning, sizeof(warning), "%s: %s", at, why);
}

/* Exactly as long as it is: ASan sees one byte too far. */
static struct json
scan(const char *text, size_t len, uint8_t **ret_copy)
{
	struct json_message m;

	*ret_copy = malloc(len);
	memcpy(*ret_copy, text, len);
	assert_int_equal(json_scan(*ret_copy, len, &m), 0);
	return m.root;
}

static int
judge_bytes(const char *schema, const char *value, size_t len, char why[SCHEMA_WHY_MAX])
{
	uint8_t *one, *two;
	struct schema *s;
	int r;

	warning_n = 0;
	warning[0] = '\0';
	r = schema_new(scan(schema, strlen(schema), &one), &s, warn, &warning_n);
	assert_int_equal(r, 0);
	r = schema_check(s, scan(value, len, &two), why);
	assert_true((r == 0) == (why[0] == '\0'));
	printable(why, strlen(why));
	schema_free(s);
	free(one);
	free(two);
	return r;
}

static int
judge(const char *schema, const char *value, char why[SCHEMA_WHY_MAX])
{
	return judge_bytes(schema, value, strlen(value), why);
}

/* ---- each keyword ----------------------------------------------------------- */

static const struct pair {
	const char *schema, *fits, *other, *why;
} pairs[] = {
    {"true", "1", NULL, NULL},
    {"{}", "null", NULL, NULL},
    {"{\"not\":false}", "1", NULL, NULL},
    {"{\"type\":\"string\"}", "\"a\"", "1", "expected a string, found a number"},
    {"{\"type\":\"integer\"}", "1.0", "1.5",
	"expected an integer, found a number with a fraction"},
    {"{\"type\":\"integer\"}", "12.5e1", "1.25e1",
	"expected an integer, found a number with a fraction"},
    {"{\"type\":\"integer\"}", "1e400", "9007199254740993.5",
	"expected an integer, found a number with a fraction"},
    {"{\"type\":[\"object\",\"null\",\"boolean\"]}", "false", "[]",
	"expected a boolean, an object or null, found an array"},
    {"{\"type\":\"number\"}", "-0.0", "null", "expected a number, found null"},
    {"{\"type\":\"string\",\"nullable\":true}", "null", "1",
	"expected a string or null, found a number"},
    {"{\"nullable\":true,\"type\":[\"string\",\"integer\"]}", "null", "1.5",
	"expected a string, an integer or null, found a number with a fraction"},
    {"{\"type\":\"string\",\"nullable\":false}", "\"a\"", "null",
	"expected a string, found null"},
    {"{\"type\":\"string\",\"nullable\":\"true\"}", "\"a\"", "null",
	"expected a string, found null"},
    {"{\"nullable\":true}", "1", NULL, NULL},
    {"{\"type\":\"string\",\"nullable\":true,\"enum\":[\"a\",null]}", "null", "\"b\"",
	"expected \"a\" or null, found another string"},
    {"{\"properties\":{\"c\":{\"type\":\"string\",\"nullable\":true}},"
     "\"required\":[\"c\"]}",
	"{\"c\":null}", "{\"c\":[]}", "/c: expected a string or null, found an array"},
    {"{\"properties\":{\"nullable\":{\"const\":true}},\"type\":\"object\"}", "{}", "null",
	"expected an object, found null"},
    {"{\"const\":1}", "1.0", "2", "expected 1, found another number"},
    {"{\"const\":{\"a\":[1,{}],\"b\":null}}", "{\"b\":null,\"a\":[1e0,{}]}",
	"{\"b\":null,\"a\":[1,{\"c\":1}]}",
	"expected an object of the schema, found another object"},
    {"{\"const\":\"\\u00e9\"}", "\"\xc3\xa9\"", "\"e\"",
	"expected \"\\xc3\\xa9\", found another string"},
    {"{\"const\":9007199254740993}", "9007199254740993.0", "9007199254740992",
	"expected 9007199254740993, found another number"},
    {"{\"enum\":[\"a\",\"b\",3,null]}", "3.0", "\"c\"",
	"expected \"a\", \"b\", 3 or null, found another string"},
    {"{\"enum\":[1,2,3,4,5,6,7,8,9,10]}", "10", "true",
	"expected 1, 2, 3, 4, 5, 6, 7, 8, ..., found a boolean"},
    {"{\"minimum\":1.5}", "1.5", "1.4999999999999999999",
	"expected a number of at least 1.5, found a smaller one"},
    {"{\"maximum\":9007199254740992}", "9007199254740992", "9007199254740993",
	"expected a number of at most 9007199254740992, found a greater one"},
    {"{\"exclusiveMinimum\":0}", "1e-9", "0",
	"expected a number of more than 0, found a smaller or equal one"},
    {"{\"exclusiveMaximum\":-1}", "-1.1", "-1.0",
	"expected a number of less than -1, found a greater or equal one"},
    {"{\"multipleOf\":0.1}", "0.3", "0.35",
	"expected a multiple of 0.1, found another number"},
    {"{\"multipleOf\":3}", "3e30", "1e30",
	"expected a multiple of 3, found another number"},
    {"{\"multipleOf\":250}", "-1000", "100",
	"expected a multiple of 250, found another number"},
    {"{\"minLength\":2}", "\"\xf0\x9f\x98\x80\\ud83d\\ude00\"", "\"\xf0\x9f\x98\x80\"",
	"expected at least 2 characters, found fewer"},
    {"{\"maxLength\":1}", "\"\\ud83d\\ude00\"", "\"ab\"",
	"expected at most 1 character, found more"},
    {"{\"maxLength\":1}", "\"\\u0000\"", "\"\\u0000\\ud800\"",
	"expected at most 1 character, found more"},
    {"{\"minItems\":2}", "[1,[2]]", "[[1,2]]", "expected at least 2 items, found 1"},
    {"{\"maxItems\":1.0}", "[1]", "[1,2]", "expected at most 1 item, found 2"},
    {"{\"minProperties\":1}", "{\"a\":1}", "{}", "expected at least 1 member, found 0"},
    {"{\"maxProperties\":1}", "{\"a\":{\"b\":1}}", "{\"a\":1,\"b\":2}",
	"expected at most 1 member, found 2"},
    {"{\"required\":[\"a\",\"b\"]}", "{\"b\":1,\"\\u0061\":2}", "{\"a\":1}",
	"missing member `b`"},
    {"{\"dependentRequired\":{\"a\":[\"b\"]}}", "{\"b\":1}", "{\"a\":1}",
	"missing member `b`, which `a` requires"},
    {"{\"dependencies\":{\"a\":[\"b\"],\"c\":{\"required\":[\"d\"]}}}",
	"{\"a\":1,\"b\":2}", "{\"c\":1}", "missing member `d`"},
    {"{\"dependentSchemas\":{\"a\":{\"maxProperties\":1}}}", "{\"a\":1}",
	"{\"a\":1,\"b\":1}", "expected at most 1 member, found 2"},
    {"{\"properties\":{\"a/b\":{\"items\":{\"type\":\"null\"}}}}", "{\"a/b\":[null]}",
	"{\"a/b\":[null,1]}", "/a~1b/1: expected null, found a number"},
    {"{\"properties\":{\"a\":false}}", "{\"b\":1}", "{\"a\":\"x\"}",
	"/a: expected no value, found a string"},
    {"{\"patternProperties\":{\"^x-\":{\"type\":\"string\"}}}", "{\"a-x-\":1}",
	"{\"x-a\":1}", "/x-a: expected a string, found a number"},
    {"{\"properties\":{\"a\":true},\"patternProperties\":{\"^x\":true},"
     "\"additionalProperties\":false}",
	"{\"a\":1,\"x\":1}", "{\"a\":1,\"b\\n`\":1}", "unexpected member `b\\x0a``"},
    {"{\"properties\":{\"a\":true},\"additionalProperties\":{\"type\":\"null\"}}",
	"{\"a\":1,\"b\":null}", "{\"b\":1}", "/b: expected null, found a number"},
    {"{\"propertyNames\":{\"pattern\":\"^[a-z]+$\"}}", "{\"abc\":1}", "{\"a\":1,\"A\":1}",
	"invalid name of member `A`: expected a string that matches `^[a-z]+$`, found "
	"one that does not"},
    {"{\"prefixItems\":[{\"type\":\"null\"}],\"items\":{\"type\":\"string\"}}",
	"[null,\"a\"]", "[null,\"a\",1]", "/2: expected a string, found a number"},
    {"{\"prefixItems\":[true],\"items\":false}", "[1]", "[1,2,3]",
	"expected at most 1 item, found 3"},
    {"{\"items\":[{\"type\":\"null\"}],\"additionalItems\":{\"type\":\"string\"}}",
	"[null,\"a\"]", "[null,1]", "/1: expected a string, found a number"},
    {"{\"items\":[true,true],\"additionalItems\":false}", "[1,2]", "[1,2,3]",
	"expected at most 2 items, found 3"},
    {"{\"contains\":{\"type\":\"null\"},\"minContains\":2,\"maxContains\":2}",
	"[1,null,null]", "[null]",
	"expected at least 2 items that match `contains`, "
	"found 1"},
    {"{\"contains\":{\"type\":\"null\"},\"maxContains\":1}", "[1,null]", "[null,null]",
	"expected at most 1 item that matches `contains`, found 2"},
    {"{\"uniqueItems\":true}", "[1,true,\"1\",[1],{\"a\":1},{\"a\":2}]",
	"[0,{\"a\":1,\"b\":[2]},{\"b\":[2.0],\"a\":1e0}]",
	"expected items that differ, found items 1 and 2 equal"},
    {"{\"allOf\":[{\"minimum\":1},{\"maximum\":3}]}", "2", "4",
	"expected a number of at most 3, found a greater one"},
    {"{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"null\"}]}", "null", "1",
	"expected a string or null, found a number"},
    {"{\"anyOf\":[{\"const\":\"a\"},{\"enum\":[\"b\",\"c\"]}]}", "\"c\"", "\"d\"",
	"expected \"a\", \"b\" or \"c\", found another string"},
    {"{\"oneOf\":[{\"multipleOf\":2},{\"multipleOf\":3}]}", "4", "6",
	"expected a value that matches one schema of `oneOf`, found one that matches "
	"several"},
    {"{\"oneOf\":[{\"properties\":{\"t\":{\"const\":\"a\"}},\"required\":[\"n\"]},"
     "{\"properties\":{\"t\":{\"const\":\"b\"}},\"required\":[\"m\"]}]}",
	"{\"t\":\"b\",\"m\":1}", "{\"t\":\"b\",\"n\":1}", "missing member `m`"},
    {"{\"not\":{\"type\":\"null\"}}", "1", "null",
	"expected a value that does not match the schema of `not`, found one that does"},
    {"{\"if\":{\"type\":\"string\"},\"then\":{\"minLength\":1},\"else\":{\"minimum\":1}}",
	"\"a\"", "0", "expected a number of at least 1, found a smaller one"},
    {"{\"if\":{\"type\":\"string\"},\"then\":{\"minLength\":1}}", "0", "\"\"",
	"expected at least 1 character, found fewer"},
    {"{\"then\":false,\"else\":false}", "0", NULL, NULL},
    {"{\"format\":\"email\",\"$comment\":\"x\",\"default\":3}", "\"no\"", NULL, NULL},
    /* what `not` has checked does not count */
    {"{\"allOf\":[{\"properties\":{\"a\":true}}],\"not\":{\"properties\":{\"b\":true},"
     "\"required\":[\"z\"]},\"unevaluatedProperties\":false}",
	"{\"a\":1}", "{\"a\":1,\"b\":2}", "unexpected member `b`"},
    {"{\"anyOf\":[{\"properties\":{\"a\":{\"type\":\"null\"}}},{\"properties\":{\"b\":"
     "true}}],\"unevaluatedProperties\":{\"type\":\"string\"}}",
	"{\"a\":\"x\",\"b\":1}", "{\"b\":1,\"a\":1}",
	"/a: expected a string, found a number"},
    {"{\"if\":{\"properties\":{\"a\":true}},\"then\":{\"additionalProperties\":true},"
     "\"unevaluatedProperties\":false}",
	"{\"a\":1,\"b\":2}", NULL, NULL},
    {"{\"prefixItems\":[true],\"contains\":{\"type\":\"null\"},\"unevaluatedItems\":"
     "false}",
	"[1,null]", "[1,null,3]", "unexpected item 2"},
    {"{\"allOf\":[{\"items\":{\"type\":\"number\"}}],\"unevaluatedItems\":false}",
	"[1,2]", "[1,null]", "/1: expected a number, found null"},
    {"{\"$ref\":\"#/$defs/a\",\"$defs\":{\"a\":{\"properties\":{\"a\":true}}},"
     "\"unevaluatedProperties\":false}",
	"{\"a\":1}", "{\"b\":1}", "unexpected member `b`"},
};

static void
keywords(void **state)
{
	char why[SCHEMA_WHY_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
		const struct pair *p = &pairs[i];

		if (judge(p->schema, p->fits, why) != 0)
			fail_msg("%s %s: %s", p->schema, p->fits, why);
		assert_int_equal(warning_n, 0);
		if (p->other == NULL)
			continue;
		if (judge(p->schema, p->other, why) != -EBADMSG)
			fail_msg("%s %s: %s", p->schema, p->other, why);
		assert_string_equal(why, p->why);
	}
}

/* ---- references --------------------------------------------------------------- */

static const char *const references[] = {
    /* each leads to a schema of strings */
    "{\"$ref\":\"#/$defs/a\",\"$defs\":{\"a\":{\"type\":\"string\"}}}",
    "{\"$ref\":\"#/definitions/a~1b%25~0\",\"definitions\":{\"a/b%~\":{\"type\":"
    "\"string\"}}}",
    "{\"allOf\":[{\"$ref\":\"#/allOf/1\"},{\"type\":\"string\"}]}",
    "{\"$ref\":\"#x\",\"$defs\":{\"a\":{\"$anchor\":\"x\",\"type\":\"string\"}}}",
    "{\"$ref\":\"#x\",\"$defs\":{\"a\":{\"$id\":\"#x\",\"type\":\"string\"}}}",
    "{\"$dynamicRef\":\"#x\",\"$defs\":{\"a\":{\"$dynamicAnchor\":\"x\",\"type\":"
    "\"string\"}}}",
    "{\"$id\":\"http://h/r.json\",\"$ref\":\"http://h/r.json#/$defs/a\",\"$defs\":{\"a\":"
    "{\"type\":\"string\"}}}",
    "{\"$id\":\"http://h/d/r.json\",\"$ref\":\"a.json\",\"$defs\":{\"a\":{\"$id\":"
    "\"/d/a.json\",\"type\":\"string\"}}}",
    "{\"$id\":\"http://h/r\",\"$ref\":\"urn:a#b\",\"$defs\":{\"a\":{\"$id\":\"urn:a\","
    "\"$defs\":{\"b\":{\"$anchor\":\"b\",\"$ref\":\"#/$defs/c\"},\"c\":{\"type\":"
    "\"string\"}}}}}",
};

static const struct {
	const char *schema, *warning;
} astray[] = {
    {"{\"$ref\":\"http://h/a.json\"}",
	"/$ref: unable to check `$ref` `http://h/a.json`: it leads out of the schema"},
    {"{\"$ref\":\"a.json#/b\",\"unevaluatedProperties\":false}",
	"/$ref: unable to check `$ref` `a.json#/b`: it leads out of the schema"},
    {"{\"properties\":{\"a\":{\"$ref\":\"#/$defs/no\"}}}",
	"/properties/a/$ref: unable to check `$ref` `#/$defs/no`: the schema does not "
	"have it"},
    {"{\"$ref\":\"#no\",\"$defs\":{\"a\":{\"$id\":\"b\",\"$anchor\":\"no\"}}}",
	"/$ref: unable to check `$ref` `#no`: the schema does not have it"},
    {"{\"$ref\":3}", "/$ref: invalid `$ref`: not checked"},
    {"{\"$ref\":\"#/required\",\"required\":[]}",
	"/required: expected a schema, found an array: not checked"},
    {"{\"type\":\"strnig\"}", "/type: invalid `type`: not checked"},
    {"{\"properties\":{\"a\":{\"required\":true}}}",
	"/properties/a/required: invalid `required`: not checked"},
    {"{\"minLength\":-1}", "/minLength: invalid `minLength`: not checked"},
    {"{\"multipleOf\":0}", "/multipleOf: invalid `multipleOf`: not checked"},
    {"{\"anyOf\":[]}", "/anyOf: invalid `anyOf`: not checked"},
    {"{\"properties\":{\"a\":\"string\"}}",
	"/properties/a: expected a schema, found a string: not checked"},
    {"{\"pattern\":\"(?>a)\"}",
	"/pattern: unable to check pattern `(?>a)`: not a pattern of ECMA-262"},
    {"{\"patternProperties\":{\"(\":{\"type\":\"null\"}},\"additionalProperties\":false}",
	"/patternProperties/(: unable to check pattern `(`: missing closing parenthesis"},
};

static void
refs(void **state)
{
	char why[SCHEMA_WHY_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(references); i++) {
		if (judge(references[i], "\"a\"", why) != 0)
			fail_msg("%s: %s", references[i], why);
		assert_int_equal(warning_n, 0);
		if (judge(references[i], "1", why) != -EBADMSG)
			fail_msg("%s", references[i]);
		assert_string_equal(why, "expected a string, found a number");
	}
	for (size_t i = 0; i < ARRAY_LEN(astray); i++) {
		if (judge(astray[i].schema, "{\"a\":1}", why) != 0)
			fail_msg("%s: %s", astray[i].schema, why);
		assert_int_equal(warning_n, 1);
		assert_string_equal(warning, astray[i].warning);
	}
}

/* As many names as are kept, each below a `$id` of its own; and one too many. */
static void
many_places(void **state)
{
	char why[SCHEMA_WHY_MAX], wanted[64];
	struct buf b;

	(void)state;
	buf_init(&b, 1 << 20);
	for (uint32_t n = 1022; n <= 1024; n++) {
		buf_clear(&b);
		assert_int_equal(buf_printf(&b,
				     "{\"$id\":\"http://h/d/\",\"$ref\":\"http://h/d/e/"
				     "%u#a\",\"$defs\":{",
				     n - 1),
		    0);
		for (uint32_t i = 0; i < n; i++)
			assert_int_equal(buf_printf(&b,
					     "\"%u\":{\"$id\":\"e/%u\",\"$anchor\":"
					     "\"a\",\"type\":\"string\"},",
					     i, i),
			    0);
		assert_int_equal(buf_printf(&b, "\"last\":true}}%c", '\0'), 0);
		if (n < 1024) { /* and the schema's own */
			assert_int_equal(judge((const char *)b.data, "1", why), -EBADMSG);
			assert_int_equal(warning_n, 0);
			assert_int_equal(judge((const char *)b.data, "\"a\"", why), 0);
			continue;
		}
		assert_int_equal(judge((const char *)b.data, "1", why), 0);
		(void)snprintf(wanted, sizeof(wanted), "/$defs/%u: `$id`", n - 1);
		assert_memory_equal(warning, wanted, strlen(wanted));
	}
	buf_free(&b);
}

/* A list as deep as messages may be, by a schema that mentions itself. */
static void
recursive(void **state)
{
	static const char schema[] =
	    "{\"type\":\"object\",\"properties\":{\"next\":{\"anyOf\":[{\"$ref\":\"#"
	    "\"},{\"type\":\"null\"}]}},"
	    "\"required\":[\"next\"]}";
	char value[2000] = "", why[SCHEMA_WHY_MAX];
	size_t i, len = 0;

	(void)state;
	for (i = 0; i < MCP_DEPTH_MAX; i++)
		len += (size_t)snprintf(value + len, sizeof(value) - len, "{\"next\":");
	len += (size_t)snprintf(value + len, sizeof(value) - len, "null");
	for (i = 0; i < MCP_DEPTH_MAX; i++)
		value[len++] = '}';
	value[len] = '\0';
	assert_int_equal(judge(schema, value, why), 0);
	memcpy(strstr(value, "null"), "true", 4);
	assert_int_equal(judge(schema, value, why), -EBADMSG);
	assert_non_null(strstr(why, ": expected an object or null, found a boolean"));
}

/* ---- patterns ----------------------------------------------------------------- */

static const struct {
	const char *pattern, *fits, *other; /* JSON */
} patterns[] = {
    {"a", "\"xay\"", "\"b\""},
    {"^a$", "\"a\"", "\"a\\n\""},
    {"^\\\\d+$", "\"12\"", "\"\xd9\xa1\""},
    {"^\\\\w$", "\"_\"", "\"\xc3\xa9\""},
    {"^\\\\s$", "\"\xef\xbb\xbf\"", "\"\xe1\xa0\x8e\""},
    {"^\\\\S$", "\"\xe1\xa0\x8e\"", "\"\xc2\xa0\""},
    {"^[\\\\s\\\\S]$", "\"\\n\"", "\"\""},
    {"^[^\\\\s,]+$", "\"ab\"", "\"a\xe2\x80\x83\""},
    {"^[\\\\S]$", "\"!\"", "\" \""},
    {"^[\\\\w-.]$", "\"-\"", "\",\""},
    {"^[\\\\s-x]$", "\"-\"", "\"y\""},
    {"^[+-\\\\d]$", "\"-\"", "\",\""},
    {"^.$", "\"\\u0085\"", "\"\\u2028\""},
    {"^.$", "\"\xf0\x9f\x98\x80\"", "\"\\r\""},
    {"^\\\\u00e9\\\\xe9\\\\u{e9}\\\\u{1F600}\\\\ud83d\\\\ude00$",
	"\"\xc3\xa9\xc3\xa9\xc3\xa9\xf0\x9f\x98\x80\xf0\x9f\x98\x80\"", "\"e\""},
    {"^[\\\\ud83d\\\\ude00-\\\\u{1f64f}]$", "\"\xf0\x9f\x98\x81\"", "\"a\""},
    {"^[^\\\\ud800-\\\\udfff]$", "\"a\"", "\"ab\""},
    {"^\\\\/a\\\\-\\\\.$", "\"/a-.\"", "\"/a-b\""},
    {"^\\\\v\\\\t\\\\cJ$", "\"\\u000b\\t\\n\"", "\"\\f\\t\\n\""},
    {"^[[:alpha:]]$", "\":]\"", "\"b\""},
    {"^[^]$", "\"\\n\"", "\"\""},
    {"^a[]|b$", "\"b\"", "\"a\""},
    {"^a{2}b{1,}c{0,1}$", "\"aab\"", "\"ab\""},
    {"^a{,2}$", "\"a{,2}\"", "\"aa\""},
    {"^{x}]$", "\"{x}]\"", "\"x\""},
    {"^(a)|\\\\1b$", "\"b\"", "\"c\""},
    {"^(?<q>['`])x\\\\k<q>$", "\"`x`\"", "\"`x'\""},
    {"^(?!no)(?:a|no)(?=b)b(?<=b)(?<!a)$", "\"ab\"", "\"nob\""},
    {"^\\\\p{Lu}\\\\p{Letter}\\\\P{gc=L}\\\\p{Script=Greek}$",
	"\"\xc3\x89"
	"a1\xce\xb1\"",
	"\"aa1a\""},
    {"\\\\bfoo\\\\b", "\"a foo.\"", "\"afoo\""},
    {"^[\\\\b]$", "\"\\b\"", "\"b\""},
    {"^a*?b+?$", "\"aab\"", "\"aa\""},
    {"^[^\\\\x00-\\\\x1f]*$", "\"ab\"", "\"a\\u0001\""},
    {"^[A-Za-z0-9+/]*={0,2}$", "\"QUJD\"", "\"?\""},
};

static const char *const uncheckable[] = {
    "(?>a)",
    "a++",
    "a*+",
    "*a",
    "(*ACCEPT)",
    "(?i)a",
    "(?#c)",
    "\\\\Aa",
    "a\\\\Z",
    "\\\\Qa",
    "\\\\a",
    "(?P<n>a)",
    "(?1)(a)",
    "\\\\01",
    "[a",
    "a\\\\",
    "(a",
    "a)",
    "(?<=a*)b",
    "\\\\p{No Such}",
    "\\\\p{Nosuch}",
    "\\\\u{110000}",
    "\\\\u12",
    "[b-a]",
    "a{99999}",
    "\\\\x4",
    "a\\u0000",
};

static void
regular_expressions(void **state)
{
	char schema[512], why[SCHEMA_WHY_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(patterns); i++) {
		snprintf(
		    schema, sizeof(schema), "{\"pattern\":\"%s\"}", patterns[i].pattern);
		if (judge(schema, patterns[i].fits, why) != 0 || warning_n > 0)
			fail_msg("%s: %s%s", schema, why, warning);
		if (judge(schema, patterns[i].other, why) != -EBADMSG)
			fail_msg("%s matches %s", schema, patterns[i].other);
	}
	for (size_t i = 0; i < ARRAY_LEN(uncheckable); i++) {
		snprintf(schema, sizeof(schema), "{\"pattern\":\"%s\"}", uncheckable[i]);
		if (judge(schema, "\"-\"", why) != 0 || warning_n != 1)
			fail_msg("%s: %s", schema, why);
	}
}

/* ---- limits ------------------------------------------------------------------- */

static void
limited(const char *schema, const char *value, size_t len, const char *wanted)
{
	char why[SCHEMA_WHY_MAX];

	if (judge_bytes(schema, value, len, why) != -E2BIG)
		fail_msg("%.80s: %s", schema, why);
	if (strstr(why, wanted) == NULL)
		fail_msg("%.80s: %s", schema, why);
}

/* Each level doubles the work. */
static void
exponential(void **state)
{
	char schema[8192], why[SCHEMA_WHY_MAX];

	(void)state;
	for (int levels = 8; levels <= 60; levels += 52) {
		size_t n = (size_t)snprintf(schema, sizeof(schema),
		    "{\"$ref\":\"#/$defs/0\",\"$defs\":{\"%d\":{\"type\":\"number\"}",
		    levels);

		for (int i = 0; i < levels; i++)
			n += (size_t)snprintf(schema + n, sizeof(schema) - n,
			    ",\"%d\":{\"allOf\":[{\"$ref\":\"#/$defs/%d\"},{\"$ref\":\"#/"
			    "$defs/%d\"}]}",
			    i, i + 1, i + 1);
		snprintf(schema + n, sizeof(schema) - n, "}}");
		if (levels == 8)
			assert_int_equal(judge(schema, "1", why), 0);
		else
			limited(schema, "1", 1, "too many steps");
	}
}

static void
cycles(void **state)
{
	(void)state;
	limited("{\"$ref\":\"#\"}", "1", 1, "the schema is nested too deep");
	limited("{\"not\":{\"$ref\":\"#\"}}", "1", 1, "the schema is nested too deep");
	limited(
	    "{\"anyOf\":[true,{\"$ref\":\"#/$defs/a\"}],\"not\":{\"$ref\":\"#/$defs/a\"},"
	    "\"$defs\":{\"a\":{\"$ref\":\"#/$defs/b\"},\"b\":{\"$ref\":\"#/$defs/a\"}}}",
	    "1", 1, "the schema is nested too deep");
}

/* A long text: patterns that read it once are checked, others end. */
static void
long_texts(void **state)
{
	size_t len = 4u << 20;
	char *text = malloc(len), why[SCHEMA_WHY_MAX];

	(void)state;
	memset(text, 'a', len);
	text[0] = text[len - 1] = '"';
	assert_int_equal(judge_bytes("{\"pattern\":\"^[a-z]*$\",\"maxLength\":5000000}",
			     text, len, why),
	    0);
	assert_int_equal(
	    judge_bytes("{\"pattern\":\"^[b-z]\"}", text, len, why), -EBADMSG);
	limited(
	    "{\"pattern\":\"[ab]*[cd]\"}", text, len, "a pattern needs too many steps");
	limited("{\"not\":{\"pattern\":\"[ab]*[cd]\"}}", text, len,
	    "a pattern needs too many steps");
	limited("{\"pattern\":\"(a*)\\\\1[bc]\"}", text, len, "a pattern needs");
	memcpy(text + 60, "b\"", 2);
	limited("{\"pattern\":\"^(a+)+$\"}", text, 62, "a pattern needs too many steps");
	limited("{\"pattern\":\"^(a|a)*$\"}", text, 62, "a pattern needs too many steps");
	free(text);
}

static void
many_values(void **state)
{
	size_t n = SCHEMA_VALUES_MAX, len = 1;
	char *text = malloc(16 * n), why[SCHEMA_WHY_MAX];

	(void)state;
	text[0] = '[';
	for (size_t i = 0; i < n - 1; i++)
		len += (size_t)snprintf(text + len, 12, "%zu,", i);
	text[len - 1] = ']';
	assert_int_equal(
	    judge_bytes("{\"items\":{\"type\":\"integer\"},\"uniqueItems\":true}", text,
		len, why),
	    0);
	text[len - 1] = ',';
	len += (size_t)snprintf(text + len, 12, "0]");
	limited("true", text, len, "expected at most 262144 values, found more");
	free(text);
}

static void
odd_values(void **state)
{
	char why[SCHEMA_WHY_MAX];

	(void)state;
	limited("{\"minimum\":1}", "1e1000000000000000000", 21, "too large an exponent");
	limited("{\"const\":1}", "1e1000000000000000000", 21, "too large an exponent");
	limited(
	    "{\"pattern\":\"a\"}", "\"\\u0000\"", 8, "a NUL or an unpaired surrogate");
	limited("{\"const\":\"a\"}", "\"\\ud800\"", 8, "a NUL or an unpaired surrogate");
	assert_int_equal(judge("{\"type\":\"string\"}", "\"\\u0000\"", why), 0);
	assert_int_equal(
	    judge("true", "{\"a\":[{\"b\":1,\"\\u0062\":1}]}", why), -EBADMSG);
	assert_string_equal(why, "/a/0/b: duplicate member");
	assert_int_equal(judge("true", "{\"\\ud800\":1}", why), -EBADMSG);
	assert_string_equal(why, "a member's name has a NUL or an unpaired surrogate");
}

static void
bad_schemas(void **state)
{
	static const struct {
		const char *schema;
		int error;
	} bad[] = {
	    {"3", -EINVAL},
	    {"[]", -EINVAL},
	    {"{\"type\":\"null\",\"type\":\"string\"}", -EEXIST},
	    {"{\"properties\":{\"\\ud800\":{}}}", -EILSEQ},
	};
	struct schema *s = NULL;
	uint8_t *copy;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		assert_int_equal(
		    schema_new(scan(bad[i].schema, strlen(bad[i].schema), &copy), &s,
			NULL, NULL),
		    bad[i].error);
		free(copy);
	}
	assert_null(s);
	schema_free(NULL);
}

/* ---- secrets ------------------------------------------------------------------ */

static const char *const blind[] = {
    "{\"type\":\"null\"}",
    "{\"const\":\"a\"}",
    "{\"enum\":[\"a\"]}",
    "{\"pattern\":\"^b\"}",
    "{\"maxLength\":3}",
    "{\"minLength\":30}",
    "false",
    "{\"not\":true}",
    "{\"anyOf\":[{\"const\":1},{\"maxLength\":3}]}",
    "{\"oneOf\":[true,true]}",
    "{\"if\":true,\"then\":false}",
};

/* No text has the value, or its length. */
static void
secrets(void **state)
{
	char why[SCHEMA_WHY_MAX], schema[256];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(blind); i++) {
		snprintf(
		    schema, sizeof(schema), "{\"properties\":{\"key\":%s}}", blind[i]);
		assert_int_equal(
		    judge(schema, "{\"key\":\"s3cr3t-0f-19-bytes\"}", why), -EBADMSG);
		assert_null(strstr(why, "s3cr3t"));
		assert_null(strstr(why, "19"));
		assert_non_null(strstr(why, "/key: "));
	}
	assert_int_equal(
	    judge("{\"maximum\":5,\"multipleOf\":2}", "48151623", why), -EBADMSG);
	assert_null(strstr(why, "48151623"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(keywords),
	    cmocka_unit_test(refs),
	    cmocka_unit_test(many_places),
	    cmocka_unit_test(recursive),
	    cmocka_unit_test(regular_expressions),
	    cmocka_unit_test(exponential),
	    cmocka_unit_test(cycles),
	    cmocka_unit_test(long_texts),
	    cmocka_unit_test(many_values),
	    cmocka_unit_test(odd_values),
	    cmocka_unit_test(bad_schemas),
	    cmocka_unit_test(secrets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
