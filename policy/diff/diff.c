/*
 * Collects differences.
 */
#include "policy/diff/diff.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "policy/sealed/fields.h"
#include "shim/base/array.h"

static const uint8_t rank[] = {
    [VERDICT_ALLOW] = 0,
    [VERDICT_ASK] = 1,
    [VERDICT_DENY] = 2,
};

enum diff_way
diff_way(struct state a, struct state b, const struct state_more *m, const void *x)
{
	if (b.verdict == VERDICT_DENY)
		return DIFF_NARROWER;
	if (rank[b.verdict] < rank[a.verdict])
		return DIFF_WIDER;
	if (b.verdict == a.verdict && b.factor < a.factor)
		return DIFF_WIDER;
	/* a stricter verdict does not make up for something else that is permitted */
	if (a.more != b.more && (m == NULL || !m->within(x, b.more, a.more)))
		return DIFF_WIDER;
	return DIFF_NARROWER;
}

void
finding_free(struct finding *f)
{
	free(f->from_text);
	free(f->to_text);
	free(f->set);
	free(f->witness);
}

int
diff_found(struct diff *d, const struct finding *f)
{
	struct finding copy = *f, *grown;

	copy.day = d->day;
	if (d->found_n == d->found_cap) {
		d->found_cap = d->found_cap == 0 ? 64 : 2 * d->found_cap;
		grown = realloc(d->found, d->found_cap * sizeof(*grown));
		if (grown == NULL) {
			finding_free(&copy);
			return -ENOMEM;
		}
		d->found = grown;
	}
	d->found[d->found_n++] = copy;
	return 0;
}

void
diff_free(struct diff *d)
{
	size_t i;

	for (i = 0; i < d->found_n; i++)
		finding_free(&d->found[i]);
	free(d->found);
	d->found = NULL;
	d->found_n = d->found_cap = 0;
}

int
diff_server(struct diff *d)
{
	static int (*const domains[])(struct diff *) = {
	    diff_exec, diff_nets, diff_paths, diff_gates, diff_flat, diff_dates};
	int r = diff_columns(d, sealed_fields);

	for (size_t i = 0; i < ARRAY_LEN(domains) && r == 0; i++)
		r = domains[i](d);
	return r;
}

bool
diff_only_narrower(const struct diff *d)
{
	for (size_t i = 0; i < d->found_n; i++)
		if (d->found[i].way != DIFF_NARROWER)
			return false;
	return !d->beyond && d->left_out == 0;
}
