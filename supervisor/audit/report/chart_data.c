/*
 * Data for the charts of a report. Two passes: the first finds the time range, the
 * second counts.
 */
#include <errno.h>
#include <string.h>

#include "supervisor/audit/report/report.h"

static int
see_range(void *arg, const struct fact *fact)
{
	struct figures *f = arg;

	if (f->records++ == 0)
		f->first_ts = f->last_ts = fact->ts;
	if (fact->ts < f->first_ts)
		f->first_ts = fact->ts;
	if (fact->ts > f->last_ts)
		f->last_ts = fact->ts;
	return 0;
}

/* ---- latency ---------------------------------------------------------------------- */

/* Eight classes per doubling. */
static size_t
latency_class(uint64_t us)
{
	unsigned int bit;

	if (us < 8)
		return (size_t)us;
	if (us >> 34 != 0)
		us = ((uint64_t)1 << 34) - 1;
	bit = 63u - (unsigned int)__builtin_clzll(us);
	return (size_t)(bit - 2) * 8 + (size_t)(us >> (bit - 3) & 7);
}

uint64_t
figures_latency_from(size_t class)
{
	if (class < 8)
		return class;
	return (8 + class % 8) << (class / 8 - 1);
}

uint64_t
figures_latency(const struct figures *f, unsigned int per_mille)
{
	uint64_t seen = 0, want = (f->latency_n * per_mille + 999) / 1000;
	size_t i = 0;

	for (; i + 1 < FIGURES_LATENCY; i++) {
		seen += f->latency[i];
		if (seen >= want)
			break;
	}
	return figures_latency_from(i + 1);
}

/* ---- one record -------------------------------------------------------------------- */

static bool
is_act(const struct fact *fact)
{
	static const char *const kind[] = {"start", "exec", "refused", "egress"};

	/* an answer ends an action that was already counted */
	if (strcmp(fact->kind, "call") == 0)
		return fact_is(fact, "outcome", "forwarded");
	for (size_t i = 0; i < ARRAY_LEN(kind); i++) {
		if (strcmp(fact->kind, kind[i]) == 0)
			return true;
	}
	return false;
}

static int
count(struct tally *tally, const struct fact *fact, const char *a, const char *b,
    const char *c, bool denied, uint64_t sum)
{
	const char *part[] = {a, b, c};
	struct tally_row *row = tally_count(tally, fact, part, ARRAY_LEN(part));

	if (row == NULL)
		return -E2BIG;
	row->flag += denied;
	row->sum += sum;
	return 0;
}

static int
see_tables(struct figures *f, const struct fact *fact, bool denied)
{
	const char *server = fact_text(fact, "server");
	uint64_t out = 0, in = 0;
	int r = count(f->kind, fact, fact->kind, NULL, NULL, denied, 0);

	if (r == 0 && fact->session[0] != '\0')
		r = count(f->session, fact, fact->session, NULL, NULL, denied, 0);
	if (r == 0 && server != NULL && is_act(fact))
		r = count(f->server, fact, server, NULL, NULL, denied, 0);
	if (r == 0 && strcmp(fact->kind, "exec") == 0)
		r = count(f->exec, fact, server, fact_text(fact, "caller"),
		    fact_text(fact, "program"), denied, 0);
	if (r < 0 || strcmp(fact->kind, "egress") != 0)
		return r;
	(void)fact_number(fact, "bytes_out", &out);
	(void)fact_number(fact, "bytes_in", &in);
	return count(
	    f->egress, fact, fact_text(fact, "name"), server, NULL, denied, out + in);
}

static void
see_kind(struct figures *f, const struct fact *fact, bool denied)
{
	uint64_t *const counter[] = {
	    &f->calls, &f->execs, &f->starts, &f->scrubs, &f->gaps};
	static const char *const kind[] = {"call", "exec", "start", "scrub", "gap"};

	for (size_t i = 0; i < ARRAY_LEN(kind); i++) {
		if (strcmp(kind[i], fact->kind) == 0 &&
		    (strcmp(kind[i], "call") != 0 || is_act(fact)))
			(*counter[i])++;
	}
	f->denials += denied;
}

static int
see_figures(void *arg, const struct fact *fact)
{
	struct figures *f = arg;
	const char *verdict = fact_text(fact, "verdict");
	bool denied = verdict != NULL && strcmp(verdict, "allow") != 0;
	size_t at = (size_t)((fact->ts - f->first_ts) / f->bucket_ns);
	uint64_t us;

	if (at >= FIGURES_BUCKETS)
		at = FIGURES_BUCKETS - 1;
	if (verdict != NULL && is_act(fact))
		(denied ? f->denied : f->done)[at]++;
	if (strcmp(fact->kind, "call") == 0 && fact_number(fact, "duration_us", &us)) {
		f->latency[latency_class(us)]++;
		f->latency_n++;
	}
	see_kind(f, fact, denied);
	return see_tables(f, fact, denied);
}

/* ---- public functions ---------------------------------------------------------------- */

int
figures_count(struct book *book, const struct question *q, struct figures *ret)
{
	struct figures f = {.server = tally_new(),
	    .exec = tally_new(),
	    .egress = tally_new(),
	    .session = tally_new(),
	    .kind = tally_new()};
	int r = -ENOMEM;

	if (f.server != NULL && f.exec != NULL && f.egress != NULL && f.session != NULL &&
	    f.kind != NULL)
		r = pass_each(book, q, see_range, &f);
	f.bucket_ns = (f.last_ts - f.first_ts) / FIGURES_BUCKETS + 1;
	if (r == 0)
		r = pass_each(book, q, see_figures, &f);
	*ret = f;
	return r;
}

void
figures_free(struct figures *f)
{
	tally_free(f->server);
	tally_free(f->exec);
	tally_free(f->egress);
	tally_free(f->session);
	tally_free(f->kind);
}
