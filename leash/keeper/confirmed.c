/*
 * Asks the keeper whether a person has confirmed an approval.
 *
 * Process: kennel, the side that decides, after it has confined itself: Landlock does
 * not restrict connecting to a socket, and the filter of system calls allows it for the
 * audit recorder already.  A connection for each question, because a keeper ends when
 * it is locked, and must not be kept alive by every session.
 */
#include <errno.h>

#include "leash/keeper/keeper.h"
#include "shim/base/fd.h"
#include "shim/base/wire.h"

#define WAIT_S 2 /* a session waits for nothing longer: the person answers again */

int
keeper_confirmed(const char *run_dir, const uint8_t digest[KEEPER_DIGEST_LEN])
{
	uint8_t memory[KEEPER_TEXT_MAX + 64];
	enum keeper_state state;
	struct wire_out out;
	struct wire_in in;
	uint32_t type, is;
	size_t len = 0;
	/* syscalls: socket connect getsockopt setsockopt openat fstat sendmsg recvmsg */
	int fd, r = keeper_reach_within(
		    run_dir, -1, "kennel, for an approval", WAIT_S, &fd, &state);

	if (r < 0)
		return r;
	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, KEEPER_CONFIRMED);
	wire_put_bytes(&out, digest, KEEPER_DIGEST_LEN);
	r = wire_send(fd, &out, NULL, 0);
	if (r == 0)
		r = wire_recv(fd, memory, sizeof(memory), &len, NULL, 0, NULL);
	fd_close(&fd);
	if (r < 0)
		return r == -EAGAIN ? -ETIMEDOUT : r;
	wire_in_init(&in, memory, len);
	type = wire_get_u32(&in);
	is = wire_get_u32(&in);
	return type != KEEPER_DONE || wire_end(&in) < 0 ? -EPROTO : is == 1;
}
