/*
 * Which users are connected to a page of loopback addresses: another user of the machine
 * gets a share of its connections, and cannot keep the person out.
 *
 * The owner of the other end is queried from the kernel (sock_diag(7)). If that is not
 * available, or the other end is closed already, the connection counts for no user.
 */
#ifndef KENNEL_SHIM_HOST_LOOPBACK_PEERS_H
#define KENNEL_SHIM_HOST_LOOPBACK_PEERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#define LOOPBACK_PEERS_MAX 128

struct loopback_peers {
	int diag;      /* a netlink socket; -1: it is not available */
	uint16_t port; /* of the page */
	unsigned int share;
	uint32_t next; /* the user of the connection that was taken last */
	uint32_t user[LOOPBACK_PEERS_MAX]; /* of each open connection */
};

/* share: connections of each user but this one. Drops CAP_NET_ADMIN of this process. Call it
 * before the process confines itself. */
void loopback_peers_open(struct loopback_peers *, uint16_t port, unsigned int share);
/* May this connection be taken? */
bool loopback_peers_take(struct loopback_peers *, const struct sockaddr *peer);
/* It is open: what loopback_peers_ended needs; NULL: nothing. */
uint32_t *loopback_peers_began(struct loopback_peers *);
void loopback_peers_ended(uint32_t *user);

#endif
