/*
 * denials: what was refused, how often, by which rule.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/audit/query/query.h"

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
	ask->tally = tally_new();
	ask->q.denied = true;
	ask->number = ask->q.last_n; /* of rows, not of records */
	ask->q.last_n = 0;
	return ask->tally != NULL ? 0 : -ENOMEM;
}

static int
see_denials(void *arg, const struct fact *fact)
{
	struct ask *ask = arg;
	const char *part[PARTS] = {
	    [SERVER] = fact_text(fact, "server"),
	    [KIND] = fact->kind,
	    [VERDICT] = fact_text(fact, "verdict"),
	    [OBJECT] = story_object(fact),
	    [RULE] = fact_text(fact, "rule"),
	    [REASON] = fact_text(fact, "reason"),
	};

	return tally_count(ask->tally, fact, part, PARTS) != NULL ? 0 : -E2BIG;
}

static int
end_denials(struct ask *ask)
{
	struct tally_row *const *row = tally_sorted(ask->tally, tally_by_count);
	size_t n = tally_rows(ask->tally);
	struct sheet *sheet = &ask->sheet;

	if (ask->number > 0 && n > ask->number)
		n = (size_t)ask->number;
	for (size_t i = 0; row != NULL && i < n; i++) {
		const struct tally_row *t = row[i];

		sheet_number(sheet, t->n);
		for (size_t k = SERVER; k <= RULE; k++)
			sheet_text(sheet, t->part[k][0] != '\0' ? t->part[k] : NULL);
		sheet_number(sheet, t->first_ts);
		sheet_number(sheet, t->last_ts);
		sheet_number(sheet, t->last_idx);
		sheet_text(sheet, t->part[REASON][0] != '\0' ? t->part[REASON] : NULL);
	}
	return row != NULL ? 0 : -ENOMEM;
}

const struct verb verbs_count[] = {
    {.name = "denials",
	.words = "",
	.what = "what was refused, the most frequent first (-n: so many rows)",
	.may = "n",
	.column = denials_column,
	.column_n = ARRAY_LEN(denials_column),
	.begin = begin_denials,
	.see = see_denials,
	.end = end_denials},
    {.name = NULL},
};
