/*
 * Requests that a person answers: what an agent polls by their ids. In memory only, and
 * of one session: no other session can poll them.
 *
 *	pending ── answered ──▶ ok cancelled (other kinds) · once session denied (use-approval)
 *	   ├────── its time is over ──▶ expired
 *	   └────── it could not be asked or recorded ──▶ failed
 *
 * A settled request never changes. One dialog may settle several requests.
 */
#ifndef KENNEL_SUPERVISOR_SECRETS_REQUESTS_H
#define KENNEL_SUPERVISOR_SECRETS_REQUESTS_H

#include <stdbool.h>
#include <stdint.h>

#include "supervisor/hub/secrets_reply.h"

#define REQUESTS_PENDING_MAX 64
#define REQUESTS_SETTLED_MAX 256
#define REQUESTS_N           (REQUESTS_PENDING_MAX + REQUESTS_SETTLED_MAX)
#define REQUEST_TTL_S        300  /* an agent can only shorten it */
#define REQUEST_KEPT_S       3600 /* after it was settled */
#define REQUEST_POLL_MS      2000 /* between two polls of one id */
#define DIALOGS_A_MINUTE     8

struct request {
	char id[SECRETS_ID_LEN + 1]; /* "": free */
	char path[SECRET_PATH_MAX + 1];
	enum secrets_kind kind;
	enum secrets_state state;
	const char *reason;                              /* of failed; static */
	uint32_t dialog;                                 /* that settles it; 0: none */
	uint64_t asked_at, until, settled_at, polled_at; /* loop_now(); 0: never */
};

struct requests {
	struct request row[REQUESTS_N];
	uint64_t opened[DIALOGS_A_MINUTE]; /* the last dialogs; 0: none */
};

/* Takes a row and an id. 0; -EBUSY: too many are pending, and in *ret_wait_s it may be
 * tried again; -EIO: no random bytes. */
int request_new(struct requests *, enum secrets_kind, const char *path, uint32_t ttl_s,
    uint64_t now, struct request **ret, uint32_t *ret_wait_s);
/* NULL: there is none with this id, or no longer. */
struct request *request_find(struct requests *, const char *id, uint64_t now);
/* Until when a pending request of this dialog waits; 0: none does. */
uint64_t requests_wait(struct requests *, uint32_t dialog, uint64_t now);
/* The requests of a dialog belong to another one. */
void requests_move(struct requests *, uint32_t from, uint32_t to);
void request_settle(
    struct request *, enum secrets_state, const char *reason, uint64_t now);
/* Settles every request of this dialog that is still pending. */
void requests_settle(struct requests *, uint32_t dialog, enum secrets_state,
    const char *reason, uint64_t now);
/* Notes a new dialog. 0, or the seconds after which one may be opened. */
uint32_t requests_dialog(struct requests *, uint64_t now);
/* What a poll reports. */
void request_poll(struct request *, uint64_t now, struct secrets_status *ret);

#endif
