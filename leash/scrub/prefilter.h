/*
 * One pass over a text that tells its few interesting pieces from the rest.
 *
 * A text is looked at in chunks of 256 bytes.  Of each, one load of its bytes
 * answers three questions:
 *
 *	which escapes and separators are there?	-> flags, for all of the text
 *	may a credential of a known kind begin?	-> the hooks
 *	may a part of a pattern stand there?	-> the runs
 *
 * The pass stops where the second or third may be; what stands there is then
 * compared byte by byte (filter.c, shapes.c).  So it may stop too often and
 * must never go on too far:
 *
 * Runs.  A pattern of m bytes or more has wholly in it each run of q bytes that
 * begins at one of m-q+1 places, one behind the other.  Of each chunk run_n runs
 * are looked up, step apart from its first byte on, with step <= m-q+1 and
 * run_n*step >= 256: between two places, also over the end of a chunk, there
 * are at most m-q+1 bytes.  So of each pattern in the text one run is looked up
 * that begins at most step-1 bytes behind the pattern's own beginning, and of
 * just these all are in the bit map.
 *
 *	text	..........|qqqqqqqq|.................|qqqqqqqq|........
 *	pattern	      pppppqqqqqqqqpppppp    (m = 19, q = 8, step 12)
 *
 * Hooks.  The beginning of each kind has one of the hooks in it (shapes_hooks()
 * ends the program where not): three bytes, each of which has its group's bit in
 * the table of its place.  All places are looked at.
 *
 * Hex with separators.  Its digits and what stands between them fill whole lanes
 * of eight bytes, and how many digits stand together is up to who writes them.  D
 * digits with a separator have D+1 bytes or more, that is (D-6)/8 whole lanes, one
 * behind the other, wherever they begin.  Long hex without one is looked at in vain.
 *
 * The walkers answer alike, except that a wider one may see a hook more.
 */
#ifndef KENNEL_LEASH_SCRUB_SIEVE_H
#define KENNEL_LEASH_SCRUB_SIEVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "leash/scrub/scrub.h"

#define SIEVE_CHUNK  256 /* bytes that are looked at together */
#define SIEVE_BEYOND 32  /* and those behind them that may be looked at with them */
#define SIEVE_LANE   8   /* bytes that are hex and its separators, or are not */
#define SIEVE_HOOK   3   /* bytes of a hook */
#define SIEVE_WORDS  (SIEVE_CHUNK / 64)
#define SIEVE_UNROLL 4 /* so many runs are looked up at once */
#define SIEVE_LONG   8 /* bytes of a run: so many, */
#define SIEVE_SHORT  4 /* or so many for short patterns */

#define STEP_USUAL 32 /* of patterns of 39 bytes or more: eight in a chunk */

/* How the runs of a text are looked up. */
enum sieve_runs { RUNS_USUAL, RUNS_LONG, RUNS_SHORT, RUNS_KINDS };

/* What stands in a text: which decoders could say something about it. */
enum triage {
	TRIAGE_BACKSLASH = 1,
	TRIAGE_PERCENT = 2,
	TRIAGE_AMPERSAND = 4,
	TRIAGE_EQUALS = 8,
	TRIAGE_LINE = 16,  /* a newline or a carriage return */
	TRIAGE_PAIRS = 32, /* digits of hex with something between them */
};
#define TRIAGE_SIGNS 0x1f /* those of single bytes */

/* Beside them in the class of a byte. */
#define CLASS_OTHER 0x20 /* does not stand in hex with separators */

/* One pass over one text; all zero before. */
struct sieve {
	unsigned int flags; /* enum triage, of what was passed */
	uint32_t lanes;     /* full ones right before the next chunk */
	/* Of the chunk it stopped at: may a run be in the map?  And bit i % 64 of word i / 64 says that a hook
	 * may stand at byte i. */
	bool run;
	uint64_t hook[SIEVE_WORDS];
};

struct net;
/*
 * Goes over text[at..end), whole chunks, behind which SIEVE_BEYOND bytes may be
 * read.  Where it stopped: at a chunk in which something may stand, or at end.
 */
typedef size_t sieve_walker(
    const struct net *, const uint8_t *text, size_t at, size_t end, struct sieve *);

enum sieve_kind { SIEVE_PLAIN, SIEVE_AVX2, SIEVE_AVX512, SIEVE_KINDS };

/* A class is the bytes whose lower half and whose upper half both have its bit. */
struct halves {
	uint8_t low[16], high[16];
};

/* What is looked for, as the walkers need it. */
struct net {
	sieve_walker *walk;
	uint8_t class[128];            /* enum triage, CLASS_ */
	uint8_t hook[SIEVE_HOOK][128]; /* groups that have this byte there */
	struct halves signs, paired;   /* class, by the halves of a byte */
	struct halves hooks[SIEVE_HOOK];
	uint8_t hook_at[SCRUB_SHAPES_MAX]; /* of a shape: where in its beginning */
	uint64_t *bit;                     /* runs that patterns have, by hash */
	unsigned int word_shift;
	enum sieve_runs runs;
	size_t q;           /* bytes of a run */
	size_t step, run_n; /* of a chunk; none while nothing is looked for */
	uint32_t lanes_min; /* so many full lanes are TRIAGE_PAIRS */
};

/* The tables that do not depend on patterns. */
void net_init(struct net *);
/* How far apart runs may be for patterns of len_min bytes or more. */
void net_plan(struct net *, size_t len_min, size_t hex_min);
/* Goes this way from now on instead of the quickest; false where the processor
 * cannot. */
bool net_walks(struct net *, enum sieve_kind);
/* The next chunk of text[n] from at on, a multiple of SIEVE_CHUNK, in which
 * something may stand; n or more if none. */
size_t sieve_next(
    const struct net *, const uint8_t *text, size_t n, size_t at, struct sieve *);
/* The next newline, carriage return or backslash from at on; n if none. */
size_t sieve_line(const uint8_t *text, size_t n, size_t at);

/* ---- sieve_wide.c ---- */

sieve_walker *sieve_wide(enum sieve_kind, enum sieve_runs);
/* As sieve_line() says, or before that: the bytes up to there are none. */
size_t sieve_wide_line(const uint8_t *text, size_t n, size_t at);

/* ---- what each walker has in its loop, where a call would cost registers ---- */

/* Counts on through a chunk, of which bit i of full says it of lane i: the full
 * ones one behind the other at its end; TRIAGE_PAIRS if they were enough. */
static inline __attribute__((always_inline)) uint32_t
sieve_lanes(const struct net *net, uint32_t full, uint32_t lanes, unsigned int *flags)
{
	for (int i = 0; i < SIEVE_CHUNK / SIEVE_LANE; i++, full >>= 1) {
		lanes = (full & 1) != 0 ? lanes + 1 : 0;
		if (lanes >= net->lanes_min)
			*flags |= TRIAGE_PAIRS;
	}
	return lanes;
}

#define SIEVE_FOLD 0x2020202020202020u /* letters of both cases at once */

/* The product of a run with an odd number: its lower half says which word of the
 * map, and by its lowest bits, of the first byte alone, which bit in that; the upper
 * half says two more.  Shifts are what the loop is short of. */
struct hash {
	uint64_t low, high;
};

static inline struct hash
sieve_hash(const uint8_t *at, size_t q)
{
	unsigned __int128 product;
	uint64_t eight = 0;
	uint32_t four;

	if (q == SIEVE_LONG) {
		memcpy(&eight, at, sizeof(eight));
	} else {
		memcpy(&four, at, sizeof(four));
		eight = four;
	}
	product = (unsigned __int128)(eight | SIEVE_FOLD) * 0x9e3779b97f4a7c15u;
	return (struct hash){(uint64_t)product, (uint64_t)(product >> 64)};
}

/* The three bits of a run in its word. */
static inline uint64_t
sieve_bits(struct hash h)
{
	return 1ull << (h.low & 63) | 1ull << (h.high & 63) | 1ull << (h.high >> 8 & 63);
}

/* Lowest, with others above it: are two of them in the map? */
static inline uint64_t
sieve_has(const uint64_t *bit, unsigned int shift, struct hash h)
{
	uint64_t word = bit[h.low >> shift];

	return word >> (h.low & 63) & word >> (h.high & 63);
}

/* One run behind the other, or the compiler holds more of them in registers than
 * there are. */
#define SIEVE_ORDER(any) __asm__ volatile("" : "+r"(any) : : "memory")

/* Four runs, step apart. */
static inline __attribute__((always_inline)) uint64_t
sieve_four(
    const uint64_t *bit, unsigned int shift, const uint8_t *at, size_t q, size_t step)
{
	uint64_t any = sieve_has(bit, shift, sieve_hash(at, q));

	SIEVE_ORDER(any);
	any |= sieve_has(bit, shift, sieve_hash(at + step, q));
	SIEVE_ORDER(any);
	any |= sieve_has(bit, shift, sieve_hash(at + 2 * step, q));
	SIEVE_ORDER(any);
	any |= sieve_has(bit, shift, sieve_hash(at + 3 * step, q));
	SIEVE_ORDER(any);
	return any;
}

/* May one of the chunk's runs be in the map?  kind is a constant. */
static inline __attribute__((always_inline)) bool
sieve_runs(const struct net *net, const uint8_t *at, enum sieve_runs kind)
{
	const uint64_t *bit = net->bit;
	const unsigned int shift = net->word_shift;
	const size_t step = net->step, q = kind == RUNS_SHORT ? SIEVE_SHORT : SIEVE_LONG;
	uint64_t any = 0;

	if (kind == RUNS_USUAL) {
		any = sieve_four(bit, shift, at, q, STEP_USUAL) |
		      sieve_four(bit, shift, at + 4 * STEP_USUAL, q, STEP_USUAL);
		return any & 1;
	}
	for (size_t left = net->run_n; left > 0; left -= SIEVE_UNROLL) {
		any |= sieve_four(bit, shift, at, q, step);
		at += 4 * step;
	}
	return any & 1;
}

#endif
