/*
 * When a server that has ended may be started again.
 */
#include <string.h>
#include <sys/random.h>

#include "shim/base/loop.h"
#include "supervisor/base/backoff.h"

#define PAUSE_MS_MIN 500
#define PAUSE_MS_MAX 60000
#define HEALTHY_NS   (60 * NS_PER_S) /* resets the pause */
#define CRASH_LOOP_NS \
	(300 * NS_PER_S) /* the window of BACKOFF_ENDS, and then the pause */

/* ± 20 %, so that servers that ended together do not start together. */
static uint64_t
jitter(uint64_t ms)
{
	uint8_t random = 0;

	/* syscalls: getrandom */
	if (getrandom(&random, 1, GRND_NONBLOCK) != 1)
		random = 128;
	return ms * 4 / 5 + ms * 2 / 5 * random / 255;
}

/* The fifth end within five minutes. */
static bool
is_crash_loop(struct backoff *b, uint64_t now)
{
	memmove(b->ends + 1, b->ends, sizeof(b->ends) - sizeof(b->ends[0]));
	b->ends[0] = now;
	return b->ends[BACKOFF_ENDS - 1] != 0 &&
	       now - b->ends[BACKOFF_ENDS - 1] < CRASH_LOOP_NS;
}

void
backoff_ended(struct backoff *b, uint64_t now, uint64_t healthy_ns)
{
	b->pause_ms =
	    healthy_ns > HEALTHY_NS || b->pause_ms == 0 ? PAUSE_MS_MIN : b->pause_ms * 2;
	if (b->pause_ms > PAUSE_MS_MAX)
		b->pause_ms = PAUSE_MS_MAX;
	b->crash_loop = is_crash_loop(b, now);
	b->retry_at =
	    now + (b->crash_loop ? CRASH_LOOP_NS : jitter(b->pause_ms) * LOOP_MS);
}

uint64_t
backoff_left_s(const struct backoff *b, uint64_t now)
{
	return now >= b->retry_at ? 0 : (b->retry_at - now + NS_PER_S - 1) / NS_PER_S;
}
