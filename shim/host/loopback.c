#include "shim/host/loopback.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "shim/base/fd.h"

#define BACKLOG 128
#define TRIES   64 /* ports that are taken on one address at least */
#define LOWEST  1024u
#define V4      0
#define V6      1

static int
bound(const struct sockaddr *at, socklen_t len, int *ret_fd)
{
	int one = 1, r = 0;
	/* early: socket bind listen setsockopt */
	int fd = socket(at->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	if ((at->sa_family == AF_INET6 &&
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one)) < 0) ||
	    bind(fd, at, len) < 0 || listen(fd, BACKLOG) < 0)
		r = -errno;
	if (r < 0)
		fd_close(&fd);
	else
		*ret_fd = fd;
	return r;
}

/*
 * Not the kernel's choice: by taking all other ports, another user could lead kennel
 * to one where his page has been, and has left a service worker in the user's browser.
 */
static int
draw_port(uint16_t *ret)
{
	uint32_t drawn;

	/* syscalls: getrandom */
	if (getrandom(&drawn, sizeof(drawn), 0) != sizeof(drawn))
		return -errno;
	*ret = (uint16_t)(LOWEST + drawn % (UINT16_MAX + 1 - LOWEST));
	return 0;
}

/* Both addresses with one port; -EADDRINUSE: ::1 has another listener there, which would
 * get what a browser sends to localhost. */
static int
try_port(int ret_fd[LOOPBACK_SOCKETS], uint16_t *ret_port)
{
	struct sockaddr_in v4 = {
	    .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_in6 v6 = {
	    .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	int r = draw_port(ret_port);

	v4.sin_port = v6.sin6_port = htons(*ret_port);
	if (r == 0)
		r = bound((struct sockaddr *)&v4, sizeof(v4), &ret_fd[V4]);
	if (r < 0)
		return r;
	r = bound((struct sockaddr *)&v6, sizeof(v6), &ret_fd[V6]);
	return r == -EAFNOSUPPORT || r == -EADDRNOTAVAIL ? 0 : r;
}

int
loopback_listen(int ret_fd[LOOPBACK_SOCKETS], uint16_t *ret_port)
{
	int r = -EADDRINUSE;

	for (int i = 0; i < TRIES && r == -EADDRINUSE; i++) {
		ret_fd[V4] = ret_fd[V6] = -1;
		r = try_port(ret_fd, ret_port);
		if (r < 0) {
			fd_close(&ret_fd[V4]);
			fd_close(&ret_fd[V6]);
		}
	}
	return r;
}
