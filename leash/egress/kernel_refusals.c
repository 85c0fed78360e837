/*
 * Connections that the kernel refuses itself: the first packets to addresses
 * without a listener, and datagrams.  Raw sockets of the cell receive them (their
 * filters in leash/cell/sockets.c pass SYN without ACK, and datagrams except DNS,
 * to addresses other than 127.0.0.0/8 and ::1), and they are recorded.
 *
 * Process: kennel-egress.
 */
#include <netinet/in.h>
#include <string.h>

#include "leash/egress/private.h"
#include "policy/sealed/policy.h"

#define PACKETS_A_TURN 64
#define PACKET_HEAD    120 /* bytes; the longest IPv4 header and two ports */
#define DNS_PORT       53

/* The destination of a packet. */
struct target {
	uint8_t addr[ADDRESS_LEN];
	uint16_t port;
};

/* IPv4 packets include their header; an IPv6 address arrives as ancillary data. */
static bool
target_of(const uint8_t *packet, size_t len, struct msghdr *m, struct target *ret)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(m);
	size_t at = 0;

	if (c != NULL && c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO) {
		struct in6_pktinfo info;

		memcpy(&info, CMSG_DATA(c), sizeof(info));
		memcpy(ret->addr, &info.ipi6_addr, ADDRESS_LEN);
	} else {
		if (len < 20 || packet[0] >> 4 != 4)
			return false;
		at = 4 * (size_t)(packet[0] & 15);
		address_of_v4(packet + 16, ret->addr);
	}
	if (len < at + 4)
		return false;
	ret->port = (uint16_t)(packet[at + 2] << 8 | packet[at + 3]);
	return true;
}

static void
tell(struct relay *r, const struct target *t, bool datagram)
{
	struct egress_report e = {.row = EGRESS_NO_ROW,
	    .port = t->port,
	    .why = datagram ? EGRESS_DATAGRAM : EGRESS_NO_GRANT,
	    .has_addr = plan_number(t->addr) < 0};
	struct policy_net_ask ask = {e.name, 0, t->port};
	struct policy_answer a;
	int pool;

	memcpy(e.addr, t->addr, sizeof(e.addr));
	name_of_address(r, t->addr, t->port, e.name, &pool);
	ask.host_len = strlen(e.name);
	a = policy_match_net(&r->policy, r->server, &ask);
	if (!datagram && a.net != NULL) {
		e.row = (uint32_t)(a.net - r->policy.net);
		e.why = EGRESS_DENIED;
	} else if (!datagram && !e.has_addr)
		e.why = EGRESS_NO_PORT;
	tell_refused(r, &e);
}

static void
look(struct relay *r, int fd, bool datagram)
{
	char control[CMSG_SPACE(sizeof(struct in6_pktinfo))] __attribute__((aligned(8)));
	uint8_t packet[PACKET_HEAD];
	struct target t;
	ssize_t n;

	for (int i = 0; i < PACKETS_A_TURN; i++) {
		struct iovec iov = {packet, sizeof(packet)};
		struct msghdr m = {.msg_iov = &iov,
		    .msg_iovlen = 1,
		    .msg_control = control,
		    .msg_controllen = sizeof(control)};

		n = recvmsg(fd, &m, MSG_DONTWAIT);
		if (n < 0)
			return;
		if (!target_of(packet, (size_t)n, &m, &t) || plan_number(t.addr) == 0 ||
		    t.port == DNS_PORT || address_class_of(t.addr) == ADDRESS_LOOPBACK)
			continue; /* S is the cell's own, like loopback */
		if (datagram || !name_listened(r, t.addr, t.port))
			tell(r, &t, datagram);
	}
}

void
seen_tcp(struct relay *r, int fd)
{
	look(r, fd, false);
}

void
seen_udp(struct relay *r, int fd)
{
	look(r, fd, true);
}
