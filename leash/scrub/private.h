/*
 * Between the files of this room: the patterns, how they are found, and the
 * readings of a text.
 *
 *	forms.c		a value -> patterns: itself, its lines, its encodings
 *	sieve.c		bytes -> the few pieces in which something may stand, and
 *			which decoders could say something: one pass over all
 *	sieve_wide.c	the same with a processor's vectors
 *	filter.c	such a piece -> which patterns stand there
 *	decode.c	one escape, one separator: how each spelling is read
 *	reading.c	bytes -> the same decoded, and the way back
 *	shapes.c	such a piece -> what looks like a credential of a known kind
 *	scrub.c		a stream: readings, masks, what is held back
 */
#ifndef KENNEL_LEASH_SCRUB_PRIVATE_H
#define KENNEL_LEASH_SCRUB_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "leash/scrub/scrub.h"
#include "leash/scrub/prefilter.h"

#define SCRUB_LINE_MIN     8          /* a shorter line of a value is no pattern */
#define SCRUB_FORM_MIN     8          /* nor is a shorter encoding: it would mask words */
#define SCRUB_PATTERNS_MAX (1u << 18) /* 7281 lines of a value of 64 KiB, 25 forms */
#define SCRUB_VALUES_MAX   1024
#define SCRUB_HITS_MAX     (1u << 20) /* in one block; above it: fail */

struct value {
	const struct secret *secret;
	uint32_t number;
	uint64_t count;
	uint64_t run; /* the last mask it was counted for */
};

/* What decoding joins could make of other things what they are not, and whether
 * it is done at all is asked of longer runs only: so not each pattern is looked
 * for everywhere. */
enum fits {
	FIT_ALL = 1,
	FIT_BROKEN = 2, /* nothing but characters of base64 */
	FIT_PAIRS = 4,  /* hex of eight bytes or more */
};

/* One exact string.  Its bytes stay in locked pages. */
struct pattern {
	const uint8_t *data;
	uint32_t len;
	uint32_t value; /* index */
	bool fold;      /* letters of either case; data has the small ones */
	uint8_t fits;   /* enum fits: which readings it can stand in */
	int32_t next;   /* with the same first byte, or -1 */
	/* z[k]: how far data[k..] agrees with data[0..].  With it no byte of
	 * the text is compared twice, however the pattern repeats itself. */
	const uint32_t *z;
	/* The last comparison: text[start..start+lcp) agreed. */
	uint64_t scan;
	size_t start, lcp;
};

/* A run of q bytes of a pattern, found by its hash. */
struct gram {
	uint32_t tag; /* of the hash: the bytes themselves are nowhere else */
	uint32_t pattern;
	uint32_t offset; /* in the pattern */
	int32_t next;
};

#define PREFIX_BITS 13 /* the first four bytes of each pattern, hashed */

struct filter {
	struct net net;
	unsigned int chain_shift;
	int32_t *chain;
	int32_t first[256]; /* patterns by first byte, folded */
	uint64_t prefix[(1u << PREFIX_BITS) / 64];
	struct gram *gram;
	size_t gram_n;
	size_t len_min, len_max;
	size_t hex_min, broken_min; /* of those that fit there */
	uint64_t scan;              /* number of the running scan */
	bool byte[256];             /* stands in some pattern */
	bool high;                  /* one of 0x80 and above does */
};

struct scrub {
	struct pattern *pattern;
	size_t pattern_n, pattern_cap;
	struct value *value;
	size_t value_n;
	struct vault *forms; /* where the encodings lie */
	uint32_t *z;         /* of all patterns */
	struct filter filter;
	uint64_t shape_count[SCRUB_SHAPES_MAX];
	bool built;   /* nothing is learned any more */
	uint64_t run; /* masks made so far */
};

/* ---- forms.c ---- */

/* All patterns of all values. */
int forms_build(struct scrub *);

/* ---- filter.c ---- */

#define HIT_SHAPE 0x80000000u /* value is a shape's number, with this bit */

struct hit {
	size_t from, to;
	uint32_t value;
};
struct hits {
	struct hit *hit;
	size_t n, cap;
};

int filter_build(struct scrub *);
void filter_free(struct filter *);
int hits_add(struct hits *, size_t from, size_t to, uint32_t value);
/* A text is looked at from here on. */
void filter_start(struct scrub *);
/* Every place of every pattern that fits in text[n] and has one of the runs that
 * are looked up in the chunk at at, appended.  0, -ENOMEM. */
int filter_find(
    struct scrub *, const uint8_t *text, size_t n, size_t at, enum fits, struct hits *);
/* The first place from which text[n] may still become one; n if none. */
size_t filter_tail(struct scrub *, const uint8_t *text, size_t n, enum fits);

/* ---- decode.c ---- */

enum spelling {
	SPELL_JSON,    /* \" \\ \/ \b \f \n \r \t \uXXXX, and \' \xXX of others */
	SPELL_PERCENT, /* %XX */
	SPELL_ENTITY,  /* &amp; &#38; &#x26; */
	SPELL_QUOTED,  /* quoted-printable: =XX, and = at a line's end */
	SPELL_BROKEN,  /* lines joined: base64 in columns */
	SPELL_PAIRS,   /* hex with separators: 73:33, 0x73, 0x33, \x73\x33 */
	SPELLINGS
};

enum { UNFINISHED = -1, NONE = 0 };

/*
 * The escape at src[at], where decode_next() stopped: its length in the source
 * and *ret_len bytes in out, or NONE, or UNFINISHED when src[n] ends in it.
 */
int decode(enum spelling, const uint8_t *src, size_t n, size_t at, uint8_t out[static 4],
    uint8_t *ret_len);
bool decode_is_base64(uint8_t);
/* The next place from at on where an escape could start; n if none. */
size_t decode_next(enum spelling, const uint8_t *src, size_t n, size_t at);
/*
 * Could decoding text[n] show a pattern that does not stand there already?
 * flags: what the sieve saw.  more: other bytes may follow.
 */
bool decode_wanted(enum spelling, const struct filter *, unsigned int flags,
    const uint8_t *text, size_t n, bool more);

/* ---- reading.c ---- */

/* An escape: src_len bytes of the source became len bytes here. */
struct escape {
	size_t at, src;
	uint32_t src_len;
	uint8_t len;
};
struct reading {
	enum spelling spelling;
	const uint8_t *src;
	size_t src_n;
	uint8_t *data;
	size_t len, cap;
	struct escape *escape;
	size_t escape_n, escape_cap;
	size_t open; /* source offset of an unfinished escape, or its length */
};

void reading_free(struct reading *);
/*
 * src[n] decoded; what is no escape stands for itself.  last: an unfinished
 * escape at the end stands for itself too.
 */
int reading_make(
    struct reading *, enum spelling, const uint8_t *src, size_t n, bool last);
/* Where [from, to) of the reading stands in its source, whole escapes. */
void reading_source(const struct reading *, size_t *from, size_t *to);
/* The last place at or before source offset at that a text may be cut at and
 * still be read alike. */
size_t reading_boundary(const struct reading *, size_t at);
/* Where source offset at, a boundary, stands in the reading. */
size_t reading_offset(const struct reading *, size_t at);

/* ---- shapes.c ---- */

/* One block that is looked at. */
struct shaping {
	const uint8_t *before; /* the two bytes before it; zeros at the start */
	bool last;             /* nothing follows */
	size_t done;           /* up to here it is a credential already */
	size_t open;           /* the first that may still become one; SIZE_MAX */
};

/* The hooks: three bytes of each beginning, by which it is found. */
void shapes_hooks(struct net *);
/* Every credential of a known shape in text[n] whose hook the sieve saw in the
 * chunk at at, appended with HIT_SHAPE. */
int shapes_find(const struct net *, struct shaping *, const uint8_t *text, size_t n,
    size_t at, const uint64_t hook[static SIEVE_WORDS], struct hits *);
/* The first place from which text[n] may still become one; n if none. */
size_t shapes_tail(const struct shaping *, const uint8_t *text, size_t n);
const char *shapes_name(uint32_t number); /* NULL after the last */
/* "[REDACTED:kind]" */
const char *shapes_mask(uint32_t number);
/* May any text stand in one? */
bool shapes_free(uint32_t number);

#endif
