/*
 * Credentials that are no value of ours but look like one of a known kind: a
 * fixed beginning and what must follow it.  Where the kind has a checksum it
 * is computed, so that nothing else is taken for it.
 *
 * The beginnings are looked for all at once: three bytes of the text are looked
 * up by their halves, sixteen places at a time where the processor can, and
 * what is left is compared.  shapes_scan_plain() answers alike.
 */
#include <stdlib.h>
#include <string.h>

#include "leash/scrub/private.h"
#include "policy/shape_sum.h"

#define TOKEN_MAX 4096  /* of one line; a longer run is no credential */
#define PEM_MAX   16384 /* a key of RSA with 8192 bits has 6.4 KB */

enum check { CHECK_NONE, CHECK_CRC, CHECK_JWT, CHECK_PEM };

/* prefix, then min to max characters of the class, and none more. */
struct token {
	const char *name, *prefix;
	enum class { ALNUM, WORD, UPPER, HEX } class;
	uint16_t min, max;
	enum check check;
};

/* As their makers document them: GitHub's and npm's six last characters are the
 * CRC32 of the thirty before, in base 62. */
static const struct token shapes[] = {
    {"github-token", "ghp_", ALNUM, 36, 36, CHECK_CRC},
    {"github-token", "gho_", ALNUM, 36, 36, CHECK_CRC},
    {"github-token", "ghu_", ALNUM, 36, 36, CHECK_CRC},
    {"github-token", "ghs_", ALNUM, 36, 36, CHECK_CRC},
    {"github-token", "ghr_", ALNUM, 36, 76, CHECK_NONE},
    {"github-token", "github_pat_", WORD, 82, 82, CHECK_NONE},
    {"npm-token", "npm_", ALNUM, 36, 36, CHECK_CRC},
    {"gitlab-token", "glpat-", WORD, 20, 300, CHECK_NONE},
    {"anthropic-key", "sk-ant-", WORD, 80, 140, CHECK_NONE},
    {"openai-key", "sk-proj-", WORD, 40, 220, CHECK_NONE},
    {"slack-token", "xoxb-", WORD, 24, 120, CHECK_NONE},
    {"slack-token", "xoxp-", WORD, 24, 120, CHECK_NONE},
    {"slack-token", "xoxa-", WORD, 24, 120, CHECK_NONE},
    {"slack-token", "xapp-", WORD, 24, 200, CHECK_NONE},
    {"stripe-key", "sk_live_", ALNUM, 24, 120, CHECK_NONE},
    {"stripe-key", "rk_live_", ALNUM, 24, 120, CHECK_NONE},
    {"google-key", "AIza", WORD, 35, 35, CHECK_NONE},
    {"aws-key-id", "AKIA", UPPER, 16, 16, CHECK_NONE},
    {"aws-key-id", "ASIA", UPPER, 16, 16, CHECK_NONE},
    {"pypi-token", "pypi-AgEI", WORD, 80, 300, CHECK_NONE},
    {"digitalocean-token", "dop_v1_", HEX, 64, 64, CHECK_NONE},
    {"shopify-token", "shpat_", HEX, 32, 32, CHECK_NONE},
    {"huggingface-token", "hf_", ALNUM, 34, 40, CHECK_NONE},
    {"vault-token", "hvs.", WORD, 90, 300, CHECK_NONE},
    {"sendgrid-key", "SG.", WORD, 22, 22, CHECK_NONE},
    {"age-key", "AGE-SECRET-KEY-1", UPPER, 58, 58, CHECK_NONE},
    {"jwt", "eyJ", WORD, 8, 900, CHECK_JWT},
    {"private-key", "-----BEGIN ", WORD, 0, 0, CHECK_PEM},
};
#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))

_Static_assert(SHAPES <= SCRUB_SHAPES_MAX, "scrub counts them");

const char *
shapes_name(uint32_t number)
{
	return number < SHAPES ? shapes[number].name : NULL;
}

const char *
shapes_mask(uint32_t number)
{
	static char mask[64];
	size_t n = sizeof(mask) - 1, len = 0;
	const char *parts[] = {"[REDACTED:", shapes[number].name, "]"};

	for (size_t i = 0; i < 3 && len + strlen(parts[i]) < n; i++) {
		memcpy(mask + len, parts[i], strlen(parts[i]));
		len += strlen(parts[i]);
	}
	mask[len] = '\0';
	return mask;
}

/* ---- what must follow -------------------------------------------------------------- */

static bool
is_in(enum class class, uint8_t c)
{
	bool digit = c >= '0' && c <= '9', upper = c >= 'A' && c <= 'Z';

	switch (class) {
	case UPPER:
		return digit || upper;
	case HEX:
		return digit || (c >= 'a' && c <= 'f');
	case WORD:
		if (c == '_' || c == '-')
			return true;
		/* fall through */
	default:
		return digit || upper || (c >= 'a' && c <= 'z');
	}
}

static size_t
run_of(enum class class, const uint8_t *text, size_t n)
{
	size_t i = 0;

	while (i < n && i <= TOKEN_MAX && is_in(class, text[i]))
		i++;
	return i;
}

enum { OPEN = -1 }; /* it may become one */

/* header.payload.signature at text[n], of which the first two are objects. */
static int
jwt(const uint8_t *text, size_t n, bool last)
{
	size_t at = 0, part, parts = 0;

	for (;;) {
		part = run_of(WORD, text + at, n - at);
		if (part > TOKEN_MAX ||
		    (parts == 1 && part > 3 && (text[at] != 'e' || text[at + 1] != 'y')))
			return NONE;
		at += part;
		parts++;
		if (at == n && !last)
			return OPEN;
		if (part < 3 || (parts < 3 && (at == n || text[at] != '.')))
			return NONE;
		if (parts == 3)
			return (int)at;
		at++;
	}
}

/* From "-----BEGIN X PRIVATE KEY-----" to its end, or to where none is. */
static int
pem(const uint8_t *text, size_t n, bool last)
{
	static const char key[] = "PRIVATE KEY-----", end[] = "-----END ";
	size_t max = n < PEM_MAX ? n : PEM_MAX;
	const uint8_t *at, *stop;

	at = memmem(text, n < 64 ? n : 64, key, sizeof(key) - 1);
	if (at == NULL)
		return n < 64 && !last ? OPEN : NONE;
	stop = memmem(at, max - (size_t)(at - text), end, sizeof(end) - 1);
	if (stop != NULL)
		stop = memmem(stop, max - (size_t)(stop - text), key, sizeof(key) - 1);
	if (stop != NULL)
		return (int)(stop - text) + (int)sizeof(key) - 1;
	/* a key without its end is one all the same */
	return n < PEM_MAX && !last ? OPEN : (int)max;
}

/* The shape at text[n], whose prefix stands there: its length, NONE or OPEN. */
static int
follow(const struct token *s, const uint8_t *text, size_t n, bool last)
{
	size_t prefix = strlen(s->prefix), run;

	if (s->check == CHECK_JWT)
		return jwt(text, n, last);
	if (s->check == CHECK_PEM)
		return pem(text, n, last);
	run = run_of(s->class, text + prefix, n - prefix);
	if (run > s->max)
		return NONE;
	if (prefix + run == n && !last)
		return OPEN;
	if (run < s->min ||
	    (s->check == CHECK_CRC && !shape_sum_fits(text + prefix, run)))
		return NONE;
	return (int)(prefix + run);
}

/* A letter or digit before makes it the middle of something else; the letter of
 * an escape does not. */
static bool
is_start(const uint8_t *text, size_t at, const uint8_t before[static 2])
{
	uint8_t one = at > 0 ? text[at - 1] : before[1];
	uint8_t two = at > 1 ? text[at - 2] : before[at];

	return !is_in(ALNUM, one) || two == '\\';
}

/* What stands at text[at], of which three bytes are there: the number of a shape, or
 * SHAPES; *ret_len of it. */
static size_t
shape_at(const uint8_t *text, size_t n, size_t at, bool last, int *ret_len)
{
	size_t i;

	for (i = 0; i < SHAPES; i++) {
		const char *prefix = shapes[i].prefix;

		if (text[at] != (uint8_t)prefix[0] ||
		    text[at + 1] != (uint8_t)prefix[1] ||
		    text[at + 2] != (uint8_t)prefix[2] || n - at < strlen(prefix) ||
		    memcmp(text + at, prefix, strlen(prefix)) != 0)
			continue;
		*ret_len = follow(&shapes[i], text + at, n - at, last);
		if (*ret_len != NONE)
			return i;
	}
	return SHAPES;
}

/* ---- where one may begin ----------------------------------------------------------- */

/* In which of eight groups a beginning is looked for: the like ones together, so
 * that their halves make up few words that none of them begins with. */
static uint8_t
group_of(const char *prefix)
{
	static const char *const groups[8] = {"g", "sS", "x", "rp", "nh", "A", "de", "-"};
	unsigned int i = 0;

	while (i < 7 && strchr(groups[i], prefix[0]) == NULL)
		i++;
	return (uint8_t)(1u << i);
}

/* Of each of the first three bytes, by its lower and its upper half: in which
 * groups it stands. */
static const struct table {
	uint8_t low[3][16], high[3][16];
	uint8_t before_low[16], before_high[16];
} * tables(void)
{
	/* what may stand before: no letter or digit, unless it may be an escape's.
	 * 1: all but ASCII's columns 3 to 7; 2 4 8: the signs in these; 16: b f n
	 * 32: r t */
	static struct table t = {.before_low = {[0] = 1 | 8,
				     1,
				     1 | 16 | 32,
				     1,
				     1 | 32,
				     1,
				     1 | 16,
				     1,
				     1,
				     1,
				     1 | 2,
				     1 | 2 | 4,
				     1 | 2 | 4,
				     1 | 2 | 4,
				     1 | 2 | 4 | 16,
				     1 | 2 | 4},
	    .before_high = {1, 1, 1, 2, 8, 4, 8 | 16, 4 | 32, 1, 1, 1, 1, 1, 1, 1, 1}};
	static bool made;
	size_t i, k;

	for (i = 0; i < SHAPES && !made; i++)
		for (k = 0; k < 3; k++) {
			uint8_t c = (uint8_t)shapes[i].prefix[k];

			t.low[k][c & 15] |= group_of(shapes[i].prefix);
			t.high[k][c >> 4] |= group_of(shapes[i].prefix);
		}
	made = true;
	return &t;
}

static bool
may_begin(const struct table *t, const uint8_t *text, size_t from)
{
	const uint8_t *at = text + from;
	unsigned int all = 0xff;

	if (from > 0 && (t->before_low[at[-1] & 15] & t->before_high[at[-1] >> 4]) == 0)
		return false;

	for (int k = 0; k < 3; k++)
		all &= t->low[k][at[k] & 15] & t->high[k][at[k] >> 4];
	return all != 0;
}

/* The next place from at on that may begin one; n - 2 if none. */
size_t
shapes_scan_plain(const uint8_t *text, size_t n, size_t at)
{
	const struct table *t = tables();

	while (at + 2 < n && !may_begin(t, text, at))
		at++;
	return at + 2 < n ? at : n;
}

#if defined(__x86_64__)
#include <immintrin.h>

__attribute__((target("avx2"))) static __m256i
twice(const uint8_t row[16])
{
	return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)row));
}

/* Which of 32 bytes may stand before a beginning. */
__attribute__((target("avx2"))) static inline unsigned int
may_precede(const struct table *t, const uint8_t *at)
{
	const __m256i half = _mm256_set1_epi8(15);
	__m256i v = _mm256_loadu_si256((const __m256i *)at);
	__m256i up = _mm256_and_si256(_mm256_srli_epi16(v, 4), half);
	__m256i fit = _mm256_and_si256(
	    _mm256_shuffle_epi8(twice(t->before_low), _mm256_and_si256(v, half)),
	    _mm256_shuffle_epi8(twice(t->before_high), up));

	return ~(unsigned int)_mm256_movemask_epi8(
	    _mm256_cmpeq_epi8(fit, _mm256_setzero_si256()));
}

__attribute__((target("avx2"))) static size_t
scan_quick(const struct table *t, const uint8_t *text, size_t n, size_t at)
{
	const __m256i half = _mm256_set1_epi8(15), zero = _mm256_setzero_si256();
	__m256i low[3], high[3];

	for (int k = 0; k < 3; k++) {
		low[k] = twice(t->low[k]);
		high[k] = twice(t->high[k]);
	}
	for (; at + 34 <= n; at += 32) {
		__m256i all = _mm256_set1_epi8(-1);
		unsigned int found;

		for (int k = 0; k < 3; k++) {
			__m256i v = _mm256_loadu_si256((const __m256i *)(text + at + k));
			__m256i up = _mm256_and_si256(_mm256_srli_epi16(v, 4), half);

			all = _mm256_and_si256(all,
			    _mm256_and_si256(
				_mm256_shuffle_epi8(low[k], _mm256_and_si256(v, half)),
				_mm256_shuffle_epi8(high[k], up)));
		}
		found = may_precede(t, text + at - 1);
		found &=
		    ~(unsigned int)_mm256_movemask_epi8(_mm256_cmpeq_epi8(all, zero));
		if (found != 0)
			return at + (size_t)__builtin_ctz(found);
	}
	return at;
}
#endif

size_t
shapes_scan(const uint8_t *text, size_t n, size_t at)
{
#if defined(__x86_64__)
	if (at == 0 && n > 2) {
		if (may_begin(tables(), text, 0))
			return 0;
		at = 1;
	}
	if (at < n && n - at >= 64 && triage_is_wide())
		at = scan_quick(tables(), text, n, at);
#endif
	return shapes_scan_plain(text, n, at);
}

int
shapes_find(const uint8_t *text, size_t n, const uint8_t before[static 2], bool last,
    struct hits *hits)
{
	size_t at = 0, which;
	int len, r;

	for (; (at = shapes_scan(text, n, at)) < n; at++) {
		if (!is_start(text, at, before))
			continue;
		which = shape_at(text, n, at, last, &len);
		if (which == SHAPES || len <= 0)
			continue;
		r = hits_add(hits, at, at + (size_t)len, (uint32_t)which | HIT_SHAPE);
		if (r < 0)
			return r;
		at += (size_t)len - 1;
	}
	return 0;
}

static bool
prefix_open(const uint8_t *text, size_t n)
{
	for (size_t i = 0; i < SHAPES; i++)
		if (n < strlen(shapes[i].prefix) &&
		    memcmp(text, shapes[i].prefix, n) == 0)
			return true;
	return false;
}

size_t
shapes_tail(const uint8_t *text, size_t n, const uint8_t before[static 2])
{
	size_t at = n > PEM_MAX ? n - PEM_MAX : 0;
	int len;

	for (; (at = shapes_scan(text, n, at)) < n; at++) {
		if (!is_start(text, at, before))
			continue;
		if (n - at < 24 && prefix_open(text + at, n - at))
			return at;
		if (shape_at(text, n, at, false, &len) < SHAPES && len == OPEN)
			return at;
	}
	for (at = n > 2 ? n - 2 : 0; at < n; at++)
		if (is_start(text, at, before) && prefix_open(text + at, n - at))
			return at;
	return n;
}
