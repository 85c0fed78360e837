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

/* Compares the schema byte for byte with ours. Returns NULL, or the name of the first
 * object that differs (static or in the caller's memory). */
const char *schema_differs(struct sqlite3 *, char *name, size_t name_cap);

#endif
