/*
 * The memory that secrets lie in: locked, guarded, in no dump and no child, on
 * kernels with memfd_secret(2) and without.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "shim/base/array.h"
#include "tests/unit/child.h"

#include "leash/vault/vault.h"
#include "tests/unit/vault_fixture.h"

#ifdef __SANITIZE_ADDRESS__
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

/* The line of /proc/self/smaps that says flags of the mapping around p. */
static void
flags_of(const void *p, char *out, size_t cap)
{
	FILE *f = fopen("/proc/self/smaps", "re");
	char line[512];
	bool in = false;
	unsigned long a, b;

	*out = '\0';
	assert_non_null(f);
	while (fgets(line, sizeof(line), f) != NULL) {
		if (sscanf(line, "%lx-%lx ", &a, &b) == 2 && strchr(line, '-') != NULL)
			in = (uintptr_t)p >= a && (uintptr_t)p < b;
		else if (in && strncmp(line, "VmFlags:", 8) == 0)
			(void)snprintf(out, cap, "%s", line);
	}
	(void)fclose(f);
}

static void
pages_are_locked_and_not_dumped_or_forked(void **state)
{
	char flags[512];
	void *p = vault_scratch(*state, 100);

	assert_non_null(p);
	memset(p, 'x', 100);
	flags_of(p, flags, sizeof(flags));
	assert_non_null(strstr(flags, " lo")); /* locked */
	assert_non_null(strstr(flags, " dd")); /* not in dumps */
	assert_non_null(strstr(flags, " dc")); /* not in children */
	vault_wipe(p, 100);
	assert_int_equal(((char *)p)[99], 0);
}

/* What is given back is wiped, and is the next to be given out. */
static void
scratch_is_given_back_wiped(void **state)
{
	char *p = vault_scratch(*state, 5000), *kept = vault_scratch(*state, 16), *again;

	assert_non_null(p);
	assert_non_null(kept);
	again = vault_scratch(*state, 5000);
	memset(again, 'x', 4000);
	vault_scratch_end(*state, again, 4000);
	for (size_t i = 0; i < 4000; i++)
		assert_int_equal(again[i], 0);
	assert_ptr_equal(vault_scratch(*state, 16), again);
}

/* How a child that touches p ends: its signal, or 0. */
static int
child_touches(const volatile char *p)
{
	int status;
	pid_t pid = test_fork();

	if (pid == 0) {
		(void)signal(SIGSEGV, SIG_DFL);
		(void)*p;
		_exit(0);
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	/* A sanitizer reports and exits non-zero instead. */
	return WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
}

static void
a_child_has_no_page_of_it(void **state)
{
	char *p = vault_scratch(*state, 100), *plain = strdup("x");

	*p = 'x';
	assert_int_equal(child_touches(plain), 0); /* the control */
	assert_int_not_equal(child_touches(p), 0);
	free(plain);
}

static void
guards_stand_on_both_sides(void **state)
{
	struct vault *v;
	unsigned char seen;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char flags[512], *p;

	assert_int_equal(vault_new(page, &v), 0);
	p = vault_scratch(v, page);
	assert_non_null(p);
	assert_null(vault_scratch(v, 1)); /* full is full */
	flags_of(p - 1, flags, sizeof(flags));
	assert_null(strstr(flags, " rd"));
	assert_true(strlen(flags) > 0);
	flags_of(p + page, flags, sizeof(flags));
	assert_null(strstr(flags, " rd"));
	assert_true(strlen(flags) > 0);
	/* Freed is gone. */
	vault_free(v);
	assert_int_equal(mincore(p, page, &seen), -1);
	assert_int_equal(errno, ENOMEM);
}

/* In a child for whom memfd_secret(2) does not exist: how it ends. */
static int
without_memfd_secret(int (*body)(void))
{
	static struct sock_filter f[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 447, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	static const struct sock_fprog p = {ARRAY_LEN(f), f};
	int status;
	pid_t pid = test_fork();

	if (pid == 0) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
		    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p) < 0)
			_exit(9);
		_exit(body());
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int
locked_pages(void)
{
	struct vault *v = NULL;
	char flags[512], *p;

	if (vault_new(1u << 20, &v) < 0)
		return 1;
	p = vault_scratch(v, 100);
	*p = 'x';
	flags_of(p, flags, sizeof(flags));
	if (strstr(flags, " dd") == NULL || strstr(flags, " dc") == NULL)
		return 2;
	if (strstr(flags, " lo") == NULL)
		return 3;
	vault_free(v);
	return 0;
}

static void
pages_are_locked_on_an_older_kernel_too(void **state)
{
	int r = without_memfd_secret(locked_pages);

	if (r == 3 && SANITIZED) {
		print_message("skip: the sanitizer ignores mlock\n");
		skip();
	}
	assert_int_equal(r, 0);
}

static void
pages_that_cannot_be_locked_are_refused(void **state)
{
	int status;
	pid_t pid = test_fork();

	if (pid == 0) {
		struct rlimit none = {0, 0};
		struct vault *v = NULL;

		/* Root may lock whatever it likes. */
		if (geteuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0))
			_exit(9);
		if (setrlimit(RLIMIT_MEMLOCK, &none) < 0)
			_exit(8);
		_exit(vault_new(1u << 20, &v) == -EPERM && v == NULL ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 1 && SANITIZED) {
		print_message("skip: the sanitizer ignores mlock\n");
		skip();
	}
	assert_int_equal(WEXITSTATUS(status), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	static const struct CMUnitTest tests[] = {
	    TEST(pages_are_locked_and_not_dumped_or_forked),
	    TEST(scratch_is_given_back_wiped),
	    TEST(a_child_has_no_page_of_it),
	    TEST(guards_stand_on_both_sides),
	    TEST(pages_are_locked_on_an_older_kernel_too),
	    TEST(pages_that_cannot_be_locked_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
