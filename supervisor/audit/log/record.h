/*
 * A record: its stored form (record_write.c) and the strict parser of it
 * (record_read.c), docs/FORMAT.audit.
 */
#ifndef KENNEL_SUPERVISOR_AUDIT_LOG_RECORD_H
#define KENNEL_SUPERVISOR_AUDIT_LOG_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "leash/audit/writer.h"
#include "shim/base/wire.h"
#include "supervisor/audit/recorder/startup.h"

#define AUDIT_PATH_MAX  4096
#define AUDIT_DB_NAME   "audit.db"
#define AUDIT_VKEY_NAME "origin.vkey"
#define AUDIT_BODY_MAX  (16u << 10) /* bytes of one record; a leaf may hold 65535 */
#define AUDIT_WHY_MAX   256

/* Identity of a writer, checked at HELLO. */
struct writer {
	char role[16];
	char instance[17];
	char session[3 * REPORT_NAME_MAX + 1]; /* UTF-8: each byte may become three */
	uint32_t pid;
};

/* Fields that are also stored in a column. The body has the same value and is
 * authoritative. COLUMN_TOOL is the first "name" of an event with an "action" (a
 * tools/call). */
enum record_column { COLUMN_SERVER, COLUMN_TOOL, COLUMN_VERDICT, COLUMN_RULE, COLUMNS };

struct record {
	uint64_t idx, ts, boot, wseq;
	enum event_kind kind;
	const char *column[COLUMNS]; /* NULL: none; points into memory below */
	char text[COLUMNS][3 * REPORT_TEXT_MAX + 1];
	char body[AUDIT_BODY_MAX];
	size_t body_len;
};

/* Converts untrusted bytes to UTF-8: invalid bytes and NUL become U+FFFD (a column
 * ends at NUL). Cut before out_cap, never inside a character. */
void body_utf8(char *out, size_t out_cap, const void *bytes, size_t len);

/*
 * Makes the record of an event; reads its fields from in to the end. The caller sets
 * idx, ts, boot, wseq and kind. Returns 0, or -EBADMSG: not an event that a correct
 * writer sends.
 */
int body_make(const struct writer *, struct wire_in *, struct record *);

/* ---- record_read.c: strict parser of a record body ----------------------- */

/* Raw value of one field, as in the body: a number, a string with its quotes, or a
 * list with its brackets. */
struct scan_field {
	struct span key; /* without quotes */
	struct span value;
};
#define SCAN_FIELDS_MAX 64

enum scan_head { /* in the order of the body */
	SCAN_V,
	SCAN_IDX,
	SCAN_TS,
	SCAN_BOOT,
	SCAN_ROLE,
	SCAN_INSTANCE,
	SCAN_PID,
	SCAN_SEQ,
	SCAN_SESSION,
	SCAN_KIND,
	SCAN_HEADS
};

struct scan {
	struct span head[SCAN_HEADS]; /* raw; strings with their quotes */
	struct scan_field field[SCAN_FIELDS_MAX];
	size_t field_n;
};

/* Returns 0, or -EBADMSG: record_write.c did not write these bytes. The spans point
 * into the bytes. */
int scan_body(const void *bytes, size_t len, struct scan *ret);
/* The field with this name, or NULL. */
const struct scan_field *scan_find(const struct scan *, const char *key);
/* Reads a raw number; false if it does not fit or is not a number. */
bool scan_number(struct span, uint64_t *ret);
/* Copies a raw string without quotes and escapes. Returns its length, or -EBADMSG if
 * out is too small or it is not a string. Not NUL-terminated. */
long scan_string(struct span, char *out, size_t out_cap);
/* True if a raw string equals this word, which must need no escape. */
bool scan_is(struct span, const char *word);
/* Reads the next string of a raw list (or the only value of a field that is not a
 * list). Returns 1, or 0 at the end. *at starts at 0. */
int scan_next(struct span, size_t *at, struct span *ret);

#endif
