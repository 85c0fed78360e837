/*
 * Settings of an operator (config.c).
 */
#ifndef KENNEL_SUPERVISOR_AUDIT_RECORDER_CONFIG_H
#define KENNEL_SUPERVISOR_AUDIT_RECORDER_CONFIG_H

#include <stddef.h>
#include <stdint.h>

struct config {
	uint64_t epoch_s;         /* longest time a key signs */
	uint64_t heartbeat_s;     /* interval of heartbeats */
	uint64_t segment_records; /* of one file */
};
/* Reads audit.conf; missing settings get defaults. -EINVAL: error in line *ret_line. */
int config_read(int log_dir, struct config *ret, size_t *ret_line);

#endif
