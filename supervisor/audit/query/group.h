/*
 * Records counted by a key of up to six parts.
 */
#ifndef KENNEL_SUPERVISOR_AUDIT_QUERY_GROUP_H
#define KENNEL_SUPERVISOR_AUDIT_QUERY_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "supervisor/audit/log/merkle.h"
#include "supervisor/audit/query/record.h"

#define GROUP_PARTS 7
#define GROUP_MAX   (1u << 20)
struct group_row {
	const char *part[GROUP_PARTS]; /* "" if missing */
	uint64_t n, sum, most;
	uint64_t first_ts, last_ts, first_idx, last_idx;
	uint64_t flag;
	uint64_t extra[4];
	const struct group_row *named; /* another row of these groups */
};
struct groups;
struct groups *group_new(void); /* NULL: out of memory */
void group_free(struct groups *);
/* The row with these parts (NULL counts as ""); a new row has n 0. NULL: more than
 * GROUP_MAX rows, or out of memory. */
struct group_row *group_at(struct groups *, const char *const *part, size_t part_n);
/* The same, and counts the record in it. */
struct group_row *group_count(
    struct groups *, const struct log_record *, const char *const *part, size_t part_n);
size_t group_rows(const struct groups *);
/* Sorts the rows, ties by their parts; the groups own the array. */
typedef int group_order(const struct group_row *, const struct group_row *);
struct group_row *const *group_sorted(struct groups *, group_order *);
int group_by_count(const struct group_row *, const struct group_row *);
int group_by_name(const struct group_row *, const struct group_row *);
int group_by_first(const struct group_row *, const struct group_row *);

#endif
