/*
 * When a server that has ended may be started again: after 0.5 s, then twice as long
 * each time up to 60 s, give or take 20 %. Five ends within five minutes are a crash
 * loop: one attempt in five minutes follows, and kennel never gives up.
 */
#ifndef KENNEL_SUPERVISOR_BASE_BACKOFF_H
#define KENNEL_SUPERVISOR_BASE_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

#define BACKOFF_ENDS 5 /* this many ends in five minutes are a crash loop */

/* All times are of loop_now(). All zero: it has not ended yet. */
struct backoff {
	uint64_t retry_at; /* no start before */
	uint64_t pause_ms; /* before the next start, without what is added at random */
	uint64_t ends[BACKOFF_ENDS]; /* the newest first */
	bool crash_loop;
};

/* The server ended now. healthy_ns: how long it had served; 0: it never did. */
void backoff_ended(struct backoff *, uint64_t now, uint64_t healthy_ns);
/* Seconds until the next start, rounded up; 0: it may start now. */
uint64_t backoff_left_s(const struct backoff *, uint64_t now);

#endif
