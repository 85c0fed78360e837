/*
 * The starter: the half of a session that stays unconfined, to start its server again.
 *
 * Process: kennel, forked before it is confined. Holds: the sealed policy. Trusts: the
 * session for the moment of a start, and nothing else. Must never: read a byte of the
 * agent or the server; hold the agent's descriptors, the leash's channel or a secret.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/base/array.h"
#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "shim/base/loop.h"
#include "shim/base/wire.h"
#include "supervisor/launch/launch.h"
#include "supervisor/launch/starter.h"

#define PACKET_MAX (LEASH_TEXT_MAX + 64)

static void
answer(int sock, uint32_t number, bool asks, int fd, const char *why)
{
	uint8_t memory[PACKET_MAX];
	struct wire_out out;

	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, STARTER_STARTED);
	wire_put_u32(&out, number);
	wire_put_u32(&out, asks);
	wire_put_str(&out, why);
	(void)wire_send(sock, &out, &fd, fd >= 0); /* a session that is gone */
}

/* It was asked less often than a session with a backoff may ask. began: of the last starts,
 * a ring. */
static bool
may_start(uint64_t began[STARTER_STARTS_MAX], uint32_t *n)
{
	uint64_t now = loop_now(), *oldest = &began[*n % STARTER_STARTS_MAX];

	if (*oldest != 0 && now - *oldest < STARTER_STARTS_MS * LOOP_MS)
		return false;
	*oldest = now;
	(*n)++;
	return true;
}

/* The session ends a leash by closing its channel, which the leash has by then. */
static _Noreturn void
serve(struct opened *o, const char *file, int sock)
{
	uint64_t began[STARTER_STARTS_MAX] = {0};
	char why[LEASH_TEXT_MAX];
	uint32_t began_n = 0, type, number;
	uint8_t packet[16];
	struct wire_in in;
	size_t len;
	int r;

	for (;;) {
		bool asks = false;

		r = wire_recv(sock, packet, sizeof(packet), &len, NULL, 0, NULL);
		if (r < 0)
			break;
		child_free(&o->child);
		wire_in_init(&in, packet, len);
		type = wire_get_u32(&in);
		number = wire_get_u32(&in);
		if (type != STARTER_START || wire_end(&in) < 0)
			break;
		(void)snprintf(why, sizeof(why),
		    "it was started too often; try again in a "
		    "minute");
		r = -EBUSY;
		if (may_start(began, &began_n)) {
			why[0] = '\0';
			r = start_again(o, file, &asks, why);
		}
		answer(sock, number, asks, r == 0 ? o->child.channel : -1, why);
		fd_close(&o->child.channel);
	}
	child_free(&o->child);
	_exit(0);
}

/* Leaves the standard error, the policy, the log's directory and the socket. */
static int
leave(struct opened *o, int sock)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), r = 0;
	const int keep[] = {sock, o->found.fd, o->log_dir_fd};

	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0)
		r = -errno;
	if (r == 0)
		r = fd_close_others(keep, ARRAY_LEN(keep));
	o->child = CHILD_NONE;
	return r;
}

int
starter_fork(struct opened *o, const char *file)
{
	int pair[2], r = fd_pair(pair);
	pid_t pid;

	if (r < 0)
		return r;
	/* early: fork clone */
	pid = fork();
	if (pid == 0) {
		if (leave(o, pair[1]) < 0)
			die("unable to set up the starter");
		serve(o, file, pair[1]);
	}
	fd_close(&pair[1]);
	if (pid < 0) {
		fd_close(&pair[0]);
		return -EAGAIN;
	}
	o->starter = pair[0];
	o->starter_pid = pid;
	return 0;
}

int
starter_ask(int starter, uint32_t number)
{
	uint8_t memory[16];
	struct wire_out out;

	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, STARTER_START);
	wire_put_u32(&out, number);
	return wire_send(starter, &out, NULL, 0);
}

int
starter_take(int starter, uint32_t number, bool *ret_asks, char why[LEASH_TEXT_MAX])
{
	uint8_t packet[PACKET_MAX];
	size_t len, fds_n = 0;
	struct wire_in in;
	const char *text;
	uint32_t type, of;
	int fd = -1, r;

	(void)snprintf(why, LEASH_TEXT_MAX, "lost the process that starts servers");
	r = wire_recv(starter, packet, sizeof(packet), &len, &fd, 1, &fds_n);
	if (r < 0)
		return r;
	wire_in_init(&in, packet, len);
	type = wire_get_u32(&in);
	of = wire_get_u32(&in);
	*ret_asks = wire_get_u32(&in) != 0;
	text = wire_get_str(&in, LEASH_TEXT_MAX - 1);
	if (wire_end(&in) < 0 || type != STARTER_STARTED) {
		fd_close(&fd);
		return -EBADMSG;
	}
	if (of != number) {
		fd_close(&fd); /* the leash ends with its channel */
		return -EAGAIN;
	}
	(void)snprintf(why, LEASH_TEXT_MAX, "%s", text);
	return fd < 0 ? -ECONNREFUSED : fd;
}

void
starter_end(struct opened *o)
{
	fd_close(&o->starter);
	/* syscalls: wait4 */
	while (
	    o->starter_pid > 0 && waitpid(o->starter_pid, NULL, 0) < 0 && errno == EINTR)
		;
	o->starter_pid = 0;
}
