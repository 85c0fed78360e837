/*
 * The event loop: slots for descriptors, slots for timers, poll between them.
 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "shim/base/loop.h"

uint64_t
loop_now(void)
{
	struct timespec t;

	/* syscalls: clock_gettime */
	(void)clock_gettime(CLOCK_BOOTTIME, &t); /* cannot fail: the clock exists */
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

void
loop_init(struct loop *loop)
{
	/* Only what is read before it is written: unused slots cost no memory. */
	memset(loop->timer, 0, sizeof(loop->timer));
	loop->watch_n = 0;
	loop->stopping = false;
}

int
loop_add(struct loop *loop, int fd, short events, loop_fd_fn *fn, void *arg)
{
	for (int i = 0; i < LOOP_WATCHES; i++) {
		if (i < loop->watch_n && loop->watch[i].fn != NULL)
			continue;
		loop->watch[i] = (struct loop_watch){fn, arg, fd};
		loop->poll[i].revents = 0;
		loop_events(loop, i, events);
		if (i >= loop->watch_n)
			loop->watch_n = i + 1;
		return i;
	}
	return -ENOSPC;
}

void
loop_events(struct loop *loop, int slot, short events)
{
	if (slot < 0)
		return;
	/*
	 * poll skips negative descriptors; with events 0 it would still report
	 * POLLHUP
	 */
	loop->poll[slot].fd = events != 0 ? loop->watch[slot].fd : -1;
	loop->poll[slot].events = events;
	if (events == 0)
		loop->poll[slot].revents = 0;
}

void
loop_remove(struct loop *loop, int slot)
{
	if (slot < 0)
		return;
	loop->watch[slot] = (struct loop_watch){.fd = -1};
	loop->poll[slot] = (struct pollfd){.fd = -1};
	while (loop->watch_n > 0 && loop->watch[loop->watch_n - 1].fn == NULL)
		loop->watch_n--;
}

int
loop_timer_at(struct loop *loop, uint64_t at_ns, loop_timer_fn *fn, void *arg)
{
	for (int i = 0; i < LOOP_TIMERS; i++) {
		if (loop->timer[i].fn != NULL)
			continue;
		loop->timer[i] = (struct loop_timer){fn, arg, at_ns};
		return i;
	}
	return -ENOSPC;
}

void
loop_timer_stop(struct loop *loop, int timer)
{
	if (timer >= 0)
		loop->timer[timer] = (struct loop_timer){0};
}

/* The earliest timer, or NULL. */
static struct loop_timer *
next_timer(struct loop *loop)
{
	struct loop_timer *first = NULL;

	for (int i = 0; i < LOOP_TIMERS; i++) {
		struct loop_timer *t = &loop->timer[i];

		if (t->fn != NULL && (first == NULL || t->at_ns < first->at_ns))
			first = t;
	}
	return first;
}

static void
run_timers(struct loop *loop)
{
	struct loop_timer *t;
	uint64_t now = loop_now();

	while (!loop->stopping && (t = next_timer(loop)) != NULL && t->at_ns <= now) {
		struct loop_timer due = *t;

		*t = (struct loop_timer){0};
		due.fn(loop, due.arg);
	}
}

/* How long poll may sleep: until the first timer or the caller's limit. */
static const struct timespec *
sleep_time(struct loop *loop, int wait_ms_max, struct timespec *room)
{
	const struct loop_timer *t = next_timer(loop);
	uint64_t now, wait = UINT64_MAX;

	if (wait_ms_max >= 0)
		wait = (uint64_t)wait_ms_max * 1000000u;
	if (t != NULL) {
		now = loop_now();
		if (t->at_ns <= now)
			wait = 0;
		else if (t->at_ns - now < wait)
			wait = t->at_ns - now;
	}
	if (wait == UINT64_MAX)
		return NULL;
	room->tv_sec = (time_t)(wait / NS_PER_S);
	room->tv_nsec = (long)(wait % NS_PER_S);
	return room;
}

int
loop_once(struct loop *loop, int wait_ms_max)
{
	struct timespec room;
	int n, watch_n = loop->watch_n;

	/* syscalls: ppoll poll */
	n = ppoll(
	    loop->poll, (nfds_t)watch_n, sleep_time(loop, wait_ms_max, &room), NULL);
	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	for (int i = 0; n > 0 && i < watch_n && !loop->stopping; i++) {
		short armed =
		    (short)(loop->poll[i].events | POLLHUP | POLLERR | POLLNVAL);
		short revents = (short)(loop->poll[i].revents & armed);

		/*
		 * a handler may have removed or reused a later slot (both
		 * clear its revents), or the slot may now wait for fewer events
		 */
		if (loop->watch[i].fn == NULL || revents == 0)
			continue;
		loop->poll[i].revents = 0;
		loop->watch[i].fn(loop, loop->watch[i].fd, revents, loop->watch[i].arg);
	}
	run_timers(loop);
	return 0;
}

int
loop_run(struct loop *loop)
{
	int r = 0;

	while (r == 0 && !loop->stopping)
		r = loop_once(loop, -1);
	return r;
}

void
loop_stop(struct loop *loop)
{
	loop->stopping = true;
}
