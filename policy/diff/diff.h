/*
 * The exact differences between two compiled policies.
 *
 *	diff_exec.c		programs: image x argv x caller x directory x env
 *	diff_mcp.c		tools, resources, prompts: name x pin x arguments
 *	diff_limits.c		rates and quotas of tools
 *	diff_arguments.c	arguments that distinguish the conditions of both
 *	diff_net_paths.c	hosts x ports, paths
 *	diff_settings.c		variables, secrets, limits, calls, pins
 *	diff_dates.c		the same on each later day on which a permission ends
 *	diff_columns.c		which of these knows which column of a sealed file
 *	summarize.c		changed cells as sets of lines
 *
 * Each domain is divided into cells (policy/algebra), and both matchers are
 * asked about one member of each.  If there are too many cells, the result is
 * "beyond": a difference that cannot be excluded counts as wider.
 */
#ifndef KENNEL_POLICY_DIFF_DIFF_H
#define KENNEL_POLICY_DIFF_DIFF_H

#include "policy/algebra/algebra.h"
#include "policy/sealed/sealed.h"
#include "policy/print/statement.h"

#define DIFF_POINTS_MAX  400000     /* members tested in one domain */
#define DIFF_VALUES_MAX  20000      /* documents of arguments for one name */
#define DIFF_BITS_MAX    (8u << 20) /* 64-bit units for all cells of one domain */
#define DIFF_REGIONS_MAX 200        /* reported for one domain; more are only counted */

/* One side's answer for one member. */
struct state {
	enum sealed_verdict verdict;
	enum sealed_factor factor; /* of an ask */
	/* what exactly is permitted, as a number of the domain's; 0 for a denial */
	uint32_t more;
};

/* How a domain compares these numbers: x belongs to the domain. */
struct state_more {
	/* Does `old` permit all that `new` permits? */
	bool (*within)(const void *x, uint32_t new, uint32_t old);
	void (*say)(const void *x, uint32_t more, FILE *);
};

enum diff_way { DIFF_WIDER = 1, DIFF_NARROWER, DIFF_NEUTRAL };

/* One difference.  Texts are malloc'ed or NULL. */
struct finding {
	enum diff_way way;
	const char *domain;    /* "exec", "tool", "read", "secret" ... */
	const char *from, *to; /* verdicts; for a setting the old and new value */
	char *from_text, *to_text;
	char *set;     /* the lines that describe the set */
	char *witness; /* one member */
	uint32_t day;  /* the first day of the difference, since 1970-01-01; 0: now */
};

struct diff {
	const struct policy *p[2];        /* old, new */
	const struct sealed_server *s[2]; /* NULL: no such server on that side */
	struct finding *found;
	size_t found_n, found_cap;
	size_t left_out;
	bool beyond;      /* a domain had too many cells */
	const char *only; /* only this program, by its canonical name; NULL: all */
	uint32_t day;     /* the day that is compared; 0: today */
};

/* All domains of one server: 0 or -ENOMEM. */
int diff_exec(struct diff *);
int diff_gates(struct diff *);
int diff_nets(struct diff *);
int diff_paths(struct diff *);
int diff_flat(struct diff *);
/* All of them. */
int diff_server(struct diff *);
/* True if every difference is a smaller permission, and none was left out. */
bool diff_only_narrower(const struct diff *);
void diff_free(struct diff *);
void finding_free(struct finding *); /* its texts */
/* Adds a finding; takes ownership of its texts, even on failure. */
int diff_found(struct diff *, const struct finding *);
/*
 * The direction of the change from a to b.  m, x: NULL if the domain has no such
 * numbers.
 */
enum diff_way diff_way(
    struct state a, struct state b, const struct state_more *m, const void *x);

/* ---- diff_dates.c -------------------------------------------------------- */

#define DIFF_DAYS_MAX 64 /* later days; with more, the result is "beyond" */

/* What changes on a later day, because a permission of either side ends. 0, -ENOMEM. */
int diff_dates(struct diff *);

/* ---- diff_columns.c ------------------------------------------------------ */

struct sealed_field;

enum column_is {
	COLUMN_UNKNOWN = 0, /* to this table: every pair of policies differs */
	COLUMN_COMPARED,    /* note: by which file */
	COLUMN_NOTHING,     /* no change of it is a difference; note: why */
};
struct column {
	uint8_t kind; /* enum sealed_kind */
	uint8_t is;   /* enum column_is */
	uint16_t at;  /* offset in the row */
	const char *note;
};
/* What the diff knows about this column. */
struct column diff_column(const struct sealed_field *);
/* Reports each of these columns (sealed_fields) that the diff does not know. */
int diff_columns(struct diff *, const struct sealed_field *);

/* ---- summarize.c --------------------------------------------------------- */

/* A line of either policy. */
struct diff_line {
	int side;
	const void *row;
	say_fn *say;
	struct sealed_at at;
};

/* The cells of one domain: the lines that match in each. */
struct regions {
	struct diff_line *line;
	size_t line_n, line_cap;
	struct region_cell *cell;
	size_t cell_n, cell_cap, words;
	uint32_t *hash;
	size_t asked_n; /* members tested so far */
	bool beyond;
	const struct state_more *more; /* NULL: none */
	const void *more_x;
};

void regions_free(struct regions *);
/* Add all lines first.  Returns the line's number, or SIZE_MAX: no memory. */
size_t regions_line(
    struct regions *, int side, const void *row, say_fn *, struct sealed_at);
/*
 * Then add cells: held has one flag for each line.  The first member of a cell
 * is its example.  0 or -ENOMEM.
 */
int regions_cell(struct regions *, const bool *held, struct state from, struct state to,
    const char *witness);
/*
 * How to test one member: returns a side's answer, sets `held` to the lines
 * that match, and returns the member's text (malloc'd; NULL: no memory). x
 * belongs to the domain.
 */
struct regions_how {
	struct state (*side)(void *x, int side, const void *member);
	char *(*text)(const void *x, const void *member);
};
/*
 * Tests both sides and adds the member to its cell.  Past DIFF_POINTS_MAX
 * members it only sets `beyond`.
 */
int regions_member(struct regions *, const bool *held, const struct regions_how *,
    void *x, const void *member);
/* Adds the changes to the diff, as sets of lines. */
int regions_tell(struct regions *, struct diff *, const char *domain);

/* ---- diff_limits.c ------------------------------------------------------- */

struct limits_diff;
struct policy_gate_ask;
/* The limits of both sides: 0, -ENOMEM, -E2BIG. */
int limits_new(const struct diff *, struct limits_diff **ret);
void limits_free(struct limits_diff *);
/* Notes which limits of this side a call has; then, if both sides let it pass, counts
 * it. */
void limits_held(struct limits_diff *, const struct policy *, int side,
    const struct policy_gate_ask *);
void limits_member(struct limits_diff *);
/* After all calls: adds the changes to the diff. 0 or -ENOMEM. */
int limits_tell(struct limits_diff *, struct diff *);

/* ---- diff_arguments.c ---------------------------------------------------- */

struct conds_of {
	const struct policy *p;
	struct sealed_range conds;
};
/*
 * JSON objects that cover every possible combination of comparison results.  0,
 * -E2BIG, -ENOMEM.
 */
int diff_values(const struct conds_of *, size_t n, struct points *ret);

#endif
