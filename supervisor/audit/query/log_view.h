/*
 * A log opened for queries: its segments, its checkpoint, and the verdict of
 * kennel-verify.
 */
#ifndef KENNEL_SUPERVISOR_AUDIT_QUERY_LOG_VIEW_H
#define KENNEL_SUPERVISOR_AUDIT_QUERY_LOG_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "supervisor/audit/log/merkle.h"
#include "supervisor/audit/log/open_log.h"
#include "supervisor/audit/log/record.h"
#include "supervisor/audit/query/options.h"
#include "supervisor/audit/query/record.h"

#define LOG_VIEW_SEGMENTS_MAX 100000

struct segment_at {
	uint64_t base; /* its first record */
	char name[40]; /* in the log directory */
};

struct log_view {
	char folder[AUDIT_PATH_MAX];
	struct segment_at *segment; /* oldest first; the live one is last */
	size_t segment_n;
	struct reader reader;          /* of the open segment */
	size_t open;                   /* index of the open segment; segment_n: none */
	uint64_t first;                /* earlier records were pruned */
	uint64_t size;                 /* number of records that the answer is about */
	uint8_t root[MERKLE_HASH_LEN]; /* their root, from a checkpoint */
	bool verified;
	bool complete;       /* truncation of the end is ruled out */
	struct merkle start; /* subtrees left of the first record */
	uint64_t sure_size;  /* the size that kennel-verify verified, if requested */
	uint8_t sure_root[MERKLE_HASH_LEN];
	struct log_record *record; /* the current record */
	char why[AUDIT_WHY_MAX];
};

/* Returns an exit status; if it is not ASK_OK, view->why gives the reason. The caller
 * closes the view in any case. */
int log_view_open(const struct query *, struct log_view *ret);
void log_view_close(struct log_view *);
/* Opens a segment, unless it is open: 0, or -EBADMSG and similar with why. */
int log_view_turn(struct log_view *, size_t segment);
/* Is this a checkpoint of the log? For a reader that follows the log by its name: a log that
 * was put back from a copy, or another one, has another root there, or no checkpoint.
 * ASK_OK; ASK_NO_SUCH: none of this size (also if it was pruned); ASK_TAMPERED: another
 * root; ASK_FAILED, with why. The view's size and root stay. */
int log_view_has(struct log_view *, uint64_t size, const uint8_t root[MERKLE_HASH_LEN]);

#endif
