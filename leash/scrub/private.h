/*
 * Between the files of this room: the patterns, how they are found, and the
 * readings of a text.
 *
 *	forms.c		a value -> patterns (itself, its lines)
 *	filter.c	patterns + bytes -> where they stand
 *	reading.c	bytes -> the same with JSON escapes decoded, and the way back
 *	scrub.c		a stream: three readings, one mask, what is held back
 */
#ifndef KENNEL_LEASH_SCRUB_PRIVATE_H
#define KENNEL_LEASH_SCRUB_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "leash/scrub/scrub.h"

#define SCRUB_LINE_MIN     8    /* a shorter line of a value is no pattern */
#define SCRUB_PATTERNS_MAX 8192 /* a value of 64 KiB has at most 7281 such lines */
#define SCRUB_VALUES_MAX   1024
#define SCRUB_HITS_MAX     (1u << 20) /* in one block; above it: fail */

struct value {
	uint32_t number;
	uint64_t count;
	uint64_t run; /* the last mask it was counted for */
};

/* One exact string.  Its bytes stay in the vault. */
struct pattern {
	const uint8_t *data;
	size_t len;
	uint32_t value; /* index */
	/* z[k]: how far data[k..] agrees with data[0..].  With it no byte of
	 * the text is compared twice, however the pattern repeats itself. */
	uint32_t *z;
	/* The last comparison: text[start..start+lcp) agreed. */
	uint64_t scan;
	size_t start, lcp;
	int32_t next; /* with the same first byte, or -1 */
};

/* A run of q bytes of a pattern, found by its hash. */
struct gram {
	uint64_t bytes;
	uint32_t pattern;
	uint32_t offset; /* in the pattern */
	int32_t next;
};

#define FILTER_BITS  18 /* 32 KiB: stays in the first cache */
#define FILTER_CHAIN 14

struct filter {
	uint64_t bit[(1u << FILTER_BITS) / 64];
	int32_t chain[1u << FILTER_CHAIN];
	int32_t first[256]; /* patterns by first byte */
	struct gram *gram;
	size_t gram_n;
	size_t q, stride; /* every stride-th run of q bytes is looked up */
	size_t len_max;
	uint64_t scan; /* number of the running scan */
};

struct scrub {
	struct pattern *pattern; /* [SCRUB_PATTERNS_MAX] as needed */
	size_t pattern_n, pattern_cap;
	struct value *value;
	size_t value_n;
	struct filter filter;
	bool built;   /* nothing is learned any more */
	uint64_t run; /* masks made so far */
};

/* ---- filter.c ---- */

struct hit {
	size_t from, to;
	uint32_t value;
};
struct hits {
	struct hit *hit;
	size_t n, cap;
};

int filter_build(struct scrub *);
/* Every place of every pattern in text[n], appended.  0, -ENOMEM. */
int filter_find(struct scrub *, const uint8_t *text, size_t n, struct hits *);
/* The first place from which text[n] may still become a pattern; n if none. */
size_t filter_tail(struct scrub *, const uint8_t *text, size_t n);

/* ---- reading.c ---- */

/* An escape: src_len bytes of the source became len bytes here. */
struct escape {
	size_t at, src;
	uint8_t len, src_len;
};
struct reading {
	uint8_t *data;
	size_t len, cap;
	struct escape *escape;
	size_t escape_n, escape_cap;
	size_t open; /* source offset of an unfinished escape, or its length */
};

void reading_free(struct reading *);
/*
 * src[n] with JSON string escapes decoded; what is no escape stands for
 * itself.  last: an unfinished escape at the end stands for itself too.
 */
int reading_make(struct reading *, const uint8_t *src, size_t n, bool last);
/* Where [from, to) of the reading stands in its source, whole escapes. */
void reading_source(const struct reading *, size_t *from, size_t *to);
/* The start of the escape that source offset at lies in, or at itself. */
size_t reading_boundary(const struct reading *, size_t at);
/* Where source offset at, a boundary, stands in the reading. */
size_t reading_offset(const struct reading *, size_t at);

#endif
