/*
 * Connections: from an accepted descriptor, through the leash's record and
 * kennel-dial, to two sockets and the data between them.
 *
 * Process: kennel-egress.  Trusts the sealed policy and kennel-dial's descriptor;
 * nothing that comes from the cell.  Must never forward a byte of an unrecorded
 * connection.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "leash/egress/private.h"
#include "policy/sealed/match.h"
#include "policy/sealed/policy.h"
#include "shim/base/fd.h"
#include "shim/base/log.h"

#define GREETING_MS 10000
#define RECORD_MS   15000
#define PERSON_MS   (UINT64_C(60) * 60 * 1000) /* the leash replies earlier */
#define GAVE_UP_MS  3000
#define DIAL_MS     45000
#define TURN_SHIFT  10 /* EGRESS_CONNS_MAX slots */

static const uint32_t state_ms[CONN_STATE_END] = {
    [CONN_GREETING] = GREETING_MS,
    [CONN_ASKED] = RECORD_MS,
    [CONN_DIALING] = DIAL_MS,
    [CONN_STARTTLS] = GREETING_MS,
    [CONN_LATE] = GREETING_MS,
    [CONN_ANSWER] = DIAL_MS, /* a host may be slow to greet */
    [CONN_SECOND] = GREETING_MS,
};

uint32_t
conn_id(const struct relay *r, const struct conn *c)
{
	return c->turn << TURN_SHIFT | (uint32_t)(c - r->conn);
}

static struct conn *
conn_of(struct relay *r, uint32_t id)
{
	struct conn *c = &r->conn[id & ((1u << TURN_SHIFT) - 1)];

	return c->state != CONN_FREE && conn_id(r, c) == id ? c : NULL;
}

void
conn_state(struct relay *r, struct conn *c, enum conn_state state)
{
	uint64_t ms = state_ms[state];

	if (state == CONN_ASKED && r->policy.net[c->row].verdict == VERDICT_ASK)
		ms = PERSON_MS;
	r->timed_n += (ms > 0) - (state_ms[c->state] > 0);
	c->state = state;
	c->until_ns = loop_now() + ms * LOOP_MS;
}

/* ---- the end ----------------------------------------------------------------- */

static void
side_close(struct side *s, bool reset)
{
	struct linger linger = {.l_onoff = 1};

	/* a refusal is a reset, so no client mistakes it for an empty reply */
	if (s->fd >= 0 && reset)
		(void)setsockopt(/* syscalls: setsockopt */
		    s->fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	fd_close(&s->fd); /* syscalls: close */
}

static void
end(struct relay *r, struct conn *c, enum egress_why why, enum dial_why dial, bool reset)
{
	struct dial_request cancel = {.type = DIAL_CANCEL, .id = conn_id(r, c)};
	uint8_t memory[DIAL_PACKET_MAX];
	struct wire_out out;

	if (c->asked && (c->state != CONN_ASKED || why == EGRESS_OK))
		tell_conn(r, c, EGRESS_CLOSED, why, dial);
	else if (why != EGRESS_OK)
		tell_conn(r, c, EGRESS_REFUSED, why, dial);
	if (c->state == CONN_DIALING && dial == 0) {
		wire_out_init(&out, memory, sizeof(memory));
		(void)dial_request_write(&cancel, &out); /* large enough */
		if (relay_send(r->dial, &out) < 0)
			relay_end("kennel-dial is gone");
	}
	conn_state(r, c, CONN_FREE);
	greet_free(r, c);
	flow_free(r, c);
	side_close(&c->side[CLIENT], reset);
	side_close(&c->side[SERVER], reset);
	if (c->pool >= 0) {
		r->pooled[c->pool].conns--;
		r->pooled[c->pool].used_ns = loop_now();
	}
	r->busy_n -= c->busy;
	c->busy = false;
	r->conn_n--;
}

void
conn_close(struct relay *r, struct conn *c, enum egress_why why, bool reset)
{
	end(r, c, why, (enum dial_why)0, reset);
}

void
conn_close_all(struct relay *r)
{
	for (size_t i = 0; i < r->conn_top; i++)
		if (r->conn[i].state != CONN_FREE)
			conn_close(r, &r->conn[i], EGRESS_OK, false);
}

/* ---- the beginning -------------------------------------------------------------- */

static struct conn *
conn_new(struct relay *r, int fd)
{
	struct conn *c = r->conn;
	uint32_t turn;

	while (c < r->conn + r->conn_max && c->state != CONN_FREE)
		c++;
	if (c == r->conn + r->conn_max)
		return NULL;
	turn = c->turn + 1;
	*c = (struct conn){.turn = turn & (UINT32_MAX >> TURN_SHIFT),
	    .side = {{.fd = fd, .readable = true, .writable = true}, {.fd = -1}},
	    .flow = {{.pipe = -1}, {.pipe = -1}},
	    .row = EGRESS_NO_ROW,
	    .pool = -1,
	    .since_ns = loop_now()};
	r->conn_n++;
	if ((size_t)(c - r->conn) >= r->conn_top)
		r->conn_top = (size_t)(c - r->conn) + 1;
	return c;
}

/* The row that permits it, if any. */
static enum egress_why
judge(struct relay *r, struct conn *c)
{
	struct policy_net_ask ask = {c->name, strlen(c->name), c->port};
	struct policy_answer a = policy_match_net(&r->policy, r->server, &ask);

	if (a.net != NULL)
		c->row = (uint32_t)(a.net - r->policy.net);
	if (a.net == NULL)
		return plan_number(c->addr) > 0 ? EGRESS_NO_PORT : EGRESS_NO_GRANT;
	return a.verdict == VERDICT_DENY ? EGRESS_DENIED : EGRESS_OK;
}

/* Called once the client needs to send nothing more. */
static void
ask_leash(struct relay *r, struct conn *c)
{
	conn_state(r, c, CONN_ASKED);
	c->asked = true;
	tell_conn(r, c, EGRESS_OPEN, EGRESS_OK, (enum dial_why)0);
}

static void conn_run(struct relay *, struct conn *);

void
conn_begin(struct relay *r, int fd, const uint8_t addr[ADDRESS_LEN], uint16_t port)
{
	struct conn *c = conn_new(r, fd);
	enum egress_why why;
	int one = 1;

	if (c == NULL)
		bug("more connections than were let in");
	c->port = port;
	memcpy(c->addr, addr, ADDRESS_LEN);
	c->has_addr = plan_number(addr) < 0;
	name_of_address(r, addr, port, c->name, &c->pool);
	if (c->pool >= 0)
		r->pooled[c->pool].conns++;
	conn_state(r, c, CONN_GREETING);
	why = judge(r, c);
	if (why == EGRESS_OK &&
	    relay_watch(r, fd, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, WATCH_CLIENT,
		(size_t)(c - r->conn)) < 0)
		why = EGRESS_LIMIT;
	if (why != EGRESS_OK) {
		conn_close(r, c, why, true);
		return;
	}
	c->has_addr = false; /* from here on: the address that was dialed */
	(void)setsockopt(
	    fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)); /* else slower */
	c->postgres = r->policy.net[c->row].proto == NET_STARTTLS_POSTGRES;
	conn_run(r, c);
}

/* ---- the leash and the dialer ------------------------------------------------------ */

void
conn_go(struct relay *r, uint32_t id, bool yes)
{
	struct conn *c = conn_of(r, id);
	struct dial_request q = {.type = DIAL_OPEN, .id = id};
	uint8_t memory[DIAL_PACKET_MAX];
	struct wire_out out;

	if (c == NULL || c->state != CONN_ASKED)
		return; /* it ended while the leash was deciding */
	if (!yes) {
		c->asked = false; /* the leash has recorded it itself */
		conn_close(r, c, EGRESS_OK, true);
		return;
	}
	q.row = c->row;
	q.port = c->port;
	q.name = c->name;
	wire_out_init(&out, memory, sizeof(memory));
	if (dial_request_write(&q, &out) < 0)
		bug("a request longer than its packet");
	conn_state(r, c, CONN_DIALING);
	if (r->dial < 0 || relay_send(r->dial, &out) < 0)
		relay_end("kennel-dial is gone");
}

void
conn_dialled(struct relay *r, const struct dial_answer *a, int *fd)
{
	struct conn *c = conn_of(r, a->id);
	int one = 1;

	if (c == NULL || c->state != CONN_DIALING)
		return; /* it was canceled; the caller closes the descriptor */
	c->has_addr = a->has_addr;
	memcpy(c->addr, a->addr, sizeof(c->addr));
	if (a->type == DIAL_FAILED) {
		end(r, c, EGRESS_DIAL, a->why, true);
		return;
	}
	c->side[SERVER] = (struct side){.fd = *fd, .readable = true, .writable = true};
	*fd = -1;
	(void)setsockopt(c->side[SERVER].fd, IPPROTO_TCP, TCP_NODELAY, &one,
	    sizeof(one)); /* else slower */
	if (relay_watch(r, c->side[SERVER].fd, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
		WATCH_SERVER, (size_t)(c - r->conn)) < 0) {
		conn_close(r, c, EGRESS_LIMIT, true);
		return;
	}
	if (greet_connected(r, c))
		conn_run(r, c);
}

/* ---- states -------------------------------------------------------------------- */

/* While the leash decides or kennel-dial connects, a reset by the client ends the
 * connection; a client that has closed only its sending side may still want to read. */
static bool
waits(struct relay *r, struct conn *c)
{
	uint8_t byte;

	/* syscalls: recvfrom */
	if (c->side[CLIENT].hung &&
	    recv(c->side[CLIENT].fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 &&
	    errno != EAGAIN)
		conn_close(r, c, EGRESS_OK, true);
	return false;
}

static bool
greets(struct relay *r, struct conn *c)
{
	if (r->policy.net[c->row].proto == NET_PLAIN || greet_first(r, c))
		ask_leash(r, c);
	return false;
}

/* Moves data in one direction; false: the connection is gone. */
static bool
moves(struct relay *r, struct conn *c, int from, bool *busy)
{
	int e = flow_move(r, c, from);

	if (e == -EAGAIN)
		*busy = true;
	else if (e < 0)
		conn_close(r, c, EGRESS_OK, true);
	return e >= 0 || e == -EAGAIN;
}

static bool
busy_is(struct relay *r, struct conn *c, bool busy)
{
	r->busy_n += busy;
	r->busy_n -= c->busy;
	c->busy = busy;
	return false;
}

/* A connection can be older than the last day of its line: nothing more is forwarded. */
static bool
is_expired(struct relay *r, struct conn *c)
{
	const struct sealed_net *n = &r->policy.net[c->row];

	if (!match_expired(&r->policy, n->exception, n->verdict))
		return false;
	conn_close(r, c, EGRESS_EXPIRED, true);
	return true;
}

static bool
opens(struct relay *r, struct conn *c)
{
	bool busy = false;

	if (is_expired(r, c) || !moves(r, c, CLIENT, &busy) ||
	    !moves(r, c, SERVER, &busy))
		return false;
	if (c->flow[CLIENT].ended && c->flow[SERVER].ended) {
		conn_close(r, c, EGRESS_OK, false);
		return false;
	}
	return busy_is(r, c, busy);
}

/* Forwards the server's reply while the client's second hello is read. */
static bool
seconds(struct relay *r, struct conn *c)
{
	bool busy = false;

	if (is_expired(r, c) || !moves(r, c, SERVER, &busy))
		return false;
	(void)busy_is(r, c, busy);
	return greet_second(r, c);
}

/* What each state does on an event; true: the state has changed, and the new one may
 * have something to do at once. */
static bool (*const run[CONN_STATE_END])(struct relay *, struct conn *) = {
    [CONN_GREETING] = greets,
    [CONN_ASKED] = waits,
    [CONN_DIALING] = waits,
    [CONN_STARTTLS] = greet_starttls,
    [CONN_LATE] = greet_late,
    [CONN_ANSWER] = greet_answer,
    [CONN_SECOND] = seconds,
    [CONN_OPEN] = opens,
};

static void
conn_run(struct relay *r, struct conn *c)
{
	while (run[c->state] != NULL && run[c->state](r, c))
		;
}

void
conn_event(struct relay *r, struct conn *c, int side, uint32_t events)
{
	struct side *s = &c->side[side];

	if (c->state == CONN_FREE)
		return; /* closed in this turn */
	if ((events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0)
		s->readable = true;
	if ((events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0)
		s->writable = true;
	if ((events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0)
		s->hung = true;
	conn_run(r, c);
}

void
conn_busy(struct relay *r)
{
	for (size_t i = 0; r->busy_n > 0 && i < r->conn_top; i++)
		if (r->conn[i].busy)
			conn_run(r, &r->conn[i]);
}

/* Its client sends no more, and a person has not answered.  It may have given up: a
 * request must not arrive long after, and the approval is open without it. */
static bool
gave_up(const struct relay *r, const struct conn *c, uint64_t now)
{
	return c->state == CONN_ASKED && r->policy.net[c->row].verdict == VERDICT_ASK &&
	       c->side[CLIENT].hung && now - c->since_ns >= GAVE_UP_MS * LOOP_MS;
}

void
conn_timers(struct relay *r, uint64_t now)
{
	for (size_t i = 0; r->timed_n > 0 && i < r->conn_top; i++) {
		struct conn *c = &r->conn[i];

		if (c->state == CONN_FREE || state_ms[c->state] == 0)
			continue;
		if (now >= c->until_ns)
			conn_close(r, c,
			    c->state == CONN_ASKED ? EGRESS_UNRECORDED : EGRESS_SILENT,
			    true);
		else if (gave_up(r, c, now))
			conn_close(r, c, EGRESS_OK, true);
		else if (c->starved)
			conn_run(r, c);
	}
}
