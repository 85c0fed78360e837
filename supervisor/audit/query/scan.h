/*
 * One pass over the records of a log.
 */
#ifndef KENNEL_SUPERVISOR_AUDIT_QUERY_SCAN_H
#define KENNEL_SUPERVISOR_AUDIT_QUERY_SCAN_H

#include <stdint.h>

#include "supervisor/audit/query/log_view.h"
#include "supervisor/audit/query/options.h"
#include "supervisor/audit/query/record.h"

/* Called for each record that matches the query, by number. 0 continues; any other
 * result ends the pass and is returned. */
typedef int log_record_fn(void *arg, const struct log_record *);
/* Returns 0, the result of fn, -EBADMSG (why is set), or -EUCLEAN: with --verified,
 * the records are not those that were verified. */
int log_scan_each(struct log_view *, const struct query *, log_record_fn *, void *arg);
/* Loads one record by its number into view->record: 0, -ENOENT, -EBADMSG. */
int log_scan_one(struct log_view *, uint64_t idx);

#endif
