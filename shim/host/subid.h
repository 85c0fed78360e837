/*
 * Subordinate ids: uids and gids that root lends to a user (subuid(5)), so that
 * what it starts is not that user itself.  The user cannot take them; two
 * programs with root's power do, for a process of the user's in a user namespace
 * of its own (newuidmap(1), newgidmap(1)).
 */
#ifndef KENNEL_BASE_SUBID_H
#define KENNEL_BASE_SUBID_H

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
 * The id of this user that kennel takes, in the text of /etc/subuid or
 * /etc/subgid: the last of the first range, because other programs take theirs
 * from its beginning.  name may be "".  Never 0, never the user's own.
 */
bool subid_in(
    const char *text, size_t len, const char *name, uint32_t own, uint32_t *ret);

/* What this user has been lent.  0; -errno, and *ret_why is what is missing. */
int subid_find(uid_t user, struct subid *ret, const char **ret_why);

/*
 * Map this one uid and gid, to themselves, in the user namespace of a child of
 * ours that was just made there, is dumpable, and has no maps.  As above.
 */
int subid_map(pid_t child, const struct subid *, const char **ret_why);

#endif
