/*
 * Records in the audit log what a person changes in the registry. The record is on disk
 * before the change: without a log, nothing is changed.
 */
#include <errno.h>
#include <string.h>

#include "shim/base/log.h"
#include "supervisor/approve/approve.h"
#include "supervisor/audit/audit.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/base/paths.h"
#include "supervisor/cli/cli.h"
#include "supervisor/registry/dump.h"
#include "supervisor/registry/registry_log.h"
#include "supervisor/servers/servers.h"

static struct {
	struct report *report; /* NULL: no change is under way */
	struct registry_act act;
	uint8_t sha256[REPORT_DIGEST_LEN]; /* of the row */
} change;

static int
record(enum registry_outcome outcome, const char *reason)
{
	static struct event e; /* large */
	uint64_t number = 0;
	int r;

	registry_event(&e, &change.act, outcome, reason);
	r = report_send(change.report, &e, EVENT_GATE, &number);
	return r < 0 ? r : report_wait(change.report, number, USER_REPORT_WAIT_MS);
}

static int
open_report(const char *action, const char *name)
{
	change.act = (struct registry_act){.action = action,
	    .name = name,
	    .by = FROM_PERSON,
	    .channel = approve_channel_name(approve_channel_here())};
	return user_report_open("", &change.report);
}

static void
close_report(void)
{
	report_free(change.report);
	change.report = NULL;
}

/* row NULL: the change is not one of a row. */
static int
begin(const char *action, const char *name, const struct server_row *row)
{
	char why[AUDIT_WRITE_WHY_MAX];
	int r = open_report(action, name);

	if (r == 0 && row != NULL) {
		r = dump_digest(row, change.sha256);
		change.act.sha256 = change.sha256;
	}
	if (r == 0)
		r = record(REGISTRY_ASKED, NULL);
	if (r == 0)
		return 0;
	close_report();
	log_error("server %s: unable to write the audit log: %s; nothing was changed",
	    action,
	    paths_audit_dir() != NULL ? audit_write_why(paths_audit_dir(), r, why)
				      : strerror(-r));
	return EXIT_FAILED;
}

int
server_log_begin(const char *action, const char *name)
{
	return begin(action, name, NULL);
}

int
server_log_begin_row(const char *action, const struct server_row *row)
{
	return begin(action, row->name, row->source >= FROM_PERSON ? row : NULL);
}

int
server_log_end(int status, const char *reason)
{
	enum registry_outcome outcome = REGISTRY_REFUSED;

	if (status == 0)
		outcome = REGISTRY_DONE;
	else if (status == EXIT_FAILED)
		outcome = REGISTRY_FAILED;
	if (record(outcome, reason) < 0)
		log_warn("server %s: unable to record the result", change.act.action);
	close_report();
	return status;
}

int
server_log_refused(const char *action, const char *name, int status, const char *reason)
{
	if (open_report(action, name) < 0 || record(REGISTRY_REFUSED, reason) < 0)
		log_warn("server %s: unable to record the refusal", action);
	close_report();
	return status;
}
