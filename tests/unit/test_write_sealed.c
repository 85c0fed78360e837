/*
 * The sealer: the same rows give the same bytes, whatever order they came in.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "policy/sealed/policy.h"
#include "tests/unit/policy_fixture.h"

/* K-07: a compiled policy is a file that can be made again bit by bit */
static void
same_rows_same_bytes(void **state)
{
	struct buf a, b;

	buf_init(&a, SEALED_LEN_MAX);
	buf_init(&b, SEALED_LEN_MAX);
	assert_int_equal(fix_policy(&a), 0);
	assert_int_equal(fix_policy(&b), 0);
	assert_int_equal(a.len, b.len);
	assert_memory_equal(a.data, b.data, a.len);
	buf_free(&a);
	buf_free(&b);
}

static void
servers_are_sorted_and_keep_their_rows(void **state)
{
	const struct sealed_server *s;
	const struct sealed_exec *run;
	struct policy p;
	struct buf a;
	char why[200];

	buf_init(&a, SEALED_LEN_MAX);
	assert_int_equal(fix_policy(&a), 0);
	assert_int_equal(policy_load_bytes(a.data, a.len, &p, why, sizeof(why)), 0);
	assert_int_equal(p.row_n[SEALED_SERVERS], 2);
	assert_string_equal(policy_str(&p, p.server[0].name), "a");
	assert_string_equal(policy_str(&p, p.server[1].name), "b");
	assert_null(policy_server(&p, "c"));
	assert_null(policy_server(&p, ""));
	s = policy_server(&p, "b");
	assert_ptr_equal(s, &p.server[1]);
	run = &p.exec[s->run];
	assert_int_equal(run->flags, EXEC_FROM_RUN);
	assert_string_equal(policy_str(&p, p.image[run->asked].path), "/bin/sh");
	assert_int_equal(run->asked, s->images.first);
	assert_string_equal(policy_str(&p, p.arg[run->args.first].text), "-c");
	/* sorted inside the server: LANG before PATH, PASS before TOKEN */
	assert_string_equal(policy_str(&p, p.env[s->envs.first].name), "LANG");
	assert_string_equal(policy_str(&p, p.secret[s->secrets.first].name), "PASS");
	assert_string_equal(
	    policy_str(&p, p.arg[p.secret[s->secrets.first].args.first].text),
	    "/usr/bin/pass");
	assert_int_equal(policy_limit(&p, s, LIMIT_MEMORY), 1 << 20);
	assert_int_equal(policy_limit(&p, s, TIMEOUT_CALL), 1000);
	assert_int_equal(policy_limit(&p, s, LIMIT_INPUT), 16 << 20);
	buf_free(&a);
}

static void
strings_are_interned(void **state)
{
	struct sealer *s = sealer_new();
	struct sealed_ref a, b, c, none;
	char name[16];
	int i;

	assert_non_null(s);
	a = fix_str(s, "/usr/bin");
	none = fix_str(s, "");
	assert_int_equal(none.off, 0);
	assert_int_equal(none.len, 0);
	c = fix_str(s, "/usr");
	assert_int_not_equal(a.off, c.off);
	/* enough to make the table grow several times */
	for (i = 0; i < 5000; i++) {
		(void)snprintf(name, sizeof(name), "n%d", i);
		(void)fix_str(s, name);
	}
	b = fix_str(s, "/usr/bin");
	assert_int_equal(a.off, b.off);
	assert_string_equal(sealer_text(s, b), "/usr/bin");
	for (i = 0; i < 5000; i++) {
		(void)snprintf(name, sizeof(name), "n%d", i);
		assert_string_equal(sealer_text(s, fix_str(s, name)), name);
	}
	sealer_free(s);
}

/* A sealer that was given rubbish says so, and writes nothing. */
static void
bad_rows_are_refused(void **state)
{
	struct sealer *s = sealer_new();
	struct buf out;

	buf_init(&out, SEALED_LEN_MAX);
	(void)sealer_str(s, "a\0b", 3);
	assert_int_not_equal(sealer_finish(s, &out), 0);
	assert_int_equal(out.len, 0);
	sealer_free(s);

	s = sealer_new();
	fix_server(s, "a", (struct sealed_range){0, 0}); /* no filter, no file */
	assert_int_not_equal(sealer_finish(s, &out), 0);
	assert_int_equal(out.len, 0);
	assert_int_not_equal(strlen(sealer_why(s)), 0);
	sealer_free(s);
	buf_free(&out);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(same_rows_same_bytes),
	    cmocka_unit_test(servers_are_sorted_and_keep_their_rows),
	    cmocka_unit_test(strings_are_interned),
	    cmocka_unit_test(bad_rows_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
