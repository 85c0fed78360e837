/*
 * The policy of a server, found by its name and loaded (policy_find.c, policy_found.c,
 * rollback.c).
 */
#ifndef KENNEL_SUPERVISOR_LAUNCH_FIND_POLICY_FOUND_H
#define KENNEL_SUPERVISOR_LAUNCH_FIND_POLICY_FOUND_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "leash/audit/writer.h"
#include "policy/sealed/policy.h"
#include "policy/sealed/signature.h"
#include "supervisor/audit/audit.h"
#include "supervisor/launch/find/held_packages.h"

#define SIGNERS_SHOWN 8 /* of a policy, in its record */

struct policy_found {
	struct policy policy;
	const struct sealed_server *server;
	int fd;    /* the sealed memfd that policy maps */
	bool text; /* compiled for this start; included files were read just now */
	/* for the record that it was loaded */
	char file[REPORT_TEXT_MAX];           /* where it was found */
	uint8_t sha256[REPORT_DIGEST_LEN];    /* of that file, as read */
	uint64_t counter;                     /* the signed version; 0: not signed */
	char signers[SIGNERS_SHOWN * 65 + 1]; /* their keys in hex, separated by spaces */
	char *source;                         /* that file, if it is text; owned */
	size_t source_len;
	struct held_packages held; /* what the server starts from is not removed */
};
/* Keeps the policy and its text next to the log, unless they are there already. True
 * if both are there. The log records in either case which policy is in force. */
bool policy_found_keep(struct policy_found *, const char *log_dir);
/* Adds the fields of that record, except those that all records of a server have. */
void policy_found_record(const struct policy_found *, struct event *);

/*
 * Finds the policy for server `name` in file (sealed or text) or, if file is NULL, by
 * the search order of kennel(1), POLICIES. Compiles text into a sealed memfd first.
 * Returns 0, or an exit status after printing the reason; why, if not NULL, gets it
 * as one line.
 */
int find_policy(const char *file, const char *name, struct policy_found *ret, char *why,
    size_t why_cap);
/* The same, but prints nothing: for a caller that has found the policy before. */
int find_policy_quietly(const char *file, const char *name, struct policy_found *ret);
/* The same for "kennel server pin": a text is compiled without its `pins` lines, whose
 * file may not exist yet. */
int find_policy_unpinned(const char *file, const char *name, struct policy_found *ret,
    char *why, size_t why_cap);
/* The same for this text, which kennel itself wrote: prints nothing. path: its name in
 * errors and records. */
int find_policy_text(const char *path, const char *text, const char *name,
    struct policy_found *ret, char *why, size_t why_cap);
/* Loads the same policy again, from a descriptor of its own: 0, or an exit status and
 * why. */
int policy_found_copy(
    const struct policy_found *, struct policy_found *ret, char *why, size_t why_cap);
void policy_found_free(struct policy_found *);

/* For policy_find.c: holds what the server starts from. 0, or -errno and why. */
int policy_found_hold(const struct policy *, const struct sealed_server *,
    struct held_packages *ret, char *why, size_t why_cap);

/* ---- rollback.c: protection against older policies ----------------------- */

/* Admits the policy of server `name`, signed so, and stores its version for each trusted
 * key that signed it. -ESTALE: a newer one that a trusted key signed was started before;
 * -EEXIST: a different one with this number was. What a key signed that is revoked or
 * trusted no more does not count. why: one line. */
int rollback_admit(const char *name, const struct signed_by *, const struct trust *,
    const uint8_t id[POLICY_ID_LEN], char *why, size_t why_cap);
/* The directory of the stored versions: 0 or -errno. */
int rollback_dir(char out[PATH_MAX]);
/* The same in this directory: for tests. */
int rollback_admit_in(const char *folder, const char *name, const struct signed_by *,
    const struct trust *, const uint8_t id[POLICY_ID_LEN], char *why, size_t why_cap);

#endif
