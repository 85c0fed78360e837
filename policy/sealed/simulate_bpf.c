/*
 * The loader's simulation: a filter does what its SYSCALLS rows require.
 *
 * The program runs here for every possible system call number, not only for
 * existing ones.  The number is an interval, which each comparison splits, so
 * the cost is the number of leaves of the decision tree.  Where a program tests
 * arguments, the interval is a single number.  Then the program runs for all
 * combinations of argument words that make a difference to the program or to
 * the rows.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include "policy/sealed/load.h"
#include "shim/base/array.h"

#define X32_BIT     0x40000000u
#define SKIPPED     0xffffffffu /* the number that a tracer leaves: not x32 */
#define INTERVALS   4096u       /* pending at one time */
#define STEPS_MAX   (8u << 20)  /* total of all runs of one filter */
#define WORDS_MAX   12          /* six arguments, low and high */
#define WITNESS_MAX 2048        /* values of one word */
#define BITS_MAX    10          /* bits whose combinations are all tried */
#define ENOSYS_RET  (SECCOMP_RET_ERRNO | 38) /* ENOSYS, asm-generic/errno.h */
#define NR_AT       offsetof(struct seccomp_data, nr)
#define ARCH_AT     offsetof(struct seccomp_data, arch)
#define ARGS_AT     offsetof(struct seccomp_data, args)

#define IS_LD(i)  ((i)->code == (BPF_LD | BPF_W | BPF_ABS))
#define IS_RET(i) ((i)->code == (BPF_RET | BPF_K))
#define IS_AND(i) ((i)->code == (BPF_ALU | BPF_AND | BPF_K))
#define IS_JA(i)  ((i)->code == (BPF_JMP | BPF_JA))

/* The values of one argument word that make a difference. */
struct witness {
	uint32_t value[WITNESS_MAX];
	uint32_t n;
	uint32_t bits; /* bits tested one by one or under a mask */
	bool many;     /* more than one mask: try combinations of their bits */
};

struct interval {
	uint32_t pc, lo, hi;
};

struct replay {
	struct load *l;
	const struct sealed_filter *f;
	const struct sealed_insn *insn;
	uint32_t steps;
	struct interval wait[INTERVALS];
	uint32_t wait_n;
	struct witness word[WORDS_MAX];
	uint32_t holds[SEALED_INSNS_MAX]; /* argument words, HOLDS_* */
};

static bool
branch(const struct sealed_insn *i, uint32_t a)
{
	return BPF_OP(i->code) == BPF_JEQ   ? a == i->k
	       : BPF_OP(i->code) == BPF_JGT ? a > i->k
	       : BPF_OP(i->code) == BPF_JGE ? a >= i->k
					    : (a & i->k) != 0;
}

uint32_t
bpf_run(const struct sealed_insn *insn, uint32_t pc, const struct seccomp_data *d,
    uint32_t *steps)
{
	const struct sealed_insn *i;
	uint32_t a = 0;

	/* Every jump goes forward and stays inside: load_bpf checked it. */
	for (;; ++*steps) {
		i = &insn[pc++];
		if (IS_RET(i))
			return i->k;
		if (IS_LD(i))
			memcpy(&a, (const char *)d + i->k, sizeof(a));
		else if (IS_AND(i))
			a &= i->k;
		else
			pc += IS_JA(i) ? i->k : branch(i, a) ? i->jt : i->jf;
	}
}

/* ---- verdicts of the rows ------------------------------------------------ */

/* The first row with this nr or a higher one. */
static uint32_t
row_of(const struct replay *r, uint32_t nr)
{
	uint32_t lo = r->f->syscalls.first, hi = lo + r->f->syscalls.n, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (r->l->p.syscall[mid].nr < nr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static bool
compare_holds(const struct sealed_compare *c, const uint64_t args[6])
{
	uint64_t v = args[c->arg] & c->mask;

	return c->op == COMPARE_EQ   ? v == c->value
	       : c->op == COMPARE_NE ? v != c->value
				     : v > c->value;
}

/* The verdict for a number without a row. */
static uint32_t
unnamed(const struct replay *r, uint32_t nr)
{
	return r->f->arch == AUDIT_ARCH_X86_64 && nr >= X32_BIT && nr != SKIPPED
		   ? SECCOMP_RET_KILL_PROCESS
		   : ENOSYS_RET;
}

/* i: the first row of this number. */
static uint32_t
said(const struct replay *r, const struct seccomp_data *d, uint32_t i)
{
	const struct sealed_syscall *s;
	const uint64_t *args = (const uint64_t *)(const void *)d->args;
	uint32_t k, end = r->f->syscalls.first + r->f->syscalls.n;

	for (; i < end; i++) {
		s = &r->l->p.syscall[i];
		if (s->nr != (uint32_t)d->nr)
			break;
		for (k = 0; k < s->compares.n; k++)
			if (!compare_holds(&r->l->p.compare[s->compares.first + k], args))
				break;
		if (k == s->compares.n)
			return s->action;
	}
	return unnamed(r, (uint32_t)d->nr);
}

static int
differs(const struct replay *r, uint32_t nr)
{
	return load_refuse(r->l,
	    "filter %08x: the result for system call %u does not match its rows",
	    r->f->arch, nr);
}

/* The program has this verdict for every number from lo to hi: is it right? */
static int
interval_check(const struct replay *r, uint32_t lo, uint32_t hi, uint32_t action)
{
	const struct sealed_syscall *s;
	uint32_t i = row_of(r, lo), end = r->f->syscalls.first + r->f->syscalls.n,
		 named = 0;

	for (; i < end && r->l->p.syscall[i].nr <= hi; i++, named++) {
		s = &r->l->p.syscall[i];
		if (s->compares.n != 0 || s->action != action)
			return differs(r, s->nr);
	}
	if (named <= hi - lo &&
	    (action != unnamed(r, lo) || action != unnamed(r, hi) ||
		(unnamed(r, X32_BIT) != action && lo < X32_BIT && hi == SKIPPED)))
		return differs(r, lo);
	return 0;
}

/* ---- arguments ------------------------------------------------------------------ */

static void
witness_add(struct witness *w, uint32_t v)
{
	uint32_t i;

	for (i = 0; i < w->n && w->value[i] != v; i++)
		;
	if (i == w->n && w->n < WITNESS_MAX)
		w->value[w->n++] = v;
}

/* Adds the tested bits; under a single mask, whole values suffice. */
static void
witness_mask(struct witness *w, uint32_t mask, bool single)
{
	w->many = w->many || single || (w->bits != 0 && w->bits != mask);
	w->bits |= mask;
}

/* Adds the values on both sides of k under this mask. */
static void
witness_around(struct witness *w, uint32_t mask, uint32_t k, bool ordered)
{
	if (mask == 0)
		return; /* the value makes no difference */
	witness_add(w, k);
	witness_add(w, k | ~mask);
	/*
	 * For an equality test of a whole word, or an empty mask, all other
	 * values are equivalent: witness_bits adds one.
	 */
	if (ordered || (mask != 0 && mask != UINT32_MAX))
		witness_add(w, k + 1);
	if (ordered)
		witness_add(w, k - 1);
}

/*
 * What the accumulator may hold at an instruction: an argument word by its
 * number, or one of these.
 */
#define HOLDS_NR   0x1000u
#define HOLDS_ARCH 0x2000u

/* Adds the values for which the instruction at `at` behaves differently. */
static void
witness_insn(struct replay *r, uint32_t at)
{
	const struct sealed_insn *i = &r->insn[at];
	uint32_t mask = IS_AND(i - 1) ? i[-1].k : UINT32_MAX, w; /* guard before */

	for (w = 0; w < WORDS_MAX && !IS_LD(i) && !IS_JA(i); w++) {
		if ((r->holds[at] & 1u << w) == 0)
			continue;
		if (IS_AND(i) || BPF_OP(i->code) == BPF_JSET)
			witness_mask(&r->word[w], i->k, !IS_AND(i));
		else
			witness_around(
			    &r->word[w], mask, i->k, BPF_OP(i->code) != BPF_JEQ);
	}
}

/* Visits every instruction reachable from pc for this number. */
static void
witness_program(struct replay *r, uint32_t pc, uint32_t nr)
{
	const struct sealed_insn *i;
	uint32_t at, known, yes, no, v;
	bool one; /* only one of the two branches can be taken */

	memset(r->holds, 0, sizeof(r->holds));
	for (at = 0; at < WORDS_MAX; at++) /* counts only: values are 8 KiB each */
		r->word[at].n = r->word[at].bits = 0;
	r->holds[pc] = HOLDS_NR;
	for (at = pc; at < r->f->insns.n; at++) {
		i = &r->insn[at];
		if (r->holds[at] == 0 || IS_RET(i))
			continue;
		witness_insn(r, at);
		yes = no = at + 1;
		v = r->holds[at];
		if (IS_LD(i))
			v = i->k >= ARGS_AT   ? 1u << (i->k - (uint32_t)ARGS_AT) / 4
			    : i->k == NR_AT   ? HOLDS_NR
			    : i->k == ARCH_AT ? HOLDS_ARCH
					      : 0;
		else if (IS_JA(i))
			yes = no = at + 1 + i->k;
		else if (BPF_CLASS(i->code) == BPF_JMP) {
			one = v == HOLDS_NR || v == HOLDS_ARCH;
			known = v == HOLDS_NR ? nr : r->f->arch;
			yes += one && !branch(i, known) ? i->jf : i->jt;
			no += one && branch(i, known) ? i->jt : i->jf;
		}
		r->holds[yes] |= v;
		r->holds[no] |= v;
	}
}

static void
witness_rows(struct replay *r, uint32_t nr)
{
	const struct sealed_syscall *s;
	const struct sealed_compare *c;
	uint32_t i = row_of(r, nr), end = r->f->syscalls.first + r->f->syscalls.n, k;

	for (; i < end && r->l->p.syscall[i].nr == nr; i++) {
		s = &r->l->p.syscall[i];
		for (k = 0; k < s->compares.n; k++) {
			c = &r->l->p.compare[s->compares.first + k];
			if ((uint32_t)c->mask != UINT32_MAX && (uint32_t)c->mask != 0)
				witness_mask(&r->word[(size_t)2 * c->arg],
				    (uint32_t)c->mask, c->op == COMPARE_NE);
			/*
			 * A word that the row masks out makes no difference to
			 * the row;
			 * if it does to the program, witness_program adds it.
			 */
			if ((uint32_t)c->mask != 0)
				witness_around(&r->word[(size_t)2 * c->arg],
				    (uint32_t)c->mask, (uint32_t)c->value,
				    c->op == COMPARE_GT);
			if (c->mask >> 32 != 0)
				witness_around(&r->word[(size_t)2 * c->arg + 1],
				    (uint32_t)(c->mask >> 32), (uint32_t)(c->value >> 32),
				    c->op == COMPARE_GT);
		}
	}
}

/* Adds every combination of few bits; of many bits, each alone, and none. */
static void
witness_bits(struct witness *w)
{
	uint32_t v = 0, bit, n = w->n;

	if (w->n > 0 || w->bits != 0)
		witness_add(w, 0);
	if (!w->many)
		return;
	/* Adds one value that no test names. */
	for (bit = 1; n > 0 && w->n == n; bit++)
		witness_add(w, bit);
	if (__builtin_popcount(w->bits) > BITS_MAX) {
		for (bit = 1; bit != 0; bit <<= 1)
			if ((w->bits & bit) != 0)
				witness_add(w, bit);
		return;
	}
	do {
		witness_add(w, v);
		v = (v - w->bits) & w->bits; /* the next subset */
	} while (v != 0);
}

/* Checks one number whose arguments are tested from pc on: all combinations. */
static int
arguments_check(struct replay *r, uint32_t pc, uint32_t nr)
{
	struct seccomp_data d = {.nr = (int)nr, .arch = r->f->arch};
	uint32_t at[WORDS_MAX] = {0}, row = row_of(r, nr), w, v, words = WORDS_MAX;

	witness_program(r, pc, nr);
	witness_rows(r, nr);
	for (w = 0; w < WORDS_MAX; w++)
		witness_bits(&r->word[w]);
	for (;;) {
		for (w = 0; w < words; w++) {
			v = r->word[w].n > 0 ? r->word[w].value[at[w]] : 0;
			memcpy((char *)d.args + (size_t)4 * w, &v, sizeof(v));
		}
		if (bpf_run(r->insn, pc, &d, &r->steps) != said(r, &d, row))
			return differs(r, nr);
		if (r->steps > STEPS_MAX)
			return load_refuse(r->l, "filter %08x: too complex", r->f->arch);
		/* words above the one that advances keep their values */
		for (w = 0; w < WORDS_MAX && ++at[w] >= r->word[w].n; w++)
			at[w] = 0;
		if (w == WORDS_MAX)
			return 0;
		words = w + 1;
	}
}

/* ---- numbers --------------------------------------------------------------------- */

/* Queues the numbers lo to hi, to continue from pc. */
static void
later(struct replay *r, uint32_t pc, uint32_t lo, uint32_t hi)
{
	if (r->wait_n < INTERVALS)
		r->wait[r->wait_n] = (struct interval){pc, lo, hi};
	r->wait_n++; /* too many: load_replay checks the count */
}

/* A comparison of the number: each branch gets its part of the interval. */
static void
split(struct replay *r, const struct sealed_insn *i, struct interval v)
{
	uint32_t yes = v.pc + i->jt, no = v.pc + i->jf;
	uint64_t from = BPF_OP(i->code) == BPF_JGT ? (uint64_t)i->k + 1 : i->k;
	bool equal = BPF_OP(i->code) == BPF_JEQ;

	if (from > v.hi || (equal && from < v.lo)) {
		later(r, no, v.lo, v.hi);
		return;
	}
	if (from > v.lo)
		later(r, no, v.lo, (uint32_t)from - 1);
	if (!equal)
		later(r, yes, from > v.lo ? (uint32_t)from : v.lo, v.hi);
	else {
		later(r, yes, i->k, i->k);
		if (i->k < v.hi)
			later(r, no, i->k + 1, v.hi);
	}
}

/* Runs one interval to its end: an action, a test of arguments, or a split. */
static int
walk(struct replay *r, struct interval v)
{
	const struct sealed_insn *i;
	bool arch = false, nr = v.pc != 0; /* all but the first come from a split */

	for (;; r->steps++) {
		i = &r->insn[v.pc];
		if (IS_RET(i))
			return interval_check(r, v.lo, v.hi, i->k);
		if (IS_LD(i) && i->k >= ARGS_AT && v.lo == v.hi)
			return arguments_check(r, v.pc, v.lo);
		v.pc++;
		if (IS_LD(i)) {
			arch = i->k == ARCH_AT;
			nr = i->k == NR_AT;
		} else if (IS_JA(i)) {
			v.pc += i->k;
		} else if (arch && !IS_AND(i)) {
			v.pc += branch(i, r->f->arch) ? i->jt : i->jf;
			continue;
		} else if (nr && !IS_AND(i) && BPF_OP(i->code) != BPF_JSET) {
			split(r, i, v);
			return 0;
		} else
			nr = arch = false;
		if (!arch && !nr && !IS_JA(i))
			return load_refuse(
			    r->l, "filter %08x: reads data that it must not", r->f->arch);
	}
}

/* Rows ascend; of the rows of one number, all but the last have compares. */
static int
rows_check(const struct replay *r)
{
	static const uint32_t gate[][3] = {
	    /* execve, execveat of asm/unistd.h */
	    {AUDIT_ARCH_X86_64, 59, 322},
	    {AUDIT_ARCH_AARCH64, 221, 281},
	};
	const struct sealed_syscall *s = r->l->p.syscall + r->f->syscalls.first;
	uint32_t i, k, at;

	for (i = 0; i < r->f->syscalls.n; i++) {
		bool last = i + 1 == r->f->syscalls.n || s[i + 1].nr != s[i].nr;

		if (last != (s[i].compares.n == 0) || (!last && s[i + 1].nr < s[i].nr) ||
		    (last && i + 1 < r->f->syscalls.n && s[i + 1].nr <= s[i].nr))
			return load_refuse(
			    r->l, "filter %08x: system calls out of order", r->f->arch);
	}
	/* No program starts without a check by the gate. */
	for (i = 0; i < ARRAY_LEN(gate); i++)
		for (k = 1; k < 3 && gate[i][0] == r->f->arch; k++) {
			at = row_of(r, gate[i][k]) - r->f->syscalls.first;
			if (at == r->f->syscalls.n || s[at].nr != gate[i][k] ||
			    s[at].action != SECCOMP_RET_USER_NOTIF ||
			    s[at].compares.n != 0)
				return load_refuse(r->l,
				    "filter %08x: an exec does not go to the exec gate",
				    r->f->arch);
		}
	return 0;
}

int
load_replay(struct load *l, const struct sealed_filter *f)
{
	struct replay *r = calloc(1, sizeof(*r));
	int e;

	if (r == NULL)
		return -ENOMEM;
	r->l = l;
	r->f = f;
	r->insn = l->p.insn + f->insns.first;
	e = rows_check(r);
	later(r, 0, 0, UINT32_MAX);
	while (e == 0 && r->wait_n > 0) {
		e = walk(r, r->wait[--r->wait_n]);
		if (e == 0 && (r->wait_n > INTERVALS || r->steps > STEPS_MAX))
			e = load_refuse(l, "filter %08x: too complex", f->arch);
	}
	free(r);
	return e;
}

int
policy_replay(
    const struct policy *p, const struct sealed_filter *f, char *why, size_t why_cap)
{
	struct load l = {.p = *p, .why = why, .why_cap = why_cap};

	return filter_is_named(f) ? 0 : load_replay(&l, f);
}
