/*
 * Whose the connections to a page of loopback addresses are: all other users of the machine
 * together get a share of them, and cannot keep the person out.
 *
 * The owner of the other end is queried from the kernel (sock_diag(7)). If that is not
 * available, or the other end is closed already, the connection counts as the person's.
 */
#ifndef KENNEL_SHIM_HOST_LOOPBACK_PEERS_H
#define KENNEL_SHIM_HOST_LOOPBACK_PEERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct loopback_peers {
	int diag;                    /* a netlink socket; -1: it is not available */
	uint16_t port;               /* of the page */
	unsigned int share, other_n; /* connections of other users: at most, and now */
	bool is_other;               /* the connection that was taken last */
};

/* share: connections of all users but this one. Drops CAP_NET_ADMIN of this process. Call it
 * before the process confines itself. */
void loopback_peers_open(struct loopback_peers *, uint16_t port, unsigned int share);
/* May this connection be taken? */
bool loopback_peers_take(struct loopback_peers *, const struct sockaddr *peer);
/* It is open: what loopback_peers_ended needs; NULL: nothing. */
unsigned int *loopback_peers_began(struct loopback_peers *);
void loopback_peers_ended(unsigned int *);

#endif
