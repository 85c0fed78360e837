/*
 * What a leash sends to its supervisor about hosts, and about the files that are named while
 * a server is learned (docs/PROTOCOL.leash).
 *
 * Process: the leash.
 */
#include "leash/private.h"

int
dispatch_ask_net(struct leash *l, const struct dispatch_ask_net *q)
{
	static uint8_t memory[LEASH_PACKET_MAX];
	struct wire_out out;

	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, LEASH_ASK_NET);
	wire_put_u32(&out, q->number);
	wire_put_u32(&out, q->timeout_ms);
	wire_put_u32(&out, q->factor);
	wire_put_bytes(&out, q->digest, LEASH_DIGEST_LEN);
	wire_put_str(&out, foreign_str(q->name));
	wire_put_u32(&out, q->port);
	wire_put_str(&out, q->rule);
	wire_put_str(&out, q->because);
	return dispatch_tell(l, &out);
}

void
dispatch_unreached(struct leash *l, const struct dispatch_unreached *u)
{
	static uint8_t memory[LEASH_PACKET_MAX];
	struct wire_out out;

	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, LEASH_UNREACHED);
	wire_put_str(&out, foreign_str(u->name));
	wire_put_u32(&out, u->port);
	wire_put_str(&out, u->rule);
	wire_put_str(&out, u->because);
	wire_put_str(&out, u->instead);
	wire_put_str(&out, foreign_str(u->reason));
	wire_put_str(&out, foreign_str(u->hint));
	wire_put_u32(&out, u->failed ? 2 : u->address);
	(void)dispatch_tell(l, &out); /* it is in the log in any case */
}

int
dispatch_named(void *leash, enum gate_use use, const struct foreign *path,
    const struct foreign *program)
{
	static const uint32_t of[] = {[GATE_LOOK] = NAMED_LOOK,
	    [GATE_READ] = NAMED_READ,
	    [GATE_LIST] = NAMED_LIST,
	    [GATE_WRITE] = NAMED_WRITE,
	    [GATE_CREATE] = NAMED_CREATE,
	    [GATE_MAKEDIR] = NAMED_MAKEDIR,
	    [GATE_CONNECT] = NAMED_CONNECT};
	static uint8_t memory[LEASH_PACKET_MAX];
	struct wire_out out;

	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, LEASH_NAMED);
	wire_put_u32(&out, of[use]);
	wire_put_str(&out, foreign_str(path));
	wire_put_str(&out, foreign_str(program));
	return dispatch_tell(leash, &out);
}
