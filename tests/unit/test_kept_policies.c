/*
 * Policies kept beside the log: what comes back is what was in force, by its digest;
 * nothing else is taken for it, a flood pushes none out, and what is old goes when it
 * is told to.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "supervisor/audit/log/kept_policies.h"

static const char text[] = "server t {\n    run /bin/true\n}\n";
static char folder[64], kept[80];
static uint8_t digest[MERKLE_HASH_LEN];

static int
make_folder(void **state)
{
	(void)state;
	(void)strcpy(folder, "/tmp/kennel-policies-XXXXXX");
	assert_non_null(mkdtemp(folder));
	(void)snprintf(kept, sizeof(kept), "%s/policies", folder);
	merkle_digest(text, strlen(text), digest);
	return 0;
}

static int
drop_folder(void **state)
{
	char path[400];
	struct dirent *e;
	DIR *d = opendir(kept);

	(void)state;
	while (d != NULL && (e = readdir(d)) != NULL) {
		(void)snprintf(path, sizeof(path), "%s/%s", kept, e->d_name);
		(void)unlink(path);
	}
	if (d != NULL)
		(void)closedir(d);
	(void)unlink(kept);
	(void)rmdir(kept);
	return rmdir(folder);
}

static char *
path_of(enum policies_form form)
{
	static char path[sizeof(kept) + POLICIES_NAME];
	char name[POLICIES_NAME];

	policies_name(form, digest, name);
	(void)snprintf(path, sizeof(path), "%s/%s", kept, name);
	return path;
}

static int
keep(enum policies_form form)
{
	return policies_keep(folder, form, digest, text, strlen(text));
}

static int
get(enum policies_form form)
{
	char *bytes = NULL;
	size_t len = 0;
	int r = policies_get(folder, form, digest, &bytes, &len);

	if (r == 0) {
		assert_int_equal(len, strlen(text));
		assert_string_equal(bytes, text);
	}
	free(bytes);
	return r;
}

static size_t
files(void)
{
	size_t n = 0;
	struct dirent *e;
	DIR *d = opendir(kept);

	assert_non_null(d);
	while ((e = readdir(d)) != NULL)
		n += e->d_name[0] != '.' || strlen(e->d_name) > 2;
	(void)closedir(d);
	return n;
}

static void
comes_back(void **state)
{
	struct stat st;

	(void)state;
	assert_int_equal(get(POLICIES_TEXT), -ENOENT); /* there is no folder yet */
	assert_int_equal(keep(POLICIES_TEXT), 0);
	assert_int_equal(keep(POLICIES_TEXT), 0);
	assert_int_equal(files(), 1);
	assert_int_equal(get(POLICIES_TEXT), 0);
	assert_int_equal(get(POLICIES_SEALED), -ENOENT);
	assert_int_equal(keep(POLICIES_SEALED), 0);
	assert_int_equal(get(POLICIES_SEALED), 0);
	assert_int_equal(stat(path_of(POLICIES_TEXT), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(stat(kept, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
}

static void
put(const char *path, const char *bytes)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, strlen(bytes)), strlen(bytes));
	(void)close(fd);
}

/* Another text, a link to it, something that is no file: none is taken for it.  What
 * is cut off, as a crash leaves it, is written again. */
static void
nothing_else(void **state)
{
	char other[120], same[sizeof(text)];

	(void)state;
	assert_int_equal(keep(POLICIES_TEXT), 0);
	memcpy(same, text, sizeof(text));
	same[8] ^= 1; /* as long as it */
	put(path_of(POLICIES_TEXT), same);
	assert_int_equal(get(POLICIES_TEXT), -EBADMSG);
	assert_int_equal(keep(POLICIES_TEXT), 0); /* what is called kept, is */
	assert_int_equal(get(POLICIES_TEXT), 0);
	put(path_of(POLICIES_TEXT), "server");
	assert_int_equal(get(POLICIES_TEXT), -EBADMSG);
	assert_int_equal(keep(POLICIES_TEXT), 0);
	assert_int_equal(get(POLICIES_TEXT), 0);
	(void)snprintf(other, sizeof(other), "%s/other", kept);
	put(other, text);
	assert_int_equal(unlink(path_of(POLICIES_TEXT)), 0);
	assert_int_equal(symlink(other, path_of(POLICIES_TEXT)), 0);
	assert_int_equal(get(POLICIES_TEXT), -EBADMSG);
	assert_int_equal(keep(POLICIES_TEXT), 0); /* in its place */
	assert_int_equal(get(POLICIES_TEXT), 0);
	assert_int_equal(unlink(path_of(POLICIES_TEXT)), 0);
	assert_int_equal(mkfifo(path_of(POLICIES_TEXT), 0600), 0);
	assert_int_not_equal(get(POLICIES_TEXT), 0); /* and nobody waits for it */
	assert_int_equal(unlink(path_of(POLICIES_TEXT)), 0);
	assert_int_equal(mkdir(path_of(POLICIES_TEXT), 0700), 0);
	assert_int_equal(get(POLICIES_TEXT), -EBADMSG); /* a pack goes on without it */
	assert_int_not_equal(keep(POLICIES_TEXT), 0);
	assert_int_equal(rmdir(path_of(POLICIES_TEXT)), 0);
}

/* The folder is no link to another one. */
static void
the_folder(void **state)
{
	(void)state;
	assert_int_equal(symlink("/tmp", kept), 0);
	assert_int_not_equal(keep(POLICIES_TEXT), 0);
	assert_int_not_equal(get(POLICIES_TEXT), 0);
	assert_int_equal(unlink(kept), 0);
	assert_int_equal(keep(POLICIES_TEXT), 0);
}

/* What is full takes nothing more, and what is there stays. */
static void
bounded(void **state)
{
	char path[200];

	(void)state;
	assert_int_equal(
	    policies_keep(folder, POLICIES_TEXT, digest, text, POLICIES_LEN_MAX + 1ul),
	    -EMSGSIZE);
	assert_int_equal(keep(POLICIES_TEXT), 0);
	for (int i = 1; i < POLICIES_MAX; i++) {
		(void)snprintf(path, sizeof(path), "%s/%064x.kennel", kept, (unsigned)i);
		put(path, "");
	}
	assert_int_equal(keep(POLICIES_SEALED), -ENOSPC);
	assert_int_equal(keep(POLICIES_TEXT), 0); /* it is there */
	assert_int_equal(unlink(path), 0);
	assert_int_equal(keep(POLICIES_SEALED), 0);
	/* by bytes too: a file that is long and takes no room */
	assert_int_equal(unlink(path_of(POLICIES_SEALED)), 0);
	(void)snprintf(path, sizeof(path), "%s/%064x.kennel", kept, 1u);
	assert_int_equal(truncate(path, (off_t)POLICIES_BYTES - 32), 0);
	assert_int_equal(keep(POLICIES_SEALED), -ENOSPC);
	assert_int_equal(truncate(path, 0), 0);
	assert_int_equal(keep(POLICIES_SEALED), 0);
}

/* By the last start that used it, and nothing that is not kennel's. */
static void
pruned(void **state)
{
	const struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
	char other[120];
	uint64_t n = 99;

	(void)state;
	assert_int_equal(policies_prune(folder, UINT64_MAX, &n), -ENOENT);
	assert_int_equal(keep(POLICIES_TEXT), 0);
	assert_int_equal(keep(POLICIES_SEALED), 0);
	(void)snprintf(other, sizeof(other), "%s/notes.kennel", kept);
	put(other, "a person's");
	assert_int_equal(utimensat(AT_FDCWD, other, old, 0), 0);
	assert_int_equal(utimensat(AT_FDCWD, path_of(POLICIES_TEXT), old, 0), 0);
	assert_int_equal(utimensat(AT_FDCWD, path_of(POLICIES_SEALED), old, 0), 0);
	assert_int_equal(keep(POLICIES_TEXT), 0); /* used again */
	assert_int_equal(policies_prune(folder, 2000 * 1000000000ull, &n), 0);
	assert_int_equal(n, 1);
	assert_int_equal(get(POLICIES_TEXT), 0);
	assert_int_equal(get(POLICIES_SEALED), -ENOENT);
	assert_int_equal(policies_prune(folder, UINT64_MAX, &n), 0);
	assert_int_equal(n, 1);
	assert_int_equal(access(other, F_OK), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(comes_back, make_folder, drop_folder),
	    cmocka_unit_test_setup_teardown(nothing_else, make_folder, drop_folder),
	    cmocka_unit_test_setup_teardown(the_folder, make_folder, drop_folder),
	    cmocka_unit_test_setup_teardown(bounded, make_folder, drop_folder),
	    cmocka_unit_test_setup_teardown(pruned, make_folder, drop_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
