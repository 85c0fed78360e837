/*
 * The cell's network: a loopback of its own, and nothing else.
 *
 * Every address is local to it: a route covers all of IPv4 and IPv6, so a
 * connection to any address is either accepted by one of kennel's listeners or
 * refused at once.  The loopback also has an address of global scope, since
 * resolvers request no IPv4 addresses on a machine without one.  Packets have it as
 * their source address: if they used their destination address, a connection could
 * be made to itself.
 *
 * A network namespace costs two thirds of all namespaces of a cell (0.4 of 0.55
 * ms), so it is created in parallel to the mounts, by a helper that is a thread in
 * all but name: same memory, same descriptors, but a namespace of its own.  The
 * cell's first process then joins the namespace through its descriptor.
 *
 *	net_begin	clone		the helper: unshare, ns_fd, exit
 *	...		mounts		meanwhile
 *	net_join	wait, setns	now the cell's namespace; its loopback
 *
 * Process: the cell's first process and its helper.  The helper must never allocate
 * or keep anything in memory of its own.  It shares errno too, but sets it only
 * when it fails, and then the start also fails.  The only file that uses libnl;
 * plain libnl without its routing library, whose tables would be set up for one
 * message.
 */
#include <errno.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netlink/attr.h>
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
#include "leash/egress/plan.h"
#include "shim/base/array.h"
#include "shim/base/fd.h"

#define HELPER_STACK (32u << 10)
#define NET_LOOPBACK 1 /* interface index, the same in every net namespace */

#ifndef SIOCGSKNS
#define SIOCGSKNS 0x894C
#endif

/* The helper's result. */
struct made {
	int ns_fd;
	int error;
};

/* libnl's error numbers as errno. */
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
	for (size_t i = 0; i < ARRAY_LEN(errors); i++)
		if (errors[i].nl == -nl)
			return -errors[i].error;
	return -EPROTO;
}

/* One request, and the kernel's acknowledgement. */
struct request {
	int type, flags;
	const void *head;
	size_t head_len;
	struct {
		int type;
		const void *at;
		int len;
	} attr[4];
};

static int
ask(struct nl_sock *sock, const struct request *q)
{
	struct nl_msg *msg = nlmsg_alloc_simple(q->type, q->flags);
	int r = -NLE_NOMEM;

	if (msg == NULL)
		return r;
	r = nlmsg_append(msg, (void *)(uintptr_t)q->head, q->head_len, NLMSG_ALIGNTO);
	for (size_t i = 0; r >= 0 && i < ARRAY_LEN(q->attr); i++)
		if (q->attr[i].at != NULL)
			r = nla_put(msg, q->attr[i].type, q->attr[i].len, q->attr[i].at);
	if (r >= 0)
		r = nl_send_auto(sock, msg);
	if (r >= 0)
		r = nl_wait_for_ack(sock);
	nlmsg_free(msg);
	return r;
}

static int
loopback_up(struct nl_sock *sock)
{
	const struct ifinfomsg link = {.ifi_family = AF_UNSPEC,
	    .ifi_index = NET_LOOPBACK,
	    .ifi_flags = IFF_UP,
	    .ifi_change = IFF_UP};
	const struct request q = {RTM_NEWLINK, 0, &link, sizeof(link), {{0}}};

	return ask(sock, &q);
}

static int
add_address(struct nl_sock *sock, const uint8_t source[4])
{
	const struct ifaddrmsg addr = {.ifa_family = AF_INET,
	    .ifa_prefixlen = 32,
	    .ifa_scope = RT_SCOPE_UNIVERSE,
	    .ifa_index = NET_LOOPBACK};
	const struct request q = {RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, &addr,
	    sizeof(addr), {{IFA_LOCAL, source, 4}, {IFA_ADDRESS, source, 4}}};

	return ask(sock, &q);
}

/* source may be NULL. */
static int
add_route(struct nl_sock *sock, unsigned char family, const uint8_t source[4])
{
	static const uint32_t out = NET_LOOPBACK;
	const struct rtmsg route = {.rtm_family = family,
	    .rtm_table = RT_TABLE_LOCAL,
	    .rtm_protocol = RTPROT_BOOT,
	    .rtm_scope = RT_SCOPE_HOST,
	    .rtm_type = RTN_LOCAL};
	const struct request q = {RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, &route,
	    sizeof(route), {{RTA_OIF, &out, sizeof(out)}, {RTA_PREFSRC, source, 4}}};

	return ask(sock, &q);
}

static int
configure(bool relay)
{
	uint8_t source[ADDRESS_LEN];
	struct nl_sock *sock = nl_socket_alloc();
	int r = -NLE_NOMEM;

	if (sock == NULL)
		return errno_of(r);
	plan_address(0, source);
	r = nl_connect(sock, NETLINK_ROUTE);
	if (r >= 0)
		r = loopback_up(sock);
	if (r >= 0 && relay)
		r = add_address(sock, source + 12);
	if (r >= 0 && relay)
		r = add_route(sock, AF_INET, source + 12);
	/* On a machine without IPv6, connections to it fail anyway. */
	if (r >= 0 && relay)
		(void)add_route(sock, AF_INET6, NULL);
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
	/* from the socket, because /proc may be untrusted or missing */
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

	/* The helper exits by itself, and only the namespace remains. */
	if (waitpid(c->net_pid, &status, __WALL) != c->net_pid)
		return cell_fault(c, -errno, "");
	r = made.error;
	if (r == 0 && (!WIFEXITED(status) || WEXITSTATUS(status) != 0))
		r = -EPROTO;
	if (r == 0 && setns(made.ns_fd, CLONE_NEWNET) < 0)
		r = -errno;
	fd_close(&made.ns_fd);
	if (r == 0)
		r = configure(c->order->has_relay);
	return r != 0 ? cell_fault(c, r, "") : 0;
}
