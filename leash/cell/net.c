/*
 * The cell's network: a loopback of its own, and nothing else.
 *
 * A network namespace is two thirds of what all of a cell's namespaces cost
 * (0.4 of 0.55 ms), so it is made beside the mounts, by a thread in all but
 * name: same memory, same descriptors, but a namespace of its own, which the
 * cell's first process then joins through the descriptor that is left behind.
 *
 *	net_begin	clone		the helper: unshare, lo up, ns_fd, exit
 *	...		mounts		meanwhile
 *	net_join	wait, setns	from here on the cell's
 *
 * Process: the cell's first process and its helper.  The helper must never
 * allocate or keep anything in memory of its own: it shares errno too, but sets
 * it only when it fails, and then so does the start.
 */
#include <errno.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "leash/cell/step.h"
#include "shim/base/fd.h"

#define HELPER_STACK (32u << 10)

#ifndef SIOCGSKNS
#define SIOCGSKNS 0x894C
#endif

/* What the helper leaves behind. */
struct made {
	int ns_fd;
	int error;
};

static int
loopback_up(int sock)
{
	struct ifreq lo = {.ifr_name = "lo"};

	if (ioctl(sock, SIOCGIFFLAGS, &lo) < 0)
		return -errno;
	lo.ifr_flags = (short)(lo.ifr_flags | IFF_UP);
	return ioctl(sock, SIOCSIFFLAGS, &lo) < 0 ? -errno : 0;
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
	made->error = loopback_up(sock);
	/* from the socket, because /proc may not be trusted or not be there */
	made->ns_fd = ioctl(sock, SIOCGSKNS);
	if (made->ns_fd < 0 && made->error == 0)
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
	return r != 0 ? cell_fault(c, r, "") : 0;
}
