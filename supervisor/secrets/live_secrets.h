/*
 * Queries the sources of the secrets that a manifest names, with a leash that starts no
 * server.
 */
#ifndef KENNEL_SUPERVISOR_SECRETS_LIVE_SECRETS_H
#define KENNEL_SUPERVISOR_SECRETS_LIVE_SECRETS_H

#include <stdbool.h>

#include "policy/manifests/manifests.h"
#include "supervisor/launch/leash_client.h"

struct live_secret {
	const struct meta *meta; /* borrowed */
	struct child_resolved has;
};

/*
 * Fills in what each source has. ask: requests the approvals that the manifest demands;
 * else those are RESOLVED_ASKS. Returns 0, or an exit status and why. The caller has
 * recorded the check.
 */
int live_secrets(struct live_secret *, size_t n, bool ask, char why[LEASH_TEXT_MAX]);
/* ok, missing, locked, status, asks */
const char *live_name(enum leash_resolved);

#endif
