/*
 * Rates and quotas of tools: is each limit of one policy kept by a limit of the other?
 *
 * A limit keeps another one if it counts every call that the other one counts (of those
 * that both policies let pass), and lets no more of them pass. A limit of the old
 * policy that no new one keeps makes the permission wider; a new one that no old one
 * keeps makes it narrower.
 */
#include "policy/diff/diff.h"
#include "policy/sealed/policy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PAIRS_MAX 4000000

/* ms 0: the whole session. */
struct limit {
	int side;
	const struct sealed_gate *g;
	uint32_t calls, ms;
	bool met;  /* by a call that both policies let pass */
	bool told; /* with the limit of the other side in its place */
};

struct limits_diff {
	struct limit *v;
	bool *held, *counts; /* counts[i * n + k]: i counts every call that k counts */
	size_t n;
};

void
limits_free(struct limits_diff *l)
{
	if (l == NULL)
		return;
	free(l->v);
	free(l->held);
	free(l->counts);
	free(l);
}

static void
read_side(struct limits_diff *l, const struct diff *d, int side)
{
	const struct sealed_server *s = d->s[side];
	const struct sealed_gate *g;

	for (uint32_t i = 0; s != NULL && i < s->gates.n; i++) {
		g = &d->p[side]->gate[s->gates.first + i];
		if (g->rate != 0)
			l->v[l->n++] = (struct limit){side, g, g->rate, g->rate_ms};
		if (g->quota != 0)
			l->v[l->n++] = (struct limit){side, g, g->quota, 0};
	}
}

int
limits_new(const struct diff *d, struct limits_diff **ret)
{
	struct limits_diff *l = calloc(1, sizeof(*l));
	size_t most = 1;

	if (l == NULL)
		return -ENOMEM;
	for (int side = 0; side < 2; side++)
		most += d->s[side] != NULL ? 2 * (size_t)d->s[side]->gates.n : 0;
	l->v = calloc(most, sizeof(*l->v));
	if (l->v != NULL)
		for (int side = 0; side < 2; side++)
			read_side(l, d, side);
	if (l->n > PAIRS_MAX / (l->n + 1)) {
		limits_free(l);
		return -E2BIG;
	}
	l->held = calloc(l->n + 1, sizeof(*l->held));
	l->counts = malloc(l->n * l->n + 1);
	if (l->v == NULL || l->held == NULL || l->counts == NULL) {
		limits_free(l);
		return -ENOMEM;
	}
	memset(l->counts, true, l->n * l->n);
	*ret = l;
	return 0;
}

void
limits_held(struct limits_diff *l, const struct policy *p, int side,
    const struct policy_gate_ask *ask)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->v[i].side == side)
			l->held[i] = policy_gate_limited(p, l->v[i].g, ask);
}

void
limits_member(struct limits_diff *l)
{
	for (size_t k = 0; k < l->n; k++) {
		if (!l->held[k])
			continue;
		l->v[k].met = true;
		for (size_t i = 0; i < l->n; i++)
			if (!l->held[i])
				l->counts[i * l->n + k] = false;
	}
}

/* ---- what is reported ---------------------------------------------------- */

/* Do calls within a never exceed b, if a counts all of them? */
static bool
is_within(const struct limit *a, const struct limit *b)
{
	if (a->ms == 0)
		return a->calls <= b->calls;
	if (b->ms == 0)
		return false;
	/* as many spans of a's as cover one of b's */
	return (uint64_t)a->calls * ((b->ms + (uint64_t)a->ms - 1) / a->ms) <= b->calls;
}

static bool
is_kept(const struct limits_diff *l, size_t k)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->v[i].side != l->v[k].side && l->counts[i * l->n + k] &&
		    is_within(&l->v[i], &l->v[k]))
			return true;
	return false;
}

/* The line without its limits and reasons. */
static char *
calls_of(const struct diff *d, const struct limit *x)
{
	struct sealed_gate g = *x->g;

	g.rate = g.quota = 0;
	g.flags &= GATE_BY_ANNOTATIONS;
	g.because = g.instead = (struct sealed_ref){0, 0};
	g.exception = SEALED_NONE;
	return say_text(say_gate, d->p[x->side], &g);
}

static char *
limit_text(const struct limit *x)
{
	char text[64], duration[POLICY_DURATION_CAP];

	if (x == NULL)
		return strdup("none");
	if (x->ms == 0)
		(void)snprintf(text, sizeof(text), "quota %u", x->calls);
	else
		(void)snprintf(text, sizeof(text), "rate %u/%s", x->calls,
		    policy_duration(x->ms, duration));
	return strdup(text);
}

/* The limit of the same kind, of the same calls, on the other side; or NULL. */
static struct limit *
twin_of(
    struct limits_diff *l, const struct diff *d, const struct limit *x, const char *calls)
{
	struct limit *found = NULL;
	char *text;

	for (size_t i = 0; i < l->n && found == NULL; i++) {
		if (l->v[i].side == x->side || (l->v[i].ms == 0) != (x->ms == 0))
			continue;
		text = calls_of(d, &l->v[i]);
		if (text != NULL && strcmp(text, calls) == 0)
			found = &l->v[i];
		free(text);
	}
	return found;
}

static int
tell(struct limits_diff *l, struct diff *d, struct limit *x)
{
	struct finding f = {
	    .domain = "limit", .way = x->side == 0 ? DIFF_WIDER : DIFF_NARROWER};
	struct limit *twin;

	f.set = calls_of(d, x);
	if (f.set == NULL)
		return -ENOMEM;
	twin = twin_of(l, d, x, f.set);
	if (twin != NULL)
		twin->told = true;
	f.from_text = limit_text(x->side == 0 ? x : twin);
	f.to_text = limit_text(x->side == 0 ? twin : x);
	return diff_found(d, &f);
}

int
limits_tell(struct limits_diff *l, struct diff *d)
{
	int r = 0;

	/* the old ones come first */
	for (size_t k = 0; k < l->n && r == 0; k++)
		if (l->v[k].met && !l->v[k].told && !is_kept(l, k))
			r = tell(l, d, &l->v[k]);
	return r;
}
