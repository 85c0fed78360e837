/*
 * Which sockets a server's `net` lines need: see plan.h.
 *
 * Process: the cell's first process, and kennel-egress.  Trusts the sealed policy.
 */
#include "leash/egress/plan.h"
#include "policy/sealed/policy.h"
#include "shim/base/array.h"

#include <errno.h>
#include <string.h>

#include "policy/sealed/match.h"

#define BLOCK_HOSTS 254u

/* Ordinary public addresses, so that checks against internal addresses accept them
 * (docs/DECISIONS.md); not used by any host that a server could need. */
static const uint8_t block[][3] = {{29, 31, 196}, {29, 31, 197}, {29, 31, 198}};

void
plan_address(uint32_t number, uint8_t ret[ADDRESS_LEN])
{
	const uint8_t *b = block[number / BLOCK_HOSTS % (ARRAY_LEN(block))];
	uint8_t v4[4] = {b[0], b[1], b[2], (uint8_t)(number % BLOCK_HOSTS + 1)};

	address_of_v4(v4, ret);
}

int
plan_number(const uint8_t addr[ADDRESS_LEN])
{
	const uint8_t *v4 = addr + 12;

	if (!address_is_v4(addr) || v4[3] == 0 || v4[3] == 255)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(block); i++)
		if (memcmp(v4, block[i], sizeof(block[i])) == 0)
			return (int)(i * BLOCK_HOSTS + v4[3] - 1);
	return -1;
}

/* The plan under construction. */
struct work {
	const struct policy *p;
	const struct sealed_server *s;
	struct plan *plan;
};

static const struct sealed_net *
row(const struct work *w, uint32_t i)
{
	return &w->p->net[w->s->nets.first + i];
}

static int
listen_on(struct work *w, const uint8_t addr[ADDRESS_LEN], uint32_t port)
{
	struct plan *plan = w->plan;

	for (size_t i = 0; i < plan->listener_n; i++)
		if (plan->listener[i].port == port &&
		    memcmp(plan->listener[i].addr, addr, ADDRESS_LEN) == 0)
			return 0;
	if (plan->listener_n == PLAN_LISTENERS_MAX)
		return -E2BIG;
	memcpy(plan->listener[plan->listener_n].addr, addr, ADDRESS_LEN);
	plan->listener[plan->listener_n++].port = (uint16_t)port;
	return 0;
}

/* All addresses of a name, at one port. */
static int
listen_name(struct work *w, const struct plan_name *n, uint32_t port)
{
	static const uint8_t loopback4[4] = {127, 0, 0, 1};
	static const uint8_t loopback6[ADDRESS_LEN] = {[15] = 1};
	uint32_t count = n->suffix ? PLAN_POOL : 1;
	uint8_t addr[ADDRESS_LEN];
	int r = 0;

	if (n->loopback) {
		address_of_v4(loopback4, addr);
		r = listen_on(w, addr, port);
		return r == 0 ? listen_on(w, loopback6, port) : r;
	}
	for (uint32_t i = 0; r == 0 && i < count; i++) {
		plan_address(n->first + i, addr);
		r = listen_on(w, addr, port);
	}
	return r;
}

static bool
same_host(const struct work *w, const struct sealed_net *a, const struct plan_name *b)
{
	return (a->kind == HOST_SUFFIX) == b->suffix && a->host.len == b->host.len &&
	       memcmp(policy_str(w->p, a->host), policy_str(w->p, b->host),
		   a->host.len) == 0;
}

static int
add_name(struct work *w, const struct sealed_net *n)
{
	struct plan *plan = w->plan;
	const char *host = policy_str(w->p, n->host);
	struct plan_name *name = &plan->name[plan->name_n];
	bool suffix = n->kind == HOST_SUFFIX;
	bool loopback = !suffix && n->host.len == sizeof("localhost") - 1 &&
			memcmp(host, "localhost", n->host.len) == 0;
	uint32_t count = suffix ? PLAN_POOL : loopback ? 0 : 1;

	for (size_t i = 0; i < plan->name_n; i++)
		if (same_host(w, n, &plan->name[i]))
			return 0;
	if (plan->address_n + count > PLAN_ADDRESSES || plan->name_n == PLAN_NAMES_MAX)
		return -E2BIG;
	*name = (struct plan_name){n->host, suffix, loopback, plan->address_n};
	plan->address_n += count;
	plan->name_n++;
	return 0;
}

/* An address that is granted as such represents itself; for a block, each port listens
 * at every address. */
static int
add_block(struct work *w, const struct sealed_net *n)
{
	uint8_t addr[ADDRESS_LEN] = {0};
	int r = 0;

	if (n->prefix == 128)
		memcpy(addr, n->addr, ADDRESS_LEN);
	else if (n->prefix >= 96 && address_is_v4(n->addr))
		addr[10] = addr[11] = 0xff;
	for (uint32_t port = n->port_first; r == 0 && port <= n->port_last; port++)
		r = listen_on(w, addr, port);
	return r;
}

/* Does a row match every host that the name represents? */
static bool
holds(const struct work *w, const struct sealed_net *n, const struct plan_name *name)
{
	struct policy_net_ask ask = {
	    policy_str(w->p, name->host), name->host.len, n->port_first};

	if (name->suffix)
		return same_host(w, n, name);
	return n->kind != HOST_CIDR &&
	       policy_net_miss(w->p, n, &ask) != MISS_HOST; /* also an expired one */
}

static int
add_ports(struct work *w, const struct plan_name *name, struct sealed_at *ret_at)
{
	const struct sealed_net *n;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < w->s->nets.n; i++) {
		n = row(w, i);
		if (n->verdict == VERDICT_DENY || !holds(w, n, name))
			continue;
		*ret_at = n->at;
		for (uint32_t port = n->port_first; r == 0 && port <= n->port_last;
		     port++)
			r = listen_name(w, name, port);
	}
	return r;
}

int
plan_make(const struct policy *p, const struct sealed_server *s, struct plan *ret,
    struct sealed_at *ret_at)
{
	struct work w = {p, s, ret};
	int r = 0;

	ret->listener_n = ret->name_n = 0;
	ret->address_n = 1;
	for (uint32_t i = 0; r == 0 && i < s->nets.n; i++) {
		const struct sealed_net *n = row(&w, i);

		if (n->verdict == VERDICT_DENY)
			continue;
		*ret_at = n->at;
		if (n->port_last - n->port_first >= PLAN_PORTS_MAX)
			return -E2BIG;
		r = n->kind == HOST_CIDR ? add_block(&w, n) : add_name(&w, n);
	}
	for (size_t i = 0; r == 0 && i < ret->name_n; i++)
		r = add_ports(&w, &ret->name[i], ret_at);
	return r;
}

bool
plan_grants(const struct policy *p, const struct sealed_server *s)
{
	for (uint32_t i = 0; i < s->nets.n; i++)
		if (p->net[s->nets.first + i].verdict != VERDICT_DENY)
			return true;
	return false;
}
