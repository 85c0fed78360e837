/*
 * Reports of kennel-egress: recorded before a connection is made, and passed to the
 * supervisor if one was refused.
 *
 * Process: the leash.  Trusts the sealed policy.  kennel-egress reads data of the
 * server, so each field of its reports is checked, and the policy is queried again.
 * A protocol error ends the server's network, not the server.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "leash/egress/dial.h"
#include "leash/network.h"
#include "policy/sealed/net_hint.h"
#include "policy/sealed/policy.h"
#include "shim/base/fd.h"
#include "shim/base/log.h"

#define HEAR_MAX 64   /* reports handled before a message of the server */
#define LAST_MS  2000 /* for the reports of what is open at the end */

static void
event_of(struct leash *l, struct event *e, const char *verdict)
{
	event_begin(e, EVENT_EGRESS);
	event_identity(e, policy_str(&l->policy, l->server->name), l->policy.id);
	event_text(e, KEY_VERDICT, verdict);
}

/* ---- what the server named ------------------------------------------------------ */

/* The texts of a report that the server chose, without secrets. */
struct shown {
	const struct foreign *name, *address, *alpn, *reason;
};

/* Why it was refused or ended; the server name in the ClientHello is the server's. */
static const struct foreign *
reason_of(struct network *n, const struct egress_report *e)
{
	const char *why = e->dial != 0 ? dial_why_name((enum dial_why)e->dial)
				       : egress_why_name((enum egress_why)e->why);
	const struct foreign *sni =
	    foreign_name(n->leash->scrub, e->sni, &n->shown[SHOWN_SNI]);

	return foreign_after(why, sni, &n->shown[SHOWN_REASON]);
}

/* Valid until the next report. */
static struct shown
shown_of(struct network *n, const struct egress_report *e)
{
	struct scrub *scrub = n->leash->scrub;
	char address[ADDRESS_TEXT_MAX] = "";

	if (e->has_addr)
		(void)address_text(e->addr, address); /* its own argument */
	return (struct shown){.name = foreign_name(scrub, e->name, &n->shown[SHOWN_NAME]),
	    .address = foreign_name(scrub, address, &n->shown[SHOWN_ADDRESS]),
	    .alpn = foreign_name(scrub, e->alpn, &n->shown[SHOWN_ALPN]),
	    .reason = reason_of(n, e)};
}

/* ---- refusals ------------------------------------------------------------------ */

/* The host has only addresses that the grant does not include. */
static bool
is_address(const struct egress_report *e)
{
	return e->why == EGRESS_DIAL && e->dial >= DIAL_PUBLIC && e->dial <= DIAL_NEAR;
}

/* For a granted connection: did kennel end it, as opposed to the network? */
static bool
is_denial(const struct egress_report *e)
{
	if (e->why == EGRESS_DIAL)
		return is_address(e) || e->dial == DIAL_POLICY;
	return e->why != EGRESS_OK && e->why != EGRESS_LIMIT;
}

/* Is it the host of this URL, which a policy has checked? */
static bool
is_host_of(const char *url, const char *name)
{
	const char *at = strstr(url, "://");
	size_t n = strlen(name);

	return at != NULL && strncasecmp(at + 3, name, n) == 0 &&
	       strchr(":/?", at[3 + n]) != NULL;
}

/* The line that would grant the connection to this host, or "".  Only if no line
 * matches: a refusal by a line names that line. */
static void
hint_of(const struct leash *l, const struct egress_report *e, const char *name,
    char hint[LEASH_TEXT_MAX])
{
	const char *url = policy_remote_url(&l->policy, l->server);
	char block[ADDRESS_BLOCK_MAX];
	size_t len;

	hint[0] = '\0';
	if (e->why == EGRESS_NO_GRANT || e->why == EGRESS_NO_PORT)
		(void)net_hint(name, e->port, hint, LEASH_TEXT_MAX);
	/* of the addresses that no word permits; the others' reason names the word */
	if (e->why != EGRESS_DIAL || !e->has_addr ||
	    (e->dial != DIAL_SPECIAL && e->dial != DIAL_METADATA) ||
	    !address_block(e->addr, block))
		return;
	len = net_hint(name, e->port, hint, LEASH_TEXT_MAX);
	if (url != NULL && is_host_of(url, e->name))
		len = (size_t)snprintf(hint, LEASH_TEXT_MAX, "remote %.1000s", url);
	if (len > 0)
		(void)snprintf(
		    hint + len, LEASH_TEXT_MAX - len, " to %s", block); /* fits */
}

static void
tell(struct leash *l, const struct egress_report *e, const struct shown *s)
{
	const struct sealed_net *n =
	    e->row == EGRESS_NO_ROW ? NULL : &l->policy.net[e->row];
	struct dispatch_unreached u = {.name = s->name,
	    .port = e->port,
	    .rule = "",
	    .because = "",
	    .instead = "",
	    .reason = s->reason,
	    .address = is_address(e),
	    .failed = e->why == EGRESS_DIAL && !is_denial(e)};
	char at[300], hint[LEASH_TEXT_MAX];

	hint_of(l, e, foreign_str(s->name), hint);
	u.hint = foreign_text(l->scrub, hint, &l->network->shown[SHOWN_HINT]);
	if (n != NULL) {
		u.rule = policy_at(&l->policy, n->at, at, sizeof(at));
		u.because = policy_str(&l->policy, n->because);
		u.instead = policy_str(&l->policy, n->instead);
	}
	dispatch_unreached(l, &u);
}

/* Its listeners are closed with it: the server's connections then all fail. */
void
network_lost(struct network *n, const char *reason)
{
	struct leash *l = n->leash;
	struct egress_report none = {.row = EGRESS_NO_ROW};
	static struct event e;
	struct shown s;

	if (reason == NULL)
		reason = "kennel-egress and kennel-dial ended: the server has lost its "
			 "network";
	network_ping_stop(n);
	/* one ends with the other */
	loop_remove(&l->loop, n->relay_slot);
	loop_remove(&l->loop, n->dial_slot);
	n->relay_slot = n->dial_slot = -1;
	fd_close(&n->relay);
	fd_close(&n->dial);
	n->wait_n = 0;
	network_ask_end(n);
	loop_timer_stop(&l->loop, n->tick);
	n->tick = -1;
	if (n->lost || l->phase != PHASE_RUNNING || !l->cell_up)
		return;
	n->lost = true;
	log_error("%s", reason);
	event_of(l, &e, "deny");
	event_short(&e, KEY_REASON, reason);
	if (report_send(l->report, &e, EVENT_FLOW, NULL) < 0)
		log_warn("unable to record that %s", reason);
	s = shown_of(n, &none);
	s.reason = foreign_text(l->scrub, reason, &n->shown[SHOWN_REASON]);
	tell(l, &none, &s);
}

/* ---- records -------------------------------------------------------------------------- */

static void
put_target(struct leash *l, struct event *out, const struct egress_report *e,
    const struct shown *s)
{
	char text[300];

	if (e->name[0] != '\0')
		event_text(out, KEY_NAME, foreign_str(s->name));
	if (e->type != EGRESS_REFUSED) {
		/* the same in the records of its start and its end */
		(void)snprintf(text, sizeof(text), "%u", e->id);
		event_short(out, KEY_REQUEST, text);
	}
	if (e->port != 0)
		event_number(out, KEY_PORT, e->port);
	if (e->has_addr)
		event_text(out, KEY_ADDRESS, foreign_str(s->address));
	if (e->row != EGRESS_NO_ROW)
		event_text(out, KEY_RULE,
		    policy_at(&l->policy, l->policy.net[e->row].at, text, sizeof(text)));
}

static int
record_closed(struct leash *l, const struct egress_report *e)
{
	const struct shown s = shown_of(l->network, e);
	static struct event out;

	event_of(l, &out, is_denial(e) ? "deny" : "allow");
	event_text(&out, KEY_ACTION, "close");
	put_target(l, &out, e, &s);
	event_number(&out, KEY_BYTES_OUT, e->out);
	event_number(&out, KEY_BYTES_IN, e->in);
	event_number(&out, KEY_DURATION_US, e->ms * 1000);
	if (e->alpn[0] != '\0')
		event_text(&out, KEY_ALPN, foreign_str(s.alpn));
	if (e->ech != 0)
		event_number(&out, KEY_ECH, 1);
	if (e->why != EGRESS_OK)
		event_text(&out, KEY_REASON, foreign_str(s.reason));
	if (is_denial(e) || e->why == EGRESS_DIAL)
		tell(l, e, &s);
	return report_send(l->report, &out, EVENT_FLOW, NULL);
}

static int
record_refused(struct leash *l, const struct egress_report *e)
{
	const struct shown s = shown_of(l->network, e);
	static struct event out;

	event_of(l, &out, "deny");
	put_target(l, &out, e, &s);
	event_text(&out, KEY_REASON, foreign_str(s.reason));
	if (e->count > 1)
		event_number(&out, KEY_COUNT, e->count);
	tell(l, e, &s);
	return report_send(l->report, &out, EVENT_FLOW, NULL);
}

/* ---- connections ------------------------------------------------------------------------ */

static int
say_go(struct network *n, uint32_t id, bool yes)
{
	uint8_t memory[16];
	struct wire_out out;

	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, EGRESS_GO);
	wire_put_u32(&out, id);
	wire_put_u32(&out, yes);
	return wire_send(n->relay, &out, NULL, 0);
}

static int
wait_add(struct network *n, uint32_t id, bool yes, uint64_t record)
{
	if (n->wait_n == EGRESS_CONNS_MAX)
		return -EBADMSG; /* more than kennel-egress can have */
	n->wait[n->wait_n++] = (struct network_wait){id, yes, record};
	return 0;
}

int
network_say_go(struct network *n, uint32_t id, bool yes)
{
	int r = say_go(n, id, yes);

	if (r != -EAGAIN)
		return r;
	loop_events(&n->leash->loop, n->relay_slot, POLLIN | POLLOUT);
	return wait_add(n, id, yes, 0);
}

/* Queries the policy again: the relay's claim grants nothing. */
static bool
granted(const struct leash *l, const struct egress_report *e, uint32_t *ret_verdict)
{
	struct policy_net_ask ask = {e->name, strlen(e->name), e->port};
	struct policy_answer a = policy_match_net(&l->policy, l->server, &ask);

	*ret_verdict = a.verdict;
	return a.net != NULL && (uint32_t)(a.net - l->policy.net) == e->row &&
	       a.verdict != VERDICT_DENY;
}

void
network_record_refused(struct network *n, const struct egress_report *open,
    enum egress_why why, uint32_t count)
{
	struct egress_report e = *open;

	e.type = EGRESS_REFUSED;
	e.why = why;
	e.count = count;
	if (record_refused(n->leash, &e) < 0)
		log_warn("unable to record a refused connection");
}

int
network_refuse(struct network *n, const struct egress_report *open, enum egress_why why)
{
	network_record_refused(n, open, why, 1);
	return network_say_go(n, open->id, false);
}

int
network_record_ask(
    struct network *n, const struct egress_report *open, const uint8_t digest[32])
{
	const struct shown s = shown_of(n, open);
	static struct event out;

	event_of(n->leash, &out, "ask");
	event_text(&out, KEY_ACTION, "open");
	put_target(n->leash, &out, open, &s);
	event_digest(&out, KEY_SHA256, digest);
	if (report_late(n->leash->report))
		return -EAGAIN;
	return report_send(n->leash->report, &out, EVENT_FLOW, NULL);
}

/* On disk before any data of it leaves the machine.  a: the approval that it needed. */
static int
let_go(struct network *n, const struct egress_report *e, const struct network_ask *a)
{
	const struct shown s = shown_of(n, e);
	struct leash *l = n->leash;
	static struct event out;
	uint64_t number;

	event_of(l, &out, "allow");
	event_text(&out, KEY_ACTION, "open");
	put_target(l, &out, e, &s);
	if (a != NULL) {
		event_text(
		    &out, KEY_OUTCOME, a->answer == LEASH_ONCE ? "once" : "session");
		event_digest(&out, KEY_SHA256, a->digest);
		if (a->who[0] != '\0')
			event_short(&out, KEY_APPROVER, a->who);
	}
	if (report_late(l->report) ||
	    report_send(l->report, &out, EVENT_GATE, &number) < 0)
		return network_refuse(n, e, EGRESS_UNRECORDED);
	n->used = true;
	return wait_add(n, e->id, true, number);
}

int
network_agreed(
    struct network *n, const struct egress_report *e, const struct network_ask *a)
{
	return let_go(n, e, a);
}

static int
on_open(struct network *n, const struct egress_report *e)
{
	uint32_t verdict;

	if (!granted(n->leash, e, &verdict) || n->wait_n == EGRESS_CONNS_MAX)
		return -EBADMSG;
	/* a learning cell has hosts of its own, which a person has named */
	if (n->leash->placeholders.made && !n->leash->learn)
		return network_refuse(n, e, EGRESS_TRIAL);
	return verdict == VERDICT_ASK ? network_ask(n, e) : let_go(n, e, NULL);
}

/*
 * A commit makes many records durable at once, and their decisions can be more than
 * the channel takes: the others wait until it has room.
 */
void
network_recorded(struct leash *l)
{
	struct network *n = l->network;
	bool full = false;
	size_t kept = 0;

	if (n == NULL || n->relay < 0)
		return;
	for (size_t i = 0; i < n->wait_n; i++) {
		const struct network_wait w = n->wait[i];
		bool due = w.record == 0 || report_durable(l->report, w.record);
		int r = due && !full ? say_go(n, w.id, w.yes) : 0;

		if (r < 0 && r != -EAGAIN) {
			network_lost(n, NULL);
			return;
		}
		full = full || r == -EAGAIN;
		if (!due || full)
			n->wait[kept++] = w;
	}
	n->wait_n = kept;
	loop_events(&l->loop, n->relay_slot, full ? POLLIN | POLLOUT : POLLIN);
}

/* ---- reports ------------------------------------------------------------------- */

/* A connection that has ended waits for no decision. */
static void
wait_forget(struct network *n, uint32_t id)
{
	for (size_t i = 0; i < n->wait_n; i++)
		if (n->wait[i].id == id) {
			n->wait[i] = n->wait[--n->wait_n];
			return;
		}
}

static int
on_report(struct network *n, const struct egress_report *e)
{
	const struct sealed_range rows = n->leash->server->nets;

	if (e->row != EGRESS_NO_ROW &&
	    (e->row < rows.first || e->row >= rows.first + rows.n))
		return -EBADMSG;
	switch (e->type) {
	case EGRESS_OPEN:
		return on_open(n, e);
	case EGRESS_PONG:
		return network_pong(n, e->id);
	case EGRESS_CLOSED:
		wait_forget(n, e->id);
		if (network_forget(n, e->id)) {
			network_record_refused(n, e, EGRESS_NO_ANSWER, 1);
			return 0;
		}
		if (record_closed(n->leash, e) < 0)
			log_warn("unable to record the end of a connection");
		return 0;
	default:
		if (record_refused(n->leash, e) < 0)
			log_warn("unable to record a refused connection");
		return 0;
	}
}

/* Handles one report of the relay; false: none has come. */
static bool
hear_one(struct network *n)
{
	static uint8_t memory[EGRESS_PACKET_MAX];
	static struct egress_report e;
	size_t len = 0;
	int r;

	if (n->relay < 0)
		return false;
	r = wire_recv(n->relay, memory, sizeof(memory), &len, NULL, 0, NULL);
	if (r == -EAGAIN)
		return false;
	if (r == 0) {
		n->ping.pending = false; /* whatever it sent, it serves */
		r = egress_report_read(memory, len, &e);
	}
	if (r == 0)
		r = on_report(n, &e);
	if (r < 0)
		network_lost(n, NULL);
	return r == 0;
}

static void
on_relay(struct loop *loop, int fd, short revents, void *arg)
{
	struct network *n = arg;

	if (revents & POLLOUT)
		network_recorded(n->leash);
	(void)hear_one(n);
}

void
network_hear(struct leash *l)
{
	for (int i = 0; l->network != NULL && i < HEAR_MAX && hear_one(l->network); i++)
		;
}

/* It sends nothing: a readable channel means that it ended. */
static void
on_dial(struct loop *loop, int fd, short revents, void *arg)
{
	network_lost(arg, NULL);
}

int
network_watch(struct leash *l)
{
	struct network *n = l->network;
	int r;

	if (n == NULL)
		return 0;
	r = fd_nonblock(n->relay, true);
	if (r == 0)
		r = n->relay_slot = loop_add(&l->loop, n->relay, POLLIN, on_relay, n);
	if (r >= 0 && n->dial >= 0)
		r = n->dial_slot = loop_add(&l->loop, n->dial, POLLIN, on_dial, n);
	return r < 0 ? r : network_ping_start(n);
}

void
network_last(struct leash *l)
{
	struct network *n = l->network;
	uint64_t until = loop_now() + LAST_MS * LOOP_MS, now;

	if (n == NULL || n->relay < 0 || !n->used)
		return;
	n->lost = true;
	/* kennel-egress reports what is open, and exits; syscalls: shutdown poll */
	(void)shutdown(n->relay, SHUT_WR);
	while (n->relay >= 0 && (now = loop_now()) < until) {
		struct pollfd p = {n->relay, POLLIN, 0};

		if (!hear_one(n) && n->relay >= 0)
			(void)poll(&p, 1, (int)((until - now) / LOOP_MS) + 1);
	}
}
