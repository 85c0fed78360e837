/*
 * The rows of a filter: its required verdict for each system call number.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <linux/audit.h>

#include "policy/compile/seccomp_rows.h"
#include "shim/base/array.h"

#define LINES_MAX (64u << 10) /* bytes of one server's `syscalls` lines */

void
decoded_put(struct decoded *d, const struct decoded_row *row)
{
	struct decoded_row *more;

	if (d->n == d->cap && !d->failed) {
		more = reallocarray(d->row, d->cap + 256, sizeof(*more));
		d->failed = more == NULL;
		d->row = more != NULL ? more : d->row;
		d->cap += more != NULL ? 256 : 0;
	}
	if (d->failed)
		return;
	d->row[d->n] = *row;
	d->row[d->n].seq = (uint32_t)d->n;
	d->n++;
}

static int
row_compare(const void *a, const void *b)
{
	const struct decoded_row *x = a, *y = b;

	if (x->nr != y->nr)
		return x->nr < y->nr ? -1 : 1;
	return (x->seq > y->seq) - (x->seq < y->seq);
}

/* The name and number of row, for arguments that match no row. */
static void
rest_seal(struct sealer *s, const struct decoded_row *row, uint32_t rest)
{
	const struct sealed_syscall last = {.nr = row->nr,
	    .action = rest,
	    .name = row->name,
	    .compares = {sealer_rows(s, SEALED_COMPARES), 0}};

	(void)sealer_row(s, SEALED_SYSCALLS, &last, sizeof(last));
}

int
decoded_seal(struct decoded *d, struct sealer *s, uint32_t rest, struct sealed_range *ret)
{
	struct sealed_syscall row;
	const struct decoded_row *from;
	size_t i;
	uint32_t k;

	if (d->failed)
		return -ENOMEM;
	if (d->n > 0)
		qsort(d->row, d->n, sizeof(*d->row), row_compare);
	ret->first = sealer_rows(s, SEALED_SYSCALLS);
	for (i = 0; i < d->n; i++) {
		from = &d->row[i];
		row = (struct sealed_syscall){.nr = from->nr,
		    .action = from->action,
		    .name = from->name,
		    .compares = {sealer_rows(s, SEALED_COMPARES), from->compare_n}};
		for (k = 0; k < from->compare_n; k++)
			(void)sealer_row(s, SEALED_COMPARES, &from->compare[k],
			    sizeof(from->compare[k]));
		(void)sealer_row(s, SEALED_SYSCALLS, &row, sizeof(row));
		if (from->compare_n > 0 && (i + 1 == d->n || from[1].nr != from->nr))
			rest_seal(s, from, rest);
	}
	ret->n = sealer_rows(s, SEALED_SYSCALLS) - ret->first;
	return 0; /* sealer_finish reports the failure */
}

static int
line_compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* "+name -name ...", sorted: the combined effect of the lines. */
static int
lines_key(struct sealer *s, struct sealed_range calls, struct buf *out)
{
	const char **name = calloc((size_t)calls.n + 1, sizeof(*name));
	const struct sealed_call *c;
	uint32_t i, k;
	int r = 0;

	if (name == NULL)
		return -ENOMEM;
	for (k = 0; k < 2 && r == 0; k++) {
		size_t n = 0;

		for (i = 0; i < calls.n; i++)
			if ((c = sealer_at(s, SEALED_CALLS, calls.first + i)) != NULL &&
			    (c->verdict == VERDICT_DENY) == (k == 0))
				name[n++] = sealer_text(s, c->name);
		qsort(name, n, sizeof(*name), line_compare);
		for (i = 0; i < n && r == 0; i++)
			if ((r = buf_putc(out, k == 0 ? '-' : '+')) == 0)
				r = buf_put(out, name[i], strlen(name[i]));
	}
	free(name);
	return r == 0 ? buf_putc(out, 0) : r;
}

/* ---- cache --------------------------------------------------------------- */

/*
 * The filters of servers without `syscalls` lines, as built for the first
 * sealer of this process: each file of `compile` has its own sealer.
 */
#define KEPT_MAX 2
static struct kept {
	struct sealed_filter row;
	struct sealed_insn *insn;
	struct sealed_syscall *call;
	char **name; /* of each call */
	struct sealed_compare *compare;
	uint32_t compare_n;
} kept[KEPT_MAX];
static uint32_t kept_n;

static void *
rows_copy(struct sealer *s, enum sealed_kind kind, struct sealed_range r, size_t size)
{
	char *out = calloc((size_t)r.n + 1, size);
	const void *row;
	uint32_t i;

	for (i = 0; out != NULL && i < r.n; i++)
		if ((row = sealer_at(s, kind, r.first + i)) != NULL)
			memcpy(out + i * size, row, size);
	return out;
}

static void
keep_free(struct kept *k)
{
	uint32_t i;

	for (i = 0; k->name != NULL && i < k->row.syscalls.n; i++)
		free(k->name[i]);
	free(k->name);
	free(k->insn);
	free(k->call);
	free(k->compare);
}

/* Without memory nothing is cached, which does no harm. */
static bool
keep_one(struct sealer *s, uint32_t filter, struct kept *ret)
{
	const struct sealed_filter *row = sealer_at(s, SEALED_FILTERS, filter);
	struct sealed_range compares;
	struct kept k = {.insn = NULL};
	bool good = row != NULL && row->syscalls.n > 0;
	uint32_t i;

	if (!good)
		return false;
	k.row = *row;
	k.insn = rows_copy(s, SEALED_INSNS, k.row.insns, sizeof(*k.insn));
	k.call = rows_copy(s, SEALED_SYSCALLS, k.row.syscalls, sizeof(*k.call));
	k.name = calloc(k.row.syscalls.n, sizeof(*k.name));
	good = k.insn != NULL && k.call != NULL && k.name != NULL;
	for (i = 0; good && i < k.row.syscalls.n; i++) {
		k.name[i] = strdup(sealer_text(s, k.call[i].name));
		good = k.name[i] != NULL;
	}
	if (good) {
		compares.first = k.call[0].compares.first;
		compares.n = k.call[i - 1].compares.first + k.call[i - 1].compares.n -
			     compares.first;
		k.compare_n = compares.n;
		k.compare = rows_copy(s, SEALED_COMPARES, compares, sizeof(*k.compare));
		good = k.compare != NULL;
	}
	if (good)
		*ret = k;
	else
		keep_free(&k);
	return good;
}

static void
keep(struct sealer *s, struct sealed_range filters)
{
	struct kept now[KEPT_MAX];
	uint32_t n;

	if (kept_n > 0 || filters.n != KEPT_MAX)
		return;
	for (n = 0; n < KEPT_MAX && keep_one(s, filters.first + n, &now[n]); n++)
		;
	if (n == KEPT_MAX) {
		memcpy(kept, now, sizeof(kept));
		kept_n = n;
		return;
	}
	while (n > 0)
		keep_free(&now[--n]);
}

/* Appends the same rows to this sealer's tables. */
static void
put_again(struct sealer *s, const struct kept *k)
{
	struct sealed_filter row = k->row;
	struct sealed_syscall call;
	uint32_t i, base = sealer_rows(s, SEALED_COMPARES);

	row.insns.first = sealer_rows(s, SEALED_INSNS);
	row.syscalls.first = sealer_rows(s, SEALED_SYSCALLS);
	for (i = 0; i < k->compare_n; i++)
		(void)sealer_row(
		    s, SEALED_COMPARES, &k->compare[i], sizeof(k->compare[i]));
	for (i = 0; i < row.syscalls.n; i++) {
		call = k->call[i];
		call.name = sealer_str(s, k->name[i], strlen(k->name[i]));
		call.compares.first += base - k->call[0].compares.first;
		(void)sealer_row(s, SEALED_SYSCALLS, &call, sizeof(call));
	}
	for (i = 0; i < row.insns.n; i++)
		(void)sealer_row(s, SEALED_INSNS, &k->insn[i], sizeof(k->insn[i]));
	(void)sealer_row(s, SEALED_FILTERS, &row, sizeof(row));
}

int
filters_build(struct sealer *s, struct sealed_range calls, struct sealed_range *ret)
{
	static const uint32_t arch[] = {AUDIT_ARCH_X86_64, AUDIT_ARCH_AARCH64};
	struct sealed_range all = {sealer_rows(s, SEALED_FILTERS), 0}, one;
	struct buf key;
	size_t i;
	int r;

	buf_init(&key, LINES_MAX);
	if ((r = lines_key(s, calls, &key)) < 0 ||
	    sealer_recall(s, (const char *)key.data, ret))
		goto out;
	if (calls.n == 0 && kept_n > 0)
		for (; all.n < kept_n; all.n++)
			put_again(s, &kept[all.n]);
	else
		for (i = 0; i < ARRAY_LEN(arch) && r == 0; i++, all.n++)
			r = filter_build(s, arch[i], calls, &one);
	if (r == 0 && calls.n == 0)
		keep(s, all);
	if (r == 0)
		r = sealer_remember(s, (const char *)key.data, all);
	if (r == 0)
		*ret = all;
out:
	buf_free(&key);
	return r;
}
