/*
 * The loader's check of a finished seccomp program: only what seccomp.c
 * produces.
 *
 * All jumps go forward and stay inside the program.  The last instruction is a
 * RET, so every path ends in one.  Every RET has one of the actions that we
 * use.  Nothing is decided before the architecture (and on x86-64 the x32 bit)
 * is checked.
 *
 * Also which filter a row names instead.
 */
#include <stddef.h>
#include <string.h>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include "policy/sealed/load.h"
#include "shim/base/array.h"

#define X32_BIT 0x40000000u

static bool insn_known(const struct sealed_insn *);
static bool ret_known(uint32_t k);
static bool jumps_inside(const struct sealed_insn *, uint32_t left);
static bool guard_holds(const struct sealed_insn *, uint32_t n, uint32_t arch);

int
load_bpf(struct load *l, const struct sealed_filter *f)
{
	const struct sealed_insn *insn = l->p.insn + f->insns.first;
	uint32_t n = f->insns.n, arch = f->arch, i;

	if (arch != AUDIT_ARCH_X86_64 && arch != AUDIT_ARCH_AARCH64)
		return load_refuse(l, "filter: unknown architecture %08x", arch);
	if (n == 0 || n > SEALED_INSNS_MAX)
		return load_refuse(l, "filter %08x: %u instructions", arch, n);
	for (i = 0; i < n; i++) {
		if (!insn_known(&insn[i]))
			return load_refuse(
			    l, "filter %08x: instruction %u is not allowed", arch, i);
		if (!jumps_inside(&insn[i], n - i - 1))
			return load_refuse(
			    l, "filter %08x: instruction %u jumps outside", arch, i);
	}
	if (!guard_holds(insn, n, arch))
		return load_refuse(
		    l, "filter %08x: does not check the architecture first", arch);
	return 0;
}

/* The instructions that seccomp.c produces. */
static const struct {
	uint16_t code;
	bool branches; /* jt and jf are used */
} known[] = {
    {BPF_LD | BPF_W | BPF_ABS, false},
    {BPF_ALU | BPF_AND | BPF_K, false},
    {BPF_JMP | BPF_JA, false},
    {BPF_JMP | BPF_JEQ | BPF_K, true},
    {BPF_JMP | BPF_JGT | BPF_K, true},
    {BPF_JMP | BPF_JGE | BPF_K, true},
    {BPF_JMP | BPF_JSET | BPF_K, true},
    {BPF_RET | BPF_K, false},
};

static bool
insn_known(const struct sealed_insn *insn)
{
	size_t i;

	for (i = 0; i < ARRAY_LEN(known); i++)
		if (known[i].code == insn->code)
			break;
	if (i == ARRAY_LEN(known) ||
	    (!known[i].branches && (insn->jt != 0 || insn->jf != 0)))
		return false;
	if (BPF_CLASS(insn->code) == BPF_LD)
		return insn->k % 4 == 0 && insn->k <= sizeof(struct seccomp_data) - 4;
	return BPF_CLASS(insn->code) != BPF_RET || ret_known(insn->k);
}

static bool
ret_known(uint32_t k)
{
	uint32_t data = k & SECCOMP_RET_DATA, action = k & SECCOMP_RET_ACTION_FULL;

	if (action == SECCOMP_RET_ERRNO)
		return data > 0 && data < 4096; /* errno 0 would look like success */
	return data == 0 &&
	       (action == SECCOMP_RET_ALLOW || action == SECCOMP_RET_KILL_PROCESS ||
		   action == SECCOMP_RET_USER_NOTIF);
}

/* left: how many instructions follow this one. */
static bool
jumps_inside(const struct sealed_insn *i, uint32_t left)
{
	if (BPF_CLASS(i->code) == BPF_RET)
		return true;
	if (BPF_CLASS(i->code) != BPF_JMP)
		return left > 0;
	if (BPF_OP(i->code) == BPF_JA)
		return i->k < left;
	return i->jt < left && i->jf < left;
}

/* Does the path that begins at i only kill? */
static bool
kills(const struct sealed_insn *insn, uint32_t n, uint32_t i)
{
	while (i < n && insn[i].code == (BPF_JMP | BPF_JA))
		i += 1 + insn[i].k; /* forward and inside the program: checked before */
	return i < n && insn[i].code == (BPF_RET | BPF_K) &&
	       insn[i].k == SECCOMP_RET_KILL_PROCESS;
}

/*
 *	ld  arch
 *	jeq ARCH, next, kill
 *	ld  nr				on x86-64 only, from here
 *	jge 0x40000000, x, fine
 *     x: kill, or jeq 0xffffffff, fine, kill	(-1: a tracer skipped the call)
 */
static bool
guard_holds(const struct sealed_insn *insn, uint32_t n, uint32_t arch)
{
	uint32_t x;

	if (n < 2 || insn[0].code != (BPF_LD | BPF_W | BPF_ABS) ||
	    insn[0].k != offsetof(struct seccomp_data, arch) ||
	    insn[1].code != (BPF_JMP | BPF_JEQ | BPF_K) || insn[1].k != arch ||
	    insn[1].jt != 0 || !kills(insn, n, 2 + insn[1].jf))
		return false;
	if (arch != AUDIT_ARCH_X86_64)
		return true;
	if (n < 5 || insn[2].code != (BPF_LD | BPF_W | BPF_ABS) ||
	    insn[2].k != offsetof(struct seccomp_data, nr) ||
	    insn[3].code != (BPF_JMP | BPF_JGE | BPF_K) || insn[3].k != X32_BIT)
		return false;
	x = 4 + insn[3].jt;
	if (kills(insn, n, x))
		return true;
	return x < n && insn[x].code == (BPF_JMP | BPF_JEQ | BPF_K) &&
	       insn[x].k == UINT32_MAX && kills(insn, n, x + 1 + insn[x].jf);
}

/* ---- default filters -------------------------------------------------------- */

bool
filter_is_named(const struct sealed_filter *f)
{
	static const uint8_t none[sizeof(f->sha256)];

	return memcmp(f->sha256, none, sizeof(none)) != 0;
}

const struct sealed_filter *
default_filter_find(const struct sealed_filter *f)
{
	const struct sealed_filter *d = default_filters.filter;
	uint32_t i;

	for (i = 0; i < default_filters.row_n[SEALED_FILTERS]; i++)
		if (d[i].arch == f->arch &&
		    memcmp(d[i].sha256, f->sha256, sizeof(f->sha256)) == 0)
			return &d[i];
	return NULL;
}

const struct policy *
policy_filter_tables(const struct policy *p, const struct sealed_filter **f)
{
	const struct sealed_filter *named;

	if (!filter_is_named(*f) || (named = default_filter_find(*f)) == NULL)
		return p; /* of a loaded policy, each name is known */
	*f = named;
	return &default_filters;
}
