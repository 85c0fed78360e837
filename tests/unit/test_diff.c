/*
 * diff against brute force: random pairs of policies, every member of a small
 * universe asked of both matchers.  A member whose verdict changed must be told,
 * with its verdicts; what is told must be so for its witness.  The seed is fixed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "policy/base/source.h"
#include "policy/compile/compile.h"
#include "policy/diff/diff.h"
#include "policy/sealed/policy.h"
#include "shim/base/array.h"
#include "shim/base/buf.h"

#define LEN(a) (ARRAY_LEN(a))

static uint64_t seed = 4;

static uint32_t
roll(uint32_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(seed >> 33) % n;
}

struct side {
	char text[4096];
	struct buf bytes;
	struct policy p;
};

static const char *const verdicts[] = {"allow", "ask", "deny"};
static const char *const globs[] = {"a*", "*b", "ab", "b", "*a*", "a*b", "c"};
static const char *const conds[] = {"args.n < 3", "args.n >= 2.5", "args.s == \"x\"",
    "args.s in [\"x\", \"y\"]", "args.s matches x*", "not args.s == \"y\"",
    "args.s under \"/srv\"", "args.s under /tmp relative", "args.s under /tmp/a relative",
    "args.n == 3 and args.s == \"x\"", "args.n > 3 or args.s != \"x\"",
    "args.a[0] == true"};
static const char *const argvs[] = {
    "x **", "x", "**", "* y", "x|y *", "x* **", "\"\"", "x y", "* * y"};
static const char *const hosts[] = {"a.example.com:443", "*.example.com:443",
    "b.a.example.com:80", "10.0.0.0/8:443", "10.1.0.0/16:440-450", "*.a.example.com:1-9"};
static const char *const paths[] = {
    "/usr/share", "/usr/share/doc", "/var/tmp", "/usr/share/doc/x", "/var/tmp/a/b"};

static void
grant(FILE *f)
{
	static const char *const words[] = {"hide", "read", "hide"};
	const char *v = verdicts[roll(3)];

	switch (roll(5)) {
	case 0:
		(void)fprintf(f, "\ttool %s %s when %s\n", v, globs[roll(LEN(globs))],
		    conds[roll(LEN(conds))]);
		break;
	case 1:
		(void)fprintf(f, "\ttool %s %s\n", v, globs[roll(LEN(globs))]);
		break;
	case 2:
		(void)fprintf(
		    f, "\texec %s /usr/bin/env %s\n", v, argvs[roll(LEN(argvs))]);
		break;
	case 3:
		(void)fprintf(f, "\tnet %s %s\n", v, hosts[roll(LEN(hosts))]);
		break;
	default:
		(void)fprintf(
		    f, "\t%s %s { optional }\n", words[roll(3)], paths[roll(LEN(paths))]);
	}
}

static void
random_side(struct side *s)
{
	FILE *f = fmemopen(s->text, sizeof(s->text), "w");
	uint32_t n = 1 + roll(6);
	char why[200];
	struct policy_source source = {.path = "random"};

	assert_non_null(f);
	(void)fprintf(f, "server s {\n\trun /bin/sh -c true\n\tcwd /tmp%s\n",
	    roll(2) == 0 ? "/a" : "");
	while (n-- > 0)
		grant(f);
	(void)fputs("}\n", f);
	assert_int_equal(fclose(f), 0);
	source.text = s->text;
	source.len = strlen(s->text);
	buf_init(&s->bytes, SEALED_LEN_MAX);
	if (policy_compile(&source, 1, NULL, &s->bytes, NULL) != 0) {
		/* contradictions are errors: another one */
		buf_free(&s->bytes);
		random_side(s);
		return;
	}
	assert_int_equal(
	    policy_load_bytes(s->bytes.data, s->bytes.len, &s->p, why, sizeof(why)), 0);
}

/* ---- one by one -------------------------------------------------------------------- */

static void
must_be_told(const struct diff *d, const struct side *s, const char *domain,
    enum sealed_verdict from, enum sealed_verdict to, const char *what)
{
	size_t i;

	if (from == to)
		return;
	for (i = 0; i < d->found_n; i++)
		if (strcmp(d->found[i].domain, domain) == 0 && d->found[i].from != NULL &&
		    strcmp(d->found[i].from, policy_verdict_name(from)) == 0 &&
		    strcmp(d->found[i].to, policy_verdict_name(to)) == 0)
			return;
	fail_msg("%s %s: %s -> %s is not told\n%s%s", domain, what,
	    policy_verdict_name(from), policy_verdict_name(to), s[0].text, s[1].text);
}

static const char *const names[] = {"a", "b", "ab", "aab", "abb", "ba", "c", "ca", "d"};
static const char *const documents[] = {"{}", "{\"n\":2}", "{\"n\":2.5}", "{\"n\":2.75}",
    "{\"n\":3}", "{\"n\":4}", "{\"n\":\"3\"}", "{\"s\":\"x\"}", "{\"s\":\"y\"}",
    "{\"s\":\"xz\"}", "{\"s\":\"/srv\"}", "{\"s\":\"/srv/a\"}", "{\"s\":\"/srv/../x\"}",
    "{\"s\":\"\"}", "{\"s\":\"a\"}", "{\"s\":\"a/b\"}", "{\"s\":\"b\"}",
    "{\"s\":\"~/b\"}", "{\"s\":\"/tmp/a/b\"}", "{\"s\":null}", "{\"n\":3,\"s\":\"x\"}",
    "{\"n\":4,\"s\":\"y\"}", "{\"a\":[true]}", "{\"a\":[]}", "{\"a\":[false],\"n\":3}",
    "{\"a\":true,\"s\":\"x\"}"};

static enum sealed_verdict
gate(const struct side *s, const char *name, size_t len, const char *args)
{
	struct policy_gate_ask ask = {.kind = GATE_TOOL,
	    .name = name,
	    .name_len = len,
	    .args = args,
	    .args_len = strlen(args)};

	return policy_match_gate(&s->p, s->p.server, &ask).verdict;
}

static void
every_tool(const struct diff *d, const struct side *s)
{
	size_t i, k;

	for (i = 0; i < LEN(names); i++)
		for (k = 0; k < LEN(documents); k++)
			must_be_told(d, s, "tool",
			    gate(&s[0], names[i], strlen(names[i]), documents[k]),
			    gate(&s[1], names[i], strlen(names[i]), documents[k]),
			    documents[k]);
}

static enum sealed_verdict
start(const struct side *s, const char *const *argv, size_t n)
{
	struct policy_exec_ask ask = {
	    .asked = SEALED_NONE, .argv = {argv, n}, .caller = SEALED_NONE};
	uint32_t i;

	for (i = 0; i < s->p.row_n[SEALED_IMAGES]; i++)
		if (strcmp(policy_str(&s->p, s->p.image[i].path), "/usr/bin/env") == 0)
			ask.asked = i;
	return policy_match_exec_call(&s->p, s->p.server, &ask).verdict;
}

static void
every_program(const struct diff *d, const struct side *s)
{
	static const char *const words[] = {"", "x", "y", "xx", "z"};
	const char *argv[4] = {"/usr/bin/env"};
	size_t i, n, k;

	for (n = 0; n <= 3; n++)
		for (i = 0; i < 125; i++) {
			for (k = 0; k < n; k++)
				argv[k + 1] = words[i /
						    (k == 0      ? 1
							: k == 1 ? 5
								 : 25) %
						    5];
			must_be_told(d, s, "exec", start(&s[0], argv, n + 1),
			    start(&s[1], argv, n + 1), argv[1] != NULL ? argv[1] : "");
		}
}

static enum sealed_verdict
reach(const struct side *s, const char *host, uint32_t port)
{
	struct policy_net_ask ask = {host, strlen(host), port};

	return policy_match_net(&s->p, s->p.server, &ask).verdict;
}

static void
every_host(const struct diff *d, const struct side *s)
{
	static const char *const all[] = {"a.example.com", "b.a.example.com",
	    "c.b.a.example.com", "example.com", "x.example.com", "10.1.2.3", "10.2.0.1",
	    "11.0.0.1", "::1", "ample.com"};
	static const uint32_t ports[] = {1, 9, 10, 80, 443, 440, 450, 451, 65535};
	size_t i, k;

	for (i = 0; i < LEN(all); i++)
		for (k = 0; k < LEN(ports); k++)
			must_be_told(d, s, "net", reach(&s[0], all[i], ports[k]),
			    reach(&s[1], all[i], ports[k]), all[i]);
}

static enum sealed_verdict
look(const struct side *s, const char *path, enum sealed_mount_right right)
{
	return policy_match_path(&s->p, s->p.server, path, right).verdict;
}

static void
every_path(const struct diff *d, const struct side *s)
{
	static const char *const all[] = {"/usr/share", "/usr/share/x", "/usr/share/doc",
	    "/usr/share/doc/x", "/usr/share/doc/x/y", "/usr/share/doc/y", "/var/tmp",
	    "/var/tmp/a", "/var/tmp/a/b", "/var/tmp/a/b/c", "/var/tmp/z", "/srv", "/"};
	size_t i;

	for (i = 0; i < LEN(all); i++)
		must_be_told(d, s, "read", look(&s[0], all[i], RIGHT_READ),
		    look(&s[1], all[i], RIGHT_READ), all[i]);
}

/* ---- what is told ---------------------------------------------------------------------- */

/* A tool's witness: a name, and arguments behind a space. */
static void
witness_is_so(const struct side *s, const struct finding *f)
{
	const char *space, *args;
	size_t len;

	if (strcmp(f->domain, "tool") != 0 || f->witness[0] == '"')
		return;
	space = strchr(f->witness, ' ');
	len = space == NULL ? strlen(f->witness) : (size_t)(space - f->witness);
	args = space == NULL ? "{}" : space + 1;
	assert_string_equal(
	    f->from, policy_verdict_name(gate(&s[0], f->witness, len, args)));
	assert_string_equal(
	    f->to, policy_verdict_name(gate(&s[1], f->witness, len, args)));
}

static void
diff_of(struct diff *d, const struct side *s)
{
	memset(d, 0, sizeof(*d));
	d->p[0] = &s[0].p;
	d->p[1] = &s[1].p;
	d->s[0] = s[0].p.server;
	d->s[1] = s[1].p.server;
	assert_int_equal(diff_exec(d), 0);
	assert_int_equal(diff_nets(d), 0);
	assert_int_equal(diff_paths(d), 0);
	assert_int_equal(diff_gates(d), 0);
	assert_false(d->beyond);
}

static void
what_changed_is_told_and_what_is_told_has_changed(void **state)
{
	static struct side s[2];
	struct diff d;
	size_t i;
	int round;

	for (round = 0; round < 40; round++) {
		random_side(&s[0]);
		random_side(&s[1]);
		diff_of(&d, s);
		every_tool(&d, s);
		every_program(&d, s);
		every_host(&d, s);
		every_path(&d, s);
		for (i = 0; i < d.found_n; i++)
			witness_is_so(s, &d.found[i]);
		diff_free(&d);
		buf_free(&s[0].bytes);
		buf_free(&s[1].bytes);
	}
}

static void
nothing_differs_from_itself(void **state)
{
	static struct side s[2];
	struct diff d;
	int round;

	for (round = 0; round < 10; round++) {
		random_side(&s[0]);
		s[1] = s[0];
		diff_of(&d, s);
		assert_int_equal(d.found_n, 0);
		diff_free(&d);
		buf_free(&s[0].bytes);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_changed_is_told_and_what_is_told_has_changed),
	    cmocka_unit_test(nothing_differs_from_itself),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
