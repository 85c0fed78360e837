/*
 * kennel-secret and the keeper: a request, its reply, and the meaning of a refusal
 * for the user.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "leash/secret/private.h"
#include "shim/base/array.h"
#include "shim/base/fd.h"
#include "shim/base/log.h"

static const struct {
	enum keeper_reason reason;
	int status;
	const char *then; /* how to fix it */
} reason_row[] = {
    {REASON_FAILED, LOG_EXIT_FAILED, ""},
    {REASON_NO_VAULT, STATUS_NOT_FOUND, ": create one with kennel secret init"},
    {REASON_LOCKED, STATUS_DENIED, ": open it with kennel secret unlock"},
    {REASON_WRONG, STATUS_DENIED, ""},
    {REASON_ALTERED, LOG_EXIT_FAILED, ""},
    {REASON_NOT_THERE, STATUS_NOT_FOUND, ""},
    {REASON_THERE, STATUS_INPUT, ""},
    {REASON_BAD, STATUS_INPUT, ""},
    {REASON_FULL, LOG_EXIT_FAILED, ""},
    {REASON_OTHER_VAULT, STATUS_CONFIG, ""},
    {REASON_TOO_MANY, LOG_EXIT_FAILED, ""},
};

/* Of the last request that failed. */
static struct {
	enum keeper_reason reason;
	char why[KEEPER_TEXT_MAX + 64];
} failure;

const char *
talk_why(void)
{
	return failure.why;
}

enum keeper_reason
talk_reason(void)
{
	return failure.reason;
}

static int
failed(const struct order *o, const char *why)
{
	failure.reason = 0;
	(void)snprintf(failure.why, sizeof(failure.why), "%s", why);
	log_error("%s: %s", o->verb, why);
	return LOG_EXIT_FAILED;
}

static int
refused(const struct order *o, struct wire_in *in)
{
	uint32_t reason = wire_get_u32(in);
	const char *text = wire_get_str(in, KEEPER_TEXT_MAX), *then = "";
	int status = LOG_EXIT_FAILED;

	if (wire_end(in) < 0)
		text = "protocol error from the keeper";
	for (size_t i = 0; i < ARRAY_LEN(reason_row); i++) {
		if (reason_row[i].reason != reason)
			continue;
		status = reason_row[i].status;
		then = reason_row[i].then;
	}
	failure.reason = reason;
	(void)snprintf(failure.why, sizeof(failure.why), "%s%s", text, then);
	log_error("%s: %s%s%s", o->verb, o->path != NULL ? o->path : "",
	    o->path != NULL ? ": " : "", failure.why);
	return status;
}

void
talk_begin(struct order *o, struct wire_out *out, enum keeper_message type)
{
	wire_out_init(out, o->packet, KEEPER_PACKET_MAX);
	wire_put_u32(out, type);
}

int
talk(struct order *o, const struct wire_out *out, enum keeper_message wanted,
    struct wire_in *ret_in)
{
	char why[KEEPER_TEXT_MAX];
	size_t len = 0;
	uint32_t type;
	int r;

	r = o->keeper < 0 ? -ENOTCONN : wire_send(o->keeper, out, NULL, 0);
	vault_wipe(o->packet, out->len);
	if (r == 0)
		r = wire_recv(
		    o->keeper, o->packet, KEEPER_PACKET_MAX, &len, NULL, 0, NULL);
	if (r < 0) {
		fd_close(&o->keeper); /* a late answer is not that of the next request */
		(void)snprintf(why, sizeof(why), "the keeper does not answer: %s",
		    strerror(r == -EAGAIN ? ETIMEDOUT : -r));
		return failed(o, why);
	}
	wire_in_init(ret_in, o->packet, len);
	type = wire_get_u32(ret_in);
	if (type == (uint32_t)wanted)
		return STATUS_OK;
	if (type == KEEPER_REFUSED)
		return refused(o, ret_in);
	return failed(o, "protocol error from the keeper");
}

int
talk_done(struct order *o, const struct wire_out *out, uint32_t *ret)
{
	struct wire_in in;
	int status = talk(o, out, KEEPER_DONE, &in);
	uint32_t what;

	if (status != STATUS_OK)
		return status;
	what = wire_get_u32(&in);
	if (wire_end(&in) < 0)
		return order_fail(o, LOG_EXIT_FAILED, "protocol error from the keeper");
	if (ret != NULL)
		*ret = what;
	return STATUS_OK;
}
