/*
 * mcp_register: an agent proposes a server. The row starts disabled and grants nothing.
 * The registry is the only file that the hub may open. The change is made when the record
 * that it is asked for is on disk: the line waits for that (parked.c), the hub does not.
 */
#include <errno.h>
#include <string.h>

#include "leash/audit/writer.h"
#include "shim/base/log.h"
#include "supervisor/base/paths.h"
#include "supervisor/registry/dump.h"
#include "supervisor/registry/register_tool.h"
#include "supervisor/registry/registry_log.h"
#include "supervisor/serve/private.h"

#define DURABLE_MS 5000

/* Callback of register_read: what a policy or a file defines is not an agent's to change. */
static bool
is_defined(void *arg, const char *name, enum row_source *ret)
{
	const struct server *s = server_find(arg, name, strlen(name));

	if (s == NULL || s->source >= FROM_PERSON) /* the registry knows these */
		return false;
	*ret = s->source;
	return true;
}

static int
note(struct hub *h, const struct register_order *order, enum registry_outcome outcome,
    uint64_t *ret_number)
{
	struct registry_act act = {.action = register_action_name(order->action),
	    .name = order->row.name,
	    .by = FROM_AGENT};
	static struct event e;
	uint8_t sha256[REPORT_DIGEST_LEN];
	int r;

	if (order->action == REGISTER_LIST)
		return 0;
	if (h->report == NULL || report_late(h->report))
		return -EPIPE;
	if (order->action == REGISTER_ADD && outcome != REGISTRY_REFUSED) {
		r = dump_digest(&order->row, sha256);
		if (r < 0)
			return r;
		act.sha256 = sha256;
	}
	registry_event(&e, &act, outcome, NULL);
	return report_send(h->report, &e,
	    outcome == REGISTRY_ASKED ? EVENT_GATE : EVENT_FLOW, ret_number);
}

/* 1: the change is on record and may be made; 0: the line waits for the record. */
static int
recorded(struct hub *h, const struct incoming *in, const struct register_order *order)
{
	uint64_t number = in->record;
	int r = 0;

	if (order->action == REGISTER_LIST)
		return 1;
	if (number == 0)
		r = note(h, order, REGISTRY_ASKED, &number);
	if (r < 0)
		return r;
	if (h->report != NULL && report_durable(h->report, number))
		return 1;
	if (in->record == 0 && park_for_record(h, in, number, DURABLE_MS))
		return 0;
	(void)note(h, order, REGISTRY_FAILED, NULL); /* nothing is changed */
	return -EPIPE;
}

static int
change(struct hub *h, const struct register_order *order, struct buf *reply)
{
	struct registry *registry = NULL;
	struct reason moved, why;
	const char *dir = paths_registry_dir();
	int r = dir == NULL ? -ENOENT : registry_open(dir, true, &registry, &moved, &why);

	if (r < 0)
		(void)buf_puts(
		    reply, "mcp_register: unable to open the registry"); /* short */
	else {
		if (moved.text[0] != '\0')
			log_warn("%s", moved.text);
		r = register_do(registry, order, reply);
		registry_close(registry);
	}
	return r;
}

void
mcp_register(struct hub *h, struct incoming *in, struct json arguments)
{
	struct register_order order = {.action = REGISTER_ADD};
	struct buf reply;
	int r;

	if (!call_ready(h, in, false))
		return;
	buf_init(&reply, MCP_MESSAGE_MAX);
	r = register_read(arguments, is_defined, h, &order, &reply);
	if (r < 0)
		(void)note(h, &order, REGISTRY_REFUSED, NULL); /* nothing is changed */
	else if ((r = recorded(h, in, &order)) < 0)
		(void)buf_puts(&reply, /* short */
		    "mcp_register: unable to record it in the audit log; nothing was "
		    "changed");
	else if (r == 0)
		goto out;
	else {
		r = change(h, &order, &reply);
		/* the change is recorded as asked */
		(void)note(h, &order, r < 0 ? REGISTRY_FAILED : REGISTRY_DONE, NULL);
	}
	if (r < 0)
		reply_refusal(h, in, buf_str(&reply), "refused", NULL);
	else
		reply_tool(h, in, &reply, NULL, false);
out:
	register_order_free(&order);
	buf_free(&reply);
}
