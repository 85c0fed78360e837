/*
 * What the shim's files share; shim/shim.h is what others see of it.
 *
 *	main.c	the plan and the order of things
 *	doors.c	what is shut before the server starts
 *	reap.c	the server's start, then the life of PID 1
 *	bare.c	what they would ask of a C library
 */
#ifndef KENNEL_SHIM_PART_H
#define KENNEL_SHIM_PART_H

#include "shim/shim.h"

/* *ret_detail: what it was about, for SHIM_FAILED; untouched if nothing. */
int doors_privs(const struct shim_plan *, const char **ret_detail);
int doors_landlock(const struct shim_plan *, const char **ret_detail);
int doors_seccomp(const struct shim_plan *, int *ret_notify);

/* Block every signal, hear of some by a descriptor.  Before the filter. */
int reap_signals(int *ret_signal_fd);
/*
 * Start the server and serve it as PID 1 until it ends; never returns.  wipe is
 * called once the server's image has been replaced (or has failed to be): the
 * plan's pages are shared with the child until then, and wiping them earlier
 * would only wipe a copy.
 */
void reap_run(const struct shim_plan *, int signal_fd, void (*wipe)(void))
    __attribute__((noreturn));

void shim_failed(enum shim_step, int error, const char *detail);
/* A message of one number, or of none (n 0). */
int shim_say(enum shim_message, uint32_t value, size_t n);

#endif
