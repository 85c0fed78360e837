/*
 * The exec gate: decides which programs run in the cell.  Every execve and execveat
 * in the cell waits for this room.  An allowed exec is checked again at the exec
 * stop, on the image that is really mapped, before its first instruction.
 *
 * Process: the leash.  Trusts its own copies only; never reads the caller's memory
 * twice.  Must never block: an attacker who can make one call here wait can hang
 * all others.
 *
 *	notify.c	receives, holds, decides, replies
 *	copy_args.c	copies the arguments of a call, once
 *	stop.c		seizes the caller, compares at the exec stop, continues or kills
 *	image.c		which granted file a descriptor refers to
 *	digest_pin.c	whether a pinned file is unchanged
 *	caller.c	which image makes the call, and in which directory
 *	ancestry.c	the processes above the caller
 *	decide.c	the policy's answer for (image, argv, environment)
 *	approval.c	execs that wait for approval
 *	explain.c	reports each exec and its verdict, if requested
 *	named.c		reports each file that is named, if requested
 */
#ifndef KENNEL_LEASH_EXEC_EXEC_H
#define KENNEL_LEASH_EXEC_EXEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "leash/audit/writer.h"
#include "policy/sealed/sealed.h"

#define GATE_FLIGHTS_MAX 1024         /* allowed execs in progress; more are held */
#define GATE_ARGS_MAX    4096         /* arguments of one exec; more is refused */
#define GATE_CHAIN_MAX   16           /* processes above the caller in a report */
#define GATE_COPY_MAX    (256u << 10) /* bytes of argv and environment */

struct env;
struct gate;
struct foreign;
struct foreign_list;
struct scrub;

/* ---- approval ------------------------------------------------------------- */

#define GATE_QUESTIONS_MAX 64 /* pending approvals; one more is refused */
#define GATE_WHO_MAX       64

enum gate_answer {
	GATE_ONCE = 1, /* this exec; used up when it takes place */
	GATE_SESSION,  /* the supervisor will repeat it for the same request */
	GATE_DENY,
	GATE_NOBODY, /* no answer: refused */
};

/* An approval request.  Its text is valid within the call. */
struct gate_question {
	uint32_t number; /* counts from 1, never reused */
	uint64_t timeout_ms;
	uint32_t factor;       /* enum sealed_factor */
	const uint8_t *digest; /* REPORT_DIGEST_LEN bytes: digest of the whole exec */
	const struct foreign *program; /* as in the grant */
	const struct foreign *cwd;     /* as the caller names it */
	const char *rule, *because;
	/* argc arguments, then the names of envc changed variables */
	const struct foreign_list *words;
	size_t argc, envc;
	bool cut; /* the list is not complete */
};

/* A refused exec, for the process that talks to the agent. */
struct gate_refusal {
	const struct foreign *program;
	const char *rule, *because, *instead;
	const char *reason;
};

/* An exec and its verdict, for `kennel exec --explain`. */
struct gate_judged {
	const char *verdict;
	const struct foreign *program;
	const char *caller; /* "": unknown */
	const char *chain;  /* chain_n times "PID PROGRAM", each with its NUL */
	size_t chain_n;
	const char *rule, *reason;
	const struct foreign_list *words; /* the arguments */
	bool cut;                         /* the list is not complete */
};

/* What a call does with the file that it names (leash/leash.h, enum leash_named). */
enum gate_use {
	GATE_LOOK = 1,
	GATE_READ,
	GATE_LIST,
	GATE_WRITE,
	GATE_CREATE,
	GATE_MAKEDIR,
	GATE_CONNECT,
};

/* Callbacks to the supervisor.  None of them may block. */
struct gate_person {
	/* Returns 0; the answer arrives by gate_answer, never from within this call. */
	int (*ask)(void *arg, const struct gate_question *);
	void (*withdrawn)(void *arg, uint32_t number);
	/* called before the caller gets its reply; may be NULL */
	void (*refused)(void *arg, const struct gate_refusal *);
	/* each exec, if order.explain is set */
	void (*judged)(void *arg, const struct gate_judged *);
	/* order.learn: a file is named, for the first time in this way; -EAGAIN: the call waits, and the report is repeated. */
	int (*named)(void *arg, enum gate_use, const struct foreign *path,
	    const struct foreign *program);
};

struct gate_order {
	const struct policy *policy;
	const struct sealed_server *server;
	const int *image_fd; /* one per row of the server's images */
	size_t image_n;
	int notify_fd;         /* owned by the gate; -1: gate_hear supplies it */
	const struct env *env; /* borrowed: the server's environment at launch */
	struct report *report; /* borrowed; NULL in tests only */
	struct scrub *scrub;   /* borrowed: redacts records; may be NULL */
	const struct gate_person *person; /* NULL: what needs approval is refused */
	void *person_arg;
	bool explain; /* report each exec to person */
	bool learn;   /* report each file that a call names (gate_file_calls) */
};

/* The system calls that name a file. With order.learn, the filter of the cell must
 * notify of them, too. */
const uint32_t *gate_file_calls(size_t *ret_n);

int gate_new(const struct gate_order *, struct gate **ret);
/* Supplies the notify descriptor once it exists; the gate then owns it. */
void gate_hear(struct gate *, int notify_fd);
void gate_free(struct gate *);

int gate_fd(const struct gate *);
/* Back-pressure: while false, do not poll gate_fd for POLLIN. */
bool gate_wants(const struct gate *);
/* Handles the notify descriptor's poll result.  -EPIPE: the cell is gone. */
int gate_notified(struct gate *, short revents);
/*
 * On SIGCHLD: reaps everything that waitpid(-1, __WALL|WNOHANG) returns.  The end
 * of a process that others may also wait for (the cell's PID 1, a helper, any
 * process with an exec in progress) is passed to other(), which ignores processes
 * it does not know.
 */
typedef void gate_reaped_fn(void *arg, pid_t, int status);
int gate_reap(struct gate *, gate_reaped_fn *other, void *arg);
/* Milliseconds until gate_tick must be called, -1 for never. */
int gate_wait_ms(const struct gate *);
/* Drops held notifications whose caller is gone; decides those that can go on. */
void gate_tick(struct gate *);
/* Delivers the answer to approval request `number`; who is for the log.  -ENOENT: it
 * is no longer pending. */
int gate_answer(struct gate *, uint32_t number, enum gate_answer, const char *who);
/* Execs in progress or held.  At the end the leash reaps until this is 0. */
size_t gate_busy(const struct gate *);

struct gate_counts {
	uint64_t allowed, denied, killed, failed;
};
struct gate_counts gate_counts(const struct gate *);

#endif
