/*
 * tool [NAME]: one row per call, joined from the record of the forwarded call and the
 * record of its answer.
 */
#include <errno.h>
#include <string.h>

#include "supervisor/audit/query/query.h"

static const struct column tool_column[] = {
    {"idx", CELL_NUMBER, 8},
    {"time", CELL_TIME, 24},
    {"session", CELL_TEXT, 16},
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
enum { ARGUMENTS = 7, RESULT = 9 }; /* columns */

/* Key of a call without an answer yet. sum is the length of its arguments, extra
 * their digest. */
enum { SESSION, DIRECTION, REQUEST, SERVER, NAME };
enum { WAITS = 1, HAS_DIGEST = 2, HAS_LEN = 4 };

static int
begin_tool(struct ask *ask)
{
	ask->tally = tally_new();
	return ask->tally != NULL ? 0 : -ENOMEM;
}

static bool
is_meant(const struct ask *ask, const struct fact *fact)
{
	return fact_is(fact, "method", "tools/call") &&
	       (ask->word == NULL || fact_is(fact, "name", ask->word));
}

static void
put_number(struct sheet *sheet, bool has, uint64_t number)
{
	if (has)
		sheet_number(sheet, number);
	else
		sheet_none(sheet);
}

/* Prints the request part of a row, from its pending entry. */
static void
put_waiting(struct ask *ask, const struct tally_row *row)
{
	struct sheet *sheet = &ask->sheet;

	sheet_number(sheet, row->first_idx);
	sheet_number(sheet, row->first_ts);
	sheet_text(sheet, row->part[SESSION]);
	sheet_text(sheet, row->part[SERVER]);
	sheet_text(sheet, row->part[NAME]);
	sheet_text(sheet, "allow");
}

/* The same, from a record without a matching one. */
static void
put_alone(struct ask *ask, const struct fact *fact)
{
	for (size_t i = 0; i < 6; i++)
		see_cell(ask, fact, tool_column[i].name);
}

static void
put_arguments(struct ask *ask, const struct tally_row *row)
{
	char digest[TALLY_DIGEST_MAX] = "";

	if (row->flag & HAS_DIGEST)
		tally_unpack(row->extra, digest);
	sheet_text(&ask->sheet, digest[0] != '\0' ? digest : NULL);
	put_number(&ask->sheet, (row->flag & HAS_LEN) != 0, row->sum);
}

static void
put_answer(struct ask *ask, const struct fact *answer)
{
	for (size_t i = RESULT; i < ARRAY_LEN(tool_column); i++)
		see_cell(ask, answer, tool_column[i].name);
}

static void
put_refused(struct ask *ask, const struct fact *fact)
{
	put_alone(ask, fact);
	sheet_text(&ask->sheet, "refused");
	for (size_t i = ARGUMENTS; i < RESULT; i++)
		sheet_none(&ask->sheet);
	put_answer(ask, fact);
}

/* Prints an answer; its request may be before the range. */
static void
put_answered(struct ask *ask, struct tally_row *row, const struct fact *answer)
{
	if (row->flag & WAITS)
		put_waiting(ask, row);
	else
		put_alone(ask, answer);
	sheet_field(&ask->sheet, answer, "outcome");
	if (!(row->flag & WAITS))
		row->flag = 0;
	put_arguments(ask, row);
	put_answer(ask, answer);
	row->flag = 0;
}

static void
put_unanswered(struct ask *ask, const struct tally_row *row)
{
	put_waiting(ask, row);
	sheet_text(&ask->sheet, "unanswered");
	put_arguments(ask, row);
	for (size_t i = RESULT; i < ARRAY_LEN(tool_column); i++)
		sheet_none(&ask->sheet);
}

static int
see_tool(void *arg, const struct fact *fact)
{
	struct ask *ask = arg;
	const char *part[] = {fact->session, fact_text(fact, "direction"),
	    fact_text(fact, "request"), fact_text(fact, "server"),
	    fact_text(fact, "name")};
	const char *digest = fact_text(fact, "params_sha256");
	struct tally_row *row;

	if (!is_meant(ask, fact))
		return 0;
	if (strcmp(fact->kind, "refused") == 0) {
		put_refused(ask, fact);
		return ferror(ask->sheet.out) ? -EPIPE : 0;
	}
	row = tally_at(ask->tally, part, ARRAY_LEN(part));
	if (row == NULL)
		return -E2BIG;
	if (!fact_is(fact, "outcome", "forwarded")) {
		put_answered(ask, row, fact);
		return ferror(ask->sheet.out) ? -EPIPE : 0;
	}
	row->flag = WAITS;
	row->first_idx = fact->idx;
	row->first_ts = fact->ts;
	if (digest != NULL && tally_pack(digest, row->extra))
		row->flag |= HAS_DIGEST;
	if (fact_number(fact, "params_bytes", &row->sum))
		row->flag |= HAS_LEN;
	return 0;
}

/* Prints calls without an answer, in the order of their requests. */
static int
end_tool(struct ask *ask)
{
	struct tally_row *const *row = tally_sorted(ask->tally, tally_by_first);

	for (size_t i = 0; row != NULL && i < tally_rows(ask->tally); i++) {
		if (row[i]->flag & WAITS)
			put_unanswered(ask, row[i]);
	}
	return row != NULL ? 0 : -ENOMEM;
}

const struct verb verbs_call[] = {
    {.name = "tool",
	.words = "[NAME]",
	.what = "every call: digests, verdict, outcome, duration",
	.may = "",
	.kinds = "call refused",
	.column = tool_column,
	.column_n = ARRAY_LEN(tool_column),
	.begin = begin_tool,
	.see = see_tool,
	.end = end_tool},
    {.name = NULL},
};
