/*
 * Closed files of the log, "audit-BASE.db" (segment.c).
 */
#ifndef KENNEL_SUPERVISOR_AUDIT_LOG_SEGMENT_H
#define KENNEL_SUPERVISOR_AUDIT_LOG_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>

#define SEGMENT_DIGITS   20 /* of the number of its first record: names sort */
#define SEGMENT_NAME_MAX 40
#define SEGMENT_LEAST    256 /* records of a file that is closed on request */
bool segment_is_name(const char *);

#define SEGMENTS_MAX 4096
/* Lists the names of the closed files, unsorted. */
int segment_list(int log_dir, char (*name)[SEGMENT_NAME_MAX], size_t *ret_n);

#endif
