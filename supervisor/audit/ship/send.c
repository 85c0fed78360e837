/*
 * The socket to a collector. It is opened once, before the process confines itself;
 * later it cannot be opened again.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "shim/base/array.h"
#include "shim/base/fd.h"
#include "shim/base/loop.h"
#include "supervisor/audit/ship/ship.h"

#define SEND_WAIT_MS 30000

static int
open_socket(int family, int type, const void *address, socklen_t len, int *ret_fd)
{
	/* early: socket connect */
	int fd = socket(family, type | SOCK_CLOEXEC, 0), r;

	if (fd < 0)
		return -errno;
	if (connect(fd, address, len) < 0) {
		r = -errno;
		fd_close(&fd);
		return r;
	}
	*ret_fd = fd;
	return 0;
}

static int
connect_unix(const char *path, int type, int *ret_fd)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};

	if (path[0] != '/' || strlen(path) >= sizeof(un.sun_path))
		return -EINVAL;
	(void)snprintf(un.sun_path, sizeof(un.sun_path), "%s", path);
	return open_socket(AF_UNIX, type, &un, sizeof(un), ret_fd);
}

static int
connect_tcp(const char *text, int *ret_fd)
{
	struct sockaddr_in in = {.sin_family = AF_INET};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};
	const char *colon = strrchr(text, ':');
	char address[64], *end;
	unsigned long port;
	size_t len = colon != NULL ? (size_t)(colon - text) : 0;

	if (colon == NULL || len >= sizeof(address))
		return -EINVAL;
	memcpy(address, text, len);
	address[len] = '\0';
	port = strtoul(colon + 1, &end, 10);
	if (end == colon + 1 || *end != '\0' || port == 0 || port > 65535)
		return -EINVAL;
	in.sin_port = in6.sin6_port = htons((uint16_t)port);
	if (inet_pton(AF_INET, address, &in.sin_addr) == 1)
		return open_socket(AF_INET, SOCK_STREAM, &in, sizeof(in), ret_fd);
	if (len > 2 && address[0] == '[' && address[len - 1] == ']') {
		address[len - 1] = '\0';
		if (inet_pton(AF_INET6, address + 1, &in6.sin6_addr) == 1)
			return open_socket(
			    AF_INET6, SOCK_STREAM, &in6, sizeof(in6), ret_fd);
	}
	return -EINVAL;
}

int
ship_connect(const char *to, struct ship_to *ret)
{
	static const struct {
		const char *prefix;
		enum ship_way way;
		int type; /* 0: TCP */
	} row[] = {
	    {"unix:", SHIP_DATAGRAM, SOCK_DGRAM},
	    {"unix-stream:", SHIP_STREAM, SOCK_STREAM},
	    {"tcp:", SHIP_STREAM, 0},
	};

	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		size_t n = strlen(row[i].prefix);

		if (strncmp(to, row[i].prefix, n) != 0)
			continue;
		ret->way = row[i].way;
		return row[i].type != 0 ? connect_unix(to + n, row[i].type, &ret->fd)
					: connect_tcp(to + n, &ret->fd);
	}
	return -EINVAL;
}

static int
send_bytes(int fd, const char *at, size_t len)
{
	while (len > 0) {
		/* syscalls: sendto poll */
		ssize_t n = send(fd, at, len, MSG_NOSIGNAL);
		struct pollfd p = {.fd = fd, .events = POLLOUT};

		if (n < 0 && errno == EAGAIN && poll(&p, 1, SEND_WAIT_MS) > 0)
			continue;
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

int
ship_send(const struct ship_to *to, const void *message, size_t len)
{
	char count[32];
	int n, r = 0;

	if (to->way == SHIP_STREAM) {
		n = snprintf(count, sizeof(count), "%zu ", len);
		r = send_bytes(to->fd, count, (size_t)n);
	}
	return r == 0 ? send_bytes(to->fd, message, len) : r;
}

/* A stream's kernel acknowledges what the collector never reads, if it ends before. That it
 * closes after our end shows that it read to the end: its own end before ours, and a reset,
 * which is what data that it left unread makes of its close, do not. */
int
ship_confirm(const struct ship_to *to)
{
	uint64_t until = loop_now() + SHIP_CLOSE_MS * LOOP_MS, now;
	struct pollfd p = {.fd = to->fd, .events = POLLIN};
	char bytes[512];
	ssize_t n;

	if (to->way == SHIP_DATAGRAM)
		return 0;
	if (recv(to->fd, bytes, 1, MSG_DONTWAIT | MSG_PEEK) == 0)
		return -EPIPE; /* it has closed before it could read this */
	/* syscalls: shutdown recvfrom poll clock_gettime */
	if (shutdown(to->fd, SHUT_WR) < 0)
		return -errno;
	while ((now = loop_now()) < until) {
		if (poll(&p, 1, (int)((until - now) / LOOP_MS) + 1) <= 0)
			continue;
		n = recv(to->fd, bytes, sizeof(bytes), MSG_DONTWAIT); /* discarded */
		if (n == 0)
			return 0;
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
	}
	return -ETIMEDOUT;
}
