/*
 * The cell's network: a loopback of its own, and nothing else.
 *
 * Process: the cell's first process.  The only file that knows libnl; plain
 * libnl without its routing library, whose tables would be set up for one
 * message.
 */
#include <errno.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>

#include "leash/cell/step.h"

#define NET_LOOPBACK 1 /* its index in every net namespace */

/* What libnl says in its own numbers, as an errno. */
static const struct {
	int nl, error;
} errors[] = {
    {NLE_NOMEM, ENOMEM},
    {NLE_PERM, EPERM},
    {NLE_NOACCESS, EACCES},
    {NLE_NODEV, ENODEV},
    {NLE_AF_NOSUPPORT, EAFNOSUPPORT},
    {NLE_PROTO_MISMATCH, EPROTONOSUPPORT},
};

static int
errno_of(int nl)
{
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (errors[i].nl == -nl)
			return -errors[i].error;
	return -EPROTO;
}

int
net_loopback(struct cell_child *c)
{
	struct ifinfomsg link = {.ifi_family = AF_UNSPEC,
	    .ifi_index = NET_LOOPBACK,
	    .ifi_flags = IFF_UP,
	    .ifi_change = IFF_UP};
	struct nl_sock *sock = nl_socket_alloc();
	struct nl_msg *msg = nlmsg_alloc_simple(RTM_NEWLINK, 0);
	int r = -NLE_NOMEM;

	if (sock == NULL || msg == NULL)
		goto out;
	r = nlmsg_append(msg, &link, sizeof(link), NLMSG_ALIGNTO);
	if (r >= 0)
		r = nl_connect(sock, NETLINK_ROUTE);
	if (r >= 0)
		r = nl_send_auto(sock, msg);
	if (r >= 0)
		r = nl_wait_for_ack(sock);
out:
	nlmsg_free(msg);
	nl_socket_free(sock);
	return r < 0 ? cell_fault(c, errno_of(r), "the loopback") : 0;
}
