/*
 * denials: what was refused, how often, by which rule.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/array.h"
#include "supervisor/audit/query/describe.h"
#include "supervisor/audit/query/group.h"
#include "supervisor/audit/query/query.h"
#include "supervisor/audit/query/record.h"
#include "supervisor/audit/query/table.h"

#define DENIAL_TEXT_MAX 1024

static const struct column denials_column[] = {
    {"count", CELL_NUMBER, 7},
    {"server", CELL_TEXT, 16},
    {"kind", CELL_TEXT, 8},
    {"verdict", CELL_VERDICT, 7},
    {"object", CELL_TEXT, 28},
    {"rule", CELL_TEXT, 24},
    {"first", CELL_TIME, 24},
    {"last", CELL_TIME, 24},
    {"last_idx", CELL_NUMBER, 8},
    {"reason", CELL_TEXT, 0},
};
enum { SERVER, KIND, VERDICT, OBJECT, RULE, REASON, PARTS };

static int
begin_denials(struct ask *ask)
{
	ask->groups = group_new();
	ask->q.denied = true;
	ask->number = ask->q.last_n; /* limits rows, not records */
	ask->q.last_n = 0;
	return ask->groups != NULL ? 0 : -ENOMEM;
}

/* Where no rule matches: with the line of a policy that would allow it. Of an approval:
 * how it ended, so that each outcome is a row of its own. */
static const char *
reason_of(const struct log_record *record, char text[DENIAL_TEXT_MAX])
{
	const char *reason = log_record_text(record, "reason");
	char hint[GRANT_HINT_MAX];

	if (reason == NULL)
		return describe_no_approval(record);
	if (!grant_missing(record) || grant_hint(record, hint) == NULL)
		return reason;
	(void)snprintf(text, DENIAL_TEXT_MAX, "%s; to grant it: %s", reason, hint);
	return text;
}

static int
see_denials(void *arg, const struct log_record *record)
{
	struct ask *ask = arg;
	char text[DENIAL_TEXT_MAX];
	const char *part[PARTS] = {
	    [SERVER] = log_record_text(record, "server"),
	    [KIND] = record->kind,
	    [VERDICT] = log_record_text(record, "verdict"),
	    [OBJECT] = describe_object(record),
	    [RULE] = log_record_text(record, "rule"),
	    [REASON] = reason_of(record, text),
	};

	if (log_record_absent(record) && !options_with_absent(&ask->q)) {
		ask->left_out++;
		return 0;
	}
	return group_count(ask->groups, record, part, PARTS) != NULL ? 0 : -E2BIG;
}

static int
end_denials(struct ask *ask)
{
	struct group_row *const *row = group_sorted(ask->groups, group_by_count);
	size_t n = group_rows(ask->groups);
	struct table *table = &ask->table;

	if (ask->number > 0 && n > ask->number)
		n = (size_t)ask->number;
	for (size_t i = 0; row != NULL && i < n; i++) {
		const struct group_row *t = row[i];

		table_number(table, t->n);
		for (size_t k = SERVER; k <= RULE; k++)
			table_text(table, t->part[k][0] != '\0' ? t->part[k] : NULL);
		table_number(table, t->first_ts);
		table_number(table, t->last_ts);
		table_number(table, t->last_idx);
		table_text(table, t->part[REASON][0] != '\0' ? t->part[REASON] : NULL);
	}
	if (ask->left_out > 0)
		table_left_out(table, TABLE_ABSENT, ask->left_out);
	return row != NULL ? 0 : -ENOMEM;
}

const struct verb verbs_denials[] = {
    {.name = "denials",
	.may = "nAI",
	.column = denials_column,
	.column_n = ARRAY_LEN(denials_column),
	.begin = begin_denials,
	.see = see_denials,
	.end = end_denials},
    {.name = NULL},
};
