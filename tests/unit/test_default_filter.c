/*
 * Default filters: what the build embedded is what libseccomp gives and what the
 * loader proves; a sealed file that names one can carry nothing beside the name.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "policy/compile/seccomp_rows.h"
#include "policy/sealed/load.h"
#include "shim/base/array.h"
#include "tests/unit/corpus.h"
#include "tests/unit/policy_fixture.h"

static struct buf good; /* one server; its filters are named */

static void
seal_again(void)
{
	size_t body = good.len - SEALED_DIGEST;

	policy_digest(good.data, body, good.data + body);
}

/* A row of FILTERS in the sealed bytes. */
static struct sealed_filter *
filter_row(uint32_t i)
{
	const struct sealed_section *s =
	    (const void *)(good.data + sizeof(struct sealed_header));

	return (struct sealed_filter *)(void *)(good.data + s[SEALED_FILTERS - 1].off) +
	       i;
}

static int
named_setup(void **state)
{
	struct sealer *s = sealer_new();
	struct sealed_ref file = fix_str(s, "named.kennel");
	struct sealed_range filters;
	int r;

	buf_init(&good, SEALED_LEN_MAX);
	(void)sealer_row(s, SEALED_FILES, &file, sizeof(file));
	r = filters_build(s, (struct sealed_range){0, 0}, &filters);
	fix_server(s, "a", filters);
	if (r == 0)
		r = sealer_finish(s, &good);
	sealer_free(s);
	return r;
}

static int
named_teardown(void **state)
{
	buf_free(&good);
	return 0;
}

/* Built now as for a policy with lines, the rows and the program are the embedded. */
static void
embedded_is_what_is_built(void **state)
{
	const struct sealed_filter *d = default_filters.filter, *f;
	struct sealer *s = sealer_new();
	struct sealed_range one;
	uint8_t sha256[32];
	char why[200] = "";
	struct load l = {.p = default_filters, .why = why, .why_cap = sizeof(why)};
	uint32_t i, k;

	assert_int_equal(default_filters.row_n[SEALED_FILTERS], 2);
	for (i = 0; i < 2; i++) {
		assert_int_equal(
		    filter_build(s, d[i].arch, (struct sealed_range){0, 0}, &one), 0);
		f = sealer_at(s, SEALED_FILTERS, one.first);
		assert_int_equal(f->insns.n, d[i].insns.n);
		assert_memory_equal(sealer_at(s, SEALED_INSNS, f->insns.first),
		    default_filters.insn + d[i].insns.first,
		    f->insns.n * sizeof(struct sealed_insn));
		policy_digest(default_filters.insn + d[i].insns.first,
		    d[i].insns.n * sizeof(struct sealed_insn), sha256);
		assert_memory_equal(sha256, d[i].sha256, sizeof(sha256));
		if (load_bpf(&l, &d[i]) < 0 || load_replay(&l, &d[i]) < 0)
			fail_msg("%s", why);
		for (k = d[i].syscalls.first; k < d[i].syscalls.first + d[i].syscalls.n;
		     k++)
			assert_true(load_is_name(
			    policy_str(&default_filters, default_filters.syscall[k].name),
			    default_filters.syscall[k].name.len, false));
	}
	sealer_free(s);
}

static void
name_stands_for_the_program(void **state)
{
	const struct sealed_filter *f;
	struct policy p;
	char why[200];
	uint32_t i;

	assert_int_equal(policy_load_bytes(good.data, good.len, &p, why, sizeof(why)), 0);
	corpus_keep("default_filter_named", good.data, good.len);
	assert_int_equal(p.server[0].filters.n, 2);
	assert_int_equal(p.row_n[SEALED_INSNS], 0);
	for (i = 0; i < 2; i++) {
		f = &p.filter[i];
		assert_int_equal(policy_replay(&p, f, why, sizeof(why)), 0);
		assert_ptr_equal(policy_filter_tables(&p, &f), &default_filters);
		assert_ptr_equal(f, &default_filters.filter[i]);
	}
}

/* Another digest, or the digest of the other architecture: another version's. */
static void
unknown_name_is_refused(void **state)
{
	struct policy p;
	char why[200];

	filter_row(0)->sha256[31] ^= 1;
	seal_again();
	corpus_keep("default_filter_unknown", good.data, good.len);
	assert_int_equal(
	    policy_load_bytes(good.data, good.len, &p, why, sizeof(why)), -ESTALE);
	assert_non_null(strstr(why, "compile again with this version"));
	memcpy(filter_row(0)->sha256, filter_row(1)->sha256, 32);
	seal_again();
	assert_int_equal(
	    policy_load_bytes(good.data, good.len, &p, why, sizeof(why)), -ESTALE);
	memcpy(filter_row(0)->sha256, default_filters.filter[0].sha256, 32);
	seal_again();
	assert_int_equal(policy_load_bytes(good.data, good.len, &p, why, sizeof(why)), 0);
}

/* Neither a name nor a program. */
static void
nothing_is_refused(void **state)
{
	struct policy p;
	char why[200];

	memset(filter_row(0)->sha256, 0, 32);
	seal_again();
	assert_int_equal(
	    policy_load_bytes(good.data, good.len, &p, why, sizeof(why)), -EBADMSG);
	assert_non_null(strstr(why, "0 instructions"));
	memcpy(filter_row(0)->sha256, default_filters.filter[0].sha256, 32);
	seal_again();
}

/* A `syscalls` line that the named filter would ignore. */
static void
lines_need_a_program(void **state)
{
	struct sealer *s = sealer_new();
	struct sealed_ref file = fix_str(s, "lines.kennel");
	struct sealed_call call = {.at = {0, 7},
	    .name = fix_str(s, "getcpu"),
	    .verdict = VERDICT_DENY,
	    .exception = SEALED_NONE};
	struct sealed_range filters;
	struct sealed_server *row;
	struct buf out;

	buf_init(&out, SEALED_LEN_MAX);
	(void)sealer_row(s, SEALED_FILES, &file, sizeof(file));
	assert_int_equal(filters_build(s, (struct sealed_range){0, 0}, &filters), 0);
	fix_server(s, "a", filters);
	row = sealer_at(s, SEALED_SERVERS, 0);
	row->calls =
	    (struct sealed_range){sealer_row(s, SEALED_CALLS, &call, sizeof(call)), 1};
	assert_int_not_equal(sealer_finish(s, &out), 0);
	assert_non_null(strstr(sealer_why(s), "the default filter ignores it"));
	sealer_free(s);
	buf_free(&out);
}

/* A name beside a program: the program is not what would be installed. */
static void
name_and_program_are_refused(void **state)
{
	struct sealer *s = sealer_new();
	struct sealed_ref file = fix_str(s, "both.kennel");
	struct sealed_range filters;
	struct sealed_filter *f;
	struct buf out;

	buf_init(&out, SEALED_LEN_MAX);
	(void)sealer_row(s, SEALED_FILES, &file, sizeof(file));
	filters = fix_filter(s);
	f = sealer_at(s, SEALED_FILTERS, filters.first);
	memcpy(f->sha256, default_filters.filter[0].sha256, sizeof(f->sha256));
	fix_server(s, "a", filters);
	assert_int_equal(sealer_finish(s, &out), -EBADMSG);
	assert_non_null(strstr(sealer_why(s), "has rows and names a default filter"));
	sealer_free(s);
	buf_free(&out);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(embedded_is_what_is_built),
	    cmocka_unit_test(name_stands_for_the_program),
	    cmocka_unit_test(unknown_name_is_refused),
	    cmocka_unit_test(nothing_is_refused),
	    cmocka_unit_test(lines_need_a_program),
	    cmocka_unit_test(name_and_program_are_refused),
	};

	return cmocka_run_group_tests(tests, named_setup, named_teardown);
}
