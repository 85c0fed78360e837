/*
 * The exec gate: which programs run in the cell.  Every execve and
 * execveat of the cell waits for this room; what is granted is checked again
 * at the exec stop, on the image that is really mapped, before its first
 * instruction.
 *
 * Process: the leash.  Trusts its own copies only, never the caller's memory
 * twice.  Must never block: an attacker who can make one call here wait can
 * hang every other.
 *
 *	notify.c	receive, hold, judge, reply
 *	copy.c		the words of a call, copied once
 *	stop.c		seize, the exec stop, compare, let go or kill
 *	image.c		which granted file is this descriptor
 *	grant.c		a policy answer for (image, argv, environment)
 */
#ifndef KENNEL_LEASH_EXEC_EXEC_H
#define KENNEL_LEASH_EXEC_EXEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "leash/report.h"
#include "policy/policy.h"

#define GATE_FLIGHTS_MAX 1024         /* judged execs under way; more wait */
#define GATE_ARGS_MAX    4096         /* arguments of one exec; more: refused */
#define GATE_COPY_MAX    (256u << 10) /* bytes of argv and environment */

struct env;
struct gate;
struct scrub;

struct gate_order {
	const struct policy *policy;
	const struct sealed_server *server;
	const int *image_fd; /* one per row of the server's images */
	size_t image_n;
	int notify_fd;         /* now the gate's; -1: gate_hear brings it */
	const struct env *env; /* borrowed: what the server started with */
	struct report *report; /* borrowed; NULL in tests only */
	struct scrub *scrub;   /* borrowed: for what a record shows; may be NULL */
};

int gate_new(const struct gate_order *, struct gate **ret);
/* The notify descriptor, now the gate's, once there is one. */
void gate_hear(struct gate *, int notify_fd);
void gate_free(struct gate *);

int gate_fd(const struct gate *);
/* Back-pressure: while false, do not poll gate_fd for POLLIN. */
bool gate_wants(const struct gate *);
/* poll said the notify descriptor is readable.  -EPIPE: the cell is gone. */
int gate_notified(struct gate *);
/*
 * SIGCHLD: reap everything that waitpid(-1, __WALL|WNOHANG) has.  The end of
 * what is not only the gate's (the cell's PID 1, a helper, any process whose
 * exec was under way) goes to other(), which ignores what it does not know.
 */
typedef void gate_reaped_fn(void *arg, pid_t, int status);
int gate_reap(struct gate *, gate_reaped_fn *other, void *arg);
/* Milliseconds until gate_tick wants to be called, -1 for never. */
int gate_wait_ms(const struct gate *);
/* Held notifications whose caller is gone are dropped; waiting ones judged. */
void gate_tick(struct gate *);
/* Execs under way or held: the leash reaps until this is 0 at the end. */
size_t gate_busy(const struct gate *);

struct gate_counts {
	uint64_t allowed, denied, killed, failed;
};
struct gate_counts gate_counts(const struct gate *);

#endif
