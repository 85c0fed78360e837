/*
 * Dialogs: questions of an agent to a person, and the requests that each settles.
 *
 * The requests for one thing share one dialog. What the answers mean is below: a use is
 * granted or refused; a value and a proposal are done by the person's own process before
 * it answers, and the answer is passed on as a word.
 */
#ifndef KENNEL_SUPERVISOR_SECRETS_DIALOGS_H
#define KENNEL_SUPERVISOR_SECRETS_DIALOGS_H

#include "leash/audit/writer.h"
#include "policy/manifests/manifest_change.h"
#include "supervisor/secrets/private.h"
#include "supervisor/secrets/use_approval.h"

/* One question to a person; it settles every request that joined it. */
struct dialog {
	struct secrets_approvals *approvals;
	enum secrets_kind kind;
	uint32_t number; /* the queue's; 0: free */
	bool answered;   /* the answer waits for the disk */
	bool changed;    /* asked again once the manifests have been read again */
	enum question_answer answer;
	uint64_t record; /* of the answer */
	uint64_t since;
	char path[SECRET_PATH_MAX + 1];
	char id[SECRETS_ID_LEN + 1]; /* the request that opened it */
	uint8_t digest[QUESTION_DIGEST_LEN];
	struct holder_ids shown;   /* the policies of the servers that hold it */
	bool each;                 /* per-call: no answer covers the session */
	struct meta_change change; /* what the agent proposes */
	struct answerer by;
};

struct secrets_approvals {
	struct secrets_approvals_order o;
	struct requests requests;
	struct dialog dialog[QUESTIONS_MAX];
	struct grants grants;
	char closed[CLOSED_MAX][SECRET_PATH_MAX + 1];
	size_t closed_n; /* CLOSED_MAX: every path is closed */
	struct event event;
};

/* What is asked for, as it was found out for this call. */
struct asked {
	enum secrets_kind kind;
	const char *path;
	uint32_t ttl_s;
	const struct meta *meta; /* NULL: the project does not declare it */
	struct meta_change change;
	const struct secrets_manifests *manifests;
	const char *failed; /* no person can be asked: why, a static text; or NULL */
	/* of a use */
	const char *reason;
	bool each, held; /* held: the session has the approval, no person is asked */
	struct secrets_holder holder[HOLDERS_MAX];
	size_t holder_n;
	struct holder_ids shown; /* their policies */
};

/* Finds the servers that get the secret. */
void dialogs_holders(struct secrets_approvals *, struct asked *);
/* Joins a dialog that is open, or asks a person; writes the id of the new request. */
void dialogs_ask(
    struct secrets_approvals *, const struct asked *, struct secrets_answer *);

/* ---- use_approval.c ---- */

/* The answer for a use takes effect. It may fail after all: *state and *reason. */
void use_settled(struct dialog *, enum secrets_state *state, const char **reason);

/* ---- question.c ---- */

/* 0 or -ENOMEM. own_name: the server, if there is not exactly one; request_id: of the
 * request that opens the dialog. */
int question_make(const struct asked *, const char *own_name, const char *request_id,
    struct question_text *);

#endif
