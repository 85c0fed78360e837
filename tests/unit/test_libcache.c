/*
 * The loader's cache of a cell: what is listed, in which order, and when there
 * is none.  The order is checked against the host's own cache, where it has one.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "leash/cell/private.h"
#include "policy/sealed/policy.h"
#include "shim/base/array.h"

#if defined(__x86_64__)
#define LIB      "/usr/lib/x86_64-linux-gnu/"
#define ROOT_LIB "/lib/x86_64-linux-gnu/"
#else
#define LIB      "/usr/lib/aarch64-linux-gnu/"
#define ROOT_LIB "/lib/aarch64-linux-gnu/"
#endif

#define ROWS_MAX  1100
#define POOL_MAX  (256u << 10)
#define CACHE_MAX (256u << 10)

static struct {
	struct policy policy;
	struct sealed_server server;
	struct cell_order order;
	struct sealed_mount row[ROWS_MAX];
	char pool[POOL_MAX];
	uint8_t cache[CACHE_MAX];
	size_t len;
} t;

static int
begin(void **state)
{
	memset(&t, 0, sizeof(t));
	t.policy.mount = t.row;
	t.policy.strings = t.pool;
	t.order.policy = &t.policy;
	t.order.server = &t.server;
	return 0;
}

static void
put(enum sealed_mount_kind kind, const char *target)
{
	size_t len = strlen(target), at = t.policy.strings_len;

	assert_true(t.server.mounts.n < ROWS_MAX && len + 1 <= POOL_MAX - at);
	memcpy(t.pool + at, target, len + 1);
	t.policy.strings_len = (uint32_t)(at + len + 1);
	t.row[t.server.mounts.n++] = (struct sealed_mount){
	    .kind = kind, .target = {.off = (uint32_t)at, .len = (uint32_t)len}};
}

static int
make(void)
{
	return libcache_make(&t.order, t.cache, sizeof(t.cache), &t.len);
}

static uint32_t
number(const uint8_t *cache, size_t at)
{
	uint32_t n;

	memcpy(&n, cache + at, sizeof(n));
	return n;
}

static const char *
text(const uint8_t *cache, size_t i, size_t field)
{
	return (const char *)cache + number(cache, 48 + 24 * i + field);
}

#define NAME 4
#define PATH 8

static void
test_listed(void **state)
{
	put(MOUNT_TREE, "/srv/data");
	put(MOUNT_FILE, LIB "libb.so.1.2.3");
	put(MOUNT_SYMLINK, LIB "libb.so.1");
	put(MOUNT_FILE, LIB "liba.so.10");
	put(MOUNT_FILE, LIB "liba.so.9");
	put(MOUNT_FILE, LIB "deeper/libc.so.6");
	put(MOUNT_FILE, "/opt/lib/libd.so.1");
	put(MOUNT_FILE, LIB "libnumber.so.1234567890"); /* a number of ten digits */
	put(MOUNT_FILE, LIB "README");
	put(MOUNT_DIR, LIB "libdir.so");
	assert_int_equal(make(), 0);
	assert_memory_equal(t.cache, "glibc-ld.so.cache1.1", 20);
	assert_int_equal(number(t.cache, 20), 4);
	assert_int_equal(number(t.cache, 24), t.len - 48 - 4 * 24);
	assert_string_equal(text(t.cache, 0, NAME), "libb.so.1.2.3");
	assert_string_equal(text(t.cache, 1, NAME), "libb.so.1");
	assert_string_equal(text(t.cache, 2, NAME), "liba.so.10");
	assert_string_equal(text(t.cache, 3, NAME), "liba.so.9");
	assert_string_equal(text(t.cache, 1, PATH), LIB "libb.so.1");
	assert_int_equal(t.cache[t.len - 1], 0);
}

/* Of one name the loader's first folder comes first. */
static void
test_first_folder(void **state)
{
	put(MOUNT_FILE, "/usr/lib/liba.so.1");
	put(MOUNT_FILE, LIB "liba.so.1");
	put(MOUNT_FILE, ROOT_LIB "liba.so.1");
	assert_int_equal(make(), 0);
	assert_string_equal(text(t.cache, 0, PATH), ROOT_LIB "liba.so.1");
	assert_string_equal(text(t.cache, 1, PATH), LIB "liba.so.1");
	assert_string_equal(text(t.cache, 2, PATH), "/usr/lib/liba.so.1");
}

static void
test_none(void **state)
{
	static const char *const near[] = {
	    "/usr", "/usr/lib", LIB "glibc-hwcaps", "/lib64"};

	assert_int_equal(make(), -ENOENT);
	for (size_t i = 0; i < ARRAY_LEN(near); i++) {
		(void)begin(state);
		put(MOUNT_FILE, LIB "liba.so.1");
		assert_int_equal(make(), 0);
		put(MOUNT_TREE, near[i]);
		assert_int_equal(make(), -EXDEV);
	}
	(void)begin(state);
	put(MOUNT_FILE, LIB "liba.so.1");
	put(MOUNT_TREE, "/usr/libexec"); /* a name that begins the same */
	put(MOUNT_TREE, "/usr/share");
	assert_int_equal(make(), 0);
	assert_int_equal(libcache_make(&t.order, t.cache, 48 + 24, &t.len), -E2BIG);
	assert_int_equal(libcache_make(&t.order, t.cache, 47, &t.len), -E2BIG);
}

static void
test_too_many(void **state)
{
	char path[256];

	for (int i = 0; i <= 1024; i++) {
		assert_int_equal(make(), i == 0 ? -ENOENT : 0);
		(void)snprintf(path, sizeof(path), LIB "liba.so.%d", i);
		put(MOUNT_FILE, path);
	}
	assert_int_equal(make(), -EXDEV);
}

static size_t
place_of(const uint8_t *cache, const char *name)
{
	size_t i, n = number(cache, 20);

	for (i = 0; i < n && strcmp(text(cache, i, NAME), name) != 0; i++)
		;
	assert_true(i < n);
	return i;
}

/* The names of the host's cache, put in from its end, come out in its order. */
static void
test_order_of_host(void **state)
{
	static uint8_t host[16u << 20];
	FILE *f = fopen("/etc/ld.so.cache", "re");
	size_t len = f != NULL ? fread(host, 1, sizeof(host) - 1, f) : 0;
	char path[512];
	size_t last = 0;

	if (f != NULL)
		(void)fclose(f);
	if (len < 48 || memcmp(host, "glibc-ld.so.cache1.1", 20) != 0) {
		print_message("skipped: this machine has no /etc/ld.so.cache\n");
		skip();
	}
	for (size_t i = number(host, 20); i-- > 0 && t.server.mounts.n < 1000;) {
		(void)snprintf(path, sizeof(path), LIB "%s", text(host, i, NAME));
		put(MOUNT_FILE, path);
	}
	assert_int_equal(make(), 0);
	for (size_t i = 0; i < number(t.cache, 20); i++) {
		size_t at = place_of(host, text(t.cache, i, NAME));

		assert_true(at >= last);
		last = at;
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup(test_listed, begin),
	    cmocka_unit_test_setup(test_first_folder, begin),
	    cmocka_unit_test_setup(test_none, begin),
	    cmocka_unit_test_setup(test_too_many, begin),
	    cmocka_unit_test_setup(test_order_of_host, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
