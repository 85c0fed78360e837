/*
 * One event loop per process, over poll(2). Handlers do not block.  Nothing is
 * allocated after loop_init: watches and timers are slots in the struct.
 *
 * poll instead of epoll: a relay changes its interest in a descriptor with
 * every message.  With poll that is a store instead of a system call.
 */
#ifndef KENNEL_SHIM_BASE_LOOP_H
#define KENNEL_SHIM_BASE_LOOP_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#define NS_PER_S     ((uint64_t)1000000000)
#define LOOP_MS      1000000ull /* a millisecond of loop_now() */
#define LOOP_WATCHES 256
#define LOOP_TIMERS  32

struct loop;
typedef void loop_fd_fn(struct loop *, int fd, short revents, void *arg);
typedef void loop_timer_fn(struct loop *, void *arg);

struct loop_watch {
	loop_fd_fn *fn; /* NULL: the slot is free */
	void *arg;
	int fd;
};

struct loop_timer {
	loop_timer_fn *fn; /* NULL: the slot is free */
	void *arg;
	uint64_t at_ns; /* loop_now() at which it fires, once */
};

struct loop {
	int watch_n; /* slots that are set; those after them were never written */
	bool stopping;
	struct loop_timer timer[LOOP_TIMERS];
	struct pollfd poll[LOOP_WATCHES];
	struct loop_watch watch[LOOP_WATCHES];
};

void loop_init(struct loop *);

/* Watches fd for POLLIN and/or POLLOUT. Returns a slot, or -ENOSPC. */
int loop_add(struct loop *, int fd, short events, loop_fd_fn *fn, void *arg);
/*
 * Sets the events that the slot waits for.  0 keeps the slot and reports no
 * event, not even a closed peer: poll would otherwise return POLLHUP in a busy
 * loop.
 */
void loop_events(struct loop *, int slot, short events);
/* Does not close the descriptor.  Ignores a negative slot. */
void loop_remove(struct loop *, int slot);

/* Fires once at at_ns.  Returns a timer, or -ENOSPC. */
int loop_timer_at(struct loop *, uint64_t at_ns, loop_timer_fn *fn, void *arg);
void loop_timer_stop(struct loop *, int timer);

/* Runs until loop_stop.  0 or the error of poll. */
int loop_run(struct loop *);
/* One round that waits at most wait_ms_max (-1: until an event). */
int loop_once(struct loop *, int wait_ms_max);
void loop_stop(struct loop *);

/* CLOCK_BOOTTIME in nanoseconds: it also counts while the system is suspended. */
uint64_t loop_now(void);

#endif
