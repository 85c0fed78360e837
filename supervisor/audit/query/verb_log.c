/*
 * Prints records: log, and tail, which can follow the log.
 */
#include <errno.h>
#include <time.h>

#include "shim/base/array.h"
#include "supervisor/audit/query/escape.h"
#include "supervisor/audit/query/log_view.h"
#include "supervisor/audit/query/options.h"
#include "supervisor/audit/query/query.h"
#include "supervisor/audit/query/record.h"
#include "supervisor/audit/query/table.h"

#define TAIL_DEFAULT 10
#define TAIL_NS      200000000

static const struct column log_column[] = {
    {"idx", CELL_NUMBER, 8},
    {"time", CELL_TIME, 24},
    {"kind", CELL_TEXT, 8},
    {"server", CELL_TEXT, 16},
    {"verdict", CELL_VERDICT, 7},
    {"session", CELL_SESSION, 16},
    {"policy", CELL_ID, 12},
    {"fields", CELL_TEXT, 0},
};

static const struct column tail_column[] = {
    {"idx", CELL_NUMBER, 8},
    {"time", CELL_TIME, 24},
    {"server", CELL_TEXT, 16},
    {"verdict", CELL_VERDICT, 7},
    {"what", CELL_TEXT, 0},
};

static int
begin_log(struct ask *ask)
{
	ask->q.hide = !ask->q.all && ask->q.kind == NULL;
	/* one server from a time on: this index orders exactly these by time */
	ask->q.by_time = ask->q.server != NULL && ask->q.from_given;
	return 0;
}

/* In JSON output a record is printed as stored, its fields in the order of the log. */
static int
see_log(void *arg, const struct log_record *record)
{
	struct ask *ask = arg;

	if (ask->table.form != FORM_JSON)
		return see_plain(ask, record);
	escape_body(table_out(&ask->table), record->body, record->len);
	(void)fputc('\n', ask->table.out);
	return ferror(ask->table.out) ? -EPIPE : 0;
}

const struct verb verbs_log[] = {
    {.name = "log",
	.may = "kanb",
	.column = log_column,
	.column_n = ARRAY_LEN(log_column),
	.begin = begin_log,
	.see = see_log},
    {.name = NULL},
};

/* ---- tail -f ---------------------------------------------------------------------- */

static const struct verb tail_verb = {.name = "tail",
    .may = "kanf",
    .column = tail_column,
    .column_n = ARRAY_LEN(tail_column),
    .begin = begin_log,
    .see = see_log};

/* Follows until the reader closes the pipe or the log cannot be read. */
static int
follow(const struct verb *verb, struct query *q, const char **ret_why)
{
	const struct timespec pause = {.tv_nsec = TAIL_NS};
	int status = ASK_OK;

	q->bare = true;
	q->last_n = 0;
	while (status == ASK_OK && !ferror(stdout) && fflush(stdout) == 0) {
		static struct log_view view;

		(void)nanosleep(&pause, NULL); /* syscalls: nanosleep clock_nanosleep */
		status = log_view_open(q, &view);
		*ret_why = view.why;
		if (status == ASK_OK && view.size > q->first) {
			status = verb_ask(verb, q, &view, stdout, ret_why);
			q->first = view.size;
		}
		log_view_close(&view);
	}
	return status;
}

int
tail_main(int argc, char **argv)
{
	const char *why = NULL;
	struct query q;
	struct log_view view;
	int status;

	if (options_read(argc, argv, tail_verb.may, &q) < 0)
		return ASK_USAGE;
	if (q.last_n == 0)
		q.last_n = TAIL_DEFAULT;
	if (q.follow && (q.verified || q.as_of != NULL)) {
		verb_complain(
		    &q, ASK_USAGE, "-f cannot be used with --verified or --as-of");
		return ASK_USAGE;
	}
	status = log_view_open(&q, &view);
	why = view.why;
	if (status == ASK_OK) {
		status = verb_ask(&tail_verb, &q, &view, stdout, &why);
		q.first = view.size;
	}
	log_view_close(&view);
	if (status == ASK_OK && q.follow)
		status = follow(&tail_verb, &q, &why);
	verb_complain(&q, status, why);
	return status;
}
