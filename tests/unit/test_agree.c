/*
 * Generated lines about system calls: what the rows say, what our interpreter
 * finds and what the kernel does are one.  AGREE_ROUNDS=N for more than a few.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "policy/compile/seccomp_rows.h"
#include "policy/sealed/load.h"
#include "shim/base/array.h"
#include "tests/unit/child.h"
#include "tests/unit/policy_fixture.h"

#define BAD (-1L)

/* Calls that do nothing with these arguments, and never say ENOSYS for them. */
static const struct {
	const char *name;
	long nr, a, b;
	bool base; /* allowed unless denied; else the other way round */
} calls[] = {
    {"getppid", SYS_getppid, 0, 0, true},
    {"getuid", SYS_getuid, 0, 0, true},
    {"gettid", SYS_gettid, 0, 0, true},
    {"sched_yield", SYS_sched_yield, 0, 0, true},
    {"uname", SYS_uname, 0, 0, true},
    {"sysinfo", SYS_sysinfo, 0, 0, true},
    {"times", SYS_times, 0, 0, true},
    {"getpriority", SYS_getpriority, 0, 0, true},
    {"inotify_init1", SYS_inotify_init1, BAD, 0, true},
    {"timerfd_create", SYS_timerfd_create, BAD, BAD, true},
    {"eventfd2", SYS_eventfd2, 0, BAD, true},
    {"epoll_create1", SYS_epoll_create1, BAD, 0, true},
    {"mlockall", SYS_mlockall, 0, 0, true},
    {"chmod", SYS_chmod, 0, 0, true},
    {"fchmod", SYS_fchmod, BAD, 0, true},
    {"open", SYS_open, 0, 0, true},
    {"readlink", SYS_readlink, 0, 0, true},
    {"kcmp", SYS_kcmp, 0, 0, false},
    {"add_key", SYS_add_key, 0, 0, false},
    {"swapoff", SYS_swapoff, 0, 0, false},
    {"mount", SYS_mount, 0, 0, false},
    {"vmsplice", SYS_vmsplice, BAD, 0, true},
};
#define CALLS_N (ARRAY_LEN(calls))

static bool changed[CALLS_N];

/* Rows of CALLS for those that the policy speaks of; others stay as they are. */
static struct sealed_range
lines(struct sealer *s)
{
	struct sealed_call c = {.exception = SEALED_NONE};
	struct sealed_range range = {sealer_rows(s, SEALED_CALLS), 0};
	size_t i;

	for (i = 0; i < CALLS_N; i++) {
		changed[i] = rand() % 3 == 0;
		if (!changed[i])
			continue;
		c.name = fix_str(s, calls[i].name);
		c.verdict = calls[i].base ? VERDICT_DENY : VERDICT_ALLOW;
		(void)sealer_row(s, SEALED_CALLS, &c, sizeof(c));
		range.n++;
	}
	return range;
}

/* A policy of one filter each way, as the loader sees it. */
static void
tables(struct sealer *s, struct load *l)
{
	l->p.insn = sealer_at(s, SEALED_INSNS, 0);
	l->p.filter = sealer_at(s, SEALED_FILTERS, 0);
	l->p.syscall = sealer_at(s, SEALED_SYSCALLS, 0);
	l->p.compare = sealer_at(s, SEALED_COMPARES, 0);
	l->p.row_n[SEALED_FILTERS] = sealer_rows(s, SEALED_FILTERS);
}

/* Which call the kernel answers otherwise than the lines say; 0: none. */
static int
kernel_differs(const struct sealed_filter *f, const struct load *l)
{
	struct sock_fprog prog = {.len = (unsigned short)f->insns.n,
	    .filter = (void *)(uintptr_t)&l->p.insn[f->insns.first]};
	size_t i;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) != 0)
		return 200;
	for (i = 0; i < CALLS_N; i++) {
		bool there = calls[i].base != changed[i];

		errno = 0;
		if (syscall(calls[i].nr, calls[i].a, calls[i].b, 0, 0, 0) < 0 &&
			    errno == ENOSYS
			? there
			: !there)
			return (int)i + 1;
	}
	return 0;
}

static void
interpreter_agrees(const struct load *l, const struct sealed_filter *f)
{
	struct seccomp_data d = {.arch = f->arch};
	uint32_t steps = 0;
	size_t i;

	for (i = 0; i < CALLS_N; i++) {
		bool there = calls[i].base != changed[i];

		d.nr = (int)calls[i].nr;
		d.args[0] = (uint64_t)calls[i].a;
		d.args[1] = (uint64_t)calls[i].b;
		assert_int_equal(bpf_run(&l->p.insn[f->insns.first], 0, &d, &steps),
		    there ? SECCOMP_RET_ALLOW : SECCOMP_RET_ERRNO | ENOSYS);
	}
}

static void
one_round(void)
{
	struct sealer *s = sealer_new();
	char why[200] = "";
	struct load l = {.why = why, .why_cap = sizeof(why)};
	struct sealed_range filters, again, said = lines(s);
	int status = -1;
	uint32_t i;
	pid_t pid;

	assert_int_equal(filters_build(s, said, &filters), 0);
	assert_int_equal(filters.n, 2);
	/* the same lines, the same rows */
	assert_int_equal(filters_build(s, said, &again), 0);
	assert_int_equal(again.first, filters.first);
	tables(s, &l);
	for (i = 0; i < filters.n; i++)
		if (load_bpf(&l, &l.p.filter[i]) < 0 ||
		    load_replay(&l, &l.p.filter[i]) < 0)
			fail_msg("%s", why);
	interpreter_agrees(&l, &l.p.filter[0]);
	pid = test_fork();
	if (pid == 0)
		_exit(kernel_differs(&l.p.filter[0], &l));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		fail_msg("status %x: %s", (unsigned int)status,
		    WIFEXITED(status) && WEXITSTATUS(status) <= (int)CALLS_N
			? calls[WEXITSTATUS(status) - 1].name
			: "");
	sealer_free(s);
}

static void
rows_interpreter_and_kernel_agree(void **state)
{
	const char *more = getenv("AGREE_ROUNDS");
	long n = more != NULL ? strtol(more, NULL, 10) : 8;

	srand(11);
	while (n-- > 0)
		one_round();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(rows_interpreter_and_kernel_agree),
	};

#ifndef __x86_64__
	print_message("skipped: the numbers are those of x86-64\n");
	return 0;
#endif
	return cmocka_run_group_tests(tests, NULL, NULL);
}
