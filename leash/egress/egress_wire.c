/*
 * Encodes and decodes the reports of kennel-egress to its leash (egress.h).
 */
#include <errno.h>
#include <string.h>

#include "leash/egress/dial.h"
#include "leash/egress/egress.h"

const char *
egress_why_name(enum egress_why why)
{
	static const char *const name[EGRESS_WHY_END] = {
	    [EGRESS_OK] = "ok",
	    [EGRESS_NO_GRANT] = "no line grants it",
	    [EGRESS_NO_PORT] = "no line grants this port",
	    [EGRESS_DENIED] = "denied",
	    [EGRESS_DATAGRAM] = "only TCP connections can be granted",
	    [EGRESS_NOT_TLS] = "not TLS: the grant needs `plain` for another protocol",
	    [EGRESS_HELLO] = "malformed ClientHello",
	    [EGRESS_NO_SNI] =
		"no server name in the ClientHello: the grant needs `no-sni`",
	    [EGRESS_OTHER_SNI] = "the ClientHello names another server",
	    [EGRESS_SECOND_SNI] = "the second ClientHello names another server",
	    [EGRESS_NO_STARTTLS] = "the client did not ask for TLS",
	    [EGRESS_SILENT] = "no whole ClientHello in time",
	    [EGRESS_NOT_AGREED] = "not approved",
	    [EGRESS_UNRECORDED] = "the audit log did not take the record",
	    [EGRESS_DIAL] = "no connection",
	    [EGRESS_FULL] = "all addresses of the suffix are in use",
	    [EGRESS_LIMIT] = "too many connections",
	    [EGRESS_MORE] = "too many names to record each one",
	    [EGRESS_NO_ANSWER] = "no answer yet: connect again when a person has agreed",
	    [EGRESS_TRIAL] = "a server that gets placeholders reaches no host",
	    [EGRESS_EXPIRED] = "the exception of the line that grants it has expired",
	};

	return (size_t)why < EGRESS_WHY_END ? name[why] : "unknown";
}

/* Has the name only characters of host names and addresses?  For records. */
static bool
name_ok(const char *name)
{
	return name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_.:?")] == '\0';
}

static bool
printable(const char *text)
{
	for (; *text != '\0'; text++)
		if (*text <= 0x20 || *text >= 0x7f)
			return false;
	return true;
}

int
egress_report_write(const struct egress_report *e, struct wire_out *out)
{
	wire_put_u32(out, e->type);
	wire_put_u32(out, e->id);
	wire_put_u32(out, e->row);
	wire_put_u32(out, e->port);
	wire_put_u32(out, e->why);
	wire_put_u32(out, e->dial);
	wire_put_u32(out, e->count);
	wire_put_u32(out, e->ech);
	wire_put_u64(out, e->out);
	wire_put_u64(out, e->in);
	wire_put_u64(out, e->ms);
	wire_put_bytes(out, e->addr, e->has_addr ? ADDRESS_LEN : 0);
	wire_put_str(out, e->name);
	wire_put_str(out, e->sni);
	wire_put_str(out, e->alpn);
	return out->error;
}

static void
get_text(struct wire_in *in, char *to, size_t max)
{
	const char *text = wire_get_str(in, max);

	memcpy(to, text, strlen(text) + 1);
}

int
egress_report_read(const void *bytes, size_t len, struct egress_report *ret)
{
	struct egress_report e = {0};
	struct wire_in in;
	struct span addr;

	wire_in_init(&in, bytes, len);
	e.type = (enum egress_message)wire_get_u32(&in);
	e.id = wire_get_u32(&in);
	e.row = wire_get_u32(&in);
	e.port = wire_get_u32(&in);
	e.why = wire_get_u32(&in);
	e.dial = wire_get_u32(&in);
	e.count = wire_get_u32(&in);
	e.ech = wire_get_u32(&in);
	e.out = wire_get_u64(&in);
	e.in = wire_get_u64(&in);
	e.ms = wire_get_u64(&in);
	addr = wire_get_bytes(&in, ADDRESS_LEN);
	get_text(&in, e.name, EGRESS_NAME_MAX);
	get_text(&in, e.sni, EGRESS_NAME_MAX);
	get_text(&in, e.alpn, EGRESS_ALPN_MAX);
	if (wire_end(&in) < 0)
		return -EBADMSG;
	if ((e.type != EGRESS_OPEN && e.type != EGRESS_REFUSED &&
		e.type != EGRESS_CLOSED && e.type != EGRESS_PONG) ||
	    e.port > 65535 || e.why >= EGRESS_WHY_END || e.dial >= DIAL_WHY_END ||
	    e.ech > 1 || (addr.len != 0 && addr.len != ADDRESS_LEN) || !name_ok(e.name) ||
	    !printable(e.sni) || !printable(e.alpn) ||
	    ((e.type == EGRESS_OPEN || e.type == EGRESS_CLOSED) &&
		(e.row == EGRESS_NO_ROW || e.name[0] == '\0')) ||
	    (e.type == EGRESS_PONG && (e.row != EGRESS_NO_ROW || e.name[0] != '\0')) ||
	    (e.type == EGRESS_REFUSED) != (e.count > 0))
		return -EBADMSG;
	e.has_addr = addr.len > 0;
	memcpy(e.addr, addr.data, addr.len);
	*ret = e;
	return 0;
}
