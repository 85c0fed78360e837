/*
 * A record as a sentence.
 */
#ifndef KENNEL_SUPERVISOR_AUDIT_QUERY_DESCRIBE_H
#define KENNEL_SUPERVISOR_AUDIT_QUERY_DESCRIBE_H

#include <stdint.h>

#include "supervisor/audit/log/record.h"
#include "supervisor/audit/query/record.h"

#define DESCRIBE_MAX (AUDIT_BODY_MAX + 2048) /* a body's texts and the words between */
/* Returns unescaped text; table.c escapes it. */
const char *describe_tell(const struct log_record *, char out[DESCRIBE_MAX]);
/* All its fields as key=value. */
const char *describe_fields(const struct log_record *, char out[DESCRIBE_MAX]);
/* The object of the record: a tool, a program, a host; NULL: none. */
const char *describe_object(const struct log_record *);
/* How a request for approval ended that was not granted: a static text. NULL: it was
 * granted, or the record is about something else. */
const char *describe_no_approval(const struct log_record *);
/* Fills {key} and [optional {key}] of a pattern. */
const char *describe_fill(
    const struct log_record *, const char *pattern, char out[DESCRIBE_MAX]);
/* 2026-11-22T01:02:03.004Z; decimals: 3 or 9. */
#define DESCRIBE_TIME_MAX 40
const char *describe_time(uint64_t ns, int decimals, char out[DESCRIBE_TIME_MAX]);
/* "812 us", "40 ms", "12 s". */
const char *describe_duration(uint64_t us, char out[DESCRIBE_TIME_MAX]);

#endif
