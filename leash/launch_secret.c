/*
 * Gets one secret of a policy from the source in its line.
 *
 * Process: the leash, before it sandboxes itself.
 */
#include <errno.h>
#include <stdio.h>

#include "leash/launch.h"
#include "policy/sealed/policy.h"

int
secret_resolve_row(struct leash *l, const struct sealed_secret *row, struct secret **ret,
    struct reason *why)
{
	const char *ref = policy_str(&l->policy, row->ref);

	switch (row->source) {
	case SOURCE_ENV:
		return secret_from_env(l->vault, ref, ret, why);
	case SOURCE_FILE:
		return secret_from_file(l->vault, ref, ret, why);
	case SOURCE_CMD:
		return route_command(l, row, ret, why);
	case SOURCE_VAULT:
		return launch_vault_secret(l, row, ret, why);
	case SOURCE_PLUGIN:
		return route_plugin(l, row, ret, why);
	default:
		return reason_set(
		    why, -EOPNOTSUPP, "this version does not support this source");
	}
}

int
secret_resolve(struct leash *l, const struct sealed_secret *row, struct secret **ret,
    struct reason *why)
{
	return route_known(l, row, ret) ? 0 : secret_resolve_row(l, row, ret, why);
}
