/*
 * What a server of the registry may start with: what its policy grants, and nothing that
 * its row says.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "policy/compile/compile.h"
#include "shim/base/array.h"
#include "supervisor/hub/argv_authority.h"

static const char text[] = "server s {\n"
			   "    run /bin/cat \"-u\" \"; rm -rf /\"\n"
			   "    exec allow /bin/echo good **\n"
			   "    exec deny /bin/echo good evil\n"
			   "    exec ask /bin/ls **\n"
			   "    exec allow /bin/true from /bin/sh\n"
			   "    exec allow /bin/sh -c true\n"
			   "}\n"
			   "server other {\n"
			   "    run /bin/date\n"
			   "}\n";

static struct buf bytes;
static struct policy p;
static const struct sealed_server *server;

static int
setup(void **state)
{
	const struct policy_source source = {
	    "t.kennel", text, sizeof(text) - 1, &policy_files};
	char why[256];

	buf_init(&bytes, SEALED_LEN_MAX);
	assert_int_equal(policy_compile(&source, 1, NULL, &bytes, stderr), 0);
	assert_int_equal(
	    policy_load_bytes(bytes.data, bytes.len, &p, why, sizeof(why)), 0);
	server = policy_server(&p, "s");
	assert_non_null(server);
	return 0;
}

static int
teardown(void **state)
{
	policy_unload(&p);
	buf_free(&bytes);
	return 0;
}

/* S4-22 S4-23 S4-25 C38: `run` is the declared default, `exec` the caveats. */
static void
judged(void **state)
{
	static const struct {
		const char *argv[4];
		enum argv_authority is;
		const char *program;
	} rows[] = {
	    /* the declared default: `run`, as it is, and as it resolves */
	    {{"/bin/cat", "-u", "; rm -rf /"}, ARGV_RUN, "/bin/cat"},
	    {{"/bin/cat", "-u"}, ARGV_DENIED, NULL},
	    {{"/bin/cat", "-u", "; rm -rf /", "more"}, ARGV_DENIED, NULL},
	    {{"/bin/cat", "-u", "&& id"}, ARGV_DENIED, NULL},
	    /* a caveat: `exec allow`; a deny beats it */
	    {{"/bin/echo", "good", "x", "$(id)"}, ARGV_GRANTED, "/bin/echo"},
	    {{"/bin/echo", "good"}, ARGV_GRANTED, "/bin/echo"},
	    {{"/bin/echo", "bad"}, ARGV_DENIED, NULL},
	    {{"/bin/echo", "good", "evil"}, ARGV_DENIED, NULL},
	    {{"/bin/ls", "/"}, ARGV_ASKS, "/bin/ls"},
	    /* a base name is the one granted program of that name; PATH is not searched */
	    {{"echo", "good", "x"}, ARGV_GRANTED, "/bin/echo"},
	    {{"echo", "bad"}, ARGV_DENIED, NULL},
	    {{"ls"}, ARGV_ASKS, "/bin/ls"},
	    {{"id"}, ARGV_DENIED, NULL},
	    /* not granted at all, or to another server, or only to a program of the cell */
	    {{"/usr/bin/id"}, ARGV_DENIED, NULL},
	    {{"/bin/date"}, ARGV_DENIED, NULL},
	    {{"/bin/true"}, ARGV_DENIED, NULL},
	    {{"./cat", "-u", "; rm -rf /"}, ARGV_DENIED, NULL},
	    {{"/tmp/echo", "good"}, ARGV_DENIED, NULL},
	    {{""}, ARGV_DENIED, NULL},
	    {{NULL}, ARGV_DENIED, NULL},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *program = NULL;
		size_t n = 0;

		while (n < 4 && rows[i].argv[n] != NULL)
			n++;
		if (argv_authority(&p, server, rows[i].argv, n, &program) != rows[i].is)
			fail_msg("row %zu", i);
		if (rows[i].program != NULL)
			assert_string_equal(program, rows[i].program);
	}
}

/* A second server's policy may grant what the first one's does not. */
static void
another_policy(void **state)
{
	const char *const argv[] = {"/bin/date"};
	const char *program = NULL;

	assert_int_equal(argv_authority(&p, server, argv, 1, &program), ARGV_DENIED);
	assert_int_equal(
	    argv_authority(&p, policy_server(&p, "other"), argv, 1, &program), ARGV_RUN);
}

int
main(void)
{
	const struct CMUnitTest all[] = {
	    cmocka_unit_test(judged),
	    cmocka_unit_test(another_policy),
	};

	return cmocka_run_group_tests(all, setup, teardown);
}
