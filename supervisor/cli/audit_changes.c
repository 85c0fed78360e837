/*
 * What "kennel audit changes --diff" shows for a change: the exact difference of the two
 * policies (policy/diff), as they were in force.  They are kept next to the log by their
 * digests, which the log's records contain.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "policy/cli/policy_main.h"
#include "policy/sealed/policy.h"
#include "supervisor/audit/log/kept_policies.h"
#include "supervisor/audit/query/query.h"
#include "supervisor/cli/cli.h"

struct kept {
	struct policy policy;
	char *bytes; /* the policy refers to them; NULL: not loaded */
};

static int
kept_read(const char *log_dir, const uint8_t id[MERKLE_HASH_LEN], struct kept *ret)
{
	char *bytes = NULL, why[256];
	size_t len;
	int r = policies_get(log_dir, POLICIES_SEALED, id, &bytes, &len);

	if (r == 0)
		r = policy_load_bytes(
		    (const uint8_t *)bytes, len, &ret->policy, why, sizeof(why));
	if (r < 0)
		free(bytes);
	else
		ret->bytes = bytes;
	return r;
}

static void
kept_free(struct kept *k)
{
	if (k->bytes != NULL)
		policy_unload(&k->policy);
	free(k->bytes);
}

/* Why there is no answer. */
static const char *
missing(int r, const char *none, const char *damaged)
{
	return r == -ENOENT ? none : r == -ENOMEM ? "not enough memory" : damaged;
}

static const char *
compare(const struct policy *old, const struct policy *new, char **ret_text)
{
	char *text = NULL;
	bool wider = false;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	int r = -ENOMEM;

	if (f != NULL) {
		r = policy_diff_print(f, old, new, &wider);
		if (fclose(f) != 0)
			r = -ENOMEM;
	}
	if (r < 0) {
		free(text);
		return "not enough memory";
	}
	*ret_text = text;
	return wider ? "wider" : len > 0 ? "not wider" : "no difference";
}

const char *
changes_diff(const char *log_dir, const uint8_t before[MERKLE_HASH_LEN],
    const uint8_t after[MERKLE_HASH_LEN], char **ret_text)
{
	struct kept old = {.bytes = NULL}, new = {.bytes = NULL};
	const char *what;
	int r = kept_read(log_dir, before, &old);

	if (r < 0) {
		what = missing(r, "unknown: the policy before is not kept",
		    "unknown: the kept policy before is damaged");
		goto out;
	}
	r = kept_read(log_dir, after, &new);
	what = r < 0 ? missing(r, "unknown: the policy is not kept",
			   "unknown: the kept policy is damaged")
		     : compare(&old.policy, &new.policy, ret_text);
out:
	kept_free(&old);
	kept_free(&new);
	return what;
}
