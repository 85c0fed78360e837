/*
 * Export formats: records in formats of other systems, one line each.
 */
#ifndef KENNEL_SUPERVISOR_AUDIT_REPORT_EXPORT_H
#define KENNEL_SUPERVISOR_AUDIT_REPORT_EXPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "supervisor/audit/query/options.h"
#include "supervisor/audit/query/record.h"

struct export_format {
	const char *name;
	const char *first;                               /* a header line; NULL: none */
	void (*line)(FILE *, const struct log_record *); /* without its newline */
	bool present; /* without what is absent (log_record_absent), unless asked */
};
/* NULL: unknown format. */
const struct export_format *export_find(const char *name);
/* OCSF 1.5, in ocsf.c. */
void export_ocsf(FILE *, const struct log_record *);
/* --for-verify: the log itself, in export_log.c.  An exit status. */
int export_log(const struct query *);

#endif
