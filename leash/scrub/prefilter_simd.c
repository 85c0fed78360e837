/*
 * The walkers of prefilter.c with vector instructions: 64 bytes at once where the
 * processor has lookups in a table of 128 bytes (AVX-512 VBMI), 32 where it has
 * lookups by nibble (AVX2).
 *
 * Process: the leash.  Trusts: nothing; its input is untrusted.
 */
#include "leash/scrub/private.h"

/* The C library has already detected the processor's features.  CPUID would cost an
 * exit from the virtual machine per query. */
#if defined(__x86_64__) && __has_include(<sys/platform/x86.h>)
#include <immintrin.h>
#include <sys/platform/x86.h>

#define AHEAD         2048
#define INLINE        static inline __attribute__((always_inline))
#define TARGET_AVX2   __attribute__((target("avx2,bmi,bmi2")))
#define TARGET_AVX512 __attribute__((target("avx512f,avx512bw,avx512vbmi,bmi,bmi2")))

/* The flags of single bytes among these four. */
static unsigned int
signs_of(uint32_t four)
{
	four |= four >> 16;
	return (four | four >> 8) & TRIAGE_SIGNS;
}

/* ---- AVX-512 ------------------------------------------------------------------- */

/* Tables of 128 bytes, each in two registers. */
struct tables {
	__m512i class_low, class_high;
	__m512i first_low, first_high, second_low, second_high, third_low, third_high;
	__m512i other, ascii;
};

TARGET_AVX512 INLINE struct tables
tables_of(const struct net *net)
{
	return (struct tables){
	    .class_low = _mm512_loadu_si512(net->class),
	    .class_high = _mm512_loadu_si512(net->class + 64),
	    .first_low = _mm512_loadu_si512(net->hook[0]),
	    .first_high = _mm512_loadu_si512(net->hook[0] + 64),
	    .second_low = _mm512_loadu_si512(net->hook[1]),
	    .second_high = _mm512_loadu_si512(net->hook[1] + 64),
	    .third_low = _mm512_loadu_si512(net->hook[2]),
	    .third_high = _mm512_loadu_si512(net->hook[2] + 64),
	    .other = _mm512_set1_epi8(CLASS_OTHER),
	    .ascii = _mm512_set1_epi8(127), /* 127 is in class other */
	};
}

TARGET_AVX512 INLINE __m512i
classes_512(const struct tables *t, const uint8_t *at)
{
	__m512i bytes = _mm512_min_epu8(_mm512_loadu_epi8(at), t->ascii);

	return _mm512_permutex2var_epi8(t->class_low, bytes, t->class_high);
}

/* The lanes of a chunk without a byte of class other. */
TARGET_AVX512 INLINE uint32_t
full_512(const struct tables *t, __m512i a, __m512i b, __m512i c, __m512i d)
{
	__mmask16 low = _mm512_kunpackb(
	    _mm512_testn_epi64_mask(b, t->other), _mm512_testn_epi64_mask(a, t->other));
	__mmask16 high = _mm512_kunpackb(
	    _mm512_testn_epi64_mask(d, t->other), _mm512_testn_epi64_mask(c, t->other));

	return _mm512_kunpackw(high, low);
}

/* The groups that have a hook at each of 64 bytes.  Bytes above 127 are looked up
 * modulo 128. */
TARGET_AVX512 INLINE __m512i
hooks_512(const struct tables *t, const uint8_t *at)
{
	__m512i first =
	    _mm512_permutex2var_epi8(t->first_low, _mm512_loadu_epi8(at), t->first_high);
	__m512i second = _mm512_permutex2var_epi8(
	    t->second_low, _mm512_loadu_epi8(at + 1), t->second_high);
	__m512i third = _mm512_permutex2var_epi8(
	    t->third_low, _mm512_loadu_epi8(at + 2), t->third_high);

	return _mm512_ternarylogic_epi64(first, second, third, 0x80); /* AND */
}

TARGET_AVX512 INLINE size_t
walk_512(const struct net *net, const uint8_t *text, size_t at, size_t end,
    struct sieve *s, enum sieve_runs runs)
{
	const struct tables t = tables_of(net);
	__m512i seen = _mm512_setzero_si512(), a, b, c, d, any;
	uint32_t full, lanes = s->lanes;
	uint64_t hooks = 0;
	bool found = false;

	for (; at < end; at += SIEVE_CHUNK) {
		const uint8_t *chunk = text + at;

		/* loading takes about as long as scanning */
		__builtin_prefetch(chunk + AHEAD);
		__builtin_prefetch(chunk + AHEAD + 64);
		__builtin_prefetch(chunk + AHEAD + 128);
		__builtin_prefetch(chunk + AHEAD + 192);
		found = sieve_runs(net, chunk, runs);
		a = classes_512(&t, chunk);
		b = classes_512(&t, chunk + 64);
		c = classes_512(&t, chunk + 128);
		d = classes_512(&t, chunk + 192);
		seen = _mm512_ternarylogic_epi64(seen, a, b, 0xfe); /* OR */
		seen = _mm512_ternarylogic_epi64(seen, c, d, 0xfe);
		full = full_512(&t, a, b, c, d);
		if ((full & (full << 1 | (lanes != 0))) != 0)
			lanes = sieve_lanes(net, full, lanes, &s->flags);
		else
			lanes = full >> 31;
		a = hooks_512(&t, chunk);
		b = hooks_512(&t, chunk + 64);
		c = hooks_512(&t, chunk + 128);
		d = hooks_512(&t, chunk + 192);
		any = _mm512_ternarylogic_epi64(a, b, _mm512_or_si512(c, d), 0xfe);
		hooks = _mm512_test_epi8_mask(any, any);
		if (found || hooks != 0)
			break;
	}
	if (at < end) {
		s->hook[0] = _mm512_test_epi8_mask(a, a);
		s->hook[1] = _mm512_test_epi8_mask(b, b);
		s->hook[2] = _mm512_test_epi8_mask(c, c);
		s->hook[3] = _mm512_test_epi8_mask(d, d);
	}
	s->run = found;
	s->lanes = lanes;
	s->flags |= signs_of((uint32_t)_mm512_reduce_or_epi32(seen));
	return at;
}

TARGET_AVX512 static size_t
walk_512_usual(
    const struct net *net, const uint8_t *text, size_t at, size_t end, struct sieve *s)
{
	return walk_512(net, text, at, end, s, RUNS_USUAL);
}

TARGET_AVX512 static size_t
walk_512_long(
    const struct net *net, const uint8_t *text, size_t at, size_t end, struct sieve *s)
{
	return walk_512(net, text, at, end, s, RUNS_LONG);
}

TARGET_AVX512 static size_t
walk_512_short(
    const struct net *net, const uint8_t *text, size_t at, size_t end, struct sieve *s)
{
	return walk_512(net, text, at, end, s, RUNS_SHORT);
}

/* ---- AVX2 ---------------------------------------------------------------------- */

TARGET_AVX2 INLINE __m256i
twice(const uint8_t row[static 16])
{
	return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)row));
}

TARGET_AVX2 INLINE __m256i
upper_half(__m256i bytes)
{
	return _mm256_and_si256(_mm256_srli_epi16(bytes, 4), _mm256_set1_epi8(15));
}

/* The classes of 32 bytes; bytes above 127 get none, as the shuffle defines. */
TARGET_AVX2 INLINE __m256i
look_halves(const struct halves *h, __m256i bytes, __m256i upper)
{
	return _mm256_and_si256(_mm256_shuffle_epi8(twice(h->low), bytes),
	    _mm256_shuffle_epi8(twice(h->high), upper));
}

/* As classes_512(), for 32 bytes. */
TARGET_AVX2 INLINE uint32_t
classes_256(const struct net *net, const uint8_t *at, __m256i *seen)
{
	const __m256i zero = _mm256_setzero_si256();
	__m256i bytes = _mm256_loadu_si256((const __m256i *)at);
	__m256i upper = upper_half(bytes), pair, full;

	*seen = _mm256_or_si256(*seen, look_halves(&net->signs, bytes, upper));
	pair = look_halves(&net->paired, bytes, upper);
	/* lanes in which each byte has a class */
	full = _mm256_cmpeq_epi64(_mm256_cmpeq_epi8(pair, zero), zero);
	return (uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(full));
}

TARGET_AVX2 INLINE __m256i
hooks_256(const struct net *net, const uint8_t *at)
{
	__m256i all = _mm256_set1_epi8(-1);

	for (int k = 0; k < SIEVE_HOOK; k++) {
		__m256i bytes = _mm256_loadu_si256((const __m256i *)(at + k));

		all = _mm256_and_si256(
		    all, look_halves(&net->hooks[k], bytes, upper_half(bytes)));
	}
	return all;
}

/* Marks the hooks in a chunk at which the pass stopped. */
TARGET_AVX2 static void
places_256(const struct net *net, const uint8_t *chunk, uint64_t hook[SIEVE_WORDS])
{
	const __m256i zero = _mm256_setzero_si256();

	memset(hook, 0, SIEVE_WORDS * sizeof(*hook));
	for (size_t i = 0; i < SIEVE_CHUNK / 32; i++) {
		__m256i none = _mm256_cmpeq_epi8(hooks_256(net, chunk + 32 * i), zero);
		uint32_t some = ~(uint32_t)_mm256_movemask_epi8(none);

		hook[i / 2] |= (uint64_t)some << 32 * (i % 2);
	}
}

TARGET_AVX2 INLINE size_t
walk_256(const struct net *net, const uint8_t *text, size_t at, size_t end,
    struct sieve *s, enum sieve_runs runs)
{
	__m256i seen = _mm256_setzero_si256(), any;
	uint32_t full, lanes = s->lanes, four[8];
	bool hooks = false, found = false;

	for (; at < end; at += SIEVE_CHUNK) {
		const uint8_t *chunk = text + at;

		full = 0;
		any = _mm256_setzero_si256();
		for (size_t i = 0; i < SIEVE_CHUNK / 32; i++) {
			full |= classes_256(net, chunk + 32 * i, &seen) << 4 * i;
			any = _mm256_or_si256(any, hooks_256(net, chunk + 32 * i));
		}
		if ((full & (full << 1 | (lanes != 0))) != 0)
			lanes = sieve_lanes(net, full, lanes, &s->flags);
		else
			lanes = full >> 31;
		hooks = _mm256_testz_si256(any, any) == 0;
		found = sieve_runs(net, chunk, runs);
		if (found || hooks)
			break;
	}
	if (at < end && hooks)
		places_256(net, text + at, s->hook);
	else
		memset(s->hook, 0, sizeof(s->hook));
	s->run = found;
	s->lanes = lanes;
	_mm256_storeu_si256((__m256i *)four, seen);
	for (int i = 0; i < 8; i++)
		s->flags |= signs_of(four[i]);
	return at;
}

TARGET_AVX2 static size_t
walk_256_usual(
    const struct net *net, const uint8_t *text, size_t at, size_t end, struct sieve *s)
{
	return walk_256(net, text, at, end, s, RUNS_USUAL);
}

TARGET_AVX2 static size_t
walk_256_long(
    const struct net *net, const uint8_t *text, size_t at, size_t end, struct sieve *s)
{
	return walk_256(net, text, at, end, s, RUNS_LONG);
}

TARGET_AVX2 static size_t
walk_256_short(
    const struct net *net, const uint8_t *text, size_t at, size_t end, struct sieve *s)
{
	return walk_256(net, text, at, end, s, RUNS_SHORT);
}

/* The first 32 bytes from at on that contain a line end or a backslash. */
TARGET_AVX2 static size_t
line_256(const uint8_t *text, size_t n, size_t at)
{
	const __m256i slash = _mm256_set1_epi8('\\'), feed = _mm256_set1_epi8('\n'),
		      back = _mm256_set1_epi8('\r');

	for (; at + 32 <= n; at += 32) {
		__m256i v = _mm256_loadu_si256((const __m256i *)(text + at));
		__m256i found = _mm256_or_si256(_mm256_cmpeq_epi8(v, slash),
		    _mm256_or_si256(
			_mm256_cmpeq_epi8(v, feed), _mm256_cmpeq_epi8(v, back)));
		uint32_t where = (uint32_t)_mm256_movemask_epi8(found);

		if (where != 0)
			return at + (size_t)__builtin_ctz(where);
	}
	return at;
}

sieve_walker *
sieve_wide(enum sieve_kind kind, enum sieve_runs runs)
{
	static sieve_walker *const by256[RUNS_KINDS] = {
	    walk_256_usual, walk_256_long, walk_256_short};
	static sieve_walker *const by512[RUNS_KINDS] = {
	    walk_512_usual, walk_512_long, walk_512_short};
	bool has256 = CPU_FEATURE_ACTIVE(AVX2) && CPU_FEATURE_ACTIVE(BMI1) &&
		      CPU_FEATURE_ACTIVE(BMI2);
	bool has512 = has256 && CPU_FEATURE_ACTIVE(AVX512F) &&
		      CPU_FEATURE_ACTIVE(AVX512BW) && CPU_FEATURE_ACTIVE(AVX512_VBMI);

	if (kind == SIEVE_AVX512 && has512)
		return by512[runs];
	return kind == SIEVE_AVX2 && has256 ? by256[runs] : NULL;
}

size_t
sieve_wide_line(const uint8_t *text, size_t n, size_t at)
{
	return CPU_FEATURE_ACTIVE(AVX2) ? line_256(text, n, at) : at;
}

#else

sieve_walker *
sieve_wide(enum sieve_kind kind, enum sieve_runs runs)
{
	return NULL;
}

size_t
sieve_wide_line(const uint8_t *text, size_t n, size_t at)
{
	return at;
}

#endif
