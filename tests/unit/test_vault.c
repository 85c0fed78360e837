/*
 * Secrets in hand: where they come from, where they lie, what is told when one
 * is missing.  S4-26 S4-31 S4-38 S4-46 S4-49 S4-30
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

#include "leash/vault/helper.h"
#include "leash/vault/vault.h"
#include "shim/base/array.h"
#include "tests/unit/vault_fixture.h"

#define SENTINEL "sentinel-7f3Q9d-value"

static char folder[64];

static char *
in_folder(const char *name)
{
	static char path[128];

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static char *
file_with(const char *name, const void *data, size_t len, mode_t mode)
{
	char *path = in_folder(name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), len);
	assert_int_equal(fchmod(fd, mode), 0);
	assert_int_equal(close(fd), 0);
	return path;
}

static void
holds(const struct secret *s, const char *value)
{
	assert_int_equal(secret_len(s), strlen(value));
	assert_true(secret_equals(s, value, strlen(value)));
	assert_false(secret_equals(s, value, strlen(value) - 1));
	assert_string_equal(secret_expose(s), value);
}

/* ---- env ---- */

static void
env_is_taken_out_of_this_process(void **state)
{
	struct secret *s = NULL, *again = NULL;
	struct reason why;
	char *value;

	assert_int_equal(setenv("KENNEL_T", SENTINEL, 1), 0);
	value = getenv("KENNEL_T");
	assert_int_equal(secret_from_env(*state, "KENNEL_T", &s, &why), 0);
	holds(s, SENTINEL);
	assert_null(getenv("KENNEL_T"));
	assert_int_equal(value[0], 0); /* the old bytes too */
	assert_int_equal(value[5], 0);
	/* Two names for one variable are one secret. */
	assert_int_equal(secret_from_env(*state, "KENNEL_T", &again, &why), 0);
	assert_ptr_equal(s, again);
}

static void
env_missing_names_the_variable(void **state) /* S4-31 S4-46 */
{
	struct secret *s = NULL;
	struct reason why;

	(void)unsetenv("KENNEL_T2");
	assert_int_equal(secret_from_env(*state, "KENNEL_T2", &s, &why), -ENOENT);
	assert_non_null(strstr(why.text, "KENNEL_T2"));
	assert_null(s);
	(void)setenv("KENNEL_T2", "", 1);
	assert_int_equal(secret_from_env(*state, "KENNEL_T2", &s, &why), -ENOENT);
	(void)setenv("KENNEL_T2", "abc", 1);
	assert_int_equal(secret_from_env(*state, "KENNEL_T2", &s, &why), -EINVAL);
	assert_null(strstr(why.text, "abc"));
	assert_null(getenv("KENNEL_T2")); /* refused, and gone all the same */
	assert_int_equal(secret_from_env(*state, "A=B", &s, &why), -EINVAL);
	assert_int_equal(secret_from_env(*state, "", &s, &why), -EINVAL);
	assert_null(s);
}

static void
env_too_big(void **state)
{
	struct secret *s = NULL;
	struct reason why;
	char *big = malloc(VAULT_VALUE_MAX + 2);

	memset(big, 'a', VAULT_VALUE_MAX + 1);
	big[VAULT_VALUE_MAX + 1] = '\0';
	(void)setenv("KENNEL_T3", big, 1);
	assert_int_equal(secret_from_env(*state, "KENNEL_T3", &s, &why), -EFBIG);
	big[VAULT_VALUE_MAX] = '\0';
	(void)setenv("KENNEL_T3", big, 1);
	assert_int_equal(secret_from_env(*state, "KENNEL_T3", &s, &why), 0);
	assert_int_equal(secret_len(s), VAULT_VALUE_MAX);
	free(big);
}

/* ---- file ---- */

static int
from_file(void *vault, const char *path, struct secret **ret, struct reason *why)
{
	why->text[0] = '\0';
	return secret_from_file(vault, path, ret, why);
}

static void
file_is_read_and_one_newline_dropped(void **state)
{
	struct secret *s;
	struct reason why;

	assert_int_equal(
	    from_file(*state, file_with("a", SENTINEL "\n", 22, 0600), &s, &why), 0);
	holds(s, SENTINEL);
	assert_int_equal(
	    from_file(*state, file_with("a", "pass\n\n", 6, 0400), &s, &why), 0);
	holds(s, "pass\n");
}

static void
file_that_others_may_read_is_refused(void **state)
{
	static const mode_t modes[] = {0644, 0640, 0604, 0660, 0620, 0601};
	struct secret *s = NULL;
	struct reason why;
	char shown[8];
	size_t i;

	for (i = 0; i < ARRAY_LEN(modes); i++) {
		char *path = file_with("open", SENTINEL, 21, modes[i]);

		assert_int_equal(from_file(*state, path, &s, &why), -EACCES);
		(void)snprintf(shown, sizeof(shown), "%04o", modes[i]);
		assert_non_null(strstr(why.text, shown));
		assert_non_null(strstr(why.text, path));
		assert_null(strstr(why.text, "sentinel"));
	}
	assert_null(s);
}

static void
file_must_be_a_plain_one(void **state)
{
	struct secret *s = NULL;
	struct reason why;
	char target[128];

	(void)snprintf(
	    target, sizeof(target), "%s", file_with("real", SENTINEL, 21, 0600));
	assert_int_equal(symlink(target, in_folder("link")), 0);
	assert_int_equal(from_file(*state, in_folder("link"), &s, &why), -ELOOP);
	assert_non_null(strstr(why.text, "write the real path"));
	assert_non_null(strstr(why.text, target));
	assert_int_equal(mkfifo(in_folder("fifo"), 0600), 0);
	assert_int_equal(from_file(*state, in_folder("fifo"), &s, &why), -EACCES);
	assert_int_equal(from_file(*state, folder, &s, &why), -EACCES);
	assert_int_equal(from_file(*state, in_folder("none"), &s, &why), -ENOENT);
	assert_non_null(strstr(why.text, "/none"));
	assert_int_equal(from_file(*state, "relative", &s, &why), -EINVAL);
	assert_int_equal(from_file(*state, target, &s, &why), 0); /* the control */
}

static void
file_content_is_judged(void **state)
{
	static char big[VAULT_VALUE_MAX + 3];
	struct secret *s = NULL;
	struct reason why;

	memset(big, 'b', sizeof(big));
	assert_int_equal(
	    from_file(*state, file_with("f", "", 0, 0600), &s, &why), -ENOENT);
	assert_int_equal(
	    from_file(*state, file_with("f", "\n", 1, 0600), &s, &why), -ENOENT);
	assert_int_equal(
	    from_file(*state, file_with("f", "ab\0cdef", 7, 0600), &s, &why), -EINVAL);
	assert_int_equal(
	    from_file(*state, file_with("f", "abc\n", 4, 0600), &s, &why), -EINVAL);
	assert_int_equal(
	    from_file(*state, file_with("f", big, VAULT_VALUE_MAX + 1, 0600), &s, &why),
	    -EFBIG);
	assert_int_equal(
	    from_file(*state, file_with("f", big, sizeof(big), 0600), &s, &why), -EFBIG);
	assert_null(s);
	big[VAULT_VALUE_MAX] = '\n';
	assert_int_equal(
	    from_file(*state, file_with("f", big, VAULT_VALUE_MAX + 1, 0600), &s, &why),
	    0);
	assert_int_equal(secret_len(s), VAULT_VALUE_MAX);
}

static void
a_full_vault_says_so(void **state)
{
	struct vault *v;
	struct secret *s = NULL;
	struct reason why;
	char *path = file_with("f", SENTINEL, 21, 0600);
	int i, r = 0;

	assert_int_equal(vault_new(4096, &v), 0);
	for (i = 0; i < 4096 && r == 0; i++)
		r = from_file(v, path, &s, &why);
	assert_int_equal(r, -ENOMEM);
	assert_in_range(i, 10, 100);
	holds(s, SENTINEL); /* the last that fitted is whole */
	vault_free(v);
}

/* ---- wiping ---- */

static void
a_dropped_value_is_wiped(void **state) /* S1-110 */
{
	struct secret *first, *second, *third;
	const char *was, *newest;
	struct reason why;
	char *path = file_with("dropped", SENTINEL, strlen(SENTINEL), 0600);

	assert_int_equal(from_file(*state, path, &first, &why), 0);
	assert_int_equal(from_file(*state, path, &second, &why), 0);
	newest = secret_expose(second);
	secret_drop(*state, second); /* the newest: its memory is used again */
	for (size_t i = 0; i < strlen(SENTINEL); i++)
		assert_int_equal(newest[i], 0);
	holds(first, SENTINEL);
	assert_int_equal(from_file(*state, path, &third, &why), 0);
	assert_ptr_equal(third, second);
	was = secret_expose(first);
	secret_drop(*state, first); /* an older one is wiped in place */
	for (size_t i = 0; i < strlen(SENTINEL); i++)
		assert_int_equal(was[i], 0);
	holds(third, SENTINEL);
}

/* ---- cmd ---- */

static int
from_cmd(struct vault *v, const char *const *argv, unsigned int may, struct secret **ret,
    struct reason *why)
{
	return secret_from_cmd(v, argv, may, NULL, 0, ret, why);
}

static int
from_sh(void *vault, const char *script, struct secret **ret, struct reason *why)
{
	const char *argv[] = {"/bin/sh", "-c", script, NULL};

	why->text[0] = '\0';
	return from_cmd(vault, argv, 0, ret, why);
}

static int
from_sh_that_may(void *vault, unsigned int may, const char *script, struct secret **ret,
    struct reason *why)
{
	const char *argv[] = {"/bin/sh", "-c", script, NULL};

	why->text[0] = '\0';
	return from_cmd(vault, argv, may, ret, why);
}

static void
cmd_output_is_the_value(void **state)
{
	struct secret *s;
	struct reason why;

	assert_int_equal(from_sh(*state, "echo " SENTINEL, &s, &why), 0);
	holds(s, SENTINEL);
	assert_int_equal(from_sh(*state, "printf ab; sleep 0.1; printf cd", &s, &why), 0);
	holds(s, "abcd");
	/* stdout closed early, the end comes later */
	assert_int_equal(from_sh(*state, "echo abcd; exec >&-; sleep 0.2", &s, &why), 0);
	holds(s, "abcd");
}

static void
cmd_environment_is_built_from_nothing(void **state)
{
	struct secret *s;
	struct reason why;

	(void)setenv("KENNEL_T4", "not for helpers", 1);
	(void)setenv("HOME", "/nowhere", 1);
	assert_int_equal(
	    from_sh(
		*state, "/usr/bin/env | grep -c KENNEL_T4; echo $HOME$PATH", &s, &why),
	    0);
	holds(s, "0\n/nowhere/usr/local/bin:/usr/bin:/bin");
	/* stdin is empty, and no descriptor but three is open */
	assert_int_equal(from_sh(*state, "cat; cd /proc/$$/fd && echo x *", &s, &why), 0);
	assert_non_null(strstr(secret_expose(s), "x 0 1 2"));
	assert_true(secret_len(s) <= strlen("x 0 1 2 10")); /* sh may keep one */
}

/* S4-38 S4-49: it prints the token on both streams and fails. */
static void
cmd_failure_tells_only_its_status(void **state)
{
	struct secret *s = NULL;
	struct reason why = {0};

	assert_int_equal(
	    from_sh(*state, "echo " SENTINEL "; echo " SENTINEL " >&2; exit 3", &s, &why),
	    -EIO);
	assert_non_null(strstr(why.text, "exited with status 3"));
	assert_int_equal(why.status, 3);
	assert_null(strstr(why.text, "sentinel"));
	assert_int_equal(
	    from_sh(*state, "echo " SENTINEL "; kill -9 $$", &s, &why), -EIO);
	assert_non_null(strstr(why.text, "was killed by signal 9"));
	assert_null(strstr(why.text, "sentinel"));
	assert_int_equal(from_sh(*state, ":", &s, &why), -ENOENT);
	assert_int_equal(from_sh(*state, "printf 'a\\0bcdefg'", &s, &why), -EINVAL);
	assert_null(s);
}

static void
cmd_that_prints_for_ever_is_stopped(void **state)
{
	struct secret *s = NULL;
	struct reason why;

	assert_int_equal(
	    from_sh(*state, "while :; do echo " SENTINEL "; done", &s, &why), -EFBIG);
	assert_null(strstr(why.text, "sentinel"));
	assert_null(s);
}

/* A dead one that nobody has reaped has no command line. */
static bool
alive(pid_t pid)
{
	char path[64];
	FILE *f;
	int c;

	(void)snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	f = fopen(path, "re");
	if (f == NULL)
		return false;
	c = fgetc(f);
	(void)fclose(f);
	return c != EOF;
}

static void
cmd_leaves_nothing_behind(void **state)
{
	struct secret *s;
	struct reason why;
	pid_t pid;
	int i, dead = 0;

	assert_true(alive(getpid())); /* the control */
	/* The grandchild holds the pipe: it is not waited for, and killed. */
	/* a pid alone may be too weak a value: 22222 */
	assert_int_equal(
	    from_sh(*state, "sleep 1000 & echo process-$!; exit 0", &s, &why), 0);
	pid = (pid_t)atoi(secret_expose(s) + strlen("process-"));
	assert_true(pid > 1);
	/* killed in its execve, it has no command line, has one, and is gone */
	for (i = 0; i < 300 && dead < 5; i++) {
		dead = alive(pid) ? 0 : dead + 1;
		(void)usleep(10000);
	}
	assert_int_equal(dead, 5);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* none of ours either */
}

static void
cmd_that_cannot_start(void **state)
{
	const char *none[] = {"/nonexistent/helper", NULL};
	const char *bare[] = {"sh", NULL};
	const char *nothing[] = {NULL};
	struct secret *s = NULL;
	struct reason why;

	assert_int_equal(from_cmd(*state, none, 0, &s, &why), -ENOENT);
	assert_non_null(strstr(why.text, "/nonexistent/helper"));
	assert_int_equal(from_cmd(*state, bare, 0, &s, &why), -EINVAL);
	assert_int_equal(from_cmd(*state, nothing, 0, &s, &why), -EINVAL);
	assert_null(s);
}

/* ---- which file, which program ---- */

static char *
script_with(const char *name, const char *text)
{
	return file_with(name, text, strlen(text), 0700);
}

/* Nobody but a link of the user's leads there; then a name that was judged is replaced
 * by another between two starts.  A 0600 file of the same name elsewhere is not it. */
static void
a_directory_on_the_way_becomes_a_link(void **state)
{
	char at[160], other[160];
	struct secret *s = NULL;
	struct reason why;
	const char *argv[] = {at, NULL};

	(void)snprintf(other, sizeof(other), "%s", in_folder("other"));
	assert_int_equal(mkdir(other, 0700), 0);
	(void)snprintf(
	    at, sizeof(at), "%s", file_with("other/token", SENTINEL, 21, 0600));
	assert_int_equal(from_file(*state, at, &s, &why), 0); /* the control */
	(void)script_with("other/say", "#!/bin/sh\necho " SENTINEL "\n");
	assert_int_equal(symlink(other, in_folder("conf")), 0);
	(void)snprintf(at, sizeof(at), "%s", in_folder("conf/token"));
	assert_int_equal(secret_from_file(*state, at, &s, &why), -ELOOP);
	assert_non_null(strstr(why.text, "other/token"));
	(void)snprintf(at, sizeof(at), "%s", in_folder("conf/say"));
	assert_int_equal(from_cmd(*state, argv, 0, &s, &why), -ELOOP);
}

/* What a server may write: its directory, by whatever way it is reached. */
static const char *
may_write(void *dir, const char *path)
{
	return strncmp(path, dir, strlen(dir)) == 0 ? "server t may write (f:1)" : NULL;
}

static void
what_a_server_may_write_is_refused(void **state)
{
	char script[160], tool[160], inside[160], dir[160];
	const char *argv[] = {script, inside, NULL}, *run[] = {tool, NULL};
	struct secret *s = NULL;
	struct reason why;
	char text[200];

	(void)snprintf(dir, sizeof(dir), "%s", in_folder("granted"));
	assert_int_equal(mkdir(dir, 0700), 0);
	(void)snprintf(tool, sizeof(tool), "%s",
	    script_with("granted/tool", "#!/bin/sh\necho " SENTINEL "\n"));
	(void)snprintf(
	    inside, sizeof(inside), "%s", file_with("granted/arg", SENTINEL, 21, 0600));
	(void)snprintf(
	    script, sizeof(script), "%s", script_with("cat", "#!/bin/sh\ncat \"$1\"\n"));
	assert_int_equal(from_cmd(*state, argv, 0, &s, &why), 0);
	assert_int_equal(from_cmd(*state, run, 0, &s, &why), 0);
	vault_judge(*state, may_write, dir);
	assert_int_equal(from_cmd(*state, argv, 0, &s, &why), -EPERM);
	assert_non_null(strstr(why.text, "has the argument"));
	assert_non_null(strstr(why.text, "server t may write (f:1)"));
	assert_int_equal(from_cmd(*state, run, 0, &s, &why), -EPERM);
	assert_int_equal(from_file(*state, inside, &s, &why), -EPERM);
	/* the interpreter of a script */
	(void)snprintf(text, sizeof(text), "#!%s\n", tool);
	(void)snprintf(script, sizeof(script), "%s", script_with("by", text));
	argv[1] = NULL;
	assert_int_equal(from_cmd(*state, argv, 0, &s, &why), -EPERM);
	assert_non_null(strstr(why.text, "is a script of"));
	vault_judge(*state, NULL, NULL);
	assert_int_equal(from_cmd(*state, argv, 0, &s, &why), 0);
	holds(s, SENTINEL);
}

/* Arguments, and what a first line gives to its interpreter. */
static void
what_part_of_an_argument_names_is_judged(void **state)
{
	static const char *const forms[][2] = {{"if=", "/arg"}, {"", "/arg"},
	    {"-f", "/arg"}, {"--file=", "/arg"}, {"x=y=", "/arg"}, {"", "/missing"},
	    {"", "/missing/../arg"}, {"", "/arg/below"}};
	static const char *const lines[][2] = {{"#!/bin/sh ", "/tool\n"},
	    {"#!/usr/bin/env ", "/tool\n"}, {"#!/usr/bin/env -S ", "/tool a\n"},
	    {"#!/usr/bin/env -S", "/tool\n"}, {"#!/usr/bin/env -S sh '", "/tool'\n"},
	    {"#!/bin/sh  ", "/tool \t\n"}};
	char word[200], dir[160], script[160], text[300];
	const char *argv[] = {"/bin/true", word, NULL}, *run[] = {script, NULL};
	struct secret *s = NULL;
	struct reason why;
	size_t i;

	(void)snprintf(dir, sizeof(dir), "%s", in_folder("granted-arg"));
	assert_int_equal(mkdir(dir, 0700), 0);
	(void)script_with("granted-arg/tool", "#!/bin/sh\necho " SENTINEL "\n");
	(void)script_with("granted-arg/arg", SENTINEL);
	for (i = 0; i < 2 * ARRAY_LEN(forms); i++) {
		/* also relative to "/" */
		(void)snprintf(word, sizeof(word), "%s%s%s", forms[i / 2][0], dir + i % 2,
		    forms[i / 2][1]);
		vault_judge(*state, NULL, NULL);
		assert_int_equal(from_cmd(*state, argv, 0, &s, &why),
		    -ENOENT); /* the control: it runs, and has no output */
		vault_judge(*state, may_write, dir);
		assert_int_equal(from_cmd(*state, argv, 0, &s, &why), -EPERM);
		assert_non_null(strstr(why.text, "has the argument"));
	}
	for (i = 0; i < 2 * ARRAY_LEN(lines); i++) {
		(void)snprintf(text, sizeof(text), "%s%s%s", lines[i / 2][0], dir + i % 2,
		    lines[i / 2][1]);
		(void)snprintf(script, sizeof(script), "%s", script_with("line", text));
		vault_judge(*state, NULL, NULL);
		assert_int_equal(from_cmd(*state, run, 0, &s, &why), 0);
		holds(s, SENTINEL);
		vault_judge(*state, may_write, dir);
		assert_int_equal(from_cmd(*state, run, 0, &s, &why), -EPERM);
		assert_non_null(strstr(why.text, "has the argument"));
	}
	vault_judge(*state, NULL, NULL);
}

/* An ELF file is judged before it is run: its headers and its loader. */
static void
what_is_no_elf_file_is_refused(void **state)
{
	static const unsigned char head[] = {
	    0x7f, 'E', 'L', 'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 62, 0};
	unsigned char file[64 + 56 + 8] = {0};
	static const struct {
		size_t len;
		unsigned char type, entry, n, name_len, last, class;
		int want; /* -EIO: the kernel refuses it */
	} rows[] = {
	    {128, 2, 56, 1, 8, 0, 2, -ENOENT}, /* the control: /xxxxxx is not there */
	    {64, 2, 56, 1, 8, 0, 2, -ENOEXEC},
	    {60, 2, 56, 1, 8, 0, 2, -ENOEXEC},
	    {4, 2, 56, 1, 8, 0, 2, -ENOEXEC},
	    {127, 2, 56, 1, 8, 0, 2, -ENOEXEC},
	    {128, 2, 55, 1, 8, 0, 2, -ENOEXEC},
	    {128, 2, 56, 2, 8, 0, 2, -ENOENT}, /* the first loader counts */
	    {128, 2, 56, 1, 1, 0, 2, -ENOEXEC},
	    {128, 2, 56, 1, 8, 'x', 2, -ENOEXEC},
	    {128, 2, 56, 1, 8, 0, 3, -ENOEXEC},
	    {128, 1, 56, 1, 8, 'x', 2, -EIO},
	    {128, 2, 56, 0, 8, 0, 2, -EIO},
	};
	const char *argv[] = {NULL, NULL};
	struct secret *s = NULL;
	struct reason why;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		memcpy(file, head, sizeof(head));
		file[4] = rows[i].class;
		file[16] = rows[i].type;
		file[32] = 64; /* e_phoff */
		file[54] = rows[i].entry;
		file[56] = rows[i].n;
		file[64] = 3;       /* PT_INTERP */
		file[64 + 8] = 120; /* p_offset */
		file[64 + 32] = rows[i].name_len;
		memcpy(file + 120, "/xxxxxx", sizeof("/xxxxxx"));
		file[127] = rows[i].last;
		argv[0] = file_with("elf", (const char *)file, rows[i].len, 0700);
		assert_int_equal(from_cmd(*state, argv, 0, &s, &why), rows[i].want);
	}
}

/* What was judged runs, not what has its name by now: a script reads itself by the
 * descriptor, and a program has no descriptor more than three. */
static void
the_judged_descriptor_is_run(void **state)
{
	char script[160];
	const char *argv[] = {script, NULL};
	struct secret *s = NULL;
	struct reason why;

	(void)snprintf(script, sizeof(script), "%s",
	    script_with("name", "#!/bin/sh\nrm -f \"$0\"; echo \"$0 is it\"\n"));
	assert_int_equal(from_cmd(*state, argv, 0, &s, &why), 0);
	holds(s, "/dev/fd/3 is it");
	assert_int_equal(unlink(script), 0);
}

/* ---- the fence around it ---- */

/* What is tried without a fence, too: whatever it refuses would have worked. */
static void
fenced(void **state, unsigned int may, const char *script, const char *want)
{
	struct secret *s = NULL;
	struct reason why;
	char line[512];
	FILE *f;

	assert_int_equal(from_sh_that_may(*state, may, script, &s, &why), 0);
	holds(s, want);
	f = popen(script, "re"); /* NOLINT(cert-env33-c): the control is a shell */
	assert_non_null(f);
	assert_non_null(fgets(line, sizeof(line), f));
	(void)pclose(f);
	line[strcspn(line, "\n")] = '\0';
	assert_string_equal(line, "done");
}

static void
cmd_writes_no_file(void **state)
{
	char script[512];
	const char *to = in_folder("written");

	(void)snprintf(script, sizeof(script),
	    "if (echo x >%s) 2>/dev/null; then echo done; else echo refused; fi", to);
	fenced(state, 0, script, "refused");
	assert_int_equal(unlink(in_folder("written")), 0); /* by the control */
	fenced(state, SECRET_CMD_WRITE, script, "done");
	(void)unlink(in_folder("written"));
	/* what keeps nothing is no file */
	fenced(state, 0, "echo x >/dev/null && echo done", "done");
}

/* A socket of each kind, by the interpreter that the tests need anyhow. */
#define SOCKET_OF(family) \
	"/usr/bin/python3 -c 'import socket\ntry:\n socket.socket(socket." family \
	")\n print(\"done\")\nexcept OSError:\n print(\"refused\")'"

static void
cmd_reaches_no_network(void **state)
{
	if (access("/usr/bin/python3", X_OK) < 0) {
		print_message("skip: no /usr/bin/python3\n");
		skip();
	}
	fenced(state, 0, SOCKET_OF("AF_INET"), "refused");
	fenced(state, 0, SOCKET_OF("AF_INET6"), "refused");
	fenced(state, SECRET_CMD_WRITE, SOCKET_OF("AF_INET"), "refused");
	fenced(state, 0, SOCKET_OF("AF_NETLINK, socket.SOCK_RAW"), "refused");
	fenced(state, 0, SOCKET_OF("AF_UNIX"), "done"); /* an agent that holds keys */
	fenced(state, SECRET_CMD_NETWORK, SOCKET_OF("AF_INET"), "done");
}

static void
cmd_gains_no_privilege(void **state)
{
	struct secret *s = NULL;
	struct reason why;

	assert_int_equal(
	    from_sh(*state,
		"while read k v; do case $k in NoNewPrivs:|Seccomp:) echo $v;; esac; "
		"done </proc/self/status; unshare -U true 2>/dev/null || echo refused",
		&s, &why),
	    0);
	holds(s, "1\n2\nrefused");
	/* nor a terminal: its session is its own */
	assert_int_equal(
	    from_sh(*state, "(: </dev/tty) 2>/dev/null || echo none", &s, &why), 0);
	holds(s, "none");
}

static void
cmd_may_mean_its_first_line(void **state)
{
	struct secret *s = NULL;
	struct reason why;

	assert_int_equal(from_sh_that_may(*state, SECRET_CMD_FIRST_LINE,
			     "printf '" SENTINEL "\nuser: joe\n'", &s, &why),
	    0);
	holds(s, SENTINEL);
	assert_int_equal(
	    from_sh_that_may(*state, SECRET_CMD_FIRST_LINE, "printf " SENTINEL, &s, &why),
	    0);
	holds(s, SENTINEL);
	assert_int_equal(from_sh_that_may(*state, SECRET_CMD_FIRST_LINE,
			     "printf '\n" SENTINEL "'", &s, &why),
	    -ENOENT); /* an empty line is no value */
	assert_null(strstr(why.text, "sentinel"));
}

/* It never ends by itself, so that any deadline is one. */
static void
cmd_that_hangs_is_killed(void **state)
{
	const char *argv[] = {
	    "/bin/sh", "-c", "echo " SENTINEL "; trap '' TERM; sleep 1000", NULL};
	struct helper_order order = {.argv = argv, .image = -1};
	struct secret *s = NULL;
	struct reason why;

	assert_int_equal(secret_from_program(*state, &order, 300, &s, &why), -ETIMEDOUT);
	assert_non_null(strstr(why.text, "timed out"));
	assert_null(strstr(why.text, "sentinel"));
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* nothing is left */
	assert_null(s);
}

/* Ten megabytes, of which the value's limit is read and no more. */
static void
cmd_that_prints_much_is_stopped(void **state)
{
	struct secret *s = NULL;
	struct reason why;

	assert_int_equal(
	    from_sh(*state, "head -c 10485760 /dev/zero | tr '\\0' s", &s, &why), -EFBIG);
	assert_non_null(strstr(why.text, "printed more than 64 KiB"));
	assert_null(strstr(why.text, "ssss"));
	assert_null(s);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	static const struct CMUnitTest tests[] = {
	    TEST(env_is_taken_out_of_this_process),
	    TEST(env_missing_names_the_variable),
	    TEST(env_too_big),
	    TEST(file_is_read_and_one_newline_dropped),
	    TEST(file_that_others_may_read_is_refused),
	    TEST(file_must_be_a_plain_one),
	    TEST(file_content_is_judged),
	    TEST(a_full_vault_says_so),
	    TEST(a_dropped_value_is_wiped),
	    TEST(cmd_output_is_the_value),
	    TEST(cmd_environment_is_built_from_nothing),
	    TEST(cmd_failure_tells_only_its_status),
	    TEST(cmd_that_prints_for_ever_is_stopped),
	    TEST(cmd_leaves_nothing_behind),
	    TEST(cmd_that_cannot_start),
	    TEST(a_directory_on_the_way_becomes_a_link),
	    TEST(what_a_server_may_write_is_refused),
	    TEST(what_part_of_an_argument_names_is_judged),
	    TEST(what_is_no_elf_file_is_refused),
	    TEST(the_judged_descriptor_is_run),
	    TEST(cmd_writes_no_file),
	    TEST(cmd_reaches_no_network),
	    TEST(cmd_gains_no_privilege),
	    TEST(cmd_may_mean_its_first_line),
	    TEST(cmd_that_hangs_is_killed),
	    TEST(cmd_that_prints_much_is_stopped),
	};
	static const char *const made[] = {"a", "dropped", "open", "real", "link", "fifo",
	    "f", "cat", "by", "conf", "other/token", "other/say", "granted/tool",
	    "granted/arg", "elf", "line", "granted-arg/arg", "granted-arg/tool"};
	size_t i;
	int r;

	(void)snprintf(folder, sizeof(folder), "/tmp/kennel-vault-XXXXXX");
	if (mkdtemp(folder) == NULL)
		return 1;
	r = cmocka_run_group_tests(tests, NULL, NULL);
	for (i = 0; i < ARRAY_LEN(made); i++)
		(void)unlink(in_folder(made[i]));
	if (rmdir(in_folder("other")) < 0 || rmdir(in_folder("granted")) < 0 ||
	    rmdir(in_folder("granted-arg")) < 0 || rmdir(folder) < 0)
		r = 1;
	return r;
}
