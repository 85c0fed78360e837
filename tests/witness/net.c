/* Sockets by family, and where they reach (witness.h). */
#include "shim/base/array.h"
#include "tests/witness/witness.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#ifndef AF_VSOCK
#define AF_VSOCK 40
#endif

static void
try_family(const char *name, int family, int type, int protocol)
{
	int fd = socket(family, type | SOCK_CLOEXEC, protocol);

	witness_say(name, fd < 0 ? -errno : 0);
	if (fd >= 0)
		close(fd);
}

int
verb_sockets(int argc, char **argv)
{
	static const struct {
		const char *name;
		int family, type, protocol;
	} kinds[] = {
	    {"unix", AF_UNIX, SOCK_STREAM, 0},
	    {"inet_tcp", AF_INET, SOCK_STREAM, 0},
	    {"inet_udp", AF_INET, SOCK_DGRAM, 0},
	    {"inet6_tcp", AF_INET6, SOCK_STREAM, 0},
	    {"inet_raw", AF_INET, SOCK_RAW, IPPROTO_ICMP},
	    {"inet_icmp", AF_INET, SOCK_DGRAM, IPPROTO_ICMP},
	    {"inet_mptcp", AF_INET, SOCK_STREAM, 262},
	    {"inet_sctp", AF_INET, SOCK_STREAM, 132},
	    {"inet_dccp", AF_INET, 6, 0},
	    {"inet_l2tp", AF_INET, SOCK_DGRAM, 115},
	    {"netlink_route", AF_NETLINK, SOCK_RAW, 0},
	    {"netlink_netfilter", AF_NETLINK, SOCK_RAW, 12},
	    {"netlink_audit", AF_NETLINK, SOCK_RAW, 9},
	    {"packet", AF_PACKET, SOCK_RAW, 0},
	    {"vsock", AF_VSOCK, SOCK_STREAM, 0},
	    {"alg", AF_ALG, SOCK_SEQPACKET, 0},
	    {"bluetooth", AF_BLUETOOTH, SOCK_RAW, 0},
	    {"can", AF_CAN, SOCK_RAW, 1},
	    {"tipc", AF_TIPC, SOCK_RDM, 0},
	    {"rds", AF_RDS, SOCK_SEQPACKET, 0},
	    {"xdp", AF_XDP, SOCK_RAW, 0},
	    {"key", AF_KEY, SOCK_RAW, 2},
	    {"qipcrtr", AF_QIPCRTR, SOCK_DGRAM, 0},
	    {"smc", 43, SOCK_STREAM, 0},
	};

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		try_family(
		    kinds[i].name, kinds[i].family, kinds[i].type, kinds[i].protocol);
	return 0;
}

/* Connect within a second. */
static int
dial(int fd, const struct sockaddr *a, socklen_t len)
{
	struct pollfd p = {fd, POLLOUT, 0};
	int e = 0;
	socklen_t e_len = sizeof(e);

	(void)fcntl(fd, F_SETFL, O_NONBLOCK); /* poll bounds the wait */
	if (connect(fd, a, len) == 0)
		return 0;
	if (errno != EINPROGRESS)
		return -errno;
	if (poll(&p, 1, 1000) == 0)
		return -ETIMEDOUT;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &e, &e_len) < 0)
		return -errno;
	return -e;
}

static int
inet(int argc, char **argv, int type, const char *name)
{
	struct sockaddr_in a = {.sin_family = AF_INET};
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	if (argc < 2 || inet_pton(AF_INET, argv[0], &a.sin_addr) != 1)
		return 64;
	a.sin_port = htons((uint16_t)atoi(argv[1]));
	int r = fd < 0 ? -errno : dial(fd, (struct sockaddr *)&a, sizeof(a));
	if (r == 0 && type == SOCK_DGRAM)
		r = result(send(fd, "witness", 7, 0));
	witness_say(name, r);
	return 0;
}

int
verb_tcp(int argc, char **argv)
{
	return inet(argc, argv, SOCK_STREAM, "tcp");
}

int
verb_udp(int argc, char **argv)
{
	return inet(argc, argv, SOCK_DGRAM, "udp");
}

static int
local(const char *name, int type, int hidden)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
	size_t n = strlen(name);

	if (fd < 0)
		return -errno;
	if (n + 2 > sizeof(a.sun_path))
		return -ENAMETOOLONG;
	memcpy(a.sun_path + hidden, name, n);
	socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n + 1);
	int r = type == SOCK_DGRAM
		    ? result(sendto(fd, "w", 1, 0, (struct sockaddr *)&a, len))
		    : dial(fd, (struct sockaddr *)&a, len);
	close(fd);
	return r;
}

int
verb_unix(int argc, char **argv)
{
	if (argc < 1)
		return 64;
	witness_say("unix_stream", local(argv[0], SOCK_STREAM, 0));
	witness_say("unix_datagram", local(argv[0], SOCK_DGRAM, 0));
	return 0;
}

int
verb_abstract(int argc, char **argv)
{
	if (argc < 1)
		return 64;
	witness_say("abstract_stream", local(argv[0], SOCK_STREAM, 1));
	witness_say("abstract_datagram", local(argv[0], SOCK_DGRAM, 1));
	return 0;
}
