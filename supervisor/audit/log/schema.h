/*
 * The SQL text of the schema (schema.c).
 */
#ifndef KENNEL_SUPERVISOR_AUDIT_LOG_SCHEMA_H
#define KENNEL_SUPERVISOR_AUDIT_LOG_SCHEMA_H

#include <stddef.h>

struct sqlite3;
struct schema_row {
	const char *type, *name, *table, *sql;
};
extern const struct schema_row schema_row[];
extern const size_t schema_rows;
#define SCHEMA_VERSION     2
#define SCHEMA_APPLICATION 0x6b6e6c61 /* "knla" */

/* Condition of the index rec_rare. A query uses the index only if it repeats this
 * text. */
#define SCHEMA_RARE \
	"kind NOT IN ('exec', 'call', 'scrub', 'dropped', 'heartbeat', 'epoch')"

/* The errno of SQLite's result code (also an extended one); 0 for OK, ROW and DONE.
 * -EBADMSG: the content is damaged, or is not that of a log. Every other result says
 * nothing about the content: -EAGAIN: a recorder that starts or ends may be the cause, so
 * another attempt may succeed; -ENOMEM; -ENOSPC; -EIO. */
int sqlite_errno(int code);

/* Compares the schema byte for byte with ours. 0; -ENODATA: it has no object yet, as while a
 * recorder creates the file; -EBADMSG: name is the first object that
 * differs, as it is in the file; or another result of sqlite_errno: it could not be read,
 * and nothing is known about it. */
int schema_compare(struct sqlite3 *, char *name, size_t name_cap);

#endif
