/*
 * Connections to the keeper, and which requests there are: a row each.
 *
 * Process: kennel-keeper.  A peer of another user is hung up on before a word; so
 * is one that says what no program of ours says.  Packets lie in the vault's pages
 * and are wiped when they are answered.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "leash/keeper/private.h"
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
    {KEEPER_REVOKE, change_revoke},
    {KEEPER_VERSIONS, answer_versions},
    {KEEPER_GRANTS, answer_grants},
    {KEEPER_RELEASE, answer_release},
    {KEEPER_RELEASE_OLD, answer_release_old},
};

void
peers_end(struct peer *peer)
{
	if (peer->fd < 0)
		return;
	loop_remove(&the.loop, peer->slot);
	fd_close(&peer->fd);
	if (the.peer_n-- == PEERS_MAX)
		loop_events(&the.loop, the.listener_slot, POLLIN);
	keeper_quit_soon();
}

static int
dispatch(struct peer *peer, size_t len, struct wire_out *out)
{
	struct wire_in in;
	uint32_t type;

	wire_in_init(&in, the.in, len);
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

	r = wire_recv(fd, the.in, KEEPER_PACKET_MAX, &len, NULL, 0, NULL);
	if (r == -EAGAIN)
		return;
	used = r == 0 ? len : KEEPER_PACKET_MAX;
	wire_out_init(&out, the.out, KEEPER_PACKET_MAX);
	if (r == 0) {
		r = dispatch(peer, len, &out);
		if (r == -EBADMSG)
			log_warn("process %d said what none of ours says: hung up on",
			    peer->pid);
	}
	/* One answer for each request: it fits into an empty socket. */
	if (r == 0)
		r = wire_send(fd, &out, NULL, 0);
	vault_wipe(the.in, used);
	vault_wipe(the.out, out.len);
	if (r < 0)
		peers_end(peer);
}

static struct peer *
free_place(void)
{
	for (size_t i = 0; i < PEERS_MAX; i++) {
		if (the.peer[i].fd < 0)
			return &the.peer[i];
	}
	return NULL;
}

void
peers_accept(struct loop *loop, int listener, short revents, void *arg)
{
	struct ucred cred = {.uid = (uid_t)-1};
	struct peer *peer = free_place();
	socklen_t len = sizeof(cred);
	/* syscalls: accept4 getsockopt */
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		return; /* it went again */
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0 ||
	    cred.uid != geteuid()) {
		log_warn("user %u is refused", (unsigned int)cred.uid);
		fd_close(&fd);
		return;
	}
	if (peer == NULL) { /* the listener is not heard then */
		fd_close(&fd);
		return;
	}
	*peer = (struct peer){.fd = fd, .pid = cred.pid};
	peer->slot = loop_add(loop, fd, POLLIN, on_peer, peer);
	if (peer->slot < 0) {
		fd_close(&peer->fd);
		return;
	}
	/* no more are heard than there are places for */
	if (++the.peer_n == PEERS_MAX)
		loop_events(loop, the.listener_slot, 0);
	keeper_quit_soon();
}
