/*
 * gaps: missing records that the log itself reports, sessions without an end, and
 * times without records from the recorder.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "leash/audit/writer.h"
#include "shim/base/array.h"
#include "shim/base/loop.h"
#include "supervisor/audit/query/describe.h"
#include "supervisor/audit/query/group.h"
#include "supervisor/audit/query/options.h"
#include "supervisor/audit/query/query.h"
#include "supervisor/audit/query/record.h"
#include "supervisor/audit/query/scan.h"
#include "supervisor/audit/query/table.h"

static const struct column gaps_column[] = {
    {"idx", CELL_NUMBER, 8},
    {"time", CELL_TIME, 24},
    {"what", CELL_TEXT, 18},
    {"count", CELL_NUMBER, 9},
    {"detail", CELL_TEXT, 0},
};

/* The kinds of the log's own records about gaps. */
static const struct {
	const char *kind, *what;
} gap_row[] = {
    {"gap", "events lost"},
    {"clock", "clock set"},
    {"break", "epoch key lost"},
    {"prune", "records removed"},
};

static int
begin_gaps(struct ask *ask)
{
	ask->groups = group_new();
	ask->q.all = true;
	return ask->groups != NULL ? 0 : -ENOMEM;
}

static void
put_gap(struct ask *ask, uint64_t idx, uint64_t ts, const char *what, uint64_t count,
    const char *detail)
{
	table_number(&ask->table, idx);
	table_number(&ask->table, ts);
	table_text(&ask->table, what);
	if (count > 0)
		table_number(&ask->table, count);
	else
		table_none(&ask->table);
	table_text(&ask->table, detail);
}

/* A new recorder knows whether the one before it ended cleanly. */
static void
see_recorder(struct ask *ask, const struct log_record *record)
{
	static char story[DESCRIBE_MAX];

	if (strcmp(record->kind, "open") == 0 &&
	    log_record_is(record, "outcome", "unclean"))
		put_gap(ask, record->idx, record->ts, "unclean stop", 0,
		    "the previous recorder did not record its end: it was killed, or "
		    "later records were removed");
	/* the first record of a recorder whose log does not continue what was kept */
	if ((strcmp(record->kind, "open") == 0 || strcmp(record->kind, "genesis") == 0) &&
	    log_record_text(record, "reason") != NULL)
		put_gap(ask, record->idx, record->ts, "not continued", 0,
		    describe_tell(record, story));
}

/* A stop names a program of kennel's if that program ended unexpectedly. */
static void
see_stop(struct ask *ask, const struct log_record *record)
{
	static char story[DESCRIBE_MAX];

	if (strcmp(record->kind, "stop") == 0 &&
	    log_record_text(record, "program") != NULL)
		put_gap(ask, record->idx, record->ts, "killed", 0,
		    describe_tell(record, story));
}

static int
see_gaps(void *arg, const struct log_record *record)
{
	static char story[DESCRIBE_MAX];
	struct ask *ask = arg;
	uint64_t count = 0;

	see_recorder(ask, record);
	for (size_t i = 0; i < ARRAY_LEN(gap_row); i++) {
		if (strcmp(gap_row[i].kind, record->kind) != 0)
			continue;
		(void)log_record_number(record, "count", &count);
		put_gap(ask, record->idx, record->ts, gap_row[i].what, count,
		    describe_tell(record, story));
	}
	see_stop(ask, record);
	return session_choose(ask, record);
}

static int
see_facts(void *arg, const struct log_record *record)
{
	struct ask *ask = arg;

	return session_see(ask->groups, record) != NULL ? 0 : -E2BIG;
}

/* ---- heartbeats ------------------------------------------------------------------------ */

#define BEATS_MISSED 2 /* missed heartbeats after which verifiers call a log stale */

struct beats {
	struct ask *ask;
	uint64_t period_ns; /* 0: not known yet */
	uint64_t boot;      /* of the recorder's last record; 0: none running */
	uint64_t idx, ts;   /* of that record */
};

static int
see_beat(void *arg, const struct log_record *record)
{
	struct beats *b = arg;
	uint64_t period, quiet = record->boot > b->boot ? record->boot - b->boot : 0;
	char detail[160];

	if (log_record_number(record, "period", &period) &&
	    period <= UINT64_MAX / NS_PER_S)
		b->period_ns = period * NS_PER_S;
	/* a new recorder is not responsible for the time before; a rotation only
	 * changes the file */
	if (strcmp(record->kind, "genesis") == 0 ||
	    (strcmp(record->kind, "open") == 0 &&
		!log_record_is(record, "outcome", "rotated")))
		quiet = 0;
	if (b->boot > 0 && b->period_ns > 0 && quiet > BEATS_MISSED * b->period_ns &&
	    record->ts >= b->ask->from_ns) {
		(void)snprintf(detail, sizeof(detail),
		    "no heartbeat for %" PRIu64 " s, expected one every %" PRIu64
		    " s: the recorder was stopped, or the machine slept",
		    quiet / NS_PER_S, b->period_ns / NS_PER_S);
		put_gap(b->ask, record->idx, record->ts, "missed heartbeats",
		    quiet / b->period_ns - 1, detail);
	}
	/* "idle" is the usual end, and no gap; older recorders gave no reason */
	if (strcmp(record->kind, "end") == 0 &&
	    log_record_is(record, "reason", "stopped") && record->ts >= b->ask->from_ns)
		put_gap(b->ask, record->idx, record->ts, "stopped", 0,
		    "a signal ended the recorder; the usual end is `idle`");
	b->boot = strcmp(record->kind, "end") == 0 ? 0 : record->boot;
	b->idx = record->idx;
	b->ts = record->ts;
	return 0;
}

/* The log does not end with the end of a recorder, and none can be running. */
static void
put_cut(const struct beats *b)
{
	uint64_t now = (uint64_t)time(NULL) * NS_PER_S;
	uint64_t age = now > b->ts ? now - b->ts : 0;
	char detail[200];

	if (b->boot == 0 || b->period_ns == 0 || age <= BEATS_MISSED * b->period_ns ||
	    b->ask->q.as_of != NULL || b->ask->q.to_ns < now)
		return;
	(void)snprintf(detail, sizeof(detail),
	    "the recorder's last record is %" PRIu64
	    " s old, and none records its end: it was killed, the machine stopped, or "
	    "later records were removed",
	    age / NS_PER_S);
	put_gap(b->ask, b->idx, b->ts, "no end", 0, detail);
}

/* The recorder's own records have no session, and the index begins with it. */
static int
see_beats(struct ask *ask)
{
	struct beats b = {.ask = ask};
	struct query q = {.verb = ask->q.verb,
	    .to_ns = ask->q.to_ns,
	    .session = "",
	    .kinds = "genesis open heartbeat end",
	    .first = ask->q.first,
	    .beyond = ask->q.beyond};
	int r = log_scan_each(ask->view, &q, see_beat, &b);

	if (r == 0)
		put_cut(&b);
	return r;
}

/*
 * A writer's records that were not on disk yet are lost with it. Its calls go on for
 * REPORT_LATE_MS without an acknowledgement of the recorder, and it keeps
 * REPORT_QUEUE_MAX records at most.
 */
static void
put_lost_session(
    struct ask *ask, const struct group_row *row, enum session_end end, const char *gap)
{
	const char *what = "killed";
	char detail[256];

	if (end == SESSION_NO_RECORDER)
		what = "recorder lost";
	else if (end == SESSION_OPEN || end == SESSION_LOST)
		what = "no end";
	(void)snprintf(detail, sizeof(detail),
	    "session %.64s of %.64s: %s; records of its last %d ms (at most %d) may be "
	    "missing",
	    row->part[0], session_server(row), gap, REPORT_LATE_MS, REPORT_QUEUE_MAX);
	put_gap(ask, row->first_idx, row->first_ts, what, 0, detail);
}

static int
end_gaps(struct ask *ask)
{
	uint64_t to = ask->q.to_ns, over = 0;
	struct group_row *const *row;
	int r = session_each(ask, INT64_MAX, see_facts);

	if (r < 0)
		return r;
	row = group_sorted(ask->groups, group_by_first);
	ask->q.to_ns = INT64_MAX; /* a session ends when it ends */
	r = row != NULL ? session_over(ask, &over) : -ENOMEM;
	ask->q.to_ns = to;
	for (size_t i = 0; r == 0 && i < group_rows(ask->groups); i++) {
		enum session_end end = session_end(row[i], over);
		const char *gap = session_end_gap(row[i], end);

		if (!session_is_row(row[i]) || gap == NULL)
			continue;
		put_lost_session(ask, row[i], end, gap);
	}
	if (r < 0)
		return r;
	/* the recorder writes no records about a server, a session or a tool */
	return ask->q.server != NULL || ask->q.session != NULL || ask->q.tool != NULL
		   ? 0
		   : see_beats(ask);
}

const struct verb verbs_gaps[] = {
    {.name = "gaps",
	.may = "",
	.kinds = "gap clock break prune genesis open " SESSION_KINDS,
	.column = gaps_column,
	.column_n = ARRAY_LEN(gaps_column),
	.begin = begin_gaps,
	.see = see_gaps,
	.end = end_gaps},
    {.name = NULL},
};
