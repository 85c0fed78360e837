/*
 * Sets of the policy language, decided exactly, each answer with a witness.
 *
 * Every set here is regular (globs, argument patterns) or a finite union of
 * prefixes and intervals (paths, hosts, addresses, ports).  A family of such
 * sets cuts its domain into finitely many *cells*: two members of one cell are
 * in the same sets, so a question about all members is a question about one of
 * each cell.  Intersection, difference, subset, equality and emptiness are read
 * from the cells; what a verb says about a cell it asks the one matcher.
 *
 *	sets.c		names and argument lists: an automaton, walked breadth first
 *	points.c	paths, hosts, addresses, ports: one point of each cell
 *	numbers.c	decimals: one number of each cell
 */
#ifndef KENNEL_POLICY_ALGEBRA_H
#define KENNEL_POLICY_ALGEBRA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- sets.c --------------------------------------------------------------- */

/* Above either, a question has no answer: -E2BIG.  Whoever asks says so, and
 * takes the worse case. */
#define SETS_STATES_MAX 200000
#define SETS_BYTES_MAX  ((size_t)32 << 20)

enum sets_domain {
	SETS_NAME, /* one text, not empty; patterns of exactly one word */
	SETS_TEXT, /* the same, may be empty */
	SETS_ARGV, /* any number of texts; no text holds a NUL */
};

enum sets_kind { /* as enum sealed_arg_kind */
	SETS_LITERAL = 1,
	SETS_ANY,     /* exactly one text */
	SETS_REST,    /* any texts; only last */
	SETS_GLOB,    /* '*' is any run of bytes */
	SETS_CHOICE,  /* texts with '|' between them */
	SETS_SLOT,    /* as policy/sealed/arg_slot.h reads it */
	SETS_OPTIONS, /* the same: any number of texts */
};

struct sets_word {
	const char *text;
	size_t len;
	enum sets_kind kind;
};

struct sets;
struct sets *sets_new(enum sets_domain); /* NULL: no memory */
void sets_free(struct sets *);
/* One pattern more; equal ones have one number.  0, -EINVAL, -ENOMEM. */
int sets_add(struct sets *, const struct sets_word *, size_t n, uint32_t *ret);

/* One cell: the patterns that its members match, ascending, and the shortest
 * member.  Not 0 ends the walk and is what sets_cells returns. */
struct sets_cell {
	const uint32_t *in;
	size_t in_n;
	const char *const *text;
	const size_t *text_len;
	size_t text_n;
};
typedef int sets_fn(void *arg, const struct sets_cell *);
/* Every cell that has a member, once.  0, -E2BIG, -ENOMEM. */
int sets_cells(const struct sets *, sets_fn *, void *arg);
bool sets_in(const struct sets_cell *, uint32_t pattern);

/* ---- points.c ------------------------------------------------------------- */

/* A list of texts without a second one of the same; free()d by points_free. */
struct points {
	char **v;
	size_t n;
	size_t cap;
	bool failed; /* no memory: what is there is not all */
};

void points_add(struct points *, const char *, size_t len);
/* The same without looking for another of the same. */
void points_push(struct points *, const char *, size_t len);
void points_free(struct points *);
/* From the paths that a policy mentions: each, one below each, and one that is
 * below none.  0 or -ENOMEM. */
int points_paths(const struct points *mentioned, struct points *ret);
/* The same for names of hosts: below is to the left. */
int points_hosts(const struct points *mentioned, struct points *ret);

struct points_range { /* addresses from first to last, both in it */
	uint8_t first[16], last[16];
};
/* One address of each cell, as text; IPv4 where it is mapped. */
int points_addresses(const struct points_range *, size_t n, struct points *ret);

/* The cells of 1..65535 that ranges of ports make: the first port of each. */
int points_ports(const uint32_t (*range)[2], size_t n, uint32_t **ret, size_t *ret_n);

/* ---- numbers.c ------------------------------------------------------------ */

#define NUMBERS_DIGITS_MAX 1024 /* of one number, written without an exponent */

/* JSON numbers: each, one between each two neighbours, one below and one above
 * all.  0, -E2BIG for a number that has too many digits, -ENOMEM. */
int numbers_cells(const struct points *mentioned, struct points *ret);

#endif
