/*
 * The index of a server's rows: keys, lookups, and its check.
 */
#include <string.h>

#include "policy/sealed/policy.h"
#include "policy/sealed/row_index.h"
#include "policy/sealed/values/uri.h"
#include "shim/base/hash.h"

/* A key from the hash so far, for one class of keys. */
static uint32_t
key_of(uint64_t h, uint32_t class)
{
	h = (h ^ class) * 0x9e3779b97f4a7c15u;
	return (uint32_t)(h >> 32);
}

/* ---- rows -------------------------------------------------------------------- */

/* The first image row of the same file: its rows are adjacent. */
static uint32_t
file_of(const struct policy *p, const struct sealed_server *s, uint32_t image)
{
	while (image > s->images.first &&
	       p->image[image - 1].real.off == p->image[image].real.off)
		image--;
	return image - s->images.first;
}

static uint32_t
exec_key(const struct policy *p, const struct sealed_server *s, uint32_t row,
    uint32_t *ret_depth)
{
	const struct sealed_exec *e = &p->exec[row];
	const struct sealed_arg *a = &p->arg[e->args.first];
	uint64_t h = HASH64_START;
	uint32_t n;

	for (n = 0; n < e->args.n && n < INDEX_DEPTH_MAX && a[n].kind == ARG_LITERAL;
	     n++) {
		h = hash64(h, policy_str(p, a[n].text), a[n].text.len);
		h = hash64_add(h, 0);
	}
	*ret_depth = n;
	return key_of(h, file_of(p, s, e->asked));
}

static uint32_t
gate_key(const struct policy *p, const struct sealed_server *s, uint32_t row,
    uint32_t *ret_depth)
{
	const struct sealed_gate *g = &p->gate[row];
	const char *name = policy_str(p, g->name);
	size_t n =
	    g->kind == GATE_RESOURCE ? uri_fixed(name, g->name.len) : strcspn(name, "*");
	bool open = n < g->name.len; /* the rest has several spellings */

	if (open && n > INDEX_DEPTH_MAX)
		n = INDEX_DEPTH_MAX;
	*ret_depth = open ? (uint32_t)n : UINT32_MAX;
	return key_of(hash64(HASH64_START, name, n), 2 * g->kind + open);
}

static uint32_t
net_key(const struct policy *p, const struct sealed_server *s, uint32_t row,
    uint32_t *ret_depth)
{
	const struct sealed_net *n = &p->net[row];
	const char *host = policy_str(p, n->host);
	uint64_t h = HASH64_START;
	uint32_t i;

	for (i = n->kind == HOST_CIDR ? 0 : n->host.len; i > 0; i--)
		h = hash64_add(h, (uint8_t)host[i - 1]);
	*ret_depth = UINT32_MAX;
	return key_of(h, n->kind);
}

uint32_t
index_key(const struct policy *p, const struct sealed_server *s, enum index_of of,
    uint32_t i, uint32_t *ret_depth)
{
	return of == INDEX_EXEC   ? exec_key(p, s, i, ret_depth)
	       : of == INDEX_GATE ? gate_key(p, s, i, ret_depth)
				  : net_key(p, s, i, ret_depth);
}

uint32_t
index_slots(uint32_t row_n)
{
	uint32_t n = 32;

	if (row_n <= INDEX_ROWS)
		return 0;
	while (n < 2 * row_n)
		n *= 2;
	return n;
}

/* ---- lookups ------------------------------------------------------------- */

/* A lookup in progress. */
struct look {
	const struct policy *p;
	struct sealed_range rows, slots;
	index_fn *fn;
	void *arg;
};

/*
 * Calls fn for all rows of the cluster that may have this key; other rows
 * cannot match.
 */
static void
probe(const struct look *l, uint32_t key)
{
	const uint32_t *slot = &l->p->slot[l->slots.first];
	uint32_t mask = l->slots.n - 1, i;

	for (i = key & mask; slot[i] != 0; i = (i + 1) & mask)
		if (((slot[i] ^ key) & ~INDEX_ROW_MASK) == 0)
			l->fn(
			    l->p, l->rows.first + (slot[i] & INDEX_ROW_MASK) - 1, l->arg);
}

/*
 * With few rows, an unsealed policy, or a request that keys cannot express:
 * calls fn for every row.
 */
static bool
all_rows(const struct look *l, bool unknown)
{
	bool all = unknown || l->slots.n == 0;
	uint32_t i;

	for (i = 0; all && i < l->rows.n; i++)
		l->fn(l->p, l->rows.first + i, l->arg);
	return all;
}

void
index_execs(const struct policy *p, const struct sealed_server *s,
    const struct policy_exec_ask *ask, index_fn *fn, void *arg)
{
	const struct look l = {p, s->execs, s->exec_slots, fn, arg};
	uint64_t h = HASH64_START, depths = s->exec_depths;
	uint32_t file, n;
	const char *c;

	if (all_rows(&l, false) || ask->asked - s->images.first >= s->images.n)
		return;
	file = file_of(p, s, ask->asked);
	for (n = 0; depths >> n != 0; n++) {
		if ((depths >> n & 1) != 0)
			probe(&l, key_of(h, file));
		if (n + 1 >= ask->argv.n)
			return;
		for (c = ask->argv.v[n + 1]; *c != 0; c++)
			h = hash64_add(h, (uint8_t)*c);
		h = hash64_add(h, 0);
	}
}

void
index_gates(const struct policy *p, const struct sealed_server *s,
    const struct policy_gate_ask *ask, index_fn *fn, void *arg)
{
	const struct look l = {p, s->gates, s->gate_slots, fn, arg};
	bool named = ask->kind <= GATE_PROMPT || ask->kind == GATE_METHOD;
	const size_t len = named ? ask->name_len : 0;
	uint64_t h = HASH64_START;
	bool coded =
	    ask->kind == GATE_METHOD ||
	    (ask->kind == GATE_RESOURCE && uri_form(ask->name, len) != URI_PLAIN);
	size_t n;

	if (all_rows(&l, coded))
		return;
	for (n = 0;; n++) {
		if (n <= INDEX_DEPTH_MAX && (s->gate_depths >> n & 1) != 0)
			probe(&l, key_of(h, 2 * (uint32_t)ask->kind + 1));
		if (n == len)
			break;
		h = hash64_add(h, (uint8_t)ask->name[n]);
	}
	probe(&l, key_of(h, 2 * (uint32_t)ask->kind));
}

void
index_nets(const struct policy *p, const struct sealed_server *s,
    const struct policy_net_ask *ask, index_fn *fn, void *arg)
{
	const struct look l = {p, s->nets, s->net_slots, fn, arg};
	uint64_t h = HASH64_START;
	size_t i;

	if (all_rows(&l, false))
		return;
	probe(&l, key_of(h, HOST_CIDR));
	for (i = ask->host_len; i > 0; i--) {
		if (ask->host[i - 1] == '.')
			probe(&l, key_of(h, HOST_SUFFIX));
		h = hash64_add(h, (uint8_t)ask->host[i - 1]);
	}
	probe(&l, key_of(h, HOST_EXACT));
}

/* ---- check ---------------------------------------------------------------------- */

/*
 * Every row is in the slot where a lookup finds it when rows are inserted in
 * order.
 */
static bool
slots_hold(const struct policy *p, const struct sealed_server *s, enum index_of of,
    struct sealed_range rows, struct sealed_range slots, uint64_t *depths)
{
	const uint32_t *slot = &p->slot[slots.first];
	uint32_t i, k, key, want, depth, full = 0;

	for (i = 0; i < slots.n; i++)
		full += slot[i] != 0;
	if (slots.n != index_slots(rows.n) || full != (slots.n > 0 ? rows.n : 0))
		return false;
	for (i = 0; slots.n > 0 && i < rows.n; i++) {
		key = index_key(p, s, of, rows.first + i, &depth);
		want = index_slot(i, key);
		for (k = key & (slots.n - 1); slot[k] != want;
		     k = (k + 1) & (slots.n - 1))
			if (slot[k] == 0 || (slot[k] & INDEX_ROW_MASK) > i + 1)
				return false;
		if (depth <= INDEX_DEPTH_MAX)
			*depths |= (uint64_t)1 << depth;
	}
	return true;
}

const char *
index_check(const struct policy *p, const struct sealed_server *s)
{
	uint64_t execs = 0, gates = 0, nets = 0;

	if (!slots_hold(p, s, INDEX_EXEC, s->execs, s->exec_slots, &execs) ||
	    !slots_hold(p, s, INDEX_GATE, s->gates, s->gate_slots, &gates) ||
	    !slots_hold(p, s, INDEX_NET, s->nets, s->net_slots, &nets))
		return "an index points to a wrong row";
	if (execs != s->exec_depths || gates != s->gate_depths)
		return "an index omits rows";
	return NULL;
}
