/*
 * The rates and quotas of one session's calls: how many calls each limited row of the
 * policy has counted, and when.
 *
 * A rate is a sliding window: a row keeps the times of its last calls, as many as its
 * rate, in a ring. A call fits if the oldest of them is at least one duration ago:
 *
 *	rate 3/1m	kept: 10 s, 35 s, 50 s	now 65 s: no, in 5 s; now 70 s: yes
 *
 * The loader limits the sum of all rates of a server, so all rings are allocated at
 * the start, and counting cannot fail.
 */
#include "policy/sealed/policy.h"
#include "shim/base/loop.h"
#include "supervisor/hub/hub.h"

#include <errno.h>
#include <stdlib.h>

struct counter {
	uint32_t row;         /* of GATES */
	uint32_t used, first; /* of the ring: kept times, and the oldest one */
	uint64_t calls;       /* for the quota */
	uint64_t *at;         /* a ring of `rate` times */
};

struct call_limits {
	uint32_t n;
	uint64_t *times; /* all rings */
	struct counter counter[];
};

int
call_limits_new(
    const struct policy *p, const struct sealed_server *s, struct call_limits **ret)
{
	const struct sealed_gate *g = p->gate + s->gates.first;
	struct call_limits *l;
	size_t sum = 0, n = 0;

	for (uint32_t i = 0; i < s->gates.n; i++) {
		sum += g[i].rate;
		n += g[i].rate != 0 || g[i].quota != 0;
	}
	l = calloc(1, sizeof(*l) + n * sizeof(l->counter[0]));
	if (l == NULL)
		return -ENOMEM;
	l->times = calloc(sum + 1, sizeof(*l->times));
	if (l->times == NULL) {
		free(l);
		return -ENOMEM;
	}
	sum = 0;
	for (uint32_t i = 0; i < s->gates.n; i++) {
		if (g[i].rate == 0 && g[i].quota == 0)
			continue;
		l->counter[l->n++] =
		    (struct counter){.row = s->gates.first + i, .at = l->times + sum};
		sum += g[i].rate;
	}
	*ret = l;
	return 0;
}

void
call_limits_free(struct call_limits *l)
{
	if (l == NULL)
		return;
	free(l->times);
	free(l);
}

/* ---- one row ------------------------------------------------------------ */

/* Every limited row has a counter; they ascend by row. */
static struct counter *
counter_of(struct call_limits *l, uint32_t row)
{
	uint32_t low = 0, high = l->n;

	while (high - low > 1) {
		uint32_t mid = low + (high - low) / 2;

		if (l->counter[mid].row <= row)
			low = mid;
		else
			high = mid;
	}
	return &l->counter[low];
}

/* How long until a call fits the rate. */
static uint64_t
wait_of(const struct counter *c, const struct sealed_gate *g, uint64_t now)
{
	uint64_t fits;

	if (g->rate == 0 || c->used < g->rate)
		return 0;
	fits = c->at[c->first] + g->rate_ms * LOOP_MS;
	return now < fits ? fits - now : 0;
}

struct visit {
	struct call_limits *l;
	uint64_t now;
	struct call_over *over;
};

/* Of several limits a used-up quota is reported first, then the longest wait. */
static void
judge_row(const struct policy *p, uint32_t row, void *arg)
{
	const struct sealed_gate *g = &p->gate[row];
	struct visit *v = arg;
	const struct counter *c = counter_of(v->l, row);
	uint64_t wait = wait_of(c, g, v->now);

	if (v->over->is == CALL_OVER_QUOTA)
		return;
	if (g->quota != 0 && c->calls >= g->quota)
		*v->over = (struct call_over){.is = CALL_OVER_QUOTA, .gate = g};
	else if (wait > v->over->wait_ns)
		*v->over =
		    (struct call_over){.is = CALL_OVER_RATE, .gate = g, .wait_ns = wait};
}

static void
count_row(const struct policy *p, uint32_t row, void *arg)
{
	const struct sealed_gate *g = &p->gate[row];
	const struct visit *v = arg;
	struct counter *c = counter_of(v->l, row);

	c->calls++;
	if (g->rate == 0)
		return;
	if (c->used < g->rate) {
		c->at[(c->first + c->used++) % g->rate] = v->now;
		return;
	}
	c->at[c->first] = v->now; /* the oldest one is forgotten */
	c->first = (c->first + 1) % g->rate;
}

/* ---- one call ----------------------------------------------------------- */

void
call_limits_judge(const struct gate_ask *ask, const struct policy_gate_ask *match,
    struct call_over *ret)
{
	struct visit v = {ask->limits, ask->now_ns, ret};

	*ret = (struct call_over){.is = CALL_FITS};
	policy_gate_limits(ask->policy, ask->server, match, judge_row, &v);
}

void
call_limits_count(const struct gate_ask *ask, const struct policy_gate_ask *match)
{
	struct visit v = {ask->limits, ask->now_ns, NULL};

	policy_gate_limits(ask->policy, ask->server, match, count_row, &v);
}
