/*
 * Asks the keeper how a person has confirmed an approval, and whether there is a key.
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

/* Sends what is in `out` and receives the answer into the same memory. */
static int
ask(const char *run_dir, struct wire_out *out, struct wire_in *ret)
{
	enum keeper_state state;
	size_t len = 0;
	/* syscalls: socket connect getsockopt setsockopt openat fstat sendmsg recvmsg */
	int fd, r = keeper_reach_within(
		    run_dir, -1, "kennel, for an approval", WAIT_S, &fd, &state);

	if (r < 0)
		return r;
	r = wire_send(fd, out, NULL, 0);
	if (r == 0)
		r = wire_recv(fd, out->data, out->cap, &len, NULL, 0, NULL);
	fd_close(&fd);
	wire_in_init(ret, out->data, len);
	return r == -EAGAIN ? -ETIMEDOUT : r;
}

int
keeper_confirmed(const char *run_dir, const uint8_t digest[KEEPER_DIGEST_LEN])
{
	uint8_t memory[KEEPER_TEXT_MAX + 64];
	struct wire_out out;
	struct wire_in in;
	uint32_t type, with;
	int r;

	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, KEEPER_CONFIRMED);
	wire_put_bytes(&out, digest, KEEPER_DIGEST_LEN);
	r = ask(run_dir, &out, &in);
	if (r < 0)
		return r;
	type = wire_get_u32(&in);
	with = wire_get_u32(&in);
	return type != KEEPER_DONE || wire_end(&in) < 0 || with > CONFIRMED_KEY
		   ? -EPROTO
		   : (int)with;
}

enum keeper_state
keeper_state_now(const char *run_dir)
{
	enum keeper_state state;
	int fd, r = keeper_reach_within(run_dir, -1, "kennel", WAIT_S, &fd, &state);

	if (r < 0)
		return STATE_LOCKED;
	fd_close(&fd);
	return state;
}

int
keeper_keys(const char *run_dir)
{
	uint8_t memory[KEEPER_KEYS_BYTES];
	struct wire_out out;
	struct wire_in in;
	uint32_t type, n;
	int r;

	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, KEEPER_KEYS);
	r = ask(run_dir, &out, &in);
	if (r < 0)
		return r;
	type = wire_get_u32(&in);
	n = wire_get_u32(&in);
	if (type == KEEPER_REFUSED && n == REASON_LOCKED)
		return -ENOKEY;
	if (type == KEEPER_REFUSED && n == REASON_NO_VAULT)
		return 0;
	if (type != KEEPER_KEYS_ARE || in.error != 0 || n > KEEPER_KEYS_MAX)
		return -EPROTO;
	return (int)n;
}
