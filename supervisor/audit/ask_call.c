/*
 * tool [NAME]: each call as one row, put together from the record that it was
 * passed on and the record that it was answered.
 */
#include <errno.h>
#include <string.h>

#include "supervisor/audit/query.h"

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

/* A call that waits for its answer is a row of these parts; sum is the length of
 * its arguments, extra their digest. */
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

static void
put_row(struct ask *ask, const struct tally_row *row, const struct fact *answer)
{
	struct sheet *sheet = &ask->sheet;
	bool waits = row != NULL && (row->flag & WAITS) != 0;
	char digest[TALLY_DIGEST_MAX] = "";

	if (waits && (row->flag & HAS_DIGEST))
		tally_unpack(row->extra, digest);
	sheet_number(sheet, waits ? row->first_idx : answer->idx);
	sheet_number(sheet, waits ? row->first_ts : answer->ts);
	sheet_text(sheet, waits ? row->part[SESSION] : answer->session);
	sheet_text(sheet, waits ? row->part[SERVER] : fact_text(answer, "server"));
	sheet_text(sheet, waits ? row->part[NAME] : fact_text(answer, "name"));
	sheet_text(sheet, waits ? "allow" : fact_text(answer, "verdict"));
	if (answer != NULL && strcmp(answer->kind, "refused") == 0)
		sheet_text(sheet, "refused");
	else
		sheet_text(
		    sheet, answer != NULL ? fact_text(answer, "outcome") : "unanswered");
	sheet_text(sheet, digest[0] != '\0' ? digest : NULL);
	put_number(sheet, waits && (row->flag & HAS_LEN), waits ? row->sum : 0);
	if (answer == NULL) {
		for (size_t i = 0; i < 4; i++)
			sheet_none(sheet);
		return;
	}
	sheet_field(sheet, answer, "result_sha256");
	sheet_field(sheet, answer, "result_bytes");
	sheet_field(sheet, answer, "duration_us");
	sheet_field(sheet, answer, "rule");
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
		put_row(ask, NULL, fact);
		return ferror(ask->sheet.out) ? -EPIPE : 0;
	}
	row = tally_at(ask->tally, part, ARRAY_LEN(part));
	if (row == NULL)
		return -E2BIG;
	if (!fact_is(fact, "outcome", "forwarded")) {
		put_row(ask, row, fact);
		row->flag = 0;
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

/* Those that nobody answered, in the order they were asked. */
static int
end_tool(struct ask *ask)
{
	struct tally_row *const *row = tally_sorted(ask->tally, tally_by_first);

	for (size_t i = 0; row != NULL && i < tally_rows(ask->tally); i++) {
		if (row[i]->flag & WAITS)
			put_row(ask, row[i], NULL);
	}
	return row != NULL ? 0 : -ENOMEM;
}

const struct verb verbs_call[] = {
    {.name = "tool",
	.words = "[NAME]",
	.what = "every call: digests, verdict, outcome, how long it took",
	.may = "",
	.kinds = "call refused",
	.column = tool_column,
	.column_n = ARRAY_LEN(tool_column),
	.begin = begin_tool,
	.see = see_tool,
	.end = end_tool},
    {.name = NULL},
};
