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
 *	pin.c		does a pinned file still hold what it held
 *	caller.c	who asks, and in which folder
 *	kin.c		who started who asks
 *	grant.c		a policy answer for (image, argv, environment)
 *	ask.c		execs that wait for a person
 *	explain.c	each exec in words, where somebody wants to know
 */
#ifndef KENNEL_LEASH_EXEC_EXEC_H
#define KENNEL_LEASH_EXEC_EXEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "leash/audit/writer.h"
#include "policy/sealed/policy.h"

#define GATE_FLIGHTS_MAX 1024         /* judged execs under way; more wait */
#define GATE_ARGS_MAX    4096         /* arguments of one exec; more: refused */
#define GATE_CHAIN_MAX   16           /* processes above a caller that are told */
#define GATE_COPY_MAX    (256u << 10) /* bytes of argv and environment */

struct env;
struct gate;
struct scrub;

/* ---- a person ------------------------------------------------------------- */

#define GATE_QUESTIONS_MAX 64 /* that wait at one time; one more is refused */
#define GATE_WHO_MAX       64

enum gate_answer {
	GATE_ONCE = 1, /* this exec; used up where it takes place */
	GATE_SESSION,  /* and the supervisor will say so again */
	GATE_DENY,
	GATE_NOBODY, /* silence is no */
};

/* What is asked; the words are without secrets and valid within the call. */
struct gate_question {
	uint32_t number; /* from 1, never again */
	uint64_t timeout_ms;
	const uint8_t *digest; /* REPORT_DIGEST_LEN: of all that would be done */
	const char *program;   /* as granted */
	const char *cwd;       /* as its caller calls it */
	const char *rule, *because;
	/* argc arguments, then the names of envc variables that have changed,
	 * each with its NUL */
	const char *words;
	size_t words_len, argc, envc;
	bool cut; /* there are more of them */
};

/* An exec that was refused, for who talks to the agent. */
struct gate_refusal {
	const char *program; /* without secrets */
	const char *rule, *because, *instead;
	const char *reason;
};

/* An exec as it was judged, for a person who wants to know; without secrets. */
struct gate_judged {
	const char *verdict, *program;
	const char *caller; /* "": not known */
	const char *chain;  /* chain_n times "PID PROGRAM", each with its NUL */
	size_t chain_n;
	const char *rule, *reason;
	const char *words; /* argc arguments, each with its NUL */
	size_t argc;
	bool cut; /* there are more of them */
};

/* Where questions go.  None of these may block. */
struct gate_person {
	/* 0; the answer comes by gate_answer, never from here. */
	int (*ask)(void *arg, const struct gate_question *);
	void (*withdrawn)(void *arg, uint32_t number);
	/* before the caller is told; NULL: nobody wants to know */
	void (*refused)(void *arg, const struct gate_refusal *);
	/* each exec, where the order says so */
	void (*judged)(void *arg, const struct gate_judged *);
};

struct gate_order {
	const struct policy *policy;
	const struct sealed_server *server;
	const int *image_fd; /* one per row of the server's images */
	size_t image_n;
	int notify_fd;         /* now the gate's; -1: gate_hear brings it */
	const struct env *env; /* borrowed: what the server started with */
	struct report *report; /* borrowed; NULL in tests only */
	struct scrub *scrub;   /* borrowed: for what a record shows; may be NULL */
	const struct gate_person *person; /* NULL: what is asked about is refused */
	void *person_arg;
	bool explain; /* tell the person of each exec */
};

int gate_new(const struct gate_order *, struct gate **ret);
/* The notify descriptor, now the gate's, once there is one. */
void gate_hear(struct gate *, int notify_fd);
void gate_free(struct gate *);

int gate_fd(const struct gate *);
/* Back-pressure: while false, do not poll gate_fd for POLLIN. */
bool gate_wants(const struct gate *);
/* What poll said of the notify descriptor, just now.  -EPIPE: the cell is gone. */
int gate_notified(struct gate *, short revents);
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
/* What a person said of question `number`; who is for the log.  -ENOENT: it
 * waits no more. */
int gate_answer(struct gate *, uint32_t number, enum gate_answer, const char *who);
/* Execs under way or held: the leash reaps until this is 0 at the end. */
size_t gate_busy(const struct gate *);

struct gate_counts {
	uint64_t allowed, denied, killed, failed;
};
struct gate_counts gate_counts(const struct gate *);

#endif
