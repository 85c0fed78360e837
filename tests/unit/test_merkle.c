/*
 * The tree against a second, naive implementation of RFC 6962 section 2.1, and
 * against roots that are known from elsewhere.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "shim/base/array.h"
#include "supervisor/audit/log/merkle.h"

#define SIZE_MAX_TRIED 300

static uint8_t leaves[SIZE_MAX_TRIED][MERKLE_HASH_LEN];

/* MTH(D[n]), word for word: k is the largest power of two smaller than n. */
static void
naive(size_t from, size_t n, uint8_t ret[MERKLE_HASH_LEN])
{
	uint8_t input[1 + 2 * MERKLE_HASH_LEN] = {0x01};
	size_t k = 1;

	if (n == 0) {
		merkle_digest("", 0, ret);
		return;
	}
	if (n == 1) {
		memcpy(ret, leaves[from], MERKLE_HASH_LEN);
		return;
	}
	while (k * 2 < n)
		k *= 2;
	naive(from, k, input + 1);
	naive(from + k, n - k, input + 1 + MERKLE_HASH_LEN);
	merkle_digest(input, sizeof(input), ret);
}

static const char *
hex(const uint8_t hash[MERKLE_HASH_LEN])
{
	static char text[2 * MERKLE_HASH_LEN + 1];

	for (size_t i = 0; i < MERKLE_HASH_LEN; i++)
		(void)snprintf(text + 2 * i, 3, "%02x", hash[i]);
	return text;
}

static void
test_every_size(void **state)
{
	struct merkle chain = {0};

	(void)state;
	for (size_t i = 0; i < SIZE_MAX_TRIED; i++) {
		uint8_t tagged[16] = {0x00};
		int n = snprintf((char *)tagged + 1, sizeof(tagged) - 1, "record %zu", i);

		/* the leaf hash too is computed a second way */
		merkle_digest(tagged, 1 + (size_t)n, leaves[i]);
	}
	for (size_t n = 0; n <= SIZE_MAX_TRIED; n++) {
		uint8_t root[MERKLE_HASH_LEN], want[MERKLE_HASH_LEN];
		uint8_t leaf[MERKLE_HASH_LEN];
		char body[32];

		assert_int_equal(chain.size, n);
		merkle_root(&chain, root);
		naive(0, n, want);
		assert_memory_equal(root, want, MERKLE_HASH_LEN);
		if (n == SIZE_MAX_TRIED)
			break;
		merkle_leaf(
		    body, (size_t)snprintf(body, sizeof(body), "record %zu", n), leaf);
		assert_memory_equal(leaf, leaves[n], MERKLE_HASH_LEN);
		merkle_append(&chain, leaf);
	}
}

/* Published vectors: the empty tree, the leaf of no bytes, and the root of the
 * eight entries that Certificate Transparency implementations test with. */
static void
test_known(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
	} entry[] = {
	    {"", 0},
	    {"\x00", 1},
	    {"\x10", 1},
	    {"\x20\x21", 2},
	    {"\x30\x31", 2},
	    {"\x40\x41\x42\x43", 4},
	    {"\x50\x51\x52\x53\x54\x55\x56\x57", 8},
	    {"\x60\x61\x62\x63\x64\x65\x66\x67\x68\x69\x6a\x6b\x6c\x6d\x6e\x6f", 16},
	};
	struct merkle chain = {0};
	uint8_t hash[MERKLE_HASH_LEN];

	(void)state;
	merkle_root(&chain, hash);
	assert_string_equal(hex(hash),
	    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	merkle_leaf("", 0, hash);
	assert_string_equal(hex(hash),
	    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d");
	for (size_t i = 0; i < ARRAY_LEN(entry); i++) {
		merkle_leaf(entry[i].bytes, entry[i].len, hash);
		merkle_append(&chain, hash);
	}
	merkle_root(&chain, hash);
	assert_string_equal(hex(hash),
	    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328");
}

/* A node whose two halves are written into one leaf is not that leaf. */
static void
test_leaf_is_no_node(void **state)
{
	uint8_t both[2 * MERKLE_HASH_LEN] = {1, 2, 3}, leaf[MERKLE_HASH_LEN],
			 node[MERKLE_HASH_LEN];

	(void)state;
	merkle_leaf(both, sizeof(both), leaf);
	merkle_node(both, both + MERKLE_HASH_LEN, node);
	assert_memory_not_equal(leaf, node, MERKLE_HASH_LEN);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_every_size),
	    cmocka_unit_test(test_known),
	    cmocka_unit_test(test_leaf_is_no_node),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
