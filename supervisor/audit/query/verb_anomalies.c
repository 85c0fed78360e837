/*
 * anomalies: what an auditor should look at first. It uses rules, not a model; the
 * same log gives the same rows.
 *
 *	first seen	a server did something that it never did before --from
 *	rate		an hour with far more than the server's hours before it had
 *	after hours	on a weekend, or outside of 06:00 to 20:00 UTC
 *	denied, then	the same thing refused several times, then allowed
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "shim/base/array.h"
#include "shim/base/loop.h"
#include "supervisor/audit/query/describe.h"
#include "supervisor/audit/query/group.h"
#include "supervisor/audit/query/query.h"
#include "supervisor/audit/query/record.h"
#include "supervisor/audit/query/table.h"

#define HOUR_NS      (3600 * NS_PER_S)
#define DENIALS_MANY 3
#define RATE_LEAST   20 /* events in an hour: fewer are no spike */
#define RATE_FACTOR  4  /* times the mean of the hours with events */
#define DAY_BEGINS   6
#define DAY_ENDS     20

static const struct column odd_column[] = {
    {"idx", CELL_NUMBER, 8},
    {"time", CELL_TIME, 24},
    {"what", CELL_TEXT, 12},
    {"server", CELL_TEXT, 16},
    {"kind", CELL_TEXT, 8},
    {"object", CELL_TEXT, 32},
    {"count", CELL_NUMBER, 7},
    {"detail", CELL_TEXT, 0},
};

enum { SERVER, KIND, OBJECT, RULE };

static int
begin_odd(struct ask *ask)
{
	ask->groups = group_new();
	return ask->groups != NULL ? 0 : -ENOMEM;
}

static void
put_odd(struct ask *ask, uint64_t idx, uint64_t ts, const char *what, const char *server,
    const char *kind, const char *object, uint64_t count, const char *detail)
{
	table_number(&ask->table, idx);
	table_number(&ask->table, ts);
	table_text(&ask->table, what);
	table_text(&ask->table, server);
	table_text(&ask->table, kind);
	table_text(&ask->table, object);
	table_number(&ask->table, count);
	table_text(&ask->table, detail);
}

/* Checks an object: seen before? Refused until now? */
static int
see_thing(struct ask *ask, const struct log_record *record, bool allowed, bool in)
{
	const char *kind = strcmp(record->kind, "refused") == 0 ? "call" : record->kind;
	const char *part[] = {
	    log_record_text(record, "server"), kind, describe_object(record), "thing"};
	struct group_row *row = group_count(ask->groups, record, part, ARRAY_LEN(part));

	if (row == NULL)
		return -E2BIG;
	if (in && row->n == 1)
		put_odd(ask, record->idx, record->ts, "first seen", part[SERVER], kind,
		    part[OBJECT], 1, allowed ? "allowed" : "refused");
	if (!allowed) {
		row->flag++;
		return 0;
	}
	if (in && row->flag >= DENIALS_MANY)
		put_odd(ask, record->idx, record->ts, "denied, then", part[SERVER], kind,
		    part[OBJECT], row->flag,
		    "refused repeatedly before, and now allowed");
	row->flag = 0;
	return 0;
}

/* Adds a row for each hour of each server, keyed "00000495063". */
static int
see_hour(struct ask *ask, const struct log_record *record, bool in)
{
	char hour[24];
	struct group_row *row;
	const char *part[] = {log_record_text(record, "server"), "hour", hour, "rate"};

	(void)snprintf(hour, sizeof(hour), "%011" PRIu64, record->ts / HOUR_NS);
	row = group_count(ask->groups, record, part, ARRAY_LEN(part));
	if (row == NULL)
		return -E2BIG;
	row->flag |= in;
	return 0;
}

static bool
after_hours(uint64_t ts)
{
	time_t s = (time_t)(ts / NS_PER_S);
	struct tm tm;

	return gmtime_r(&s, &tm) != NULL &&
	       (tm.tm_wday == 0 || tm.tm_wday == 6 || tm.tm_hour < DAY_BEGINS ||
		   tm.tm_hour >= DAY_ENDS);
}

static int
see_start(struct ask *ask, const struct log_record *record)
{
	if (strcmp(record->kind, "start") == 0 && after_hours(record->ts))
		put_odd(ask, record->idx, record->ts, "after hours",
		    log_record_text(record, "server"), record->kind,
		    log_record_text(record, "program"), 1,
		    "started on a weekend, or between 20:00 and 06:00 UTC");
	return 0;
}

static int
see_odd(void *arg, const struct log_record *record)
{
	struct ask *ask = arg;
	bool allowed = log_record_is(record, "verdict", "allow");
	bool in = query_chooses(ask, record); /* the others give the baseline */
	int r;

	/* an answer is not an action of its own */
	if (log_record_text(record, "server") == NULL ||
	    describe_object(record) == NULL || (!allowed && !log_record_denied(record)))
		return 0;
	r = see_thing(ask, record, allowed, in);
	if (r == 0)
		r = see_hour(ask, record, in);
	if (r == 0 && in)
		r = see_start(ask, record);
	return r;
}

/* Sorted by server, then by hour: compares each hour with the mean of the earlier
 * ones. */
static int
end_odd(struct ask *ask)
{
	struct group_row *const *row = group_sorted(ask->groups, group_by_name);
	const char *server = "";
	uint64_t sum = 0, hours = 0;
	char detail[64];

	for (size_t i = 0; row != NULL && i < group_rows(ask->groups); i++) {
		const struct group_row *t = row[i];

		if (strcmp(t->part[RULE], "rate") != 0)
			continue;
		if (strcmp(server, t->part[SERVER]) != 0)
			sum = hours = 0;
		server = t->part[SERVER];
		if (t->flag && t->n >= RATE_LEAST && hours > 0 &&
		    t->n * hours > RATE_FACTOR * sum) {
			(void)snprintf(detail, sizeof(detail),
			    "in this hour; the mean of the hours before is %" PRIu64,
			    sum / hours);
			put_odd(ask, t->first_idx, t->first_ts, "rate", server, "hour",
			    NULL, t->n, detail);
		}
		sum += t->n;
		hours++;
	}
	return row != NULL ? 0 : -ENOMEM;
}

const struct verb verbs_anomalies[] = {
    {.name = "anomalies",
	.may = "I",
	.kinds = "start exec call refused egress",
	.whole = true,
	.column = odd_column,
	.column_n = ARRAY_LEN(odd_column),
	.begin = begin_odd,
	.see = see_odd,
	.end = end_odd},
    {.name = NULL},
};
