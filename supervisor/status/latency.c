/*
 * A histogram of times. Bucket 0 to 3: that number of microseconds. From 4 on: the bits after the
 * leading one select one of four buckets of that power of two.
 */
#include "supervisor/status/latency.h"

#define QUARTERS 4

static unsigned int
bucket_of(uint64_t us)
{
	unsigned int power, at;

	if (us < QUARTERS)
		return (unsigned int)us;
	power = 63u - (unsigned int)__builtin_clzll(us);
	at = (power - 1) * QUARTERS + (unsigned int)(us >> (power - 2) & (QUARTERS - 1));
	return at < LATENCY_BUCKETS ? at : LATENCY_BUCKETS - 1;
}

/* The middle of a bucket. */
static uint64_t
middle(unsigned int at)
{
	unsigned int power = at / QUARTERS + 1;

	if (at < QUARTERS)
		return at;
	return ((uint64_t)(QUARTERS + at % QUARTERS) << (power - 2)) +
	       (1ull << (power - 2)) / 2;
}

void
latency_add(struct latency *l, uint64_t us)
{
	uint32_t *bucket = &l->bucket[bucket_of(us)];

	if (*bucket == UINT32_MAX)
		return;
	(*bucket)++;
	l->n++;
}

uint64_t
latency_percentile(const struct latency *l, unsigned int percent)
{
	uint64_t wanted = (l->n * percent + 99) / 100, seen = 0;

	for (unsigned int i = 0; i < LATENCY_BUCKETS && wanted > 0; i++) {
		seen += l->bucket[i];
		if (seen >= wanted)
			return middle(i);
	}
	return 0;
}
