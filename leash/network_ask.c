/*
 * Connections that a person is asked about.  An approval is for a name and a port
 * under one row of the policy.  It outlives the connection that asked: many clients
 * give up after ten seconds, and their next try finds the answer.
 *
 *	no answer yet --> PENDING: connections wait --> once, session --> AGREED: they go
 *						    --> deny, nobody ---> REFUSED: reset
 *
 * Process: the leash.  Trusts the supervisor for what the person said.  kennel-dial
 * learns each agreement from here; kennel-egress cannot make one.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "leash/egress/dial.h"
#include "leash/network.h"
#include "policy/sealed/policy.h"
#include "shim/base/fd.h"
#include "shim/base/log.h"

#define ANSWER_S  60u                 /* how long "once" and a no are valid */
#define SESSION_S (10u * 365 * 86400) /* longer than a session */
#define OPEN_MIN \
	(UINT64_C(300) * 1000 * LOOP_MS) /* an approval is open at least so long */
#define LATE_NS (2000 * LOOP_MS)         /* for the supervisor, which counts too */
#define TICK_NS (500 * LOOP_MS)

static void on_tick(struct loop *, void *arg);

static struct egress_report
ask_report(const struct network_ask *a, uint32_t id)
{
	struct egress_report e = {
	    .type = EGRESS_OPEN, .id = id, .row = a->row, .port = a->port};

	memcpy(e.name, a->name, sizeof(e.name));
	return e;
}

static bool
same(const struct network_ask *a, const struct egress_report *e)
{
	return a->state != ASK_FREE && a->row == e->row && a->port == e->port &&
	       strcmp(a->name, e->name) == 0;
}

/* Refusals that were counted are on record before the answer is forgotten. */
static void
ask_free(struct network *n, struct network_ask *a)
{
	struct egress_report e = ask_report(a, 0);

	if (a->state == ASK_REFUSED && a->refused > 0)
		network_record_refused(n, &e, EGRESS_NOT_AGREED, a->refused);
	a->state = ASK_FREE;
}

/* Of this name and port, as long as it holds; NULL: a person has to be asked. */
static struct network_ask *
ask_of(struct network *n, const struct egress_report *e)
{
	uint64_t now = loop_now();

	for (size_t i = 0; i < NETWORK_ASKS_MAX; i++) {
		struct network_ask *a = &n->ask[i];

		if (!same(a, e))
			continue;
		if (a->state != ASK_PENDING && now >= a->until_ns)
			ask_free(n, a);
		return a->state == ASK_FREE ? NULL : a;
	}
	return NULL;
}

/* A free slot, or that of the answer which ends first; NULL: too many are pending. */
static struct network_ask *
ask_slot(struct network *n)
{
	struct network_ask *first = NULL;
	size_t pending = 0;

	for (size_t i = 0; i < NETWORK_ASKS_MAX; i++) {
		struct network_ask *a = &n->ask[i];

		pending += a->state == ASK_PENDING;
		if (a->state == ASK_PENDING)
			continue;
		if (first == NULL || a->state == ASK_FREE ||
		    (first->state != ASK_FREE && a->until_ns < first->until_ns))
			first = a;
	}
	if (first == NULL || pending >= NETWORK_PENDING_MAX)
		return NULL;
	ask_free(n, first);
	return first;
}

/* ---- the question ----------------------------------------------------------------- */

/* What the person agrees to: the policy, the row, the name and the port. */
static void
digest_of(const struct leash *l, const struct network_ask *a, uint8_t ret[32])
{
	struct {
		uint8_t policy[POLICY_ID_LEN];
		uint32_t server, row, port;
		char name[EGRESS_NAME_MAX + 1];
	} all = {.server = (uint32_t)(l->server - l->policy.server),
	    .row = a->row,
	    .port = a->port};

	memcpy(all.policy, l->policy.id, sizeof(all.policy));
	memcpy(all.name, a->name, strlen(a->name));
	policy_digest(&all, sizeof(all), ret);
}

static int
put(struct network *n, const struct network_ask *a, uint64_t open_ns)
{
	struct leash *l = n->leash;
	const struct sealed_net *row = &l->policy.net[a->row];
	struct dispatch_ask_net q = {.number = a->number,
	    .timeout_ms = (uint32_t)(open_ns / LOOP_MS),
	    .factor = row->factor,
	    .digest = a->digest,
	    .name = foreign_name(l->scrub, a->name, &n->shown[SHOWN_NAME]),
	    .port = a->port,
	    .because = policy_str(&l->policy, row->because)};
	char rule[300];

	q.rule = policy_at(&l->policy, row->at, rule, sizeof(rule));
	return dispatch_ask_net(l, &q);
}

static struct network_ask *
ask_begin(struct network *n, const struct egress_report *e, uint64_t open_ns)
{
	struct network_ask *a = ask_slot(n);

	if (a == NULL || n->ask_number == UINT32_MAX)
		return NULL;
	*a = (struct network_ask){.state = ASK_PENDING,
	    .number = n->ask_number,
	    .row = e->row,
	    .port = e->port,
	    .until_ns = loop_now() + open_ns + LATE_NS};
	memcpy(a->name, e->name, strlen(e->name) + 1);
	digest_of(n->leash, a, a->digest);
	if (network_record_ask(n, e, a->digest) < 0 || put(n, a, open_ns) < 0) {
		a->state = ASK_FREE;
		return NULL;
	}
	n->ask_number++;
	return a;
}

int
network_ask(struct network *n, const struct egress_report *e)
{
	struct leash *l = n->leash;
	uint64_t hold_ns = policy_limit(&l->policy, l->server, TIMEOUT_ASK) * LOOP_MS;
	struct network_ask *a = ask_of(n, e);

	if (a == NULL)
		a = ask_begin(n, e, hold_ns < OPEN_MIN ? OPEN_MIN : hold_ns);
	if (a == NULL)
		return network_refuse(n, e, EGRESS_NOT_AGREED);
	if (a->state == ASK_REFUSED) {
		a->refused++; /* recorded as a sum: one that tries again is no news */
		return network_say_go(n, e->id, false);
	}
	if (a->state == ASK_AGREED)
		return network_agreed(n, e, a);
	if (n->held_n == EGRESS_CONNS_MAX)
		return -EBADMSG; /* more than kennel-egress can have */
	n->held[n->held_n++] =
	    (struct network_held){e->id, (uint32_t)(a - n->ask), loop_now() + hold_ns};
	if (n->tick < 0)
		n->tick = loop_timer_at(&l->loop, loop_now() + TICK_NS, on_tick, n);
	return n->tick < 0 ? n->tick : 0;
}

/* To kennel-dial, once for all connections, as long as the answer holds. */
static int
say_agreed(struct network *n, const struct network_ask *a)
{
	uint8_t memory[DIAL_PACKET_MAX];
	struct wire_out out;

	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, DIAL_AGREED);
	wire_put_u32(&out, a->row);
	wire_put_u32(&out, a->port);
	wire_put_u32(&out, (uint32_t)((a->until_ns - loop_now()) / (1000 * LOOP_MS)) + 1);
	wire_put_str(&out, a->name);
	return wire_send(n->dial, &out, NULL, 0);
}

/* ---- the connections that wait ---------------------------------------------------- */

/* Each of them goes, or is refused. */
static int
settle(struct network *n, const struct network_ask *a)
{
	struct egress_report e;
	int r = 0;

	for (size_t i = 0; i < n->held_n && r == 0;) {
		if (&n->ask[n->held[i].ask] != a) {
			i++;
			continue;
		}
		e = ask_report(a, n->held[i].id);
		n->held[i] = n->held[--n->held_n];
		r = a->state == ASK_AGREED ? network_agreed(n, &e, a)
					   : network_refuse(n, &e, EGRESS_NOT_AGREED);
	}
	return r;
}

static int
answered(
    struct network *n, struct network_ask *a, enum leash_answer answer, const char *who)
{
	bool yes = answer == LEASH_ONCE || answer == LEASH_SESSION;
	uint32_t seconds = answer == LEASH_SESSION ? SESSION_S : ANSWER_S;
	int r;

	a->answer = answer;
	a->state = yes ? ASK_AGREED : ASK_REFUSED;
	a->until_ns = loop_now() + seconds * 1000ull * LOOP_MS;
	(void)snprintf(a->who, sizeof(a->who), "%s", who); /* cut is fine */
	r = yes ? say_agreed(n, a) : 0;
	return r < 0 ? r : settle(n, a);
}

int
network_answer(
    struct leash *l, uint32_t number, enum leash_answer answer, const char *who)
{
	struct network *n = l->network;

	for (size_t i = 0; n != NULL && n->relay >= 0 && i < NETWORK_ASKS_MAX; i++) {
		struct network_ask *a = &n->ask[i];

		if (a->state != ASK_PENDING || a->number != number)
			continue;
		if (answered(n, a, answer, who) < 0)
			network_lost(n, NULL);
		break;
	}
	return 0; /* one that was withdrawn has no use for an answer */
}

bool
network_forget(struct network *n, uint32_t id)
{
	for (size_t i = 0; i < n->held_n; i++)
		if (n->held[i].id == id) {
			n->held[i] = n->held[--n->held_n];
			return true;
		}
	return false;
}

/* Without a network an answer has no use. */
void
network_ask_end(struct network *n)
{
	for (size_t i = 0; i < NETWORK_ASKS_MAX; i++) {
		if (n->ask[i].state == ASK_PENDING)
			dispatch_withdrawn(n->leash, n->ask[i].number);
		n->ask[i].state = ASK_FREE;
	}
	n->held_n = 0;
}

/* ---- time -------------------------------------------------------------------------- */

static int
tick(struct network *n, uint64_t now)
{
	struct egress_report e;
	int r = 0;

	for (size_t i = 0; i < NETWORK_ASKS_MAX && r == 0; i++) {
		struct network_ask *a = &n->ask[i];

		if (a->state == ASK_REFUSED && now >= a->until_ns)
			ask_free(n, a);
		if (a->state == ASK_PENDING && now >= a->until_ns) {
			dispatch_withdrawn(n->leash, a->number);
			r = answered(n, a, LEASH_NOBODY, "");
		}
	}
	for (size_t i = 0; i < n->held_n && r == 0;) {
		if (now < n->held[i].until_ns) {
			i++;
			continue;
		}
		e = ask_report(&n->ask[n->held[i].ask], n->held[i].id);
		n->held[i] = n->held[--n->held_n];
		r = network_refuse(n, &e, EGRESS_NO_ANSWER);
	}
	return r;
}

static void
on_tick(struct loop *loop, void *arg)
{
	struct network *n = arg;
	bool more;

	n->tick = -1;
	if (n->relay < 0)
		return;
	if (tick(n, loop_now()) < 0) {
		network_lost(n, NULL);
		return;
	}
	more = n->held_n > 0;
	for (size_t i = 0; i < NETWORK_ASKS_MAX; i++)
		more = more || n->ask[i].state == ASK_PENDING ||
		       n->ask[i].state == ASK_REFUSED;
	if (more && (n->tick = loop_timer_at(loop, loop_now() + TICK_NS, on_tick, n)) < 0)
		network_lost(n, NULL);
}
