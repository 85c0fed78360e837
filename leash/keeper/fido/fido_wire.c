#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "leash/keeper/fido/fido.h"

void
fido_put_question(struct wire_out *out, const struct fido_question *q)
{
	wire_put_u32(out, q->number);
	wire_put_u32(out, q->use);
	wire_put_bytes(out, q->challenge.data, q->challenge.len);
	wire_put_bytes(out, q->client_data.data, q->client_data.len);
	wire_put_bytes(out, q->auth_data.data, q->auth_data.len);
	if (q->use != FIDO_CONFIRM)
		return;
	wire_put_bytes(out, q->id.data, q->id.len);
	wire_put_u32(out, q->algorithm);
	wire_put_bytes(out, q->public_key.data, q->public_key.len);
	wire_put_bytes(out, q->signature.data, q->signature.len);
}

int
fido_get_question(struct wire_in *in, struct fido_question *q)
{
	*q = (struct fido_question){.number = wire_get_u32(in)};
	q->use = wire_get_u32(in);
	q->challenge = wire_get_bytes(in, FIDO_CHALLENGE_LEN);
	q->client_data = wire_get_bytes(in, FIDO_CLIENT_MAX);
	q->auth_data = wire_get_bytes(in, FIDO_AUTH_MAX);
	if (q->use == FIDO_CONFIRM) {
		q->id = wire_get_bytes(in, FIDO_ID_MAX);
		q->algorithm = wire_get_u32(in);
		q->public_key = wire_get_bytes(in, FIDO_PUBLIC_MAX);
		q->signature = wire_get_bytes(in, FIDO_SIGNATURE_MAX);
	}
	if (wire_end(in) < 0 || q->number == 0 ||
	    (q->use != FIDO_REGISTER && q->use != FIDO_CONFIRM) ||
	    q->challenge.len != FIDO_CHALLENGE_LEN)
		return -EBADMSG;
	return 0;
}

void
fido_put_answer(struct wire_out *out, const struct fido_answer *a, enum fido_use use)
{
	wire_put_u32(out, a->number);
	wire_put_u32(out, a->verdict);
	wire_put_str(out, a->why);
	wire_put_u32(out, a->counter);
	if (use != FIDO_REGISTER || a->verdict != FIDO_RIGHT)
		return;
	wire_put_bytes(out, a->id, a->id_len);
	wire_put_u32(out, a->algorithm);
	wire_put_bytes(out, a->public_key, a->public_len);
}

int
fido_get_answer(struct wire_in *in, struct fido_answer *a, enum fido_use use)
{
	struct span id, public_key;

	*a = (struct fido_answer){.number = wire_get_u32(in)};
	a->verdict = wire_get_u32(in);
	(void)snprintf(a->why, sizeof(a->why), "%s", wire_get_str(in, FIDO_WHY_MAX - 1));
	a->counter = wire_get_u32(in);
	if (use == FIDO_REGISTER && a->verdict == FIDO_RIGHT) {
		id = wire_get_bytes(in, FIDO_ID_MAX);
		a->algorithm = wire_get_u32(in);
		public_key = wire_get_bytes(in, FIDO_PUBLIC_MAX);
		memcpy(a->id, id.data, a->id_len = id.len);
		memcpy(a->public_key, public_key.data, a->public_len = public_key.len);
	}
	return wire_end(in);
}
