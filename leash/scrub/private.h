/*
 * Shared by the files of this room: the patterns, the search, and the decodings of
 * a text.
 *
 *	structured.c		a value -> strings: itself, its lines, its secret fields
 *	encodings.c		a string -> patterns: itself, its encodings
 *	prefilter.c		bytes -> the chunks that may contain a match, and flags
 *				that select the decoders, in one pass
 *	prefilter_simd.c	the same with vector instructions
 *	pattern_match.c		a chunk -> the patterns in it
 *	decode.c		one escape or separator: how each spelling is decoded
 *	html_entities.c		the same for HTML character references
 *	decoded.c		bytes -> decoded bytes, and the mapping back
 *	credentials.c		a chunk -> credentials of a known format in it
 *	pem.c			the same for private keys in PEM
 *	scan_block.c		a block in all decodings: its matches, and the offset up
 *				to which later bytes cannot change them
 *	stream.c		a stream: redacts matches, holds back undecided bytes
 */
#ifndef KENNEL_LEASH_SCRUB_PRIVATE_H
#define KENNEL_LEASH_SCRUB_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "leash/scrub/scrub.h"
#include "leash/scrub/prefilter.h"

#define SCRUB_LINE_MIN     8  /* bytes; a shorter line of a value is no pattern */
#define SCRUB_FORM_MIN     8  /* bytes; a shorter encoding would match words */
#define SCRUB_STRINGS_MAX  64 /* per value: itself, its lines, its fields */
#define SCRUB_PATTERNS_MAX (1u << 18)
#define SCRUB_VALUES_MAX   1024
#define SCRUB_HITS_MAX     (1u << 20) /* per block; more is a failure */

static inline size_t
size_min(size_t a, size_t b)
{
	return a < b ? a : b;
}

struct value {
	struct vault *decoded; /* pages for strings that needed decoding */
	uint32_t number;
	uint64_t count;
	uint64_t run; /* number of the last redaction counted for it */
};

/* A string to find in all encodings: bytes of a value, or of its decoded pages. */
struct string {
	const uint8_t *data;
	size_t len;
	uint32_t value; /* index */
};

/* Decoders that join fragments create false matches, and run only on long inputs.  So
 * each pattern lists the decodings it may match in. */
enum fits {
	FIT_ALL = 1,
	FIT_BROKEN = 2, /* base64 characters only */
	FIT_PAIRS = 4,  /* hex of eight bytes or more */
};

/* One exact string.  Its bytes stay in locked pages. */
struct pattern {
	const uint8_t *data;
	uint32_t len;
	uint32_t value; /* index */
	bool fold;      /* ignores case; data is in lower case */
	uint8_t fits;   /* enum fits: the decodings it may match in */
	int32_t next;   /* pattern with the same first byte, or -1 */
	/* Z array: z[k] is the length of the common prefix of data[k..] and data[0..].
	 * With it no byte of the text is compared twice, even if the pattern repeats
	 * itself. */
	uint32_t *z; /* z[0] == 0: not made yet */
	/* The last comparison: text[start..start+lcp) matched. */
	uint64_t scan;
	size_t start, lcp;
};

/* A run (q-gram) of a pattern, found by its hash.  Each pattern has 1 << gram_shift rows,
 * one for each offset of a run that may be looked up. */
struct gram {
	uint32_t tag;  /* bits of the hash; the bytes themselves are not copied */
	uint32_t next; /* row + 1; 0: none */
};

#define PREFIX_BITS 13 /* for the hash of each pattern's first four bytes */

struct filter {
	struct net net;
	unsigned int chain_shift;
	uint32_t *chain;    /* row of the first gram + 1; 0: none */
	int32_t first[256]; /* patterns by first byte, case folded */
	uint64_t prefix[(1u << PREFIX_BITS) / 64];
	struct gram *gram;
	unsigned int gram_shift;
	size_t len_min, len_max;
	size_t hex_min, broken_min; /* of the patterns that fit there */
	uint64_t scan;              /* number of the current scan */
	bool byte[256];             /* occurs in a pattern or credential */
	bool high;                  /* a byte of 0x80 or above occurs */
	bool bare;                  /* a pattern may occur in JSON outside of a string */
};

struct scrub {
	struct pattern *pattern;
	size_t pattern_n, pattern_cap;
	struct value *value;
	size_t value_n;
	struct string *string;
	size_t string_n;
	struct vault *encodings; /* pages that contain the encodings */
	uint32_t *z;             /* of all patterns */
	struct filter filter;
	uint64_t credential_count[SCRUB_CREDENTIALS_MAX];
	bool built;   /* patterns are complete; no more values */
	uint64_t run; /* redactions so far */
};

/* ---- encodings.c --------------------------------------------------------- */

/* Builds the patterns of all strings. */
int encodings_build(struct scrub *);

/* ---- stream.c ------------------------------------------------------------ */

/* Can this byte be part of a JSON number? */
bool scrub_is_number(uint8_t);

/* ---- structured.c -------------------------------------------------------- */

/* Extracts the strings of a value.  0, -ENOMEM, -E2BIG: more than SCRUB_STRINGS_MAX. */
int structured_learn(struct scrub *, uint32_t value, const uint8_t *data, size_t len);
/* Removes outer white space and a byte order mark; true if there were any. */
bool structured_trim(const uint8_t **data, size_t *len);

/* ---- pattern_match.c ----------------------------------------------------- */

#define HIT_CREDENTIAL 0x80000000u /* set if value is the number of a credential format */

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
/* Begins a new text. */
void filter_start(struct scrub *);
/* Appends each match of a pattern that fits, if one of its runs is among those looked
 * up in the chunk at offset at of text[n].  0, -ENOMEM. */
int filter_find(
    struct scrub *, const uint8_t *text, size_t n, size_t at, enum fits, struct hits *);
/* The first offset from which a pattern may still become complete; n if none. */
size_t filter_tail(struct scrub *, const uint8_t *text, size_t n, enum fits);

/* ---- decode.c ---- */

enum spelling {
	SPELL_JSON,    /* \" \\ \/ \b \f \n \r \t \uXXXX, and other languages' \' \xXX */
	SPELL_PERCENT, /* %XX */
	SPELL_ENTITY,  /* &amp; &#38; &#x26; */
	SPELL_QUOTED,  /* quoted-printable: =XX, and = at a line's end */
	SPELL_BROKEN,  /* joined lines: base64 in columns */
	SPELL_PAIRS,   /* hex with separators: 73:33, 0x73, 0x33, \x73\x33 */
	SPELLINGS
};

/* UNFINISHED, OPEN: the text ends inside of it; more bytes may complete it. */
enum { UNFINISHED = -1, OPEN = -1, NONE = 0 };

/*
 * Decodes the escape at src[at], where decode_next() stopped.  Returns its length
 * in the source, with *ret_len bytes in out; or NONE; or UNFINISHED if src[n] ends
 * inside it.
 */
int decode(enum spelling, const uint8_t *src, size_t n, size_t at, uint8_t out[static 4],
    uint8_t *ret_len);
bool decode_is_base64(uint8_t);
/* The value of a hex digit; -1 for all other bytes. */
int decode_hex_digit(uint8_t);
/* A line end at src[n], raw or escaped as in JSON: its length, NONE or UNFINISHED. */
int decode_line_end(const uint8_t *src, size_t n);
/* The next offset from at on where an escape could start; n if none. */
size_t decode_next(enum spelling, const uint8_t *src, size_t n, size_t at);
/*
 * Could decoding text[n] reveal a pattern that the raw text does not contain?
 * flags: the prefilter's result.  more: other bytes may follow.  key: the text
 * contains the beginning of a private key, so any escape could.
 */
bool decode_wanted(enum spelling, const struct filter *, unsigned int flags,
    const uint8_t *text, size_t n, bool more, bool key);

/* ---- html_entities.c ----------------------------------------------------- */

/* The entity at src[n]; returns as decode() does. */
int entity(const uint8_t *src, size_t n, uint8_t out[static 4], uint8_t *ret_len);

/* ---- decoded.c ----------------------------------------------------------- */

/* An escape: src_len bytes of the source decode to len bytes here. */
struct escape {
	size_t at, src;
	uint32_t src_len;
	uint8_t len;
};
struct decoding {
	enum spelling spelling;
	const uint8_t *src;
	size_t src_n;
	uint8_t *data;
	size_t len, cap;
	struct escape *escape;
	size_t escape_n, escape_cap;
	size_t open; /* source offset of an unfinished escape, or the source's length */
};

void decoding_free(struct decoding *);
/*
 * Decodes src[n]; bytes that are not an escape are copied.  last: an unfinished
 * escape at the end is copied too.
 */
int decoding_make(
    struct decoding *, enum spelling, const uint8_t *src, size_t n, bool last);
/* Maps [from, to) of the decoded text to its source, in whole escapes. */
void decoding_source(const struct decoding *, size_t *from, size_t *to);
/* The last offset at or before source offset at where the text may be cut without
 * changing how the rest is decoded. */
size_t decoding_boundary(const struct decoding *, size_t at);
/* Maps source offset at, a boundary, to the decoded text. */
size_t decoding_offset(const struct decoding *, size_t at);

/* ---- credentials.c ------------------------------------------------------- */

#define CREDENTIAL_BEFORE 24 /* bytes before a text that decide whether one may begin */

/* State of the search for credentials in one text. */
struct credential_search {
	const uint8_t *before; /* CREDENTIAL_BEFORE bytes before it; zeros at the start */
	bool last;             /* nothing follows */
	bool key;              /* the beginning of a private key was found */
	size_t done;           /* end of the last credential found */
	size_t open;           /* the first that may become one; SIZE_MAX: none */
};

/* Fills in the hooks: three bytes of each prefix, which the prefilter looks for. */
void credentials_hooks(struct net *);
/* Appends every credential of a known format in text[n] whose hook the prefilter found
 * in the chunk at offset at, with HIT_CREDENTIAL set. */
int credentials_find(const struct net *, struct credential_search *, const uint8_t *text,
    size_t n, size_t at, const uint64_t hook[static SIEVE_WORDS], struct hits *);
/* Is text[n] exactly one credential? */
bool credentials_whole(const uint8_t *text, size_t n);
/* The first offset from which a credential may still become complete; n if none. */
size_t credentials_tail(const struct credential_search *, const uint8_t *text, size_t n);
/* Marks the bytes that credentials consist of, except the lines of a private key. */
void credentials_bytes(bool byte[static 256]);
/* "[REDACTED:kind]" */
const char *credentials_mask(uint32_t number);
/* May one contain arbitrary text? */
bool credentials_free(uint32_t number);

/* ---- pem.c ---- */

/* The private key at text[n], which begins "-----BEGIN ": its length, NONE or OPEN. */
int pem_key(const uint8_t *text, size_t n, bool last);

/* ---- scan_block.c -------------------------------------------------------- */

#define DECODINGS_MAX 32

/* A block and its decodings; RAW is the block itself. */
struct decodings {
	struct scrub *scrub;
	struct decoding decoding[DECODINGS_MAX];
	struct credential_search
	    search[DECODINGS_MAX + 1]; /* the last one is the block's */
	bool made[DECODINGS_MAX];      /* decodings that differ from the source */
	struct hits hits;              /* offsets in the block */
};

void decodings_free(struct decodings *);
/* Finds all matches in data[n] and puts them in hits.  before: as in struct credential_search.
 * last: nothing follows. */
int decodings_find(
    struct decodings *, const uint8_t *data, size_t n, const uint8_t *before, bool last);
/* The offset in the scanned block up to which later bytes cannot change the result. */
size_t decodings_certain(struct decodings *, const uint8_t *data, size_t n);

#endif
