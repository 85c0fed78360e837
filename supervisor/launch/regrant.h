/*
 * Grants of the vault after an edit of the policy.
 */
#ifndef KENNEL_SUPERVISOR_LAUNCH_REGRANT_H
#define KENNEL_SUPERVISOR_LAUNCH_REGRANT_H

#include <stdbool.h>

#include "policy/sealed/policy.h"
#include "shim/base/buf.h"
#include "supervisor/launch/launch.h"

/*
 * A grant names one policy by its id, so an edited policy has none. After this start was
 * refused with -ESTALE: grants again what was granted to this server under an earlier policy, if the
 * semantic diff finds that the present one allows the server nothing more. Does nothing
 * for a signed policy. file: as for find_policy. True: something was granted, and a
 * start may succeed now; every failure was reported by the start.
 */
bool regrant(const struct opened *, const char *file);
/* Can it grant anything? */
bool regrant_possible(const struct policy_found *);

/* How a grant to a policy relates to the present policy. */
enum grant_state {
	GRANT_CURRENT,
	GRANT_NARROWER, /* the policy allows nothing more: a start grants it again */
	GRANT_WIDER,    /* the policy allows more */
	GRANT_UNKNOWN,  /* the earlier policy was not kept */
};
enum grant_state grant_compare(const struct policy *now, const struct sealed_server *,
    const uint8_t id[POLICY_ID_LEN], const char *log_dir);

/* The policy with this id, of this server, from the copy that is kept beside the log, without
 * its signatures: 0 or -errno. policy_found_free() after 0. */
int regrant_kept(
    const char *server, const uint8_t id[POLICY_ID_LEN], struct policy_found *ret);

/*
 * Before the grant of this policy is revoked: revokes the grants of the path to the
 * server from which a start under the policy would grant it again, and names them. The
 * grant of another policy that is in force stays. id: hex digits. 0 or an exit status:
 * then the policy's own grant stays, too.
 */
int regrant_revoke(const char *path, const char *server, const char *id);

/*
 * Runs "kennel secret" with these words (the last one NULL); what it prints goes to out.
 * Returns its exit status, or -errno.
 */
int regrant_run(const char *const *words, struct buf *out);

#endif
