/*
 * One record of the log, its fields as text and numbers.
 */
#ifndef KENNEL_SUPERVISOR_AUDIT_QUERY_RECORD_H
#define KENNEL_SUPERVISOR_AUDIT_QUERY_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "supervisor/audit/log/record.h"

struct log_record_field {
	char key[32];
	const char *text; /* n texts, each with its NUL; NULL: a number */
	size_t n;
	uint64_t number;
};

/* Large: make it static, or allocate it. Text is valid UTF-8 if kennel wrote the
 * record. */
struct log_record {
	uint64_t idx, ts, boot, pid, seq;
	const char *role, *writer, *session, *kind;
	const void *body;
	size_t len;
	struct log_record_field field[SCAN_FIELDS_MAX];
	size_t field_n;
	struct scan scan;
	char memory[2 * AUDIT_BODY_MAX];
};

/* The caller keeps body, which must outlive the record. 0 or -EBADMSG. */
int log_record_make(const void *body, size_t len, struct log_record *ret);
const struct log_record_field *log_record_find(
    const struct log_record *, const char *key);
/* The (first) text of a field; NULL: missing. One that was cut ends in a mark with the
 * SHA-256 of all of it, so two of them are never the same. */
const char *log_record_text(const struct log_record *, const char *key);
bool log_record_number(const struct log_record *, const char *key, uint64_t *ret);
/* How much of this word, which may be such a text, is in a column of the log. */
size_t log_record_head(const char *word);
const char *log_record_item(const struct log_record_field *, size_t i);
/* text may be the whole of one that was cut. */
bool log_record_is(const struct log_record *, const char *key, const char *text);
/* Was an action refused?  One answer for every verb and for the page.  A request for
 * approval is not a refusal: the record of its answer is. */
bool log_record_denied(const struct log_record *);
/* An attempt to run a file that does not exist.  A search along PATH makes many, so it
 * is not a denial: no policy could allow it. */
#define VERDICT_ABSENT "absent"
bool log_record_absent(const struct log_record *);
bool log_record_has(
    const struct log_record *, const char *key, const char *text); /* any item */

#endif
