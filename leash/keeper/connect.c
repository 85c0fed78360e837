/*
 * Finds the running keeper and greets it.
 *
 * Process: the leash (before it sandboxes itself), kennel-secret, and kennel, which
 * asks about a confirmation.  The directory
 * must be private to our user and the peer must be a process of our user: a message
 * to a keeper may contain a passphrase.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "leash/keeper/keeper.h"
#include "shim/base/fd.h"

#define ANSWER_WAIT_S 20 /* it may be unlocking a vault for another client */

int
keeper_dir(const char *path, bool make, int *ret_fd)
{
	struct stat st;
	int fd, r;

	r = make ? fd_make_dirs(path) : 0; /* early: mkdir */
	if (r < 0)
		return r;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	r = fstat(fd, &st) < 0 ? -errno : st.st_uid != geteuid() ? -EACCES : 0;
	/* early: fchmod */
	if (r == 0 && (st.st_mode & 077) != 0)
		r = !make ? -EACCES : fchmod(fd, 0700) < 0 ? -errno : 0;
	if (r < 0) {
		fd_close(&fd);
		return r;
	}
	*ret_fd = fd;
	return 0;
}

static int
reach_socket(int run, int wait_s, int *ret_fd)
{
	struct timeval wait = {.tv_sec = wait_s};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct ucred peer = {.uid = (uid_t)-1};
	socklen_t len = sizeof(peer);
	int fd, r = 0;

	/* Through the descriptor: a path may be longer than sun_path. */
	(void)snprintf(address.sun_path, sizeof(address.sun_path),
	    "/proc/self/fd/%d/" KEEPER_SOCKET, run);
	/* early: socket connect getsockopt setsockopt */
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait)) < 0)
		r = -errno;
	if (r == 0 && connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		r = errno == ECONNREFUSED ? -ENOENT : -errno;
	if (r == 0 && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
		r = -errno;
	if (r == 0 && peer.uid != geteuid())
		r = -EACCES;
	if (r < 0) {
		fd_close(&fd);
		return r;
	}
	*ret_fd = fd;
	return 0;
}

static int
greet(int fd, int vault, const char *who, enum keeper_state *ret_state)
{
	uint8_t memory[KEEPER_TEXT_MAX + 64];
	struct stat st = {0};
	struct wire_out out;
	struct wire_in in;
	uint32_t type, state;
	size_t len = 0;
	int r;

	if (vault >= 0 && fstat(vault, &st) < 0)
		return -errno;
	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, KEEPER_HELLO);
	wire_put_u32(&out, KEEPER_VERSION);
	wire_put_str(&out, who);
	wire_put_u64(&out, st.st_dev);
	wire_put_u64(&out, st.st_ino);
	r = wire_send(fd, &out, NULL, 0);
	/* A keeper that refused the connection may have closed it by now: read why. */
	if (r == 0 || r == -EPIPE)
		r = wire_recv(fd, memory, sizeof(memory), &len, NULL, 0, NULL);
	if (r < 0)
		return r == -EAGAIN ? -ETIMEDOUT : r;
	wire_in_init(&in, memory, len);
	type = wire_get_u32(&in);
	state = wire_get_u32(&in);
	if (type == KEEPER_REFUSED && state == REASON_OTHER_VAULT)
		return -EXDEV;
	if (type == KEEPER_REFUSED && state == REASON_TOO_MANY)
		return -EUSERS;
	if (type != KEEPER_WELCOME || wire_end(&in) < 0 || state > STATE_OPEN)
		return -EPROTO;
	*ret_state = state;
	return 0;
}

int
keeper_reach_within(const char *run_dir, int vault, const char *who, int wait_s,
    int *ret_fd, enum keeper_state *ret_state)
{
	int run = -1, fd = -1, r;

	r = keeper_dir(run_dir, false, &run);
	if (r == 0)
		r = reach_socket(run, wait_s, &fd);
	if (r == 0)
		r = greet(fd, vault, who, ret_state);
	fd_close(&run);
	if (r < 0) {
		fd_close(&fd);
		return r;
	}
	*ret_fd = fd;
	return 0;
}

int
keeper_reach(const char *run_dir, int vault, const char *who, int *ret_fd,
    enum keeper_state *ret_state)
{
	return keeper_reach_within(run_dir, vault, who, ANSWER_WAIT_S, ret_fd, ret_state);
}
