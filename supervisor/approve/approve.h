/*
 * The approve room: what a policy says a person is asked about waits here until
 * somebody answers, or until nobody did (docs/PROTOCOL.approve).
 *
 *	queue.c	 the questions that wait, what was said for a session
 *	desk.c	 the socket at which people answer
 *
 * Whoever has the user's id can answer: the socket keeps other users out, and
 * which process of one's own it was is a hint for the log, never a guard
 * (docs/TRUST.md).  There is one queue for all kinds of questions.
 */
#ifndef KENNEL_SUPERVISOR_APPROVE_APPROVE_H
#define KENNEL_SUPERVISOR_APPROVE_APPROVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/base/loop.h"

/* ---- questions ------------------------------------------------------------- */

#define QUESTIONS_MAX       64  /* that wait at one time; one more is refused */
#define QUESTION_REMEMBERED 256 /* answers that hold for the session */
#define QUESTION_TEXT_MAX   2048
#define QUESTION_DIGEST_LEN 32
#define QUESTION_ID_MAX     48 /* "PID-NUMBER:12345678" */

enum question_kind {
	QUESTION_TOOL = 1,
	QUESTION_RESOURCE,
	QUESTION_PROMPT,
	QUESTION_EXEC,
	QUESTION_SECRET /* its use by a server that is about to start */
};
const char *question_kind_name(enum question_kind);

enum question_answer {
	ANSWER_ONCE = 1,
	ANSWER_SESSION, /* the same thing again is not asked about */
	ANSWER_DENY,
	ANSWER_NOBODY,   /* silence is no */
	ANSWER_WITHDRAWN /* whoever wanted it wants it no more; never told to fn */
};
const char *question_answer_name(enum question_answer);

/* What is asked; texts are foreign and made inert where they are shown. */
struct question_text {
	enum question_kind kind;
	char server[128];
	char subject[QUESTION_TEXT_MAX]; /* the tool, the program */
	char detail[QUESTION_TEXT_MAX];  /* its arguments */
	char rule[512];                  /* the line of the policy that asks */
	char because[512];
	uint8_t digest[QUESTION_DIGEST_LEN]; /* of all that would be done */
	bool cut;                            /* detail is not all of it */
	bool once_only; /* asked about each time: "session" counts as "once" */
};

/* Who answered, as far as the kernel says. */
struct answerer {
	uint32_t uid, pid;
};

/* The answer; number is what question_ask gave.  The question is gone. */
typedef void question_fn(
    void *arg, uint32_t number, enum question_answer, const struct answerer *);

struct queue;

/* wait_ms: after so long nobody has answered.  0 or -ENOMEM. */
int queue_new(struct loop *, uint64_t wait_ms, struct queue **ret);
/* Questions that wait are withdrawn. */
void queue_free(struct queue *);

/*
 * 0: asked, fn comes later, never from here.  1: it was agreed to for the
 * session already, nothing is asked.  -ENOBUFS: too many wait.
 */
int question_ask(struct queue *, const struct question_text *, question_fn *fn, void *arg,
    uint32_t *ret_number);
void question_withdraw(struct queue *, uint32_t number);
/* 0; -ENOENT: no such question, or not the one with this digest. */
int question_answer(struct queue *, uint32_t number,
    const uint8_t digest[QUESTION_DIGEST_LEN], enum question_answer,
    const struct answerer *);

/* For those who show them: in order of their numbers; NULL behind the last. */
struct question {
	uint32_t number; /* from 1, never again */
	struct question_text text;
	uint64_t asked_at, until; /* loop_now() */
	question_fn *fn;
	void *arg;
};
const struct question *queue_next(const struct queue *, uint32_t after);
/* Told of each question that comes, and of each that has gone with its answer. */
typedef void queue_seen_fn(
    void *arg, const struct question *, enum question_answer gone_with);
void queue_watch(struct queue *, queue_seen_fn *, void *arg);

/*
 * How a person names a question: the process, its number there, and how its
 * digest begins, so that a number that is used again does not name another.
 * Returns out.
 */
const char *question_id(char out[QUESTION_ID_MAX], long pid, uint32_t number,
    const uint8_t digest[QUESTION_DIGEST_LEN]);

/* ---- the desk -------------------------------------------------------------- */

#define DESK_PACKET_MAX  8192
#define DESK_CLIENTS_MAX 8
#define DESK_VERSION     1
#define DESK_SOCKET      "ask-%ld" /* in the run folder; the number of the process */

/* Each packet begins with a u32 enum desk_message. */
enum desk_message {
	/* from a person: u32 version, u32 1 to go on watching, else 0 */
	DESK_LIST = 1,
	/* u32 number, u32 answer (ONCE SESSION DENY), 32 bytes digest */
	DESK_ANSWER = 2,
	/* to a person: u32 number, u32 kind, u32 cut, u64 ms since it was asked, u64 ms
	 * left, str server, subject, detail, rule, because, 32 bytes digest */
	DESK_QUESTION = 3,
	/* u32 number, u32 answer: it waits no more (watching only) */
	DESK_GONE = 4,
	/* all that wait now have been told */
	DESK_END = 5,
	/* u32 errno, 0: taken */
	DESK_TAKEN = 6,
};

struct desk;

/* Listens in this folder, before the process confines itself.  0 or -errno; a
 * session that has no desk asks nobody and refuses. */
int desk_open(struct loop *, const char *run_dir, struct queue *, struct desk **ret);
void desk_free(struct desk *);

#endif
