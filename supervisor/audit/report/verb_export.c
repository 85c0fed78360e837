/*
 * "kennel audit export": writes records in formats of other systems.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "shim/base/array.h"
#include "supervisor/audit/audit_help.h"
#include "supervisor/audit/report/disclosure.h"
#include "supervisor/audit/query/query.h"
#include "supervisor/audit/query/scan.h"
#include "supervisor/audit/report/export.h"
#include "supervisor/audit/report/verbs.h"

struct giving {
	const struct export_format *format;
	FILE *out;
	uint64_t n;
};

static int
see_export(void *arg, const struct log_record *record)
{
	struct giving *e = arg;

	e->format->line(e->out, record);
	(void)fputc('\n', e->out);
	e->n++;
	return ferror(e->out) ? -EIO : 0;
}

static int
run_export(struct query *q, struct giving *e, const char **ret_why)
{
	static struct log_view view;
	static char id[SESSION_ID_LEN + 1];
	int r, status = log_view_open(q, &view);

	*ret_why = view.why;
	if (status == ASK_OK && session_find(&view, &q->session, id) < 0)
		status = ASK_NO_SUCH;
	if (status == ASK_OK && disclosure_book("export", e->format->name, q, &view) < 0)
		status = ASK_FAILED;
	if (status == ASK_OK) {
		if (e->format->first != NULL)
			fprintf(e->out, "%s\n", e->format->first);
		r = log_scan_each(&view, q, see_export, e);
		if (fflush(e->out) != 0 && r == 0)
			r = -errno;
		status = r == 0 || r == -EPIPE ? ASK_OK
			 : r == -EUCLEAN       ? ASK_TAMPERED
					       : ASK_FAILED;
		if (r < 0 && view.why[0] == '\0')
			*ret_why = strerror(-r);
	}
	log_view_close(&view);
	return status;
}

/* With --for-verify nothing can be left out, because kennel-verify reads all. */
static bool
selects_nothing(const struct query *q)
{
	const char *const given[] = {q->server, q->kind, q->verdict, q->session, q->tool,
	    q->rule, q->as_of, q->out, q->report};

	for (size_t i = 0; i < ARRAY_LEN(given); i++)
		if (given[i] != NULL)
			return false;
	return q->argc == 0 && !q->from_given && !q->to_given && !q->all && !q->absent &&
	       !q->bare && q->form == FORM_TEXT;
}

int
export_main(int argc, char **argv)
{
	struct giving e = {.out = stdout};
	const char *why = NULL;
	struct query q;
	int status;

	if (options_read(argc, argv, "kaxoAy", &q) < 0)
		return ASK_USAGE;
	if (q.for_verify != NULL) {
		if (!selects_nothing(&q))
			return help_usage(&audit_help, argv[0],
			    "--for-verify copies the whole log; the only other option is "
			    "--log");
		return export_log(&q);
	}
	e.format = export_find(q.report != NULL ? q.report : "jsonl");
	if (e.format == NULL || q.argc > 0) {
		verb_complain(
		    &q, ASK_USAGE, "--format must be one of jsonl csv ocsf cef");
		return ASK_USAGE;
	}
	q.present = e.format->present && !options_with_absent(&q);
	e.out = output_new(&q);
	if (e.out == NULL)
		return ASK_FAILED;
	status = run_export(&q, &e, &why);
	verb_complain(&q, status, why);
	if (e.out != stdout && fclose(e.out) != 0 && status == ASK_OK)
		status = ASK_FAILED;
	return status;
}
