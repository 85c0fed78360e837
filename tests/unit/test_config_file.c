/*
 * The replacement of a configuration file while other programs save it. Their saves come
 * right before an exchange of names: the renameat2 of this file makes them there.
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
#include <sys/syscall.h>
#include <unistd.h>

#include "shim/base/array.h"
#include "shim/base/fd.h"
#include "supervisor/import/config/config_file.h"

#define SAVES_MAX 8

static char path[64], left[80], save[80];
static const char *saved[SAVES_MAX]; /* what is saved before each exchange, or NULL */
static bool in_place;                /* into the file, not by a rename */
static size_t exchanges;

static void
put(const char *to, const char *text, int how)
{
	int fd = open(to, O_WRONLY | O_CREAT | O_CLOEXEC | how, 0640);

	assert_true(fd >= 0);
	assert_int_equal(fd_write_all(fd, text, strlen(text)), 0);
	fd_close(&fd);
}

static void
is(const char *where, const char *text)
{
	int fd = open(where, O_RDONLY | O_CLOEXEC);
	char *bytes;
	size_t len;

	assert_true(fd >= 0);
	assert_int_equal(fd_slurp(fd, 4096, &bytes, &len), 0);
	fd_close(&fd);
	assert_int_equal(len, strlen(text));
	assert_memory_equal(bytes, text, len);
	free(bytes);
}

/* After a save of another program. */
int
renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned int flags)
{
	const char *text = exchanges < SAVES_MAX ? saved[exchanges] : NULL;

	exchanges++;
	if (text != NULL && in_place) {
		put(to, text, O_TRUNC);
	} else if (text != NULL) {
		put(save, text, O_EXCL);
		assert_int_equal(rename(save, to), 0);
	}
	return (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, flags);
}

/* Replaces "old" by "new", while another program saves n times. */
static int
replace(const char *const *text, size_t n)
{
	struct config_file f;
	int r;

	exchanges = 0;
	for (size_t i = 0; i < SAVES_MAX; i++)
		saved[i] = i < n ? text[i] : NULL;
	(void)unlink(path); /* another inode each time */
	put(path, "old", O_EXCL);
	assert_int_equal(config_file_read(path, &f), 0);
	r = config_file_replace(&f, "new", 3);
	config_file_free(&f);
	return r;
}

static void
alone(void **state)
{
	struct config_file f;
	struct stat st;

	assert_int_equal(replace(NULL, 0), 0);
	is(path, "new");
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
	assert_int_equal(access(left, F_OK), -1);

	assert_int_equal(config_file_read(path, &f), 0);
	assert_int_equal(config_file_left(&f, &(struct config_file){.len = 0}), -ENOENT);
	put(path, "theirs", O_TRUNC);
	assert_int_equal(config_file_replace(&f, "newer", 5), -ESTALE);
	is(path, "theirs");
	assert_int_equal(access(left, F_OK), -1);
	config_file_free(&f);
}

/* The first exchange displaces the first save; the exchange that puts it back displaces
 * the second one, and so on. The last save stays. */
static void
saves(void **state)
{
	static const char *const text[] = {"1st", "2nd", "3rd", "4th"};

	for (size_t n = 1; n <= ARRAY_LEN(text); n++) {
		in_place = false;
		assert_int_equal(replace(text, n), -ESTALE);
		is(path, text[n - 1]);
		assert_int_equal(access(left, F_OK), -1);
		in_place = true;
		assert_int_equal(replace(text, n), -ESTALE);
		is(path, text[n - 1]);
		assert_int_equal(access(left, F_OK), -1);
	}
	in_place = false;
}

/* After so many saves, the last one is kept under the other name. */
static void
too_many(void **state)
{
	static const char *const text[] = {"1st", "2nd", "3rd", "4th", "5th"};
	struct config_file f, found;

	assert_int_equal(replace(text, ARRAY_LEN(text)), -EUCLEAN);
	is(path, "4th");
	is(left, "5th");
	/* it is named, and a later call does not overwrite it */
	assert_int_equal(config_file_read(path, &f), 0);
	assert_int_equal(config_file_left(&f, &found), 0);
	assert_string_equal(found.path, left);
	assert_memory_equal(found.bytes, "5th", 3);
	assert_int_equal(config_file_replace(&f, "new", 3), -EEXIST);
	is(left, "5th");
	config_file_free(&found);
	config_file_free(&f);
	assert_int_equal(unlink(left), 0);
}

/* A link in the place of what is left is not followed. */
static void
link_left(void **state)
{
	struct config_file f, found;

	assert_int_equal(replace(NULL, 0), 0);
	assert_int_equal(symlink(path, left), 0);
	assert_int_equal(config_file_read(path, &f), 0);
	assert_int_equal(config_file_left(&f, &found), -ELOOP);
	assert_int_equal(config_file_replace(&f, "newer", 5), -EEXIST);
	is(path, "new");
	config_file_free(&f);
	assert_int_equal(unlink(left), 0);
}

static int
make(void **state)
{
	static char dir[] = "/tmp/kennel-config-file-XXXXXX";

	*state = mkdtemp(dir);
	assert_non_null(*state);
	(void)snprintf(path, sizeof(path), "%s/file", dir);
	(void)snprintf(left, sizeof(left), "%s.kennel-new", path);
	(void)snprintf(save, sizeof(save), "%s.save", path);
	return 0;
}

static int
drop(void **state)
{
	(void)unlink(path);
	return rmdir(*state);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(alone),
	    cmocka_unit_test(saves),
	    cmocka_unit_test(too_many),
	    cmocka_unit_test(link_left),
	};

	return cmocka_run_group_tests(tests, make, drop);
}
