/*
 * The exec gate's state: private to leash/exec.
 *
 *	call		the arguments of the one call being decided, copied once (scratch)
 *	held_call	a call that waits for its thread group or for the recorder
 *	pending_exec	a call that waits for approval (approval.c)
 *	flight		a thread that was allowed to continue and is traced until its
 *			exec has stopped or failed, or the thread is dead
 *
 * Each has a state (enum exec_state), which changes only by the table in
 * exec_state.c.
 */
#ifndef KENNEL_LEASH_EXEC_PRIVATE_H
#define KENNEL_LEASH_EXEC_PRIVATE_H

#include <limits.h>
#include <linux/seccomp.h>

#include "leash/exec/exec.h"
#include "leash/exec/exec_state.h"
#include "leash/scrub/foreign.h"
#include "shim/base/buf.h"

#define GATE_TICK_MS   10
#define ASK_TICK_MS    100 /* while there are only pending approvals */
#define ASK_DIGEST_LEN 32
/* How long execs may wait for a slow but connected recorder (report_late).  Restarts
 * after GATE_LOG_SEEN_NS (one second) without a check. */
#define GATE_LOG_WAIT_NS (5000 * LOOP_MS)
#define GATE_LOG_SEEN_NS (1000 * LOOP_MS)
/* Rate limit: each refusal adds this much to the server's debt; above the burst the
 * next call waits.  An absent file adds less, because a search along PATH hits many. */
#define GATE_REFUSAL_NS        10000000ull
#define GATE_ABSENT_NS         1000000ull
#define GATE_REFUSALS_BURST_NS (2000 * GATE_REFUSAL_NS)
/* Room in the audit writer for execs in progress and for the server's end. */
#define GATE_RECORDS_KEPT (GATE_FLIGHTS_MAX + 64)
#define CALL_PAGES        16   /* pages of the caller kept while one call is copied */
#define CALL_PAGE_LEN     4096 /* bytes; the smallest page size, so no fault inside */

struct call_page {
	uint64_t at;
	uint8_t data[CALL_PAGE_LEN];
};

struct kin_level {
	pid_t pid;
	uint32_t image; /* as in struct policy_exec_ask */
};

/* The processes above the caller, nearest first. */
struct kin_chain {
	size_t n;
	bool more; /* the chain is longer */
	struct kin_level level[GATE_CHAIN_MAX];
};

/*
 * Our own copy of a call's arguments.  It may contain secrets (an environment):
 * excluded from core dumps and from children, wiped by call_wipe() after each use.
 */
struct call {
	uint64_t id;
	pid_t tid;
	int dirfd;
	unsigned int flags; /* AT_* of execveat */
	uint64_t path_at, argv_at, envp_at;
	size_t argc, envc;
	uint32_t caller; /* the calling image, as in struct policy_exec_ask */
	struct kin_chain chain;
	size_t argv_len; /* text[0..argv_len): the arguments, each with NUL */
	size_t text_len; /* bytes used: arguments, then environment */
	char path[PATH_MAX];
	const char *argv[GATE_ARGS_MAX + 1];
	const char *envp[GATE_ARGS_MAX + 1];
	char text[GATE_COPY_MAX];
	size_t page_n, page_next; /* pages in use; pages taken so far */
	struct call_page page[CALL_PAGES];
};

struct held_call {
	struct seccomp_notif notif;
	pid_t tgid;
	enum exec_state state; /* BEHIND or LATE */
};

/* What an approval is about; the exec stop must find exactly this. */
struct subject {
	bool set; /* false: no approval was requested */
	uint8_t digest[ASK_DIGEST_LEN];
	uint8_t rest[ASK_DIGEST_LEN]; /* of the environment and the directory */
};

struct pending_exec {
	struct seccomp_notif notif;
	pid_t tgid;
	uint32_t number;
	enum gate_answer answer; /* 0: none yet */
	char who[GATE_WHO_MAX];
	uint64_t since, until; /* loop_now() */
	struct subject subject;
	const struct sealed_exec *row;
	const char *program;
};

/* An approval whose exec has failed. */
struct yes {
	pid_t tgid;
	struct subject subject;
	uint64_t until;
};

struct flight {
	pid_t tid;
	pid_t tgid;
	const struct sealed_exec *row; /* what the exec stop must find */
	uint32_t caller;               /* the calling image */
	char *argv;                    /* the arguments as decided */
	size_t argv_len;
	const char *script;     /* after them: for a script, the path of the call */
	unsigned int ticks;     /* how long others have waited for it */
	struct subject subject; /* of its approval, used up at the stop */
	enum exec_state state;  /* RUNNING, PARKED or OVER */
};

struct image_key { /* identifies a file; image_fd keeps the inode in use */
	dev_t dev;
	ino_t ino;
	bool known;
};

struct verdict {
	int error;    /* the caller's errno, 0: continue */
	bool absent;  /* not in the cell: recorded, not counted */
	bool missing; /* nor on the host: recorded as "absent" */
	enum sealed_verdict verdict;
	const struct sealed_exec *row;
	const char *program;
	const char *reason;  /* NULL: the rule is the reason */
	const char *differs; /* the variable that caused it, in the call's copy */
	/* of an approval: */
	const uint8_t *digest;
	const char *outcome, *who; /* NULL, "": no answer */
	uint64_t held_ns;
};

struct gate {
	struct gate_order order;
	struct image_key *image; /* one per row of the server's images */
	struct pin *pin;         /* the same; NULL if no image is pinned */
	struct kinship *kin;
	struct named *named; /* NULL: named files are not reported */
	struct place *place; /* one per directory in the `in` of a row */
	size_t place_n;
	int root_fd;   /* "/" of the cell, -1 before the first call */
	bool same_cpu; /* caller and leash wake each other on the same processor */
	struct call *call;
	struct flight *flight; /* GATE_FLIGHTS_MAX */
	size_t flight_n;
	struct held_call *held; /* GATE_FLIGHTS_MAX, oldest first */
	size_t held_n;
	struct gate_counts counts;
	uint64_t refused_until; /* loop_now() at which the refusal debt is paid off */
	struct event event;
	struct buf shown, shown_too; /* two texts of the server, redacted */

	struct pending_exec *pending; /* GATE_QUESTIONS_MAX */
	size_t pending_n;
	struct yes *yes; /* GATE_QUESTIONS_MAX, oldest first */
	size_t yes_n;
	uint32_t ask_number; /* the last one used */
	uint64_t ask_ns, ask_look;
	uint64_t log_wait_ns;
	uint64_t log_since, log_seen; /* loop_now() of its first and last delay */
	uint64_t asked_until;         /* when the approval requests' debt is paid off */
	uint64_t told_until;          /* the same, for refusals sent to kennel */
	uint8_t ask_salt[ASK_DIGEST_LEN];
	char asked_folder[PATH_MAX]; /* as in the newest digest */
	struct foreign_list words;   /* shown to the user */
};

/* ---- copy_args.c --------------------------------------------------------- */
int call_new(struct call **ret);
void call_free(struct call *);
void call_begin(struct call *, const struct seccomp_notif *);
/* 0, -EFAULT, -ENAMETOOLONG. */
int call_copy_path(struct call *);
/* 0, -EFAULT, -E2BIG. */
int call_copy_words(struct call *);
/* Copies 8 bytes: 0, -EFAULT. */
int call_copy_u64(struct call *, uint64_t at, uint64_t *ret);
/* Reads the arguments of a process at its exec stop. */
int call_read_process(struct call *, pid_t);
void call_wipe(struct call *);

/* ---- image.c ------------------------------------------------------------- */

/* The directory that a relative path of this call begins at, as the caller sees it: 0 or
 * -errno. */
int call_base(const struct call *, char *ret, size_t cap);
int image_load(struct gate *);
/* The file that the call names, resolved as the caller would.  A negative errno is the
 * caller's result. */
int image_asked(struct gate *, const struct call *, struct image_key *ret);
/* The file that a process runs. */
int image_mapped(pid_t, struct image_key *ret);
bool image_same(const struct image_key *, const struct image_key *);

/* ---- caller.c ------------------------------------------------------------ */
int caller_load(struct gate *);
/* Opens the directories of `in` below the cell's root; call before any program runs. */
void caller_folders(struct gate *);
/* Stores the calling image in the call. */
void caller_of(const struct gate *, struct call *);
/* The image that a process runs, as in struct policy_exec_ask. */
uint32_t caller_image(const struct gate *, pid_t);
/* Writes a thread's working directory, as a path in the cell, to text.  NULL: unknown,
 * or a different directory under the name that a row uses. */
const char *caller_place(const struct gate *, pid_t, char *text, size_t cap);

/* ---- ancestry.c ---------------------------------------------------------- */
int kin_new(struct kinship **ret);
void kin_free(struct kinship *);
/* Stores the chain above the caller in the call; best effort, empty if unknown. */
void kin_of(struct gate *, struct call *);
/* Records that a process now runs another image. */
void kin_exec(struct gate *, pid_t, uint32_t image);
/* One level of the chain: "PID PROGRAM". */
const char *kin_text(
    const struct gate *, const struct call *, size_t i, char *text, size_t cap);

/* ---- digest_pin.c -------------------------------------------------------- */
int pin_load(struct gate *);
/* Is the file of this image (index in the server's range) unchanged since it was
 * pinned?  True if it has no pin. */
bool pin_holds(const struct gate *, size_t image);

/* ---- decide.c ------------------------------------------------------------ */
void grant_judge(struct gate *, struct call *, struct verdict *ret);
/* At the exec stop, after the arguments were read: a script's interpreter got the path
 * of the call.  True: that path is the granted one or names the same file; the granted
 * path replaces it. */
bool grant_script(const struct gate *, const struct flight *, struct call *);
/* At the exec stop, after image and arguments: NULL, or what differs from the
 * decision. */
const char *grant_stands(struct gate *, const struct flight *, struct call *);
/* Queues a record.  -ENOBUFS: the exec must not happen. */
int grant_record(
    struct gate *, pid_t, const struct call *, const struct verdict *, const char *name);

/* ---- explain.c ----------------------------------------------------------- */
void explain_judged(
    struct gate *, const struct call *, const struct verdict *, const char *name);

/* ---- named.c ------------------------------------------------------------ */
/* NULL: no report is wanted. */
int named_new(const struct gate *, struct named **ret);
void named_free(struct named *);
/* Reports what the call names, and lets it continue, at once or in named_tick; false: it
 * names no file. */
bool named_take(struct gate *, const struct seccomp_notif *);
/* Does a call wait until its report can be sent? */
bool named_waits(const struct gate *);
void named_tick(struct gate *);

/* ---- stop.c -------------------------------------------------------------- */
struct flight *flight_of_thread(struct gate *, pid_t tid);
bool flight_in_group(const struct gate *, pid_t tgid);
void flight_drop(struct gate *, struct flight *);
/* Moves a flight to its next state and counts.  An impossible event kills its thread. */
void flight_event(struct gate *, struct flight *, enum exec_event);
/* Traces the caller, then lets it continue.  again: the flight that it already has, or
 * NULL.  subject: what the user approved, or NULL. */
int flight_start(struct gate *, const struct call *, pid_t tgid,
    const struct sealed_exec *, struct flight *again, const struct subject *);
/* Ends flights of leaders that ended before their group, so they delay no other exec. */
void flight_tick(struct gate *, pid_t tgid);

/* ---- approval.c ---------------------------------------------------------- */
int ask_init(struct gate *);
void ask_free(struct gate *);
/* Requests approval for the current call, whose verdict is "ask".  ASKED; RELEASED if it
 * was approved before; REFUSED; DIED. */
enum exec_event ask_person(struct gate *, const struct seccomp_notif *, struct verdict *,
    pid_t tgid, struct flight *again);
/* Continues answered calls whose thread group has no other exec in progress. */
void ask_settle(struct gate *);
/* Withdraws requests whose callers are gone; refuses those that timed out. */
void ask_tick(struct gate *);
/* Keeps the approval of an exec that has failed. */
void ask_keep(struct gate *, pid_t tgid, const struct subject *);
int ask_rest(const struct call *, pid_t, uint8_t ret[ASK_DIGEST_LEN]);

/* ---- notify.c ------------------------------------------------------------ */
bool notify_valid(const struct gate *, uint64_t id);
int notify_reply(const struct gate *, uint64_t id, int error);
/* Reports a refusal to the process that talks to the agent, before the caller's reply. */
void verdict_tell(struct gate *, const struct verdict *);
/* Records, counts and replies a refusal. */
void verdict_deny(struct gate *, const struct call *, const struct verdict *);
/* Records the exec and lets it continue, or refuses it after all: RELEASED, REFUSED, or
 * DIED. */
enum exec_event verdict_allow(struct gate *, const struct call *, struct verdict *,
    pid_t tgid, struct flight *again, const struct subject *);
/*
 * Must an allowed exec wait for the recorder?  A recorder that is slow for a while
 * is no reason to refuse.  A disconnected one is, and one that has been slow for
 * longer than GATE_LOG_WAIT_NS.
 */
bool log_waits(struct gate *);
/* Decides the held calls that need not wait any longer. */
void held_run(struct gate *);

#endif
