/*
 * Closes one file of the log and begins the next (rotate.c).
 */
#ifndef KENNEL_SUPERVISOR_AUDIT_RECORDER_ROTATE_H
#define KENNEL_SUPERVISOR_AUDIT_RECORDER_ROTATE_H

#include <stdint.h>

#include "supervisor/audit/log/record.h"
#include "supervisor/audit/recorder/store.h"

/* Call before the log is opened: completes or undoes a rotation that a crash
 * interrupted. */
int segment_recover(int log_dir);
/* Creates a new file after the old one, in an open transaction. The caller puts in
 * its first record and commits; then both files are closed and renamed. */
int segment_begin(struct store *old, int log_dir, struct store **ret);
int segment_rename(int log_dir, uint64_t old_base);
/* The highest sequence number of a writer in the closed files; *ret stays 0 if none. */
int segment_last_seq(int log_dir, const struct writer *, uint64_t *ret);
/* Removes whole closed files whose records are all before first; keeps their
 * checkpoints. */
int segment_prune(int log_dir, uint64_t live_base, uint64_t first);

#endif
