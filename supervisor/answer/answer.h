/*
 * The answer room: the user's side of pending approvals (docs/PROTOCOL.approve).
 *
 *	session.c	one session: list its approvals, answer one, reopen a path
 *	approval_id.c	the id by which a user names an approval
 *	show.c		an approval as text, and as JSON
 *	shown.c		an approval as a program has shown it
 *	detail_lines.c	an approval as lines for a screen
 *	open_list.c	the pending approvals of all sessions, kept up to date
 *	verbs.c		kennel approve: list, allow, deny, reopen
 *	watch.c		kennel approve watch, as lines
 *	watch_screen.c	the same on a screen
 *	here.c		kennel approve here: a pinentry for each
 *
 * Runs as the calling user. The texts of an approval come from agents, servers and
 * repositories: they are escaped where they are shown.
 */
#ifndef KENNEL_SUPERVISOR_ANSWER_ANSWER_H
#define KENNEL_SUPERVISOR_ANSWER_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "shim/base/wire.h"
#include "supervisor/approve/approve.h"

#define SESSIONS_MAX 256 /* whose approvals are listed */

/* A pending approval as received: its texts point into the packet. */
struct approval {
	long pid;                           /* of its session */
	uint32_t number, kind, cut, factor; /* enum question_factor */
	bool destructive;                   /* as its reviewed definition says */
	bool ambiguous;                     /* its detail has no canonical form */
	bool once_only; /* for each use: a yes for the session is one for once */
	uint64_t waits_ms, left_ms;
	uint32_t refused; /* times in 10 min that its server and subject were */
	const char *server, *method, *subject, *detail, *rule, *because, *request;
	struct span digest; /* QUESTION_DIGEST_LEN bytes */
};

#define DESTRUCTIVE_TEXT \
	"its reviewed definition is marked: it may destroy or overwrite something"
#define AMBIGUOUS_TEXT \
	"it has no canonical form (a key twice, a NUL or half a surrogate pair): " \
	"programs " \
	"may read it differently"

struct shown; /* private.h */

/* The user's decision. */
struct decision {
	enum question_answer answer;
	bool unseen;      /* also if part of it was not shown */
	const char *name; /* of a new path, chosen by the user; NULL: the suggested one */
	enum approve_channel channel; /* where; for the log */
	const struct shown *shown;    /* only if it is this; NULL: whatever has the id */
};

/* ---- session.c ----------------------------------------------------------------- */

typedef void approval_fn(const struct approval *);

/* Calls fn with each pending approval of the session of process pid: 0 or -errno. */
int session_list(long pid, approval_fn *fn);
/* Sends the list's request; watching: changes follow. 0 or -errno. */
int session_subscribe(int fd, bool watching);
/* Sends the channel of what is sent next. 0 or -errno. */
int session_channel(int fd, enum approve_channel);
/* Reads a QUESTION after its type: 0 or -EBADMSG. */
int approval_read(struct wire_in *, long pid, struct approval *ret);
/* True: r means that the session has ended. */
bool session_is_over(int r);
/* Why a session gave no answer, for a message. */
const char *session_error(int r);

/* What an answer must refer to. */
struct approval_found {
	uint32_t kind, cut, factor;
	bool once_only;
	uint8_t digest[QUESTION_DIGEST_LEN];
	/* what the agent asks a person to do, of kinds 7 to 10 */
	char subject[QUESTION_TEXT_MAX], detail[QUESTION_DETAIL_MAX];
};
struct approval_id;
/* Finds the approval that id names. 0; -ENOENT, or an error of which session_is_over is
 * true: it is no longer pending; -errno. */
int approval_find(const struct approval_id *, struct approval_found *ret);
/* Answers it. The same; also -EPERM: a part was not shown; -EINVAL: not an answer to this
 * kind; -ENOKEY: its factor was not given. */
int session_answer(
    const struct approval_id *, const struct approval_found *, const struct decision *);
/* The same on a connection to its session, which the caller closes. */
int session_answer_at(int fd, const struct approval_id *, const struct approval_found *,
    const struct decision *);
/* Asks again about a path that was refused there. 0; -ENOENT: it was not; -errno. */
int session_reopen(long pid, const char *path, enum approve_channel);

/* ---- approval_id.c -------------------------------------------------------------- */

/* "PID-NUMBER:DIGEST": any number of leading digits of the digest. */
struct approval_id {
	long pid;
	uint32_t number;
	char digest[2 * QUESTION_DIGEST_LEN + 1]; /* in hex */
};

/* 0 or -EINVAL. */
int approval_id_read(const char *text, struct approval_id *ret);
/* The whole id of this approval. */
struct approval_id approval_id_of(const struct approval *);
/* Is this the approval that the user saw? */
bool approval_id_names(const struct approval_id *, const struct approval *);
/* As the user reads and types it. Returns out. */
const char *approval_id_text(const struct approval *, char out[QUESTION_ID_MAX]);

/* ---- open_list.c ------------------------------------------------------------------ */

struct pollfd;

/* A pending approval of the list, which owns its packet. */
struct open_approval {
	struct approval a;
	uint8_t *packet;
	uint64_t came_at; /* CLOCK_MONOTONIC, milliseconds */
};

/* Called for an approval that is new (how: 0), or that has just ended. */
typedef void open_list_fn(void *arg, const struct approval *, enum question_answer how);

/* How a process reaches the sessions that cannot connect to them itself. */
struct session_access {
	/* The pids of sessions, at most max; returns how many. */
	size_t (*list)(void *arg, long *pid, size_t max);
	/* A connection to the session of this process: a descriptor or -errno. */
	int (*connect)(void *arg, long pid);
	void *arg;
};

struct open_list {
	const struct session_access *access; /* NULL: the caller connects itself */
	struct {
		long pid;
		int fd; /* -1: free */
	} session[SESSIONS_MAX];
	size_t session_n;
	struct open_approval *item; /* in the order in which they arrived */
	size_t n, cap;
	open_list_fn *fn; /* may be NULL */
	void *arg;
};

/* Connects to sessions that are new. */
void open_list_look(struct open_list *);
/* Fills wait[SESSIONS_MAX] with what to poll for; returns how many. */
size_t open_list_poll(const struct open_list *, struct pollfd *wait);
/* Receives what these descriptors have: new approvals, ended ones, ended sessions. */
void open_list_receive(struct open_list *, const struct pollfd *wait);
/* Milliseconds that are left for it now. */
uint64_t open_approval_left(const struct open_approval *);
void open_list_free(struct open_list *);

/* ---- show.c ---------------------------------------------------------------------- */

void approval_print(FILE *, const struct approval *);
void approval_print_json(FILE *, const struct approval *);
/* Is it the form of an id that an agent is given for its request, "prov-" and 12 digits? */
bool approval_is_request(const char *id);

#endif
