/*
 * The refresh token of a server with `auth oauth2` (`grant code`): from the vault to
 * kennel-remote, and back when the issuer replaces it.
 */
#ifndef KENNEL_LEASH_REFRESH_H
#define KENNEL_LEASH_REFRESH_H

struct leash;
struct reason;

/*
 * Before the leash is confined: connects to the keeper, and adds the server's descriptor
 * to its environment.  Does nothing for any other server.  0 or -errno, and why.
 */
int refresh_begin(struct leash *, struct reason *why);
/* Serves kennel-remote from now on.  0 or -errno. */
int refresh_watch(struct leash *);
/* Records may have reached the disk: makes the request that waits for its own. */
void refresh_recorded(struct leash *);
void refresh_end(struct leash *);

#endif
