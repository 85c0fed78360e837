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
 * ms), and its loopback and sockets 0.4 ms more. So a helper makes all of them in
 * parallel to the mounts: a child with memory of its own, but the same descriptors.
 * The cell's first process then joins the namespace through its descriptor.
 *
 *	net_begin	fork		the helper: unshare, ns_fd, loopback,
 *	...		mounts		CELL_SOCKETS, exit
 *	net_join	wait, setns	now the cell's namespace
 *	net_listening			reports what the helper could not open
 *
 * Process: the cell's first process and its helper, which has the same rights, and
 * has ended before anything of the server's exists. The only file that uses libnl;
 * plain libnl without its routing library, whose tables would be set up for one
 * message.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "leash/cell/private.h"
#include "leash/egress/plan.h"
#include "shim/base/array.h"
#include "shim/base/fd.h"

#define NET_LOOPBACK 1 /* interface index, the same in every net namespace */

#ifndef SIOCGSKNS
#define SIOCGSKNS 0x894C
#endif

/* The helper's result, in memory that both have. */
struct made {
	int ns_fd;
	int sys_fd;       /* the host's /proc/sys, while the mounts change; -1: none */
	int error;        /* of the namespace and its loopback */
	int listen_error; /* of the sockets, and what it is about: */
	char object[CELL_OBJECT_MAX];
	struct sealed_at at;
	const char *hint; /* a literal: both processes have it at the same place */
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
new_namespace(int *ret_fd)
{
	int sock, fd;

	if (unshare(CLONE_NEWNET) < 0 ||
	    (sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) < 0)
		return -errno;
	/* from the socket, because /proc may be untrusted or missing */
	fd = ioctl(sock, SIOCGSKNS);
	if (fd >= 0)
		*ret_fd = fd;
	else
		fd = -errno;
	close(sock);
	return fd < 0 ? fd : 0;
}

/*
 * The kernel counts TCP's buffers for the whole machine, and a connection could have
 * megabytes of them.  These limits belong to the namespace; twice the usual rmem_max is
 * what a program gets by asking.
 */
static int
bound_buffers(int sys_fd)
{
	static const struct {
		const char *path, *text;
	} bounds[] = {
	    {"net/ipv4/tcp_rmem", "4096 131072 425984\n"},
	    {"net/ipv4/tcp_wmem", "4096 16384 425984\n"},
	};
	int r = 0;

	for (size_t i = 0; r == 0 && sys_fd >= 0 && i < ARRAY_LEN(bounds); i++) {
		r = cell_put_at(sys_fd, bounds[i].path, bounds[i].text);
		if (r == -ENOENT)
			r = 0; /* a kernel without TCP */
	}
	return r;
}

static _Noreturn void
net_make(struct cell_child *c, struct made *made)
{
	mount_room();
	made->error = new_namespace(&made->ns_fd);
	if (made->error == 0)
		made->error = bound_buffers(made->sys_fd);
	if (made->error == 0)
		made->error = configure(c->order->has_relay);
	if (made->error == 0)
		made->listen_error = sockets_open(c);
	if (made->listen_error != 0) {
		(void)snprintf(made->object, sizeof(made->object), "%s", c->object);
		made->at = c->at;
		made->hint = c->hint;
	}
	_exit(0);
}

int
net_begin(struct cell_child *c)
{
	struct made *made = mmap(NULL, sizeof(*made), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	long pid;

	if (made == MAP_FAILED)
		return cell_fault(c, -errno, "");
	*made = (struct made){
	    .ns_fd = -1, .sys_fd = open("/proc/sys", O_PATH | O_DIRECTORY | O_CLOEXEC)};
	/* The kernel's call: fork(3) would run what a library registered for it, and has no
	 * shared descriptors. No signal: nothing else waits for it. */
	pid = syscall(SYS_clone, CLONE_FILES, NULL, NULL, NULL, 0);
	if (pid == 0)
		net_make(c, made);
	if (pid < 0)
		return cell_fault(c, -errno, "");
	c->net_pid = (pid_t)pid;
	c->made = made;
	return 0;
}

int
net_join(struct cell_child *c)
{
	struct made *made = c->made;
	int status = 0, r;

	/* The helper exits by itself, and only the namespace and its sockets remain. */
	if (waitpid(c->net_pid, &status, __WALL) != c->net_pid)
		return cell_fault(c, -errno, "");
	fd_close(&made->sys_fd);
	r = made->error;
	if (r == 0 && (!WIFEXITED(status) || WEXITSTATUS(status) != 0))
		r = -EPROTO;
	if (r == 0 && setns(made->ns_fd, CLONE_NEWNET) < 0)
		r = -errno;
	fd_close(&made->ns_fd);
	return r != 0 ? cell_fault(c, r, "") : 0;
}

int
net_listening(struct cell_child *c)
{
	const struct made *made = c->made;

	c->hint = made->hint;
	return made->listen_error == 0
		   ? 0
		   : cell_blame(c, made->listen_error, made->object, made->at);
}
