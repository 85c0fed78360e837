/*
 * The sockets on which kennel-egress serves the cell (leash/egress/plan.h).  They
 * can only be made in the cell's network, and are sent out before the server's
 * limits are set and its capabilities dropped.
 *
 * Process: the helper that makes the cell's network.  Trusts the sealed policy.  Must never set
 * SO_REUSEPORT: the server could then take connections away from kennel.
 */
#include <errno.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "leash/cell/private.h"
#include "leash/egress/plan.h"
#include "shim/base/array.h"
#include "shim/base/fd.h"

#define BACKLOG    1024
#define SEEN_BYTES (64 << 10) /* bytes of packets not yet read */
#define DNS_PORT   53

/* linux/in6.h and netinet/in.h conflict. */
#ifndef IPV6_FREEBIND
#define IPV6_FREEBIND 78
#endif

/* Descriptors to send, and marks for those that are missing. */
struct batch {
	struct cell_child *c;
	uint8_t there[WIRE_FDS_MAX];
	int fd[WIRE_FDS_MAX];
	size_t n, fd_n;
};

static int
batch_send(struct batch *b)
{
	uint8_t memory[CELL_PACKET_MAX];
	struct wire_out out;
	int r;

	if (b->n == 0)
		return 0;
	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, CELL_SOCKETS);
	wire_put_bytes(&out, b->there, b->n);
	r = wire_send(b->c->channel, &out, b->fd, b->fd_n);
	while (b->fd_n > 0)
		fd_close(&b->fd[--b->fd_n]);
	b->n = 0;
	return r;
}

/* fd, or the reason it is missing. */
static int
batch_add(struct batch *b, int fd)
{
	b->there[b->n++] = fd >= 0;
	if (fd >= 0)
		b->fd[b->fd_n++] = fd;
	return b->n == WIRE_FDS_MAX ? batch_send(b) : 0;
}

/* ---- the sockets -------------------------------------------------------------- */

struct name {
	union {
		struct sockaddr any;
		struct sockaddr_in four;
		struct sockaddr_in6 six;
	} at;
	socklen_t len;
	int family;
};

static struct name
name_of(const uint8_t addr[ADDRESS_LEN], uint16_t port)
{
	struct name n = {.family = address_is_v4(addr) ? AF_INET : AF_INET6};

	if (n.family == AF_INET) {
		n.at.four.sin_family = AF_INET;
		n.at.four.sin_port = htons(port);
		memcpy(&n.at.four.sin_addr, addr + 12, 4);
		n.len = sizeof(n.at.four);
	} else {
		n.at.six.sin6_family = AF_INET6;
		n.at.six.sin6_port = htons(port);
		memcpy(&n.at.six.sin6_addr, addr, ADDRESS_LEN);
		n.len = sizeof(n.at.six);
	}
	return n;
}

static int
set(int fd, int level, int option, int value)
{
	return setsockopt(fd, level, option, &value, sizeof(value)) < 0 ? -errno : 0;
}

/* A socket bound to an address; a descriptor or -errno. */
static int
bound(const uint8_t addr[ADDRESS_LEN], uint16_t port, int type)
{
	struct name n = name_of(addr, port);
	int fd = socket(n.family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), r = 0;

	if (fd < 0)
		return -errno;
	if (n.family == AF_INET6) {
		r = set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
		/* a route alone does not allow binding to an IPv6 address */
		if (r == 0)
			r = set(fd, IPPROTO_IPV6, IPV6_FREEBIND, 1);
	}
	/* a reply is sent from the address of the request */
	if (r == 0 && type == SOCK_DGRAM)
		r = n.family == AF_INET ? set(fd, IPPROTO_IP, IP_PKTINFO, 1)
					: set(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1);
	if (r == 0 && bind(fd, &n.at.any, n.len) < 0)
		r = -errno;
	if (r == 0 && type == SOCK_STREAM && listen(fd, BACKLOG) < 0)
		r = -errno;
	if (r < 0) {
		(void)close(fd);
		return r;
	}
	return fd;
}

#define LOAD_BYTE(k)   BPF_STMT(BPF_LD | BPF_B | BPF_ABS, (k))
#define LOAD_BYTE_X(k) BPF_STMT(BPF_LD | BPF_B | BPF_IND, (k))
#define LOAD_HALF(k)   BPF_STMT(BPF_LD | BPF_H | BPF_ABS, (k))
#define LOAD_HALF_X(k) BPF_STMT(BPF_LD | BPF_H | BPF_IND, (k))
#define SKIP_IPV4      BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, 0)
#define IF(k, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (k), (yes), (no))
#define AND(k)         BPF_STMT(BPF_ALU | BPF_AND | BPF_K, (k))
#define TAKE           BPF_STMT(BPF_RET | BPF_K, 0xffff)
#define DROP           BPF_STMT(BPF_RET | BPF_K, 0)
#define TO_NET         16 /* IPv4 header: first byte of the destination */
#define TO_PORT        2  /* offset in the TCP and UDP header */
#define TCP_FLAGS      13
#define SYN            0x02
#define SYN_ACK        0x12

/* IPv4 packets arrive with their IP header, IPv6 packets without. */
static struct sock_filter tcp4[] = {LOAD_BYTE(TO_NET), IF(127, 4, 0), SKIP_IPV4,
    LOAD_BYTE_X(TCP_FLAGS), AND(SYN_ACK), IF(SYN, 1, 0), DROP, TAKE};
static struct sock_filter udp4[] = {LOAD_BYTE(TO_NET), IF(127, 3, 0), SKIP_IPV4,
    LOAD_HALF_X(TO_PORT), IF(DNS_PORT, 0, 1), DROP, TAKE};
static struct sock_filter tcp6[] = {
    LOAD_BYTE(TCP_FLAGS), AND(SYN_ACK), IF(SYN, 1, 0), DROP, TAKE};
static struct sock_filter udp6[] = {LOAD_HALF(TO_PORT), IF(DNS_PORT, 0, 1), DROP, TAKE};

/* A raw socket for packets that no listener accepts; a descriptor or -errno. */
static int
seen(bool six, bool tcp)
{
	struct sock_fprog program[2][2] = {
	    {{ARRAY_LEN(udp4), udp4}, {ARRAY_LEN(tcp4), tcp4}},
	    {{ARRAY_LEN(udp6), udp6}, {ARRAY_LEN(tcp6), tcp6}}};
	int fd = socket(six ? AF_INET6 : AF_INET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK,
	    tcp ? IPPROTO_TCP : IPPROTO_UDP);
	int r = 0;

	if (fd < 0)
		return -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program[six][tcp],
		sizeof(program[six][tcp])) < 0)
		r = -errno;
	if (r == 0)
		r = set(fd, SOL_SOCKET, SO_RCVBUF, SEEN_BYTES);
	if (r == 0 && six)
		r = set(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1);
	if (r < 0) {
		(void)close(fd);
		return r;
	}
	return fd;
}

static int
other(bool six, enum plan_socket which)
{
	static const uint8_t any4[ADDRESS_LEN] = {[10] = 0xff, [11] = 0xff};
	static const uint8_t any6[ADDRESS_LEN];
	const uint8_t *any = six ? any6 : any4;

	switch (which) {
	case PLAN_DNS_UDP:
		return bound(any, DNS_PORT, SOCK_DGRAM);
	case PLAN_DNS_TCP:
		return bound(any, DNS_PORT, SOCK_STREAM);
	default:
		return seen(six, which == PLAN_SEEN_TCP);
	}
}

/* ---- the order ----------------------------------------------------------------- */

static bool
six_lacks(int error)
{
	return error == -EAFNOSUPPORT || error == -EADDRNOTAVAIL || error == -ENOPROTOOPT;
}

/* IPv6 sockets may be missing on a machine without IPv6, as no packet arrives there. */
static int
add(struct batch *b, int fd, bool six, const char *what, struct sealed_at at)
{
	int r;

	if (fd < 0 && !(six && six_lacks(fd)))
		return cell_blame(b->c, fd, what, at);
	r = batch_add(b, fd);
	return r < 0 ? cell_fault(b->c, r, what) : 0;
}

int
sockets_open(struct cell_child *c)
{
	static struct plan plan;
	struct batch b = {.c = c};
	struct sealed_at at = {0, 0};
	char what[CELL_OBJECT_MAX], text[ADDRESS_TEXT_MAX];
	int r = 0;

	if (!c->order->has_relay)
		return 0;
	r = plan_make(c->order->policy, c->order->server, &plan, &at);
	if (r < 0) {
		c->hint = "too many names and ports; at most 64 ports in one grant, and "
			  "1024 in all";
		return cell_blame(c, r, "net", at);
	}
	for (size_t i = 0; r == 0 && i < plan.listener_n; i++) {
		const struct plan_listener *l = &plan.listener[i];

		snprintf(what, sizeof(what), "port %u of %s", l->port,
		    address_text(l->addr, text));
		r = add(&b, bound(l->addr, l->port, SOCK_STREAM), !address_is_v4(l->addr),
		    what, (struct sealed_at){0, 0});
	}
	for (int six = 0; six <= 1; six++)
		for (int i = 0; r == 0 && i < PLAN_SOCKET_END; i++)
			r = add(&b, other(six != 0, (enum plan_socket)i), six != 0,
			    "the resolver's port", (struct sealed_at){0, 0});
	if (r == 0 && (r = batch_send(&b)) < 0)
		r = cell_fault(c, r, "");
	return r;
}
