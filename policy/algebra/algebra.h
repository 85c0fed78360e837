/*
 * Sets of the policy language, decided exactly; each answer has an example.
 *
 * Every set here is regular (globs, argument patterns) or a finite union of
 * prefixes and intervals (paths, hosts, addresses, ports). A family of such
 * sets divides its domain into finitely many *cells*: two members of one cell
 * are in the same sets, so one member of each cell is enough to answer for all.
 * Intersection, difference, subset, equality and emptiness are read off the
 * cells.  A verb asks the matcher about each cell.
 *
 *	sets.c		names and argument lists: an automaton, searched breadth first
 *	intervals.c	paths, hosts, addresses, ports: one point of each cell
 *	decimals.c	decimals: one number of each cell
 */
#ifndef KENNEL_POLICY_ALGEBRA_ALGEBRA_H
#define KENNEL_POLICY_ALGEBRA_ALGEBRA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- sets.c --------------------------------------------------------------- */

/*
 * Above either limit there is no answer: -E2BIG. The caller reports it and
 * assumes the worse case.
 */
#define SETS_STATES_MAX 200000
#define SETS_BYTES_MAX  ((size_t)32 << 20)

enum sets_domain {
	SETS_NAME, /* one nonempty text; patterns of exactly one word */
	SETS_TEXT, /* one text, may be empty */
	SETS_ARGV, /* any number of texts; no text contains a NUL */
};

enum sets_kind { /* corresponds to enum sealed_arg_kind */
	SETS_LITERAL = 1,
	SETS_ANY,     /* exactly one text */
	SETS_REST,    /* any number of texts; only last */
	SETS_GLOB,    /* '*' matches any run of bytes */
	SETS_CHOICE,  /* alternatives separated by '|' */
	SETS_SLOT,    /* parsed by policy/sealed/arg_slot.h */
	SETS_OPTIONS, /* likewise: any number of texts */
};

struct sets_word {
	const char *text;
	size_t len;
	enum sets_kind kind;
};

struct sets;
struct sets *sets_new(enum sets_domain); /* NULL: no memory */
void sets_free(struct sets *);
/* Adds a pattern; equal ones get one number.  0, -EINVAL, -ENOMEM. */
int sets_add(struct sets *, const struct sets_word *, size_t n, uint32_t *ret);

/*
 * One cell: the patterns that its members match, ascending, and the shortest
 * member.  A callback result other than 0 ends the search, and sets_cells
 * returns it.
 */
struct sets_cell {
	const uint32_t *in;
	size_t in_n;
	const char *const *text;
	const size_t *text_len;
	size_t text_n;
};
typedef int sets_fn(void *arg, const struct sets_cell *);
/* Calls fn once for every nonempty cell.  0, -E2BIG, -ENOMEM. */
int sets_cells(const struct sets *, sets_fn *, void *arg);
bool sets_in(const struct sets_cell *, uint32_t pattern);

/* ---- intervals.c --------------------------------------------------------- */

/* A list of distinct texts; freed by points_free. */
struct points {
	char **v;
	size_t n;
	size_t cap;
	bool failed; /* out of memory: the list is incomplete */
};

void points_add(struct points *, const char *, size_t len);
/* Appends without checking for a duplicate. */
void points_push(struct points *, const char *, size_t len);
void points_free(struct points *);
/*
 * From the paths in a policy: each of them, one below each, and one below none
 * of them.  0 or -ENOMEM.
 */
int points_paths(const struct points *mentioned, struct points *ret);
/* The same for host names, where `below` is a subdomain. */
int points_hosts(const struct points *mentioned, struct points *ret);

struct points_range { /* addresses from first to last, inclusive */
	uint8_t first[16], last[16];
};
/* One address of each cell, as text; mapped addresses as IPv4. */
int points_addresses(const struct points_range *, size_t n, struct points *ret);

/* The cells of 1..65535 that port ranges form: the first port of each. */
int points_ports(const uint32_t (*range)[2], size_t n, uint32_t **ret, size_t *ret_n);

/* ---- decimals.c ---------------------------------------------------------- */

#define NUMBERS_DIGITS_MAX 1024 /* of one number, written without exponent */

/*
 * From JSON numbers: each of them, one between each pair of neighbours, one
 * below and one above all.  0; -E2BIG for a number with too many digits;
 * -ENOMEM.
 */
int numbers_cells(const struct points *mentioned, struct points *ret);

#endif
