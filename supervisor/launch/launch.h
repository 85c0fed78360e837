/*
 * A start of a server: the checks before it, the leash (self_protect.c, launcher.c,
 * start_server.c, start_approval.c). find/ finds its policy.
 */
#ifndef KENNEL_SUPERVISOR_LAUNCH_LAUNCH_H
#define KENNEL_SUPERVISOR_LAUNCH_LAUNCH_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "leash/audit/writer.h"
#include "policy/sealed/policy.h"
#include "supervisor/audit/audit.h"
#include "supervisor/launch/find/policy_found.h"
#include "supervisor/launch/leash_client.h"

/* ---- launcher.c ---------------------------------------------------------- */

/* Adds the user who starts kennel, and the program that does (0: the parent process). */
void launcher_record(struct event *, pid_t program);
/* The PURPOSE_ that this text is, if the parent process is this same program: an agent
 * must not have its own session taken for one of kennel's.  Else NULL. */
const char *launcher_purpose(const char *text);
/* Reads the user's name, for answerer_user: before this process is confined. */
void launcher_know_user(void);

/* ---- self_protect.c ------------------------------------------------------ */

struct trusted;

/* Adds kennel's own files, each with the right that no server may have: 0 or
 * -ENOMEM.  granted: the rights of all grants together; a file that none of them can
 * reach is left out. */
int self_protect_files(
    struct trusted *, const struct audit_place *, unsigned int group, uint32_t granted);
/*
 * Checks that no grant of any server of the found policy reaches the policies (file,
 * if given, and its includes too), the log, its keys, the vault or a socket. -EPERM,
 * with why.
 */
int self_protect_check(const struct policy_found *, const char *file,
    const struct audit_place *, char *why, size_t why_cap);

/* ---- start_server.c: shared by run and exec ------------------------------ */

struct approved_uses;
struct loop;
struct queue;
struct approve_socket;
struct status_socket;
struct session;

struct opened {
	struct policy_found found;
	struct audit_place place;
	char session[17];
	int log_dir_fd;
	struct report *report; /* this process's own connection to the log */
	struct child child;
	struct leash_refused refused; /* the cause of its failure; valid after it */
	struct loop *loop;            /* borrowed */
	struct queue *questions;      /* NULL: no approvals possible */
	struct approve_socket *socket;
	struct status_socket *status;
	uint64_t since_ns;             /* of Unix time; when these sockets were opened */
	const struct session *serving; /* borrowed; NULL: none (yet) */
	pid_t hub;                     /* "kennel serve", its agent; 0: none */
	enum leash_mode mode;
	bool one_call;                                 /* as in the order */
	int copy;                                      /* the same */
	const struct child_placeholders *placeholders; /* the same */
	const uint32_t *factor; /* of each secret (struct asked_approve) */
	int starter;            /* starter.h: of further processes; -1: none */
	pid_t starter_pid;      /* 0: none */
	int watch;              /* policy_watch.h: of the signed policy; -1: none */
	pid_t watch_pid;        /* 0: none */
};

/* What to start. */
struct open_order {
	const char *file, *name;          /* file NULL: search by name */
	const struct policy_found *found; /* the policy, found before; NULL: find it */
	pid_t caller;                     /* recorded as the program that starts this
					   * session; 0: the parent process */
	pid_t hub;                        /* "kennel serve", its agent; 0: none */
	enum leash_mode mode;
	bool one_call; /* this process is for one call: secrets that are approved per call
			* may be used, and a `oneshot` server may start */
	const struct approved_uses *approved; /* NULL: none (leash_approvals.h) */
	int argc;                             /* LEASH_RUN: 0 for the policy's `run` */
	char *const *argv;
	struct child_resolved *resolved; /* LEASH_LIVE: as in child_order */
	const char *purpose;             /* for the record; NULL: none */
	int copy; /* the server is learned: LEASH_LEARN, and as in child_order; 0: no */
	/* as in child_order; borrowed, also by what is opened */
	const struct child_placeholders *placeholders;
	struct loop *loop; /* runs only while an approval of the start is pending */
	int signals;       /* from open_signals: one ends such a start */
};

/*
 * Finds the policy, connects to the recorder, starts the leash and its server.
 * Returns 0, or an exit status with why set (and not printed).
 */
int open_server(const struct open_order *, struct opened *ret, char why[LEASH_TEXT_MAX]);
void opened_free(struct opened *);
struct payloads;
/* Opens the file of kept arguments and results, without which a policy that keeps any
 * allows no session. *ret is NULL if it keeps none. 0 or -errno. */
int opened_payloads(const struct opened *, struct payloads **ret);
/*
 * In the starter: another process of the same server under the same policy, as far as the
 * order of its leash (o->child), which then answers whoever has its channel. 0, or -errno
 * and why. ret_asks: the start may need a person's approval.
 */
int start_again(
    struct opened *, const char *file, bool *ret_asks, char why[LEASH_TEXT_MAX]);
/* From here on SIGTERM, SIGINT and SIGHUP are read from a descriptor; SIGPIPE is
 * ignored. */
int open_signals(int *ret_fd);
/* Opens a (new) connection for o->report: 0, or the log is lost. */
int open_report(struct opened *);
/* A connection for a report of another process: 0, or -errno and why. */
int open_recorder(int *ret_fd, char why[LEASH_TEXT_MAX]);
/* Answers LEASH_NEEDS_RECORDER. */
int opened_recorder(struct opened *);

/* ---- end_record.c ------------------------------------------------------- */

/* The end of a session, for its record. */
struct opened_end {
	char why[CAUSE_MAX];
	int status;       /* kennel's exit status */
	bool crashed;     /* the server ended by itself, unanswered or with an error */
	bool late;        /* kennel ended it, because it did not answer or read in time */
	bool leash_lost;  /* it ended without LEASH_EXITED */
	int leash_status; /* then its wait status */
};
/* A session that could not be opened: answers its agent's first request. */
void opened_refused(const struct opened *, const char *why, int wait_ms);
/* Its channel closed without LEASH_EXITED: reaps the leash and fills in the end. */
void opened_leash_gone(struct opened *, struct opened_end *ret);
/* Records kennel's own end, in addition to the leash's: a session without this record
 * was killed. */
void opened_record_end(struct opened *, const struct opened_end *);
/* Waits until the last records are on disk, before this process exits. */
void opened_last_records(struct opened *);

/* ---- person_sockets.c ---------------------------------------------------- */

/* Opens the queue and socket for approvals and the status socket, unless already
 * open. Without the queue, every request that needs approval is refused. */
void open_person_sockets(struct opened *);
void close_person_sockets(struct opened *);
/* Is a security key registered? Also true while the vault is locked, which does not tell:
 * what needs a key is refused then until there is one. */
bool person_may_have_key(void);
/* How many are registered; -errno: the vault is locked, or no keeper answers. */
int person_keys(void);
/* Is the vault unlocked? Does not count as a use of it. */
bool person_vault_open(void);

/* ---- start_approval.c: secrets whose use needs approval ------------------ */

struct asked_approve {
	uint32_t of[LEASH_SECRETS_MAX]; /* enum sealed_approve, from manifests */
	/* enum sealed_factor: the stricter of manifests and policy */
	uint32_t factor[LEASH_SECRETS_MAX];
	/* the name of its token format, from manifests: a static text, or NULL */
	const char *format[LEASH_SECRETS_MAX];
};
/* Reads the approval rules for the server's secrets from the project's manifest and
 * the personal index. Returns 0 (*ret_any: they or the policy require an approval),
 * or -errno and why: an unreadable file might have required one; -EPERM: something needs
 * a key, and none is registered. */
int asked_approves(
    const struct policy_found *, struct asked_approve *ret, bool *ret_any, char *why);
/* Does each call of the server get its own process, because the policy says so, or
 * because it or a manifest wants a secret approved per call? Fails like
 * asked_approves. */
int asked_oneshot(const struct policy_found *, enum policy_oneshot *ret, char *why);
/* Does a secret need an approval for each call? Fails like asked_approves. */
int asked_per_call(const struct policy_found *, bool *ret, char *why);
/*
 * Like child_launch, but handles approvals meanwhile: each one is on disk before the
 * leash gets it. A signal, the end of the agent, or the total timeout ends it.
 */
int asked_launch(struct opened *, const struct child_order *, const struct open_order *,
    uint64_t wait_ms, int *ret_status, char why[LEASH_TEXT_MAX]);

/* Confines this process before it serves (seccomp, Landlock, no core dumps). Dies if
 * it cannot. */
void open_confine(struct opened *);

/* drop_start.c: a moment after the loop begins to run, gives back what only the start
 * used; before, it would be needed again at once. */
void drop_start_soon(struct loop *);

#endif
