/*
 * One server on its leash: the state of this process.  Private to the leash's own
 * files (channel, launch, main, network, output); other rooms get parts of it.
 */
#ifndef KENNEL_LEASH_PRIVATE_H
#define KENNEL_LEASH_PRIVATE_H

#include <stdbool.h>
#include <stdint.h>

#include "leash/audit/writer.h"
#include "leash/cell/cell.h"
#include "leash/exec/exec.h"
#include "leash/leash.h"
#include "leash/scrub/foreign.h"
#include "leash/vault/fingerprint.h"
#include "leash/vault/vault.h"
#include "policy/sealed/policy.h"
#include "shim/base/buf.h"
#include "shim/base/cause.h"
#include "shim/base/loop.h"

/* The decoder state of UTF-8 at the end of the log file. */
struct printable {
	uint8_t before[2];
	uint8_t need; /* bytes of the character still to come */
};

/* One pipe of the server: read, redact, pass on.  Polled for reading only while
 * nothing waits to be written. */
struct pump {
	struct leash *leash;
	int in;  /* read end of the server's pipe */
	int out; /* to the supervisor, or the log file */
	int in_slot, out_slot;
	struct scrub_stream *scrub;
	struct buf held; /* redacted, not yet written */
	size_t held_off; /* bytes of held already written */
	bool to_log;     /* out is the stderr log: rotate, make printable */
	struct printable printable;
	bool messages;    /* a newline ends a message: hold back nothing after it */
	int quiet_timer;  /* runs while held lines wait for the next, or -1 */
	uint64_t log_len; /* bytes in the log file so far */
	uint64_t written; /* bytes passed on in total */
	char last[LEASH_LAST_MAX + 1]; /* to_log: the newest bytes of the log */
	size_t last_n;
};

/* The phase of a server.  channel.c defines which message is valid in which. */
enum leash_phase { PHASE_NEW, PHASE_RUNNING, PHASE_ENDING, PHASE_GONE };

/* What the server gets in place of its secrets. */
struct leash_placeholders {
	bool made; /* it gets placeholders */
	uint8_t seed[LEASH_SEED_LEN];
	bool real[LEASH_SECRETS_MAX];                         /* but not of this one */
	const struct token_format *format[LEASH_SECRETS_MAX]; /* NULL: not known */
	size_t n;
	struct secret *read[LEASH_SECRETS_MAX]; /* values, wiped before the start */
	size_t read_n;
};

struct leash {
	enum leash_phase phase;
	enum leash_mode mode;
	bool explain;  /* report each exec */
	bool one_call; /* the server is for one call */
	bool login;    /* a person logs in at a remote server's issuer */
	bool learn;    /* report each named file, too */
	bool live;     /* query the sources of its secrets, and start no server */
	bool stale;    /* the supervisor handles LEASH_STALE */
	char session[17];
	char *memory;      /* the launch message, kept for its strings */
	const char **argv; /* what to start; NULL-terminated */
	bool given;        /* the supervisor named it: not the policy's `run` */
	size_t argc;
	const char *path;                 /* the program as granted */
	const struct sealed_exec *denied; /* the line that refused it, or NULL */
	struct leash_refused refused;     /* why the launch failed */

	struct loop loop;
	int channel, channel_slot;
	int signals, signals_slot;
	int log_dir;

	int policy_fd;
	int shim_image; /* sealed, for the cell; -errno: it cannot be read */
	struct policy policy;
	const struct sealed_server *server;

	struct report *report;
	int report_slot, report_timer;

	struct vault *vault;
	uint32_t approve[LEASH_SECRETS_MAX]; /* according to the manifests */
	size_t approve_n;                    /* number of secrets, or 0 */
	struct leash_placeholders placeholders;
	/* live: why its use was not approved, or NULL */
	const char *withheld[LEASH_SECRETS_MAX];
	const struct secret *secret[LEASH_SECRETS_MAX];
	uint64_t scrubbed[LEASH_SECRETS_MAX];   /* as last reported */
	uint64_t shaped[SCRUB_CREDENTIALS_MAX]; /* the same, by credential format */
	size_t secret_n;
	char fingerprint[LEASH_SECRETS_MAX][FINGERPRINT_CAP];
	struct env *env;
	struct scrub *scrub;
	int scrub_timer;

	struct cell cell;
	bool cell_up;
	const struct sealed_mount
	    *lost; /* the lost cover that caused the kill, or NULL */
	int mounts_slot, moves_slot;
	int shim_slot, pidfd_slot;
	int grace_timer;
	struct network *network; /* network.h; NULL: none yet */
	struct refresh *refresh; /* refresh.h; NULL: no `auth oauth2` with a login */
	struct gate *gate;
	int gate_slot;
	struct pump out, err;

	/* the server's ends and the supervisor's ends, until passed on */
	int server_in[2], server_out[2], server_err[2], pass_out[2], pass_err[2];

	bool ordered;     /* the end was requested: the server did not exit by itself */
	uint64_t drained; /* bytes passed on at the last check */
	bool exec_failed; /* the shim could not start the program */
	int exec_errno;
	bool pid1_reaped;
	int pid1_status;     /* its wait status, once it is reaped */
	bool shim_reported;  /* SHIM_EXITED: status is the server's own */
	const char *end_why; /* static: the first reason to kill the cell; NULL: none */
	bool gate_turn, signal_turn; /* which descriptors this turn of the loop served */
	int status;                  /* wait status of the server */
};

/* launch_secret.c: the launch fails because of this secret; the first cause counts. */
void launch_refused_by(struct leash *, enum leash_cause, const struct sealed_secret *);
/* launch.c: from the launch message to a server that waits for SHIM_GO.  On failure
 * *ret_status is kennel's exit status and why says how to fix it. */
int launch(struct leash *, int *ret_status, char why[LEASH_TEXT_MAX]);

/* launch_approval.c: requests approval for each secret that needs it; blocks until all
 * have been answered.  0, or the launch is over: *ret_status and why. */
int launch_approval_ask(struct leash *, int *ret_status, char why[LEASH_TEXT_MAX]);

/* live.c: queries the source of each secret, and reports what it has.  0, or
 * *ret_status and why. */
int live(struct leash *, int *ret_status, char why[LEASH_TEXT_MAX]);

/* output.c */
int pump_start(struct pump *, struct leash *, int in, int out, bool to_log);
bool pump_done(const struct pump *);
void pump_free(struct pump *);
int pump_open_log(struct leash *, int *ret_fd, uint64_t *ret_len);

/* channel.c */
extern const struct gate_person dispatch_person; /* its arg is the leash */
int dispatch_add(struct leash *);
/* type: LEASH_REFUSED, which is recorded first, or LEASH_STALE. */
void dispatch_refuse(
    struct leash *, enum leash_message type, int status, const char *why);
/* A refused connection, for the process that talks to the agent; "" for unknown
 * fields. */
struct dispatch_unreached {
	const struct foreign *name;
	uint32_t port; /* 0: unknown */
	const char *rule, *because, *instead;
	const struct foreign *reason;
	const struct foreign *hint; /* the line that would grant it */
	bool address; /* its addresses are not those that the grant includes */
	bool failed;  /* it is granted, and the network did not reach it */
};
void dispatch_unreached(struct leash *, const struct dispatch_unreached *);
/* A supervisor that does not read is not waited for: -EAGAIN; -EPIPE: it is gone. */
int dispatch_tell(struct leash *, const struct wire_out *);
/* A connection that a person is asked about; 0 or -errno: the question was not put. */
struct dispatch_ask_net {
	uint32_t number, timeout_ms, factor, port; /* factor: enum sealed_factor */
	const uint8_t *digest;                     /* LEASH_DIGEST_LEN */
	const struct foreign *name;
	const char *rule, *because;
};
int dispatch_ask_net(struct leash *, const struct dispatch_ask_net *);
void dispatch_withdrawn(struct leash *, uint32_t number);
/* channel_reports.c: a file was named; as gate_person.named. */
int dispatch_named(void *leash, enum gate_use, const struct foreign *path,
    const struct foreign *program);
int dispatch_started(struct leash *);
/* The leash itself ends the server: a stable reason, and the whole message. */
void dispatch_ends(struct leash *, const char *reason, const char *text);
void dispatch_exited(struct leash *);
/* Did PID 1 of the cell end without a report about the server, and without having been
 * killed by the leash?  why says how.  Else why is the reason for the kill, or "". */
bool dispatch_lost_shim(const struct leash *, char why[CAUSE_MAX]);
/* Lets the server run: the launch can no longer be undone. */
int dispatch_go(struct leash *);
/* Receives the launch message; blocks.  0 or -errno. */
int dispatch_launch(struct leash *);

/* cover.c: is each mount that covers a name of the host in place? */
#define COVER_LOST "cover-lost"
int cover_check(struct leash *); /* once, before the server runs; 0 or -errno */
void cover_warn_absent(const struct leash *);
int cover_watch(struct leash *);
void cover_unwatch(struct leash *);
void cover_record(const struct leash *, struct event *stop);

/* write_grants.c: which server may write path (its name and line; policy is a struct
 * policy), or NULL. */
const char *writes_find(void *policy, const char *path);

/* main.c */
#define SHIM_CLOSED \
	"the shim closed its channel" /* of leash_end: exit or protocol error */
/* Before the loop: the supervisor's end, or its next message, ends this process at
 * once. -EPIPE: it is gone already. */
int leash_die_with_supervisor(struct leash *, bool yes);
/* Kills the cell, then drains its output; why is a constant, for the record. */
void leash_end(struct leash *, const char *why);

/* Passes on the server's standard output and error. */
int leash_watch_output(struct leash *);

/* recorder_link.c */
/* Watches the present connection.  0 or -errno. */
int leash_watch_report(struct leash *);
/* Polls for writing only while there is something to write; call before each turn. */
void leash_poll_report(struct leash *);
/* Requests another connection; ends the server if none works in time. */
void leash_recorder_gone(struct leash *);
/* Records redactions since the last call; the second does so periodically. */
void leash_record_scrubs(struct leash *);
void leash_watch_scrubs(struct loop *, void *leash);

/* drain.c */
/* A message of the shim; its descriptor is the cell's channel. */
void leash_on_shim(struct loop *, int fd, short revents, void *leash);
/* The cell is gone: passes on its last output. */
void leash_drain(struct leash *);
void leash_record_stop(struct leash *);

#endif
