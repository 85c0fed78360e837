/*
 * Asks running sessions and hubs: one connection, one request, one answer; the servers
 * of a hub come in pages, each asked for.
 *
 * Process: kennel, as the calling user.
 */
#include "supervisor/status/status_client.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "shim/base/array.h"
#include "shim/base/fd.h"
#include "supervisor/base/person_socket.h"

#define REQUEST_MAX 256

/* ---- sessions ------------------------------------------------------------------- */

static int
ask_session(long pid, uint32_t version, struct status *ret)
{
	uint8_t memory[STATUS_PACKET_MAX];
	int fd = person_connect(STATUS_SOCKET, pid), r;
	struct wire_out out;
	struct wire_in in;

	if (fd < 0)
		return fd;
	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, STATUS_ASK);
	wire_put_u32(&out, version);
	r = wire_send(fd, &out, NULL, 0);
	if (r == 0)
		r = person_receive(fd, memory, sizeof(memory), &in);
	if (r == 0)
		r = status_get(&in, ret);
	fd_close(&fd);
	return r;
}

int
status_of_session(long pid, struct status *ret)
{
	int r = ask_session(pid, STATUS_VERSION, ret);

	/* an older session closes the connection: it knows the first version only */
	return r == -EPIPE ? ask_session(pid, 1, ret) : r;
}

/* ---- hubs ----------------------------------------------------------------------- */

static void
request(struct wire_out *out, uint8_t *memory, enum hub_message type)
{
	wire_out_init(out, memory, REQUEST_MAX);
	wire_put_u32(out, type);
	wire_put_u32(out, HUB_VERSION);
}

/* Asks for the page that begins with this server. *ret_n: the servers in it. */
static int
ask_page(int fd, uint32_t first, struct hub_status *ret, server_row_fn *fn, void *arg,
    long pid, uint32_t *ret_n)
{
	static uint8_t memory[HUB_PACKET_MAX];
	struct hub_row row;
	struct wire_out out;
	struct wire_in in;
	uint32_t n = 0, is;
	int r;

	request(&out, memory, HUB_STATUS);
	wire_put_u32(&out, first);
	r = wire_send(fd, &out, NULL, 0);
	if (r == 0)
		r = person_receive(fd, memory, sizeof(memory), &in);
	if (r == 0)
		r = hub_page_get(&in, ret, &is);
	if (r < 0)
		return r;
	/* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): read above */
	if (is != first)
		return -EBADMSG;
	while ((r = hub_row_get(&in, &row)) > 0) {
		n++; /* a packet has room for fewer than 200 */
		if (fn != NULL)
			fn(arg, pid, &row);
	}
	*ret_n = n;
	return r < 0 || (n == 0 && first < ret->servers) ? -EBADMSG : 0;
}

int
status_of_hub(long pid, struct hub_status *ret, server_row_fn *fn, void *arg)
{
	int fd = person_connect(HUB_SOCKET, pid), r = fd < 0 ? fd : 0;
	uint32_t at = 0, n = 0;

	if (r == 0)
		do {
			r = ask_page(fd, at, ret, fn, arg, pid, &n);
			at += n;
		} while (r == 0 && fn != NULL && at < ret->servers);
	fd_close(&fd);
	return r;
}

int
status_watch(long pid)
{
	int fd = person_connect(HUB_SOCKET, pid), r;
	uint8_t memory[REQUEST_MAX];
	struct wire_out out;

	if (fd < 0)
		return fd;
	request(&out, memory, HUB_WATCH);
	r = wire_send(fd, &out, NULL, 0);
	if (r == 0)
		return fd;
	fd_close(&fd);
	return r;
}

/* A request with this text, which is answered by RESTARTED. */
static int
command(long pid, enum hub_message type, const char *text, enum restart_outcome *ret)
{
	int fd = person_connect(HUB_SOCKET, pid), r;
	uint8_t memory[REQUEST_MAX];
	struct wire_out out;
	struct wire_in in;
	uint32_t outcome;

	if (fd < 0)
		return fd;
	request(&out, memory, type);
	wire_put_str(&out, text);
	r = wire_send(fd, &out, NULL, 0);
	if (r == 0)
		r = person_receive(fd, memory, sizeof(memory), &in);
	fd_close(&fd);
	if (r < 0)
		return r;
	r = wire_get_u32(&in) == HUB_RESTARTED && wire_get_u32(&in) == HUB_VERSION;
	outcome = wire_get_u32(&in);
	if (!r || wire_end(&in) < 0 || outcome >= RESTART_N)
		return -EBADMSG;
	*ret = (enum restart_outcome)outcome;
	return 0;
}

int
status_restart(long pid, const char *server, enum restart_outcome *ret)
{
	return command(pid, HUB_RESTART, server, ret);
}

int
status_trusted(long pid, const char *sha256)
{
	enum restart_outcome outcome; /* it is the session's */

	return command(pid, HUB_TRUSTED, sha256, &outcome);
}

/* ---- all of them ---------------------------------------------------------------- */

/* One that was ending when it was asked is reaped soon. */
static bool
is_gone(long pid)
{
	static const struct timespec pause = {.tv_nsec = 20000000};

	for (int i = 0; i < 25; i++) {
		if (kill((pid_t)pid, 0) < 0 && errno == ESRCH)
			return true;
		(void)nanosleep(&pause, NULL);
	}
	return false;
}

/* A process listens soon after it has made its socket, so after the pause of is_gone the
 * pid is that of another process, or of one that its parent has not reaped. */
static bool
has_listener(long pid)
{
	static const char *const prefix[] = {STATUS_SOCKET, HUB_SOCKET};
	bool is = false;

	for (size_t i = 0; i < ARRAY_LEN(prefix); i++) {
		int fd = person_connect(prefix[i], pid);

		is |= fd >= 0 || (fd != -ECONNREFUSED && fd != -ENOENT);
		fd_close(&fd);
	}
	return is;
}

bool
status_ended(long pid, int error)
{
	static const char *const prefix[] = {STATUS_SOCKET, HUB_SOCKET, "ask-"};

	if (error == -ENOENT)
		return true;
	if ((error != -ECONNREFUSED && error != -EPIPE && error != -ECONNRESET) ||
	    (!is_gone(pid) && has_listener(pid)))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(prefix); i++)
		person_socket_remove(prefix[i], pid);
	return true;
}

static void
session_row(const struct status *s, struct hub_row *ret)
{
	*ret = (struct hub_row){.live = s->connected ? LIVE_CONNECTED : LIVE_CONNECTING,
	    .discovery = s->connected ? DISCOVERY_CONNECTED : DISCOVERY_PENDING,
	    .has_policy = true,
	    .calls = s->calls,
	    .calls_made = s->calls_made,
	    .refused = s->refused};
	memcpy(ret->name, s->server, sizeof(ret->name));
	memcpy(ret->policy, s->policy, sizeof(ret->policy));
}

size_t
status_of_servers(server_row_fn *fn, void *arg)
{
	static long pid[STATUS_SESSIONS_MAX];
	struct hub_status hub;
	struct hub_row row;
	struct status s;
	size_t n, lost = 0;
	int r;

	n = person_sockets(HUB_SOCKET, pid, ARRAY_LEN(pid));
	for (size_t i = 0; i < n; i++) {
		r = status_of_hub(pid[i], &hub, fn, arg);
		lost += r < 0 && !status_ended(pid[i], r);
	}
	n = person_sockets(STATUS_SOCKET, pid, ARRAY_LEN(pid));
	for (size_t i = 0; i < n; i++) {
		r = status_of_session(pid[i], &s);
		lost += r < 0 && !status_ended(pid[i], r);
		/* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): set if 0 */
		if (r < 0 || s.kind != STATUS_RUN || s.via != 0)
			continue;
		session_row(&s, &row);
		fn(arg, pid[i], &row);
	}
	return lost;
}
