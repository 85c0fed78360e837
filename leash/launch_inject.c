/*
 * How a server gets a secret: as a variable, or as a file that a variable names.
 *
 * Process: the leash, before it confines itself.  Holds: one value at a time, as
 * what cannot be printed.  Must never give a value that the scrubber does not know.
 */
#include <errno.h>

#include "leash/launch.h"
#include "shim/base/log.h"

/* Two names for each number: the policy's, and the shim's. */
/* NOLINTBEGIN(misc-redundant-expression) */
_Static_assert(SECRET_FILE_FD == SHIM_FILE_FD, "where files begin");
_Static_assert(SECRET_FILES_MAX <= SHIM_FILES_MAX, "how many there are");
/* NOLINTEND(misc-redundant-expression) */

/*
 * What the server says is scrubbed of it.  A value that ordinary text has too would
 * mask that as well, and is no secret to who guesses: it is let in where the policy
 * says so, and a person is told.  Not what it is, in either case.
 */
int
secret_give(struct leash *l, const struct sealed_secret *row, const struct secret *value,
    uint32_t number, const char **ret_weak)
{
	const char *name = policy_str(&l->policy, row->name);
	const char *weak = scrub_weakness(value);
	int r;

	if (weak != NULL && (row->flags & SECRET_WEAK) == 0) {
		*ret_weak = weak;
		return -EINVAL;
	}
	if (weak != NULL)
		log_warn("%s is masked wherever it stands, also in ordinary text: %s",
		    name, weak);
	r = scrub_learn(l->scrub, value, number);
	if (r == 0 && (row->flags & SECRET_CREDENTIAL) != 0)
		return 0; /* its source's, and not the server's */
	if (r == 0 && (row->flags & SECRET_AS_FILE) != 0)
		return env_file(l->env, name, value);
	return r == 0 ? env_secret(l->env, name, value) : r;
}
