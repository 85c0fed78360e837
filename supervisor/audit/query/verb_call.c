/*
 * tool [NAME]: one row per call, joined from the record of the forwarded call and the
 * record of its answer.  tools [NAME]: one row per tool, counted from the same records.
 */
#include <errno.h>
#include <string.h>

#include "shim/base/array.h"
#include "shim/base/hex.h"
#include "supervisor/audit/query/group.h"
#include "supervisor/audit/query/query.h"
#include "supervisor/audit/query/record.h"
#include "supervisor/audit/query/table.h"

static const struct column tool_column[] = {
    {"idx", CELL_NUMBER, 8},
    {"time", CELL_TIME, 24},
    {"session", CELL_SESSION, 16},
    {"server", CELL_TEXT, 16},
    {"name", CELL_TEXT, 20},
    {"verdict", CELL_VERDICT, 7},
    {"outcome", CELL_TEXT, 10},
    {"params_sha256", CELL_ID, 13},
    {"params_bytes", CELL_NUMBER, 12},
    {"result_sha256", CELL_ID, 13},
    {"result_bytes", CELL_NUMBER, 12},
    {"duration_us", CELL_US, 11},
    {"rule", CELL_TEXT, 0},
};
enum { ARGUMENTS = 7, RESULT = 9, RULE = 12 }; /* columns */

/* Key of a call without an answer yet. sum is the length of its arguments, extra
 * their digest; the name of the row that named points to is the granting line. */
enum { SESSION, DIRECTION, REQUEST, SERVER, NAME };
enum { WAITS = 1, HAS_DIGEST = 2, HAS_LEN = 4 };

static int
begin_tool(struct ask *ask)
{
	ask->groups = group_new();
	return ask->groups != NULL ? 0 : -ENOMEM;
}

static bool
is_meant(const struct ask *ask, const struct log_record *record)
{
	return log_record_is(record, "method", "tools/call") &&
	       (ask->word == NULL || log_record_is(record, "name", ask->word));
}

static struct group_row *
row_of_call(struct ask *ask, const struct log_record *record)
{
	const char *part[] = {record->session, log_record_text(record, "direction"),
	    log_record_text(record, "request"), log_record_text(record, "server"),
	    log_record_text(record, "name")};

	return group_at(ask->groups, part, ARRAY_LEN(part));
}

static void
put_number(struct table *table, bool has, uint64_t number)
{
	if (has)
		table_number(table, number);
	else
		table_none(table);
}

/* Prints the request part of a row, from its pending entry. */
static void
put_waiting(struct ask *ask, const struct group_row *row)
{
	struct table *table = &ask->table;

	table_number(table, row->first_idx);
	table_number(table, row->first_ts);
	table_text(table, row->part[SESSION]);
	table_text(table, row->part[SERVER]);
	table_text(table, row->part[NAME]);
	table_text(table, "allow");
}

/* The same, from a record without a matching one. */
static void
put_alone(struct ask *ask, const struct log_record *record)
{
	for (size_t i = 0; i < 6; i++)
		see_cell(ask, record, tool_column[i].name);
}

static void
put_arguments(struct ask *ask, const struct group_row *row)
{
	char digest[2 * MERKLE_HASH_LEN + 1];

	table_text(&ask->table,
	    row->flag & HAS_DIGEST ? hex_put(digest, row->extra, MERKLE_HASH_LEN) : NULL);
	put_number(&ask->table, (row->flag & HAS_LEN) != 0, row->sum);
}

/* call: NULL, or of the request, whose record has the granting line. */
static void
put_answer(struct ask *ask, const struct log_record *answer, const struct group_row *call)
{
	for (size_t i = RESULT; i < RULE; i++)
		see_cell(ask, answer, tool_column[i].name);
	if (call != NULL && call->named != NULL)
		table_text(&ask->table, call->named->part[NAME]);
	else
		see_cell(ask, answer, tool_column[RULE].name);
}

static void
put_refused(struct ask *ask, const struct log_record *record)
{
	put_alone(ask, record);
	table_text(&ask->table, "refused");
	for (size_t i = ARGUMENTS; i < RESULT; i++)
		table_none(&ask->table);
	put_answer(ask, record, NULL);
}

/* Prints an answer; its request may be before the range. */
static void
put_answered(struct ask *ask, struct group_row *row, const struct log_record *answer)
{
	if (row->flag & WAITS)
		put_waiting(ask, row);
	else
		put_alone(ask, answer);
	table_field(&ask->table, answer, "outcome");
	if (!(row->flag & WAITS)) {
		row->flag = 0;
		row->named = NULL;
	}
	put_arguments(ask, row);
	put_answer(ask, answer, row);
	row->flag = 0;
}

static void
put_unanswered(struct ask *ask, const struct group_row *row)
{
	put_waiting(ask, row);
	table_text(&ask->table, "unanswered");
	put_arguments(ask, row);
	for (size_t i = RESULT; i < RULE; i++)
		table_none(&ask->table);
	table_text(&ask->table, row->named != NULL ? row->named->part[NAME] : NULL);
}

/* The row that holds a line of a policy; *ret NULL: the record names none. */
static int
rule_row(struct ask *ask, const struct log_record *record, const struct group_row **ret)
{
	const char *rule = log_record_text(record, "rule");
	const char *part[] = {"", "", "rule", "", rule};

	*ret = rule != NULL ? group_at(ask->groups, part, ARRAY_LEN(part)) : NULL;
	return rule != NULL && *ret == NULL ? -E2BIG : 0;
}

static int
see_tool(void *arg, const struct log_record *record)
{
	struct ask *ask = arg;
	const char *digest = log_record_text(record, "params_sha256");
	struct group_row *row;

	if (!is_meant(ask, record))
		return 0;
	if (strcmp(record->kind, "refused") == 0) {
		put_refused(ask, record);
		return ferror(ask->table.out) ? -EPIPE : 0;
	}
	row = row_of_call(ask, record);
	if (row == NULL)
		return -E2BIG;
	if (!log_record_is(record, "outcome", "forwarded")) {
		put_answered(ask, row, record);
		return ferror(ask->table.out) ? -EPIPE : 0;
	}
	row->flag = WAITS;
	row->first_idx = record->idx;
	row->first_ts = record->ts;
	if (digest != NULL &&
	    hex_get(digest, strlen(digest), row->extra, MERKLE_HASH_LEN))
		row->flag |= HAS_DIGEST;
	if (log_record_number(record, "params_bytes", &row->sum))
		row->flag |= HAS_LEN;
	return rule_row(ask, record, &row->named);
}

/* Prints calls without an answer, in the order of their requests. */
static int
end_tool(struct ask *ask)
{
	struct group_row *const *row = group_sorted(ask->groups, group_by_first);

	for (size_t i = 0; row != NULL && i < group_rows(ask->groups); i++) {
		if (row[i]->flag & WAITS)
			put_unanswered(ask, row[i]);
	}
	return row != NULL ? 0 : -ENOMEM;
}

/* ---- tools [NAME] --------------------------------------------------------------- */

static const struct column tools_column[] = {
    {"server", CELL_TEXT, 16},
    {"name", CELL_TEXT, 28},
    {"calls", CELL_NUMBER, 8},
    {"refused", CELL_NUMBER, 8},
    {"errors", CELL_NUMBER, 8},
    {"tool_errors", CELL_NUMBER, 8},
    {"last", CELL_TIME, 24},
};

/* The row of a tool: n is its calls, sum the refused ones, most the errors, extra[0] the
 * results of a tool that failed. */
enum { IS_TOOL = 8 };

static struct group_row *
row_of_tool(struct ask *ask, const struct log_record *record)
{
	const char *part[] = {"", "", "", log_record_text(record, "server"),
	    log_record_text(record, "name")};
	struct group_row *row = group_at(ask->groups, part, ARRAY_LEN(part));

	if (row == NULL)
		return NULL;
	row->flag = IS_TOOL;
	row->last_ts = record->ts;
	return row;
}

static bool
is_error(const struct log_record *answer)
{
	static const char *const fine[] = {
	    "ok", "tool-error", "cancelled", "answered by kennel"};

	for (size_t i = 0; i < ARRAY_LEN(fine); i++)
		if (log_record_is(answer, "outcome", fine[i]))
			return false;
	return true;
}

/* An answer to a call that was never forwarded is a refusal, as of a person; but its
 * request may be before the range, and then it has the time of a call. */
static void
count_answer(
    struct group_row *tool, struct group_row *call, const struct log_record *answer)
{
	bool forwarded =
	    (call->flag & WAITS) != 0 || log_record_find(answer, "result_sha256") != NULL;

	tool->extra[0] += log_record_is(answer, "outcome", "tool-error");
	if (!forwarded)
		tool->sum++;
	else if (is_error(answer))
		tool->most++;
	if (forwarded && (call->flag & WAITS) == 0)
		tool->n++;
	call->flag = 0;
}

static int
see_tools(void *arg, const struct log_record *record)
{
	struct ask *ask = arg;
	struct group_row *tool, *call;

	if (!is_meant(ask, record) || !log_record_is(record, "direction", "agent"))
		return 0;
	tool = row_of_tool(ask, record);
	if (tool == NULL)
		return -E2BIG;
	if (strcmp(record->kind, "refused") == 0) {
		tool->sum++;
		return 0;
	}
	call = row_of_call(ask, record);
	if (call == NULL)
		return -E2BIG;
	if (!log_record_is(record, "outcome", "forwarded")) {
		count_answer(tool, call, record);
		return 0;
	}
	call->flag = WAITS;
	tool->n++;
	return 0;
}

static int
end_tools(struct ask *ask)
{
	struct group_row *const *row = group_sorted(ask->groups, group_by_count);
	struct table *table = &ask->table;

	for (size_t i = 0; row != NULL && i < group_rows(ask->groups); i++) {
		if ((row[i]->flag & IS_TOOL) == 0)
			continue;
		table_text(table, row[i]->part[SERVER]);
		table_text(table, row[i]->part[NAME]);
		table_number(table, row[i]->n);
		table_number(table, row[i]->sum);
		table_number(table, row[i]->most);
		table_number(table, row[i]->extra[0]);
		table_number(table, row[i]->last_ts);
	}
	return row != NULL ? 0 : -ENOMEM;
}

const struct verb verbs_call[] = {
    {.name = "tool",
	.operand = OPERAND_MAY,
	.may = "",
	.kinds = "call refused",
	.column = tool_column,
	.column_n = ARRAY_LEN(tool_column),
	.begin = begin_tool,
	.see = see_tool,
	.end = end_tool},
    {.name = "tools",
	.operand = OPERAND_MAY,
	.may = "I",
	.kinds = "call refused",
	.column = tools_column,
	.column_n = ARRAY_LEN(tools_column),
	.begin = begin_tool,
	.see = see_tools,
	.end = end_tools},
    {.name = NULL},
};
