/*
 * One secret of a policy: from where its line says.
 *
 * Process: the leash, before it confines itself.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "leash/vaulted.h"

static int
secret_from_args(struct leash *l, const struct sealed_secret *row, struct secret **ret,
    char *why, size_t why_cap)
{
	const char **argv = calloc((size_t)row->args.n + 1, sizeof(*argv));
	int r;

	if (argv == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < row->args.n; i++)
		argv[i] = policy_str(&l->policy, l->policy.arg[row->args.first + i].text);
	r = secret_from_cmd(
	    l->vault, argv, row->flags & (uint32_t)SECRET_OF_CMD, ret, why, why_cap);
	free(argv);
	return r;
}

int
secret_resolve(struct leash *l, const struct sealed_secret *row, struct secret **ret,
    char *why, size_t why_cap)
{
	const char *ref = policy_str(&l->policy, row->ref);

	switch (row->source) {
	case SOURCE_ENV:
		return secret_from_env(l->vault, ref, ret, why, why_cap);
	case SOURCE_FILE:
		return secret_from_file(l->vault, ref, ret, why, why_cap);
	case SOURCE_CMD:
		return secret_from_args(l, row, ret, why, why_cap);
	case SOURCE_VAULT:
		return vaulted_secret(l, row, ret, why, why_cap);
	default:
		(void)snprintf(why, why_cap, "this source is not in this version");
		return -EOPNOTSUPP;
	}
}
