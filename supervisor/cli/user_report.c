/*
 * The connection to the audit log of a verb with which a person changes something.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "leash/audit/writer.h"
#include "shim/base/fd.h"
#include "supervisor/audit/audit.h"
#include "supervisor/base/paths.h"
#include "supervisor/cli/cli.h"

#define TRIES 5

int
user_report_open(const char *session, struct report **ret)
{
	static char log[4096], run[4096], recorder[4200];
	struct audit_place place = {
	    .log_dir = paths_audit_dir(), .run_dir = paths_run_dir()};
	struct report *report = NULL;
	int sock = -1, r;

	if (place.log_dir == NULL || place.run_dir == NULL)
		return -ENOENT;
	/* each call overwrites the static string */
	(void)snprintf(log, sizeof(log), "%s", place.log_dir);
	(void)snprintf(run, sizeof(run), "%s", place.run_dir);
	(void)snprintf(
	    recorder, sizeof(recorder), "%s", paths_libexec("kennel-recorder"));
	place = (struct audit_place){log, run, recorder};
	r = fd_make_dirs(log);
	if (r == 0)
		r = fd_make_dirs(run);
	/* a recorder that is just ending sends no WELCOME: try again for a new one */
	for (int i = 0; (r == 0 && report == NULL) || (r == -EPIPE && i < TRIES); i++) {
		r = audit_connect(&place, USER_REPORT_WAIT_MS, &sock);
		if (r == 0)
			r = report_open(sock, REPORT_SUPERVISOR, session,
			    USER_REPORT_WAIT_MS, &report);
	}
	if (r == 0)
		*ret = report;
	return r;
}

int
user_report_one(struct event *e, char ret_why[AUDIT_WRITE_WHY_MAX])
{
	struct report *report = NULL;
	uint64_t number = 0;
	int r = user_report_open("", &report);

	if (r == 0)
		r = report_send(report, e, EVENT_GATE, &number);
	if (r == 0)
		r = report_wait(report, number, USER_REPORT_WAIT_MS);
	report_free(report);
	if (r < 0 && paths_audit_dir() != NULL)
		(void)audit_write_why(paths_audit_dir(), r, ret_why);
	else if (r < 0)
		(void)snprintf(
		    ret_why, AUDIT_WRITE_WHY_MAX, "%s", strerror(-r)); /* fits */
	return r;
}
