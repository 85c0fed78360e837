/*
 * What the launcher of kennel serve may start (supervisor/serve/launcher/startable.c):
 * the argv that a policy granted to a row of the registry outlives that row, which is read
 * again whenever another server is restarted. Policies and rows are this test's own; the
 * build with AddressSanitizer reports a use after free.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "supervisor/hub/argv_authority.h"
#include "supervisor/serve/launcher/configured.h"
#include "supervisor/serve/launcher/startable.h"

static const char *stored = "[\"first\",\"second\"]"; /* arguments of the row */
static enum argv_authority answer = ARGV_GRANTED;

/* ---- what startable.c asks ------------------------------------------------------ */

int
configured_read(const struct server_rows *policy, struct server_rows *ret,
    struct skipped_file *ret_skipped)
{
	const struct server_row row = {.name = "row",
	    .scope = "user",
	    .source = FROM_PERSON,
	    .transport = "stdio",
	    .command = "program",
	    .args_json = stored,
	    .policy_server = "one",
	    .enabled = true};
	struct server_row copy;

	(void)policy, (void)ret_skipped;
	assert_int_equal(server_row_copy(&row, &copy), 0);
	return server_rows_add(ret, copy);
}

int
find_policy(const char *file, const char *name, struct policy_found *ret, char *why,
    size_t why_cap)
{
	(void)file, (void)why, (void)why_cap;
	assert_string_equal(name, "one");
	memset(ret, 0, sizeof(*ret));
	return 0;
}

void
policy_found_free(struct policy_found *f)
{
	(void)f;
}

enum argv_authority
argv_authority(const struct policy *p, const struct sealed_server *server,
    const char *const *argv, size_t argc, const char **ret_program)
{
	(void)p, (void)server;
	assert_string_equal(argv[0], "program");
	assert_int_equal(argc, 3);
	*ret_program = "/granted/program";
	return answer;
}

bool
url_authority(const struct policy *p, const struct sealed_server *server, const char *url)
{
	(void)p, (void)server, (void)url;
	return false;
}

/* ---- the test -------------------------------------------------------------------- */

static void
an_argv_outlives_its_row(void **state)
{
	static struct startables all;
	enum server_reason reason = REASON_NONE;
	char why[LEASH_TEXT_MAX] = "";
	struct startable *row;

	(void)state;
	startable_new(&all, "one", "")->has_policy = true;
	startables_configure(&all);
	row = startable_find(&all, "row");
	assert_non_null(row);
	assert_int_equal(startable_policy(&all, row, &reason, why), 0);
	assert_int_equal(row->argc, 3);
	stored = "[\"changed\",\"second\"]";
	startables_configure(&all); /* as when another server is restarted */
	assert_string_equal(row->args.v[0], "changed");
	/* what the policy granted stays, until it is asked again */
	assert_string_equal(row->argv[0], "/granted/program");
	assert_string_equal(row->argv[1], "first");
	assert_string_equal(row->argv[2], "second");
	assert_null(row->argv[3]);
	assert_int_equal(startable_policy(&all, row, &reason, why), 0);
	assert_string_equal(row->argv[1], "changed");
	/* the control: what is not granted leaves none */
	answer = ARGV_DENIED;
	assert_int_not_equal(startable_policy(&all, row, &reason, why), 0);
	assert_int_equal(reason, REASON_ARGV_NOT_GRANTED);
	assert_null(row->argv);
	for (size_t i = 0; i < all.n; i++) { /* the launcher keeps them to its end */
		if (all.all[i]->row != NULL)
			free(all.all[i]->row->own);
		free(all.all[i]->row);
		args_free(&all.all[i]->args);
		free(all.all[i]->about);
		free(all.all[i]);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(an_argv_outlives_its_row),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
