/*
 * The patterns to find: each value in the encodings that it may be sent in.
 *
 *	raw, and the strings that structured.c finds in it
 *	base64 and base64url at three offsets, base32 at five: only the
 *		characters that the value alone determines, so that it is found
 *		regardless of the bytes before and after it
 *	hex in either case; UTF-16 of both byte orders, and base64 of it;
 *		reversed; spaces as plus signs; each byte as a character, of
 *		these too
 *
 * Escapes (JSON, percent, entities, quoted-printable), base64 in columns and hex
 * with separators are not patterns: the text is decoded instead (decode.c).
 *
 * Process: the leash.  The only file of this room that reads a secret's bytes.
 * Encodings are in locked pages; all other patterns point into the vault.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "leash/scrub/private.h"
#include "leash/vault/vault.h"
#include "policy/tokens/weak_value.h"
#include "shim/base/hash.h"
#include "shim/base/utf8.h"

#define SPARE_LEN 64 /* bytes of these pages for their own bookkeeping */

/* Encodings are written at at, or only counted if at is NULL.  Patterns are built in
 * two passes; the first computes the size that the second needs. */
struct maker {
	struct scrub *scrub;
	uint8_t *at;
	size_t used;
	uint32_t value;
	uint32_t *seen; /* hash table of pattern index + 1, to skip duplicates */
	size_t seen_cap;
	size_t patterns; /* from the first pass */
	uint8_t class
	    [256]; /* FIT_BROKEN, FIT_PAIRS: bytes that such a pattern may have */
};

int
scrub_new(struct scrub **ret)
{
	struct scrub *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return -ENOMEM;
	*ret = s;
	return 0;
}

void
scrub_free(struct scrub *s)
{
	if (s == NULL)
		return;
	for (size_t i = 0; i < s->value_n; i++)
		vault_free(s->value[i].decoded);
	free(s->pattern);
	free(s->value);
	free(s->string);
	free(s->z);
	filter_free(&s->filter);
	vault_free(s->encodings);
	explicit_bzero(s, sizeof(*s));
	free(s);
}

/* ---- one pattern ----------------------------------------------------------------- */

/* Eight bytes at a time: a byte at a time took a tenth of the whole build. */
static uint64_t
hash_of(const uint8_t *data, size_t len, bool fold)
{
	uint64_t h = HASH64_START + len * 2 + fold, word;
	size_t n;

	for (; len > 0; data += n, len -= n) {
		n = size_min(len, sizeof(word));
		word = 0;
		memcpy(&word, data, n);
		h = hash64_add(h, word);
		h ^= h >> 29;
	}
	return h;
}

/* Is it a duplicate?  *ret_slot is the slot for it. */
static bool
is_known(
    const struct maker *m, const uint8_t *data, size_t len, bool fold, size_t *ret_slot)
{
	size_t i = hash_of(data, len, fold) & (m->seen_cap - 1);

	for (; m->seen[i] != 0; i = (i + 1) & (m->seen_cap - 1)) {
		const struct pattern *p = &m->scrub->pattern[m->seen[i] - 1];

		if (p->len == len && p->fold == fold && memcmp(p->data, data, len) == 0)
			return true;
	}
	*ret_slot = i;
	return false;
}

static void
class_init(struct maker *m)
{
	for (int c = 0; c < 256; c++)
		m->class[c] = (uint8_t)((decode_is_base64((uint8_t)c) ? FIT_BROKEN : 0) |
					(isxdigit(c) != 0 ? FIT_PAIRS : 0));
}

static uint8_t
fits_of(const struct maker *m, const uint8_t *data, size_t len, bool fold)
{
	uint8_t all = fold && len >= 16 ? FIT_BROKEN | FIT_PAIRS : FIT_BROKEN;

	for (size_t i = 0; i < len; i++)
		all &= m->class[data[i]];
	return FIT_ALL | all;
}

/* data[len] must stay valid.  False: it is a duplicate, and not needed. */
static bool
add_pattern(struct maker *m, const uint8_t *data, size_t len, bool fold)
{
	struct scrub *s = m->scrub;
	size_t slot;

	if (m->at == NULL || data == NULL) { /* of the first pass: it counts */
		m->patterns++;
		return true;
	}
	if (is_known(m, data, len, fold, &slot))
		return false;
	s->pattern[s->pattern_n++] = (struct pattern){.data = data,
	    .len = (uint32_t)len,
	    .value = m->value,
	    .fold = fold,
	    .fits = fits_of(m, data, len, fold)};
	m->seen[slot] = (uint32_t)s->pattern_n;
	return true;
}

/* Adds the encoding of len bytes just written at at + used. The next one replaces a
 * duplicate: the first write to a locked page costs 10 µs. */
static void
add_encoding(struct maker *m, size_t len, bool fold)
{
	if (len >= SCRUB_FORM_MIN &&
	    add_pattern(m, m->at == NULL ? NULL : m->at + m->used, len, fold))
		m->used += len;
}

static void
put(const struct maker *m, size_t i, uint8_t c)
{
	if (m->at != NULL)
		m->at[m->used + i] = c;
}

/* ---- encodings ------------------------------------------------------------------- */

struct alphabet {
	const char *chars;
	unsigned int bits;    /* bits per character */
	unsigned int offsets; /* number of different alignments */
	bool fold;
	unsigned int shared; /* of an encoding in these first characters alone the
			      * alphabet before has made the pattern; 0: none */
};

static const struct alphabet base64 = {
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", 6, 3, false, 0};
static const struct alphabet base64url = {
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", 6, 3, false, 62};
static const struct alphabet base32 = {"abcdefghijklmnopqrstuvwxyz234567", 5, 5, true, 0};
static const struct alphabet base16 = {"0123456789abcdef", 4, 1, true, 0};

/* Writes n characters to `to`, the first of which begins `skip` bits into v[0]. Returns the
 * highest of their numbers. */
static unsigned int
put_bits(const struct alphabet *a, const uint8_t *v, size_t skip, uint8_t *to, size_t n)
{
	unsigned int bits = v[0], left = 8 - (unsigned int)skip,
		     mask = (1u << a->bits) - 1;
	unsigned int c, highest = 0;

	v++;
	for (size_t i = 0; i < n; i++) {
		if (left < a->bits) {
			bits = bits << 8 | *v++;
			left += 8;
		}
		left -= a->bits;
		c = bits >> left & mask;
		highest = c > highest ? c : highest;
		to[i] = (uint8_t)a->chars[c];
	}
	return highest;
}

/* Adds the characters whose bits all come from the value if off other bytes precede
 * it. v may be NULL in the counting pass. */
static void
add_bits(
    struct maker *m, const struct alphabet *a, const uint8_t *v, size_t n, size_t off)
{
	size_t first = (8 * off + a->bits - 1) / a->bits, end = 8 * (off + n) / a->bits;

	if (m->at != NULL && end > first &&
	    put_bits(a, v, first * a->bits - 8 * off, m->at + m->used, end - first) <
		a->shared)
		return;
	add_encoding(m, end - first, a->fold);
}

static void
add_alphabet(struct maker *m, const struct alphabet *a, const uint8_t *v, size_t n)
{
	for (size_t off = 0; off < a->offsets; off++)
		add_bits(m, a, v, n, off);
}

/* The code of the UTF-8 character at v[n]; an invalid byte is its own code. */
static uint32_t
take_code(const uint8_t *v, size_t n, size_t *ret_len)
{
	uint32_t code = v[0];
	size_t len = code >= 0xf0 ? 4 : code >= 0xe0 ? 3 : code >= 0xc2 ? 2 : 1, i;

	*ret_len = 1;
	if (len == 1 || len > n)
		return code;
	code &= 0xffu >> (len + 1);
	for (i = 1; i < len; i++) {
		if ((v[i] & 0xc0) != 0x80)
			return v[0];
		code = code << 6 | (v[i] & 0x3fu);
	}
	*ret_len = len;
	return code;
}

/* Writes UTF-16 to at + used; returns its length, first and last code. */
static size_t
put_wide(const struct maker *m, const uint8_t *v, size_t n, bool big, uint32_t code[2])
{
	size_t at = 0, len = 0, used, i, units;

	for (; at < n; at += used) {
		uint32_t unit[2];

		code[1] = take_code(v + at, n - at, &used);
		if (at == 0)
			code[0] = code[1];
		unit[0] = code[1];
		units = code[1] >= 0x10000 ? 2 : 1;
		if (units == 2) {
			unit[0] = 0xd800 + ((code[1] - 0x10000) >> 10);
			unit[1] = 0xdc00 + ((code[1] - 0x10000) & 0x3ff);
		}
		for (i = 0; i < units; i++, len += 2) {
			put(m, len + big, (uint8_t)unit[i]);
			put(m, len + !big, (uint8_t)(unit[i] >> 8));
		}
	}
	return len;
}

static bool
is_ascii(const uint8_t *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (v[i] >= 0x80)
			return false;
	return true;
}

/* A byte above 0x7f as a character of Windows-1252, which is also what the web's
 * decoders call Latin-1. */
static uint32_t
windows_1252(uint8_t byte)
{
	static const uint16_t code[] = {0x20ac, 0x81, 0x201a, 0x192, 0x201e, 0x2026,
	    0x2020, 0x2021, 0x2c6, 0x2030, 0x160, 0x2039, 0x152, 0x8d, 0x17d, 0x8f, 0x90,
	    0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014, 0x2dc, 0x2122, 0x161,
	    0x203a, 0x153, 0x9d, 0x17e, 0x178};

	return byte < 0x80 || byte >= 0xa0 ? byte : code[byte - 0x80];
}

/*
 * Each byte as a character: the result of reading UTF-8 or UTF-16 as Latin-1 or
 * Windows-1252, and what entities and escapes of single bytes decode to.  In a message,
 * which is UTF-8, such bytes are in no other way.  v may be NULL in the counting pass.
 */
static void
add_bytes(struct maker *m, const uint8_t *v, size_t n, bool backwards)
{
	uint8_t out[4];

	if (v != NULL && is_ascii(v, n))
		return;
	for (int windows = 0; windows < 2; windows++) {
		size_t len = 0;

		for (size_t i = 0; v != NULL && i < n; i++) {
			uint8_t c = v[backwards ? n - 1 - i : i];
			size_t used = utf8_put(windows ? windows_1252(c) : c, out);

			for (size_t k = 0; k < used; k++)
				put(m, len++, out[k]);
		}
		add_encoding(m, v == NULL ? 3 * n : len, false);
	}
}

/* UTF-16 without the outermost zero byte, which some writers omit; without it both
 * byte orders of ASCII are the same.  Also base64 of it, and its bytes as characters. */
static void
add_wide(struct maker *m, const uint8_t *v, size_t n, bool big)
{
	uint32_t code[2] = {0, 0};
	size_t len = put_wide(m, v, n, big, code), skip = 0;
	const uint8_t *wide;

	if (len > SCRUB_FORM_MIN && code[big ? 0 : 1] < 0x100) {
		skip = big;
		len--;
	}
	if (len < SCRUB_FORM_MIN)
		return;
	wide = m->at == NULL ? NULL : m->at + m->used + skip;
	m->used += len + skip;
	(void)add_pattern(m, wide, len, false); /* the next ones are made of its bytes */
	add_alphabet(m, &base64, wide, len);
	add_alphabet(m, &base64url, wide, len);
	if (!is_ascii(v, n))
		add_bytes(m, wide, len, false);
}

static void
add_reversed(struct maker *m, const uint8_t *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		put(m, i, v[n - 1 - i]);
	add_encoding(m, n, false);
}

/* Reversed by characters. */
static void
add_reversed_text(struct maker *m, const uint8_t *v, size_t n)
{
	size_t at, used, k;

	for (at = 0; at < n; at += used) {
		(void)take_code(v + at, n - at, &used);
		for (k = 0; k < used; k++)
			put(m, n - at - used + k, v[at + k]);
	}
	add_encoding(m, n, false);
}

static void
add_plus(struct maker *m, const uint8_t *v, size_t n)
{
	if (memchr(v, ' ', n) == NULL)
		return;
	for (size_t i = 0; i < n; i++)
		put(m, i, v[i] == ' ' ? '+' : v[i]);
	add_encoding(m, n, false);
}

static void
add_encodings(struct maker *m, const uint8_t *v, size_t n)
{
	(void)add_pattern(m, v, n, false); /* a duplicate of another value's */
	add_alphabet(m, &base16, v, n);
	add_alphabet(m, &base64, v, n);
	add_alphabet(m, &base64url, v, n);
	add_alphabet(m, &base32, v, n);
	add_wide(m, v, n, false);
	add_reversed(m, v, n);
	add_plus(m, v, n);
	if (!is_ascii(v, n) || 2 * n <= SCRUB_FORM_MIN)
		add_wide(m, v, n, true);
	if (is_ascii(v, n))
		return;
	add_bytes(m, v, n, false);
	add_bytes(m, v, n, true);
	add_reversed_text(m, v, n);
}

static void
add_all(struct maker *m)
{
	const struct scrub *s = m->scrub;

	m->used = 0;
	for (size_t i = 0; i < s->string_n; i++) {
		m->value = s->string[i].value;
		add_encodings(m, s->string[i].data, s->string[i].len);
	}
}

/* ---- all patterns ---------------------------------------------------------------- */

/* Room for the Z arrays: each is made when it is first needed (pattern_match.c). */
static int
add_z(struct scrub *s)
{
	size_t i, all = 0;

	for (i = 0; i < s->pattern_n; i++)
		all += s->pattern[i].len;
	s->z = calloc(all, sizeof(*s->z));
	if (s->z == NULL)
		return -ENOMEM;
	for (i = all = 0; i < s->pattern_n; all += s->pattern[i++].len)
		s->pattern[i].z = s->z + all;
	return 0;
}

int
encodings_build(struct scrub *s)
{
	struct maker m = {.scrub = s};
	size_t used;
	int r;

	if (s->value_n == 0)
		return 0;
	class_init(&m);
	add_all(&m);
	if (m.patterns > SCRUB_PATTERNS_MAX)
		return -ENOSPC;
	for (m.seen_cap = 64; m.seen_cap < m.patterns * 2; m.seen_cap *= 2)
		;
	m.seen = calloc(m.seen_cap, sizeof(*m.seen));
	s->pattern = calloc(m.patterns, sizeof(*s->pattern));
	used = m.used + SPARE_LEN;
	r = -ENOMEM;
	if (m.seen == NULL || s->pattern == NULL)
		goto out;
	r = vault_new(used + 4096, &s->encodings);
	if (r < 0)
		goto out;
	m.at = vault_scratch(s->encodings, used);
	r = -ENOMEM;
	if (m.at == NULL)
		goto out;
	add_all(&m);
	r = add_z(s);
out:
	free(m.seen);
	return r;
}

/* ---- values ---------------------------------------------------------------------- */

int
scrub_learn(struct scrub *s, const struct secret *secret, uint32_t number)
{
	size_t string_n = s->string_n;
	struct value *v;
	int r;

	if (s->built)
		return -EBUSY;
	if (secret_len(secret) < SCRUB_LEN_MIN)
		return -EINVAL;
	if (s->value_n == SCRUB_VALUES_MAX)
		return -ENOSPC;
	v = reallocarray(s->value, s->value_n + 1, sizeof(*v));
	if (v == NULL)
		return -ENOMEM;
	s->value = v;
	s->value[s->value_n++] = (struct value){.number = number};
	r = structured_learn(s, (uint32_t)s->value_n - 1,
	    (const uint8_t *)secret_expose(secret), secret_len(secret));
	if (r < 0) {
		vault_free(s->value[--s->value_n].decoded);
		s->string_n = string_n;
	}
	return r;
}

uint64_t
scrub_count(const struct scrub *s, uint32_t number)
{
	uint64_t count = 0;
	size_t i;

	for (i = 0; i < s->value_n; i++)
		if (s->value[i].number == number)
			count += s->value[i].count;
	return count;
}

const char *
scrub_weakness(const struct secret *secret)
{
	const uint8_t *inner = (const uint8_t *)secret_expose(secret);
	size_t n = secret_len(secret);

	(void)structured_trim(&inner, &n);
	return weak_value(inner, n);
}

bool
scrub_trims(const struct secret *secret)
{
	const uint8_t *inner = (const uint8_t *)secret_expose(secret);
	size_t n = secret_len(secret);

	return structured_trim(&inner, &n);
}
