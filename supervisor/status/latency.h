/*
 * How long answers take: a histogram of microseconds, four buckets for each power of two,
 * up to four minutes. A percentile is exact to an eighth.
 */
#ifndef KENNEL_SUPERVISOR_STATUS_LATENCY_H
#define KENNEL_SUPERVISOR_STATUS_LATENCY_H

#include <stdint.h>

#define LATENCY_BUCKETS 108

struct latency {
	uint64_t n;
	uint32_t bucket[LATENCY_BUCKETS];
};

void latency_add(struct latency *, uint64_t us);
/* The time that this percentage of the answers took at most; 0: no answer yet. */
uint64_t latency_percentile(const struct latency *, unsigned int percent);

#endif
