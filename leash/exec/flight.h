/*
 * The exec gate's own memory: private to leash/exec.
 *
 *	held	received, not judged: its thread group has an exec under way
 *	call	the words of the one call being judged, copied once (scratch)
 *	flight	a thread that was told to go on and is traced until its exec
 *		has stopped, failed, or the thread is dead
 */
#ifndef KENNEL_LEASH_EXEC_FLIGHT_H
#define KENNEL_LEASH_EXEC_FLIGHT_H

#include <limits.h>
#include <linux/seccomp.h>

#include "leash/exec/exec.h"
#include "shim/base/buf.h"

#define GATE_TICK_MS 10
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
};

struct flight {
	pid_t tid;
	pid_t tgid;
	const struct sealed_exec *row; /* what the stop must find */
	char *argv;                    /* the arguments as judged */
	size_t argv_len;
	unsigned int ticks; /* how long others have waited for it */
	bool over;          /* only waits to be reaped: holds nobody up */
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
};

struct gate {
	struct gate_order order;
	struct image_key *image; /* one per row of the server's images */
	int root_fd;             /* "/" of the cell, -1 before the first call */
	struct call *call;
	struct flight *flight; /* GATE_FLIGHTS_MAX */
	size_t flight_n;
	struct held *held; /* GATE_FLIGHTS_MAX, oldest first */
	size_t held_n;
	struct gate_counts counts;
	uint64_t refused_until; /* loop_now() at which all refusals are paid for */
	struct event event;
	struct buf shown; /* a word of the call, scrubbed for the record */
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

/* ---- grant.c ------------------------------------------------------------- */
void grant_judge(struct gate *, struct call *, struct verdict *ret);
/* Hand it to the log.  -ENOBUFS: the act must not happen. */
int grant_record(
    struct gate *, pid_t, const struct call *, const struct verdict *, const char *name);

/* ---- stop.c -------------------------------------------------------------- */
struct flight *flight_of_thread(struct gate *, pid_t tid);
bool flight_in_group(const struct gate *, pid_t tgid);
void flight_drop(struct gate *, struct flight *);
/* Trace the caller, then let it go on.  Again: the flight that it has. */
int flight_start(struct gate *, const struct call *, pid_t tgid,
    const struct sealed_exec *, struct flight *again);
/* Leaders that ended alone hold up nobody. */
void flight_tick(struct gate *, pid_t tgid);

/* ---- notify.c ------------------------------------------------------------ */
bool notify_valid(const struct gate *, uint64_t id);
int notify_reply(const struct gate *, uint64_t id, int error);
/* Judge what is held and need not wait any more. */
void held_run(struct gate *);

#endif
