/*
 * Prints the default filters as C, for policy/sealed/filters/default_filters.c.
 *
 * Runs on the machine that builds.  Each filter is built as for a policy with
 * `syscalls` lines, and gets the loader's checks and simulation here, once:
 * nothing is printed for a filter that fails them.  The output depends on the
 * source and on libseccomp's version only.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/audit.h>

#include "policy/compile/seccomp_rows.h"
#include "policy/sealed/load.h"
#include "shim/base/array.h"

static const uint32_t archs[] = {AUDIT_ARCH_X86_64, AUDIT_ARCH_AARCH64};

/* What is generated does not exist yet. */
const struct policy default_filters;

static int
filters_check(struct sealer *s, struct load *l)
{
	uint32_t i;
	int r = 0;

	l->p.filter = sealer_at(s, SEALED_FILTERS, 0);
	l->p.insn = sealer_at(s, SEALED_INSNS, 0);
	l->p.syscall = sealer_at(s, SEALED_SYSCALLS, 0);
	l->p.compare = sealer_at(s, SEALED_COMPARES, 0);
	l->p.strings = sealer_text(s, (struct sealed_ref){0, 0});
	for (i = 0; i < ARRAY_LEN(archs) && r == 0; i++)
		if ((r = load_bpf(l, &l->p.filter[i])) == 0)
			r = load_replay(l, &l->p.filter[i]);
	return r;
}

static void
print_insns(const struct policy *p, uint32_t n)
{
	const struct sealed_insn *i;

	printf("static const struct sealed_insn filter_insns[] = {\n");
	for (i = p->insn; i < p->insn + n; i++)
		printf("\t{0x%02x, %u, %u, 0x%08x},\n", i->code, i->jt, i->jf, i->k);
	printf("};\n");
}

static void
print_compares(const struct policy *p, uint32_t n)
{
	const struct sealed_compare *c;

	printf("static const struct sealed_compare filter_compares[] = {\n");
	for (c = p->compare; c < p->compare + n; c++)
		printf("\t{%u, %u, 0x%llxu, 0x%llxu},\n", c->arg, c->op,
		    (unsigned long long)c->mask, (unsigned long long)c->value);
	printf("};\n");
}

/* The rows, and the part of the string pool that they use. */
static void
print_syscalls(const struct policy *p, uint32_t n)
{
	const struct sealed_syscall *s;
	uint32_t end = 0, i;

	printf("static const struct sealed_syscall filter_syscalls[] = {\n");
	for (s = p->syscall; s < p->syscall + n; s++) {
		printf("\t{{%u, %u}, {%u, %u}, %u, 0x%08x},\n", s->name.off, s->name.len,
		    s->compares.first, s->compares.n, s->nr, s->action);
		if (s->name.off + s->name.len > end)
			end = s->name.off + s->name.len;
	}
	printf("};\nstatic const char filter_strings[] =\n");
	for (i = 0; i < end; i += (uint32_t)strlen(p->strings + i) + 1)
		printf("\t\"%s%s\"\n", p->strings + i,
		    i + strlen(p->strings + i) < end ? "\\0" : "");
	printf("\t;\n");
}

static void
print_filters(const struct policy *p)
{
	const struct sealed_filter *f;
	uint8_t sha256[32];
	size_t k;

	printf("static const struct sealed_filter filter_rows[] = {\n");
	for (f = p->filter; f < p->filter + ARRAY_LEN(archs); f++) {
		policy_digest(
		    p->insn + f->insns.first, f->insns.n * sizeof(*p->insn), sha256);
		printf("\t{{%u, %u}, {%u, %u}, {", f->insns.first, f->insns.n,
		    f->syscalls.first, f->syscalls.n);
		for (k = 0; k < sizeof(sha256); k++)
			printf("%s0x%02x", k > 0 ? ", " : "", sha256[k]);
		printf("}, 0x%08x, 0},\n", f->arch);
	}
	printf("};\n");
}

int
main(void)
{
	struct sealer *s = sealer_new();
	char why[256] = "out of memory";
	struct load l = {.why = why, .why_cap = sizeof(why)};
	struct sealed_range range;
	size_t i;
	int r = s == NULL ? -ENOMEM : 0;

	for (i = 0; i < ARRAY_LEN(archs) && r == 0; i++) {
		r = filter_build(s, archs[i], (struct sealed_range){0, 0}, &range);
		if (r < 0)
			(void)snprintf(why, sizeof(why), "%s", strerror(-r));
	}
	if (r == 0)
		r = filters_check(s, &l);
	if (r < 0) {
		fprintf(stderr, "unable to build the default filters: %s\n", why);
		return 1;
	}
	printf("#include \"policy/sealed/sealed.h\"\n");
	print_insns(&l.p, sealer_rows(s, SEALED_INSNS));
	print_compares(&l.p, sealer_rows(s, SEALED_COMPARES));
	print_syscalls(&l.p, sealer_rows(s, SEALED_SYSCALLS));
	print_filters(&l.p);
	sealer_free(s);
	return fflush(stdout) != 0 || ferror(stdout);
}
