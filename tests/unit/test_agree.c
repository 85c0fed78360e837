/*
 * Generated lines about system calls: what the rows say, what our interpreter
 * finds and what the kernel does are one.  AGREE_ROUNDS=N for more than a few.
 *
 * And of changed filters, the loader accepts only those in which program and rows are
 * still one.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "policy/compile/seccomp_rows.h"
#include "policy/sealed/load.h"
#include "shim/base/array.h"
#include "tests/unit/bpf_run.h"
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
	size_t i;

	for (i = 0; i < CALLS_N; i++) {
		bool there = calls[i].base != changed[i];

		d.nr = (int)calls[i].nr;
		d.args[0] = (uint64_t)calls[i].a;
		d.args[1] = (uint64_t)calls[i].b;
		assert_int_equal(bpf_run(&l->p.insn[f->insns.first], &d),
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

/* ---- changed filters -------------------------------------------------------------- */

#define TRIES 400 /* argument lists for each accepted change */

/* Tables that can be written. */
struct change {
	struct load l;
	const struct sealed_filter *f;
	struct sealed_insn *insn;
	struct sealed_syscall *row;
	struct sealed_compare *compare;
	uint32_t refused, accepted;
};

static uint32_t
row_says(const struct change *c, const struct seccomp_data *d)
{
	const struct sealed_compare *t;
	const struct sealed_syscall *s;
	uint64_t v;
	uint32_t k;

	for (s = c->row; s < c->row + c->f->syscalls.n; s++) {
		if (s->nr != (uint32_t)d->nr)
			continue;
		for (k = 0; k < s->compares.n; k++) {
			t = &c->compare[s->compares.first + k];
			v = d->args[t->arg] & t->mask;
			if (t->op == COMPARE_EQ   ? v != t->value
			    : t->op == COMPARE_NE ? v == t->value
						  : v <= t->value)
				break;
		}
		if (k == s->compares.n)
			return s->action;
	}
	return SECCOMP_RET_ERRNO | ENOSYS;
}

/* A number of the program, or one beside it. */
static uint32_t
near(const struct change *c)
{
	uint32_t v = c->insn[(uint32_t)rand() % c->f->insns.n].k,
		 other = c->insn[(uint32_t)rand() % c->f->insns.n].k;

	switch (rand() % 6) {
	case 0:
		return v + 1;
	case 1:
		return v - 1;
	case 2:
		return v | other;
	case 3:
		return v ^ 1u << rand() % 32;
	case 4:
		return 0;
	default:
		return v;
	}
}

/* Loads the changed tables; what is accepted must be right. */
static void
judge(struct change *c, const char *what, uint32_t at)
{
	struct seccomp_data d = {.arch = c->f->arch};
	uint32_t i, k;

	if (load_bpf(&c->l, c->f) < 0 || load_replay(&c->l, c->f) < 0) {
		c->refused++;
		return;
	}
	c->accepted++;
	for (i = 0; i < TRIES; i++) {
		do /* only these numbers test an argument */
			k = (uint32_t)rand() % c->f->syscalls.n;
		while (c->row[k].compares.n == 0);
		d.nr = (int)c->row[k].nr;
		for (k = 0; k < 6; k++)
			d.args[k] =
			    rand() % 2 ? near(c) : (uint64_t)near(c) << 32 | near(c);
		if (bpf_run(c->insn, &d) != row_says(c, &d))
			fail_msg("%s %u changed, call %d: accepted", what, at, d.nr);
	}
}

static void
change_program(struct change *c)
{
	struct sealed_insn *i, old;
	uint32_t at;
	int how;

	for (at = 0; at < c->f->insns.n; at++)
		for (how = 0; how < 6; how++) {
			i = &c->insn[at];
			old = *i;
			i->k = how == 0 ? i->k ^ 1 : how == 1 ? i->k ^ 0x20000 : i->k;
			i->jt = how == 2 ? i->jf : i->jt;
			i->jf = how == 3 ? i->jt : i->jf;
			if (how == 4 && i->code == (BPF_JMP | BPF_JEQ | BPF_K))
				i->code = BPF_JMP | BPF_JGE | BPF_K;
			if (how == 5 && i->code == (BPF_ALU | BPF_AND | BPF_K))
				i->k = 0x7fff0000;
			if (memcmp(i, &old, sizeof(old)) != 0)
				judge(c, "instruction", at);
			*i = old;
		}
}

static void
change_compare(struct change *c, struct sealed_compare *t, uint32_t nr)
{
	struct sealed_compare old = *t;
	int how;

	for (how = 0; how < 4; how++) {
		t->value ^= how == 0;
		t->mask ^= how == 1 ? 1 : how == 2 ? 1ull << 40 : 0;
		if (how == 3)
			t->op = t->op == COMPARE_EQ ? COMPARE_NE : COMPARE_EQ;
		judge(c, "compare of call", nr);
		*t = old;
	}
}

/* For example, with another comparison of prlimit64's process: 0 alone would not show it. */
static void
changed_filters_are_refused(void **state)
{
	struct sealer *s = sealer_new();
	struct sealed_range filters, said = lines(s);
	char why[200] = "";
	struct change c = {.l = {.why = why, .why_cap = sizeof(why)}};
	uint32_t i, k;

	srand(12);
	assert_int_equal(filters_build(s, said, &filters), 0);
	tables(s, &c.l);
	c.f = &c.l.p.filter[0];
	c.insn = sealer_at(s, SEALED_INSNS, c.f->insns.first);
	c.row = sealer_at(s, SEALED_SYSCALLS, c.f->syscalls.first);
	c.compare = sealer_at(s, SEALED_COMPARES, 0);
	judge(&c, "nothing", 0);
	assert_int_equal(c.accepted, 1);
	change_program(&c);
	for (i = 0; i < c.f->syscalls.n; i++)
		for (k = 0; k < c.row[i].compares.n; k++)
			change_compare(
			    &c, &c.compare[c.row[i].compares.first + k], c.row[i].nr);
	/* Some make no difference, e.g. a bit that a mask removes. */
	assert_true(c.refused > 4 * c.accepted);
	sealer_free(s);
}

/* ---- filters by hand ------------------------------------------------------------------ */

#define LOAD(at) \
	{ \
		.code = BPF_LD | BPF_W | BPF_ABS, .k = (at) \
	}
#define AND(mask) \
	{ \
		.code = BPF_ALU | BPF_AND | BPF_K, .k = (mask) \
	}
#define TEST(op, value, yes, no) \
	{ \
		.code = BPF_JMP | (op) | BPF_K, .k = (value), .jt = (yes), .jf = (no) \
	}
#define RETURN(action) \
	{ \
		.code = BPF_RET | BPF_K, .k = (action) \
	}
#define ARG0    offsetof(struct seccomp_data, args)
#define NR      100 /* its only row says REFUSE */
#define REFUSE  (SECCOMP_RET_ERRNO | 1)
#define ENOSYS_ (SECCOMP_RET_ERRNO | 38)

/* What each filter does first; what it does with call NR follows. */
static const struct sealed_insn head[] = {
    LOAD(offsetof(struct seccomp_data, arch)),
    TEST(BPF_JEQ, AUDIT_ARCH_X86_64, 0, 7), /* other: kill */
    LOAD(offsetof(struct seccomp_data, nr)),
    TEST(BPF_JGE, 0x40000000u, 6, 0), /* x32 */
    TEST(BPF_JEQ, 59, 3, 0),
    TEST(BPF_JEQ, 322, 2, 0),
    TEST(BPF_JEQ, NR, 6, 0),
    RETURN(ENOSYS_),
    RETURN(SECCOMP_RET_USER_NOTIF),
    RETURN(SECCOMP_RET_KILL_PROCESS),
    TEST(BPF_JEQ, UINT32_MAX, 0, 1),
    RETURN(ENOSYS_),
    RETURN(SECCOMP_RET_KILL_PROCESS),
};

/* Each lets one argument through that the row refuses, or is the control, which has none. */
static const struct {
	const char *what;
	uint32_t passes; /* 0: none */
	struct sealed_insn insn[10];
} by_hand[] = {
    {"the control", 0, {LOAD(ARG0), TEST(BPF_JEQ, 7, 0, 0), RETURN(REFUSE)}},
    {"equal", 7,
	{LOAD(ARG0), TEST(BPF_JEQ, 7, 0, 1), RETURN(SECCOMP_RET_ALLOW), RETURN(REFUSE)}},
    {"two bits in an interval", 0x102,
	{LOAD(ARG0), TEST(BPF_JGT, 0x100, 0, 3), TEST(BPF_JGT, 0x200, 2, 0), AND(3),
	    TEST(BPF_JEQ, 2, 1, 0), RETURN(REFUSE), RETURN(SECCOMP_RET_ALLOW)}},
    {"bits of a value that is not named", 0x102,
	{LOAD(ARG0), TEST(BPF_JEQ, 2, 5, 0), TEST(BPF_JEQ, 0xfffffffe, 4, 0),
	    TEST(BPF_JEQ, 1, 3, 0), AND(3), TEST(BPF_JEQ, 2, 0, 1),
	    RETURN(SECCOMP_RET_ALLOW), RETURN(REFUSE)}},
    {"bits of two masks", 0x1234,
	{LOAD(ARG0), AND(0xff00), TEST(BPF_JEQ, 0x1200, 0, 3), LOAD(ARG0), AND(0xff),
	    TEST(BPF_JEQ, 0x34, 1, 0), RETURN(REFUSE), RETURN(SECCOMP_RET_ALLOW)}},
    {"a compare after a mask that was jumped over", 0x102,
	{LOAD(ARG0), TEST(BPF_JEQ, 0x102, 1, 0), AND(3), TEST(BPF_JEQ, 0x102, 1, 0),
	    RETURN(REFUSE), RETURN(SECCOMP_RET_ALLOW)}},
};

static void
wrong_filters_are_refused(void **state)
{
	struct sealed_syscall row[] = {{.nr = 59, .action = SECCOMP_RET_USER_NOTIF},
	    {.nr = NR, .action = REFUSE}, {.nr = 322, .action = SECCOMP_RET_USER_NOTIF}};

	for (size_t i = 0; i < ARRAY_LEN(by_hand); i++) {
		struct sealed_insn insn[ARRAY_LEN(head) + ARRAY_LEN(by_hand[i].insn)];
		struct seccomp_data data = {.nr = NR, .arch = AUDIT_ARCH_X86_64};
		char why[200] = "";
		struct load l = {.why = why, .why_cap = sizeof(why)};
		struct sealed_filter f = {
		    .arch = AUDIT_ARCH_X86_64, .syscalls.n = ARRAY_LEN(row)};
		size_t n = 0;

		while (n < ARRAY_LEN(by_hand[i].insn) && by_hand[i].insn[n].code != 0)
			n++;
		memcpy(insn, head, sizeof(head));
		memcpy(insn + ARRAY_LEN(head), by_hand[i].insn, sizeof(by_hand[i].insn));
		f.insns.n = (uint32_t)(ARRAY_LEN(head) + n);
		l.p.insn = insn;
		l.p.filter = &f;
		l.p.syscall = row;
		l.p.row_n[SEALED_FILTERS] = 1;
		data.args[0] = by_hand[i].passes;
		assert_int_equal(bpf_run(insn, &data),
		    by_hand[i].passes != 0 ? SECCOMP_RET_ALLOW : REFUSE);
		assert_int_equal(load_bpf(&l, &f), 0);
		if ((load_replay(&l, &f) == 0) != (by_hand[i].passes == 0))
			fail_msg("%s: %s", by_hand[i].what, why);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(rows_interpreter_and_kernel_agree),
	    cmocka_unit_test(changed_filters_are_refused),
	    cmocka_unit_test(wrong_filters_are_refused),
	};

#ifndef __x86_64__
	print_message("skipped: the numbers are those of x86-64\n");
	return 0;
#endif
	return cmocka_run_group_tests(tests, NULL, NULL);
}
