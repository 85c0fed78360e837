/*
 * Connections to the keeper, and the table of requests: a row each.
 *
 * Process: kennel-keeper.  The connection of another user is closed before it can
 * send anything.  A connection is also closed on a protocol error.  Packets are in
 * the vault's pages, and are wiped once answered.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "leash/keeper/private.h"
#include "shim/base/array.h"
#include "shim/base/fd.h"
#include "shim/base/log.h"

static const struct {
	uint32_t type;
	answer_fn *fn;
} row[] = {
    {KEEPER_HELLO, answer_hello},
    {KEEPER_INIT, change_init},
    {KEEPER_UNLOCK, change_unlock},
    {KEEPER_LOCK, answer_lock},
    {KEEPER_PUT, change_put},
    {KEEPER_REMOVE, change_remove},
    {KEEPER_RESTORE, change_restore},
    {KEEPER_RESEAL, change_reseal},
    {KEEPER_PHRASE, change_phrase},
    {KEEPER_GRANT, change_grant},
    {KEEPER_GRANT_AFTER, change_grant_after},
    {KEEPER_REVOKE, change_revoke},
    {KEEPER_REVOKE_ONE, change_revoke_one},
    {KEEPER_VERSIONS, answer_versions},
    {KEEPER_GRANTS, answer_grants},
    {KEEPER_RELEASE, answer_release},
    {KEEPER_RELEASE_OLD, answer_release_old},
    {KEEPER_CONFIRM, confirm_digest},
    {KEEPER_CONFIRMED, confirm_ask},
    {KEEPER_STORE, store_refresh},
    {KEEPER_CHALLENGE, key_challenge},
    {KEEPER_KEY_ADD, key_add},
    {KEEPER_KEY_REMOVE, key_remove},
    {KEEPER_KEYS, key_list_answer},
};

void
peers_end(struct peer *peer)
{
	if (peer->fd < 0)
		return;
	loop_remove(&keeper.loop, peer->slot);
	fd_close(&peer->fd);
	if (keeper.peer_n-- == PEERS_MAX)
		loop_events(&keeper.loop, keeper.listener_slot, POLLIN);
	keeper_quit_soon();
}

static int
dispatch(struct peer *peer, size_t len, struct wire_out *out)
{
	struct wire_in in;
	uint32_t type;

	wire_in_init(&in, keeper.in, len);
	type = wire_get_u32(&in);
	if (peer->greeted != (type != KEEPER_HELLO))
		return -EBADMSG;
	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		if (row[i].type == type)
			return row[i].fn(peer, &in, out);
	}
	return -EBADMSG;
}

static void
on_peer(struct loop *loop, int fd, short revents, void *arg)
{
	struct peer *peer = arg;
	struct wire_out out;
	size_t len = 0, used;
	int r;

	r = wire_recv(fd, keeper.in, KEEPER_PACKET_MAX, &len, NULL, 0, NULL);
	if (r == -EAGAIN)
		return;
	used = r == 0 ? len : KEEPER_PACKET_MAX;
	wire_out_init(&out, keeper.out, KEEPER_PACKET_MAX);
	if (r == 0) {
		r = dispatch(peer, len, &out);
		if (r == -EBADMSG)
			log_warn("protocol error from process %d: connection closed",
			    peer->pid);
	}
	/* One reply for each request: it fits into an empty socket. */
	if (r == 0)
		r = wire_send(fd, &out, NULL, 0);
	vault_wipe(keeper.in, used);
	vault_wipe(keeper.out, out.len);
	if (r < 0)
		peers_end(peer);
}

/* ---- connections without HELLO ------------------------------------------------- */

/* Closes silent connections: 32 of them would block all other clients. */
static void
on_hello_timer(struct loop *loop, void *arg)
{
	uint64_t now = loop_now(), next = UINT64_MAX;

	keeper.hello_timer = -1;
	for (size_t i = 0; i < PEERS_MAX; i++) {
		struct peer *peer = &keeper.peer[i];

		if (peer->fd < 0 || peer->greeted)
			continue;
		if (peer->hello_until <= now) {
			log_warn("process %d sent no HELLO in 2 s: connection closed",
			    peer->pid);
			peers_end(peer);
		} else if (peer->hello_until < next) {
			next = peer->hello_until;
		}
	}
	if (next != UINT64_MAX)
		keeper.hello_timer = loop_timer_at(loop, next, on_hello_timer, NULL);
}

/* Closed by the other side, which the loop has not noticed yet: poll returned the
 * listener together with it, or before it. */
static bool
hung_up(int fd)
{
	struct pollfd p = {.fd = fd};
	struct timespec now = {0};

	/* syscalls: ppoll poll */
	return ppoll(&p, 1, &now, NULL) == 1 && (p.revents & POLLHUP) != 0;
}

/* The peer's pid is only a hint.  Counting by it keeps one process that opens many
 * connections, by mistake or on purpose, from taking all slots.  Connections that it
 * has closed do not count. */
static size_t
places_of(int pid)
{
	size_t n = 0;

	for (size_t i = 0; i < PEERS_MAX; i++) {
		struct peer *peer = &keeper.peer[i];

		if (peer->fd < 0 || peer->pid != pid)
			continue;
		if (hung_up(peer->fd))
			peers_end(peer);
		else
			n++;
	}
	return n;
}

static void
refuse_one_more(int fd, int pid)
{
	uint8_t memory[KEEPER_TEXT_MAX + 64];
	struct wire_out out;

	log_warn(
	    "refused a connection of process %d: it has %d already", pid, PEERS_OF_ONE);
	wire_out_init(&out, memory, sizeof(memory));
	(void)answer_refuse(
	    &out, REASON_TOO_MANY, "this process has too many connections; close some");
	(void)wire_send(fd, &out, NULL, 0); /* it fits into an empty socket */
}

static struct peer *
free_place(void)
{
	for (size_t i = 0; i < PEERS_MAX; i++) {
		if (keeper.peer[i].fd < 0)
			return &keeper.peer[i];
	}
	return NULL;
}

void
peers_accept(struct loop *loop, int listener, short revents, void *arg)
{
	struct ucred cred = {.uid = (uid_t)-1};
	struct peer *peer;
	socklen_t len = sizeof(cred);
	/* syscalls: accept4 getsockopt */
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		return; /* it has disconnected */
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0 ||
	    cred.uid != geteuid()) {
		log_warn("refused a connection of user %u", (unsigned int)cred.uid);
		fd_close(&fd);
		return;
	}
	if (places_of(cred.pid) >= PEERS_OF_ONE) {
		refuse_one_more(fd, cred.pid);
		fd_close(&fd);
		return;
	}
	peer = free_place();
	if (peer == NULL) { /* the listener is not polled then */
		fd_close(&fd);
		return;
	}
	*peer = (struct peer){
	    .fd = fd, .pid = cred.pid, .hello_until = loop_now() + HELLO_NS};
	if (keeper.hello_timer < 0)
		keeper.hello_timer =
		    loop_timer_at(loop, peer->hello_until, on_hello_timer, NULL);
	peer->slot = loop_add(loop, fd, POLLIN, on_peer, peer);
	if (peer->slot < 0) {
		fd_close(&peer->fd);
		return;
	}
	/* do not accept more than there are slots */
	if (++keeper.peer_n == PEERS_MAX)
		loop_events(loop, keeper.listener_slot, 0);
	keeper_quit_soon();
}
