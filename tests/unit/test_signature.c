/*
 * Signatures: whose count, what they cover, and that every change of one is
 * seen.  Each refusal beside the same file that is taken.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <sodium.h>

#include "policy/sealed/policy.h"
#include "policy/sealed/signature.h"
#include "shim/base/buf.h"
#include "supervisor/launch/launch.h"
#include "tests/unit/corpus.h"
#include "tests/unit/policy_fixture.h"

#define TODAY 20000u

static struct buf good;
static struct {
	uint8_t key[SIGN_KEY_LEN], secret[crypto_sign_SECRETKEYBYTES];
} signer[3]; /* ascending by key */

/* A file that the first n have signed; free() it. */
static uint8_t *
signed_file(uint32_t n, uint64_t counter, uint32_t until, size_t *ret_len)
{
	struct sign_head h = {
	    .version = SIGN_VERSION, .signer_n = n, .counter = counter, .until = until};
	struct sign_message m;
	struct sign_row row;
	uint8_t *bytes;
	uint32_t i;

	memcpy(h.magic, SIGN_MAGIC, sizeof(h.magic));
	*ret_len = good.len + sizeof(h) + n * sizeof(row);
	bytes = malloc(*ret_len);
	assert_non_null(bytes);
	memcpy(bytes, good.data, good.len);
	memcpy(bytes + good.len, &h, sizeof(h));
	sign_message(good.data, good.len, &h, &m);
	for (i = 0; i < n; i++) {
		memcpy(row.key, signer[i].key, sizeof(row.key));
		crypto_sign_detached(
		    row.sig, NULL, (uint8_t *)&m, sizeof(m), signer[i].secret);
		memcpy(bytes + good.len + sizeof(h) + i * sizeof(row), &row, sizeof(row));
	}
	return bytes;
}

static struct trust
trust_of(uint32_t keys, uint32_t threshold)
{
	struct trust t = {.wanted = true, .threshold = threshold, .key_n = keys};
	uint32_t i;

	for (i = 0; i < keys; i++)
		memcpy(t.key[i], signer[i].key, SIGN_KEY_LEN);
	return t;
}

static int
verify(const uint8_t *bytes, size_t len, const struct trust *t)
{
	struct signed_by by;
	char why[256];

	return sign_verify(bytes, len, t, TODAY, &by, why, sizeof(why));
}

/* L2: enough of those whom root trusts, over every byte, not too late */
static void
whose_signatures_count(void **state)
{
	struct trust one = trust_of(1, 1), two = trust_of(3, 2), none = {0}, t;
	struct signed_by by;
	struct policy p;
	char why[256];
	size_t len;
	uint8_t *b;

	/* unsigned */
	assert_int_equal(verify(good.data, good.len, &one), -ENOKEY);
	assert_int_equal(verify(good.data, good.len, &none), 0);
	/* signed by the one, by one of two, by two */
	b = signed_file(1, 7, 0, &len);
	assert_int_equal(sign_verify(b, len, &one, TODAY, &by, why, sizeof(why)), 0);
	assert_int_equal(by.counter, 7);
	assert_int_equal(by.trusted_n, 1);
	assert_int_equal(verify(b, len, &two), -ENOKEY);
	/* the loader takes it, and its id is that of the body */
	assert_int_equal(policy_load_bytes(b, len, &p, why, sizeof(why)), 0);
	assert_int_equal(p.len, good.len);
	t = one;
	memcpy(t.revoked[t.revoked_n++], p.id, sizeof(p.id));
	assert_int_equal(verify(b, len, &t), -EKEYREVOKED);
	free(b);
	b = signed_file(2, 7, 0, &len);
	assert_int_equal(verify(b, len, &two), 0);
	t = two;
	memcpy(t.revoked[t.revoked_n++], signer[1].key, SIGN_KEY_LEN);
	assert_int_equal(verify(b, len, &t), -EKEYREVOKED);
	/* one key twice is one signer */
	memcpy(b + good.len + sizeof(struct sign_head) + sizeof(struct sign_row),
	    b + good.len + sizeof(struct sign_head), sizeof(struct sign_row));
	assert_int_equal(verify(b, len, &two), -EBADMSG);
	free(b);
	/* a stranger's good signature */
	b = signed_file(1, 7, 0, &len);
	memcpy(t.key[0], signer[2].key, SIGN_KEY_LEN);
	t.key_n = t.threshold = 1;
	t.revoked_n = 0;
	assert_int_equal(verify(b, len, &t), -ENOKEY);
	free(b);
	/* its last day, and the day after */
	b = signed_file(1, 7, TODAY, &len);
	assert_int_equal(verify(b, len, &one), 0);
	free(b);
	b = signed_file(1, 7, TODAY - 1, &len);
	assert_int_equal(verify(b, len, &one), -EKEYEXPIRED);
	free(b);
}

/* Each bit of the signatures, of the version and of the last day, and one bit
 * of every byte of the body. */
static void
every_bit_counts(void **state)
{
	struct trust t = trust_of(2, 2);
	size_t len, i;
	uint8_t *b = signed_file(2, 7, TODAY + 1, &len);

	corpus_keep("good-signed", b, len);
	assert_int_equal(verify(b, len, &t), 0);
	for (i = 8 * good.len; i < 8 * len; i++) {
		b[i / 8] ^= (uint8_t)(1u << i % 8);
		if (verify(b, len, &t) == 0)
			fail_msg("bit %zu of the signatures", i - 8 * good.len);
		b[i / 8] ^= (uint8_t)(1u << i % 8);
	}
	for (i = 0; i < good.len; i += 7) {
		b[i] ^= (uint8_t)(1u << i % 8);
		if (verify(b, len, &t) == 0)
			fail_msg("byte %zu of the body", i);
		b[i] ^= (uint8_t)(1u << i % 8);
	}
	for (i = 0; i < len; i += i < good.len ? 97 : 1)
		assert_int_not_equal(verify(b, i, &t), 0);
	assert_int_equal(verify(b, len, &t), 0);
	free(b);
}

/* The loader takes a body with sound signatures behind it, and nothing else. */
static void
only_signatures_behind_the_body(void **state)
{
	struct policy p;
	char why[256];
	size_t len;
	uint8_t *b = signed_file(1, 7, 0, &len), *more = malloc(len + 8);
	struct sign_head *h = (void *)(b + good.len);

	assert_int_equal(policy_load_bytes(b, len, &p, why, sizeof(why)), 0);
	memcpy(more, b, len);
	memset(more + len, 0, 8);
	assert_int_equal(
	    policy_load_bytes(more, len + 8, &p, why, sizeof(why)), -EBADMSG);
	h->reserved = 1;
	assert_int_equal(policy_load_bytes(b, len, &p, why, sizeof(why)), -EBADMSG);
	h->reserved = 0;
	h->version = 2;
	assert_int_equal(policy_load_bytes(b, len, &p, why, sizeof(why)), -EBADMSG);
	h->version = 1;
	h->counter = 0;
	assert_int_equal(policy_load_bytes(b, len, &p, why, sizeof(why)), -EBADMSG);
	h->counter = 7;
	h->signer_n = SIGN_SIGNERS_MAX + 1;
	assert_int_equal(policy_load_bytes(b, len, &p, why, sizeof(why)), -EBADMSG);
	free(b);
	free(more);
}

/* ---- the folder ---------------------------------------------------------------- */

static char folder[] = "/var/tmp/kennel-sign-XXXXXX";

static void
put(const char *name, const char *text, mode_t mode)
{
	char path[128];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	(void)unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static void
drop(const char *name)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	(void)unlink(path);
}

static int
trusting(struct trust *t)
{
	static char why[256];
	int r = trust_read(folder, geteuid(), t, why, sizeof(why));

	assert_true(r == 0 || strlen(why) > 0);
	return r;
}

#define HEX "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

static void
the_trust_folder(void **state)
{
	char why[256], link[128];
	struct trust t;

	assert_non_null(mkdtemp(folder));
	assert_int_equal(trusting(&t), 0);
	assert_false(t.wanted);
	put("a.pub", "kennel-key-1 " HEX " of A\n", 0644);
	assert_int_equal(trusting(&t), 0);
	assert_true(t.wanted);
	assert_int_equal(t.threshold, 1);
	assert_int_equal(t.key[0][1], 0x11);
	/* somebody else's: this very folder, if root were asked for */
	if (geteuid() != 0)
		assert_int_equal(trust_read(folder, 0, &t, why, sizeof(why)), -EPERM);
	else {
		assert_int_equal(chown(folder, 65534, 65534), 0);
		assert_int_equal(trusting(&t), -EPERM);
		assert_int_equal(chown(folder, 0, 0), 0);
	}
	/* writable by others: the folder, a key */
	assert_int_equal(chmod(folder, 0777), 0);
	assert_int_equal(trusting(&t), -EPERM);
	assert_int_equal(chmod(folder, 01777), 0);
	assert_int_equal(trusting(&t), -EPERM);
	assert_int_equal(chmod(folder, 0755), 0);
	put("b.pub", "kennel-key-1 " HEX "\n", 0664);
	assert_int_equal(trusting(&t), -EPERM);
	/* the same key twice, no key, a link */
	put("b.pub", "kennel-key-1 " HEX "\n", 0644);
	assert_int_equal(trusting(&t), -EEXIST);
	put("b.pub", "kennel-key-2 " HEX "\n", 0644);
	assert_int_equal(trusting(&t), -EINVAL);
	drop("b.pub");
	(void)snprintf(link, sizeof(link), "%s/b.pub", folder);
	assert_int_equal(symlink("a.pub", link), 0);
	assert_int_equal(trusting(&t), -ELOOP);
	drop("b.pub");
	/* how many, and who no more */
	put("threshold", "2\n", 0644);
	assert_int_equal(trusting(&t), -EINVAL);
	put("threshold", "0\n", 0644);
	assert_int_equal(trusting(&t), -EINVAL);
	put("threshold", "1\n", 0644);
	put("revoked", "# lost\n" HEX "  of A\n\n", 0644);
	assert_int_equal(trusting(&t), 0);
	assert_int_equal(t.revoked_n, 1);
	put("revoked", "00\n", 0644);
	assert_int_equal(trusting(&t), -EINVAL);
	drop("revoked");
	drop("threshold");
	drop("a.pub");
	assert_int_equal(rmdir(folder), 0);
	assert_int_equal(trusting(&t), 0); /* none is there: nothing is wanted */
	assert_false(t.wanted);
}

/* Signed as version n by these of the keys 1, 2 and 3, of which `trusted` are trusted. */
static int
admit(const char *dir, const char *name, uint64_t n, uint8_t id, const char *keys,
    const char *trusted, char why[256])
{
	static struct trust t;
	struct signed_by by = {.counter = n};
	uint8_t bytes[32] = {id};

	memset(&t, 0, sizeof(t));
	for (const char *k = trusted; *k != '\0'; k++)
		t.key[t.key_n++][0] = (uint8_t)*k;
	for (const char *k = keys; *k != '\0'; k++)
		by.key[by.trusted_n++][0] = (uint8_t)*k;
	return rollback_admit_in(dir, name, &by, &t, bytes, why, 256);
}

static void
no_way_back(void **state)
{
	char dir[] = "/var/tmp/kennel-seen-XXXXXX", path[64], why[256];

	assert_non_null(mkdtemp(dir));
	assert_int_equal(admit(dir, "s", 5, 1, "1", "1", why), 0);
	assert_int_equal(admit(dir, "s", 5, 1, "1", "1", why), 0);
	assert_int_equal(admit(dir, "s", 5, 2, "1", "1", why), -EEXIST);
	assert_int_equal(admit(dir, "s", 4, 1, "1", "1", why), -ESTALE);
	assert_non_null(strstr(why, "older"));
	assert_int_equal(admit(dir, "s", 6, 2, "1", "1", why), 0);
	assert_int_equal(admit(dir, "s", 5, 1, "1", "1", why), -ESTALE);
	/* another server has a number of its own */
	assert_int_equal(admit(dir, "t", 1, 1, "1", "1", why), 0);
	/* nor is it touched by one of a similar name */
	assert_int_equal(admit(dir, "t.new", 7, 1, "1", "1", why), 0);
	assert_int_equal(admit(dir, "t", 2, 1, "1", "1", why), 0);
	assert_int_equal(admit(dir, "t.new", 6, 1, "1", "1", why), -ESTALE);
	(void)snprintf(path, sizeof(path), "%s/t.new", dir);
	assert_int_equal(unlink(path), 0);
	/* what cannot be understood is not started over */
	(void)snprintf(path, sizeof(path), "%s/s", dir);
	assert_int_equal(truncate(path, 3), 0);
	assert_int_equal(admit(dir, "s", 9, 1, "1", "1", why), -EBADMSG);
	assert_int_equal(unlink(path), 0);
	(void)snprintf(path, sizeof(path), "%s/t", dir);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(dir), 0);
	assert_int_not_equal(admit(dir, "s", 9, 1, "1", "1", why), 0);
}

/* A key that is trusted no more must not keep out what the others sign next. */
static void
a_number_is_of_a_key(void **state)
{
	char dir[] = "/var/tmp/kennel-seen-XXXXXX", path[64], why[256], line[80];
	FILE *f;

	assert_non_null(mkdtemp(dir));
	assert_int_equal(admit(dir, "s", 900, 1, "1", "12", why), 0);
	/* of all keys that are trusted: no way back by the other one */
	assert_int_equal(admit(dir, "s", 6, 2, "2", "12", why), -ESTALE);
	assert_int_equal(admit(dir, "s", 900, 2, "2", "12", why), -EEXIST);
	assert_int_equal(admit(dir, "s", 6, 2, "2", "2", why), 0);
	assert_int_equal(admit(dir, "s", 5, 3, "2", "2", why), -ESTALE);
	/* and it counts again where it is trusted again */
	assert_int_equal(admit(dir, "s", 7, 3, "2", "12", why), -ESTALE);
	assert_int_equal(admit(dir, "s", 901, 3, "23", "123", why), 0);
	assert_int_equal(admit(dir, "s", 900, 1, "1", "13", why), -ESTALE);
	(void)snprintf(path, sizeof(path), "%s/s", dir);
	/* a line of an earlier version of kennel: of any key */
	f = fopen(path, "w");
	assert_non_null(f);
	memset(line, 'a', 64);
	line[64] = '\0';
	(void)fprintf(f, "50 %s\n", line);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(admit(dir, "s", 49, 1, "2", "2", why), -ESTALE);
	assert_int_equal(admit(dir, "s", 51, 1, "2", "2", why), 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(dir), 0);
}

static int
by_key(const void *a, const void *b)
{
	return memcmp(a, b, SIGN_KEY_LEN);
}

static int
group_setup(void **state)
{
	size_t i;

	assert_true(sodium_init() >= 0);
	for (i = 0; i < 3; i++)
		crypto_sign_keypair(signer[i].key, signer[i].secret);
	qsort(signer, 3, sizeof(signer[0]), by_key);
	buf_init(&good, SEALED_LEN_MAX);
	return fix_policy(&good);
}

static int
group_teardown(void **state)
{
	buf_free(&good);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(whose_signatures_count),
	    cmocka_unit_test(every_bit_counts),
	    cmocka_unit_test(only_signatures_behind_the_body),
	    cmocka_unit_test(the_trust_folder),
	    cmocka_unit_test(no_way_back),
	    cmocka_unit_test(a_number_is_of_a_key),
	};

	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
