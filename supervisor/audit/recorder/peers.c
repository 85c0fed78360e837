/*
 * Accepts writers, and ends a recorder without clients.
 *
 * Process: kennel-recorder. Must never: accept a process of another user.
 */
#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "supervisor/audit/recorder/own_log.h"
#include "supervisor/audit/recorder/private.h"

static bool
same_user(int fd, int *ret_pid)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	/* syscalls: getsockopt */
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
		return false;
	*ret_pid = cred.pid;
	return cred.uid == geteuid();
}

static struct peer *
free_slot(void)
{
	for (size_t i = 0; i < recorder.peer_top; i++) {
		if (recorder.peer[i].fd < 0)
			return &recorder.peer[i];
	}
	return recorder.peer_top < PEERS_MAX ? &recorder.peer[recorder.peer_top++] : NULL;
}

/* True if this process has too many connections without a HELLO. A writer sends HELLO
 * at once, and a supervisor has few connections. */
static bool
too_silent(int pid)
{
	size_t n = 0;

	for (size_t i = 0; i < recorder.peer_top; i++)
		n += recorder.peer[i].fd >= 0 && !recorder.peer[i].welcome &&
		     recorder.peer[i].pid == pid;
	return n >= SILENT_MAX;
}

/* Returns 0, or -EAGAIN: no connection is pending. */
static int
accept_one(void)
{
	struct peer *peer = NULL;
	const char *why = "it belongs to another user";
	int pid = 0;
	/* syscalls: accept4 */
	int fd = accept4(RECORDER_FD_LISTENER, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		return errno == EINTR || errno == ECONNABORTED ? 0 : -EAGAIN;
	if (same_user(fd, &pid)) {
		why = "too many connections";
		if (!too_silent(pid))
			peer = free_slot();
	}
	if (peer == NULL) {
		complain("refused a connection of process %d: %s", pid, why);
		fd_close(&fd);
		return 0;
	}
	*peer = (struct peer){.fd = fd, .pid = pid, .since_ns = loop_now()};
	recorder.peer_n++;
	peer_watch(peer, EPOLL_CTL_ADD);
	return 0;
}

void
on_listener(struct loop *loop, int fd, short revents, void *arg)
{
	while (accept_one() == 0)
		;
}

/* Closes connections without a HELLO, so that they do not keep the recorder alive. */
static void
end_silent(void)
{
	for (size_t i = 0; i < recorder.peer_top; i++) {
		struct peer *peer = &recorder.peer[i];

		if (peer->fd >= 0 && !peer->welcome &&
		    loop_now() - peer->since_ns > HELLO_WAIT_NS)
			peer_end(peer);
	}
}

/*
 * Runs once a second. Without connected or pending clients, closes the listener and
 * ends. A client that connects between the last check and the shutdown gets no
 * WELCOME and tries again.
 */
static void
on_idle_timer(struct loop *loop, void *arg)
{
	recorder.idle_timer = -1;
	end_silent();
	on_listener(loop, RECORDER_FD_LISTENER, POLLIN, NULL);
	if (recorder.peer_n == 0) {
		recorder.idle = true;
		loop_stop(loop);
		return;
	}
	idle_soon();
}

void
idle_soon(void)
{
	if (recorder.idle_timer < 0)
		recorder.idle_timer = loop_timer_at(
		    &recorder.loop, loop_now() + IDLE_NS, on_idle_timer, NULL);
}
