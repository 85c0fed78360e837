/*
 * Encodes and decodes the messages between kennel-egress and kennel-dial (dial.h).
 */
#include <errno.h>
#include <string.h>

#include "leash/egress/dial.h"

const char *
dial_why_name(enum dial_why why)
{
	static const char *const name[DIAL_WHY_END] = {
	    [DIAL_NO_NAME] = "no such host",
	    [DIAL_RESOLVER] = "the resolver does not answer",
	    [DIAL_PUBLIC] = "it is a public address, which this grant does not include",
	    [DIAL_LOOPBACK] = "it is a loopback address: the grant needs `to loopback`",
	    [DIAL_PRIVATE] = "it is a private address: the grant needs `to private`",
	    [DIAL_METADATA] = "it is an address of a cloud's metadata service",
	    [DIAL_SPECIAL] = "it is a special-purpose address",
	    [DIAL_OWN] =
		"it is an address of this machine: the grant needs `to loopback`",
	    [DIAL_NEAR] =
		"it is in this machine's own network: the grant needs `to private`",
	    [DIAL_REFUSED] = "connection refused by the host",
	    [DIAL_UNREACHABLE] = "host unreachable",
	    [DIAL_TIMEOUT] = "no answer in time",
	    [DIAL_LIMIT] = "too many connections",
	    [DIAL_POLICY] = "not granted",
	};

	if ((size_t)why >= DIAL_WHY_END || name[why] == NULL)
		return "unknown";
	return name[why];
}

int
dial_request_read(const void *bytes, size_t len, struct dial_request *ret)
{
	struct dial_request q = {.name = ""};
	struct wire_in in;
	uint32_t type;

	wire_in_init(&in, bytes, len);
	type = wire_get_u32(&in);
	q.type = (enum dial_message)type;
	q.id = wire_get_u32(&in);
	if (type == DIAL_OPEN) {
		q.row = wire_get_u32(&in);
		q.port = wire_get_u32(&in);
		q.name = wire_get_str(&in, DIAL_NAME_MAX);
	} else if (type != DIAL_CANCEL) {
		return -EBADMSG;
	}
	if (wire_end(&in) < 0 ||
	    (type == DIAL_OPEN && (q.port == 0 || q.port > 65535 || q.name[0] == '\0')))
		return -EBADMSG;
	*ret = q;
	return 0;
}

int
dial_request_write(const struct dial_request *q, struct wire_out *out)
{
	wire_put_u32(out, q->type);
	wire_put_u32(out, q->id);
	if (q->type == DIAL_OPEN) {
		wire_put_u32(out, q->row);
		wire_put_u32(out, q->port);
		wire_put_str(out, q->name);
	}
	return out->error;
}

int
dial_answer_read(const void *bytes, size_t len, struct dial_answer *ret)
{
	struct dial_answer a = {0};
	struct wire_in in;
	struct span addr;
	uint32_t type, why = 0;

	wire_in_init(&in, bytes, len);
	type = wire_get_u32(&in);
	a.type = (enum dial_message)type;
	a.id = wire_get_u32(&in);
	if (type == DIAL_FAILED)
		why = wire_get_u32(&in);
	else if (type != DIAL_OPENED)
		return -EBADMSG;
	addr = wire_get_bytes(&in, ADDRESS_LEN);
	if (wire_end(&in) < 0 || (addr.len != 0 && addr.len != ADDRESS_LEN) ||
	    (type == DIAL_OPENED && addr.len == 0) ||
	    (type == DIAL_FAILED && (why == 0 || why >= DIAL_WHY_END)))
		return -EBADMSG;
	a.why = (enum dial_why)why;
	a.has_addr = addr.len > 0;
	memcpy(a.addr, addr.data, addr.len);
	*ret = a;
	return 0;
}

int
dial_answer_write(const struct dial_answer *a, struct wire_out *out)
{
	wire_put_u32(out, a->type);
	wire_put_u32(out, a->id);
	if (a->type == DIAL_FAILED)
		wire_put_u32(out, a->why);
	wire_put_bytes(out, a->addr, a->has_addr ? ADDRESS_LEN : 0);
	return out->error;
}
