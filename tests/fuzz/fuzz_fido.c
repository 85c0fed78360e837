/*
 * Any bytes as a question to kennel-fido: nothing that was not signed is right, and a
 * key that is taken is whole. No input can hold a signature for a challenge that the
 * target draws after it.
 */
#include <stdlib.h>
#include <string.h>

#include "leash/keeper/fido/fido.h"
#include "tests/fuzz/fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static uint8_t again[FIDO_PACKET_MAX];
	static struct fido_answer a, b;
	struct fido_question q;
	struct wire_out out;
	struct wire_in in;

	wire_in_init(&in, data, len);
	if (fido_get_question(&in, &q) < 0)
		return 0;
	a = (struct fido_answer){.number = q.number};
	if (q.use == FIDO_REGISTER)
		signature_register(&q, &a);
	else
		signature_confirm(&q, &a);
	if ((a.verdict == FIDO_RIGHT) != (a.why[0] == '\0') || a.verdict > FIDO_WRONG)
		abort();
	if (q.use == FIDO_REGISTER && a.verdict == FIDO_RIGHT &&
	    (a.id_len == 0 || a.public_len == 0))
		abort();
	wire_out_init(&out, again, sizeof(again));
	fido_put_answer(&out, &a, q.use);
	wire_in_init(&in, again, out.len);
	if (out.error != 0 || fido_get_answer(&in, &b, q.use) < 0 ||
	    b.verdict != a.verdict || b.id_len != a.id_len)
		abort();
	/* with another challenge the same signature is wrong */
	if (a.verdict == FIDO_RIGHT) {
		uint8_t other[FIDO_CHALLENGE_LEN] = {1};

		q.challenge.data = other;
		if (q.use == FIDO_REGISTER)
			signature_register(&q, &b);
		else
			signature_confirm(&q, &b);
		if (b.verdict == FIDO_RIGHT)
			abort();
	}
	return 0;
}
