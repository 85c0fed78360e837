/*
 * Records that part of the log was exported (docs/FORMAT.audit, "export").
 */
#ifndef KENNEL_SUPERVISOR_AUDIT_REPORT_DISCLOSURE_H
#define KENNEL_SUPERVISOR_AUDIT_REPORT_DISCLOSURE_H

#include "supervisor/audit/query/log_view.h"
#include "supervisor/audit/query/options.h"

/* Records an action of an auditor: 0 after it is on disk; -ENOENT: no directory or
 * program of a recorder; the errors of audit_connect and report_wait. */
struct event;
int audit_record(const struct event *);

struct handout {
	const char *what;      /* export report pack tiles certify ship */
	const char *to;        /* a file, directory or collector; NULL: stdout */
	const char *format;    /* NULL: none */
	const char *outcome;   /* of ship: began, ended */
	const char *folder;    /* of the log */
	uint64_t first, size;  /* selected from records first .. size - 1 */
	const uint8_t *root;   /* at that size; NULL: not known */
	const struct query *q; /* the selection; NULL: all */
};

/* Returns 0 after the record is on disk, or at once for a log that is not the user's
 * own. -errno: unable to record it; export nothing. */
int disclosure_record(const struct handout *);

/* The same for an export from an open log; view->why gives the reason of a failure. */
int disclosure_book(
    const char *what, const char *format, const struct query *, struct log_view *);

#endif
