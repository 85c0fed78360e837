/*
 * The loader's simulation: a filter does what its SYSCALLS rows require.
 *
 * The program runs here for every possible system call number, not only for
 * existing ones.  The number is an interval, which each comparison splits, so
 * the cost is the number of leaves of the decision tree.  Where a program tests
 * arguments, the interval is a single number.  Then the program and the rows are
 * compared for all combinations of argument words that make a difference to one of them.
 * A test divides the values of its word in two, and only a part that is not empty goes
 * on, so the cost is again the number of leaves, not of combinations.
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
#define SKIPPED     0xffffffffu          /* the number that a tracer leaves: not x32 */
#define INTERVALS   4096u                /* pending at one time */
#define STEPS_MAX   (8u << 20)           /* total of all runs of one filter */
#define WORDS_MAX   12                   /* six arguments, low and high */
#define WITNESS_MAX 4096                 /* values of one word */
#define PARTS_MAX   (WORDS_MAX * 12 + 1) /* 12: of WITNESS_MAX */
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
	uint32_t bits;     /* tested one by one or under a mask */
	uint32_t compares; /* with a value */
	bool ordered;      /* one of them is not only for equality */
};

struct interval {
	uint32_t pc, lo, hi;
};

/* How far the program and the rows have come, and the values of each word that lead
 * there. */
struct point {
	uint32_t from[WORDS_MAX], to[WORDS_MAX];
	uint32_t pc; /* in the program */
	bool ended;  /* it has returned action; now in the rows: */
	uint32_t action;
	uint32_t row, compare;               /* the next compare */
	enum { HIGH, HIGH_EQUAL, LOW } part; /* of it */
	uint32_t word;                       /* in the accumulator, under mask; */
	uint32_t mask, value;                /* WORDS_MAX: this value */
};

struct replay {
	struct load *l;
	const struct sealed_filter *f;
	const struct sealed_insn *insn;
	uint32_t steps;
	struct interval wait[INTERVALS];
	uint32_t wait_n;
	uint32_t nr; /* the number whose arguments are checked */
	struct witness word[WORDS_MAX];
	struct point part[PARTS_MAX];
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

/* The verdict for a number without a row. */
static uint32_t
unnamed(const struct replay *r, uint32_t nr)
{
	return r->f->arch == AUDIT_ARCH_X86_64 && nr >= X32_BIT && nr != SKIPPED
		   ? SECCOMP_RET_KILL_PROCESS
		   : ENOSYS_RET;
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

/* Adds k and the values beside it. All other values up to the next k are equivalent. */
static void
witness_compare(struct witness *w, uint32_t k, bool equal)
{
	witness_add(w, k);
	witness_add(w, k + 1);
	witness_add(w, k - 1);
	w->compares++;
	w->ordered |= !equal;
}

/*
 * What the accumulator may hold at an instruction: an argument word by its
 * number, the same under a mask, or one of these.
 */
#define HOLDS_MASKED 16 /* and its number */
#define HOLDS_WORDS  0x0fffu
#define HOLDS_NR     0x1000u
#define HOLDS_ARCH   0x2000u
#define HOLDS_OTHER  0x4000u

/* Adds the values for which the instruction at `at` behaves differently. Under a mask, only
 * the bits make a difference. */
static void
witness_insn(struct replay *r, uint32_t at)
{
	const struct sealed_insn *i = &r->insn[at];
	uint32_t w;

	for (w = 0; w < WORDS_MAX && !IS_LD(i) && !IS_JA(i); w++) {
		bool whole = (r->holds[at] & 1u << w) != 0;

		if (!whole && (r->holds[at] & 1u << (w + HOLDS_MASKED)) == 0)
			continue;
		if (IS_AND(i) || BPF_OP(i->code) == BPF_JSET)
			r->word[w].bits |= i->k;
		else if (whole)
			witness_compare(&r->word[w], i->k, BPF_OP(i->code) == BPF_JEQ);
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
	for (at = 0; at < WORDS_MAX; at++) { /* without the values, 16 KiB each */
		r->word[at].n = r->word[at].bits = r->word[at].compares = 0;
		r->word[at].ordered = false;
	}
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
					      : HOLDS_OTHER;
		else if (IS_AND(i))
			v = (v & HOLDS_WORDS) << HOLDS_MASKED |
			    (v & ~(HOLDS_WORDS | HOLDS_NR | HOLDS_ARCH)) |
			    ((v & (HOLDS_NR | HOLDS_ARCH)) != 0 ? HOLDS_OTHER : 0);
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
witness_row(struct witness *w, uint32_t mask, uint32_t value, uint32_t op)
{
	if (mask != UINT32_MAX)
		w->bits |= mask;
	else
		witness_compare(w, value, op != COMPARE_GT);
}

static void
witness_rows(struct replay *r, uint32_t nr)
{
	const struct sealed_syscall *s;
	const struct sealed_compare *c;
	struct witness *w;
	uint32_t i = row_of(r, nr), end = r->f->syscalls.first + r->f->syscalls.n, k;

	for (; i < end && r->l->p.syscall[i].nr == nr; i++) {
		s = &r->l->p.syscall[i];
		for (k = 0; k < s->compares.n; k++) {
			c = &r->l->p.compare[s->compares.first + k];
			w = &r->word[(size_t)2 * c->arg];
			witness_row(w, (uint32_t)c->mask, (uint32_t)c->value, c->op);
			witness_row(w + 1, (uint32_t)(c->mask >> 32),
			    (uint32_t)(c->value >> 32), c->op);
		}
	}
}

/*
 * Adds every combination of the tested bits, each with more values of the other bits than
 * there are compares: one of them is equal to no compared value. False: that is not all that
 * makes a difference, or too much.
 */
static bool
witness_rest(struct witness *w)
{
	uint32_t v = 0, other, i;

	witness_add(w, 0); /* also for a word that nothing tests */
	if (w->bits == 0)
		return w->n < WITNESS_MAX;
	if (w->ordered)
		return false;
	do {
		for (i = other = 0; i <= w->compares && w->n < WITNESS_MAX; i++) {
			w->value[w->n++] = v | other; /* twice does no harm */
			other = (other - ~w->bits) & ~w->bits;
		}
		v = (v - w->bits) & w->bits; /* the next subset */
	} while (v != 0 && w->n < WITNESS_MAX);
	return w->n < WITNESS_MAX;
}

/* ---- program and rows side by side ----------------------------------------------- */

/* A comparison of an argument word. */
struct test {
	uint32_t word, mask;
	struct sealed_insn insn; /* its code and k */
};

/* Any instruction but a test of an argument and a return. */
static void
instruction(const struct replay *r, struct point *p, const struct sealed_insn *i)
{
	p->pc++;
	if (IS_LD(i)) {
		p->mask = UINT32_MAX;
		p->word = i->k >= ARGS_AT ? (i->k - (uint32_t)ARGS_AT) / 4 : WORDS_MAX;
		p->value = i->k == NR_AT ? r->nr : i->k == ARCH_AT ? r->f->arch : 0;
	} else if (IS_AND(i)) {
		p->mask &= i->k;
		p->value &= i->k;
	} else if (IS_JA(i))
		p->pc += i->k;
	else
		p->pc += branch(i, p->value) ? i->jt : i->jf;
}

/* Runs the program up to a test of an argument, or to its end. */
static bool
program_test(struct replay *r, struct point *p, struct test *ret)
{
	const struct sealed_insn *i;

	/* Every jump goes forward and stays inside: load_bpf checked it. */
	for (;; r->steps++) {
		i = &r->insn[p->pc];
		if (IS_RET(i)) {
			p->action = i->k;
			p->ended = true;
			return false;
		}
		if (BPF_CLASS(i->code) == BPF_JMP && !IS_JA(i) && p->word < WORDS_MAX) {
			*ret = (struct test){p->word, p->mask, *i};
			return true;
		}
		instruction(r, p, i);
	}
}

/* The next test of the rows; false: *ret_action is their verdict. */
static bool
rows_test(const struct replay *r, struct point *p, struct test *ret, uint32_t *ret_action)
{
	const struct sealed_syscall *s = &r->l->p.syscall[p->row];
	const struct sealed_compare *c;
	bool high = p->part != LOW, above;

	if (p->row == r->f->syscalls.first + r->f->syscalls.n || s->nr != r->nr) {
		*ret_action = unnamed(r, r->nr);
		return false;
	}
	if (p->compare == s->compares.n) {
		*ret_action = s->action;
		return false;
	}
	c = &r->l->p.compare[s->compares.first + p->compare];
	above = c->op == COMPARE_GT && p->part != HIGH_EQUAL;
	*ret = (struct test){.word = 2 * c->arg + high,
	    .mask = (uint32_t)(high ? c->mask >> 32 : c->mask),
	    .insn = {.code = BPF_JMP | BPF_K | (above ? BPF_JGT : BPF_JEQ),
		.k = (uint32_t)(high ? c->value >> 32 : c->value)}};
	return true;
}

/* Goes on from a test. */
static void
answer(const struct replay *r, struct point *p, bool yes)
{
	const struct sealed_insn *i = &r->insn[p->pc];
	const struct sealed_compare *c;
	bool first, holds;

	if (!p->ended) {
		p->pc += 1 + (uint32_t)(yes ? i->jt : i->jf);
		return;
	}
	c = &r->l->p.compare[r->l->p.syscall[p->row].compares.first + p->compare];
	first = p->part == HIGH && c->op == COMPARE_GT; /* the only one that is `above` */
	if (first && !yes) {
		p->part = HIGH_EQUAL;
		return;
	}
	if (yes && !first && p->part != LOW) {
		p->part = LOW;
		return;
	}
	holds = yes != (c->op == COMPARE_NE);
	p->part = HIGH;
	p->compare = holds ? p->compare + 1 : 0;
	p->row += !holds;
}

/* Moves the values for which the test holds to the front; returns the end of them. */
static uint32_t
divide(struct replay *r, const struct point *p, const struct test *t)
{
	uint32_t *value = r->word[t->word].value, mid = p->from[t->word], i, v;

	for (i = mid; i < p->to[t->word]; i++) {
		v = value[i];
		if (!branch(&t->insn, v & t->mask))
			continue;
		value[i] = value[mid];
		value[mid++] = v;
	}
	r->steps += i - p->from[t->word] - 1; /* the test itself is counted already */
	return mid;
}

/*
 * Whether program and rows agree from this point on.  Of a division the smaller part goes
 * on and the larger waits, so at most the sum of the words' logarithms wait: PARTS_MAX.
 */
static int
agree(struct replay *r, struct point p)
{
	struct point *other;
	struct test t;
	uint32_t action, mid, n = 0;
	bool yes;

	while (r->steps++ <= STEPS_MAX && n < PARTS_MAX) {
		if (!p.ended && !program_test(r, &p, &t))
			continue; /* with the rows */
		if (p.ended && !rows_test(r, &p, &t, &action)) {
			if (action != p.action)
				return differs(r, r->nr);
			if (n == 0)
				return 0;
			p = r->part[--n];
			continue;
		}
		mid = divide(r, &p, &t);
		yes = mid - p.from[t.word] > p.to[t.word] - mid; /* the larger part's */
		if (mid > p.from[t.word] && mid < p.to[t.word]) {
			other = &r->part[n++];
			*other = p;
			(yes ? other->to : other->from)[t.word] = mid;
			(yes ? p.from : p.to)[t.word] = mid;
			answer(r, other, yes);
			yes = !yes;
		}
		answer(r, &p, yes);
	}
	return load_refuse(r->l, "filter %08x: too complex", r->f->arch);
}

/* Checks one number whose arguments are tested from pc on. */
static int
arguments_check(struct replay *r, uint32_t pc, uint32_t nr)
{
	struct point p = {.pc = pc, .row = row_of(r, nr), .word = WORDS_MAX};
	uint32_t w;

	r->nr = nr;
	witness_program(r, pc, nr);
	witness_rows(r, nr);
	for (w = 0; w < WORDS_MAX; w++) {
		if (!witness_rest(&r->word[w]))
			return load_refuse(r->l, "filter %08x: too complex", r->f->arch);
		p.to[w] = r->word[w].n;
	}
	return agree(r, p);
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
