/*
 * Describes changed cells as readable sets: "what these lines grant, except
 * what those do". A description is used only if it fits all cells; if none
 * fits, the set is split in two.
 */
#include "policy/diff/diff.h"
#include "policy/sealed/policy.h"
#include "shim/base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "policy/base/output.h"
#include "shim/base/hash.h"

#define HASH_N 4096
#define NONE   0xffffffffu

struct region_cell {
	uint64_t *bits;
	struct state from, to;
	char *witness;
	uint32_t next; /* same hash */
};

void
regions_free(struct regions *g)
{
	size_t i;

	for (i = 0; i < g->cell_n; i++) {
		free(g->cell[i].bits);
		free(g->cell[i].witness);
	}
	free(g->cell);
	free(g->line);
	free(g->hash);
	memset(g, 0, sizeof(*g));
}

size_t
regions_line(
    struct regions *g, int side, const void *row, say_fn *say, struct sealed_at at)
{
	struct diff_line *grown;

	if (g->line_n == g->line_cap) {
		g->line_cap = g->line_cap == 0 ? 64 : 2 * g->line_cap;
		grown = realloc(g->line, g->line_cap * sizeof(*grown));
		if (grown == NULL)
			return SIZE_MAX;
		g->line = grown;
	}
	g->line[g->line_n] = (struct diff_line){side, row, say, at};
	return g->line_n++;
}

static bool
has(const uint64_t *bits, size_t i)
{
	return (bits[i / 64] >> (i % 64) & 1) != 0;
}

static uint32_t
hash_of(const uint64_t *bits, size_t n)
{
	uint64_t h = HASH64_START;
	size_t i;

	for (i = 0; i < n; i++)
		h = hash64_add(h, bits[i]);
	return (uint32_t)(h >> 32) % HASH_N;
}

static int
cells_grow(struct regions *g)
{
	struct region_cell *grown;

	if (g->hash == NULL) {
		g->words = g->line_n / 64 + 1;
		g->hash = malloc(HASH_N * sizeof(*g->hash));
		if (g->hash == NULL)
			return -ENOMEM;
		memset(g->hash, 0xff, HASH_N * sizeof(*g->hash));
	}
	if (g->cell_n < g->cell_cap)
		return 0;
	g->cell_cap = g->cell_cap == 0 ? 64 : 2 * g->cell_cap;
	grown = realloc(g->cell, g->cell_cap * sizeof(*grown));
	if (grown == NULL)
		return -ENOMEM;
	g->cell = grown;
	return 0;
}

static bool
same_state(struct state a, struct state b)
{
	return a.verdict == b.verdict && a.more == b.more && a.factor == b.factor;
}

int
regions_cell(struct regions *g, const bool *held, struct state from, struct state to,
    const char *witness)
{
	struct region_cell c = {.from = from, .to = to};
	uint32_t h, i;
	size_t k;

	if (cells_grow(g) != 0)
		return -ENOMEM;
	if (g->cell_n * g->words > DIFF_BITS_MAX) {
		g->beyond = true;
		return 0;
	}
	c.bits = calloc(g->words, sizeof(*c.bits));
	if (c.bits == NULL)
		return -ENOMEM;
	for (k = 0; k < g->line_n; k++)
		if (held[k])
			c.bits[k / 64] |= (uint64_t)1 << (k % 64);
	h = hash_of(c.bits, g->words);
	for (i = g->hash[h]; i != NONE; i = g->cell[i].next)
		if (memcmp(g->cell[i].bits, c.bits, g->words * sizeof(*c.bits)) == 0 &&
		    same_state(g->cell[i].from, from) && same_state(g->cell[i].to, to)) {
			free(c.bits);
			return 0;
		}
	c.witness = strdup(witness);
	if (c.witness == NULL) {
		free(c.bits);
		return -ENOMEM;
	}
	c.next = g->hash[h];
	g->hash[h] = (uint32_t)g->cell_n;
	g->cell[g->cell_n++] = c;
	return 0;
}

int
regions_member(struct regions *g, const bool *held, const struct regions_how *how,
    void *x, const void *member)
{
	struct state from, to;
	char *text;
	int r;

	if (g->asked_n++ >= DIFF_POINTS_MAX) {
		g->beyond = true;
		return 0;
	}
	from = how->side(x, 0, member);
	to = how->side(x, 1, member);
	text = how->text(x, member);
	r = text == NULL ? -ENOMEM : regions_cell(g, held, from, to, text);
	free(text);
	return r;
}

/* ---- descriptions -------------------------------------------------------- */

/* Lines that all members have, and lines that no member has. */
struct words {
	uint64_t *all, *except;
};

static bool
holds_all(const struct regions *g, const uint64_t *bits, const uint64_t *all)
{
	size_t i;

	for (i = 0; i < g->words; i++)
		if ((bits[i] & all[i]) != all[i])
			return false;
	return true;
}

static bool
meets(const struct regions *g, const uint64_t *bits, const uint64_t *other)
{
	size_t i;

	for (i = 0; i < g->words; i++)
		if ((bits[i] & other[i]) != 0)
			return true;
	return false;
}

/* Adds to except the first line that this cell has and no member has. */
static bool
except_one(
    const struct regions *g, const uint64_t *bits, const uint64_t *any, uint64_t *except)
{
	size_t i;
	uint64_t left;

	for (i = 0; i < g->words; i++) {
		left = bits[i] & ~any[i];
		if (left != 0) {
			except[i] |= left & -left;
			return true;
		}
	}
	return false;
}

/*
 * Does "all of these lines, but none of except" describe exactly the members?
 * Builds except on the way.
 */
static bool
describes(
    const struct regions *g, const bool *member, const uint64_t *any, struct words *w)
{
	size_t i;

	memset(w->except, 0, g->words * sizeof(*w->except));
	for (i = 0; i < g->cell_n; i++) {
		if (member[i] || !holds_all(g, g->cell[i].bits, w->all) ||
		    meets(g, g->cell[i].bits, w->except))
			continue;
		if (!except_one(g, g->cell[i].bits, any, w->except))
			return false;
	}
	return true;
}

static size_t
bits_n(const struct regions *g, const uint64_t *bits)
{
	size_t i, n = 0;

	for (i = 0; i < g->words; i++)
		n += (size_t)__builtin_popcountll(bits[i]);
	return n;
}

/*
 * Drops lines that are redundant, those of the old policy first; never
 * increases the number of exceptions.
 */
static void
shorten(const struct regions *g, const bool *member, const uint64_t *any, struct words *w)
{
	size_t i, most = bits_n(g, w->except);
	uint64_t bit;
	int side;

	for (side = 0; side < 2; side++)
		for (i = 0; i < g->line_n; i++) {
			bit = (uint64_t)1 << (i % 64);
			if (g->line[i].side != side || (w->all[i / 64] & bit) == 0 ||
			    bits_n(g, w->all) == 1)
				continue;
			w->all[i / 64] &= ~bit;
			if (!describes(g, member, any, w) || bits_n(g, w->except) > most)
				w->all[i / 64] |= bit;
		}
	(void)describes(g, member, any, w); /* except, for the remaining lines */
}

static void
say_lines(const struct regions *g, const struct diff *d, const uint64_t *bits,
    const char *word, const char *between, FILE *f)
{
	const char *lead = word;
	const struct diff_line *l;
	size_t i;

	for (i = 0; i < g->line_n; i++) {
		if (!has(bits, i))
			continue;
		l = &g->line[i];
		(void)fputs(lead, f);
		l->say(d->p[l->side], l->row, f);
		(void)fprintf(f, " [%s",
		    d->only != NULL ? ""
		    : l->side == 0  ? "old "
				    : "new ");
		say_at(d->p[l->side], l->at, f);
		(void)fputc(']', f);
		lead = between;
	}
}

static char *
set_text(const struct regions *g, const struct diff *d, const struct words *w)
{
	char *out = NULL;
	size_t len, i;
	uint64_t any = 0;
	FILE *f = open_memstream(&out, &len);

	if (f == NULL)
		return NULL;
	for (i = 0; i < g->words; i++)
		any |= w->all[i];
	if (any == 0)
		(void)fputs("everything", f);
	say_lines(g, d, w->all, "", " and ", f);
	say_lines(g, d, w->except, " but not ", " nor ", f);
	return fclose(f) == 0 ? out : NULL;
}

/* ---- changes ------------------------------------------------------------- */

struct tell {
	struct regions *g;
	struct diff *d;
	const char *domain;
	size_t told;
};

static char *
state_text(const struct regions *g, struct state s)
{
	char *out = NULL;
	size_t len;
	FILE *f = open_memstream(&out, &len);

	if (f == NULL)
		return NULL;
	(void)fputs(policy_verdict_name(s.verdict), f);
	if (s.factor != FACTOR_NONE)
		(void)fprintf(f, " with %s", policy_factor_name(s.factor));
	if (s.more != 0 && g->more != NULL)
		g->more->say(g->more_x, s.more, f);
	return fclose(f) == 0 ? out : NULL;
}

static int
tell_set(struct tell *t, const bool *member, const struct words *w)
{
	struct finding f = {.domain = t->domain};
	const struct region_cell *c;
	size_t i;

	for (i = 0; !member[i]; i++)
		;
	c = &t->g->cell[i];
	f.way = diff_way(c->from, c->to, t->g->more, t->g->more_x);
	if (t->told++ >= DIFF_REGIONS_MAX) {
		t->d->left_out++;
		if (f.way == DIFF_WIDER)
			t->d->beyond = true;
		return 0;
	}
	f.from = policy_verdict_name(c->from.verdict);
	f.to = policy_verdict_name(c->to.verdict);
	f.from_text = state_text(t->g, c->from);
	f.to_text = state_text(t->g, c->to);
	f.set = set_text(t->g, t->d, w);
	f.witness = strdup(c->witness);
	return diff_found(t->d, &f);
}

/* A line that some members have and others do not; SIZE_MAX: none. */
static size_t
splitter(const struct regions *g, const uint64_t *all, const uint64_t *any)
{
	size_t i;
	int side;

	for (side = 1; side >= 0; side--)
		for (i = 0; i < g->line_n; i++)
			if (g->line[i].side == side && has(any, i) && !has(all, i))
				return i;
	return SIZE_MAX;
}

static int tell_members(struct tell *t, const bool *member);

static int
/* NOLINTNEXTLINE(misc-no-recursion): as deep as there are lines */
tell_halves(struct tell *t, const bool *member, size_t line)
{
	bool *half = calloc(t->g->cell_n + 1, 1);
	int r = half == NULL ? -ENOMEM : 0, yes;
	size_t i;

	for (yes = 1; yes >= 0 && r == 0; yes--) {
		for (i = 0; i < t->g->cell_n; i++)
			half[i] =
			    member[i] && has(t->g->cell[i].bits, line) == (yes != 0);
		r = tell_members(t, half);
	}
	free(half);
	return r;
}

/* The depth is at most the number of lines: each split settles one. */
static int
tell_members(struct tell *t, const bool *member) /* NOLINT(misc-no-recursion) */
{
	const struct regions *g = t->g;
	uint64_t *bits = calloc(3 * g->words, sizeof(*bits));
	uint64_t *any = bits;
	struct words w;
	size_t i, k;
	int r;

	if (bits == NULL)
		return -ENOMEM;
	w = (struct words){bits + g->words, bits + 2 * g->words};
	memset(w.all, 0xff, g->words * sizeof(*w.all));
	for (i = 0; i < g->cell_n; i++)
		for (k = 0; k < g->words && member[i]; k++) {
			any[k] |= g->cell[i].bits[k];
			w.all[k] &= g->cell[i].bits[k];
		}
	if (describes(g, member, any, &w)) {
		shorten(g, member, any, &w);
		r = tell_set(t, member, &w);
	} else if (splitter(g, w.all, any) == SIZE_MAX) {
		r = tell_set(t, member, &w); /* the closest description with lines */
	} else {
		r = tell_halves(t, member, splitter(g, w.all, any));
	}
	free(bits);
	return r;
}

int
regions_tell(struct regions *g, struct diff *d, const char *domain)
{
	struct tell t = {g, d, domain, 0};
	bool *done = calloc(2 * g->cell_n + 1, 1), *member = done + g->cell_n;
	int r = done == NULL ? -ENOMEM : 0;
	size_t i, k;

	d->beyond = d->beyond || g->beyond;
	for (i = 0; i < g->cell_n && r == 0; i++) {
		if (done[i] || same_state(g->cell[i].from, g->cell[i].to))
			continue;
		for (k = 0; k < g->cell_n; k++) {
			member[k] = same_state(g->cell[k].from, g->cell[i].from) &&
				    same_state(g->cell[k].to, g->cell[i].to);
			done[k] = done[k] || member[k];
		}
		r = tell_members(&t, member);
	}
	free(done);
	return r;
}
