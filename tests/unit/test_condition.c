/*
 * JSON values read in place: what is JSON, which of two numbers is greater, and
 * what a condition says of arguments.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "policy/sealed/policy.h"
#include "policy/sealed/values/number.h"
#include "shim/base/array.h"
#include "tests/unit/corpus.h"

#define SUITE "../shared/data/JSONTestSuite/test_parsing"

static const struct {
	const char *text;
	bool is;
} texts[] = {
    {"{}", true},
    {" [ ] ", true},
    {"null", true},
    {"", false},
    {" ", false},
    {"{\"a\":1}x", false},
    {"{\"a\":1,}", false},
    {"{,}", false},
    {"[1,]", false},
    {"[,1]", false},
    {"[1 2]", false},
    {"{\"a\" 1}", false},
    {"{a:1}", false},
    {"[}", false},
    {"{]", false},
    {"[[]", false},
    {"[]]", false},
    {"\"\\u00e9\\ud83d\\ude00\"", true},
    {"\"\\ud83d\"", false}, /* half a character */
    {"\"\\ude00\"", false},
    {"\"\\ud83d\\u0041\"", false},
    {"\"\\ud83d\\ud83d\"", false},
    {"\"\\x41\"", false},
    {"\"\\u00g0\"", false},
    {"\"\\u00", false},
    {"\"a\nb\"", false},
    {"\"\x80\"", false},
    {"\"\xc0\x80\"", false},     /* NUL, the long way */
    {"\"\xed\xa0\x80\"", false}, /* a surrogate */
    {"\"\xf4\x90\x80\x80\"", false},
    {"\"\xe2\x82", false},
    {"\"\xf0\x9f\x98\x80\"", true},
    {"01", false},
    {"-", false},
    {"+1", false},
    {".5", false},
    {"1.", false},
    {"1e", false},
    {"1e+", false},
    {"-0.0e-00", true},
    {"nul", false},
    {"NaN", false},
    {"\xef\xbb\xbf{}", false},
    {"[1]//", false},
};

/* ---- what is JSON ---------------------------------------------------------- */

static void
json_or_not(void **state)
{
	char deep[400];
	size_t i;

	for (i = 0; i < ARRAY_LEN(texts); i++)
		if (policy_is_json(texts[i].text, strlen(texts[i].text)) != texts[i].is)
			fail_msg("%zu: %s", i, texts[i].text);
	assert_false(policy_is_json("\"a\0b\"", 5));
	assert_false(policy_is_json("1\0", 2));
	memset(deep, '[', 127);
	memset(deep + 127, ']', 127);
	assert_true(policy_is_json(deep, 254));
	memset(deep, '[', 128);
	memset(deep + 128, ']', 128);
	assert_false(policy_is_json(deep, 256));
}

static int wrong;

/* y_: must be taken; n_: must not; i_: as one likes, without harm. */
static void
suite_file(const char *name, const uint8_t *bytes, size_t len)
{
	bool is = policy_is_json((const char *)bytes, len);
	bool deep = strstr(name, "structure_100000") != NULL;

	if ((name[0] == 'y' && !is && !deep) || (name[0] == 'n' && is)) {
		print_error("%s: %d\n", name, is);
		wrong++;
	}
}

static void
json_test_suite(void **state)
{
	int n = corpus_each(SUITE, suite_file);

	if (n == 0) {
		print_message("skipped: no %s\n", SUITE);
		skip();
	}
	assert_true(n > 300);
	assert_int_equal(wrong, 0);
}

/* ---- numbers ----------------------------------------------------------------- */

static void
numbers(void **state)
{
	static const struct {
		const char *a, *b;
		int order;
	} rows[] = {
	    {"0", "-0.000e99999999999999999999", 0},
	    {"1", "1.0", 0},
	    {"100", "1e2", 0},
	    {"1E+2", "0.1e3", 0},
	    {"123.45", "12345e-2", 0},
	    {"-1", "1", -1},
	    {"-2", "-1", -1},
	    {"-0.1", "0", -1},
	    {"2", "10", -1},
	    {"0.1", "0.01", 1},
	    {"0.0100", "1e-2", 0},
	    {"9007199254740993", "9007199254740992", 1},         /* one float */
	    {"0.1", "0.1000000000000000055511151231257827", -1}, /* another */
	    {"1e400", "1e401", -1},                              /* beyond floats */
	    {"1e-400", "0", 1},
	    {"99999999999999999999999999", "1e26", -1},
	    {"1e99999999999999999", "1e99999999999999998", 1},
	    {"1e-99999999999999999", "1e-99999999999999998", -1},
	    {"1e000000000000000000000000000002", "100", 0},
	};
	size_t i;
	int r;

	for (i = 0; i < ARRAY_LEN(rows); i++) {
		const char *a = rows[i].a, *b = rows[i].b;

		assert_true(policy_is_number(a, strlen(a)));
		if (policy_number_compare(a, strlen(a), b, strlen(b), &r) != 0 ||
		    r != rows[i].order)
			fail_msg("%s %s: %d", a, b, r);
		if (policy_number_compare(b, strlen(b), a, strlen(a), &r) != 0 ||
		    r != -rows[i].order)
			fail_msg("%s %s: %d", b, a, r);
	}
	assert_int_equal(
	    policy_number_compare("1e999999999999999999", 20, "1", 1, &r), -ERANGE);
}

/* A decimal of few digits, and what it is in millionths of millionths. */
static __int128
decimal(char out[64])
{
	int digits = rand() % 1000000, power = rand() % 13 - 6, point = rand() % 4, k;
	bool minus = rand() % 2 == 0;
	__int128 v = digits;

	/* digits / 10^point * 10^power */
	for (k = -12; k < power - point; k++)
		v *= 10;
	snprintf(out, 64, "%s%d", minus ? "-" : "", digits);
	if (point > 0) {
		char text[16];

		snprintf(text, sizeof(text), "%0*d", point + 1, digits);
		k = (int)strlen(text) - point;
		snprintf(out, 64, "%s%.*s.%s", minus ? "-" : "", k, text, text + k);
	}
	if (power != 0 || rand() % 2 == 0)
		snprintf(out + strlen(out), 16, "e%s%d",
		    power >= 0 && rand() % 2 == 0 ? "+" : "", power);
	return minus ? -v : v;
}

static void
numbers_against_integers(void **state)
{
	char a[64], b[64];
	__int128 x, y;
	int i, r = 0, want;

	srand(7);
	for (i = 0; i < 200000; i++) {
		x = decimal(a);
		y = decimal(b);
		want = (x > y) - (x < y);
		if (!policy_is_number(a, strlen(a)) ||
		    policy_number_compare(a, strlen(a), b, strlen(b), &r) < 0 ||
		    r != want)
			fail_msg("%s %s: %d, not %d", a, b, r, want);
	}
}

/* ---- conditions ------------------------------------------------------------------ */

/* A policy of conditions only, made row by row. */
static char strings[4096];
static struct sealed_cond conds[64];
static struct sealed_step steps[64];
static struct sealed_value values[64];
static struct policy p;

static void
begin(void)
{
	memset(&p, 0, sizeof(p));
	p.strings = strings;
	p.strings_len = 1;
	p.cond = conds;
	p.step = steps;
	p.value = values;
}

static struct sealed_ref
text(const char *s, size_t len)
{
	struct sealed_ref ref = {(uint32_t)p.strings_len, (uint32_t)len};

	memcpy(strings + ref.off, s, len);
	strings[ref.off + len] = 0;
	p.strings_len += len + 1;
	return ref;
}

/* "a.b[0]" */
static struct sealed_range
path(const char *s)
{
	struct sealed_range range = {p.row_n[SEALED_STEPS], 0};
	struct sealed_step *step;
	size_t n;

	while (*s != 0) {
		step = &steps[p.row_n[SEALED_STEPS]++];
		range.n++;
		*step = (struct sealed_step){.is_index = *s == '['};
		if (*s == '[') {
			step->index = (uint32_t)strtoul(s + 1, (char **)(void *)&s, 10);
			s++;
		} else {
			s += *s == '.';
			n = strcspn(s, ".[");
			step->key = text(s, n);
			s += n;
		}
	}
	return range;
}

/* value: as JSON would write it, a string without escapes; several: with |. */
static void
cond(uint32_t op, const char *where, const char *value)
{
	struct sealed_cond *c = &conds[p.row_n[SEALED_CONDS]++];
	struct sealed_value *v;
	size_t n;

	*c = (struct sealed_cond){.op = op, .steps = path(where)};
	c->values.first = p.row_n[SEALED_VALUES];
	for (; value != NULL && *value != 0; value += n + (value[n] == '|')) {
		n = strcspn(value, "|");
		v = &values[p.row_n[SEALED_VALUES]++];
		c->values.n++;
		*v = (struct sealed_value){.type = value[0] == '"'   ? VALUE_STRING
						   : value[0] == 't' ? VALUE_TRUE
						   : value[0] == 'f' ? VALUE_FALSE
						   : value[0] == 'n' ? VALUE_NULL
								     : VALUE_NUMBER};
		if (v->type == VALUE_STRING)
			v->text = text(value + 1, n - 2);
		else if (v->type == VALUE_NUMBER)
			v->text = text(value, n);
	}
}

static enum policy_truth
asked(const char *json)
{
	struct sealed_range all = {0, p.row_n[SEALED_CONDS]};
	char *exact = malloc(strlen(json) + 1); /* ASan sees a read beyond */
	enum policy_truth t;

	memcpy(exact, json, strlen(json) + 1);
	exact = realloc(exact, strlen(json) > 0 ? strlen(json) : 1);
	t = policy_conds(&p, all, exact, strlen(json));
	free(exact);
	return t;
}

#define NO      TRUTH_NO
#define YES     TRUTH_YES
#define UNKNOWN TRUTH_UNKNOWN

static const struct {
	uint32_t op;
	const char *where, *value, *json;
	enum policy_truth truth;
} comparisons[] = {
    {COND_EQ, "branch", "\"main\"", "{\"branch\":\"main\"}", YES},
    {COND_EQ, "branch", "\"main\"", "{\"branch\":\"ma\\u0069n\"}", YES},
    {COND_EQ, "branch", "\"main\"", "{\"br\\u0061nch\":\"main\"}", YES},
    {COND_EQ, "branch", "\"main\"", "{\"branch\":\"Main\"}", NO},
    {COND_EQ, "branch", "\"main\"", "{\"branch\":\"mainx\"}", NO},
    {COND_EQ, "branch", "\"main\"", "{\"branch\":\"mai\"}", NO},
    {COND_EQ, "branch", "\"main\"", "{\"branch\":\"\"}", NO},
    {COND_EQ, "branch", "\"main\"", "{}", UNKNOWN},
    {COND_EQ, "branch", "\"main\"", "{\"branch\":5}", UNKNOWN},
    {COND_EQ, "branch", "\"main\"", "{\"branch\":null}", UNKNOWN},
    {COND_EQ, "branch", "\"main\"", "{\"branch\":[\"main\"]}", UNKNOWN},
    {COND_EQ, "branch", "\"main\"", "[\"main\"]", UNKNOWN},
    {COND_EQ, "branch", "\"main\"", "", UNKNOWN},
    {COND_EQ, "branch", "\"main\"", "{\"branch\":\"main\"", UNKNOWN},
    /* one name twice: whoever reads the first, and whoever the last */
    {COND_EQ, "branch", "\"main\"", "{\"branch\":\"x\",\"branch\":\"main\"}", UNKNOWN},
    {COND_EQ, "branch", "\"main\"", "{\"branch\":\"main\",\"br\\u0061nch\":1}", UNKNOWN},
    {COND_EQ, "branch", "\"main\"", "{\"a\":1,\"a\":2,\"branch\":\"main\"}", UNKNOWN},
    {COND_EQ, "branch", "\"main\"", "{\"x\":{\"a\":1,\"a\":2},\"branch\":\"main\"}", YES},
    {COND_EQ, "branch", "\"\xc3\xa9\"", "{\"branch\":\"\\u00e9\"}", YES},
    /* the same to the eye, not the same bytes */
    {COND_EQ, "branch", "\"\xc3\xa9\"", "{\"branch\":\"e\\u0301\"}", NO},
    {COND_EQ, "n", "1", "{\"n\":1.0}", YES},
    {COND_EQ, "n", "100", "{\"n\":1e2}", YES},
    {COND_EQ, "n", "9007199254740992", "{\"n\":9007199254740993}", UNKNOWN},
    {COND_EQ, "n", "9007199254740992", "{\"n\":9007199254740994}", NO},
    {COND_NE, "n", "9007199254740992", "{\"n\":9007199254740993}", UNKNOWN},
    {COND_IN, "n", "1|9007199254740992", "{\"n\":9007199254740993}", UNKNOWN},
    {COND_LE, "n", "9007199254740992", "{\"n\":9007199254740993}", UNKNOWN},
    {COND_LT, "n", "100", "{\"n\":99.999999999999999999}", UNKNOWN},
    {COND_LT, "n", "100", "{\"n\":99.99999999999998}", YES},
    {COND_GT, "n", "0", "{\"n\":1e-400}", UNKNOWN},
    {COND_GT, "n", "0", "{\"n\":1e-300}", YES},
    {COND_LT, "n", "1e400", "{\"n\":1e401}", UNKNOWN},
    {COND_EQ, "n", "0.1", "{\"n\":0.1000000000000000055511151231257827}", UNKNOWN},
    {COND_EQ, "n", "0.1", "{\"n\":0.10}", YES},
    {COND_EQ, "n", "5", "{\"n\":-0.0e5}", NO},
    {COND_EQ, "n", "1", "{\"n\":\"1\"}", UNKNOWN},
    {COND_EQ, "n", "1", "{\"n\":1e999999999999999999}", UNKNOWN},
    {COND_EQ, "n", "true", "{\"n\":true}", YES},
    {COND_EQ, "n", "true", "{\"n\":false}", NO},
    {COND_EQ, "n", "true", "{\"n\":1}", UNKNOWN},
    {COND_EQ, "n", "null", "{\"n\":null}", YES},
    {COND_EQ, "n", "null", "{\"n\":0}", NO},
    {COND_NE, "n", "null", "{\"n\":0}", YES},
    {COND_NE, "n", "null", "{}", UNKNOWN},
    {COND_NE, "branch", "\"main\"", "{\"branch\":\"dev\"}", YES},
    {COND_NE, "branch", "\"main\"", "{\"branch\":7}", UNKNOWN},
    {COND_IN, "b", "\"main\"|\"release\"", "{\"b\":\"release\"}", YES},
    {COND_IN, "b", "\"main\"|\"release\"", "{\"b\":\"dev\"}", NO},
    {COND_IN, "b", "\"main\"|7", "{\"b\":7}", YES},
    {COND_IN, "b", "\"main\"|7", "{\"b\":8}", UNKNOWN},
    {COND_IN, "b", "", "{\"b\":8}", NO},
    {COND_LT, "n", "10", "{\"n\":9.999999999999999999999}", UNKNOWN},
    {COND_LT, "n", "10", "{\"n\":9.99999}", YES},
    {COND_LT, "n", "10", "{\"n\":10.0}", NO},
    {COND_LE, "n", "10", "{\"n\":10.0}", YES},
    {COND_GT, "n", "-3", "{\"n\":-2}", YES},
    {COND_GE, "n", "-3", "{\"n\":-3.0000000001}", NO},
    {COND_GT, "n", "1", "{\"n\":\"2\"}", UNKNOWN},
    {COND_MATCHES, "s", "\"a*c\"", "{\"s\":\"abbc\"}", YES},
    {COND_MATCHES, "s", "\"a*c\"", "{\"s\":\"abbcd\"}", NO},
    {COND_MATCHES, "s", "\"a*c\"", "{\"s\":\"ac\"}", YES},
    {COND_MATCHES, "s", "\"*\"", "{\"s\":\"\"}", YES},
    {COND_MATCHES, "s", "\"\"", "{\"s\":\"\"}", YES},
    {COND_MATCHES, "s", "\"a*b*c\"", "{\"s\":\"axbxb\\u0063\"}", YES},
    {COND_MATCHES, "s", "\"*\xf0\x9f\x98\x80\"", "{\"s\":\"x\\ud83d\\ude00\"}", YES},
    {COND_MATCHES, "s", "\"a*\"", "{\"s\":[\"a\"]}", UNKNOWN},
    {COND_UNDER, "p", "\"/srv\"", "{\"p\":\"/srv\"}", YES},
    {COND_UNDER, "p", "\"/srv\"", "{\"p\":\"/srv/a\\/b\"}", YES},
    {COND_UNDER, "p", "\"/srv\"", "{\"p\":\"/srvx\"}", NO},
    {COND_UNDER, "p", "\"/srv\"", "{\"p\":\"/etc\"}", NO},
    {COND_UNDER, "p", "\"/srv\"", "{\"p\":\"/srv/../etc\"}", UNKNOWN},
    {COND_UNDER, "p", "\"/srv\"", "{\"p\":\"/srv/./a\"}", UNKNOWN},
    {COND_UNDER, "p", "\"/srv\"", "{\"p\":\"/srv/\"}", UNKNOWN},
    {COND_UNDER, "p", "\"/srv\"", "{\"p\":\"srv\"}", UNKNOWN},
    {COND_UNDER, "p", "\"/srv\"", "{\"p\":\"/srv/a\\u0000\"}", UNKNOWN},
    {COND_UNDER, "p", "\"/srv\"", "{\"p\":\"\"}", UNKNOWN},
    {COND_UNDER, "p", "\"/\"", "{\"p\":\"/etc\"}", YES},
    {COND_UNDER, "p", "\"/s\xc3\xa9\"", "{\"p\":\"/s\\u00e9/\xf0\x9f\x98\x80\"}", YES},
    {COND_UNDER, "p", "\"/srv\"", "{\"p\":\"/srv/a%20b\"}", YES},
    {COND_UNDER, "p", "\"/srv\"", "{\"p\":\"/srv/100%\"}", YES},
    {COND_UNDER, "p", "\"/srv\"", "{\"p\":\"/srv/%2e%2e/etc\"}", UNKNOWN},
    {COND_UNDER, "p", "\"/srv\"", "{\"p\":\"/srv/%2E./etc\"}", UNKNOWN},
    {COND_UNDER, "p", "\"/srv\"", "{\"p\":\"/srv/x%2f..%2f..%2fetc\"}", UNKNOWN},
    {COND_UNDER, "p", "\"/srv\"", "{\"p\":\"/srv/%252e%252e/etc\"}", UNKNOWN},
    {COND_UNDER, "p", "\"/srv\"", "{\"p\":\"/s%72v/x\"}", UNKNOWN},
    {COND_UNDER, "p", "\"/srv\"", "{\"p\":\"/srv/x%00\"}", UNKNOWN},
    {COND_UNDER, "p", "\"/srv\"", "{\"p\":\"/srv/..\\\\..\\\\etc\"}", UNKNOWN},
    {COND_UNDER, "p", "\"/s%41v\"", "{\"p\":\"/s%41v/x\"}", YES},
    {COND_UNDER, "p", "\"/srv\"", "{\"p\":\"/etc/%70asswd\"}", NO},
    {COND_EXISTS, "a", NULL, "{\"a\":null}", YES},
    {COND_EXISTS, "a", NULL, "{\"a\\u0000\":null}", UNKNOWN},
    {COND_EQ, "n", "1", "{\"n\":1,\"n\\u0000x\":2}", UNKNOWN},
    {COND_EQ, "n", "1", "{\"n\":1,\"m\":{\"n\\u0000\":2}}", YES},
    {COND_EXISTS, "a", NULL, "{\"b\":1}", NO},
    {COND_EXISTS, "a", NULL, "{\"b\":1,\"b\":1}", UNKNOWN},
    {COND_EXISTS, "a.b[1].c", NULL, "{\"a\":{\"b\":[1,{\"c\":2}]}}", YES},
    {COND_EXISTS, "a.b[2].c", NULL, "{\"a\":{\"b\":[1,{\"c\":2}]}}", NO},
    {COND_EXISTS, "a.b", NULL, "{\"a\":[1]}", NO},
    {COND_EXISTS, "a[0]", NULL, "{\"a\":{\"0\":1}}", NO},
    {COND_EXISTS, "a[0]", NULL, "{\"a\":[]}", NO},
    {COND_EXISTS, "a.b", NULL, "{\"a\":1}", NO},
    /* a server may take it for an object, or mind no case */
    {COND_EXISTS, "a.b", NULL, "{\"a\":\"{\\\"b\\\":1}\"}", UNKNOWN},
    {COND_EXISTS, "a", NULL, "\"{\\\"a\\\":1}\"", UNKNOWN},
    {COND_EXISTS, "force", NULL, "{\"Force\":true}", UNKNOWN},
    {COND_EXISTS, "force", NULL, "{\"for\\u0043e\":true}", UNKNOWN},
    {COND_EXISTS, "force", NULL, "{\"forced\":true,\"forc\":1}", NO},
    {COND_UNDER, "p", "\"/srv\"", "{\"p\":\"/srv\",\"P\":\"/etc\"}", UNKNOWN},
    {COND_EQ, "sky", "1", "{\"sky\":1,\"\xc5\xbf\xe2\x84\xaay\":2}", UNKNOWN},
    {COND_EQ, "sky", "1", "{\"sky\":1,\"\xc5\xbf\xe2\x84\xaax\":2}", YES},
    {COND_EQ, "a[1]", "2", " { \"a\" : [ 1 , 2 ] } ", YES},
    {COND_EQ, "", "5", " 5 ", YES},
    {COND_EQ, "a[4000000000]", "2", "{\"a\":[1,2]}", UNKNOWN},
};

/* MCP-ATTACKS 36 37 38: duplicate names, odd numbers, odd Unicode */
static void
one_comparison(void **state)
{
	size_t i;

	for (i = 0; i < ARRAY_LEN(comparisons); i++) {
		begin();
		cond(comparisons[i].op, comparisons[i].where, comparisons[i].value);
		if (asked(comparisons[i].json) != comparisons[i].truth)
			fail_msg("%zu: %s %s %s: %d", i, comparisons[i].where,
			    comparisons[i].value, comparisons[i].json,
			    asked(comparisons[i].json));
	}
}

/* `under /srv/w relative`, in a server whose cwd is the first column. */
static const struct {
	const char *cwd, *text;
	enum policy_truth truth;
} relatives[] = {
    {"/srv/w", "a", YES},
    {"/srv/w", "docs/report.pdf", YES},
    {"/srv/w", "100%", YES},
    {"/srv/w", "a b/c:d", YES},
    {"/srv/w/sub", "x", YES},
    {"/srv", "w/x", YES},
    {"/srv", "w", YES},
    {"/srv", "wx", NO},
    {"/srv", "v/x", NO},
    {"/", "srv/w/x", YES},
    {"/", "etc", NO},
    /* an absolute path is judged as without the word */
    {"/srv/w", "/srv/w/a", YES},
    {"/srv/w", "/etc/passwd", NO},
    {"/srv/w", "/srv/w/../../etc", UNKNOWN},
    /* anything else may lead anywhere */
    {"/srv/w", "", UNKNOWN},
    {"/srv/w", ".", UNKNOWN},
    {"/srv/w", "./a", UNKNOWN},
    {"/srv/w", "..", UNKNOWN},
    {"/srv/w", "../x", UNKNOWN},
    {"/srv/w", "a/../../x", UNKNOWN},
    {"/srv/w", "a//b", UNKNOWN},
    {"/srv/w", "a/", UNKNOWN},
    {"/srv/w", "~", UNKNOWN},
    {"/srv/w", "~/x", UNKNOWN},
    {"/srv/w", "~root/x", UNKNOWN},
    {"/srv/w", "file:etc", UNKNOWN},
    {"/srv/w", "file:///etc/passwd", UNKNOWN},
    {"/srv/w", "C:x", UNKNOWN},
    {"/srv/w", "a\\\\b", UNKNOWN},
    {"/srv/w", "a\\u0000", UNKNOWN},
    {"/srv/w", "%2e%2e/x", UNKNOWN},
    {"/srv/w", "%2Fetc/passwd", UNKNOWN},
    {"/srv/w", "%7E/x", UNKNOWN},
    {"/srv/w", "%257e/x", UNKNOWN},
    {"/srv/w", "file%3Aetc", UNKNOWN},
    {"/srv/w", "a%2f..%2f..%2fetc", UNKNOWN},
};

static void
relative_paths(void **state)
{
	static char json[6000], longest[5000];
	char folders[64];
	size_t i;

	memset(longest, 'a', sizeof(longest) - 1);
	for (i = 0; i <= ARRAY_LEN(relatives); i++) {
		bool last = i == ARRAY_LEN(relatives);

		begin();
		snprintf(folders, sizeof(folders), "\"/srv/w\"|\"%s\"",
		    last ? "/srv/w" : relatives[i].cwd);
		cond(COND_UNDER, "p", folders);
		snprintf(json, sizeof(json), "{\"p\":\"%s\"}",
		    last ? longest : relatives[i].text);
		if (asked(json) != (last ? UNKNOWN : relatives[i].truth))
			fail_msg("%zu: %s, %s: %d", i, json, folders, asked(json));
	}
	begin(); /* a control: without the word it is unknown */
	cond(COND_UNDER, "p", "\"/srv/w\"");
	assert_int_equal(asked("{\"p\":\"a\"}"), UNKNOWN);
}

/* Every combination of the three. */
static void
three_values(void **state)
{
	static const char *const json[] = {
	    [TRUTH_NO] = "0", [TRUTH_YES] = "1", [TRUTH_UNKNOWN] = "\"\""};
	static const enum policy_truth and[3][3] = {
	    {NO, NO, NO}, {NO, YES, UNKNOWN}, {NO, UNKNOWN, UNKNOWN}};
	static const enum policy_truth or [3][3] = {
	    {NO, YES, UNKNOWN}, {YES, YES, YES}, {UNKNOWN, YES, UNKNOWN}};
	static const enum policy_truth not [] = {YES, NO, UNKNOWN};
	char text_of[64];
	int a, b, op;

	for (op = COND_AND; op <= COND_NOT; op++)
		for (a = 0; a < 3; a++)
			for (b = 0; b < 3; b++) {
				begin();
				cond(COND_EQ, "a", "1");
				if (op != COND_NOT)
					cond(COND_EQ, "b", "1");
				cond((uint32_t)op, "", NULL);
				snprintf(text_of, sizeof(text_of), "{\"a\":%s,\"b\":%s}",
				    json[a], json[b]);
				assert_int_equal(
				    asked(text_of), op == COND_AND  ? and[a][b]
						    : op == COND_OR ? or [a][b]
								    : not [a]);
			}
	begin();
	assert_int_equal(asked("{}"), YES); /* no condition */
}

/* Rows that the loader would not let through reach nothing. */
static void
odd_programs(void **state)
{
	int i;

	begin();
	cond(COND_AND, "", NULL);
	assert_int_equal(asked("{}"), UNKNOWN);
	begin();
	cond(COND_NOT, "", NULL);
	assert_int_equal(asked("{}"), UNKNOWN);
	begin();
	for (i = 0; i < 40; i++)
		cond(COND_EXISTS, "a", NULL);
	assert_int_equal(asked("{\"a\":1}"), UNKNOWN);
	begin();
	cond(COND_EXISTS, "a", NULL);
	cond(COND_EXISTS, "a", NULL);
	assert_int_equal(asked("{\"a\":1}"), UNKNOWN);
}

/* More members than are looked at: no answer, and soon. */
static void
many_members(void **state)
{
	size_t cap = 64 * 3000, n;
	char *json = malloc(cap);
	int i, k;

	for (k = 0; k < 2; k++) {
		n = (size_t)snprintf(json, cap, "{\"a\":1");
		for (i = 0; i < (k == 0 ? 1000 : 2000); i++)
			n += (size_t)snprintf(json + n, cap - n, ",\"m%d\":[%d]", i, i);
		snprintf(json + n, cap - n, "}");
		begin();
		cond(COND_EQ, "a", "1");
		assert_int_equal(asked(json), k == 0 ? YES : UNKNOWN);
	}
	free(json);
}

static void
corpus_replays(void **state)
{
	assert_true(corpus_each("tests/fuzz/corpus/condition", corpus_input) >= 10);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(json_or_not),
	    cmocka_unit_test(json_test_suite),
	    cmocka_unit_test(numbers),
	    cmocka_unit_test(numbers_against_integers),
	    cmocka_unit_test(one_comparison),
	    cmocka_unit_test(relative_paths),
	    cmocka_unit_test(three_values),
	    cmocka_unit_test(odd_programs),
	    cmocka_unit_test(many_members),
	    cmocka_unit_test(corpus_replays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
