/*
 * The vault at rest: what goes in comes out, nothing that was altered does, and
 * whoever dies while it is written leaves the old one or the new one.  S1-121
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "leash/vault/secret_path.h"
#include "leash/vault_file/private.h"
#include "shim/base/array.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/child.h"
#include "tests/unit/corpus.h"
#include "tests/unit/vault_fixture.h"

#define PASS  "correct horse"
#define VALUE "sentinel-9d7Qx-vault"
#define PATH  "team/github/token"
#define NOW   1800000000

/* ---- calls that fail, or end the process, on order -------------------------------- */

static int step, step_at = -1; /* the call that is counted; the one that fails */
static bool step_kills, step_half;

int __real_openat(int, const char *, int, ...);
ssize_t __real_write(int, const void *, size_t);
int __real_fsync(int);
int __real_renameat(int, const char *, int, const char *);
int __real_unlinkat(int, const char *, int);
int __wrap_openat(int, const char *, int, ...);
ssize_t __wrap_write(int, const void *, size_t);
int __wrap_fsync(int);
int __wrap_renameat(int, const char *, int, const char *);
int __wrap_unlinkat(int, const char *, int);

static bool
fails(void)
{
	if (step++ != step_at)
		return false;
	if (step_kills)
		(void)kill(getpid(), SIGKILL);
	errno = EIO;
	return true;
}

int
__wrap_openat(int folder, const char *path, int flags, ...)
{
	return fails() ? -1 : __real_openat(folder, path, flags, 0600);
}

ssize_t
__wrap_write(int fd, const void *bytes, size_t n)
{
	/* half of it stands there when the second half fails */
	if (step_half && n > 1)
		n /= 2;
	return fails() ? -1 : __real_write(fd, bytes, n);
}

int
__wrap_fsync(int fd)
{
	return fails() ? -1 : __real_fsync(fd);
}

int
__wrap_renameat(int from, const char *a, int to, const char *b)
{
	return fails() ? -1 : __real_renameat(from, a, to, b);
}

int
__wrap_unlinkat(int folder, const char *path, int flags)
{
	return fails() ? -1 : __real_unlinkat(folder, path, flags);
}

/* ---- what the tests are made of ------------------------------------------------------ */

static const struct vault_file_material pass = {
    OPENER_PASSPHRASE, PASS, sizeof(PASS) - 1};

static struct vault_file *
fresh(struct vault *pages)
{
	struct vault_file *c = NULL;

	assert_int_equal(vault_file_new(pages, &c), 0);
	c->passes = 1;
	c->kib = 8;
	assert_int_equal(vault_file_seal(c, &pass), 0);
	return c;
}

static void
put(struct vault_file *c, const char *path, const char *value, bool next)
{
	uint32_t version = 0;

	assert_int_equal(
	    vault_file_put(c, path, value, strlen(value), next, NOW, &version), 0);
	assert_true(version > 0);
}

/* One with two paths, one of them with an old version, and a grant. */
static void
filled(struct vault *pages, uint8_t **ret, size_t *ret_len)
{
	struct vault_file_grant grant = {PATH, "github", GRANT_POLICY, {1, 2, 3}, NOW};
	struct vault_file *c = fresh(pages);

	put(c, PATH, "old-value", false);
	put(c, PATH, VALUE, true);
	put(c, "team/jira/token", "another-value", false);
	assert_int_equal(vault_file_grant(c, &grant), 0);
	assert_int_equal(vault_file_write(c, NOW, ret, ret_len), 0);
	vault_file_free(c);
}

/* What a reader makes of it: 0 only when it was believed. */
static int
read_bytes(struct vault *pages, const uint8_t *bytes, size_t len)
{
	struct vault_file *c = NULL;
	struct reason why;
	int r = vault_file_parse(pages, bytes, len, &c, &why);

	if (r < 0)
		return r;
	r = vault_file_unlock(c, &pass);
	assert_int_equal(vault_file_is_open(c), r == 0);
	vault_file_free(c);
	return r;
}

static struct vault_file *
reread(struct vault *pages, struct vault_file *c, bool unlock)
{
	struct vault_file *again = NULL;
	uint8_t *bytes;
	struct reason why;
	size_t len;

	assert_int_equal(vault_file_again(c, &bytes, &len), 0);
	vault_file_free(c);
	assert_int_equal(vault_file_parse(pages, bytes, len, &again, &why), 0);
	free(bytes);
	if (unlock)
		assert_int_equal(vault_file_unlock(again, &pass), 0);
	return again;
}

static void
holds(struct vault_file *c, const char *path, const char *value)
{
	static char out[VAULT_VALUE_MAX];
	size_t len = 0;

	assert_int_equal(vault_file_get(c, path, 0, out, &len), 0);
	assert_int_equal(len, strlen(value));
	assert_memory_equal(out, value, len);
}

/* ---- tests ---------------------------------------------------------------------------- */

static void
what_goes_in_comes_out(void **state)
{
	struct vault_file_material wrong = {OPENER_PASSPHRASE, "wrong", 5};
	struct vault_file_material none = {OPENER_KEY_FILE, "wrong", 5};
	struct vault_file *c = fresh(*state);
	uint8_t *bytes, out[64];
	size_t len;
	uint32_t n;

	put(c, PATH, "old-value", false);
	put(c, PATH, VALUE, true);
	assert_int_equal(vault_file_write(c, NOW, &bytes, &len), 0);
	assert_null(memmem(bytes, len, VALUE, strlen(VALUE)));
	assert_null(memmem(bytes, len, PASS, strlen(PASS)));
	free(bytes);
	c = reread(*state, c, false);
	assert_int_equal(vault_file_get(c, PATH, 0, out, &len), -ENOKEY);
	assert_int_equal(vault_file_put(c, PATH, "abcd", 4, true, NOW, &n), -ENOKEY);
	assert_int_equal(vault_file_unlock(c, &wrong), -EKEYREJECTED);
	assert_int_equal(vault_file_unlock(c, &none), -ENOENT);
	assert_false(vault_file_is_open(c));
	assert_int_equal(vault_file_unlock(c, &pass), 0);
	holds(c, PATH, VALUE);
	assert_int_equal(vault_file_get(c, "team/github/none", 0, out, &len), -ENOENT);
	vault_file_lock(c);
	assert_int_equal(vault_file_get(c, PATH, 0, out, &len), -ENOKEY);
	vault_file_free(c);
}

static void
each_envelope_opens_it(void **state)
{
	struct vault_file *c = fresh(*state);
	struct vault_file_material key = {OPENER_KEY_FILE, "0123456789abcdef", 16};
	struct vault_file_material words = {OPENER_RECOVERY, "0123456789abcdef", 16};
	uint8_t *bytes;
	size_t len;

	assert_int_equal(vault_file_seal(c, &words), 0);
	assert_int_equal(vault_file_seal(c, &key), 0);
	put(c, PATH, VALUE, false);
	assert_int_equal(vault_file_write(c, NOW, &bytes, &len), 0);
	free(bytes);
	c = reread(*state, c, true);
	assert_int_equal(vault_file_unlock(c, &key), 0);
	holds(c, PATH, VALUE);
	assert_int_equal(vault_file_unlock(c, &words), 0);
	/* the same bytes in another envelope: bound to its kind */
	assert_int_equal(c->envelope_n, 3);
	words.bytes = PASS;
	words.len = strlen(PASS);
	assert_int_equal(vault_file_unlock(c, &words), -EKEYREJECTED);
	vault_file_free(c);
}

static void
every_flipped_bit_shows(void **state)
{
	uint8_t *bytes;
	size_t len;

	filled(*state, &bytes, &len);
	corpus_keep("filled", bytes, len);
	corpus_keep("cut-header", bytes, 40);
	corpus_keep("cut-index", bytes, 220);
	corpus_keep("cut-value", bytes, len - 5);
	assert_int_equal(read_bytes(*state, bytes, len), 0); /* the control */
	for (size_t i = 0; i < len; i++) {
		for (int bit = 0; bit < 8; bit++) {
			bytes[i] ^= (uint8_t)(1 << bit);
			if (read_bytes(*state, bytes, len) == 0)
				fail_msg("byte %zu, bit %d is not looked at", i, bit);
			bytes[i] ^= (uint8_t)(1 << bit);
		}
	}
	assert_int_equal(read_bytes(*state, bytes, len), 0);
	free(bytes);
}

static void
every_other_length_is_refused(void **state)
{
	uint8_t *bytes, *exact;
	size_t len;

	filled(*state, &bytes, &len);
	for (size_t cut = 0; cut < len; cut++) {
		exact = malloc(cut + !cut); /* ASan sees one byte too far */
		memcpy(exact, bytes, cut);
		assert_int_equal(read_bytes(*state, exact, cut), -EBADMSG);
		free(exact);
	}
	exact = calloc(1, len + 1);
	memcpy(exact, bytes, len);
	assert_int_equal(read_bytes(*state, exact, len + 1), -EBADMSG);
	assert_int_equal(read_bytes(*state, exact, len), 0);
	free(exact);
	free(bytes);
}

/* What somebody makes who understands the format and has no key. */
static struct vault_file *
parsed(struct vault *pages)
{
	struct vault_file *c = NULL;
	uint8_t *bytes;
	struct reason why;
	size_t len;

	filled(pages, &bytes, &len);
	assert_int_equal(vault_file_parse(pages, bytes, len, &c, &why), 0);
	free(bytes);
	return c;
}

static int
forged(struct vault *pages, struct vault_file *c)
{
	uint8_t *bytes;
	size_t len;
	int r;

	assert_int_equal(vault_file_again(c, &bytes, &len), 0);
	vault_file_free(c);
	r = read_bytes(pages, bytes, len);
	free(bytes);
	return r;
}

static void
a_dropped_version_shows(void **state)
{
	struct vault_file *c = parsed(*state);

	/* the newest is gone, and the old one counts again */
	assert_int_equal(c->entry_n, 3);
	free((char *)c->entry[1].said.path);
	free(c->entry[1].sealed);
	c->entry[1] = c->entry[2];
	c->entry_n = 2;
	c->entry[0].said.retired = 0;
	assert_int_equal(forged(*state, c), -EUCLEAN);
	/* and without that, no path is left without a value */
	c = parsed(*state);
	free((char *)c->entry[1].said.path);
	free(c->entry[1].sealed);
	c->entry[1] = c->entry[2];
	c->entry_n = 2;
	assert_int_equal(forged(*state, c), -EBADMSG);
	c = parsed(*state);
	assert_int_equal(forged(*state, c), 0); /* the control */
}

static void
swapped_values_show(void **state)
{
	struct vault_file *c = parsed(*state);
	struct vault_entry a = c->entry[0], b = c->entry[1];

	/* value for value: the tags in the index are not theirs */
	assert_true(a.said.len < b.said.len);
	c->entry[0].said.len = b.said.len;
	c->entry[1].said.len = a.said.len;
	c->entry[0].sealed = b.sealed;
	c->entry[1].sealed = a.sealed;
	assert_int_equal(forged(*state, c), -EUCLEAN);
	/* with their lines' tags and nonces, too */
	c = parsed(*state);
	a = c->entry[0];
	b = c->entry[1];
	c->entry[0] = b;
	c->entry[1] = a;
	c->entry[0].said = a.said;
	c->entry[0].said.len = b.said.len;
	c->entry[1].said = b.said;
	c->entry[1].said.len = a.said.len;
	assert_int_equal(forged(*state, c), -EUCLEAN);
}

/* The commitment apart: a value opens under its own path and version only. */
static void
a_value_is_bound_to_its_place(void **state)
{
	struct vault_file *c = fresh(*state);
	struct vault_entry moved;
	uint8_t out[64];

	put(c, PATH, VALUE, false);
	moved = c->entry[0];
	assert_int_equal(entry_open(c, &moved, out), 0);
	moved.said.version++;
	assert_int_equal(entry_open(c, &moved, out), -EUCLEAN);
	moved.said.version--;
	moved.said.path = "team/github/other";
	assert_int_equal(entry_open(c, &moved, out), -EUCLEAN);
	moved.said.path = PATH;
	c->id[0] ^= 1;
	assert_int_equal(entry_open(c, &moved, out), -EUCLEAN);
	vault_file_free(c);
}

static void
lines_out_of_order_are_refused(void **state)
{
	struct vault_file *c = parsed(*state);
	struct vault_entry e = c->entry[0];

	c->entry[0] = c->entry[2];
	c->entry[2] = e;
	assert_int_equal(forged(*state, c), -EBADMSG);
	/* twice the same line */
	c = parsed(*state);
	c->entry[2].said.version = 1;
	free((char *)c->entry[2].said.path);
	c->entry[2].said.path = strdup(PATH);
	assert_int_equal(forged(*state, c), -EBADMSG);
}

static void
grants_of_nobody_show(void **state)
{
	struct vault_file *c = parsed(*state);

	c->grant[0].id[0] ^= 1;
	assert_int_equal(forged(*state, c), -EUCLEAN);
	c = parsed(*state);
	free((char *)c->grant[0].server);
	c->grant[0].server = strdup("gitlab");
	assert_int_equal(forged(*state, c), -EUCLEAN);
	/* one that was taken back, from an older file */
	c = parsed(*state);
	c->generation++;
	assert_int_equal(forged(*state, c), -EUCLEAN);
}

static void
bombs_are_refused_before_they_burst(void **state)
{
	static const uint32_t bomb[][2] = {
	    {0, 8}, {VAULT_FILE_PASSES_MAX + 1, 8}, {UINT32_MAX, 8}, {1, 0}, {1, 7},
	    {1, VAULT_FILE_KIB_MAX + 1}, {1, UINT32_MAX}, {UINT32_MAX, UINT32_MAX},
	    {VAULT_FILE_PASSES_MAX, VAULT_FILE_KIB_MAX}, /* each in bounds */
	};
	uint8_t *bytes;
	size_t len;

	filled(*state, &bytes, &len);
	for (size_t i = 0; i < ARRAY_LEN(bomb); i++) {
		memcpy(bytes + HEADER_LEN + 4, bomb[i], sizeof(bomb[i]));
		corpus_keep(i < 5 ? "passes" : "kib", bytes, len);
		assert_int_equal(read_bytes(*state, bytes, len), -EBADMSG);
	}
	free(bytes);
	filled(*state, &bytes, &len);
	for (uint32_t version = 0; version < 4; version++) {
		memcpy(bytes + 8, &version, sizeof(version));
		assert_int_equal(read_bytes(*state, bytes, len),
		    version == FILE_VERSION ? 0 : -EBADMSG);
	}
	/* counts that would be allocated */
	for (size_t at = 12; at < 24; at += 4) {
		uint32_t many = 0x7fffffff, kept;

		memcpy(bytes + 8, &(uint32_t){FILE_VERSION}, 4);
		memcpy(&kept, bytes + at, 4);
		memcpy(bytes + at, &many, 4);
		corpus_keep(at == 12   ? "envelopes"
			    : at == 16 ? "values"
				       : "grants",
		    bytes, len);
		assert_int_equal(read_bytes(*state, bytes, len), -EBADMSG);
		memcpy(bytes + at, &kept, 4);
	}
	free(bytes);
}

static void
versions(void **state)
{
	struct vault_file *c = fresh(*state);
	char *room = vault_scratch(*state, VAULT_VALUE_MAX);
	uint32_t n = 0;
	size_t len = 0;

	put(c, PATH, "first-value", false);
	assert_int_equal(vault_file_put(c, PATH, "abcd", 4, false, NOW, &n), -EEXIST);
	assert_int_equal(
	    vault_file_put(c, "team/no/one", "abcd", 4, true, NOW, &n), -ENOENT);
	put(c, PATH, "second-value", true);
	put(c, "team/zz/last", "of-another-path", false);
	/* the scrubber's: those that were replaced, and of no other path */
	assert_int_equal(vault_file_get(c, PATH, 1, room, &len), 0);
	assert_int_equal(len, strlen("first-value"));
	assert_memory_equal(room, "first-value", len);
	assert_int_equal(vault_file_get(c, PATH, 2, room, &len), -ENOENT);
	assert_int_equal(vault_file_get(c, "team/zz/last", 1, room, &len), -ENOENT);
	assert_int_equal(vault_file_get(c, PATH, UINT32_MAX, room, &len), -ENOENT);
	assert_int_equal(vault_file_get(c, "team/no/one", 1, room, &len), -ENOENT);
	assert_int_equal(vault_file_remove(c, "team/zz/last"), 0);
	assert_int_equal(vault_file_entry_n(c), 2);
	assert_int_equal(vault_file_entry(c, 0).retired, NOW);
	assert_int_equal(vault_file_entry(c, 1).retired, 0);
	assert_int_equal(vault_file_restore(c, PATH, 2, NOW, &n), -EEXIST);
	assert_int_equal(vault_file_restore(c, PATH, 7, NOW, &n), -ENOENT);
	assert_int_equal(vault_file_restore(c, PATH, 1, NOW, &n), 0);
	assert_int_equal(n, 3);
	holds(c, PATH, "first-value");
	/* old ones go when their time is over, and not before */
	assert_int_equal(vault_file_prune(c, NOW + VAULT_FILE_GRACE_S), 0);
	assert_int_equal(vault_file_prune(c, NOW + VAULT_FILE_GRACE_S + 1), 2);
	assert_int_equal(vault_file_entry_n(c), 1);
	holds(c, PATH, "first-value");
	assert_int_equal(vault_file_remove(c, PATH), 0);
	assert_int_equal(vault_file_remove(c, PATH), -ENOENT);
	assert_int_equal(vault_file_entry_n(c), 0);
	vault_file_free(c);
}

static void
what_is_no_value_is_refused(void **state)
{
	static const char *const path[] = {"", "a", "a/b", "A/b/c", "a//c", "/a/b/c",
	    "a/b/c/", "a/b/1c", "a/b/-c", "a/b/c d", "a/b/c\n", "__sys/a/b", "a/b/../c"};
	struct vault_file *c = fresh(*state);
	char *big = malloc(VAULT_VALUE_MAX + 1);
	uint32_t n;

	for (size_t i = 0; i < ARRAY_LEN(path); i++) {
		assert_false(secret_path_good(path[i]));
		assert_int_equal(
		    vault_file_put(c, path[i], "abcd", 4, false, NOW, &n), -EINVAL);
	}
	assert_true(secret_path_good("a/b/c"));
	assert_true(secret_path_good("a/b1-/c/d"));
	memset(big, 'a', VAULT_VALUE_MAX + 1);
	assert_int_equal(vault_file_put(c, PATH, big, 3, false, NOW, &n), -EINVAL);
	assert_int_equal(
	    vault_file_put(c, PATH, big, VAULT_VALUE_MAX + 1, false, NOW, &n), -EINVAL);
	big[5] = '\0';
	assert_int_equal(vault_file_put(c, PATH, big, 16, false, NOW, &n), -EINVAL);
	big[5] = 'a';
	assert_int_equal(
	    vault_file_put(c, PATH, big, VAULT_VALUE_MAX, false, NOW, &n), 0);
	free(big);
	vault_file_free(c);
}

/* ---- grants ----------------------------------------------------------------------------- */

struct policy_of {
	uint8_t id[VAULT_FILE_ID_LEN];
	struct sign_head head;
	struct sign_row row;
};

static void
sign(struct policy_of *p, uint8_t fill, const uint8_t *key, const uint8_t *secret)
{
	struct sign_message m = {.domain = SIGN_DOMAIN};

	memset(p->id, fill, sizeof(p->id));
	p->head = (struct sign_head){.version = SIGN_VERSION, .counter = 1};
	memcpy(p->head.magic, SIGN_MAGIC, sizeof(p->head.magic));
	m.head = p->head;
	memcpy(m.id, p->id, sizeof(m.id));
	p->head.signer_n = 1;
	memcpy(p->row.key, key, SIGN_KEY_LEN);
	(void)crypto_sign_detached(
	    p->row.sig, NULL, (const uint8_t *)&m, sizeof(m), secret);
}

static bool
may(struct vault_file *c, const struct policy_of *p, const char *path, const char *server)
{
	struct vault_file_asker a = {.path = path,
	    .server = server,
	    .id = p->id,
	    .head = p->head.signer_n > 0 ? &p->head : NULL,
	    .row = &p->row,
	    .row_n = p->head.signer_n,
	    .today = 20000};

	return vault_file_allows(c, &a);
}

static void
a_policy_may_what_was_granted(void **state)
{
	struct vault_file_grant grant = {PATH, "github", GRANT_POLICY, {0}, NOW};
	struct policy_of p = {.id = {7}}, other = {.id = {8}};
	struct vault_file *c = fresh(*state);

	memcpy(grant.id, p.id, sizeof(grant.id));
	assert_false(may(c, &p, PATH, "github"));
	assert_int_equal(vault_file_grant(c, &grant), 0);
	assert_int_equal(vault_file_grant(c, &grant), -EEXIST);
	assert_true(may(c, &p, PATH, "github"));
	assert_false(may(c, &p, PATH, "gitlab"));
	assert_false(may(c, &p, "team/github/other", "github"));
	assert_false(may(c, &other, PATH, "github")); /* it was changed */
	assert_true(vault_file_granted_once(c, PATH, "github"));
	vault_file_lock(c);
	assert_false(may(c, &p, PATH, "github"));
	assert_int_equal(vault_file_unlock(c, &pass), -EUCLEAN); /* nobody wrote it */
	vault_file_free(c);
	c = fresh(*state);
	assert_int_equal(vault_file_grant(c, &grant), 0);
	assert_int_equal(vault_file_revoke(c, PATH, "gitlab", NULL), 0);
	assert_int_equal(vault_file_revoke(c, PATH, "github", NULL), 1);
	assert_false(may(c, &p, PATH, "github"));
	vault_file_free(c);
}

static void
a_signer_may_change_the_policy(void **state)
{
	uint8_t key[2][SIGN_KEY_LEN], secret[2][64];
	struct vault_file_grant grant = {PATH, "github", GRANT_SIGNER, {0}, NOW};
	struct vault_file *c = fresh(*state);
	struct policy_of p;

	for (int i = 0; i < 2; i++)
		assert_int_equal(crypto_sign_keypair(key[i], secret[i]), 0);
	memcpy(grant.id, key[0], sizeof(grant.id));
	assert_int_equal(vault_file_grant(c, &grant), 0);
	sign(&p, 1, key[0], secret[0]);
	assert_true(may(c, &p, PATH, "github"));
	sign(&p, 2, key[0], secret[0]); /* another policy, the same signer */
	assert_true(may(c, &p, PATH, "github"));
	p.id[0] ^= 1; /* another policy under an old signature */
	assert_false(may(c, &p, PATH, "github"));
	sign(&p, 2, key[1], secret[1]);
	assert_false(may(c, &p, PATH, "github"));
	sign(&p, 2, key[0], secret[1]); /* says that it is the signer */
	assert_false(may(c, &p, PATH, "github"));
	sign(&p, 2, key[0], secret[0]);
	p.head.until = 20001;
	assert_false(may(c, &p, PATH, "github"));
	p.head = (struct sign_head){0}; /* unsigned */
	assert_false(may(c, &p, PATH, "github"));
	vault_file_free(c);
}

/* ---- the file ----------------------------------------------------------------------------- */

static char folder[64];

static int
open_folder(void)
{
	int fd;

	(void)snprintf(folder, sizeof(folder), "/tmp/kennel-container.XXXXXX");
	assert_non_null(mkdtemp(folder));
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static void
close_folder(int fd)
{
	(void)unlinkat(fd, VAULT_FILE_NAME, 0);
	(void)unlinkat(fd, VAULT_FILE_NAME ".new", 0);
	(void)unlinkat(fd, "other", 0);
	assert_int_equal(rmdir(folder), 0);
	(void)close(fd);
}

/* "old" or "new": what stands on the disk now. */
static const char *
on_disk(struct vault *pages, int fd)
{
	static char value[VAULT_VALUE_MAX];
	struct vault_file_seen seen = {0};
	struct vault_file *c = NULL;
	static struct reason why;
	size_t len = 0;
	int r = vault_file_load(fd, pages, &c, &seen, &why);

	if (r < 0)
		return why.text;
	assert_int_equal(vault_file_unlock(c, &pass), 0);
	assert_int_equal(vault_file_get(c, PATH, 0, value, &len), 0);
	value[len] = '\0';
	vault_file_free(c);
	return value;
}

/* Reads the vault in folder, makes the next version, writes it: as a keeper. */
static int
next_version(struct vault *pages, int fd)
{
	struct vault_file_seen seen = {0};
	struct vault_file *c = NULL;
	uint8_t *bytes = NULL;
	struct reason why;
	uint32_t version;
	size_t len;
	int r = vault_file_load(fd, pages, &c, &seen, &why);

	if (r == 0)
		r = vault_file_unlock(c, &pass);
	if (r == 0)
		r = vault_file_put(c, PATH, "the-new-one", 11, true, NOW, &version);
	if (r == 0)
		r = vault_file_write(c, NOW, &bytes, &len);
	if (r == 0) {
		step = 0;
		r = vault_file_save(fd, bytes, len, &seen);
	}
	free(bytes);
	vault_file_free(c);
	return r;
}

static void
write_old(struct vault *pages, int fd)
{
	struct vault_file_seen seen = {0};
	struct vault_file *c = fresh(pages);
	uint8_t *bytes;
	size_t len;

	step_at = -1;
	(void)unlinkat(fd, VAULT_FILE_NAME, 0);
	put(c, PATH, "the-old-one", false);
	assert_int_equal(vault_file_write(c, NOW, &bytes, &len), 0);
	assert_int_equal(vault_file_save(fd, bytes, len, &seen), 0);
	free(bytes);
	vault_file_free(c);
}

/* Killed at its at-th step; true when it got through. */
static bool
killed_at(struct vault *pages, int fd, int at)
{
	int status;
	pid_t pid;

	(void)pages;
	pid = test_fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct vault *own = NULL; /* pages are in no child */

		if (vault_new(1u << 20, &own) < 0)
			_exit(3);
		step_at = at;
		step = 1000000; /* what reads is no step of the write */
		step_kills = true;
		_exit(next_version(own, fd) == 0 ? 0 : 2);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status)) {
		assert_int_equal(WEXITSTATUS(status), 0);
		return true;
	}
	assert_int_equal(WTERMSIG(status), SIGKILL);
	return false;
}

static void
killed_at_every_step_of_a_write(void **state)
{
	int fd = open_folder(), old = 0, new = 0, at = 0;
	bool through = false;

	for (int half = 0; half < 2; half++) {
		step_half = half != 0;
		for (at = 0, through = false; !through; at++) {
			const char *value;

			write_old(*state, fd);
			through = killed_at(*state, fd, at);
			value = on_disk(*state, fd);
			if (strcmp(value, "the-new-one") == 0)
				new ++;
			else {
				assert_string_equal(value, "the-old-one");
				assert_false(through);
				old++;
			}
			/* and the next write goes through, whatever was left */
			assert_int_equal(next_version(*state, fd), 0);
			assert_string_equal(on_disk(*state, fd), "the-new-one");
		}
		assert_true(at >= 7); /* unlink open write fsync rename fsync, and none */
	}
	assert_true(old > 8 && new > 2);
	step_half = false;
	close_folder(fd);
}

static void
every_step_may_fail(void **state)
{
	int fd = open_folder(), failed = 0, at, r = -1;

	for (at = 0; r != 0; at++) {
		write_old(*state, fd);
		step = 1000000;
		step_at = at;
		r = next_version(*state, fd);
		step_at = -1;
		failed += r != 0;
		/* the folder's fsync fails: the new one stands there already */
		if (r != 0 && strcmp(on_disk(*state, fd), "the-new-one") != 0)
			assert_string_equal(on_disk(*state, fd), "the-old-one");
	}
	assert_true(failed >= 5);
	assert_string_equal(on_disk(*state, fd), "the-new-one");
	close_folder(fd);
}

static void
a_file_that_others_may_touch_is_refused(void **state)
{
	static const mode_t bad[] = {0644, 0640, 0604, 0660, 0700, 0400, 01600};
	struct vault_file_seen seen = {0};
	struct vault_file *c = NULL;
	struct reason why;
	char path[128], other[128];
	int fd = open_folder();

	(void)snprintf(path, sizeof(path), "%s/%s", folder, VAULT_FILE_NAME);
	(void)snprintf(other, sizeof(other), "%s/other", folder);
	assert_int_equal(vault_file_load(fd, *state, &c, &seen, &why), -ENOENT);
	write_old(*state, fd);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		assert_int_equal(chmod(path, bad[i]), 0);
		if (geteuid() != 0 && (bad[i] & 0400) == 0)
			continue;
		assert_int_equal(vault_file_load(fd, *state, &c, &seen, &why), -EACCES);
	}
	assert_int_equal(chmod(path, 0600), 0);
	assert_string_equal(on_disk(*state, fd), "the-old-one");
	assert_int_equal(link(path, other), 0);
	assert_int_equal(vault_file_load(fd, *state, &c, &seen, &why), -EACCES);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("other", path), 0);
	assert_int_equal(vault_file_load(fd, *state, &c, &seen, &why), -EACCES);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(vault_file_load(fd, *state, &c, &seen, &why), -EACCES);
	if (geteuid() == 0) { /* somebody else's */
		assert_int_equal(unlink(path), 0);
		assert_int_equal(rename(other, path), 0);
		assert_int_equal(chown(path, 65534, 65534), 0);
		assert_int_equal(vault_file_load(fd, *state, &c, &seen, &why), -EACCES);
	}
	close_folder(fd);
}

static void
another_file_in_its_place_is_not_overwritten(void **state)
{
	struct vault_file_seen none = {0}, seen = {0};
	struct vault_file *c = NULL;
	uint8_t bytes[] = "not looked at here";
	struct reason why;
	int fd = open_folder();

	write_old(*state, fd);
	assert_int_equal(vault_file_save(fd, bytes, sizeof(bytes), &none), -EEXIST);
	assert_int_equal(vault_file_load(fd, *state, &c, &seen, &why), 0);
	vault_file_free(c);
	write_old(*state, fd); /* as if put back from a copy */
	assert_int_equal(vault_file_save(fd, bytes, sizeof(bytes), &seen), -ESTALE);
	assert_string_equal(on_disk(*state, fd), "the-old-one");
	close_folder(fd);
}

/* ---- phrases ---------------------------------------------------------------------------- */

static void
a_phrase_is_read_as_it_was_written(void **state)
{
	uint8_t bytes[PHRASE_BYTES], again[PHRASE_BYTES];
	char text[PHRASE_LEN], wrong[PHRASE_LEN + 16];

	for (int i = 0; i < 1000; i++) {
		phrase_draw(bytes);
		phrase_write(bytes, text);
		assert_int_equal(strlen(text), PHRASE_LEN - 1);
		assert_int_equal(phrase_read(text, strlen(text), again), 0);
		assert_memory_equal(bytes, again, sizeof(bytes));
	}
	for (char *c = text; *c != '\0'; c++)
		*c = *c == ' ' ? '-' : (char)(*c - 'a' + 'A');
	assert_int_equal(phrase_read(text, strlen(text), again), 0);
	assert_memory_equal(bytes, again, sizeof(bytes));
	assert_int_equal(phrase_read(text, strlen(text) - 1, again), -EINVAL);
	assert_int_equal(phrase_read("", 0, again), -EINVAL);
	(void)snprintf(wrong, sizeof(wrong), "%s babab", text);
	assert_int_equal(phrase_read(wrong, strlen(wrong), again), -EINVAL);
	/* one letter for another: seen nearly always, by sixteen bits */
	memcpy(wrong, text, sizeof(text));
	wrong[0] = wrong[0] == 'B' ? 'D' : 'B';
	assert_int_equal(phrase_read(wrong, strlen(wrong), again), -EINVAL);
}

static void
corpus_is_replayed(void **state)
{
	static const char corpus[] = "tests/fuzz/corpus/vault";

	if (access(corpus, R_OK) < 0) {
		print_message("%s is not here\n", corpus);
		skip();
	}
	assert_true(corpus_each(corpus, corpus_input) > 5);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_goes_in_comes_out),
	    cmocka_unit_test(each_envelope_opens_it),
	    cmocka_unit_test(every_flipped_bit_shows),
	    cmocka_unit_test(every_other_length_is_refused),
	    cmocka_unit_test(a_dropped_version_shows),
	    cmocka_unit_test(swapped_values_show),
	    cmocka_unit_test(a_value_is_bound_to_its_place),
	    cmocka_unit_test(lines_out_of_order_are_refused),
	    cmocka_unit_test(grants_of_nobody_show),
	    cmocka_unit_test(bombs_are_refused_before_they_burst),
	    cmocka_unit_test(versions),
	    cmocka_unit_test(what_is_no_value_is_refused),
	    cmocka_unit_test(a_policy_may_what_was_granted),
	    cmocka_unit_test(a_signer_may_change_the_policy),
	    cmocka_unit_test(killed_at_every_step_of_a_write),
	    cmocka_unit_test(every_step_may_fail),
	    cmocka_unit_test(a_file_that_others_may_touch_is_refused),
	    cmocka_unit_test(another_file_in_its_place_is_not_overwritten),
	    cmocka_unit_test(a_phrase_is_read_as_it_was_written),
	    cmocka_unit_test(corpus_is_replayed),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
