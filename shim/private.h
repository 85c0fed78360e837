/*
 * Declarations that the shim's files share; shim/shim.h is the interface to
 * others.
 *
 *	main.c		the plan and the sequence of steps
 *	restrict.c	confines the shim before the server starts
 *	reap.c		starts the server, then acts as PID 1
 *	nolibc.c	replaces the C library
 */
#ifndef KENNEL_SHIM_PRIVATE_H
#define KENNEL_SHIM_PRIVATE_H

#include "shim/shim.h"

/*
 * *ret_detail: the object of the error, for SHIM_FAILED; untouched if there is
 * none.
 */
int doors_privs(const struct shim_plan *, const char **ret_detail);
int doors_landlock(const struct shim_plan *, const char **ret_detail);
int doors_seccomp(const struct shim_plan *, int *ret_notify);

/*
 * Blocks all signals, and receives some through a descriptor.  Call it before
 * the filter.
 */
int reap_signals(int *ret_signal_fd);
/*
 * Starts the server and acts as its PID 1 until it ends; never returns.  Calls
 * wipe once the server's exec has succeeded or failed: until then the child
 * shares the plan's pages, and wiping earlier would only wipe a copy.
 */
void reap_run(const struct shim_plan *, int signal_fd, void (*wipe)(void))
    __attribute__((noreturn));

void shim_failed(enum shim_step, int error, const char *detail);
/* Sends a message with one number, or with none (n 0). */
int shim_say(enum shim_message, uint32_t value, size_t n);

#endif
