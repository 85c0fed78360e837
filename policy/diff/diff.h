/*
 * What two compiled policies say differently, exactly: private to diff.
 *
 *	diff_exec.c	programs: image x arguments x caller x folder x variables
 *	diff_gate.c	tools, resources, prompts: name x pin x arguments
 *	diff_values.c	arguments that tell the conditions of both apart
 *	diff_reach.c	hosts x ports, paths
 *	diff_flat.c	what has no sets: variables, secrets, limits, calls, pins
 *	region.c	cells that changed, as sets of lines
 *
 * Each domain is cut into cells (policy/algebra); one member of each is asked of
 * both matchers.  Where there are too many cells the answer is "beyond", and a
 * difference that cannot be excluded counts as a widening.
 */
#ifndef KENNEL_POLICY_DIFF_H
#define KENNEL_POLICY_DIFF_H

#include "policy/algebra/algebra.h"
#include "policy/sealed/policy.h"
#include "policy/print/statement.h"

#define DIFF_POINTS_MAX  400000     /* members asked in one domain */
#define DIFF_VALUES_MAX  20000      /* documents of arguments for one name */
#define DIFF_BITS_MAX    (8u << 20) /* 64-bit words of all cells of one domain */
#define DIFF_REGIONS_MAX 200        /* told of one domain; then only counted */

/* What one side says of one member. */
struct state {
	enum sealed_verdict verdict;
	uint32_t more; /* net: scopes and protocols, one bit each */
};

enum diff_way { DIFF_WIDER = 1, DIFF_NARROWER, DIFF_NEUTRAL };

/* One difference.  Texts are malloc'ed or NULL. */
struct finding {
	enum diff_way way;
	const char *domain;    /* "exec", "tool", "read", "secret" ... */
	const char *from, *to; /* verdicts; of a flat one the old and new value */
	char *from_text, *to_text;
	char *set;     /* the lines that make the set */
	char *witness; /* one member */
};

struct diff {
	const struct policy *p[2];        /* old, new */
	const struct sealed_server *s[2]; /* one may be NULL: not there */
	struct finding *found;
	size_t found_n, found_cap;
	size_t left_out;
	bool beyond;      /* a domain had too many cells */
	const char *only; /* this program alone, by its canonical name; NULL: all */
};

/* All domains of one server: 0 or -ENOMEM. */
int diff_exec(struct diff *);
int diff_gates(struct diff *);
int diff_nets(struct diff *);
int diff_paths(struct diff *);
int diff_flat(struct diff *);
void diff_free(struct diff *);
/* One more; takes the texts over, also when it fails. */
int diff_found(struct diff *, const struct finding *);
/* Which way is it from a to b? */
enum diff_way diff_way(struct state a, struct state b);

/* ---- region.c -------------------------------------------------------------------- */

/* A line of either policy. */
struct line {
	int side;
	const void *row;
	say_fn *say;
	struct sealed_at at;
};

/* The cells of one domain: which lines hold in each. */
struct regions {
	struct line *line;
	size_t line_n, line_cap;
	struct region_cell *cell;
	size_t cell_n, cell_cap, words;
	uint32_t *hash;
	size_t asked_n; /* members so far */
	bool beyond;
};

void regions_free(struct regions *);
/* Every line first; its number, or SIZE_MAX: no memory. */
size_t regions_line(
    struct regions *, int side, const void *row, say_fn *, struct sealed_at);
/* Then cells: held has one flag for each line.  The first member of a cell is its
 * witness.  0 or -ENOMEM. */
int regions_cell(struct regions *, const bool *held, struct state from, struct state to,
    const char *witness);
/* How one member is asked about: what a side says of it, with `held` set to the lines
 * that hold there, and its words (malloc; NULL: no memory).  x is the domain's. */
struct regions_how {
	struct state (*side)(void *x, int side, const void *member);
	char *(*text)(const void *x, const void *member);
};
/* Both sides, into a cell; nothing more, and `beyond`, past DIFF_POINTS_MAX members. */
int regions_member(struct regions *, const bool *held, const struct regions_how *,
    void *x, const void *member);
/* What changed, as sets of lines, into the diff. */
int regions_tell(struct regions *, struct diff *, const char *domain);

/* ---- diff_values.c ------------------------------------------------------------------ */

struct conds_of {
	const struct policy *p;
	struct sealed_range conds;
};
/* Arguments of which every combination of comparisons that can be is one: JSON
 * objects.  0, -E2BIG, -ENOMEM. */
int diff_values(const struct conds_of *, size_t n, struct points *ret);

#endif
