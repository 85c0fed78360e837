/*
 * The keeper's confirmations (leash/keeper/confirm.c) on a clock of the test's own: each is for
 * one digest, one use and 60 s.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "leash/keeper/private.h"
#include "shim/base/log.h"

#define S 1000000000ull

static uint64_t now = 1000 * S;
static int matches;  /* of the next passphrase */
static int locked_n; /* times that it was locked */
static int refused;  /* the reason of the last refusal, or an error */
static uint32_t done;

struct keeper keeper;

/* ---- what the file calls ---------------------------------------------------------- */

uint64_t
loop_now(void)
{
	return now;
}

bool
keeper_is_open(void)
{
	return true;
}

void
keeper_used(void)
{
}

void
keeper_lock(const char *why)
{
	assert_non_null(why);
	locked_n++;
	confirm_forget(); /* as main.c does */
}

int
vault_file_matches(struct vault_file *v, const struct vault_file_material *m)
{
	assert_ptr_equal(v, keeper.file);
	assert_int_equal(m->kind, OPENER_PASSPHRASE);
	return matches;
}

int
answer_refuse(struct wire_out *out, enum keeper_reason reason, const char *text)
{
	(void)out;
	assert_non_null(text);
	refused = (int)reason;
	return 0;
}

int
answer_error(struct wire_out *out, int error)
{
	(void)out;
	refused = error;
	return 0;
}

int
answer_done(struct wire_out *out, uint32_t what)
{
	(void)out;
	done = what;
	return 0;
}

/* A key's signature is right if the challenge in it is "right". */
bool
key_confirms(struct peer *peer, struct span material,
    const uint8_t digest[KEEPER_DIGEST_LEN], struct wire_out *out)
{
	(void)peer;
	(void)digest;
	if (material.len == 5 && memcmp(material.data, "right", 5) == 0)
		return true;
	(void)answer_refuse(out, REASON_WRONG, "wrong");
	return false;
}

/* ---- the requests ------------------------------------------------------------------- */

static int
confirm_with(uint32_t kind, const char *material, uint8_t digest)
{
	uint8_t memory[256], d[KEEPER_DIGEST_LEN] = {digest};
	struct peer peer = {.who = "test"};
	struct wire_out out;
	struct wire_in in;

	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, kind);
	wire_put_bytes(&out, material, strlen(material));
	wire_put_bytes(&out, d, sizeof(d));
	wire_in_init(&in, memory, out.len);
	refused = 0;
	return confirm_digest(&peer, &in, &out) < 0 ? -EBADMSG : refused;
}

static int
confirm(uint8_t digest, int right)
{
	matches = right;
	return confirm_with(KEEPER_PASSPHRASE, "pass", digest);
}

static int
confirmed(uint8_t digest)
{
	uint8_t memory[256], d[KEEPER_DIGEST_LEN] = {digest};
	struct peer peer = {.who = "test"};
	struct wire_out out;
	struct wire_in in;

	wire_out_init(&out, memory, sizeof(memory));
	wire_put_bytes(&out, d, sizeof(d));
	wire_in_init(&in, memory, out.len);
	assert_int_equal(confirm_ask(&peer, &in, NULL), 0);
	return (int)done;
}

/* The side that decides hears with what, since `with key` takes no passphrase. */
static void
with_key(void **state)
{
	(void)state;
	assert_int_equal(confirm_with(KEEPER_ASSERTION, "right", 9), 0);
	assert_int_equal(confirmed(9), CONFIRMED_KEY);
	assert_int_equal(confirmed(9), CONFIRMED_NOT);
	assert_int_equal(confirm_with(KEEPER_ASSERTION, "wrong", 9), REASON_WRONG);
	assert_int_equal(confirmed(9), CONFIRMED_NOT);
	assert_int_equal(confirm(9, 0), 0);
	assert_int_equal(confirmed(9), CONFIRMED_PASSPHRASE);
	assert_int_equal(confirm_with(KEEPER_KEY_FILE, "right", 9), -EBADMSG);
	assert_int_equal(confirm_with(KEEPER_RECOVERY, "right", 9), -EBADMSG);
}

static void
one_use(void **state)
{
	(void)state;
	assert_false(confirmed(1));
	assert_int_equal(confirm(1, 0), 0);
	assert_false(confirmed(2));
	assert_true(confirmed(1));
	assert_false(confirmed(1));
}

static void
expires(void **state)
{
	(void)state;
	assert_int_equal(confirm(1, 0), 0);
	now += 60 * S - 1;
	assert_true(confirmed(1)); /* the control */
	assert_int_equal(confirm(1, 0), 0);
	now += 60 * S;
	assert_false(confirmed(1));
}

static void
wrong(void **state)
{
	(void)state;
	assert_int_equal(confirm(3, 0), 0);
	assert_int_equal(confirm(4, -EKEYREJECTED), REASON_WRONG);
	assert_int_equal(confirm(4, -EKEYREJECTED), REASON_WRONG);
	assert_int_equal(confirm(5, 0), 0); /* a right one ends the count */
	assert_false(confirmed(4));
	assert_int_equal(confirm(4, -EKEYREJECTED), REASON_WRONG);
	assert_int_equal(confirm(4, -EKEYREJECTED), REASON_WRONG);
	assert_int_equal(locked_n, 0);
	assert_int_equal(confirm(4, -EKEYREJECTED), REASON_WRONG);
	assert_int_equal(locked_n, 1);
	assert_false(confirmed(3)); /* a lock forgets all */
	assert_false(confirmed(5));
}

/* 64 at most: the one that expires first makes room. */
static void
bounded(void **state)
{
	(void)state;
	for (uint8_t i = 0; i < 65; i++) {
		now++;
		assert_int_equal(confirm(100 + i, 0), 0);
	}
	assert_false(confirmed(100));
	for (uint8_t i = 1; i < 65; i++)
		assert_true(confirmed(100 + i));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(one_use),
	    cmocka_unit_test(expires),
	    cmocka_unit_test(with_key),
	    cmocka_unit_test(wrong),
	    cmocka_unit_test(bounded),
	};

	log_open("test", LOG_ERROR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
