/*
 * SHA-256 with the processor's instructions, if it has them.  libsodium's
 * portable code takes ten times as long, and the log hashes all its records and
 * a loader all of a policy.  FIPS 180-4, section 6.2.
 */
#include <string.h>

#include "shim/base/sha256.h"

#ifdef __x86_64__
#include <immintrin.h>

#define BLOCK  64
#define SHA    (1u << 29) /* cpuid 7.0, ebx */
#define SSE4_1 (1u << 19) /* cpuid 1, ecx */

static const uint32_t k[64] __attribute__((aligned(16))) = {0x428a2f98, 0x71374491,
    0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98,
    0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc,
    0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354,
    0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
    0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c,
    0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f,
    0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

/* The state has the order that the instructions require: a b e f, c d g h. */
__attribute__((target("sha,sse4.1"))) static void
blocks(__m128i state[2], const uint8_t *p, size_t n)
{
	const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
	__m128i abef = state[0], cdgh = state[1], w[16], msg;

	for (; n > 0; n--, p += BLOCK) {
		__m128i abef_was = abef, cdgh_was = cdgh;

#pragma GCC unroll 16
		for (int i = 0; i < 16; i++) {
			if (i < 4)
				w[i] = _mm_shuffle_epi8(
				    _mm_loadu_si128((const __m128i *)(const void *)p + i),
				    swap);
			else
				w[i] = _mm_sha256msg2_epu32(
				    _mm_add_epi32(
					_mm_sha256msg1_epu32(w[i - 4], w[i - 3]),
					_mm_alignr_epi8(w[i - 1], w[i - 2], 4)),
				    w[i - 1]);
			msg = _mm_add_epi32(
			    w[i], _mm_load_si128((const __m128i *)(const void *)k + i));
			cdgh = _mm_sha256rnds2_epu32(cdgh, abef, msg);
			msg = _mm_shuffle_epi32(msg, 0x0e);
			abef = _mm_sha256rnds2_epu32(abef, cdgh, msg);
		}
		abef = _mm_add_epi32(abef, abef_was);
		cdgh = _mm_add_epi32(cdgh, cdgh_was);
	}
	state[0] = abef;
	state[1] = cdgh;
}

/* len bytes, preceded by the byte tag unless tag is -1. */
__attribute__((target("sha,sse4.1"))) void
sha_digest(int tag, const void *bytes, size_t len, uint8_t ret[SHA_LEN])
{
	/* FIPS 180-4, 5.3.3, in the instructions' order. */
	__m128i state[2] = {
	    _mm_set_epi32(0x6a09e667, (int)0xbb67ae85, 0x510e527f, (int)0x9b05688c),
	    _mm_set_epi32(0x3c6ef372, (int)0xa54ff53a, 0x1f83d9ab, 0x5be0cd19)};
	/* f e b a and h g d c in memory: the digest's word order. */
	static const uint8_t where[8] = {3, 2, 7, 6, 1, 0, 5, 4};
	uint8_t part[2 * BLOCK] = {0};
	uint64_t bits = ((uint64_t)len + (tag >= 0)) * 8;
	const uint8_t *at = bytes;
	size_t in_part = 0, tail_len;
	uint32_t word[8];

	if (tag >= 0) {
		part[in_part++] = (uint8_t)tag;
		if (len >= BLOCK - 1) {
			memcpy(part + 1, at, BLOCK - 1);
			blocks(state, part, 1);
			at += BLOCK - 1;
			len -= BLOCK - 1;
			in_part = 0;
		}
	}
	blocks(state, at, (len + in_part) / BLOCK);
	at += len / BLOCK * BLOCK; /* in_part is 1 only if len is smaller */
	len %= BLOCK;
	if (len > 0)
		memcpy(part + in_part, at, len);
	in_part += len;
	part[in_part] = 0x80;
	memset(part + in_part + 1, 0, sizeof(part) - in_part - 1);
	tail_len = in_part < BLOCK - 8 ? BLOCK : 2 * BLOCK;
	for (size_t i = 0; i < 8; i++)
		part[tail_len - 1 - i] = (uint8_t)(bits >> 8 * i);
	blocks(state, part, tail_len / BLOCK);
	memcpy(word, state, sizeof(word));
	for (size_t i = 0; i < SHA_LEN; i++)
		ret[i] = (uint8_t)(word[where[i / 4]] >> (24 - 8 * (i % 4)));
}

/* eax, ebx, ecx of this leaf. */
static void
cpuid(uint32_t leaf, uint32_t ret[3])
{
	uint32_t d, a = leaf, b, c = 0;

	__asm__("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
	ret[0] = a;
	ret[1] = b;
	ret[2] = c;
}

static bool
has_sha(void)
{
	uint32_t most[3], one[3], seven[3];

	cpuid(0, most);
	if (most[0] < 7)
		return false;
	cpuid(1, one);
	cpuid(7, seven);
	return (one[2] & SSE4_1) != 0 && (seven[1] & SHA) != 0;
}

/*
 * Test vectors: "abc" (from FIPS 180-4), and the byte 1 before 0, 1, 2 ... 199.
 */
static bool
answers_right(void)
{
	static const uint8_t abc[SHA_LEN] = {0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf,
	    0xea, 0x41, 0x41, 0x40, 0xde, 0x5d, 0xae, 0x22, 0x23, 0xb0, 0x03, 0x61, 0xa3,
	    0x96, 0x17, 0x7a, 0x9c, 0xb4, 0x10, 0xff, 0x61, 0xf2, 0x00, 0x15, 0xad};
	static const uint8_t count[SHA_LEN] = {0x13, 0x1b, 0x7f, 0x8f, 0x3c, 0xf9, 0x53,
	    0x64, 0x2d, 0xc0, 0xcb, 0xc9, 0xa9, 0x83, 0x9b, 0xf8, 0xb4, 0xec, 0xce, 0xe5,
	    0x91, 0x73, 0xa6, 0xd2, 0x33, 0x49, 0x09, 0xc8, 0xd6, 0xc2, 0xfa, 0x50};
	uint8_t bytes[200], digest[SHA_LEN];

	sha_digest(-1, "abc", 3, digest);
	if (memcmp(digest, abc, sizeof(abc)) != 0)
		return false;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)i;
	sha_digest(1, bytes, sizeof(bytes), digest);
	return memcmp(digest, count, sizeof(count)) == 0;
}

bool
sha_fits(void)
{
	static _Atomic enum { UNKNOWN, FITS, UNFIT } known;

	if (known == UNKNOWN)
		known = has_sha() && answers_right() ? FITS : UNFIT;
	return known == FITS;
}

#else
bool
sha_fits(void)
{
	return false;
}

void
sha_digest(int tag, const void *bytes, size_t len, uint8_t ret[SHA_LEN])
{
	memset(ret, 0, SHA_LEN); /* never called if sha_fits() is false */
}
#endif
