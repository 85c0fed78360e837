/*
 * What an agent asks a person for: the use of a secret before a server that needs it is
 * started, a value, other metadata, a new path; and how it polls the answer.
 *
 * What the agent gets is an id and a word. What the next start gets is a grant: `once`
 * for one start within 60 s, `session` for every start until the vault changes or is
 * locked. A grant covers the policies that the person was shown, and no others. The use
 * itself is still judged by the leash of the server.
 */
#ifndef KENNEL_SUPERVISOR_SECRETS_USE_APPROVAL_H
#define KENNEL_SUPERVISOR_SECRETS_USE_APPROVAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "supervisor/approve/approve.h"
#include "supervisor/secrets/grants.h"
#include "supervisor/secrets/requests.h"
#include "supervisor/secrets/secrets.h"

#define CLOSED_MAX 256 /* paths that a person refused */

/* A server of this session that gets the value of a path when it starts. */
struct secrets_holder {
	const char *server;
	uint8_t policy[HOLDER_ID_LEN]; /* shown */
	/* of the policy and the server: another server of the policy is not covered */
	uint8_t id[HOLDER_ID_LEN];
	enum meta_approve approve; /* as its policy wants it */
};
/* Writes the first of them; returns how many there are. */
typedef size_t secrets_holders_fn(
    void *arg, const char *path, struct secrets_holder out[HOLDERS_MAX]);

struct report;
struct secrets_approvals;

struct secrets_approvals_order {      /* all borrowed */
	const char *name;             /* of this process, where no server is meant */
	struct queue *queue;          /* NULL: no person can be asked */
	struct report *const *report; /* points to NULL while none is open */
	secrets_holders_fn *holders;
	/* asks for the manifests and the epoch of the vault, which are passed to
	 * secrets_approvals_reread() and secrets_approvals_epoch() */
	void (*ask_epoch)(void *arg);
	/* the keeper has a new value */
	void (*provided)(void *arg, const char *path);
	void *arg;
};

/* 0 or -ENOMEM. */
int secrets_approvals_new(
    const struct secrets_approvals_order *, struct secrets_approvals **ret);
/* Before the queue is freed. */
void secrets_approvals_free(struct secrets_approvals *);

/* Each asks a person, and answers with the id of the request. */
typedef void secrets_request(struct secrets_approvals *, const struct secrets_context *,
    struct json arguments, struct secrets_answer *);
secrets_request secrets_request_use, secrets_request_provision, secrets_request_rotation,
    secrets_propose_metadata, secrets_propose_new_path;
void secrets_poll(
    struct secrets_approvals *, struct json arguments, struct secrets_answer *);

/* The log has caught up: answers that are on disk take effect. */
void secrets_approvals_recorded(struct secrets_approvals *);
/* The vault was in this state when it was looked at, after loop_now() `asked_at`; grants
 * that were given in another one end. */
void secrets_approvals_epoch(
    struct secrets_approvals *, uint64_t epoch, uint64_t asked_at);
/* The manifests are these now: what a person found changed is asked again. */
void secrets_approvals_reread(struct secrets_approvals *, const struct secrets_context *);
/* The text of a refusal: of the path, twice. */
#define SECRETS_DENIED_TEXT \
	"denied: a person refused %s in this session; only a person can reopen it: " \
	"kennel approve reopen %s"
/* A person refuses its use, at a start. */
void secrets_path_refused(struct secrets_approvals *, const char *path);
/* A person has refused its use in this session, and has not reopened it. */
bool secrets_path_closed(const struct secrets_approvals *, const char *path);
/* Lets a person reopen such paths at this socket. */
void secrets_approvals_reopens(struct secrets_approvals *, struct approve_socket *);

/* A grant for this path and policy waits for secrets_approvals_epoch(): so does a start. */
bool secrets_grant_unknown(const struct secrets_approvals *, const char *path,
    const uint8_t policy[HOLDER_ID_LEN]);
/* What a start of a server may use without a further question. False: there is none for
 * this path and policy. One for `once` is used up. */
bool secrets_grant_take(struct secrets_approvals *, const char *path,
    const uint8_t policy[HOLDER_ID_LEN], struct secrets_grant *ret);

#endif
