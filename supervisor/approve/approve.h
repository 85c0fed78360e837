/*
 * The approve room: requests that need a user's approval wait here until they are
 * answered or time out (docs/PROTOCOL.approve).
 *
 *	queue.c		pending approvals, and answers remembered for a session
 *	refusals.c	what was refused a short while ago, and is not asked again yet
 *	detail.c	how a long request is shown
 *	answerer.c	who answered, for the audit log
 *	socket.c	the socket on which users answer
 *
 * Any process with the user's id can answer: the socket keeps other users out. Which
 * of the user's processes it was is a hint for the log, not a protection
 * (docs/TRUST.md). All kinds of requests share one queue.
 */
#ifndef KENNEL_SUPERVISOR_APPROVE_APPROVE_H
#define KENNEL_SUPERVISOR_APPROVE_APPROVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/base/loop.h"

/* ---- requests -------------------------------------------------------------- */

#define QUESTIONS_MAX        64  /* pending at one time; further ones are refused */
#define QUESTION_REMEMBERED  256 /* answers remembered for the session */
#define QUESTION_TEXT_MAX    2048
#define QUESTION_DETAIL_MAX  8192
#define QUESTION_DIGEST_LEN  32
#define QUESTION_ID_MAX      48    /* "PID-NUMBER:12345678" */
#define QUESTION_REQUEST_MAX 24    /* an agent's own name of its request */
#define QUESTION_PATH_MAX    255   /* bytes of a secret's path */
#define QUESTION_METHOD_MAX  64    /* of a method's name: a call has a row of methods.c */
#define CALL_WAIT_MS         50000 /* a call waits; clients give up after 60 s */
#define CALL_OPEN_MS         300000 /* its approval stays open, at least */

enum question_kind {
	QUESTION_TOOL = 1,
	QUESTION_RESOURCE,
	QUESTION_PROMPT,
	QUESTION_EXEC,
	QUESTION_SECRET, /* its use by a server that is about to start */
	QUESTION_NET,    /* a name and a port */
	/* what a person types or accepts; answered by OK, CANCELLED, FAILED, CHANGED */
	QUESTION_PROVISION, /* a value */
	QUESTION_ROTATION,  /* another value */
	QUESTION_METADATA,  /* of a secret */
	QUESTION_NEW_PATH,  /* a secret of the project's manifest */
	QUESTION_FILE,      /* a project's mcp-servers.json */
};
const char *question_kind_name(enum question_kind);

enum question_answer {
	ANSWER_ONCE = 1,
	ANSWER_SESSION, /* also for the same request later in this session */
	ANSWER_DENY,
	ANSWER_NOBODY,    /* timeout; counts as a refusal */
	ANSWER_WITHDRAWN, /* by the requester: not passed to fn; or by queue_close */
	ANSWER_OK,        /* the value is saved, the proposal is accepted */
	ANSWER_CANCELLED, /* closed without that */
	ANSWER_FAILED,    /* the keeper refused the value */
	ANSWER_CHANGED    /* a manifest is not as it was shown: to be asked again */
};
/* May a person answer a question of this kind so? */
bool question_accepts(enum question_kind, enum question_answer);
const char *question_answer_name(enum question_answer);

/* What a yes needs besides the answer; both are asked for each use. */
enum question_factor {
	QUESTION_NO_FACTOR = 0,
	QUESTION_PASSPHRASE, /* of the vault, confirmed to the keeper */
	QUESTION_KEY
};
/* "passphrase", "key"; NULL: none. */
const char *question_factor_name(enum question_factor);

/* The request. Texts are untrusted and escaped where they are shown. */
struct question_text {
	enum question_kind kind;
	char server[256];                 /* a name has at most 255 bytes */
	char method[QUESTION_METHOD_MAX]; /* of a call: what is done with the subject */
	char subject[QUESTION_TEXT_MAX];  /* the tool or program */
	char detail[QUESTION_DETAIL_MAX]; /* its arguments */
	char rule[512];                   /* the policy line with `ask` */
	char because[512];
	char request[QUESTION_REQUEST_MAX];  /* the id that the agent polls; "": none */
	uint8_t digest[QUESTION_DIGEST_LEN]; /* of everything that would be done */
	char
	    file_sha256[2 * QUESTION_DIGEST_LEN + 1]; /* QUESTION_FILE: of its contents */
	bool cut;         /* subject and detail are incomplete: needs `unseen` */
	bool ambiguous;   /* the detail has no canonical form: readers may disagree */
	bool destructive; /* a reviewed definition says so: a yes has a second step */
	bool once_only;   /* for each use: "session" counts as "once" */
	enum question_factor factor; /* not none: as once_only, and never remembered */
	uint64_t open_ms; /* how long it stays open; 0: as long as others of the queue */
};

/* Copies a text, or its head and tail with a mark between them; then sets *ret_cut. The
 * mark has the SHA-256 of the text, so that two texts are never shown as one. cap is 256 or
 * more. */
void question_shorten(char *out, size_t cap, const char *text, size_t len, bool *ret_cut);
/* Sets detail from this JSON value: every key, the ends of each long text. */
void question_detail(struct question_text *, const void *json, size_t len);

/* Where a person answered or changed something, as that process says: a hint for the log. */
enum approve_channel {
	VIA_UNKNOWN = 0,
	VIA_TERMINAL, /* a command whose standard input is a terminal */
	VIA_CONSOLE,  /* a page: of kennel console, of kennel secret form */
	VIA_PINENTRY,
	VIA_CONSOLE_FINAL, /* the console; this client can no longer change it, and may only
			    * list, allow, deny and cancel */
	VIA_COMMAND,       /* a command without a terminal: of a script, of a timer */
};
/* NULL: unknown. */
const char *approve_channel_name(enum approve_channel);
/* The channel of this command. approve_channel_set: of a page or a dialog, and of what it
 * runs. */
#define APPROVE_CHANNEL_VARIABLE "KENNEL_CHANNEL"
enum approve_channel approve_channel_here(void);
void approve_channel_set(enum approve_channel);

/* The process that answered, according to the kernel; and its channel. */
#define ANSWERER_TEXT_MAX 64
struct answerer {
	uint32_t uid, pid;
	uint32_t channel; /* enum approve_channel */
};
/* "uid 1000, pid 42": as the audit log has it. Returns out. */
const char *answerer_text(const struct answerer *, char out[ANSWERER_TEXT_MAX]);

/* The name of this user, for answerer_user: the process is confined when it needs it. */
void answerer_know(uint32_t uid, const char *name);
/* The name of the user who answered; NULL: unknown. */
const char *answerer_user(const struct answerer *);
struct event;
/* Adds the fields of a record of an answer; none without a process. */
void answerer_put(struct event *, const struct answerer *);
/* The same of a person who reopens what was refused. */
void answerer_put_reopened(struct event *, const char *name, const struct answerer *);

/* Called with the answer; number is from question_ask. The request is no longer
 * pending. */
typedef void question_fn(
    void *arg, uint32_t number, enum question_answer, const struct answerer *);

struct queue;

/* wait_ms: timeout after which the answer is ANSWER_NOBODY. Returns 0 or -ENOMEM. */
int queue_new(struct loop *, uint64_t wait_ms, struct queue **ret);
/* Withdraws pending requests. */
void queue_free(struct queue *);
/* No answer can be used any more: pending requests end with ANSWER_WITHDRAWN, which is a
 * refusal and passed to their fn, and new ones get -ENOBUFS. */
void queue_close(struct queue *);

/*
 * Returns 0: pending; fn is called later, never from here. 1: approved for the
 * session before; fn is not called. -EACCES: a person has refused it, or its server and
 * subject, so recently that it is refused unasked (refusals.h). -ENOBUFS: too many are
 * pending.
 */
int question_ask(struct queue *, const struct question_text *, question_fn *fn, void *arg,
    uint32_t *ret_number);
void question_withdraw(struct queue *, uint32_t number);
/* Keeps it open until then (loop_now()), if that is later than before. */
void question_extend(struct queue *, uint32_t number, uint64_t until);
/* Answers a request. Returns 0; -ENOENT: no such request, or another digest; -EINVAL:
 * not an answer to this kind; -EPERM: approval of a truncated request without `unseen`;
 * -ENOKEY: approval without its factor; -EAGAIN: the keeper did not say. */
struct question_reply {
	enum question_answer answer;
	bool unseen;
	struct answerer by;
};
int question_answer(struct queue *, uint32_t number,
    const uint8_t digest[QUESTION_DIGEST_LEN], const struct question_reply *);

/* Asks which factor a person has given for this digest: an enum question_factor, or -errno.
 * Without this function no person has given any. */
typedef int queue_factor_fn(void *arg, const uint8_t digest[QUESTION_DIGEST_LEN]);
void queue_on_factor(struct queue *, queue_factor_fn *, void *arg);

/* For clients that show requests: in order of their numbers; NULL after the last. */
struct question {
	uint32_t number; /* from 1, never reused */
	struct question_text text;
	uint64_t asked_at, until; /* loop_now() */
	uint32_t refused;         /* times in 10 min that its server and subject were */
	question_fn *fn;
	void *arg;
};
const struct question *queue_next(const struct queue *, uint32_t after);
/* Called for each new request, and for each one that ended, with its answer. */
typedef void queue_seen_fn(
    void *arg, const struct question *, enum question_answer gone_with);
void queue_watch(struct queue *, queue_seen_fn *, void *arg);

/*
 * Writes the user-visible id of a request: the process, its number there, and the
 * first digits of its digest, so that a reused pid cannot name another request.
 * Returns out.
 */
const char *question_id(char out[QUESTION_ID_MAX], long pid, uint32_t number,
    const uint8_t digest[QUESTION_DIGEST_LEN]);
/* Says on standard error what this process asks, and how to answer. */
void question_tell(const struct question_text *, uint32_t number);

/* ---- the socket ------------------------------------------------------------ */

#define APPROVE_PACKET_MAX 16384
#define APPROVE_VERSION    3
#define APPROVE_SOCKET     "ask-" /* in the run directory; the process id follows */

/* Each packet begins with a u32 enum approve_message. */
enum approve_message {
	/* from a client: u32 version, u32 1 to keep watching, else 0 */
	APPROVE_LIST = 1,
	/* u32 number, u32 answer (see question_accepts), u32 1 to accept a truncated
	 * request too, 32 bytes digest */
	APPROVE_ANSWER = 2,
	/* str path of a secret, or name of a tool, resource, prompt, program or host: asks
	 * about it again after a refusal; answered by TAKEN */
	APPROVE_REOPEN = 8,
	/* str path: the keeper has a new version of this value; or the SHA-256, in hex, of a
	 * file that the registry has the approval of; answered by TAKEN */
	APPROVE_SAVED = 10,
	/* u32 enum approve_channel: of what this client sends next; no answer. Ignored after
	 * VIA_CONSOLE_FINAL */
	APPROVE_CHANNEL = 12,
	/* to a client: u32 number, u32 kind, u32 flags (below), u32 factor, u64 ms since the request, u64
	 * ms left, u32 refusals of its server and subject in 10 min, str server, method, subject, detail, rule, because, request, 32 bytes digest */
	APPROVE_QUESTION = 3,
	/* u32 number, u32 answer: no longer pending (watching only) */
	APPROVE_GONE = 4,
	/* all pending requests have been sent */
	APPROVE_END = 5,
	/* u32 errno, 0: accepted; ENOENT, EPERM, ENOKEY, EAGAIN: see question_answer; EIO:
	 * the reopening could not be recorded */
	APPROVE_TAKEN = 6,
};

/* The flags of a question. */
enum {
	QUESTION_CUT = 1,         /* subject and detail are incomplete */
	QUESTION_DESTRUCTIVE = 2, /* a reviewed definition says so */
	QUESTION_AMBIGUOUS = 4,   /* see struct question_text */
	QUESTION_ONCE_ONLY = 8,   /* for each use: "session" counts as "once" */
};

struct approve_socket;

/* Listens in this directory; call it before the process confines itself. Returns 0 or
 * -errno. A session without this socket refuses whatever needs approval. */
int approve_open(
    struct loop *, const char *run_dir, struct queue *, struct approve_socket **ret);
/* What reopens. */
struct approve_reopen {
	/* Puts what a person reopens in the audit log, before it is asked about again. Below
	 * 0: it could not, and it stays refused, as it does without this function. */
	int (*record)(void *arg, const char *name, const struct answerer *);
	/* Paths of secrets that are refused here besides the queue's; NULL: there are none. */
	bool (*is_closed)(void *arg, const char *path);
	void (*open)(void *arg, const char *path);
	void *arg;
};
void approve_on_reopen(struct approve_socket *, const struct approve_reopen *);
/* Has a person refused (refusals.h) the tool, resource, prompt, program or host of this
 * name? */
bool question_is_refused(const struct queue *, const char *subject);
/* Would it be refused unasked? */
bool question_would_refuse(const struct queue *, const struct question_text *);
/* A person has refused it in another process of this session. */
void question_note_refused(struct queue *, const struct question_text *);
/* It is asked about again. */
void question_reopen(struct queue *, const char *subject);
/* Answers with OK every question for a value of this path of a secret, or for a file with
 * this SHA-256, in hex. False: there was none. */
bool question_saved(struct queue *, const char *what, const struct answerer *);
void approve_free(struct approve_socket *);

#endif
