/*
 * The index changes no answer: every question is asked of all rows as well.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "policy/sealed/policy.h"
#include "shim/base/array.h"
#include "tests/unit/policy_many.h"
#include "tests/unit/resealed.h"

static struct buf bytes;
static struct policy p;
static const struct sealed_server *s;
static struct sealed_server plain; /* the same without an index */

static void
with(uint32_t n)
{
	char why[200];

	buf_free(&bytes);
	buf_init(&bytes, SEALED_LEN_MAX);
	assert_int_equal(many_policy(n, &bytes), 0);
	assert_int_equal(
	    policy_load_bytes(bytes.data, bytes.len, &p, why, sizeof(why)), 0);
	s = policy_server(&p, "m");
	assert_int_equal(s->gate_slots.n != 0, n > 8);
	plain = *s;
	plain.exec_slots.n = plain.gate_slots.n = plain.net_slots.n = 0;
}

static void
gates_agree(uint32_t n)
{
	struct policy_gate_ask ask = {.kind = GATE_TOOL};
	struct policy_answer a, b;
	char name[96];
	int i, hits = 0;

	ask.name = name;
	for (i = 0; i < 3000; i++) {
		ask.name_len = (size_t)snprintf(name, sizeof(name),
		    i % 3 == 0   ? "tool_%u"
		    : i % 3 == 1 ? "get_%u_x"
				 : "get_%u",
		    (unsigned int)rand() % (n + 3));
		a = policy_match_gate(&p, s, &ask);
		b = policy_match_gate(&p, &plain, &ask);
		if (a.gate != b.gate || a.verdict != b.verdict)
			fail_msg("%s", name);
		hits += a.gate != NULL;
	}
	assert_true(hits > 300);
}

static void
execs_agree(uint32_t n)
{
	const char *argv[] = {"git", "push", NULL, "x", "y", "z"};
	struct policy_exec_ask ask = {
	    .asked = s->images.first, .argv = {argv, 0}, .caller = SEALED_NONE};
	struct policy_answer a, b;
	char name[64];
	int i, hits = 0;

	argv[2] = name;
	for (i = 0; i < 3000; i++) {
		(void)snprintf(
		    name, sizeof(name), "branch-%u", (unsigned int)rand() % (n + 3));
		ask.argv.n = 1 + (size_t)rand() % 5;
		a = policy_match_exec_call(&p, s, &ask);
		b = policy_match_exec_call(&p, &plain, &ask);
		if (a.exec != b.exec || a.verdict != b.verdict)
			fail_msg("%s, %zu words", name, ask.argv.n);
		hits += a.exec != NULL;
	}
	assert_true(hits > 300);
}

static void
nets_agree(uint32_t n)
{
	struct policy_net_ask ask = {.port = 443};
	struct policy_answer a, b;
	char host[96];
	int i, hits = 0;

	ask.host = host;
	for (i = 0; i < 3000; i++) {
		ask.host_len = (size_t)snprintf(host, sizeof(host),
		    i % 3 == 0 ? "a.b.h%u.example.org" : "h%u.example.org",
		    (unsigned int)rand() % (n + 3));
		a = policy_match_net(&p, s, &ask);
		b = policy_match_net(&p, &plain, &ask);
		if (a.net != b.net || a.verdict != b.verdict)
			fail_msg("%s", host);
		hits += a.net != NULL;
	}
	assert_true(hits > 300);
}

static void
index_and_all_rows_agree(void **state)
{
	static const uint32_t sizes[] = {5, 8, 9, 70, 1000};
	size_t i;

	srand(3);
	for (i = 0; i < ARRAY_LEN(sizes); i++) {
		with(sizes[i]);
		gates_agree(sizes[i]);
		execs_agree(sizes[i]);
		nets_agree(sizes[i]);
	}
}

/* L5: a slot that is empty, doubled, wrong or elsewhere is refused. */
static void
a_broken_index_is_refused(void **state)
{
	struct policy q;
	uint32_t *slot, i, was, refused = 0;
	char why[200];

	with(40);
	slot = (uint32_t *)(uintptr_t)p.slot;
	for (i = 0; i < p.row_n[SEALED_SLOTS]; i++) {
		was = slot[i];
		slot[i] = was == 0 ? 1 : was == 1 ? 0 : was - 1;
		digest_again(bytes.data, bytes.len);
		refused +=
		    policy_load_bytes(bytes.data, bytes.len, &q, why, sizeof(why)) != 0;
		slot[i] = was;
	}
	assert_int_equal(refused, p.row_n[SEALED_SLOTS]);
	((struct sealed_server *)(uintptr_t)s)->gate_depths ^= 1;
	digest_again(bytes.data, bytes.len);
	assert_int_equal(
	    policy_load_bytes(bytes.data, bytes.len, &q, why, sizeof(why)), -74);
	((struct sealed_server *)(uintptr_t)s)->gate_depths ^= 1;
	digest_again(bytes.data, bytes.len);
	assert_int_equal(
	    policy_load_bytes(bytes.data, bytes.len, &q, why, sizeof(why)), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(index_and_all_rows_agree),
	    cmocka_unit_test(a_broken_index_is_refused),
	};
	int r = cmocka_run_group_tests(tests, NULL, NULL);

	buf_free(&bytes);
	return r;
}
