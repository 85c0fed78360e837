/*
 * What a leash sends to its supervisor while its server is learned: the files that are
 * named (docs/PROTOCOL.leash).
 *
 * Process: the leash.
 */
#include "leash/private.h"

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
