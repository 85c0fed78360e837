/*
 * The prefilter: one pass over a text that finds the few chunks worth a closer
 * look.
 *
 * The pass reads the text in chunks of 256 bytes.  It loads each chunk once and
 * answers three questions:
 *
 *	Which escapes and separators does it contain?	-> flags, for the whole text
 *	May a credential of a known kind begin here?	-> the hooks
 *	May it contain part of a pattern?		-> the runs
 *
 * The pass stops at a chunk when the second or third answer is yes.  That chunk is
 * then compared byte by byte (pattern_match.c, credentials.c).  The pass may stop
 * too often, but it must never skip a match:
 *
 * Runs (q-grams).  A pattern of m bytes or more fully contains every run of q bytes
 * that begins at one of its first m-q+1 offsets.  The pass looks up run_n runs of
 * each chunk: the first at the start of the chunk, the others step bytes apart,
 * with step <= m-q+1 and run_n*step >= 256.  Consecutive lookups, also across a
 * chunk boundary, are at most m-q+1 bytes apart.  So for each pattern in the text
 * the pass looks up one run that begins at most step-1 bytes into the pattern.  The
 * bit map contains exactly those runs.
 *
 *	text	..........|qqqqqqqq|.................|qqqqqqqq|........
 *	pattern	      pppppqqqqqqqqpppppp    (m = 19, q = 8, step 12)
 *
 * Hooks (trigrams).  The prefix of each kind of credential contains one hook
 * (credentials_hooks() aborts otherwise): three bytes, each with the bit of its group in
 * the table of its position.  The pass checks every offset.
 *
 * Hex with separators.  The digits and their separators fill whole lanes of eight
 * bytes; the writer chooses how many digits are in a group.  D digits with a
 * separator take D+1 bytes or more, which is (D-6)/8 consecutive whole lanes, at
 * any alignment.  Long hex without separators also sets the flag, and the decoder
 * then finds nothing.
 *
 * All walkers (implementations of the pass) give the same answer, except that a
 * wider one may report additional hooks.
 */
#ifndef KENNEL_LEASH_SCRUB_PREFILTER_H
#define KENNEL_LEASH_SCRUB_PREFILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "leash/scrub/scrub.h"

#define SIEVE_CHUNK  256 /* bytes examined together */
#define SIEVE_BEYOND 32  /* readable bytes that a walker needs after them */
#define SIEVE_LANE   8   /* bytes; a lane is all hex and separators, or not */
#define SIEVE_HOOK   3   /* bytes of a hook */
#define SIEVE_WORDS  (SIEVE_CHUNK / 64)
#define SIEVE_UNROLL 4 /* runs looked up per iteration */
#define SIEVE_LONG   8 /* bytes of a run */
#define SIEVE_SHORT  4 /* the same, for short patterns */

#define STEP_USUAL 32 /* for patterns of 39 bytes or more: eight per chunk */

/* Spacing and length of the runs. */
enum sieve_runs { RUNS_USUAL, RUNS_LONG, RUNS_SHORT, RUNS_KINDS };

/* What a text contains, which selects the decoders to run. */
enum triage {
	TRIAGE_BACKSLASH = 1,
	TRIAGE_PERCENT = 2,
	TRIAGE_AMPERSAND = 4,
	TRIAGE_EQUALS = 8,
	TRIAGE_LINE = 16,  /* a newline or a carriage return */
	TRIAGE_PAIRS = 32, /* hex digits with separators */
};
#define TRIAGE_SIGNS 0x1f /* the flags of single bytes */

/* A further bit in the class of a byte. */
#define CLASS_OTHER 0x20 /* not part of hex with separators */

/* State of one pass over one text.  The caller sets it to zero first. */
struct sieve {
	unsigned int flags; /* enum triage, for the bytes passed so far */
	uint32_t lanes;     /* consecutive full lanes just before the next chunk */
	/* For the chunk at which the pass stopped: may a run be in the map?  Bit i %
	 * 64 of word i / 64 is set if a hook may be at byte i. */
	bool run;
	uint64_t hook[SIEVE_WORDS];
};

struct net;
/*
 * Scans text[at..end), whole chunks, after which SIEVE_BEYOND bytes must be
 * readable.  Returns the offset where it stopped: a chunk that may contain a match,
 * or end.
 */
typedef size_t sieve_walker(
    const struct net *, const uint8_t *text, size_t at, size_t end, struct sieve *);

enum sieve_kind { SIEVE_PLAIN, SIEVE_AVX2, SIEVE_AVX512, SIEVE_KINDS };

/* A class is the set of bytes whose low and high nibbles both have its bit. */
struct halves {
	uint8_t low[16], high[16];
};

/* The tables that the walkers use. */
struct net {
	sieve_walker *walk;
	uint8_t class[128];            /* enum triage, CLASS_ */
	uint8_t hook[SIEVE_HOOK][128]; /* groups with this byte at this position */
	struct halves signs, paired;   /* class, by the nibbles of a byte */
	struct halves hooks[SIEVE_HOOK];
	uint8_t
	    hook_at[SCRUB_CREDENTIALS_MAX]; /* hook's offset in the prefix of a format */
	uint64_t *bit;                      /* hashes of the runs of all patterns */
	unsigned int word_shift;
	enum sieve_runs runs;
	size_t q;           /* bytes of a run */
	size_t step, run_n; /* per chunk; 0 while there are no patterns */
	uint32_t lanes_min; /* this many full lanes set TRIAGE_PAIRS */
};

/* Builds the tables that do not depend on patterns. */
void net_init(struct net *);
/* Chooses the distance between runs for patterns of len_min bytes or more. */
void net_plan(struct net *, size_t len_min, size_t hex_min);
/* Selects this walker instead of the fastest one; false if the processor lacks it. */
bool net_walks(struct net *, enum sieve_kind);
/* The next chunk of text[n], from offset at on (a multiple of SIEVE_CHUNK), that may
 * contain a match; n or more if none. */
size_t sieve_next(
    const struct net *, const uint8_t *text, size_t n, size_t at, struct sieve *);
/* The next newline, carriage return or backslash from at on; n if none. */
size_t sieve_line(const uint8_t *text, size_t n, size_t at);

/* ---- prefilter_simd.c ---------------------------------------------------- */

sieve_walker *sieve_wide(enum sieve_kind, enum sieve_runs);
/* As sieve_line(), but may return a smaller offset: no such byte precedes it. */
size_t sieve_wide_line(const uint8_t *text, size_t n, size_t at);

/* ---- in the loop of each walker; inline, as a call would cost registers ----- */

/* Updates the count of consecutive full lanes over one chunk; bit i of full is lane i.
 * Returns the count at the end of the chunk.  Sets TRIAGE_PAIRS at lanes_min lanes. */
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

#define SIEVE_FOLD 0x2020202020202020u /* folds the case of letters */

/* A run multiplied by an odd number.  The high bits of the lower half select one word in
 * the map; its lowest bits, which depend on the first byte only, select one bit in it.
 * The upper half selects two more bits.  This keeps shifts, the bottleneck of the
 * loop, to a minimum. */
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

/* The lowest bit of the result says whether two of the three bits are in the map;
 * ignore the bits above it. */
static inline uint64_t
sieve_has(const uint64_t *bit, unsigned int shift, struct hash h)
{
	uint64_t word = bit[h.low >> shift];

	return word >> (h.low & 63) & word >> (h.high & 63);
}

/* Forces one run after the other.  Otherwise the compiler needs more registers than
 * the processor has. */
#define SIEVE_ORDER(any) __asm__ volatile("" : "+r"(any) : : "memory")

/* Four runs, step bytes apart. */
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

/* May one of the chunk's runs be in the map?  kind is a compile-time constant. */
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
