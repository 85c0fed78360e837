/*
 * How a server gets a secret: as a variable, or as a file named by a variable.
 *
 * Process: the leash, before it sandboxes itself.  Holds: one value at a time, as a
 * type that cannot be printed.  Must never give a value that the scrubber does not
 * know.
 */
#include <errno.h>

#include "leash/launch.h"
#include "policy/sealed/policy.h"
#include "shim/base/log.h"

/* The policy's and the shim's names for the same numbers. */
/* NOLINTBEGIN(misc-redundant-expression) */
_Static_assert(SECRET_FILE_FD == SHIM_FILE_FD, "where files begin");
_Static_assert(SECRET_FILES_MAX <= SHIM_FILES_MAX, "how many there are");
/* NOLINTEND(misc-redundant-expression) */

/*
 * The value is redacted from the server's output.  A value that also occurs in
 * ordinary text would redact that too, and can be guessed: it is accepted only if
 * the policy permits it, and the user gets a warning, which never contains the
 * value.
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
		log_warn(
		    "%s is redacted everywhere, also in ordinary text: %s", name, weak);
	if (scrub_trims(value))
		log_warn("secret `%s` begins or ends with white space or a byte order "
			 "mark, which servers trim: redacting it with and without; store "
			 "it without",
		    name);
	r = scrub_learn(l->scrub, value, number);
	if (r == 0 && (row->flags & SECRET_CREDENTIAL) != 0)
		return 0; /* for its source only, not for the server */
	if (r == 0 && (row->flags & SECRET_AS_FILE) != 0)
		return env_file(l->env, name, value);
	return r == 0 ? env_secret(l->env, name, value) : r;
}
