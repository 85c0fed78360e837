/*
 * Reads the start of a connection, before its bytes are forwarded unread: the
 * ClientHello, a second one if the host requests it, and PostgreSQL's negotiation
 * of TLS.
 *
 * The client's bytes are copied out of its socket before they are checked, and the
 * copy is sent: bytes in a socket may be pages that the client can still write
 * (sendfile).  The host's bytes are checked in its socket.
 *
 * Process: kennel-egress.  Trusts neither side.  Must never send a hello that it
 * has not checked.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "leash/egress/private.h"

#define PG_SSL          80877103u
#define PG_GSS          80877104u
#define PG_CANCEL       80877102u
#define PG_REQUEST_LEN  8u
#define PG_CANCEL_LEN   16u
#define SERVER_HEAD_MAX 4096
#define RECORD_CHANGE   20
#define RECORD_DATA     23

/* ---- buffers ------------------------------------------------------------------- */

static bool
greeting_take(struct relay *r, struct conn *c)
{
	if (c->greeting != NULL)
		return true;
	for (size_t i = 0; i < GREETINGS_MAX; i++) {
		struct greeting *g = &r->greeting[i];

		if (g->used)
			continue;
		g->used = true;
		g->len = g->cleared = g->off = g->need = 0;
		c->greeting = g;
		r->starved_n -= c->starved;
		c->starved = false;
		return true;
	}
	r->starved_n += !c->starved;
	c->starved = true; /* conn_timers tries again */
	return false;
}

void
greet_free(struct relay *r, struct conn *c)
{
	if (c->greeting != NULL)
		c->greeting->used = false;
	c->greeting = NULL;
	r->starved_n -= c->starved;
	c->starved = false;
}

/* Reads more of the client's bytes.  False: none; the connection may be gone. */
static bool
greeting_read(struct relay *r, struct conn *c)
{
	struct greeting *g;
	ssize_t n;

	if (!c->side[CLIENT].readable || !greeting_take(r, c))
		return false;
	g = c->greeting;
	if (g->len == sizeof(g->data) && g->off > 0) {
		memmove(g->data, g->data + g->off, g->len - g->off);
		g->len -= g->off;
		g->cleared -= g->off;
		g->off = 0;
	}
	if (g->len == sizeof(g->data)) {
		conn_close(r, c, EGRESS_HELLO, true);
		return false;
	}
	n = recv(
	    c->side[CLIENT].fd, g->data + g->len, sizeof(g->data) - g->len, MSG_DONTWAIT);
	if (n < 0 && errno == EAGAIN) {
		c->side[CLIENT].readable = false;
		return false;
	}
	if (n <= 0) { /* a port scan, or a client that changed its mind */
		conn_close(r, c, g->len > 0 ? EGRESS_SILENT : EGRESS_OK, true);
		return false;
	}
	g->len += (size_t)n;
	return true;
}

/* Sends checked bytes to the host.  False: not all sent yet, or it is gone. */
static bool
greeting_send(struct relay *r, struct conn *c)
{
	struct greeting *g = c->greeting;
	ssize_t n;

	while (g != NULL && g->off < g->cleared) {
		if (!c->side[SERVER].writable)
			return false;
		/* syscalls: sendto */
		n = send(c->side[SERVER].fd, g->data + g->off, g->cleared - g->off,
		    MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0 && errno == EAGAIN) {
			c->side[SERVER].writable = false;
			return false;
		}
		if (n < 0) {
			conn_close(r, c, EGRESS_OK, true);
			return false;
		}
		g->off += (size_t)n;
		c->flow[CLIENT].bytes += (uint64_t)n;
	}
	return true;
}

/* ---- a ClientHello --------------------------------------------------------------- */

static enum egress_why
why_of(enum hello_why why)
{
	return why == HELLO_NOT_TLS ? EGRESS_NOT_TLS : EGRESS_HELLO;
}

/* For a record, if it is one printable word. */
static void
keep_sni(struct conn *c, const char *name)
{
	size_t i;

	for (i = 0; i < EGRESS_NAME_MAX && name[i] != '\0'; i++)
		c->sni[i] = (char)(name[i] > 0x20 && name[i] < 0x7f ? name[i] : '?');
	c->sni[i] = '\0';
}

static enum egress_why
judge(struct relay *r, struct conn *c, const struct client_hello *h)
{
	bool may_lack = r->policy.net[c->row].proto == NET_NO_SNI;

	c->ech = c->ech || h->ech;
	memcpy(c->alpn, h->alpn, sizeof(c->alpn));
	if (!h->has_name)
		return may_lack ? EGRESS_OK : EGRESS_NO_SNI;
	if (strcmp(h->name, c->name) == 0)
		return EGRESS_OK;
	keep_sni(c, h->name);
	return EGRESS_OTHER_SNI;
}

/* Checks the hello at the first unchecked byte.  True: complete and permitted. */
static bool
hello(struct relay *r, struct conn *c, enum egress_why other)
{
	struct client_hello h;
	enum hello_why why;
	enum egress_why verdict;
	struct greeting *g;
	int e;

	for (;;) {
		g = c->greeting;
		e = g == NULL || g->len - g->cleared < g->need
			? -EAGAIN
			: client_hello_read(g->data + g->cleared, g->len - g->cleared, &h,
			      &g->need, &why);
		if (e == 0)
			break;
		if (e != -EAGAIN) {
			conn_close(r, c, why_of(why), true);
			return false;
		}
		if (!greeting_read(r, c))
			return false;
	}
	verdict = judge(r, c, &h);
	if (verdict != EGRESS_OK) {
		conn_close(r, c, verdict == EGRESS_OTHER_SNI ? other : verdict, true);
		return false;
	}
	g->cleared += h.len;
	g->need = 0;
	return true;
}

/* ---- PostgreSQL -------------------------------------------------------------------- */

static uint32_t
number(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 |
	       at[3];
}

/* The client's first request: TLS, or to cancel a query.  GSS is declined on behalf of
 * the host, since the request does not name the host. */
static bool
postgres(struct relay *r, struct conn *c)
{
	struct greeting *g;
	uint32_t len, code;

	for (;;) {
		g = c->greeting;
		while (g == NULL || g->len < PG_REQUEST_LEN) {
			if (g != NULL && g->len > 0 && g->data[0] != 0)
				return hello(r, c, EGRESS_OTHER_SNI); /* direct TLS */
			if (!greeting_read(r, c))
				return false;
			g = c->greeting;
		}
		if (g->data[0] != 0)
			return hello(r, c, EGRESS_OTHER_SNI);
		len = number(g->data);
		code = number(g->data + 4);
		if (code != PG_GSS || len != PG_REQUEST_LEN || g->len != PG_REQUEST_LEN)
			break;
		if (send(c->side[CLIENT].fd, "N", 1, MSG_DONTWAIT | MSG_NOSIGNAL) != 1) {
			conn_close(r, c, EGRESS_SILENT, true);
			return false;
		}
		g->len = 0;
	}
	if (code == PG_CANCEL && len == PG_CANCEL_LEN) {
		while (g->len < PG_CANCEL_LEN)
			if (!greeting_read(r, c))
				return false;
		c->cancel = g->len == PG_CANCEL_LEN;
	}
	if ((code == PG_SSL && len == PG_REQUEST_LEN && g->len == PG_REQUEST_LEN) ||
	    c->cancel) {
		g->cleared = g->len;
		return true;
	}
	conn_close(r, c, EGRESS_NO_STARTTLS, true);
	return false;
}

/* The host's one byte: yes, then a ClientHello follows; else the connection ends. */
bool
greet_starttls(struct relay *r, struct conn *c)
{
	uint8_t byte = 0;
	ssize_t n;

	if (!greeting_send(r, c) || !c->side[SERVER].readable)
		return false;
	n = recv(c->side[SERVER].fd, &byte, 1, MSG_DONTWAIT);
	if (n < 0 && errno == EAGAIN) {
		c->side[SERVER].readable = false;
		return false;
	}
	if (n != 1 || byte != 'S' ||
	    send(c->side[CLIENT].fd, "S", 1, MSG_DONTWAIT | MSG_NOSIGNAL) != 1) {
		conn_close(r, c, EGRESS_NO_STARTTLS, true);
		return false;
	}
	c->flow[SERVER].bytes++;
	c->greeting->len = c->greeting->cleared = c->greeting->off = 0;
	conn_state(r, c, CONN_LATE);
	return true;
}

/* ---- states -------------------------------------------------------------------- */

bool
greet_first(struct relay *r, struct conn *c)
{
	return c->postgres ? postgres(r, c) : hello(r, c, EGRESS_OTHER_SNI);
}

bool
greet_late(struct relay *r, struct conn *c)
{
	if (!hello(r, c, EGRESS_OTHER_SNI))
		return false;
	conn_state(r, c, CONN_ANSWER);
	return true;
}

/* The host is connected: true if there is something to do at once. */
bool
greet_connected(struct relay *r, struct conn *c)
{
	bool asks_tls = c->postgres && c->greeting->data[0] == 0;

	if (c->greeting == NULL || c->cancel)
		conn_state(r, c, CONN_OPEN);
	else
		conn_state(r, c, asks_tls ? CONN_STARTTLS : CONN_ANSWER);
	if (c->cancel && !greeting_send(r, c))
		/* sixteen bytes into an empty socket: the host is gone */
		return false;
	if (c->cancel) {
		/* only these sixteen bytes: everything else needs TLS */
		if (shutdown(c->side[SERVER].fd, SHUT_WR) < 0) {
			conn_close(r, c, EGRESS_OK, true);
			return false;
		}
		c->flow[CLIENT].ended = true;
		greet_free(r, c);
	}
	return true;
}

/* Forwards everything that was read; from here on nothing is checked. */
static bool
opened(struct relay *r, struct conn *c)
{
	c->greeting->cleared = c->greeting->len;
	if (!greeting_send(r, c))
		return false;
	greet_free(r, c);
	conn_state(r, c, CONN_OPEN);
	return true;
}

/* Bytes that the client sent after its hello wait until the host's reply shows what
 * they are. */
bool
greet_answer(struct relay *r, struct conn *c)
{
	uint8_t head[SERVER_HEAD_MAX];
	bool again = false;
	ssize_t n;
	int e;

	if (c->greeting->cleared == c->greeting->len && c->side[CLIENT].hung)
		c->side[CLIENT].readable = true; /* handled once the connection is open */
	if (!greeting_send(r, c) || !c->side[SERVER].readable)
		return false;
	n = recv(c->side[SERVER].fd, head, sizeof(head), MSG_PEEK | MSG_DONTWAIT);
	if (n < 0 && errno == EAGAIN) {
		c->side[SERVER].readable = false;
		return false;
	}
	if (n < 0) {
		conn_close(r, c, EGRESS_OK, true);
		return false;
	}
	e = n == 0 ? 0 : server_hello_read(head, (size_t)n, &again);
	if (e == -EAGAIN && !c->side[SERVER].hung) {
		if (n == (ssize_t)sizeof(head))
			conn_close(r, c, EGRESS_HELLO, true);
		else
			c->side[SERVER].readable = false;
		return false;
	}
	if (!again)
		return opened(r, c);
	conn_state(r, c, CONN_SECOND);
	c->greeting->need = 0;
	return true;
}

bool
greet_second(struct relay *r, struct conn *c)
{
	struct greeting *g = c->greeting;
	uint8_t type;

	if (!greeting_send(r, c))
		return false;
	for (;;) {
		g->cleared += hello_skipped(g->data + g->cleared, g->len - g->cleared);
		if (!greeting_send(r, c))
			return false;
		type = g->len > g->cleared ? g->data[g->cleared] : RECORD_DATA;
		if (type != RECORD_CHANGE && type != RECORD_DATA)
			break;
		if (!greeting_read(r, c))
			return false;
	}
	return hello(r, c, EGRESS_SECOND_SNI) && opened(r, c);
}
