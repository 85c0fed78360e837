/*
 * The supervisor's interface to one leash and its server (leash/leash.h defines the
 * protocol).
 */
#ifndef KENNEL_SUPERVISOR_LAUNCH_LEASH_CLIENT_H
#define KENNEL_SUPERVISOR_LAUNCH_LEASH_CLIENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "leash/leash.h"
#include "policy/sealed/sealed.h"
#include "shim/base/cause.h"
#include "shim/base/loop.h"
#include "shim/base/wire.h"

/* What the source of a secret has. */
struct child_resolved {
	enum leash_resolved state; /* 0: not reported */
	int status;                /* RESOLVED_STATUS: of its program */
	char why[LEASH_RESOLVED_WHY];
};

/* What the server gets in place of its secrets. */
struct child_placeholders {
	uint8_t seed[LEASH_SEED_LEN];
	const char *const *real; /* variables that get their values all the same */
	size_t real_n;
};
/* Draws the seed: 0 or -errno. */
int child_placeholders_draw(struct child_placeholders *);

struct child_order {
	const char *leash; /* path of kennel-leash */
	const struct policy *policy;
	const struct sealed_server *server;
	int policy_fd;        /* sealed memfd; borrowed */
	int recorder_fd;      /* borrowed: the leash's own connection */
	int log_dir_fd;       /* borrowed: for the server's stderr */
	const char *run_at;   /* KENNEL_RUN_AT=DIR of the keeper's socket; or NULL */
	const char *trace_at; /* KENNEL_TRACE_AT=DIR of the fingerprint key; or NULL */
	const char *session;  /* 16 hex digits */
	enum leash_mode mode;
	/* LEASH_RUN: above 0, the server is learned (LEASH_LEARN), and this socket gets each
	 * JUDGED, UNREACHED and NAMED.  Borrowed; blocks. */
	int copy;
	char *const
	    *argv; /* program and arguments; LEASH_RUN: none for the policy's `run` */
	int argc;
	/* LEASH_LIVE: where the results go (of LEASH_RESOLVED_MAX); else NULL */
	struct child_resolved *resolved;
	/* the approval that manifests require for each of the server's secrets (enum
	 * sealed_approve); NULL: none */
	const uint32_t *approve;
	/* the names of their token formats, or NULL; used with placeholders */
	const char *const *format;
	/* NULL: the server gets its secrets. LEASH_LEARN: never NULL */
	const struct child_placeholders *placeholders;
	/* where the cause of a refusal goes, which is 0 before; NULL: not needed */
	struct leash_refused *refused;
	bool stale; /* a grant to another policy is -ESTALE, and is not recorded */
};

struct child {
	pid_t pid; /* the leash */
	int channel;
	int server_in; /* taken by the session: then -1 */
	int server_out;
	int server_err; /* LEASH_EXEC only, else -1 */
	int copy;       /* 0: none; a socket that gets what a learned server wants */
	char lacks[LEASH_TEXT_MAX];
};

#define CHILD_NONE \
	((struct child){.pid = -1, \
	    .channel = -1, \
	    .server_in = -1, \
	    .server_out = -1, \
	    .server_err = -1})

/*
 * Starts a leash, which then waits for its order; until then only the program, the
 * policy and the server of the order matter. Returns 0 or -errno. Removes the named
 * secrets' variables from this process's environment.
 */
int child_spawn(const struct child_order *, struct child *ret);
/*
 * Sends the order and waits, at most wait_ms, until the server runs. Returns 0.
 * -ECONNREFUSED: refused; *ret_status is kennel's exit status and why names the
 * reason and the step. -ESTALE: the same, if the order has `stale`. -ETIMEDOUT, -EPIPE: the
 * same with a reason of ours. If it is
 * not 0, the leash has ended.
 */
int child_launch(const struct child_order *, int wait_ms, struct child *, int *ret_status,
    char why[LEASH_TEXT_MAX]);
struct child_news;
/*
 * The same in two steps, for a start that may need approvals: send the order, then
 * handle each message of the leash when its channel is readable. child_first: 0 as
 * for child_launch; 1: an approval request (LEASH_USE, in *ret_news, as from
 * child_answer); -EAGAIN. Neither frees the child.
 */
int child_order(const struct child_order *, struct child *);
int child_first(const struct child_order *, struct child *, struct child_news *ret_news,
    int *ret_status, char why[LEASH_TEXT_MAX]);
int child_signal(struct child *, int sig);
int child_end(struct child *, uint32_t grace_ms);
/* Sends a new connection to a leash that lost its recorder; does not close fd. */
int child_recorder(struct child *, int fd);

/* A message of a running leash, received when its channel is readable. Texts are
 * valid until the next child_answer, for any child. */
#define CHILD_WORDS_MAX 4096

struct child_ask {                   /* LEASH_ASK */
	uint32_t timeout_ms, factor; /* enum sealed_factor */
	struct span digest;          /* LEASH_DIGEST_LEN */
	const char *program, *cwd, *rule, *because;
	bool cut;
	uint32_t argc, envc;
	const char *const *argv, *const *env; /* names only */
};

struct child_use {                    /* LEASH_USE */
	uint32_t timeout_ms, approve; /* enum sealed_approve */
	struct span digest;           /* LEASH_DIGEST_LEN */
	const char *name, *source, *reference, *rule, *signers;
};

struct child_ask_net { /* LEASH_ASK_NET */
	uint32_t timeout_ms, factor, port;
	struct span digest; /* LEASH_DIGEST_LEN */
	const char *name, *rule, *because;
};

struct child_denied { /* LEASH_DENIED */
	const char *program, *rule, *because, *instead, *reason;
};

struct child_unreached {  /* LEASH_UNREACHED */
	const char *name; /* "": the network as a whole */
	uint32_t port;    /* 0: a name lookup */
	const char *rule, *because, *instead, *reason, *hint;
	bool address; /* the host has only addresses that the grant does not include */
	bool failed;  /* it is granted, and the network did not reach it */
};

struct child_judged { /* LEASH_JUDGED */
	const char *verdict, *program, *caller, *rule, *reason;
	uint32_t lost; /* number of earlier ones that were not reported */
	uint32_t chain_n;
	const char *const *chain; /* "PID PROGRAM" */
	bool cut;
	uint32_t argc;
	const char *const *argv;
};

struct child_named {  /* LEASH_NAMED */
	uint32_t use; /* enum leash_named */
	const char *path, *program;
};

struct child_news {
	/* EXITED NEEDS_RECORDER ASK ASK_NET USE WITHDRAWN DENIED JUDGED ENDS
	 * UNREACHED NAMED */
	enum leash_message type;
	int status; /* EXITED: wait status of the server */
	uint64_t scrubbed, denied;
	const char *lost; /* EXITED: how the cell's PID 1 ended by itself, or "" */
	const char *last; /* EXITED: the end of the server's standard error */
	uint32_t number;  /* ASK, ASK_NET, USE, WITHDRAWN */
	struct child_ask ask;
	struct child_ask_net ask_net;
	struct child_use use;
	struct child_denied refusal;
	struct child_unreached unreached;
	struct child_judged judged;
	struct child_named named;
	const char *reason, *text; /* ENDS */
};
/* leash_message.c: the rest of a packet of this type.  0 or -EBADMSG. */
int child_read(struct wire_in *, uint32_t type, struct child_news *ret);
/* Does not wait. Returns 0; -EAGAIN; -EPIPE: the leash is gone; -EBADMSG. */
int child_answer(struct child *, struct child_news *ret);
/* Sends the user's answer to the approval `number`; does not wait: -EAGAIN. */
int child_said(struct child *, uint32_t number, enum leash_answer, const char *who);
/*
 * The channel closed without LEASH_EXITED: reaps the leash and writes how it ended to
 * why. ret_status is its wait status; a leash that does not exit is killed.
 */
void child_lost(struct child *, char why[CAUSE_MAX], int *ret_status);
/* Closes the channel (the leash then kills the cell) and reaps the leash. */
void child_free(struct child *);

/* Maps the server's wait status to kennel's exit status. */
int exit_status(int wait_status);

#endif
