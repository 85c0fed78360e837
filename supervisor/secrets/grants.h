/*
 * Grants: uses of a secret that a person has allowed in this session.
 *
 * `once` is for one start within 60 s. `session` is for every start until the vault
 * changes or its keeper is another one. Both hold for the policies that the person was
 * shown, and for no others.
 */
#ifndef KENNEL_SUPERVISOR_SECRETS_GRANTS_H
#define KENNEL_SUPERVISOR_SECRETS_GRANTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "supervisor/hub/secrets_reply.h"

#define HOLDERS_MAX   16 /* servers of a session that hold one secret, as shown */
#define HOLDER_ID_LEN 32 /* bytes of a digest */
#define GRANT_ONCE_S  60
#define GRANTS_MAX    64

struct holder_ids {
	uint8_t id[HOLDERS_MAX][HOLDER_ID_LEN];
	size_t n;
};

struct secrets_grant {
	char path[SECRET_PATH_MAX + 1]; /* "": none */
	char request_id[SECRETS_ID_LEN + 1];
	bool session;
	uint64_t epoch; /* session: of the vault when it was given; 0: not known yet */
};

struct grants {
	struct grant {
		struct secrets_grant is;
		uint64_t since, until; /* loop_now(); until: of once */
		struct holder_ids covers;
	} grant[GRANTS_MAX];
	uint64_t epoch; /* of the vault, as last reported; 0: never */
};

/* now: loop_now(). A session grant is in force once grants_epoch() was called with an epoch
 * that was asked for after it. 0, or -ENOSPC. */
int grants_add(struct grants *, const struct secrets_grant *,
    const struct holder_ids *covers, uint64_t now);
/* The vault's epoch is this, as asked for at loop_now() `asked_at`; grants of another one
 * end. */
void grants_epoch(struct grants *, uint64_t epoch, uint64_t asked_at);
/* A person has allowed it for the session, and its epoch is not known yet: a start that
 * does not wait for grants_epoch() would ask the person again. */
bool grants_unknown(
    const struct grants *, const char *path, const uint8_t policy[HOLDER_ID_LEN]);
/* A person has refused the path: no grant for it is in force any more. */
void grants_drop(struct grants *, const char *path);
/* False: no grant for this path covers this policy. One for `once` is used up. */
bool grants_take(struct grants *, const char *path, const uint8_t policy[HOLDER_ID_LEN],
    uint64_t now, struct secrets_grant *ret);
/* Does one grant for the session cover all these policies? */
bool grants_hold(
    const struct grants *, const char *path, const struct holder_ids *, uint64_t now);

#endif
