/*
 * One leash and the server behind it, as the supervisor sees them
 * (leash/leash.h is what they say to each other).
 */
#ifndef KENNEL_SUPERVISOR_CHILD_H
#define KENNEL_SUPERVISOR_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "leash/leash.h"
#include "policy/sealed/policy.h"
#include "shim/base/loop.h"
#include "shim/base/wire.h"

struct child_order {
	const char *leash; /* path of kennel-leash */
	const struct policy *policy;
	const struct sealed_server *server;
	int policy_fd;        /* sealed memfd; borrowed */
	int recorder_fd;      /* borrowed: the leash's own connection */
	int log_dir_fd;       /* borrowed: for the server's stderr */
	const char *run_at;   /* KENNEL_RUN_AT=folder of the keeper's socket; or NULL */
	const char *trace_at; /* KENNEL_TRACE_AT=folder of the key of traces; or NULL */
	const char *session;  /* 16 hex digits */
	enum leash_mode mode;
	char *const *argv; /* LEASH_EXEC, LEASH_EXPLAIN: program and arguments */
	int argc;
	/* how manifests approve the use of each of the server's secrets (enum
	 * sealed_approve); NULL: they say nothing */
	const uint32_t *approve;
};

struct child {
	pid_t pid; /* the leash */
	int channel;
	int server_in; /* taken by the session: then -1 */
	int server_out;
	int server_err; /* LEASH_EXEC only, else -1 */
	char lacks[LEASH_TEXT_MAX];
};

/*
 * Start a leash, which then waits for its order: of this one only the program,
 * the policy and the server count yet.  0 or -errno.  The named secrets'
 * variables leave this process's environment here.
 */
int child_spawn(const struct child_order *, struct child *ret);
/*
 * Give the order and wait, at most wait_ms, until the server runs.  0.
 * -ECONNREFUSED: refused; *ret_status is the exit status for kennel and why
 * says what and where.  -ETIMEDOUT, -EPIPE: likewise with a reason of ours.
 * The leash has ended where it is not 0.
 */
int child_launch(const struct child_order *, int wait_ms, struct child *, int *ret_status,
    char why[LEASH_TEXT_MAX]);
struct child_news;
/*
 * The same in two steps, for a start that may ask: the order is given, and then
 * each word of the leash's is taken when its channel is readable.  child_first: 0
 * as child_launch; 1: it asks (LEASH_USE, in *ret_news, as child_answer gives it);
 * -EAGAIN.  Neither frees the child.
 */
int child_order(const struct child_order *, struct child *);
int child_first(const struct child_order *, struct child *, struct child_news *ret_news,
    int *ret_status, char why[LEASH_TEXT_MAX]);
int child_signal(struct child *, int sig);
int child_end(struct child *, uint32_t grace_ms);
/* A new connection for a leash that lost its recorder; fd is not closed. */
int child_recorder(struct child *, int fd);

/* What a running leash has to say when its channel is readable.  Texts are valid
 * until the next child_answer, of whatever child. */
#define CHILD_WORDS_MAX 4096

struct child_ask { /* LEASH_ASK */
	uint32_t timeout_ms;
	struct span digest; /* LEASH_DIGEST_LEN */
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

struct child_denied { /* LEASH_DENIED */
	const char *program, *rule, *because, *instead, *reason;
};

struct child_judged { /* LEASH_JUDGED */
	const char *verdict, *program, *caller, *rule, *reason;
	uint32_t lost; /* so many before it were not told */
	uint32_t chain_n;
	const char *const *chain; /* "PID PROGRAM" */
	bool cut;
	uint32_t argc;
	const char *const *argv;
};

struct child_news {
	/* EXITED NEEDS_RECORDER ASK USE WITHDRAWN DENIED JUDGED */
	enum leash_message type;
	int status; /* EXITED: wait status of the server */
	uint64_t scrubbed, denied;
	uint32_t number; /* ASK, USE, WITHDRAWN */
	struct child_ask ask;
	struct child_use use;
	struct child_denied refusal;
	struct child_judged judged;
};
/* Does not wait.  0; -EAGAIN; -EPIPE: the leash is gone; -EBADMSG. */
int child_answer(struct child *, struct child_news *ret);
/* What a person said of LEASH_ASK `number`; does not wait: -EAGAIN. */
int child_said(struct child *, uint32_t number, enum leash_answer, const char *who);
/* Close the channel (the leash kills the cell) and reap the leash. */
void child_free(struct child *);

#endif
