/*
 * The record that something of the log was given away (docs/FORMAT.audit, "export").
 */
#ifndef KENNEL_SUPERVISOR_AUDIT_HANDOUT_H
#define KENNEL_SUPERVISOR_AUDIT_HANDOUT_H

#include "supervisor/audit/query/query.h"

struct handout {
	const char *what;     /* export report pack tiles certify ship */
	const char *to;       /* a file, a folder, a collector; NULL: standard output */
	const char *format;   /* NULL: none */
	const char *outcome;  /* of ship: began, ended */
	const char *folder;   /* of the log */
	uint64_t first, size; /* records first .. size - 1 are what was chosen from */
	const uint8_t *root;  /* of that size; NULL: not known */
	const struct question *q; /* what was chosen; NULL: all */
};

/* On disk when this returns 0; 0 at once for another log than one's own.  -errno:
 * it cannot be recorded, and nothing may leave. */
int handout_record(const struct handout *);

/* The same for what is made from a book; book->why says what went wrong. */
int handout_book(
    const char *what, const char *format, const struct question *, struct book *);

#endif
