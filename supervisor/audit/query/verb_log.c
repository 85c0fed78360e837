/*
 * Prints records: log, and tail, which can follow the log.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "shim/base/array.h"
#include "supervisor/audit/log/merkle.h"
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

/* What was printed last is a part of this log: one that was put back from a copy is another
 * one, though it has the same name and may have grown past that record. */
static int
continues(struct log_view *view, const struct query *q, const uint8_t *root)
{
	int status = log_view_has(view, q->first, root);

	if (status == ASK_NO_SUCH && q->first < view->first)
		return ASK_OK; /* pruned: nothing shows it */
	if (status != ASK_NO_SUCH && status != ASK_TAMPERED)
		return status;
	(void)snprintf(view->why, sizeof(view->why),
	    "this log does not continue the one that was followed, of %" PRIu64
	    " records: it was replaced, or put back from a copy; start again to see it",
	    q->first);
	return ASK_TAMPERED;
}

/* Follows until the reader closes the pipe, the log cannot be read, or it is another one.
 * root: of the first q->first records. */
static int
follow(const struct verb *verb, struct query *q, uint8_t root[MERKLE_HASH_LEN],
    const char **ret_why)
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
		if (status == ASK_OK)
			status = continues(&view, q, root);
		if (status == ASK_OK && view.size > q->first) {
			status = verb_ask(verb, q, &view, stdout, ret_why);
			q->first = view.size;
			memcpy(root, view.root, MERKLE_HASH_LEN);
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
	uint8_t root[MERKLE_HASH_LEN] = {0};
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
		memcpy(root, view.root, sizeof(root));
	}
	log_view_close(&view);
	if (status == ASK_OK && q.follow)
		status = follow(&tail_verb, &q, root, &why);
	verb_complain(&q, status, why);
	return status;
}
