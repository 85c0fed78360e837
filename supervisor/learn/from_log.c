/*
 * kennel learn --from-log: lines for what ordinary sessions were refused, from the log.
 *
 * Runs as the calling user and only reads the log. A line that the record fully determines
 * is printed as it is, each other in a comment: the log has a program's path, and only a
 * digest of its arguments.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "supervisor/audit/audit_help.h"
#include "supervisor/audit/query/group.h"
#include "supervisor/audit/query/query.h"
#include "supervisor/cli/cli.h"
#include "supervisor/help/help.h"
#include "supervisor/learn/from_log.h"
#include "supervisor/learn/policy_text.h"

enum { SERVER, KIND, LINE, REASON, PARTS };

/* The program of a refused exec, if it is a path and no line is about it. */
static const char *
program_of(const struct log_record *record)
{
	const char *program = log_record_text(record, "program");

	return program != NULL && program[0] == '/' &&
		       log_record_text(record, "rule") == NULL &&
		       log_record_is(record, "verdict", "deny")
		   ? program
		   : NULL;
}

static int
see(void *arg, const struct log_record *record)
{
	struct groups *groups = arg;
	char hint[GRANT_HINT_MAX];
	bool exec = strcmp(record->kind, "exec") == 0;
	const char *part[PARTS] = {
	    [SERVER] = log_record_text(record, "server"),
	    [KIND] = record->kind,
	    [LINE] = exec ? program_of(record) : grant_hint(record, hint),
	    [REASON] = log_record_text(record, "reason"),
	};

	if (part[SERVER] == NULL || part[LINE] == NULL || log_record_absent(record))
		return 0; /* no line could grant it */
	return group_count(groups, record, part, PARTS) != NULL ? 0 : -E2BIG;
}

static void
put_line(const struct group_row *g)
{
	bool exec = strcmp(g->part[KIND], "exec") == 0;

	printf(exec ? "    # exec allow " : "    ");
	learn_inert(stdout, g->part[LINE]);
	printf("    # %" PRIu64 " times, the last in record %" PRIu64, g->n, g->last_idx);
	if (exec) {
		printf("; the log has no arguments: ");
		learn_inert(stdout, g->part[REASON]);
	}
	putchar('\n');
}

static void
put_all(struct groups *groups)
{
	struct group_row *const *row = group_sorted(groups, group_by_name);
	const char *server = "";

	for (size_t i = 0; row != NULL && i < group_rows(groups); i++) {
		if (strcmp(server, row[i]->part[SERVER]) != 0) {
			server = row[i]->part[SERVER];
			printf("# lines for `server ");
			learn_inert(stdout, server);
			printf("`: review each\n");
		}
		put_line(row[i]);
	}
	if (group_rows(groups) == 0)
		printf("# nothing that a line could grant was refused\n");
}

int
learn_from_log(int argc, char **argv)
{
	static struct log_view view; /* large */
	struct groups *groups = NULL;
	const char *why;
	struct query q;
	int status, r;

	if (options_read(argc, argv, "", &q) < 0)
		return ASK_USAGE;
	if (q.argc > 1 || (q.argc == 1 && q.server != NULL))
		return help_usage(
		    &kennel_help, "learn", "expected the name of one server at most");
	if (q.argc == 1)
		q.server = q.argv[0];
	q.denied = true;
	q.by_time = true;
	status = log_view_open(&q, &view);
	why = view.why;
	if (status == ASK_OK) {
		groups = group_new();
		r = groups == NULL ? -ENOMEM : log_scan_each(&view, &q, see, groups);
		status = r == 0 ? ASK_OK : r == -EUCLEAN ? ASK_TAMPERED : ASK_FAILED;
		if (r == 0)
			put_all(groups);
		if (r == 0 && group_rows(groups) == 0)
			query_near(&view, &q);
		group_free(groups);
	}
	verb_complain(&q, status, why);
	log_view_close(&view);
	return status;
}
