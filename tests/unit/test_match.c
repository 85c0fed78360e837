/*
 * The matcher: tables of questions and answers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "policy/sealed/policy.h"
#include "shim/base/array.h"
#include "tests/unit/ask.h"
#include "tests/unit/policy_fixture.h"

enum { BUSY, SH, DASH, GIT, TOOL, IMAGE_N }; /* as the sealer sorts them */

static struct buf bytes;
static struct policy p;
static const struct sealed_server *server;

/* What the policy of this test grants: patterns as the language writes them. */
static const struct {
	uint32_t asked, mapped;
	enum sealed_verdict verdict;
	const char *args[4];   /* "**" "*" "a*b" "a|b" or a literal */
	const char *prefix[4]; /* of a script */
} grants[] = {
    {SH, SH, VERDICT_ALLOW, {"-c", "true"}},
    {BUSY, BUSY, VERDICT_ALLOW, {"*"}},
    {TOOL, SH, VERDICT_ALLOW, {"go", "**"}, {"/bin/sh", "-e", "/usr/bin/tool"}},
    {GIT, GIT, VERDICT_ALLOW, {"log|diff", "**"}},
    {GIT, GIT, VERDICT_ALLOW, {"push", "**"}},
    {GIT, GIT, VERDICT_ASK, {"push", "origin", "**"}},
    {GIT, GIT, VERDICT_DENY, {"push", "*", "ma*n"}},
    {GIT, GIT, VERDICT_ALLOW, {"show", "rel*-*"}},
    {GIT, GIT, VERDICT_ALLOW, {NULL}},
    {DASH, DASH, VERDICT_ASK, {"-c", "true"}},
};

static void
add_arg(struct sealer *s, const char *text, bool literal)
{
	enum sealed_arg_kind kind = ARG_LITERAL;

	if (!literal && strcmp(text, "**") == 0)
		kind = ARG_REST;
	else if (!literal && strcmp(text, "*") == 0)
		kind = ARG_ANY;
	else if (!literal && strchr(text, '*') != NULL)
		kind = ARG_GLOB;
	else if (!literal && strchr(text, '|') != NULL)
		kind = ARG_CHOICE;
	(void)fix_arg(s, kind, kind == ARG_REST || kind == ARG_ANY ? "" : text);
}

static void
add_gates(struct sealer *s, struct sealed_server *row)
{
	static const struct {
		const char *name;
		enum sealed_gate_kind kind;
		enum sealed_verdict verdict;
	} gates[] = {
	    {"read_*", GATE_TOOL, VERDICT_ALLOW},
	    {"*_file", GATE_TOOL, VERDICT_ASK},
	    {"delete_*", GATE_TOOL, VERDICT_DENY},
	    {"*", GATE_PROMPT, VERDICT_ALLOW},
	    {"file:///srv/*", GATE_RESOURCE, VERDICT_ALLOW},
	    {"file:///srv/private/*", GATE_RESOURCE, VERDICT_DENY},
	    {"file:///srv/caf\xc3\xa9", GATE_RESOURCE, VERDICT_DENY},
	    {"file:///srv/b%40x", GATE_RESOURCE, VERDICT_DENY},
	    {"mem://*", GATE_RESOURCE, VERDICT_ALLOW},
	    {"mem://asked/*", GATE_RESOURCE, VERDICT_ASK},
	};
	struct sealed_gate g;
	size_t i;

	row->gates.first = sealer_rows(s, SEALED_GATES);
	for (i = 0; i < ARRAY_LEN(gates); i++) {
		g = (struct sealed_gate){.name = fix_str(s, gates[i].name),
		    .at = row->at,
		    .kind = gates[i].kind,
		    .exception = SEALED_NONE,
		    .verdict = gates[i].verdict};
		(void)sealer_row(s, SEALED_GATES, &g, sizeof(g));
		row->gates.n++;
	}
}

static void
add_exec(struct sealer *s, struct sealed_at at, size_t g, uint32_t flags)
{
	uint32_t args_n = 0, prefix_n = 0;

	while (args_n < 4 && grants[g].args[args_n] != NULL)
		add_arg(s, grants[g].args[args_n++], false);
	while (prefix_n < 4 && grants[g].prefix[prefix_n] != NULL)
		add_arg(s, grants[g].prefix[prefix_n++], true);
	(void)fix_exec(s, at, grants[g].asked, grants[g].mapped, args_n, prefix_n,
	    grants[g].verdict, flags);
}

static int
group_setup(void **state)
{
	struct sealed_at at = {0, 1};
	struct sealed_server row = {.at = at};
	struct sealer *s = sealer_new();
	struct sealed_ref file;
	char why[200];
	size_t g;

	assert_non_null(s);
	buf_init(&bytes, SEALED_LEN_MAX);
	file = fix_str(s, "t.kennel");
	(void)sealer_row(s, SEALED_FILES, &file, sizeof(file));
	row.name = fix_str(s, "m");
	row.cwd = fix_str(s, "/tmp");
	row.filters = fix_filter(s);
	row.images.n = IMAGE_N;
	(void)fix_image(s, at, "/bin/busybox", "/bin/busybox");
	(void)fix_image(s, at, "/bin/sh", "/usr/bin/dash");
	(void)fix_image(s, at, "/usr/bin/dash", "/usr/bin/dash");
	(void)fix_image(s, at, "/usr/bin/git", "/usr/bin/git");
	(void)fix_image(s, at, "/usr/bin/tool", "/usr/bin/tool");
	for (g = 0; g < ARRAY_LEN(grants); g++)
		add_exec(s, at, g, g == 0 ? EXEC_FROM_RUN : 0);
	row.execs.n = (uint32_t)g;
	add_gates(s, &row);
	(void)sealer_row(s, SEALED_SERVERS, &row, sizeof(row));
	assert_int_equal(sealer_finish(s, &bytes), 0);
	sealer_free(s);
	assert_int_equal(
	    policy_load_bytes(bytes.data, bytes.len, &p, why, sizeof(why)), 0);
	server = policy_server(&p, "m");
	return server == NULL;
}

static int
group_teardown(void **state)
{
	buf_free(&bytes);
	return 0;
}

static struct policy_argv
argv_of(const char *const v[])
{
	struct policy_argv a = {.v = v};

	while (v[a.n] != NULL)
		a.n++;
	return a;
}

/* S4-19 S4-20 S4-24 K-07: what is written is what is granted, the rest is not */
static void
exec_call(void **state)
{
	static const struct {
		uint32_t asked;
		const char *argv[8];
		int verdict;
		int row; /* of grants, -1: none */
	} asks[] = {
	    {SH, {"sh", "-c", "true"}, VERDICT_ALLOW, 0},
	    {SH, {"/any/where/sh", "-c", "true"}, VERDICT_ALLOW, 0},
	    {SH, {"sh", "-c", "true", "x"}, VERDICT_DENY, -1},
	    {SH, {"sh", "-c"}, VERDICT_DENY, -1},
	    {SH, {"sh"}, VERDICT_DENY, -1},
	    {SH, {"sh", "-c", "true; id"}, VERDICT_DENY, -1},
	    {SH, {"sh", "-c", "tru"}, VERDICT_DENY, -1},
	    {SH, {NULL}, VERDICT_DENY, -1}, /* argc 0 */
	    {SH, {"", "-c", "true"}, VERDICT_DENY, -1},
	    {SH, {"bash", "-c", "true"}, VERDICT_DENY, -1},
	    {SH, {"sh/", "-c", "true"}, VERDICT_DENY, -1},
	    /* one file under two names: each name has its own grant */
	    {SH, {"dash", "-c", "true"}, VERDICT_ASK, 9},
	    {DASH, {"sh", "-c", "true"}, VERDICT_ALLOW, 0},
	    {BUSY, {"busybox", "ls"}, VERDICT_ALLOW, 1},
	    {BUSY, {"busybox", ""}, VERDICT_ALLOW, 1},
	    {BUSY, {"busybox"}, VERDICT_DENY, -1},
	    {BUSY, {"busybox", "a", "b"}, VERDICT_DENY, -1},
	    {BUSY, {"sh", "x"}, VERDICT_DENY, -1}, /* another applet */
	    {TOOL, {"tool", "go"}, VERDICT_ALLOW, 2},
	    {TOOL, {"tool", "go", "a", "b", "c"}, VERDICT_ALLOW, 2},
	    {TOOL, {"tool", "stop"}, VERDICT_DENY, -1},
	    {TOOL, {"sh", "-e", "/usr/bin/tool", "go"}, VERDICT_DENY, -1},
	    {GIT, {"git"}, VERDICT_ALLOW, 8},
	    {GIT, {"git", "log"}, VERDICT_ALLOW, 3},
	    {GIT, {"git", "diff", "--stat"}, VERDICT_ALLOW, 3},
	    {GIT, {"git", "log|diff"}, VERDICT_DENY, -1},
	    {GIT, {"git", "lo"}, VERDICT_DENY, -1},
	    {GIT, {"git", "logdiff"}, VERDICT_DENY, -1},
	    {GIT, {"git", "push"}, VERDICT_ALLOW, 4},
	    {GIT, {"git", "push", "elsewhere"}, VERDICT_ALLOW, 4},
	    {GIT, {"git", "push", "origin"}, VERDICT_ASK, 5},
	    {GIT, {"git", "push", "origin", "main"}, VERDICT_DENY, 6},
	    /* a deny needs no name */
	    {GIT, {"anything", "push", "x", "main"}, VERDICT_DENY, 6},
	    {GIT, {"git", "push", "x", "main", "y"}, VERDICT_ALLOW, 4},
	    {GIT, {"git", "show", "rel1-2"}, VERDICT_ALLOW, 7},
	    {GIT, {"git", "show", "rel12"}, VERDICT_DENY, -1},
	    {GIT, {"git", "show", "rel-", "x"}, VERDICT_DENY, -1},
	    {IMAGE_N, {"git"}, VERDICT_DENY, -1},
	    {UINT32_MAX, {"git"}, VERDICT_DENY, -1},
	};
	struct policy_answer a;
	int row;

	for (size_t i = 0; i < ARRAY_LEN(asks); i++) {
		a = ask_exec(&p, server, asks[i].asked, argv_of(asks[i].argv));
		row = a.exec == NULL ? -1 : (int)(a.exec - p.exec);
		if ((int)a.verdict != asks[i].verdict || row != asks[i].row)
			fail_msg("ask %zu: verdict %d, row %d", i, a.verdict, row);
	}
}

/* The process as the kernel made it, against the row that let it through. */
static void
exec_stop(void **state)
{
	static const struct {
		int row;
		uint32_t mapped;
		const char *argv[8];
		bool yes;
	} stops[] = {
	    {0, SH, {"sh", "-c", "true"}, true},
	    {0, DASH, {"sh", "-c", "true"}, true}, /* the same file */
	    {0, GIT, {"sh", "-c", "true"}, false},
	    {0, SH, {"sh", "-c", "false"}, false}, /* rewritten after the call */
	    {0, SH, {"dash", "-c", "true"}, false}, {0, SH, {NULL}, false},
	    {0, IMAGE_N, {"sh", "-c", "true"}, false},
	    {2, SH, {"/bin/sh", "-e", "/usr/bin/tool", "go", "x"}, true},
	    {2, SH, {"/bin/sh", "-e", "/usr/bin/tool", "go"}, true},
	    {2, SH, {"/bin/sh", "-e", "/usr/bin/tool"}, false},
	    {2, SH, {"/bin/sh", "-e"}, false},
	    {2, SH, {"/bin/sh", "/usr/bin/tool", "go"}, false},
	    {2, SH, {"/bin/sh", "-e", "/tmp/tool", "go"}, false},
	    {2, SH, {"sh", "-e", "/usr/bin/tool", "go"}, false},
	    {2, TOOL, {"/bin/sh", "-e", "/usr/bin/tool", "go"}, false},
	    {2, TOOL, {"tool", "go"}, false},
	    {6, GIT, {"git", "push", "x", "main"}, false}, /* denied is never granted */
	};
	size_t i;

	for (i = 0; i < ARRAY_LEN(stops); i++)
		if (policy_match_exec_stop(&p, &p.exec[stops[i].row], stops[i].mapped,
			argv_of(stops[i].argv)) != stops[i].yes)
			fail_msg("stop %zu", i);
}

/* Deny before ask before allow; unmentioned is denied. */
static void
gates(void **state)
{
	static const struct {
		enum sealed_gate_kind kind;
		const char *name;
		int verdict;
	} asks[] = {
	    {GATE_TOOL, "read_dir", VERDICT_ALLOW},
	    {GATE_TOOL, "read_", VERDICT_ALLOW},
	    {GATE_TOOL, "read", VERDICT_DENY},
	    {GATE_TOOL, "Read_dir", VERDICT_DENY},
	    {GATE_TOOL, "read_file", VERDICT_ASK},
	    {GATE_TOOL, "delete_file", VERDICT_DENY},
	    {GATE_TOOL, "", VERDICT_DENY},
	    {GATE_PROMPT, "", VERDICT_ALLOW},
	    {GATE_PROMPT, "read_dir", VERDICT_ALLOW},
	    {GATE_RESOURCE, "read_dir", VERDICT_DENY},
	    {GATE_RESOURCE, "file:///srv/x", VERDICT_ALLOW},
	    {GATE_RESOURCE, "file:///srv", VERDICT_DENY},
	};
	size_t i;

	for (i = 0; i < ARRAY_LEN(asks); i++)
		if ((int)ask_gate(
			&p, server, asks[i].kind, asks[i].name, strlen(asks[i].name))
			.verdict != asks[i].verdict)
			fail_msg("gate %zu", i);
	/* bytes, not a C string: a NUL hides nothing */
	assert_int_equal(
	    ask_gate(&p, server, GATE_TOOL, "delete_x\0read_file", 18).verdict,
	    VERDICT_DENY);
	assert_int_equal(
	    ask_gate(&p, server, GATE_TOOL, "x\0read_dir", 10).verdict, VERDICT_DENY);
}

/* MCP-ATTACKS: what a server resolves to another resource meets no allow. */
static const struct {
	const char *uri;
	int verdict;
	bool named; /* a deny row decides */
} resources[] = {
    /* the control: each of them in normal form */
    {"file:///srv/pub/x", VERDICT_ALLOW, false},
    {"file:///srv/private/x", VERDICT_DENY, true},
    {"file:///srv/a%20b", VERDICT_ALLOW, false},
    {"file:///srv/a..b/...", VERDICT_ALLOW, false},
    {"file:///srv/x?y=1#z", VERDICT_ALLOW, false},
    {"file:///srv/", VERDICT_ALLOW, false},
    {"mem://", VERDICT_ALLOW, false},
    {"mem://user@host:1/{id}", VERDICT_ALLOW, false},
    {"mem:///a", VERDICT_ALLOW, false},
    {"mem://asked/x", VERDICT_ASK, false},
    /* other ways to write the denied one */
    {"file:///srv/pub/../private/x", VERDICT_DENY, true},
    {"file:///srv/./private/x", VERDICT_DENY, true},
    {"file:///srv//private/x", VERDICT_DENY, true},
    {"file:///srv/%70rivate/x", VERDICT_DENY, true},
    {"file:///srv/private%2fx", VERDICT_DENY, true},
    {"file:///srv/private%2Fx", VERDICT_DENY, true},
    {"file:///srv/pub\\..\\private\\x", VERDICT_DENY, true},
    {"file:///srv/pub/%2e%2e/private/x", VERDICT_DENY, true},
    {"file:///srv/pub/%252e%252e/private/x", VERDICT_DENY, true},
    {"file:///srv/x/..", VERDICT_DENY, true},
    {"file:///srv/x/..?a", VERDICT_DENY, true},
    {"file:///srv/x?/../private/x", VERDICT_DENY, true},
    {"file:////srv/private/x", VERDICT_DENY, true},
    {"FILE:///srv/private/x", VERDICT_DENY, true},
    {"file:/srv/private/x", VERDICT_DENY, true},
    {"file://localhost/srv/private/x", VERDICT_DENY, true},
    {"file:///srv/priv\tate/x", VERDICT_DENY, true},
    {"file:///srv/private/x%00", VERDICT_DENY, true},
    {"file:///srv/x%", VERDICT_DENY, true},
    {" file:///srv/x", VERDICT_DENY, true},
    {"mem://asked/../x", VERDICT_DENY, true},
    {"..", VERDICT_DENY, true},
    /* parameters of a path, which some servers drop before they resolve it */
    {"file:///srv/pub/..;/private/x", VERDICT_DENY, true},
    {"file:///srv/pub/..;a=b/private/x", VERDICT_DENY, true},
    {"file:///srv/pub/..%3B/private/x", VERDICT_DENY, true},
    {"file:///srv/pub/..%3ba/private/x", VERDICT_DENY, true},
    {"file:///srv/.;/private/x", VERDICT_DENY, true},
    {"file:///srv/;/private/x", VERDICT_DENY, true},
    {"file:///srv/;a/private/x", VERDICT_DENY, true},
    {"file:///srv/private;a/x", VERDICT_DENY, true},
    {"file:///srv/private;/x", VERDICT_DENY, true},
    {"file:///srv/private%3ba/x", VERDICT_DENY, true},
    {"file:///srv;a/private/x", VERDICT_DENY, true},
    {"file:///srv/pub;a/x", VERDICT_ALLOW, false},
    {"file:///srv/pub/x;type=a", VERDICT_ALLOW, false},
    {"file:///srv/pub/private;a", VERDICT_ALLOW, false},
    {"mem:text/plain;base64,aaaa", VERDICT_DENY, false},
    {"mem:;base64,aaaa", VERDICT_DENY, false},
    /* blanks at the end of a segment, as Windows drops them */
    {"file:///srv/pub/.. /private/x", VERDICT_DENY, true},
    {"file:///srv/pub/..%20/private/x", VERDICT_DENY, true},
    {"file:///srv/pub/. ;a/private/x", VERDICT_DENY, true},
    {"file:///srv/pub/ .x/y", VERDICT_ALLOW, false},
    {"file:///srv/pub/.. x/y", VERDICT_ALLOW, false},
    /* not UTF-8: overlong forms, halves of pairs, cut characters, Latin-1 */
    {"file:///srv/pub/%C0%AE%C0%AE/private/x", VERDICT_DENY, true},
    {"file:///srv/pub/%E0%80%AE%E0%80%AE/private/x", VERDICT_DENY, true},
    {"file:///srv/pub/%F0%80%80%AF/x", VERDICT_DENY, true},
    {"file:///srv/pub/..%C0%AFprivate/x", VERDICT_DENY, true},
    {"file:///srv/pub/%ED%A0%80x", VERDICT_DENY, true},
    {"file:///srv/pub/%F4%90%80%80", VERDICT_DENY, true},
    {"file:///srv/pub/%C3", VERDICT_DENY, true},
    {"file:///srv/pub/%C3/x", VERDICT_DENY, true},
    {"file:///srv/pub/caf%E9", VERDICT_DENY, true},
    {"file:///srv/pub/\xc3%A9", VERDICT_ALLOW, false},
    {"file:///srv/pub/%C3%A9\xc3\xa9", VERDICT_ALLOW, false},
    {"file:///srv/pub/%F0%9F%98%80", VERDICT_ALLOW, false},
    /* slashes and dots that a compatibility form makes ASCII's */
    {"file:///srv/pub/..\xe2\x88\x95private\xe2\x88\x95x", VERDICT_DENY, true},
    {"file:///srv/pub/..%E2%88%95private", VERDICT_DENY, true},
    {"file:///srv/pub\xef\xbc\x8fx", VERDICT_DENY, true},
    {"file:///srv/pub\xe2\x81\x84x", VERDICT_DENY, true},
    {"file:///srv/pub\xe2\xa7\xb8x", VERDICT_DENY, true},
    {"file:///srv/pub\xef\xbc\xbcx", VERDICT_DENY, true},
    {"file:///srv/pub\xef\xb9\xa8x", VERDICT_DENY, true},
    {"file:///srv/pub/\xe2\x80\xa5/private/x", VERDICT_DENY, true},
    {"file:///srv/pub/\xef\xbc\x8e./private/x", VERDICT_DENY, true},
    {"file:///srv/pub/%EF%BC%8E\xe2\x80\xa4/private/x", VERDICT_DENY, true},
    {"file:///srv/pub/1\xef\xbc\x8e.txt", VERDICT_ALLOW, false},
    /* a deny means what it decodes to, on either side */
    {"file:///srv/caf\xc3\xa9", VERDICT_DENY, true},
    {"file:///srv/caf%C3%A9", VERDICT_DENY, true},
    {"file:///srv/caf%c3%a9", VERDICT_DENY, true},
    {"file:///srv/b%40x", VERDICT_DENY, true},
    {"file:///srv/b@x", VERDICT_DENY, true},
    {"file:///srv/b@y", VERDICT_ALLOW, false},
    {"", VERDICT_DENY, false},
};

static void
odd_resources(void **state)
{
	struct policy_answer a;
	size_t i;

	for (i = 0; i < ARRAY_LEN(resources); i++) {
		a = ask_gate(&p, server, GATE_RESOURCE, resources[i].uri,
		    strlen(resources[i].uri));
		if ((int)a.verdict != resources[i].verdict ||
		    (a.gate != NULL && a.gate->verdict == VERDICT_DENY) !=
			resources[i].named)
			fail_msg("%s: %d", resources[i].uri, (int)a.verdict);
	}
	/* a tool of such a name is a name */
	assert_int_equal(
	    ask_gate(&p, server, GATE_TOOL, "read_../%70", 11).verdict, VERDICT_ALLOW);
}

static bool
glob(const char *pattern, const char *text)
{
	return policy_glob(pattern, strlen(pattern), text, strlen(text));
}

static void
globs(void **state)
{
	char many[2001];

	assert_true(glob("", ""));
	assert_false(glob("", "a"));
	assert_true(glob("*", ""));
	assert_true(glob("**", "abc"));
	assert_true(glob("a*c", "abbbc"));
	assert_true(glob("a*c", "ac"));
	assert_false(glob("a*c", "acb"));
	assert_true(glob("*b*", "abc"));
	assert_true(glob("a*b*c", "axbxbxc"));
	assert_false(glob("a*b*c", "axcxb"));
	assert_true(glob("a?[x]", "a?[x]"));
	assert_false(glob("a?[x]", "abx"));
	/* quadratic at worst, never exponential */
	memset(many, 'a', 2000);
	many[2000] = 0;
	assert_false(glob("*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b", many));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(exec_call),
	    cmocka_unit_test(exec_stop),
	    cmocka_unit_test(gates),
	    cmocka_unit_test(odd_resources),
	    cmocka_unit_test(globs),
	};

	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
