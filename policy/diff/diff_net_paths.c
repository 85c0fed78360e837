/*
 * Hosts and ports, files and directories.
 */
#include "policy/diff/diff.h"
#include "policy/address/address.h"
#include "policy/sealed/policy.h"
#include "shim/base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- hosts --------------------------------------------------------------------- */

struct net_row {
	int side;
	const struct sealed_net *n;
	uint32_t more; /* of struct state: its addresses and protocol */
};

struct net_diff {
	struct diff *d;
	struct net_row *row;
	size_t row_n;
	struct regions g;
	bool *held;
	struct points mentioned, host;
	struct points_range *range;
	size_t range_n;
	uint32_t (*port)[2];
};

static struct address_scope
scope_of(const struct sealed_net *n)
{
	return (struct address_scope){n->scope, n->scope_addr, n->scope_prefix};
}

/*
 * Does b's protocol let a client send all that a's does?  `plain` is not inspected;
 * PostgreSQL also accepts TLS at once (leash/egress/greeting.c).
 */
static bool
proto_within(uint32_t a, uint32_t b)
{
	return a == b || b == NET_PLAIN ||
	       (a == NET_TLS && (b == NET_NO_SNI || b == NET_STARTTLS_POSTGRES));
}

static bool
row_within(const struct sealed_net *a, const struct sealed_net *b)
{
	struct address_scope in = scope_of(a), of = scope_of(b);

	return proto_within(a->proto, b->proto) && address_scope_within(&in, &of);
}

static bool
net_within(const void *domain, uint32_t new, uint32_t old)
{
	const struct net_diff *x = domain;

	return row_within(x->row[new - 1].n, x->row[old - 1].n);
}

static void
net_say(const void *domain, uint32_t more, FILE *f)
{
	const struct net_diff *x = domain;

	say_net_how(x->row[more - 1].n, f);
}

static const struct state_more net_more = {net_within, net_say};

/* The number of what this row permits: that of the first row with the same. */
static uint32_t
more_of(const struct net_diff *x, const struct sealed_net *n)
{
	uint32_t i;

	for (i = 0; i < x->row_n; i++)
		if (row_within(n, x->row[i].n) && row_within(x->row[i].n, n))
			break;
	return i + 1;
}

static void
range_of(const struct sealed_net *n, struct points_range *ret)
{
	uint32_t i, bits;

	for (i = 0; i < 16; i++) {
		bits = n->prefix <= 8 * i ? 0 : n->prefix - 8 * i;
		ret->first[i] = n->addr[i];
		ret->last[i] =
		    bits >= 8 ? n->addr[i] : (uint8_t)(n->addr[i] | 0xffu >> bits);
	}
}

static int
add_net(struct net_diff *x, int side, const struct sealed_net *n)
{
	const struct policy *p = x->d->p[side];

	if (regions_line(&x->g, side, n, say_net, n->at) == SIZE_MAX)
		return -ENOMEM;
	x->row[x->row_n] = (struct net_row){side, n, more_of(x, n)};
	x->port[x->row_n][0] = n->port_first;
	x->port[x->row_n][1] = n->port_last;
	x->row_n++;
	if (n->kind == HOST_CIDR)
		range_of(n, &x->range[x->range_n++]);
	else
		points_add(&x->mentioned, policy_str(p, n->host), n->host.len);
	return 0;
}

/* The verdict, and the addresses and protocol of the line that decides. */
static struct state
net_side(struct net_diff *x, int side, const struct policy_net_ask *ask)
{
	struct state st = {.verdict = VERDICT_DENY};
	struct policy_answer a;
	size_t i;

	if (x->d->s[side] == NULL)
		return st;
	a = policy_match_net(x->d->p[side], x->d->s[side], ask);
	st.verdict = a.verdict;
	st.factor = policy_answer_factor(&a);
	for (i = 0; i < x->row_n; i++) {
		if (x->row[i].side != side)
			continue;
		x->held[i] =
		    policy_net_miss(x->d->p[side], x->row[i].n, ask) == MISS_NONE;
		if (x->row[i].n == a.net && st.verdict != VERDICT_DENY)
			st.more = x->row[i].more;
	}
	return st;
}

static int
net_points(struct net_diff *x, const struct points *hosts)
{
	struct policy_net_ask ask;
	struct state from, to;
	char text[600];
	uint32_t *port;
	size_t port_n, i, k;
	int r;

	r = points_ports((const uint32_t(*)[2])x->port, x->row_n, &port, &port_n);
	if (r != 0)
		return r;
	for (i = 0; r == 0 && i < hosts->n; i++)
		for (k = 0; k < port_n && r == 0; k++) {
			ask = (struct policy_net_ask){
			    hosts->v[i], strlen(hosts->v[i]), port[k]};
			from = net_side(x, 0, &ask);
			to = net_side(x, 1, &ask);
			(void)snprintf(text, sizeof(text), "%s:%u", hosts->v[i], port[k]);
			r = regions_cell(&x->g, x->held, from, to, text);
		}
	free(port);
	return r;
}

static int
net_ask(struct net_diff *x)
{
	struct points hosts;
	int r;

	r = points_hosts(&x->mentioned, &hosts);
	if (r != 0)
		return r;
	r = net_points(x, &hosts);
	points_free(&hosts);
	if (r != 0)
		return r;
	r = points_addresses(x->range, x->range_n, &hosts);
	if (r == 0) {
		r = net_points(x, &hosts);
		points_free(&hosts);
	}
	return r;
}

int
diff_nets(struct diff *d)
{
	struct net_diff x = {.d = d};
	size_t most = (d->s[0] != NULL ? d->s[0]->nets.n : 0) +
		      (d->s[1] != NULL ? d->s[1]->nets.n : 0);
	int side, r = 0;
	uint32_t i;

	if (most == 0)
		return 0;
	x.g.more = &net_more;
	x.g.more_x = &x;
	x.row = calloc(most, sizeof(*x.row));
	x.held = calloc(most, sizeof(*x.held));
	x.range = calloc(most, sizeof(*x.range));
	x.port = calloc(most, sizeof(*x.port));
	if (x.row == NULL || x.held == NULL || x.range == NULL || x.port == NULL)
		r = -ENOMEM;
	for (side = 0; side < 2; side++)
		for (i = 0; d->s[side] != NULL && i < d->s[side]->nets.n && r == 0; i++)
			r = add_net(
			    &x, side, &d->p[side]->net[d->s[side]->nets.first + i]);
	if (r == 0)
		r = net_ask(&x);
	if (r == 0)
		r = regions_tell(&x.g, d, "net");
	regions_free(&x.g);
	free(x.row);
	free(x.held);
	free(x.range);
	free(x.port);
	points_free(&x.mentioned);
	return r;
}

/* ---- files --------------------------------------------------------------- */

/* A line for exactly this path, not for paths below it. */
static void
say_itself(const struct policy *p, const void *row, FILE *f)
{
	(void)fputs("the path itself", f);
}

struct path_diff {
	struct diff *d;
	enum sealed_mount_right right;
	struct regions g;
	bool *held;
	size_t first[2]; /* where the lines of each side begin */
};

static bool
of_a_line(const struct sealed_mount *m)
{
	return m->why == WHY_READ || m->why == WHY_WRITE || m->why == WHY_HIDE;
}

static struct state
path_side(struct path_diff *x, int side, const char *path)
{
	const struct sealed_server *s = x->d->s[side];
	struct state st = {.verdict = VERDICT_DENY};
	struct policy_answer a;
	bool *held;

	if (s == NULL)
		return st;
	a = policy_match_path(x->d->p[side], s, path, x->right);
	/* if only one policy has the server, do not report what every cell has */
	if (x->d->s[1 - side] != NULL || (a.mount != NULL && of_a_line(a.mount)))
		st.verdict = a.verdict;
	held = x->held + x->first[side];
	memset(held, 0, s->mounts.n + 1);
	if (a.mount == NULL)
		return st;
	held[a.mount - (x->d->p[side]->mount + s->mounts.first)] = true;
	/* a file and a directory created as a parent match only themselves */
	held[s->mounts.n] = strcmp(path, policy_str(x->d->p[side], a.mount->target)) == 0;
	return st;
}

static bool
path_within(const void *domain, uint32_t new, uint32_t old)
{
	return false; /* another file, of which the same may be done */
}

static void
path_say(const void *domain, uint32_t more, FILE *f)
{
	(void)fputs(more == 1 ? " of one source" : " of another source", f);
}

static const struct state_more path_more = {path_within, path_say};

/* Both sides permit it: is it the same file of the host? */
static int
path_source(const struct path_diff *x, const char *path, bool *ret_same)
{
	char *at[2];
	int side;

	for (side = 0; side < 2; side++)
		at[side] = policy_path_source(x->d->p[side], x->d->s[side], path);
	*ret_same = at[0] != NULL && at[1] != NULL && strcmp(at[0], at[1]) == 0;
	side = at[0] == NULL || at[1] == NULL ? -ENOMEM : 0;
	free(at[0]);
	free(at[1]);
	return side;
}

static int
path_points(struct path_diff *x, const struct points *paths)
{
	struct state from, to;
	bool same = true;
	size_t i;
	int r = 0;

	for (i = 0; i < paths->n && r == 0; i++) {
		from = path_side(x, 0, paths->v[i]);
		to = path_side(x, 1, paths->v[i]);
		if (from.verdict != VERDICT_DENY && to.verdict != VERDICT_DENY)
			r = path_source(x, paths->v[i], &same);
		if (!same) {
			from.more = 1;
			to.more = 2;
		}
		same = true;
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): freed by regions_free() */
		r = r != 0 ? r : regions_cell(&x->g, x->held, from, to, paths->v[i]);
	}
	return r;
}

static int
path_lines(struct path_diff *x, struct points *mentioned)
{
	const struct sealed_mount *m;
	const struct sealed_server *s;
	const struct policy *p;
	size_t n = 0;
	uint32_t i;
	int side;

	for (side = 0; side < 2; side++) {
		s = x->d->s[side];
		p = x->d->p[side];
		x->first[side] = n;
		for (i = 0; s != NULL && i < s->mounts.n; i++, n++) {
			m = &p->mount[s->mounts.first + i];
			if (regions_line(&x->g, side, m, say_mount, m->at) == SIZE_MAX)
				return -ENOMEM;
			points_add(mentioned, policy_str(p, m->target), m->target.len);
		}
		if (s != NULL &&
		    regions_line(&x->g, side, s, say_itself, s->at) == SIZE_MAX)
			return -ENOMEM;
		n += s != NULL ? 1 : 0;
	}
	x->held = calloc(n + 1, sizeof(*x->held));
	return x->held == NULL || mentioned->failed ? -ENOMEM : 0;
}

static int
diff_right(struct diff *d, enum sealed_mount_right right, const char *name)
{
	struct points mentioned = {.n = 0}, paths = {.n = 0};
	struct path_diff x = {.d = d, .right = right};
	int r;

	x.g.more = &path_more;
	r = path_lines(&x, &mentioned);
	if (r == 0)
		r = points_paths(&mentioned, &paths);
	if (r == 0)
		r = path_points(&x, &paths);
	if (r == 0)
		r = regions_tell(&x.g, d, name);
	regions_free(&x.g);
	free(x.held);
	points_free(&mentioned);
	points_free(&paths);
	return r;
}

int
diff_paths(struct diff *d)
{
	int r = diff_right(d, RIGHT_READ, "read");

	return r != 0 ? r : diff_right(d, RIGHT_WRITE, "write");
}
