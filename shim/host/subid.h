/*
 * Subordinate ids: uids and gids that root delegates to a user (subuid(5)), so
 * that a server does not run as that user itself.  The user cannot take them
 * directly.  Two programs with root's privileges map them, for a process of the
 * user in its own user namespace (newuidmap(1), newgidmap(1)).
 */
#ifndef KENNEL_SHIM_HOST_SUBID_H
#define KENNEL_SHIM_HOST_SUBID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define SUBID_UIDS "/etc/subuid"
#define SUBID_GIDS "/etc/subgid"

struct subid {
	uint32_t uid, gid;
};

/*
 * The id that kennel uses for this user, from the text of /etc/subuid or
 * /etc/subgid: the last of the first range, because other programs take theirs
 * from its beginning.  name may be "". Never 0, never the user's own.
 */
bool subid_in(
    const char *text, size_t len, const char *name, uint32_t own, uint32_t *ret);

/*
 * Finds the ids delegated to this user.  0; -errno with what is missing in
 * *ret_why.
 */
int subid_find(uid_t user, struct subid *ret, const char **ret_why);

/*
 * Maps this one uid and gid, to themselves, in the user namespace of our child.
 * The child was just created there, is dumpable, and has no maps.  Returns like
 * subid_find.
 */
int subid_map(pid_t child, const struct subid *, const char **ret_why);

#endif
