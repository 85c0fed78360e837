/*
 * The exec gate's own memory: private to leash/exec.
 *
 *	held	received, not let go: its thread group has an exec under way, or
 *		the log is late
 *	call	the words of the one call being judged, copied once (scratch)
 *	waiting	a person is being asked (ask.c)
 *	flight	a thread that was told to go on and is traced until its exec
 *		has stopped, failed, or the thread is dead
 */
#ifndef KENNEL_LEASH_EXEC_FLIGHT_H
#define KENNEL_LEASH_EXEC_FLIGHT_H

#include <limits.h>
#include <linux/seccomp.h>

#include "leash/exec/exec.h"
#include "shim/base/buf.h"

#define GATE_TICK_MS   10
#define ASK_TICK_MS    100 /* while only questions wait */
#define ASK_DIGEST_LEN 32
/* So long execs wait for a log that is late (report_late) but not gone; where
 * nobody has looked for a second, it counts anew. */
#define GATE_LOG_WAIT_NS (5000 * LOOP_MS)
#define GATE_LOG_SEEN_NS (1000 * LOOP_MS)
/* What each refusal costs of the time in which it is paid for; a search along
 * PATH meets many absent files.  Who owes more than this waits. */
#define GATE_REFUSAL_NS        10000000ull
#define GATE_ABSENT_NS         1000000ull
#define GATE_REFUSALS_BURST_NS (2000 * GATE_REFUSAL_NS)
/* Room in the report for what is under way, and for how the server ended. */
#define GATE_RECORDS_KEPT (GATE_FLIGHTS_MAX + 64)
#define CALL_PAGES        16   /* the caller's pages kept while one call is copied */
#define CALL_PAGE_LEN     4096 /* the least page of any kernel: never faults inside */

struct call_page {
	uint64_t at;
	bool used;
	uint8_t data[CALL_PAGE_LEN];
};

struct kin_level {
	pid_t pid;
	uint32_t image; /* as a policy_exec_ask has it */
};

/* Who started who asks, and so on; the nearest first. */
struct kin_chain {
	size_t n;
	bool more; /* there are others above */
	struct kin_level level[GATE_CHAIN_MAX];
};

/*
 * Our own copy of what a call says.  It may hold secrets (an environment):
 * not dumped, not in children, wiped by call_wipe() after each use.
 */
struct call {
	uint64_t id;
	pid_t tid;
	int dirfd;
	unsigned int flags; /* AT_* of execveat */
	uint64_t path_at, argv_at, envp_at;
	size_t argc, envc;
	uint32_t caller; /* image that asks, as a policy_exec_ask has it */
	struct kin_chain chain;
	size_t argv_len; /* text[0..argv_len): the arguments, each with NUL */
	size_t text_len; /* in use: arguments, then environment */
	char path[PATH_MAX];
	const char *argv[GATE_ARGS_MAX + 1];
	const char *envp[GATE_ARGS_MAX + 1];
	char text[GATE_COPY_MAX];
	struct call_page page[CALL_PAGES];
};

struct held {
	struct seccomp_notif notif;
	pid_t tgid;
	bool for_log; /* judged before; the log was late */
};

/* What a person saw; nothing of it may be otherwise at the exec stop. */
struct asked {
	bool on; /* else: nobody was asked */
	uint8_t digest[ASK_DIGEST_LEN];
	uint8_t rest[ASK_DIGEST_LEN]; /* of the environment and the folder */
};

struct waiting {
	struct seccomp_notif notif;
	pid_t tgid;
	uint32_t number;
	enum gate_answer answer; /* 0: none yet */
	char who[GATE_WHO_MAX];
	uint64_t since, until; /* loop_now() */
	struct asked asked;
	const struct sealed_exec *row;
	const char *program;
};

/* A yes whose exec has failed. */
struct yes {
	pid_t tgid;
	struct asked asked;
	uint64_t until;
};

struct flight {
	pid_t tid;
	pid_t tgid;
	const struct sealed_exec *row; /* what the stop must find */
	uint32_t caller;               /* who asked for it */
	char *argv;                    /* the arguments as judged */
	size_t argv_len;
	const char *script; /* behind them: the path of the call, of a script */
	unsigned int ticks; /* how long others have waited for it */
	struct asked asked; /* a person's yes, used up at the stop */
	bool over;          /* only waits to be reaped: holds nobody up */
	bool parked;        /* its thread waits for a person, or for the log: the same */
};

struct image_key { /* which file; kept alive by image_fd */
	dev_t dev;
	ino_t ino;
	bool known;
};

struct verdict {
	int error;   /* what the caller gets, 0: go on */
	bool absent; /* leads to no file: recorded, not counted */
	enum sealed_verdict verdict;
	const struct sealed_exec *row;
	const char *program;
	const char *reason;  /* NULL: the rule says it all */
	const char *differs; /* the variable that refused it, in the call's copy */
	/* of a question: */
	const uint8_t *digest;
	const char *outcome, *who; /* NULL, "": nothing was said */
	uint64_t held_ns;
};

struct gate {
	struct gate_order order;
	struct image_key *image; /* one per row of the server's images */
	struct pin *pin;         /* the same; NULL where none is pinned */
	struct kinship *kin;
	struct place *place; /* one per folder that a row's `in` names */
	size_t place_n;
	int root_fd; /* "/" of the cell, -1 before the first call */
	struct call *call;
	struct flight *flight; /* GATE_FLIGHTS_MAX */
	size_t flight_n;
	struct held *held; /* GATE_FLIGHTS_MAX, oldest first */
	size_t held_n;
	struct gate_counts counts;
	uint64_t refused_until; /* loop_now() at which all refusals are paid for */
	struct event event;
	struct buf shown; /* a word of the call, scrubbed for the record */

	struct waiting *waiting; /* GATE_QUESTIONS_MAX */
	size_t waiting_n;
	struct yes *yes; /* GATE_QUESTIONS_MAX, oldest first */
	size_t yes_n;
	uint32_t ask_number; /* given last */
	uint64_t ask_ns, ask_look;
	uint64_t log_wait_ns;
	uint64_t log_since,
	    log_seen;         /* loop_now() at which it was late, first and last */
	uint64_t asked_until; /* loop_now() at which all questions are paid for */
	uint64_t told_until;  /* the same, of refusals that the supervisor heard of */
	uint8_t ask_salt[ASK_DIGEST_LEN];
	char asked_folder[PATH_MAX]; /* as the newest digest has it */
	struct buf words;            /* what is shown */
};

/* ---- copy.c -------------------------------------------------------------- */
int call_new(struct call **ret);
void call_free(struct call *);
void call_begin(struct call *, const struct seccomp_notif *);
/* 0, -EFAULT, -ENAMETOOLONG. */
int call_copy_path(struct call *);
/* 0, -EFAULT, -E2BIG. */
int call_copy_words(struct call *);
/* The same words as a process at its exec stop has them. */
int call_read_process(struct call *, pid_t);
void call_wipe(struct call *);

/* ---- image.c ------------------------------------------------------------- */
int image_load(struct gate *);
/* The file that the call asks for, as the caller sees it; a negative errno is
 * what the caller gets. */
int image_asked(struct gate *, const struct call *, struct image_key *ret);
/* The file that a process runs. */
int image_mapped(pid_t, struct image_key *ret);
bool image_same(const struct image_key *, const struct image_key *);

/* ---- caller.c ------------------------------------------------------------ */
int caller_load(struct gate *);
/* The folders of `in`, below the cell's root, before anything has run there. */
void caller_folders(struct gate *);
/* Who asks: into the call. */
void caller_of(const struct gate *, struct call *);
/* The image that a process runs, as a policy_exec_ask has it. */
uint32_t caller_image(const struct gate *, pid_t);
/* Where a thread works: its folder in the cell, into text; NULL: not known, or it
 * only looks like one that a row names. */
const char *caller_place(const struct gate *, pid_t, char *text, size_t cap);

/* ---- kin.c --------------------------------------------------------------- */
int kin_new(struct kinship **ret);
void kin_free(struct kinship *);
/* Who is above the caller, into the call: best effort, nothing where it is not
 * known. */
void kin_of(struct gate *, struct call *);
/* A process runs another image now. */
void kin_exec(struct gate *, pid_t, uint32_t image);
/* One level of the chain: "PID PROGRAM". */
const char *kin_text(
    const struct gate *, const struct call *, size_t i, char *text, size_t cap);

/* ---- pin.c --------------------------------------------------------------- */
int pin_load(struct gate *);
/* Is the file of this image (from the server's first) still what was pinned?
 * True where nothing is. */
bool pin_holds(const struct gate *, size_t image);

/* ---- grant.c ------------------------------------------------------------- */
void grant_judge(struct gate *, struct call *, struct verdict *ret);
/* At the exec stop, words read: a script's interpreter was told the path of the
 * call.  True: it is or names the granted one, which then stands in its place. */
bool grant_script(const struct gate *, const struct flight *, struct call *);
/* At the exec stop, after image and words: NULL, or what is not as it was judged. */
const char *grant_stands(struct gate *, const struct flight *, struct call *);
/* Hand it to the log.  -ENOBUFS: the act must not happen. */
int grant_record(
    struct gate *, pid_t, const struct call *, const struct verdict *, const char *name);

/* ---- explain.c ----------------------------------------------------------- */
void explain_judged(
    struct gate *, const struct call *, const struct verdict *, const char *name);

/* ---- stop.c -------------------------------------------------------------- */
struct flight *flight_of_thread(struct gate *, pid_t tid);
bool flight_in_group(const struct gate *, pid_t tgid);
void flight_drop(struct gate *, struct flight *);
/* Trace the caller, then let it go on.  Again: the flight that it has.  Asked:
 * what a person agreed to, or NULL. */
int flight_start(struct gate *, const struct call *, pid_t tgid,
    const struct sealed_exec *, struct flight *again, const struct asked *asked);
/* Leaders that ended alone hold up nobody. */
void flight_tick(struct gate *, pid_t tgid);

/* ---- ask.c --------------------------------------------------------------- */
int ask_init(struct gate *);
void ask_free(struct gate *);
/* The call at hand was judged "ask". */
void ask_person(struct gate *, const struct seccomp_notif *, struct verdict *, pid_t tgid,
    struct flight *again);
/* What was answered goes on, where nothing else of its group is under way. */
void ask_settle(struct gate *);
/* Questions whose callers are gone are withdrawn; silence is no. */
void ask_tick(struct gate *);
/* An exec that was agreed to has failed. */
void ask_keep(struct gate *, pid_t tgid, const struct asked *);
int ask_rest(const struct call *, pid_t, uint8_t ret[ASK_DIGEST_LEN]);

/* ---- notify.c ------------------------------------------------------------ */
bool notify_valid(const struct gate *, uint64_t id);
int notify_reply(const struct gate *, uint64_t id, int error);
/* Who talks to the agent hears that this was refused, before the caller does. */
void verdict_tell(struct gate *, const struct verdict *);
/* Told no: recorded, counted, answered. */
void verdict_deny(struct gate *, const struct call *, const struct verdict *);
/* Recorded and let go, or denied after all. */
void verdict_allow(struct gate *, const struct call *, struct verdict *, pid_t tgid,
    struct flight *again, const struct asked *);
/*
 * Must what is granted wait for the log?  A recorder that is starved for a while is
 * no reason to refuse it; one that is gone, or that has stood for longer than
 * GATE_LOG_WAIT_NS, is.
 */
bool log_waits(struct gate *);
/* Judge what is held and need not wait any more. */
void held_run(struct gate *);

#endif
