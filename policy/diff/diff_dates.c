/*
 * Days.  A permission with `until` ends on a day, so two policies that are alike today
 * may differ later.  Both are compared again on each day after an end, up to the last.
 *
 * A deny with `until` never ends by itself.  Its last day is when a person reviews it:
 * an earlier one is wider.
 */
#include "policy/diff/diff.h"
#include "policy/sealed/match.h"
#include "policy/sealed/policy.h"
#include "shim/base/array.h"

#include <stdlib.h>
#include <string.h>

struct days {
	uint32_t v[DIFF_DAYS_MAX];
	size_t n;
	bool failed; /* more than DIFF_DAYS_MAX */
};

static void
day_add(struct days *l, uint32_t day)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->v[i] == day)
			return;
	if (l->n == ARRAY_LEN(l->v))
		l->failed = true;
	else
		l->v[l->n++] = day;
}

static int
day_order(const void *va, const void *vb)
{
	const uint32_t *a = va, *b = vb;

	return *a < *b ? -1 : *a > *b;
}

/* Has an earlier day the same difference? */
static bool
is_known(const struct diff *d, const struct finding *f, size_t known_n)
{
	const struct finding *k;

	for (size_t i = 0; i < known_n; i++) {
		k = &d->found[i];
		if (k->way == f->way && strcmp(k->domain, f->domain) == 0 &&
		    strcmp(k->from_text != NULL ? k->from_text : "",
			f->from_text != NULL ? f->from_text : "") == 0 &&
		    strcmp(k->to_text != NULL ? k->to_text : "",
			f->to_text != NULL ? f->to_text : "") == 0 &&
		    strcmp(k->set != NULL ? k->set : "", f->set != NULL ? f->set : "") ==
			0)
			return true;
	}
	return false;
}

/* Both sides as they are on that day. */
static int
compare_on(struct diff *d, uint32_t day)
{
	static int (*const domains[])(struct diff *) = {diff_exec, diff_nets, diff_gates};
	const struct policy *now[2] = {d->p[0], d->p[1]};
	struct policy later[2] = {*d->p[0], *d->p[1]};
	size_t known_n = d->found_n, i, n;
	int r = 0;

	later[0].today = later[1].today = d->day = day;
	d->p[0] = &later[0];
	d->p[1] = &later[1];
	for (i = 0; i < ARRAY_LEN(domains) && r == 0; i++)
		r = domains[i](d);
	d->p[0] = now[0];
	d->p[1] = now[1];
	d->day = 0;
	for (i = n = known_n; i < d->found_n; i++)
		if (is_known(d, &d->found[i], known_n))
			finding_free(&d->found[i]);
		else
			d->found[n++] = d->found[i];
	d->found_n = n;
	return r;
}

int
diff_dates(struct diff *d)
{
	struct days later = {.n = 0};
	uint32_t today = d->p[0]->today != 0 ? d->p[0]->today : policy_days_now(), until;
	const struct sealed_server *s;
	int side, r = 0;
	size_t i;

	for (side = 0; side < 2; side++) {
		s = d->s[side];
		for (i = 0; s != NULL && i < s->exceptions.n; i++) {
			until = d->p[side]->exception[s->exceptions.first + i].until;
			if (until >= today && until < UINT32_MAX)
				day_add(&later, until + 1);
		}
	}
	d->beyond = d->beyond || later.failed;
	if (later.n > 1)
		qsort(later.v, later.n, sizeof(later.v[0]), day_order);
	for (i = 0; i < later.n && r == 0; i++)
		r = compare_on(d, later.v[i]);
	return r;
}
