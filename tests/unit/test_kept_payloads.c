/*
 * Payloads kept beside the log: what comes back is what went in, nothing of it lies
 * there to be read, another's bytes are not taken for it, and what was removed is
 * gone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/base/array.h"
#include "supervisor/audit/log/kept_payloads.h"
#include "tests/unit/audit_fixture.h"

#define MARK "p4yl0ad-mark-that-is-nowhere-else"

static char folder[64];

static int
make_folder(void **state)
{
	(void)strcpy(folder, "/tmp/kennel-payload-XXXXXX");
	assert_non_null(mkdtemp(folder));
	return 0;
}

static int
drop_folder(void **state)
{
	remove_folder(folder);
	return 0;
}

/* Does any file of the folder hold these bytes? */
static bool
lies_there(const char *text)
{
	DIR *dir = opendir(folder);
	struct dirent *e;
	bool found = false;

	while ((e = readdir(dir)) != NULL) {
		static char bytes[4 << 20];
		char path[400];
		FILE *f;
		size_t n;

		(void)snprintf(path, sizeof(path), "%s/%s", folder, e->d_name);
		f = e->d_name[0] != '.' ? fopen(path, "rb") : NULL;
		if (f == NULL)
			continue;
		n = fread(bytes, 1, sizeof(bytes), f);
		(void)fclose(f);
		found |= memmem(bytes, n, text, strlen(text)) != NULL;
	}
	closedir(dir);
	return found;
}

static void
test_round(void **state)
{
	static char big[300000];
	static const struct {
		const char *bytes;
		size_t len;
	} row[] = {{"", 0}, {"{}", 2}, {MARK, sizeof(MARK) - 1}, {big, sizeof(big)}};
	struct payloads *p = NULL;
	uint8_t digest[MERKLE_HASH_LEN];
	size_t len;
	void *got;

	assert_int_equal(payloads_open(folder, false, &p), -ENOENT);
	assert_int_equal(payloads_open(folder, true, &p), 0);
	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		assert_int_equal(payloads_put(p, i, row[i].bytes, row[i].len, digest), 0);
		/* the same twice is one */
		assert_int_equal(payloads_put(p, i, row[i].bytes, row[i].len, digest), 0);
		assert_int_equal(payloads_get(p, digest, &got, &len), 0);
		assert_int_equal(len, row[i].len);
		assert_memory_equal(got, row[i].bytes, len);
		free(got);
	}
	assert_int_equal(payloads_put(p, 0, big, PAYLOAD_MAX + 1, digest), -EMSGSIZE);
	digest[0] ^= 1;
	assert_int_equal(payloads_get(p, digest, &got, &len), -ENOENT);
	payloads_close(p);
	assert_false(lies_there(MARK));
}

static void
run_sql(const char *sql)
{
	char path[200];
	sqlite3 *db;

	(void)snprintf(path, sizeof(path), "%s/payload.db", folder);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* Bytes that were changed or swapped are not what was said. */
static void
test_altered(void **state)
{
	struct payloads *p = NULL;
	uint8_t a[MERKLE_HASH_LEN], b[MERKLE_HASH_LEN];
	size_t len;
	void *got;

	assert_int_equal(payloads_open(folder, true, &p), 0);
	assert_int_equal(payloads_put(p, 1, "one", 3, a), 0);
	assert_int_equal(payloads_put(p, 2, "two", 3, b), 0);
	assert_int_equal(payloads_get(p, a, &got, &len), 0); /* the control */
	free(got);
	payloads_close(p);
	run_sql("UPDATE payload SET sealed = (SELECT sealed FROM payload WHERE ts = 2) "
		"WHERE ts = 1");
	assert_int_equal(payloads_open(folder, false, &p), 0);
	assert_int_equal(payloads_get(p, a, &got, &len), -EBADMSG);
	assert_int_equal(payloads_get(p, b, &got, &len), 0);
	free(got);
	payloads_close(p);
	run_sql("UPDATE payload SET sealed = zeroblob(4) WHERE ts = 1");
	assert_int_equal(payloads_open(folder, false, &p), 0);
	assert_int_equal(payloads_get(p, a, &got, &len), -EBADMSG);
	payloads_close(p);
	run_sql("CREATE VIEW v AS SELECT 1");
	assert_int_equal(payloads_open(folder, false, &p), -EBADMSG);
	run_sql("DROP VIEW v");
}

static void
test_key(void **state)
{
	struct payloads *p = NULL;
	uint8_t a[MERKLE_HASH_LEN];
	char path[200];
	struct stat st;
	size_t len;
	void *got;

	assert_int_equal(payloads_open(folder, true, &p), 0);
	assert_int_equal(payloads_put(p, 1, "one", 3, a), 0);
	payloads_close(p);
	(void)snprintf(path, sizeof(path), "%s/payload.key", folder);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	(void)snprintf(path, sizeof(path), "%s/payload.db", folder);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	(void)snprintf(path, sizeof(path), "%s/payload.key", folder);
	assert_int_equal(chmod(path, 0640), 0);
	assert_int_equal(payloads_open(folder, true, &p), -EPERM);
	assert_int_equal(chmod(path, 0600), 0);
	assert_int_equal(truncate(path, 31), 0);
	assert_int_equal(payloads_open(folder, true, &p), -EBADMSG);
	/* another key opens nothing; without any, readers find none */
	assert_int_equal(unlink(path), 0);
	assert_int_equal(payloads_open(folder, false, &p), -ENOENT);
	assert_int_equal(payloads_open(folder, true, &p), 0);
	assert_int_equal(payloads_get(p, a, &got, &len), -EBADMSG);
	payloads_close(p);
}

static void
test_prune(void **state)
{
	struct payloads *p = NULL;
	uint8_t a[MERKLE_HASH_LEN], b[MERKLE_HASH_LEN];
	uint64_t n = 0;
	size_t len;
	void *got;

	assert_int_equal(payloads_open(folder, true, &p), 0);
	assert_int_equal(payloads_put(p, 100, "old", 3, a), 0);
	assert_int_equal(payloads_put(p, 200, "young", 5, b), 0);
	assert_int_equal(payloads_prune(p, 150, &n), 0);
	assert_true(n >= 1);
	assert_int_equal(payloads_get(p, a, &got, &len), -ENOENT);
	assert_int_equal(payloads_get(p, b, &got, &len), 0);
	free(got);
	payloads_close(p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(test_round, make_folder, drop_folder),
	    cmocka_unit_test_setup_teardown(test_altered, make_folder, drop_folder),
	    cmocka_unit_test_setup_teardown(test_key, make_folder, drop_folder),
	    cmocka_unit_test_setup_teardown(test_prune, make_folder, drop_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
