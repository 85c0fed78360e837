/*
 * Policy text without memory for what it says: no crash and, under the sanitizers,
 * nothing lost (see test_nomem.c, whose rooms cannot be linked with this one).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "policy/check/check.h"
#include "tests/unit/nomem.h"

static const char text[] = "let root = \"/srv\"\n"
			   "block common { read /usr/share/zoneinfo }\n"
			   "server a {\n"
			   "    run /bin/cat **\n"
			   "    use common\n"
			   "    read $root\n"
			   "    exec allow /bin/ls -l|-a **\n"
			   "    net allow api.example.com:443\n"
			   "    tool deny delete_* because \"by hand\"\n"
			   "    limit memory 512M  processes 64\n"
			   "    nonsense here\n"
			   "}\n";

static void
policy_once(void)
{
	struct policy_source source = {
	    .path = "p", .text = text, .len = sizeof(text) - 1};
	char said[8192] = "";
	FILE *f = fmemopen(said, sizeof(said), "w");
	struct diag d = {.sorted = true, .out = f, .source = &source, .source_n = 1};
	struct tree t = {0};

	assert_non_null(f);
	if (tree_parse(&source, 1, &d, &t) == 0) {
		(void)tree_check(&t, &d);
		tree_free(&t);
	}
	diag_end(&d);
	(void)fclose(f);
	assert_true(d.error_n > 0 || fault_counted(FAULT_MEMORY) > 0);
}

static void
policy(void **state)
{
	(void)state;
	print_message("policy: %u points\n", each_fails(policy_once));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(policy)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
