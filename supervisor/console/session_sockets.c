/*
 * Connections to the sessions, from the launcher to the confined server.
 */
#include "supervisor/console/session_sockets.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>

#include "shim/base/fd.h"
#include "shim/base/wire.h"
#include "supervisor/answer/answer.h"
#include "supervisor/base/person_socket.h"

#define PACKET_MAX 2048 /* SESSIONS_MAX pids and three numbers */
#define WAIT_MS    5000

/* ---- the server ------------------------------------------------------------------- */

static int
send_request(struct session_sockets *s, enum session_message type, uint32_t pid)
{
	uint8_t memory[16];
	struct wire_out out;

	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, type);
	wire_put_u32(&out, ++s->number);
	if (type == SESSIONS_CONNECT)
		wire_put_u32(&out, pid);
	return wire_send(s->launcher, &out, NULL, 0); /* syscalls: sendmsg */
}

/* Receives the answer to the last request, after its type and number. 0 or -errno. */
static int
receive_answer(struct session_sockets *s, enum session_message type,
    uint8_t memory[PACKET_MAX], struct wire_in *ret, int *ret_fd)
{
	struct pollfd wait = {s->launcher, POLLIN, 0};
	size_t len, fds_n;
	int r = 0;

	for (;;) {
		/* syscalls: poll recvmsg */
		if (poll(&wait, 1, WAIT_MS) <= 0)
			return -ETIMEDOUT;
		r = wire_recv(s->launcher, memory, PACKET_MAX, &len, ret_fd, 1, &fds_n);
		if (r < 0)
			return r;
		wire_in_init(ret, memory, len);
		if (wire_get_u32(ret) == type && wire_get_u32(ret) == s->number)
			return 0;
		fd_close(ret_fd); /* of an earlier request, for which nothing waits */
	}
}

size_t
session_sockets_list(void *arg, long *pid, size_t max)
{
	uint8_t memory[PACKET_MAX];
	struct session_sockets *s = arg;
	struct wire_in in;
	uint32_t n;
	int fd = -1, r = send_request(s, SESSIONS_LIST, 0);

	if (r == 0)
		r = receive_answer(s, SESSIONS_LISTED, memory, &in, &fd);
	fd_close(&fd);
	if (r < 0)
		return 0;
	n = wire_get_u32(&in);
	for (size_t i = 0; i < n && i < max; i++)
		pid[i] = (long)wire_get_u32(&in);
	return n <= max && wire_end(&in) == 0 ? n : 0;
}

int
session_sockets_connect(void *arg, long pid)
{
	uint8_t memory[PACKET_MAX];
	struct session_sockets *s = arg;
	struct wire_in in;
	uint32_t error;
	int fd = -1, r = send_request(s, SESSIONS_CONNECT, (uint32_t)pid);

	if (r == 0)
		r = receive_answer(s, SESSIONS_CONNECTED, memory, &in, &fd);
	if (r < 0)
		return r;
	error = wire_get_u32(&in);
	if (wire_end(&in) == 0 && error == 0 && fd >= 0)
		return fd;
	fd_close(&fd);
	return error == 0 ? -EBADMSG : -(int)error;
}

/* ---- the launcher ----------------------------------------------------------------- */

static void
put_list(struct wire_out *out)
{
	long pid[SESSIONS_MAX];
	size_t n = person_sockets(APPROVE_SOCKET, pid, SESSIONS_MAX);

	wire_put_u32(out, (uint32_t)n);
	for (size_t i = 0; i < n; i++)
		wire_put_u32(out, (uint32_t)pid[i]);
}

/* A connection on which the server can give the page's answers, and no others. A
 * descriptor or -errno. */
static int
connect_final(long pid)
{
	int fd = person_connect(APPROVE_SOCKET, pid), r;

	if (fd < 0)
		return fd;
	r = session_channel(fd, VIA_CONSOLE_FINAL);
	if (r < 0)
		fd_close(&fd);
	return r < 0 ? r : fd;
}

static int
answer(int server, struct wire_in *in)
{
	uint32_t type = wire_get_u32(in), number = wire_get_u32(in), pid = 0;
	uint8_t memory[PACKET_MAX];
	struct wire_out out;
	int fd = -1, r;

	if (type == SESSIONS_CONNECT)
		pid = wire_get_u32(in);
	if (wire_end(in) < 0 || (type != SESSIONS_LIST && type != SESSIONS_CONNECT))
		return -EBADMSG;
	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, type == SESSIONS_LIST ? SESSIONS_LISTED : SESSIONS_CONNECTED);
	wire_put_u32(&out, number);
	if (type == SESSIONS_LIST) {
		put_list(&out);
	} else {
		fd = connect_final((long)pid);
		wire_put_u32(&out, fd < 0 ? (uint32_t)-fd : 0);
	}
	r = wire_send(server, &out, &fd, fd >= 0);
	if (fd >= 0)
		fd_close(&fd);
	return r;
}

int
session_sockets_answer(int server)
{
	uint8_t memory[PACKET_MAX];
	struct wire_in in;
	size_t len, none;
	int r = wire_recv(server, memory, sizeof(memory), &len, NULL, 0, &none);

	if (r < 0)
		return r == -EAGAIN ? 0 : r;
	wire_in_init(&in, memory, len);
	return answer(server, &in);
}
