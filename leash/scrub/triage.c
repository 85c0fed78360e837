/*
 * One quick look at a block: which decoders could say something about it.
 * Most blocks have no escape at all, and then only the raw text is searched.
 *
 * A byte's classes are looked up by its two halves, which vectors do for 32
 * bytes at once (AVX2).  triage_plain() says the same byte by byte; a test
 * compares them.
 */
#include <string.h>

#include "leash/scrub/private.h"

#define LANE 8 /* bytes: 23 of "73:33:..." hold two whole lanes, one by one */

/* The C library knows the processor already; asking it again would cost an exit
 * of a virtual machine for each question. */
#if defined(__x86_64__) && __has_include(<sys/platform/x86.h>)
#include <immintrin.h>
#include <sys/platform/x86.h>
#define WIDE 1
#endif

bool
triage_is_wide(void)
{
#ifdef WIDE
	return CPU_FEATURE_ACTIVE(AVX2);
#else
	return false;
#endif
}

/* A class is the bytes whose lower half and whose upper half both have its bit. */
struct halves {
	uint8_t low[16], high[16];
};

/* TRIAGE_BACKSLASH to TRIAGE_LINE: \ % & = and newline, carriage return. */
static const struct halves signs = {
    .low = {[5] = 2, [6] = 4, [0xa] = 16, [0xc] = 1, [0xd] = 8 | 16},
    .high = {[0] = 16, [2] = 2 | 4, [3] = 8, [5] = 1}};

/* What stands in hex with separators.  1: space , - .  2: :  4: x X  8: \ _
 * 16: tab and line ends.  No separators: 32: digits  64: a to f  128: n r (of
 * escaped line ends). */
#define SEPARATES 0x1f
static const struct halves paired = {.low = {[0] = 1 | 32,
					 [1] = 32 | 64,
					 [2] = 32 | 64 | 128,
					 [3] = 32 | 64,
					 [4] = 32 | 64,
					 [5] = 32 | 64,
					 [6] = 32 | 64,
					 [7] = 32,
					 [8] = 4 | 32,
					 [9] = 16 | 32,
					 [0xa] = 2 | 16,
					 [0xc] = 1 | 8,
					 [0xd] = 1 | 16,
					 [0xe] = 1 | 128,
					 [0xf] = 8},
    .high = {[0] = 16,
	[2] = 1,
	[3] = 2 | 32,
	[4] = 64,
	[5] = 4 | 8,
	[6] = 64 | 128,
	[7] = 4 | 128}};

static uint8_t
class_of(const struct halves *h, uint8_t c)
{
	return h->low[c & 15] & h->high[c >> 4];
}

static bool
lane_has_pairs(const uint8_t *at)
{
	uint8_t separates = 0, class;
	int i;

	for (i = 0; i < LANE; i++) {
		class = class_of(&paired, at[i]);
		if (class == 0)
			return false;
		separates |= class & SEPARATES;
	}
	return separates != 0;
}

/* text[n] from offset from on, which is a multiple of a lane; carry: the lane
 * before it has pairs. */
static unsigned int
plain_from(const uint8_t *text, size_t n, size_t from, bool carry)
{
	unsigned int flags = 0;
	size_t i;

	for (i = from; i < n; i++)
		flags |= class_of(&signs, text[i]);
	for (i = from; i + LANE <= n && (flags & TRIAGE_PAIRS) == 0; i += LANE) {
		bool now = lane_has_pairs(text + i);

		if (now && carry)
			flags |= TRIAGE_PAIRS;
		carry = now;
	}
	return flags;
}

unsigned int
triage_plain(const uint8_t *text, size_t n)
{
	return plain_from(text, n, 0, false);
}

#ifdef WIDE
#define TARGET __attribute__((target("avx2")))

TARGET static inline __m256i
twice(const uint8_t row[16])
{
	return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)row));
}

TARGET static inline __m256i
classes(__m256i low, __m256i high, __m256i down, __m256i up)
{
	return _mm256_and_si256(
	    _mm256_shuffle_epi8(low, down), _mm256_shuffle_epi8(high, up));
}

/* As plain_from() for the first n bytes, a multiple of 32. */
TARGET static unsigned int
wide(const uint8_t *text, size_t n, bool *ret_carry)
{
	const __m256i half = _mm256_set1_epi8(15), zero = _mm256_setzero_si256(),
		      separates = _mm256_set1_epi8(SEPARATES);
	const __m256i low[2] = {twice(signs.low), twice(paired.low)},
		      high[2] = {twice(signs.high), twice(paired.high)};
	__m256i seen = zero;
	unsigned int joined = 0, carry = 0, flags = 0, k;
	uint8_t all[32];
	size_t i;

	for (i = 0; i < n; i += 32) {
		__m256i v = _mm256_loadu_si256((const __m256i *)(text + i));
		__m256i up = _mm256_and_si256(_mm256_srli_epi16(v, 4), half);
		__m256i down = _mm256_and_si256(v, half), pair, none;
		unsigned int lanes;

		seen = _mm256_or_si256(seen, classes(low[0], high[0], down, up));
		pair = classes(low[1], high[1], down, up);
		/* lanes with a byte of no class, and without a separator */
		none = _mm256_cmpeq_epi64(_mm256_cmpeq_epi8(pair, zero), zero);
		none = _mm256_andnot_si256(
		    _mm256_cmpeq_epi64(_mm256_and_si256(pair, separates), zero), none);
		lanes = (unsigned int)_mm256_movemask_pd(_mm256_castsi256_pd(none));
		joined |= lanes & (lanes << 1 | carry);
		carry = lanes >> 3;
	}
	_mm256_storeu_si256((__m256i *)all, seen);
	for (k = 0; k < 32; k++)
		flags |= all[k];
	*ret_carry = carry != 0;
	return flags | (joined != 0 ? TRIAGE_PAIRS : 0u);
}
#endif

#ifdef WIDE
/* The first 32 bytes from at on that have a line's end or a backslash. */
TARGET static size_t
wide_line(const uint8_t *text, size_t n, size_t at)
{
	const __m256i slash = _mm256_set1_epi8('\\'), feed = _mm256_set1_epi8('\n'),
		      back = _mm256_set1_epi8('\r');

	for (; at + 32 <= n; at += 32) {
		__m256i v = _mm256_loadu_si256((const __m256i *)(text + at));
		__m256i found = _mm256_or_si256(_mm256_cmpeq_epi8(v, slash),
		    _mm256_or_si256(
			_mm256_cmpeq_epi8(v, feed), _mm256_cmpeq_epi8(v, back)));
		unsigned int where = (unsigned int)_mm256_movemask_epi8(found);

		if (where != 0)
			return at + (size_t)__builtin_ctz(where);
	}
	return at;
}
#endif

size_t
triage_line(const uint8_t *text, size_t n, size_t at)
{
#ifdef WIDE
	if (triage_is_wide())
		at = wide_line(text, n, at);
#endif
	while (at < n && text[at] != '\n' && text[at] != '\r' && text[at] != '\\')
		at++;
	return at;
}

unsigned int
triage(const uint8_t *text, size_t n)
{
	unsigned int flags = 0;
	size_t whole = 0;
	bool carry = false;

#ifdef WIDE
	if (n >= 32 && triage_is_wide()) {
		whole = n & ~(size_t)31;
		flags = wide(text, whole, &carry);
	}
#endif
	return flags | plain_from(text, n, whole, carry);
}
