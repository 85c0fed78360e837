/*
 * Reports to the leash.  A refusal is reported at once the first time, then as a
 * sum each minute, so that a server cannot fill the log with names.
 *
 * Process: kennel-egress.
 */
#include <errno.h>
#include <string.h>

#include "leash/egress/private.h"
#include "shim/base/log.h"

#define MINUTE_NS (UINT64_C(60) * 1000 * LOOP_MS)

static void
send_report(struct relay *r, const struct egress_report *e)
{
	uint8_t memory[EGRESS_PACKET_MAX];
	struct wire_out out;

	wire_out_init(&out, memory, sizeof(memory));
	if (egress_report_write(e, &out) < 0)
		bug("a report longer than its packet");
	if (relay_send(r->leash, &out) < 0)
		relay_end("the leash accepts no more reports");
}

/* Reports the sums of the past minute. */
static void
sums(struct relay *r)
{
	for (size_t i = 0; i < r->told_n; i++)
		if (r->told[i].report.count > 0)
			send_report(r, &r->told[i].report);
	r->told_n = 0;
	r->told_ns = 0;
}

void
tell_timers(struct relay *r, uint64_t now)
{
	if (r->told_ns != 0 && now - r->told_ns >= MINUTE_NS)
		sums(r);
}

void
tell_refused(struct relay *r, const struct egress_report *report)
{
	struct egress_report e = *report;
	struct told *t = NULL;

	e.type = EGRESS_REFUSED;
	for (size_t i = 0; t == NULL && i < r->told_n; i++)
		if (r->told[i].report.why == e.why && r->told[i].report.port == e.port &&
		    strcmp(r->told[i].report.name, e.name) == 0)
			t = &r->told[i];
	if (t != NULL) {
		t->report.count++;
		return;
	}
	if (r->told_ns == 0)
		r->told_ns = loop_now();
	if (r->told_n == TELLS_MAX - 1) { /* the last row sums up the rest */
		e = (struct egress_report){
		    .type = EGRESS_REFUSED, .row = EGRESS_NO_ROW, .why = EGRESS_MORE};
	}
	if (r->told_n == TELLS_MAX) {
		r->told[TELLS_MAX - 1].report.count++;
		return;
	}
	t = &r->told[r->told_n++];
	e.count = 1;
	send_report(r, &e);
	t->report = e;
	t->report.count = 0;
}

void
tell_conn(struct relay *r, const struct conn *c, enum egress_message type,
    enum egress_why why, enum dial_why dial)
{
	struct egress_report e = {.type = type,
	    .id = conn_id(r, c),
	    .row = c->row,
	    .port = c->port,
	    .why = why,
	    .dial = dial,
	    .ech = c->ech,
	    .out = c->flow[CLIENT].bytes,
	    .in = c->flow[SERVER].bytes,
	    .ms = (loop_now() - c->since_ns) / LOOP_MS,
	    .has_addr = c->has_addr};

	memcpy(e.addr, c->addr, sizeof(e.addr));
	memcpy(e.name, c->name, sizeof(e.name));
	memcpy(e.sni, c->sni, sizeof(e.sni));
	memcpy(e.alpn, c->alpn, sizeof(e.alpn));
	if (type == EGRESS_REFUSED) {
		e.out = e.in = e.ms = 0;
		tell_refused(r, &e);
	} else
		send_report(r, &e);
}

void
tell_serving(struct relay *r, uint32_t number)
{
	struct egress_report e = {
	    .type = EGRESS_PONG, .id = number, .row = EGRESS_NO_ROW};

	send_report(r, &e);
}
