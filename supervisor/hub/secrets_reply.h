/*
 * What the secrets tools answer, as compact JSON with its keys in a fixed order.
 *
 * No record here, and no struct meta, has a member that could hold a value; `kennel` is
 * not linked with the code that has one. So a reply cannot contain a value.
 */
#ifndef KENNEL_SUPERVISOR_HUB_SECRETS_REPLY_H
#define KENNEL_SUPERVISOR_HUB_SECRETS_REPLY_H

#include <stdbool.h>
#include <stdint.h>

#include "policy/manifests/manifests.h"
#include "shim/base/buf.h"

#define SECRETS_PROTOCOL     "1.0"
#define SECRETS_PROTOCOL_KEY "kennel/secrets-protocol"
#define SECRETS_TEXT_MAX     1024 /* a sentence for the agent */

/* One array: what passes the filter, sorted by path. 0; -ENOMEM, -EMSGSIZE. */
int secrets_reply_list(
    struct buf *, const struct metas *, const struct meta_filter *, uint32_t today);
/* One object: all that is known of one secret. Likewise. */
int secrets_reply_card(struct buf *, const struct meta *, uint32_t today);

/* ---- requests ---------------------------------------------------------------- */

#define SECRETS_ID_LEN 17 /* "prov-" and 12 hex digits */

enum secrets_kind {
	SECRETS_PROVISION,
	SECRETS_ROTATION,
	SECRETS_METADATA,
	SECRETS_NEW_PATH,
	SECRETS_USE,
	SECRETS_KIND_N
};
/* "use-approval" */
const char *secrets_kind_name(enum secrets_kind);

enum secrets_state {
	SECRETS_PENDING,
	SECRETS_OK,
	SECRETS_CANCELLED,
	SECRETS_EXPIRED,
	SECRETS_FAILED,
	SECRETS_ONCE,
	SECRETS_SESSION,
	SECRETS_REFUSED,
	SECRETS_STATE_N
};
/* "pending" */
const char *secrets_state_name(enum secrets_state);

struct secrets_status {
	const char *request_id, *path;
	enum secrets_kind kind;
	enum secrets_state state;
	const char *reason;      /* of failed */
	uint64_t age_s;          /* since it was asked */
	uint32_t retry_after_ms; /* 0: left out */
};
/* One object: the id of a new request. */
int secrets_reply_request(struct buf *, const char *request_id);
int secrets_reply_status(struct buf *, const struct secrets_status *);

/* ---- errors ----------------------------------------------------------------- */

enum secrets_fault {
	SECRETS_NOT_FOUND,
	SECRETS_INVALID_PATH,
	SECRETS_MERGE_FAILED,
	SECRETS_INVALID_ARGUMENTS,
	SECRETS_APPROVAL_NOT_REQUIRED,
	SECRETS_DENIED,
	SECRETS_TOO_MANY_REQUESTS,
	SECRETS_UNKNOWN_REQUEST,
	SECRETS_MISSING_SECRET,
	SECRETS_NOT_GRANTED, /* of the same kind: a person does something else about it */
	SECRETS_VAULT_LOCKED,
	SECRETS_UNSUPPORTED_VERSION,
	SECRETS_UNAVAILABLE,
	SECRETS_FAULT_N
};
/* "not-found" */
const char *secrets_fault_name(enum secrets_fault);

struct secrets_error {
	enum secrets_fault fault;
	char text[SECRETS_TEXT_MAX];    /* what the agent reads */
	char path[SECRET_PATH_MAX + 1]; /* a valid one; "": the error has none */
	uint32_t retry_after_s;         /* 0: not given */
};
/* One object: the error, and what an agent or a person does about it. */
int secrets_reply_error(struct buf *, const struct secrets_error *);

#endif
