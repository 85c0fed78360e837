/*
 * A directory that an installer has filled, and what npm prints: nothing of them leaves
 * the tree or the line.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/base/array.h"
#include "shim/base/fd.h"
#include "supervisor/draft/npm_lock.h"
#include "supervisor/install/file_tree.h"
#include "supervisor/install/installer.h"
#include "supervisor/draft/signed_set.h"
#include "tests/unit/corpus.h"

static char top[] = "/tmp/kennel-install-XXXXXX";
static int from = -1, to = -1;

static void
put(const char *path, const char *text, mode_t mode)
{
	int fd = openat(from, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

	assert_true(fd >= 0);
	assert_int_equal(fd_write_all(fd, text, strlen(text)), 0);
	assert_int_equal(fchmod(fd, mode), 0);
	fd_close(&fd);
}

static int
begin(void **state)
{
	int dir = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_true(dir >= 0);
	assert_int_equal(mkdirat(dir, "from", 0700), 0);
	assert_int_equal(mkdirat(dir, "to", 0700), 0);
	from = openat(dir, "from", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	to = openat(dir, "to", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(from >= 0 && to >= 0);
	fd_close(&dir);
	return 0;
}

static int
end(void **state)
{
	int dir = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	fd_close(&from);
	fd_close(&to);
	assert_int_equal(file_tree_remove(dir, "from"), 0);
	assert_int_equal(file_tree_remove(dir, "to"), 0);
	assert_int_equal(file_tree_remove(dir, "to"), 0); /* there is none */
	fd_close(&dir);
	return 0;
}

static void
copies(void **state)
{
	struct file_tree a, b;
	struct stat st;

	put("a file", "text", 0640);
	put("program", "#!/bin/sh\n", 04777);
	assert_int_equal(mkdirat(from, "dir", 0700), 0);
	put("dir/empty", "", 0600);
	assert_int_equal(symlinkat("../program", from, "dir/link"), 0);
	assert_int_equal(file_tree_copy(from, to, &a), 0);
	assert_int_equal(a.entry_n, 5);
	assert_int_equal(a.bytes, 14);
	assert_non_null(strstr(buf_str(&a.listing), "l dir/link\t../program\n"));
	assert_non_null(strstr(buf_str(&a.listing), "f x "));
	assert_int_equal(fstatat(to, "program", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0555);
	assert_int_equal(fstatat(to, "a file", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0444);
	assert_int_equal(fstatat(to, "dir", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0555);
	/* the copy has the digest of the original; a change has another */
	assert_int_equal(file_tree_read(to, &b), 0);
	assert_memory_equal(a.digest, b.digest, sizeof(a.digest));
	file_tree_free(&b);
	put("dir/empty", "x", 0600);
	assert_int_equal(file_tree_read(from, &b), 0);
	assert_memory_not_equal(a.digest, b.digest, sizeof(a.digest));
	file_tree_free(&b);
	file_tree_free(&a);
}

static void
links(void **state)
{
	static const struct {
		const char *target;
		bool stays; /* in dir/dir */
	} row[] = {{"x", true}, {"../x", true}, {"../../x", true}, {"../..", true},
	    {".", true}, {"../../../x", false}, {"../../..", false},
	    {"/etc/passwd", false}, {"x/../y", false}, {"../../x/../../y", false},
	    {"x/..", false}, {"..x", true}, {"a\nb", false}, {"a\033b", false}};
	struct file_tree t;

	assert_int_equal(mkdirat(from, "dir", 0700), 0);
	assert_int_equal(mkdirat(from, "dir/dir", 0700), 0);
	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		assert_int_equal(symlinkat(row[i].target, from, "dir/dir/link"), 0);
		assert_int_equal(file_tree_read(from, &t), row[i].stays ? 0 : -EINVAL);
		if (!row[i].stays)
			assert_non_null(strstr(t.why, "dir/dir/link: a symbolic link"));
		file_tree_free(&t);
		assert_int_equal(unlinkat(from, "dir/dir/link", 0), 0);
	}
}

static void
refused(void **state)
{
	struct file_tree t;

	assert_int_equal(mkfifoat(from, "pipe", 0600), 0);
	assert_int_equal(file_tree_copy(from, to, &t), -EINVAL);
	assert_string_equal(t.why, "pipe: neither a file, a directory nor a link");
	file_tree_free(&t);
	assert_int_equal(unlinkat(from, "pipe", 0), 0);
	put("a\033[2Jb", "x", 0600);
	assert_int_equal(file_tree_copy(from, to, &t), -EINVAL);
	assert_null(strchr(t.why, '\033'));
	file_tree_free(&t);
	assert_int_equal(unlinkat(from, "a\033[2Jb", 0), 0);
	assert_int_equal(file_tree_copy(from, to, &t), 0); /* the control */
	file_tree_free(&t);
}

/* Deeper than a path may be long, and than a copy goes; names in the way of the removal;
 * directories that may not be entered. */
static void
deep(void **state)
{
	int dir = dup(from), next;
	struct file_tree t;

	put(".aside-0", "x", 0600);
	assert_int_equal(mkdirat(from, ".aside-1", 0700), 0);
	put(".aside-1/x", "x", 0600);
	for (int i = 0; i < 1500; i++) {
		assert_int_equal(mkdirat(dir, "deeper", 0700), 0);
		next = openat(dir, "deeper", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(next >= 0);
		if (i % 100 == 99)
			assert_int_equal(fchmod(next, 0700), 0);
		fd_close(&dir);
		dir = next;
	}
	assert_int_equal(mkdirat(dir, "shut", 0), 0);
	fd_close(&dir);
	assert_int_equal(file_tree_copy(from, to, &t), -E2BIG);
	assert_non_null(strstr(t.why, "too deep"));
	file_tree_free(&t); /* end() removes it */
}

static void
settings(void **state)
{
	static const struct {
		const char *text, *target; /* NULL: refused */
		bool tls;
	} row[] = {{"registry=https://registry.npmjs.org/\ncafile=null\n",
		       "registry.npmjs.org:443", true},
	    {"cafile=/etc/passwd\r\nregistry=http://127.0.0.1:4873/\r\n",
		"127.0.0.1:4873", false},
	    {"registry=https://joe:x@registry.example.com/", NULL, false},
	    {"registry=undefined", NULL, false}, {"", NULL, false},
	    {"registry=file:///etc", NULL, false}};
	static struct npm npm;
	char text[256];
	const char *why;

	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		(void)snprintf(text, sizeof(text), "%s", row[i].text);
		assert_int_equal(
		    npm_settings(text, &npm, &why), row[i].target != NULL ? 0 : -EINVAL);
		if (row[i].target == NULL)
			assert_non_null(why);
		else
			assert_string_equal(npm.url.target, row[i].target);
		assert_true(row[i].target == NULL || npm.url.tls == row[i].tls);
		assert_true((strstr(row[i].text, "/etc/passwd") != NULL) ==
			    (npm.cafile[0] != '\0'));
	}
}

static void
lockfile(void **state)
{
	static const char text[] = "{\"packages\":{\"node_modules/"
				   "b\":{\"version\":\"2.0.0\",\"hasInstallScript\":"
				   "true},\"node_modules/a\":{\"version\":\"1\\n\"}}}";
	static const char *const bad[] = {"", "{}", "[]", "{\"packages\":[]}",
	    "{\"packages\":{\"x\":{}}}", "{\"packages\":{\"node_modules/a\\u001b\":{}}}",
	    "{\"packages\":{\"node_modules/a\":1}}"};
	struct lock lock;

	assert_int_equal(lock_take(text, strlen(text), &lock), 0);
	assert_int_equal(lock.n, 2);
	assert_string_equal(lock.package[0].path, "node_modules/a");
	assert_string_equal(lock.package[0].version, "");
	assert_true(lock_find(&lock, "node_modules/b")->scripts);
	assert_null(lock_find(&lock, "node_modules/c"));
	lock_free(&lock);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		assert_true(lock_take(bad[i], strlen(bad[i]), &lock) < 0);
		lock_free(&lock);
	}
}

/* What a registry can bring about is no excuse. */
static void
signatures(void **state)
{
	static const char none[] = "found no dependencies to audit that were installed "
				   "from a supported registry";
	static const char keys[] =
	    "request to https://tuf-repo-cdn.sigstore.dev/15.root.json failed";
	static const struct {
		const char *code, *summary;
		enum signatures found;
	} row[] = {{"null", none, SIGNATURES_SKIPPED},
	    {"null", "found no installed dependencies to audit", SIGNATURES_SKIPPED},
	    {"\"ENOTFOUND\"", keys, SIGNATURES_SKIPPED},
	    {"\"ETIMEDOUT\"", keys, SIGNATURES_SKIPPED},
	    {"\"EMISSINGSIGNATUREKEY\"", "a@1.0.0 has a registry signature with",
		SIGNATURES_WRONG},
	    {"\"EEXPIREDSIGNATUREKEY\"", "a@1.0.0 has a registry signature with",
		SIGNATURES_WRONG},
	    {"\"EMISSINGSIGNATUREKEY\"", none, SIGNATURES_WRONG},
	    {"\"EMISSINGSIGNATUREKEY\"", keys, SIGNATURES_WRONG},
	    {"404", none, SIGNATURES_WRONG},
	    {"null", "found no dependencies to audit: E500", SIGNATURES_WRONG},
	    {"\"ECONNRESET\"", "request to https://registry.example/a failed",
		SIGNATURES_WRONG},
	    {"\"E500\"", "500 Internal Server Error", SIGNATURES_WRONG}};
	static const char *const bad[] = {"", "npm error 404", "{", "{}", "[]",
	    "{\"invalid\":[],\"missing\":[]}", "{\"error\":1}", "{\"error\":{}}", "}{",
	    "\n{", "{}\n{}"};
	/* two lists, or none: a package may be named */
	static const struct {
		const char *text;
		enum signatures found;
	} lists[] = {{"\"invalid\":[],\"missing\":[]", SIGNATURES_SKIPPED},
	    {"\"invalid\":[],\"invalid\":[{}]", SIGNATURES_WRONG},
	    {"\"missing\":[{}],\"missing\":[]", SIGNATURES_WRONG},
	    {"\"missing\":{\"a\":1}", SIGNATURES_WRONG},
	    {"\"invalid\":null", SIGNATURES_WRONG}};
	char text[512], why[256];

	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		(void)snprintf(text, sizeof(text),
		    "kennel: a denial\n{\n \"error\": {\"code\": %s, \"summary\": "
		    "\"%s\"}\n}\n",
		    row[i].code, row[i].summary);
		assert_int_equal(signatures_of(1, text, why), row[i].found);
		assert_non_null(strstr(why, row[i].summary));
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(signatures_of(1, bad[i], why), SIGNATURES_WRONG);
	(void)snprintf(text, sizeof(text),
	    "{\"invalid\":[{}],\"error\":{\"summary\":\"%s\"}}", none);
	assert_int_equal(signatures_of(1, text, why), SIGNATURES_WRONG);
	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		(void)snprintf(text, sizeof(text),
		    "{%s,\"error\":{\"code\":null,\"summary\":\"%s\"}}", lists[i].text,
		    none);
		assert_int_equal(signatures_of(1, text, why), lists[i].found);
	}
	assert_int_equal(signatures_of(1, NULL, why), SIGNATURES_WRONG);
	assert_int_equal(signatures_of(0, "{}", why), SIGNATURES_VERIFIED);
}

/* One line of the set, whole, is what verifies a package. */
static void
signed_lines(void **state)
{
	static const char *const bad[] = {
	    "a@1:b", "a@1:b\nc", "a@1 :b\n", "a\r\n", "\xc3\xa4\n"};
	static const char text[] =
	    "b@1.0.0:sha512-B\na@1.0.0:sha512-A\n@s/c@2.0.0:sha512-C\n";
	static const struct {
		struct lock_package p;
		bool found;
	} row[] = {
#define AT(where) .path = (char *)"node_modules/" where
#define IS(v, i)  .version = (char *)v, .integrity = (char *)i
	    {{AT("a"), IS("1.0.0", "sha512-A"), .name = (char *)""}, true},
	    {{AT("x/node_modules/a"), IS("1.0.0", "sha512-A"), .name = (char *)""}, true},
	    {{AT("@s/c"), IS("2.0.0", "sha512-C"), .name = (char *)""}, true},
	    {{AT("x"), IS("2.0.0", "sha512-C"), .name = (char *)"@s/c"}, true},
	    {{AT("a"), IS("1.0.0", "sha512-B"), .name = (char *)""}, false},
	    {{AT("a"), IS("1.0.1", "sha512-A"), .name = (char *)""}, false},
	    {{AT("a"), IS("1.0.0", "sha512-"), .name = (char *)""}, false},
	    {{AT("c"), IS("2.0.0", "sha512-C"), .name = (char *)""}, false},
	    {{AT("a"), IS("1.0.0", "sha512-A"), .name = (char *)"b"}, false},
#undef AT
#undef IS
	};
	struct signed_set set;

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		assert_int_equal(signed_take(bad[i], strlen(bad[i]), &set), -EBADMSG);
		assert_false(signed_has(&set, &row[0].p));
		signed_free(&set);
	}
	assert_int_equal(signed_take("a\0\n", 3, &set), -EBADMSG);
	signed_free(&set);
	assert_int_equal(signed_take("", 0, &set), 0);
	assert_false(signed_has(&set, &row[0].p));
	signed_free(&set);
	assert_int_equal(signed_take(text, strlen(text), &set), 0);
	for (size_t i = 0; i < ARRAY_LEN(row); i++)
		assert_int_equal(signed_has(&set, &row[i].p), row[i].found);
	signed_free(&set);
}

static void
corpus(void **state)
{
	assert_true(corpus_each("tests/fuzz/corpus/npm", corpus_input) > 3);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(copies, begin, end),
	    cmocka_unit_test_setup_teardown(links, begin, end),
	    cmocka_unit_test_setup_teardown(refused, begin, end),
	    cmocka_unit_test_setup_teardown(deep, begin, end),
	    cmocka_unit_test(settings),
	    cmocka_unit_test(lockfile),
	    cmocka_unit_test(signatures),
	    cmocka_unit_test(signed_lines),
	    cmocka_unit_test(corpus),
	};
	int failed;

	if (mkdtemp(top) == NULL)
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	(void)rmdir(top); /* empty */
	return failed;
}
