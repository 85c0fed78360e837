/*
 * Escapes untrusted text for each form of output.
 */
#ifndef KENNEL_SUPERVISOR_AUDIT_QUERY_ESCAPE_H
#define KENNEL_SUPERVISOR_AUDIT_QUERY_ESCAPE_H

#include <stddef.h>
#include <stdio.h>

/* Each writes all of the text: for a terminal (\xNN), inside the quotes of a JSON
 * string (\uXXXX), inside the quotes of a CSV field, in HTML. */
void escape_text(FILE *, const char *);
void escape_json(FILE *, const char *);
void escape_csv(FILE *, const char *);
void escape_html(FILE *, const char *);
/* Writes a stored body in ASCII: the same JSON value. */
void escape_body(FILE *, const void *body, size_t len);

#endif
