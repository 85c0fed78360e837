#include "shim/host/loopback_peers.h"

#include <linux/capability.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shim/base/fd.h"

#define UNKNOWN UINT32_MAX /* (uid_t)-1 is no user */

/* With this capability, which root has, the socket could also end connections of others. */
static bool
drop_net_admin(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct set[_LINUX_CAPABILITY_U32S_3];
	struct __user_cap_data_struct *low = &set[CAP_TO_INDEX(CAP_NET_ADMIN)];

	/* early: capget capset */
	if (syscall(SYS_capget, &head, set) < 0)
		return false;
	low->effective &= ~CAP_TO_MASK(CAP_NET_ADMIN);
	low->permitted &= ~CAP_TO_MASK(CAP_NET_ADMIN);
	low->inheritable &= ~CAP_TO_MASK(CAP_NET_ADMIN);
	return syscall(SYS_capset, &head, set) == 0;
}

void
loopback_peers_open(struct loopback_peers *p, uint16_t port, unsigned int share)
{
	*p = (struct loopback_peers){.port = port, .share = share};
	/* early: socket */
	p->diag = !drop_net_admin()
		      ? -1
		      : socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
}

/* Names the socket at the other end: its own address is the peer's, its peer this page. */
static bool
name_socket(const struct sockaddr *peer, uint16_t port, struct inet_diag_req_v2 *ret)
{
	const struct in6_addr page = IN6ADDR_LOOPBACK_INIT;
	struct inet_diag_sockid *id = &ret->id;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;

	*ret = (struct inet_diag_req_v2){.sdiag_family = (uint8_t)peer->sa_family,
	    .sdiag_protocol = IPPROTO_TCP,
	    .idiag_states = UINT32_MAX,
	    .id.idiag_dport = htons(port),
	    .id.idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}};
	if (peer->sa_family == AF_INET) {
		memcpy(&v4, peer, sizeof(v4));
		id->idiag_sport = v4.sin_port;
		id->idiag_src[0] = v4.sin_addr.s_addr;
		id->idiag_dst[0] = htonl(INADDR_LOOPBACK);
		return true;
	}
	memcpy(&v6, peer, sizeof(v6));
	id->idiag_sport = v6.sin6_port;
	memcpy(id->idiag_src, &v6.sin6_addr, sizeof(id->idiag_src));
	memcpy(id->idiag_dst, &page, sizeof(id->idiag_dst));
	return peer->sa_family == AF_INET6;
}

/* Its user, or UNKNOWN. The kernel has answered when send() returns. */
static uint32_t
user_of(const struct loopback_peers *p, const struct sockaddr *peer)
{
	struct {
		struct nlmsghdr head;
		struct inet_diag_req_v2 body;
	} ask = {.head = {.nlmsg_len = sizeof(ask),
		     .nlmsg_type = SOCK_DIAG_BY_FAMILY,
		     .nlmsg_flags = NLM_F_REQUEST}};
	struct {
		struct nlmsghdr head;
		struct inet_diag_msg body;
		uint8_t more[1024]; /* attributes */
	} got;
	ssize_t n;

	if (p->diag < 0 || !name_socket(peer, p->port, &ask.body))
		return UNKNOWN;
	/* syscalls: sendto recvfrom */
	while (recv(p->diag, &got, sizeof(got), MSG_DONTWAIT) > 0)
		; /* nothing is left of an earlier one */
	if (send(p->diag, &ask, sizeof(ask), MSG_DONTWAIT) != (ssize_t)sizeof(ask))
		return UNKNOWN;
	n = recv(p->diag, &got, sizeof(got), MSG_DONTWAIT);
	if (n < (ssize_t)(sizeof(got.head) + sizeof(got.body)) ||
	    got.head.nlmsg_type != SOCK_DIAG_BY_FAMILY)
		return UNKNOWN;
	return got.body.idiag_uid;
}

bool
loopback_peers_take(struct loopback_peers *p, const struct sockaddr *peer)
{
	uint32_t user = user_of(p, peer);

	p->is_other = user != UNKNOWN && user != getuid();
	return !p->is_other || p->other_n < p->share;
}

unsigned int *
loopback_peers_began(struct loopback_peers *p)
{
	if (!p->is_other)
		return NULL;
	p->other_n++;
	return &p->other_n;
}

void
loopback_peers_ended(unsigned int *other_n)
{
	if (other_n != NULL)
		(*other_n)--;
}
