/*
 * The refresh token, which the leash gets from the vault and puts into it.
 *
 * The packet that holds one is wiped.  The leash is trusted, and still its packet is read
 * within its bounds.
 */
#include "leash/remote/oauth.h"
#include "leash/refresh_request.h"

#include "leash/vault/vault.h"
#include "shim/base/wire.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#define WAIT_MS 10000

static const char silent[] = "kennel-leash does not answer: start the server again";

struct packet {
	uint8_t bytes[REFRESH_PACKET_MAX];
	size_t len;
};

/* An answer of this type, or REFUSED. */
static int
answer(const struct packet *p, enum refresh_message type, struct wire_in *ret,
    const char **ret_why)
{
	static char text[REFRESH_WHY_MAX + 1];
	uint32_t got;

	wire_in_init(ret, p->bytes, p->len);
	got = wire_get_u32(ret);
	if (got == type)
		return 0;
	if (got != REFRESH_REFUSED)
		return -EBADMSG;
	(void)snprintf(text, sizeof(text), "%s", wire_get_str(ret, REFRESH_WHY_MAX));
	if (wire_end(ret) < 0)
		return -EBADMSG;
	*ret_why = text;
	return -ENOENT;
}

static int
receive(struct oauth *o, struct packet *p)
{
	struct pollfd wait = {o->refresh_fd, POLLIN, 0};

	o->refresh_late = poll(&wait, 1, WAIT_MS) != 1;
	return o->refresh_late ? -ETIMEDOUT
			       : wire_recv(o->refresh_fd, p->bytes, sizeof(p->bytes),
				     &p->len, NULL, 0, NULL);
}

/* The leash takes one request at a time, and its answers have no number: an answer that is
 * late is waited for, and not read as that of the next request. */
static int
exchange(struct oauth *o, struct packet *p, const struct wire_out *out,
    enum refresh_message type, struct wire_in *ret, const char **ret_why)
{
	struct packet late;
	int r = 0;

	*ret_why = silent;
	if (o->refresh_late) {
		r = receive(o, &late);
		explicit_bzero(&late, sizeof(late));
	}
	if (r == 0)
		r = wire_send(o->refresh_fd, out, NULL, 0);
	if (r == 0)
		r = receive(o, p);
	return r == 0 ? answer(p, type, ret, ret_why) : r;
}

int
refresh_get(struct oauth *o, const char **ret_why)
{
	const struct secret *present = tokens_present(o->tokens, TOKEN_REFRESH);
	const char *what = NULL;
	struct wire_out out;
	struct packet p;
	struct wire_in in;
	struct span value;
	int r;

	wire_out_init(&out, p.bytes, sizeof(p.bytes));
	wire_put_u32(&out, REFRESH_GET);
	r = exchange(o, &p, &out, REFRESH_VALUE, &in, ret_why);
	if (r == 0) {
		value = wire_get_bytes(&in, REFRESH_VALUE_MAX);
		r = wire_end(&in);
		if (r == 0 && present != NULL &&
		    secret_equals(present, value.data, value.len))
			r = 1;
		if (r == 0)
			r = tokens_add(o->tokens, TOKEN_REFRESH, (const char *)value.data,
			    value.len, &what);
		if (what != NULL)
			*ret_why = what;
	}
	explicit_bzero(&p, sizeof(p));
	return r;
}

int
refresh_put(struct oauth *o, const struct secret *token, const char **ret_why)
{
	struct wire_out out;
	struct packet p;
	struct wire_in in;
	int r;

	wire_out_init(&out, p.bytes, sizeof(p.bytes));
	wire_put_u32(&out, REFRESH_PUT);
	wire_put_bytes(&out, secret_expose(token), secret_len(token));
	r = exchange(o, &p, &out, REFRESH_DONE, &in, ret_why);
	if (r == 0)
		r = wire_end(&in);
	explicit_bzero(&p, sizeof(p));
	return r;
}
