/*
 * Data for the charts of a report. Two passes: the first finds the time range, the
 * second counts.
 */
#include <errno.h>
#include <string.h>

#include "leash/audit/writer.h"
#include "shim/base/array.h"
#include "supervisor/audit/query/group.h"
#include "supervisor/audit/query/query.h"
#include "supervisor/audit/query/scan.h"
#include "supervisor/audit/report/report.h"

static int
see_range(void *arg, const struct log_record *record)
{
	struct figures *f = arg;

	if (f->records++ == 0)
		f->first_ts = f->last_ts = record->ts;
	if (record->ts < f->first_ts)
		f->first_ts = record->ts;
	if (record->ts > f->last_ts)
		f->last_ts = record->ts;
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
is_act(const struct log_record *record)
{
	static const char *const kind[] = {"start", "exec", "refused", "egress"};

	/* an answer ends an action that was already counted */
	if (strcmp(record->kind, "call") == 0)
		return log_record_is(record, "outcome", "forwarded");
	for (size_t i = 0; i < ARRAY_LEN(kind); i++) {
		if (strcmp(record->kind, kind[i]) == 0)
			return true;
	}
	return false;
}

static int
count(struct groups *groups, const struct log_record *record, const char *a,
    const char *b, const char *c, bool denied, uint64_t sum)
{
	const char *part[] = {a, b, c};
	struct group_row *row = group_count(groups, record, part, ARRAY_LEN(part));

	if (row == NULL)
		return -E2BIG;
	row->flag += denied;
	row->sum += sum;
	return 0;
}

static int
see_tables(struct figures *f, const struct log_record *record, bool denied)
{
	const char *server = log_record_text(record, "server");
	uint64_t out = 0, in = 0;
	int r = count(f->kind, record, record->kind, NULL, NULL, denied, 0);

	if (r == 0 && server != NULL && is_act(record))
		r = count(f->server, record, server, NULL, NULL, denied, 0);
	if (r == 0 && strcmp(record->kind, "exec") == 0)
		r = count(f->exec, record, server, log_record_text(record, "caller"),
		    log_record_text(record, "program"), denied, 0);
	if (r < 0 || strcmp(record->kind, "egress") != 0)
		return r;
	(void)log_record_number(record, "bytes_out", &out);
	(void)log_record_number(record, "bytes_in", &in);
	return count(f->egress, record, log_record_text(record, "name"), server, NULL,
	    denied, out + in);
}

static void
see_kind(struct figures *f, const struct log_record *record, bool denied)
{
	uint64_t *const counter[] = {&f->calls, &f->execs, &f->starts, &f->scrubs};
	static const char *const kind[] = {"call", "exec", "start", "scrub"};

	for (size_t i = 0; i < ARRAY_LEN(kind); i++) {
		if (strcmp(kind[i], record->kind) == 0 &&
		    (strcmp(kind[i], "call") != 0 || is_act(record)))
			(*counter[i])++;
	}
	f->denials += denied;
}

static int
see_figures(void *arg, const struct log_record *record)
{
	struct figures *f = arg;
	bool denied = log_record_denied(record);
	size_t at = (size_t)((record->ts - f->first_ts) / f->bucket_ns);
	uint64_t us;

	if (own_session_has(f->own, record))
		return count(f->kind, record, record->kind, NULL, NULL, false, 0);
	if (log_record_absent(record)) {
		if (!f->absent)
			return count(f->kind, record, record->kind, NULL, NULL, false, 0);
		denied = true;
	}
	if (at >= FIGURES_BUCKETS)
		at = FIGURES_BUCKETS - 1;
	if (log_record_text(record, "verdict") != NULL && is_act(record))
		(denied ? f->denied : f->done)[at]++;
	if (strcmp(record->kind, "call") == 0 &&
	    log_record_number(record, "duration_us", &us)) {
		f->latency[latency_class(us)]++;
		f->latency_n++;
	}
	see_kind(f, record, denied);
	return see_tables(f, record, denied);
}

/* ---- public functions ---------------------------------------------------------------- */

int
figures_count(struct log_view *view, const struct query *q, struct figures *ret)
{
	struct figures f = {.absent = options_with_absent(q),
	    .server = group_new(),
	    .exec = group_new(),
	    .egress = group_new(),
	    .kind = group_new()};
	int r = -ENOMEM;

	if (f.server != NULL && f.exec != NULL && f.egress != NULL && f.kind != NULL)
		r = own_sessions(view, q, &f.own);
	if (r == 0)
		r = log_scan_each(view, q, see_range, &f);
	f.bucket_ns = (f.last_ts - f.first_ts) / FIGURES_BUCKETS + 1;
	if (r == 0)
		r = log_scan_each(view, q, see_figures, &f);
	*ret = f;
	return r;
}

void
figures_free(struct figures *f)
{
	group_free(f->own);
	group_free(f->server);
	group_free(f->exec);
	group_free(f->egress);
	group_free(f->kind);
}
