/*
 * The environment of a server: what is written into the plan, and what a later
 * exec may carry.  S4-28 K-05
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "leash/vault/vault.h"
#include "shim/base/wire.h"
#include "shim/shim.h"

static struct vault *vault;
static struct secret *token;

static int
setup(void **state)
{
	struct env *e;
	struct reason why;

	if (vault_new(1u << 20, &vault) < 0 || setenv("KENNEL_T", "tok-12345", 1) < 0 ||
	    secret_from_env(vault, "KENNEL_T", &token, &why) < 0 || env_new(&e) < 0)
		return -1;
	*state = e;
	return 0;
}

static int
teardown(void **state)
{
	env_free(*state);
	vault_free(vault);
	return 0;
}

static bool
permits(const struct env *e, const char *text)
{
	return env_permits(e, text, strlen(text));
}

/* As the shim will read it. */
static uint32_t
entries(const struct env *e)
{
	static uint8_t room[64 * 1024];
	struct wire_out w;
	struct wire_in in;

	wire_out_init(&w, room, sizeof(room));
	env_write(e, &w);
	assert_int_equal(w.error, 0);
	wire_in_init(&in, w.data, w.len);
	return wire_get_u32(&in);
}

static void
names_are_checked(void **state)
{
	struct env *e = *state;

	assert_int_equal(env_plain(e, "A_b1", "x"), 0);
	assert_int_equal(env_plain(e, "A_b1", "y"), -EEXIST);
	assert_int_equal(env_secret(e, "A_b1", token), -EEXIST);
	assert_int_equal(env_plain(e, "", "x"), -EINVAL);
	assert_int_equal(env_plain(e, "1A", "x"), -EINVAL);
	assert_int_equal(env_plain(e, "A=B", "x"), -EINVAL);
	assert_int_equal(env_plain(e, "A B", "x"), -EINVAL);
	assert_int_equal(entries(e), 1);
}

static void
there_is_a_limit(void **state)
{
	struct env *e = *state;
	char name[16];
	int i;

	for (i = 0; i < SHIM_ENVS_MAX; i++) {
		(void)snprintf(name, sizeof(name), "N%d", i);
		assert_int_equal(env_plain(e, name, ""), 0);
	}
	assert_int_equal(env_plain(e, "ONE_MORE", ""), -ENOSPC);
	assert_int_equal(entries(e), SHIM_ENVS_MAX);
}

static void
a_later_exec_is_judged(void **state)
{
	struct env *e = *state;

	assert_int_equal(env_plain(e, "HOME", "/home/dog"), 0);
	assert_int_equal(env_plain(e, "EMPTY", ""), 0);
	assert_int_equal(env_secret(e, "TOKEN", token), 0);
	assert_true(permits(e, "HOME=/home/dog"));
	assert_true(permits(e, "EMPTY="));
	assert_true(permits(e, "TOKEN=tok-12345"));
	assert_true(permits(e, "LANG=xx"));
	assert_true(permits(e, "LC_ALL=C"));
	assert_true(permits(e, "_=/bin/sh"));
	assert_true(permits(e, "PWD=/"));

	assert_false(permits(e, "HOME=/home/cat"));
	assert_false(permits(e, "HOME=/home/dogs"));
	assert_false(permits(e, "HOME=/home/do"));
	assert_false(permits(e, "HOME"));
	assert_false(permits(e, "EMPTY=x"));
	assert_false(permits(e, "TOKEN=tok-12346"));
	assert_false(permits(e, "TOKEN=tok-1234"));
	assert_false(permits(e, "TOKEN="));
	assert_false(permits(e, "LD_PRELOAD=/tmp/x.so"));
	assert_false(permits(e, "LANGUAGE=xx"));
	assert_false(permits(e, "LC_"));
	assert_false(permits(e, "LC_=x"));
	assert_false(permits(e, "=x"));
	assert_false(permits(e, ""));
	assert_false(env_permits(e, "HOME=/home/dog\0x", 16));
	assert_false(env_permits(e, "PWD=/\0x", 7));
}

static void
the_plan_holds_them_in_order(void **state)
{
	struct env *e = *state;
	struct wire_out w;
	struct wire_in in;
	void *at = vault_scratch(vault, 4096);

	assert_int_equal(env_secret(e, "TOKEN", token), 0);
	assert_int_equal(env_plain(e, "HOME", "/home/dog"), 0);
	wire_out_init(&w, at, 4096);
	env_write(e, &w);
	assert_int_equal(w.error, 0);
	wire_in_init(&in, w.data, w.len);
	assert_int_equal(wire_get_u32(&in), 2);
	assert_string_equal(wire_get_str(&in, 4096), "TOKEN=tok-12345");
	assert_string_equal(wire_get_str(&in, 4096), "HOME=/home/dog");
	assert_int_equal(wire_end(&in), 0);
}

static void
no_value_leaves_the_vault_otherwise(void **state)
{
	struct env *e = *state;
	struct wire_out w;
	uint8_t heap[256];
	size_t cap;

	memset(heap, 0, sizeof(heap));
	assert_int_equal(env_plain(e, "HOME", "/"), 0);
	wire_out_init(&w, heap, sizeof(heap));
	env_write(e, &w); /* the control: nothing secret in it */
	assert_int_equal(w.error, 0);
	assert_int_equal(env_secret(e, "TOKEN", token), 0);
	memset(heap, 0, sizeof(heap));
	wire_out_init(&w, heap, sizeof(heap));
	env_write(e, &w);
	assert_int_equal(w.error, -EFAULT);
	assert_null(memmem(heap, sizeof(heap), "tok-", 4));

	/* Room for all of it but one byte, two bytes...: never beyond. */
	for (cap = 0; cap < 4 + 4 + 7 + 4 + 16; cap++) {
		wire_out_init(&w, vault_scratch(vault, cap + 1), cap);
		env_write(e, &w);
		assert_int_not_equal(w.error, 0);
		assert_int_equal(w.data[cap], 0);
	}
	wire_out_init(&w, vault_scratch(vault, cap), cap);
	env_write(e, &w);
	assert_int_equal(w.error, 0);
}

/* A secret as a file: named by the environment, in it with no byte. */
static void
a_file_is_sealed(void **state)
{
	struct env *e = *state;
	char path[32], got[64] = "";
	struct wire_out w;
	struct wire_in in;
	const int *files;
	int again;

	assert_int_equal(env_plain(e, "B_FILE", "x"), 0);
	assert_int_equal(env_file(e, "B", token), -EEXIST);
	assert_int_equal(env_file(e, "1B", token), -EINVAL);
	assert_int_equal(env_files(e, &files), 0);
	assert_int_equal(env_file(e, "TOKEN", token), 0);
	assert_int_equal(env_files(e, &files), 1);
	assert_int_equal(fcntl(files[0], F_GETFD), FD_CLOEXEC);
	assert_int_equal(fcntl(files[0], F_GET_SEALS) &
			     (F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL),
	    F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL);
	assert_int_equal(write(files[0], "x", 1), -1);
	assert_int_equal(errno, EPERM);
	assert_int_equal(ftruncate(files[0], 0), -1);
	assert_int_equal(lseek(files[0], 0, SEEK_CUR), 0);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", files[0]);
	for (int i = 0; i < 2; i++) { /* each opening begins at its beginning */
		again = open(path, O_RDONLY | O_CLOEXEC);
		assert_int_equal(read(again, got, sizeof(got)), 9);
		assert_memory_equal(got, "tok-12345", 9);
		close(again);
	}
	/* The heap is enough for the plan: no value is in it. */
	wire_out_init(&w, got, sizeof(got));
	memset(got, 0, sizeof(got));
	env_write(e, &w);
	assert_int_equal(w.error, 0);
	assert_null(memmem(got, sizeof(got), "tok-", 4));
	wire_in_init(&in, w.data, w.len);
	assert_int_equal(wire_get_u32(&in), 2);
	assert_string_equal(wire_get_str(&in, 64), "B_FILE=x");
	assert_string_equal(wire_get_str(&in, 64), "TOKEN_FILE=/dev/fd/100");

	assert_true(permits(e, "TOKEN_FILE=/dev/fd/100"));
	assert_false(permits(e, "TOKEN_FILE=/dev/fd/101"));
	assert_false(permits(e, "TOKEN=tok-12345"));
	env_files_close(e);
	assert_int_equal(env_files(e, &files), 0);
}

static void
files_have_a_limit(void **state)
{
	struct env *e = *state;
	char name[16];
	int i;

	for (i = 0; i < SHIM_FILES_MAX; i++) {
		(void)snprintf(name, sizeof(name), "N%d", i);
		assert_int_equal(env_file(e, name, token), 0);
	}
	assert_int_equal(env_file(e, "ONE_MORE", token), -ENOSPC);
	assert_true(permits(e, "N63_FILE=/dev/fd/163"));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	static const struct CMUnitTest tests[] = {
	    TEST(names_are_checked),
	    TEST(there_is_a_limit),
	    TEST(a_later_exec_is_judged),
	    TEST(the_plan_holds_them_in_order),
	    TEST(a_file_is_sealed),
	    TEST(files_have_a_limit),
	    TEST(no_value_leaves_the_vault_otherwise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
