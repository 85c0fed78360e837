/*
 * The line of a policy that would allow what was refused.
 */
#ifndef KENNEL_SUPERVISOR_AUDIT_QUERY_GRANT_HINT_H
#define KENNEL_SUPERVISOR_AUDIT_QUERY_GRANT_HINT_H

#include "supervisor/audit/query/record.h"

#define GRANT_HINT_MAX 512

/* For the record of a refused tool, resource, prompt or connection: the line, in out.
 * NULL: it was refused for a reason that no line changes, or its name cannot be in a
 * policy. */
const char *grant_hint(const struct log_record *, char out[GRANT_HINT_MAX]);
/* Was it refused because no line of the policy grants it? */
bool grant_missing(const struct log_record *);

#endif
