/*
 * One server on its leash: what this process holds.  Private to the leash's
 * own files (main, dispatch, launch, stdio); rooms get what they need of it.
 */
#ifndef KENNEL_LEASH_SERVER_H
#define KENNEL_LEASH_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "leash/cell/cell.h"
#include "leash/exec/exec.h"
#include "leash/leash.h"
#include "leash/audit/writer.h"
#include "leash/scrub/scrub.h"
#include "leash/vault/fingerprint.h"
#include "leash/vault/vault.h"
#include "policy/sealed/policy.h"
#include "shim/base/buf.h"
#include "shim/base/loop.h"

/* One pipe of the server: read, scrub, pass on.  Armed for reading only while
 * nothing waits to be written. */
/* Where in a character of UTF-8 the log file ends. */
struct printable {
	uint8_t before[2];
	uint8_t need; /* bytes that are still to come */
};

struct pump {
	struct leash *leash;
	int in;  /* read end of the server's pipe */
	int out; /* to the supervisor, or the log file */
	int in_slot, out_slot;
	struct scrub_stream *scrub;
	struct buf held; /* scrubbed, not yet written */
	size_t held_off; /* of held, already written */
	bool to_log;     /* out is the stderr log: rotate, make printable */
	struct printable printable;
	bool line_ends;   /* a newline ends a message: hold nothing behind it */
	uint64_t log_len; /* bytes in the log file so far */
	uint64_t written; /* bytes passed on in all */
};

/* How far a server has come.  dispatch.c says which message may come when. */
enum leash_phase { PHASE_NEW, PHASE_RUNNING, PHASE_ENDING, PHASE_GONE };

struct leash {
	enum leash_phase phase;
	enum leash_mode mode;
	bool explain; /* each exec is told */
	char session[17];
	char *memory;      /* the launch message, kept for its strings */
	const char **argv; /* what to start; NULL-terminated */
	size_t argc;
	const char *path; /* the program as granted */

	struct loop loop;
	int channel, channel_slot;
	int signals, signals_slot;
	int log_dir;

	int policy_fd;
	struct policy policy;
	const struct sealed_server *server;

	struct report *report;
	int report_slot, report_timer;

	struct vault *vault;
	uint32_t approve[LEASH_SECRETS_MAX]; /* as manifests have it */
	size_t approve_n;                    /* of all secrets, or 0 */
	const struct secret *secret[LEASH_SECRETS_MAX];
	uint64_t scrubbed[LEASH_SECRETS_MAX]; /* as last reported */
	uint64_t shaped[SCRUB_SHAPES_MAX];    /* the same, by shape */
	size_t secret_n;
	char trace[LEASH_SECRETS_MAX][TRACE_CAP];
	struct env *env;
	struct scrub *scrub;
	int scrub_timer;

	struct cell cell;
	bool cell_up;
	int shim_slot, pidfd_slot;
	int grace_timer;
	struct gate *gate;
	int gate_slot;
	struct pump out, err;

	/* the server's ends and the supervisor's ends, until handed over */
	int server_in[2], server_out[2], server_err[2], pass_out[2], pass_err[2];

	bool ordered;     /* somebody wants the end: it did not come by itself */
	uint64_t drained; /* bytes passed on when it was last looked */
	bool exec_failed; /* the shim could not start the program */
	int exec_errno;
	bool pid1_reaped;
	bool gate_turn, signal_turn; /* what this turn of the loop was about */
	int status;                  /* wait status of the server */
};

/* launch.c: from the launch message to a server that waits for SHIM_GO.  On
 * failure *ret_status is kennel's exit status and why says what to mend. */
int launch(struct leash *, int *ret_status, char why[LEASH_TEXT_MAX]);
/* Let the server run: nothing of this can be taken back. */
int launch_go(struct leash *);

/* uses.c: a person agrees to the use of each secret that wants it; blocks until
 * all have been answered.  0, or the launch is over: *ret_status and why. */
int uses_ask(struct leash *, int *ret_status, char why[LEASH_TEXT_MAX]);

/* stdio.c */
int pump_start(struct pump *, struct leash *, int in, int out, bool to_log);
bool pump_done(const struct pump *);
void pump_free(struct pump *);
int pump_open_log(struct leash *, int *ret_fd, uint64_t *ret_len);
/* The out end is gone: read on and throw away, the server must not stall. */

/* dispatch.c */
extern const struct gate_person dispatch_person; /* its arg is the leash */
int dispatch_add(struct leash *);
void dispatch_refuse(struct leash *, int status, const char *why);
int dispatch_started(struct leash *);
void dispatch_exited(struct leash *);
/* Take the launch message; blocks.  0 or -errno. */
int dispatch_launch(struct leash *);

/* main.c */
/* Before the loop: the supervisor's end, or its next word, ends this process at
 * once.  -EPIPE: it has gone already. */
int leash_die_with_supervisor(struct leash *, bool yes);
void leash_end(struct leash *, const char *why); /* kill now, then drain */
int leash_watch_report(struct leash *);
/* From the server's standard output and error to where they go. */
int leash_watch_output(struct leash *);

#endif
