/*
 * Secrets that move.  A grant of the vault is for an entry, and a start grants it again
 * if the changed policy is only narrower: so it may be no other variable, with other
 * hosts or options, in which the entry arrives now.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "policy/base/source.h"
#include "policy/compile/compile.h"
#include "policy/diff/diff.h"
#include "policy/sealed/policy.h"
#include "shim/base/array.h"
#include "shim/base/buf.h"

#define B      "secret B from vault team/b/token"
#define C      "secret C from vault team/c/token"
#define B_AT_B B " { hosts b.example.com }\n"

static const struct {
	const char *old, *new;
	bool narrower;
} all[] = {
    /* a secret of another source moves to an entry that the old policy has */
    {"secret A from env X\n" B_AT_B, "secret A from vault team/b/token\n", false},
    {"secret A from env X { hosts a.example.com }\n" B_AT_B,
	"secret A from vault team/b/token { hosts a.example.com }\n", false},
    {"secret A from file /run/x { hosts any }\n" B_AT_B,
	"secret A from vault team/b/token { hosts any }\n", false},
    {"secret A from cmd /usr/bin/env p { as file }\n" B_AT_B,
	"secret A from vault team/b/token { as file }\n", false},
    {"secret A from env X { weak allowed }\n" B " { approve session with key }\n",
	"secret A from vault team/b/token { weak allowed }\n", false},
    {"secret A from env X\n" B_AT_B, "secret A from vault team/b/token\n" B_AT_B, false},
    {B_AT_B C "\n", C " { hosts b.example.com }\n" B "\n", false},
    {B_AT_B, "secret A from vault team/b/token { hosts b.example.com }\n", false},
    /* and what is narrower: to an entry of its own, and away */
    {"secret A from env X { hosts a.example.com }\n" B_AT_B,
	"secret A from vault team/a/token { hosts a.example.com }\n" B_AT_B, true},
    {"secret A from file /run/x\n" B_AT_B, "secret A from vault team/a/token\n", true},
    {"secret A from vault team/b/token\n" B_AT_B, B_AT_B, true},
    {"secret A from vault team/b/token\n" B_AT_B, "secret A from vault team/b/token\n",
	true},
    {B_AT_B C "\n", C "\n", true},
};

static void
compiled(const char *lines, struct buf *bytes, struct policy *ret)
{
	char text[1024], why[200];
	struct policy_source source = {.path = "secrets", .text = text};

	source.len = (size_t)snprintf(
	    text, sizeof(text), "server s {\n\trun /bin/sh -c true\n%s}\n", lines);
	assert_true(source.len < sizeof(text));
	buf_init(bytes, SEALED_LEN_MAX);
	assert_int_equal(policy_compile(&source, 1, NULL, bytes, NULL), 0);
	assert_int_equal(
	    policy_load_bytes(bytes->data, bytes->len, ret, why, sizeof(why)), 0);
}

static void
an_entry_gets_no_other_use(void **state)
{
	struct policy old, new;
	struct buf bytes[2];
	struct diff d;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		compiled(all[i].old, &bytes[0], &old);
		compiled(all[i].new, &bytes[1], &new);
		d = (struct diff){.p = {&old, &new}, .s = {old.server, new.server}};
		assert_int_equal(diff_server(&d), 0);
		if (diff_only_narrower(&d) != all[i].narrower)
			fail_msg("from\n%sto\n%sis %snarrower", all[i].old, all[i].new,
			    all[i].narrower ? "not " : "");
		assert_true(d.found_n > 0);
		diff_free(&d);
		policy_unload(&old);
		policy_unload(&new);
		buf_free(&bytes[0]);
		buf_free(&bytes[1]);
	}
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
	    cmocka_unit_test(an_entry_gets_no_other_use),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
