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
#include "policy/sealed/load.h"
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

/* ---- the filters of one server ------------------------------------------ */

/* Names each default filter by its digest. */
static void
name_defaults(struct sealer *s, struct sealed_range *all)
{
	struct sealed_filter row;

	for (; all->n < default_filters.row_n[SEALED_FILTERS]; all->n++) {
		row = default_filters.filter[all->n];
		row.insns = (struct sealed_range){sealer_rows(s, SEALED_INSNS), 0};
		row.syscalls = (struct sealed_range){sealer_rows(s, SEALED_SYSCALLS), 0};
		(void)sealer_row(s, SEALED_FILTERS, &row, sizeof(row));
	}
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
	if (calls.n == 0)
		name_defaults(s, &all);
	else
		for (i = 0; i < ARRAY_LEN(arch) && r == 0; i++, all.n++)
			r = filter_build(s, arch[i], calls, &one);
	if (r == 0)
		r = sealer_remember(s, (const char *)key.data, all);
	if (r == 0)
		*ret = all;
out:
	buf_free(&key);
	return r;
}
