/*
 * Any bytes as the answer of a session to "kennel ps": what is accepted has only texts
 * that end, and is written again as the same bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "shim/base/wire.h"
#include "supervisor/status/status.h"
#include "tests/fuzz/fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	uint8_t again[STATUS_PACKET_MAX];
	struct wire_out out;
	struct status s;
	struct wire_in in;

	wire_in_init(&in, data, len);
	if (status_get(&in, &s) < 0)
		return 0;
	if (memchr(s.server, '\0', sizeof(s.server)) == NULL ||
	    memchr(s.session, '\0', sizeof(s.session)) == NULL)
		abort();
	wire_out_init(&out, again, sizeof(again));
	status_put(&out, &s, data[4]); /* its version */
	if (out.len != len || memcmp(again, data, len) != 0)
		abort();
	return 0;
}
