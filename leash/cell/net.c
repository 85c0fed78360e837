/*
 * The cell's network: a loopback of its own, and nothing else.
 *
 * A network namespace is two thirds of what all of a cell's namespaces cost
 * (0.4 of 0.55 ms), so it is made beside the mounts, by a thread in all but
 * name: same memory, same descriptors, but a namespace of its own, which the
 * cell's first process then joins through the descriptor that is left behind.
 *
 *	net_begin	clone		the helper: unshare, ns_fd, exit
 *	...		mounts		meanwhile
 *	net_join	wait, setns	from here on the cell's; its loopback
 *
 * Process: the cell's first process and its helper.  The helper must never
 * allocate or keep anything in memory of its own: it shares errno too, but sets
 * it only when it fails, and then so does the start.  The only file that knows
 * libnl; plain libnl without its routing library, whose tables would be set up
 * for one message.
 */
#include <errno.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "leash/cell/private.h"
#include "shim/base/fd.h"

#define HELPER_STACK (32u << 10)
#define NET_LOOPBACK 1 /* its index in every net namespace */

#ifndef SIOCGSKNS
#define SIOCGSKNS 0x894C
#endif

/* What the helper leaves behind. */
struct made {
	int ns_fd;
	int error;
};

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

static int
loopback_up(void)
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
	return r < 0 ? errno_of(r) : 0;
}

static int
net_make(void *arg)
{
	struct made *made = arg;
	int sock;

	if (unshare(CLONE_NEWNET) < 0 ||
	    (sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) < 0) {
		made->error = -errno;
		return 1;
	}
	/* from the socket, because /proc may not be trusted or not be there */
	made->ns_fd = ioctl(sock, SIOCGSKNS);
	if (made->ns_fd < 0)
		made->error = -errno;
	close(sock);
	return made->error != 0;
}

static struct made made = {.ns_fd = -1};

int
net_begin(struct cell_child *c)
{
	static uint8_t stack[HELPER_STACK] __attribute__((aligned(16)));

	c->net_pid =
	    clone(net_make, stack + sizeof(stack), CLONE_VM | CLONE_FILES, &made);
	return c->net_pid < 0 ? cell_fault(c, -errno, "") : 0;
}

int
net_join(struct cell_child *c)
{
	int status = 0, r;

	/* It ends by itself, and all that it had but the namespace with it. */
	if (waitpid(c->net_pid, &status, __WALL) != c->net_pid)
		return cell_fault(c, -errno, "");
	r = made.error;
	if (r == 0 && (!WIFEXITED(status) || WEXITSTATUS(status) != 0))
		r = -EPROTO;
	if (r == 0 && setns(made.ns_fd, CLONE_NEWNET) < 0)
		r = -errno;
	fd_close(&made.ns_fd);
	if (r == 0)
		r = loopback_up();
	return r != 0 ? cell_fault(c, r, "") : 0;
}
