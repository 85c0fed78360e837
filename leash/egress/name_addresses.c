/*
 * Names and the addresses that represent them in the cell.  An exact name has one
 * address permanently.  A suffix has a pool, whose addresses are assigned to names
 * as they are looked up.
 *
 * Process: kennel-egress.  Must never assign an address to a second name while a
 * client may still connect to the first.
 */
#include <string.h>

#include "leash/egress/private.h"
#include "policy/sealed/match.h"
#include "policy/sealed/policy.h"

#define POOL_ASKED_NS \
	(UINT64_C(1000) * DNS_TTL_S * LOOP_MS) /* a response may be cached this long */
#define POOL_USED_NS (UINT64_C(600) * 1000 * LOOP_MS)

static const struct sealed_net *
row_at(const struct relay *r, uint32_t i)
{
	return &r->policy.net[r->server->nets.first + i];
}

/* Is there a port at which the policy grants this name, with or without `ask`? */
static enum egress_why
granted(const struct relay *r, const char *name, size_t len, uint32_t *ret_row)
{
	enum egress_why why = EGRESS_NO_GRANT;

	*ret_row = EGRESS_NO_ROW;
	for (uint32_t i = 0; i < r->server->nets.n; i++) {
		const struct sealed_net *n = row_at(r, i);
		struct policy_net_ask ask = {name, len, n->port_first};
		struct policy_answer a;

		if (n->kind == HOST_CIDR ||
		    policy_net_miss(&r->policy, n, &ask) == MISS_HOST)
			continue;
		for (; ask.port <= n->port_last; ask.port++) {
			a = policy_match_net(&r->policy, r->server, &ask);
			if (a.verdict != VERDICT_DENY)
				return EGRESS_OK;
			if (a.net != NULL) {
				*ret_row = (uint32_t)(a.net - r->policy.net);
				why = EGRESS_DENIED;
			}
			if (n->verdict == VERDICT_DENY)
				break; /* one denied port is enough */
		}
	}
	return why;
}

static bool
below(const char *name, size_t len, const char *suffix, size_t suffix_len)
{
	return len > suffix_len + 1 && name[len - suffix_len - 1] == '.' &&
	       memcmp(name + len - suffix_len, suffix, suffix_len) == 0;
}

/* An address of the pool: the name's own, or the one looked up longest ago. */
static int
pool_take(struct relay *r, uint32_t first, const char *name, uint64_t now)
{
	struct pooled *p = &r->pooled[first], *best = NULL;

	for (size_t i = 0; i < PLAN_POOL; i++) {
		if (strcmp(p[i].name, name) == 0) {
			best = &p[i];
			break;
		}
		if (p[i].name[0] != '\0' &&
		    (p[i].conns > 0 || now - p[i].asked_ns < POOL_ASKED_NS ||
			(p[i].used_ns != 0 && now - p[i].used_ns < POOL_USED_NS)))
			continue;
		if (best == NULL || p[i].asked_ns < best->asked_ns)
			best = &p[i];
	}
	if (best == NULL)
		return -1;
	if (strcmp(best->name, name) != 0) {
		*best = (struct pooled){0};
		memcpy(best->name, name, strlen(name) + 1);
	}
	best->asked_ns = now;
	return (int)(best - r->pooled);
}

static void
found(struct name_found *f, int number)
{
	f->number = number;
	plan_address((uint32_t)number, f->addr);
}

void
name_resolve(struct relay *r, const char *name, size_t len, struct name_found *ret)
{
	static const uint8_t loopback[4] = {127, 0, 0, 1};
	const struct plan_name *suffix = NULL;
	struct name_found f = {.number = -1, .row = EGRESS_NO_ROW};
	int number;

	/* RFC 6761: always this machine, which is the cell */
	if ((len == 9 && memcmp(name, "localhost", 9) == 0) ||
	    below(name, len, "localhost", 9)) {
		address_of_v4(loopback, f.addr);
		*ret = f;
		return;
	}
	f.why = granted(r, name, len, &f.row);
	for (size_t i = 0; f.why == EGRESS_OK && i < r->plan.name_n; i++) {
		const struct plan_name *n = &r->plan.name[i];
		const char *host = policy_str(&r->policy, n->host);

		if (!n->suffix && n->host.len == len && memcmp(host, name, len) == 0)
			found(&f, (int)n->first);
		else if (n->suffix && below(name, len, host, n->host.len) &&
			 (suffix == NULL || n->host.len > suffix->host.len))
			suffix = n;
	}
	if (f.why == EGRESS_OK && f.number < 0) {
		number =
		    suffix != NULL ? pool_take(r, suffix->first, name, loop_now()) : -1;
		if (number < 0)
			f.why = EGRESS_FULL;
		else
			found(&f, number);
	}
	*ret = f;
}

static bool
is_loopback(const uint8_t addr[ADDRESS_LEN])
{
	return address_class_of(addr) == ADDRESS_LOOPBACK;
}

void
name_of_address(struct relay *r, const uint8_t addr[ADDRESS_LEN], uint16_t port,
    char ret[EGRESS_NAME_MAX + 1], int *ret_pool)
{
	struct policy_net_ask localhost = {"localhost", 9, port};
	int number = plan_number(addr);

	*ret_pool = -1;
	ret[0] = '\0';
	if (is_loopback(addr) &&
	    policy_match_net(&r->policy, r->server, &localhost).net != NULL) {
		memcpy(ret, localhost.host, localhost.host_len + 1);
		return;
	}
	if (number < 0) {
		(void)address_text(addr, ret);
		return;
	}
	for (size_t i = 0; i < r->plan.name_n; i++) {
		const struct plan_name *n = &r->plan.name[i];

		if (n->loopback || (uint32_t)number < n->first ||
		    (uint32_t)number >= n->first + (n->suffix ? PLAN_POOL : 1))
			continue;
		if (n->suffix) {
			*ret_pool = number;
			memcpy(ret, r->pooled[number].name, EGRESS_NAME_MAX + 1);
		} else {
			memcpy(ret, policy_str(&r->policy, n->host), n->host.len);
			ret[n->host.len] = '\0';
		}
	}
}

bool
name_listened(const struct relay *r, const uint8_t addr[ADDRESS_LEN], uint16_t port)
{
	for (size_t i = 0; i < r->plan.listener_n; i++) {
		const struct plan_listener *l = &r->plan.listener[i];
		static const uint8_t any6[ADDRESS_LEN];
		bool any4 = address_is_v4(l->addr) && l->addr[12] == 0;

		if (l->port != port)
			continue;
		if (memcmp(l->addr, addr, ADDRESS_LEN) == 0 ||
		    (any4 && address_is_v4(addr)) ||
		    (memcmp(l->addr, any6, ADDRESS_LEN) == 0 && !address_is_v4(addr)))
			return true;
	}
	return false;
}
