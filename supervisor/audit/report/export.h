/*
 * Records in the words of other systems: one line each.
 */
#ifndef KENNEL_SUPERVISOR_AUDIT_EXPORT_H
#define KENNEL_SUPERVISOR_AUDIT_EXPORT_H

#include "supervisor/audit/query/query.h"

struct export_format {
	const char *name;
	const char *first;                         /* a line before all; NULL: none */
	void (*line)(FILE *, const struct fact *); /* without its newline */
};
/* NULL: there is none of this name. */
const struct export_format *export_find(const char *name);
/* OCSF 1.5, in a file of its own. */
void export_ocsf(FILE *, const struct fact *);

#endif
