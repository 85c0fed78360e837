/*
 * Who may write to the log, and the end of a recorder that nobody needs.
 *
 * Process: kennel-recorder.  Must never let another user's process in.
 */
#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "supervisor/audit/recorder/private.h"

static bool
same_user(int fd)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	/* syscalls: getsockopt */
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
		return false;
	return cred.uid == geteuid();
}

static struct peer *
free_slot(void)
{
	for (size_t i = 0; i < the.peer_top; i++) {
		if (the.peer[i].fd < 0)
			return &the.peer[i];
	}
	return the.peer_top < PEERS_MAX ? &the.peer[the.peer_top++] : NULL;
}

/* 0, or -EAGAIN: nobody is waiting. */
static int
accept_one(void)
{
	struct peer *peer;
	/* syscalls: accept4 */
	int fd = accept4(RECORDER_FD_LISTENER, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		return errno == EINTR || errno == ECONNABORTED ? 0 : -EAGAIN;
	peer = same_user(fd) ? free_slot() : NULL;
	if (peer == NULL) {
		complain("refused a connection: %s",
		    the.peer_n == PEERS_MAX ? "too many" : "another user's");
		fd_close(&fd);
		return 0;
	}
	*peer = (struct peer){.fd = fd, .since_ns = loop_now()};
	the.peer_n++;
	peer_watch(peer, EPOLL_CTL_ADD);
	return 0;
}

void
on_listener(struct loop *loop, int fd, short revents, void *arg)
{
	while (accept_one() == 0)
		;
}

/* Who connected and said nothing since does not keep us alive. */
static void
end_silent(void)
{
	for (size_t i = 0; i < the.peer_top; i++) {
		struct peer *peer = &the.peer[i];

		if (peer->fd >= 0 && !peer->welcome &&
		    loop_now() - peer->since_ns > HELLO_WAIT_NS)
			peer_end(peer);
	}
}

/*
 * Once a second: nobody here, nobody waiting?  Then no more connections, and
 * the end.  Who slips in between the last look and the shutdown gets no welcome
 * and asks again.
 */
static void
on_idle_timer(struct loop *loop, void *arg)
{
	the.idle_timer = -1;
	end_silent();
	on_listener(loop, RECORDER_FD_LISTENER, POLLIN, NULL);
	if (the.peer_n == 0) {
		loop_stop(loop);
		return;
	}
	idle_soon();
}

void
idle_soon(void)
{
	if (the.idle_timer < 0)
		the.idle_timer =
		    loop_timer_at(&the.loop, loop_now() + IDLE_NS, on_idle_timer, NULL);
}
