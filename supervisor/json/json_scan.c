/*
 * One pass over one JSON value, without a tree: checks strict RFC 8259 and valid
 * UTF-8, and finds the few fields that kennel decides on. Trusts nothing; allocates
 * nothing.
 */
#include "shim/base/array.h"
#include "shim/base/hash.h"
#include "supervisor/json/json.h"

#include <errno.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define ONES  0x0101010101010101ull
#define HIGHS 0x8080808080808080ull

struct scan {
	const uint8_t *p, *end;
	struct json_message *m;
	uint64_t object[(MCP_DEPTH_MAX + 64) / 64]; /* bit set: the level is an object */
	unsigned int depth;
	struct json *field[3]; /* filled in at depth 1 and 2, or NULL */
	enum json_top top;     /* whose members depth 2 holds */
};

/*
 * The keys seen at the two levels that are checked for duplicates: the first few in a
 * list, so that a process that reads small messages has no pages of the table; the
 * others in a hash table. A row is valid only in the turn that wrote it, so that no
 * message need clear the table. One scan at a time: kennel has one thread.
 */
#define KEY_ROWS ((size_t)2 * JSON_KEYS_MAX)
#define KEYS_FEW 16
static struct keys {
	size_t n;
	uint64_t few[KEYS_FEW];
	uint64_t hash[KEY_ROWS];
	uint32_t turn[KEY_ROWS];
} keys[2];
static uint32_t keys_turn;

struct level {
	const char *const *name;
	size_t n;
};

static const char *const top_names[] = {
    [TOP_JSONRPC] = "jsonrpc",
    [TOP_ID] = "id",
    [TOP_METHOD] = "method",
    [TOP_PARAMS] = "params",
    [TOP_RESULT] = "result",
    [TOP_ERROR] = "error",
};

static const char *const param_names[] = {
    [PARAM_NAME] = "name",
    [PARAM_URI] = "uri",
    [PARAM_REF] = "ref",
    [PARAM_REQUEST_ID] = "requestId",
    [PARAM_META] = "_meta",
    [PARAM_CAPABILITIES] = "capabilities",
    [PARAM_VERSION] = "protocolVersion",
    [PARAM_NOTIFICATIONS] = "notifications",
    [PARAM_ARGUMENTS] = "arguments",
    [PARAM_INPUTS] = "inputRequests",
    [PARAM_TASK] = "task",
};

static const char *const result_names[] = {
    [RESULT_TOOLS] = "tools",
    [RESULT_RESOURCES] = "resources",
    [RESULT_TEMPLATES] = "resourceTemplates",
    [RESULT_PROMPTS] = "prompts",
    [RESULT_INPUTS] = "inputRequests",
    [RESULT_VERSION] = "protocolVersion",
    [RESULT_INSTRUCTIONS] = "instructions",
    [RESULT_SERVER_INFO] = "serverInfo",
    [RESULT_CAPABILITIES] = "capabilities",
    [RESULT_META] = "_meta",
    [RESULT_TASK] = "task",
};

static const char *const error_names[] = {
    [ERROR_CODE] = "code",
};

/* ---- strings ------------------------------------------------------------ */

/* Finds the first byte that needs attention: a quote, a backslash, a control byte or
 * the start of a longer UTF-8 sequence. */
static inline const uint8_t *
skip_plain(const uint8_t *p, const uint8_t *end)
{
#ifdef __SSE2__
	const __m128i quote = _mm_set1_epi8('"'), back = _mm_set1_epi8('\\');
	const __m128i low = _mm_set1_epi8(0x1f);

	for (; end - p >= 16; p += 16) {
		__m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
		__m128i odd = _mm_or_si128(
		    _mm_or_si128(_mm_cmpeq_epi8(v, quote), _mm_cmpeq_epi8(v, back)),
		    _mm_or_si128(_mm_cmpeq_epi8(_mm_min_epu8(v, low), v), v));
		unsigned int bits = (unsigned int)_mm_movemask_epi8(odd);

		if (bits != 0)
			return p + __builtin_ctz(bits);
	}
#else
	for (; end - p >= 8; p += 8) {
		uint64_t w, q, b;

		memcpy(&w, p, sizeof(w));
		q = w ^ (ONES * '"');
		b = w ^ (ONES * '\\');
		if (((((w - ONES * 0x20) & ~w) | ((q - ONES) & ~q) | ((b - ONES) & ~b) |
			 w) &
			HIGHS) != 0)
			break;
	}
#endif
	while (p < end && *p >= 0x20 && *p < 0x80 && *p != '"' && *p != '\\')
		p++;
	return p;
}

/* Length of the UTF-8 sequence at p, or 0 if it is invalid (overlong, surrogate,
 * above U+10FFFF, truncated). */
size_t
json_utf8(const uint8_t *p, const uint8_t *end)
{
	size_t n = *p < 0xc2 ? 0 : *p < 0xe0 ? 2 : *p < 0xf0 ? 3 : *p < 0xf5 ? 4 : 0;
	uint8_t low = 0x80, high = 0xbf;

	if (n == 0 || (size_t)(end - p) < n)
		return 0;
	if (*p == 0xe0)
		low = 0xa0;
	if (*p == 0xed)
		high = 0x9f;
	if (*p == 0xf0)
		low = 0x90;
	if (*p == 0xf4)
		high = 0x8f;
	if (p[1] < low || p[1] > high)
		return 0;
	for (size_t i = 2; i < n; i++)
		if (p[i] < 0x80 || p[i] > 0xbf)
			return 0;
	return n;
}

static int
scan_escape(struct scan *s)
{
	if (++s->p >= s->end)
		return -EBADMSG;
	if (*s->p == 'u') {
		if (json_hex4(s->p + 1, s->end) < 0)
			return -EBADMSG;
		s->p += 5;
		return 0;
	}
	if (*s->p == 0 || strchr("\"\\/bfnrt", *s->p) == NULL)
		return -EBADMSG;
	s->p++;
	return 0;
}

/* Scans from the opening quote to after the closing one. */
static int
scan_string(struct scan *s, bool *ret_escaped)
{
	size_t n;
	int r;

	*ret_escaped = false;
	for (s->p++;;) {
		s->p = skip_plain(s->p, s->end);
		if (s->p >= s->end || *s->p < 0x20)
			return -EBADMSG;
		if (*s->p == '"') {
			s->p++;
			return 0;
		}
		if (*s->p == '\\') {
			*ret_escaped = true;
			if ((r = scan_escape(s)) < 0)
				return r;
			continue;
		}
		do { /* text that is not ASCII comes in runs */
			if ((n = json_utf8(s->p, s->end)) == 0)
				return -EILSEQ;
			s->p += n;
		} while (s->p < s->end && *s->p >= 0x80);
	}
}

/* ---- numbers and literals ----------------------------------------------- */

static inline bool
digit(const struct scan *s)
{
	return s->p < s->end && *s->p >= '0' && *s->p <= '9';
}

static int
digits(struct scan *s)
{
	if (!digit(s))
		return -EBADMSG;
	while (digit(s))
		s->p++;
	return 0;
}

static int
scan_number(struct scan *s)
{
	if (*s->p == '-')
		s->p++;
	if (s->p < s->end && *s->p == '0')
		s->p++;
	else if (digits(s) < 0)
		return -EBADMSG;
	if (s->p < s->end && *s->p == '.') {
		s->p++;
		if (digits(s) < 0)
			return -EBADMSG;
	}
	if (s->p < s->end && (*s->p | 0x20) == 'e') {
		s->p++;
		if (s->p < s->end && (*s->p == '+' || *s->p == '-'))
			s->p++;
		if (digits(s) < 0)
			return -EBADMSG;
	}
	return 0;
}

static const struct word {
	const char *text;
	size_t len;
	enum json_type type;
} words[] = {
    {"true", 4, JSON_IS_TRUE},
    {"false", 5, JSON_IS_FALSE},
    {"null", 4, JSON_IS_NULL},
};

static int
scan_word(struct scan *s, enum json_type *ret_type)
{
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		const struct word *w = &words[i];

		if ((size_t)(s->end - s->p) < w->len ||
		    memcmp(s->p, w->text, w->len) != 0)
			continue;
		s->p += w->len;
		*ret_type = w->type;
		return 0;
	}
	return -EBADMSG;
}

static inline void
space(struct scan *s)
{
	while (s->p < s->end &&
	       (*s->p == ' ' || *s->p == '\t' || *s->p == '\n' || *s->p == '\r'))
		s->p++;
}

/* ---- keys --------------------------------------------------------------- */

/* Index of the name that equals this key, or -1; flags one that differs only in
 * case. */
static int
key_find(struct level level, const char *text, size_t len, bool *ret_twin)
{
	for (size_t i = 0; i < level.n; i++) {
		size_t n = strlen(level.name[i]);

		if (n == len && memcmp(level.name[i], text, n) == 0)
			return (int)i;
	}
	for (size_t i = 0; i < level.n; i++)
		if (json_folds(text, len, level.name[i]))
			*ret_twin = true;
	return -1;
}

static void
keys_begin(void)
{
	if (++keys_turn == 0) { /* on wrap-around, no row may look current */
		memset(keys, 0, sizeof(keys));
		keys_turn = 1;
	}
	keys[0].n = keys[1].n = 0;
}

/* True if this level has already had the key. Compares hashes: a collision only
 * refuses the message. */
static bool
key_again(struct scan *s, unsigned int level, const char *text, size_t len)
{
	struct keys *k = &keys[level];
	uint64_t h = hash64(HASH64_START, text, len);
	size_t row;

	for (size_t i = 0; i < k->n && i < KEYS_FEW; i++)
		if (k->few[i] == h)
			return true;
	if (k->n < KEYS_FEW) {
		k->few[k->n++] = h;
		return false;
	}
	for (row = (size_t)(h ^ h >> 32); k->turn[row % KEY_ROWS] == keys_turn; row++)
		if (k->hash[row % KEY_ROWS] == h)
			return true;
	if (k->n == JSON_KEYS_MAX) {
		s->m->flags |= JSON_TOO_MANY;
		return false;
	}
	k->n++;
	k->turn[row % KEY_ROWS] = keys_turn;
	k->hash[row % KEY_ROWS] = h;
	return false;
}

static void
note_top(struct scan *s, const struct json *key)
{
	const struct level level = {top_names, TOP_N};
	char memory[JSON_KEY_MAX];
	bool twin = false;
	size_t len;
	const char *text = json_key_text(key, memory, &len);
	int i = text == NULL ? -1 : key_find(level, text, len, &twin);

	if (text == NULL) {
		text = (const char *)key->at;
		len = key->len;
	}
	if (twin || key_again(s, 0, text, len))
		s->m->flags |= JSON_TOP_TWICE;
	s->top = i < 0 ? TOP_N : (enum json_top)i;
	s->field[1] = i < 0 ? NULL : &s->m->top[i];
}

static void
note_member(struct scan *s, const struct json *key)
{
	const struct members {
		struct level level;
		struct json *field;
		unsigned int flag;
	} table[TOP_N + 1] = {
	    [TOP_PARAMS] = {{param_names, PARAM_N}, s->m->param, JSON_PARAM_TWICE},
	    [TOP_RESULT] = {{result_names, RESULT_N}, s->m->result, JSON_RESULT_TWICE},
	    [TOP_ERROR] = {{error_names, ERROR_N}, s->m->error, JSON_RESULT_TWICE},
	};
	const struct members *t = &table[s->top];
	char memory[JSON_KEY_MAX];
	bool twin = false;
	const char *text;
	size_t len;
	int i;

	s->field[2] = NULL;
	if (t->field == NULL)
		return;
	if ((text = json_key_text(key, memory, &len)) == NULL) {
		text = (const char *)key->at;
		len = key->len;
		i = -1;
	} else
		i = key_find(t->level, text, len, &twin);
	if (twin || (i >= 0 && t->field[i].type != JSON_IS_NONE) ||
	    (s->top == TOP_PARAMS && key_again(s, 1, text, len)))
		s->m->flags |= t->flag;
	if (i >= 0)
		s->field[2] = &t->field[i];
}

/* ---- the pass ----------------------------------------------------------- */

static inline bool
in_object(const struct scan *s)
{
	return s->depth > 0 && (s->object[s->depth / 64] >> (s->depth % 64) & 1) != 0;
}

/* Where to store the value that begins here; NULL: nowhere. */
static inline struct json *
value_kept(struct scan *s)
{
	if (s->depth == 0)
		return &s->m->root;
	return s->depth <= 2 && in_object(s) ? s->field[s->depth] : NULL;
}

static inline void
value_begins(struct scan *s, enum json_type type)
{
	struct json *f = value_kept(s);

	if (f != NULL) {
		f->at = s->p;
		f->type = type;
	}
}

static inline void
value_ends(struct scan *s)
{
	struct json *f = value_kept(s);

	if (f != NULL)
		f->len = (size_t)(s->p - f->at);
}

static int
scan_key(struct scan *s)
{
	struct json key = {.at = s->p, .type = JSON_IS_STRING};
	bool escaped;
	int r;

	if (s->p >= s->end || *s->p != '"')
		return -EBADMSG;
	if ((r = scan_string(s, &escaped)) < 0)
		return r;
	key.len = (size_t)(s->p - key.at);
	if (s->depth == 1)
		note_top(s, &key);
	else if (s->depth == 2)
		note_member(s, &key);
	space(s);
	if (s->p >= s->end || *s->p != ':')
		return -EBADMSG;
	s->p++;
	space(s);
	return 0;
}

static int
scan_open(struct scan *s, bool object)
{
	uint64_t bit;

	value_begins(s, object ? JSON_IS_OBJECT : JSON_IS_ARRAY);
	if (s->depth == MCP_DEPTH_MAX)
		return -E2BIG;
	s->depth++;
	bit = 1ull << (s->depth % 64);
	if (object)
		s->object[s->depth / 64] |= bit;
	else
		s->object[s->depth / 64] &= ~bit;
	if (s->depth == 2)
		s->field[2] = NULL;
	s->p++;
	space(s);
	return 0;
}

static int
scan_scalar(struct scan *s)
{
	const uint8_t *at = s->p;
	enum json_type type = JSON_IS_NUMBER;
	bool escaped;
	int r;

	value_begins(s, JSON_IS_NUMBER);
	if (*s->p == '"') {
		r = scan_string(s, &escaped);
		type = JSON_IS_STRING;
	} else if (*s->p == '-' || (*s->p >= '0' && *s->p <= '9'))
		r = scan_number(s);
	else
		r = scan_word(s, &type);
	if (r < 0)
		return r;
	if (s->depth <= 2) {
		const uint8_t *end = s->p;

		s->p = at;
		value_begins(s, type);
		s->p = end;
		value_ends(s);
	}
	return 0;
}

/* After a value: closes what ends here, up to the next value or the end. */
static int
scan_after(struct scan *s)
{
	for (;;) {
		bool object = in_object(s);

		space(s);
		if (s->depth == 0)
			return s->p == s->end ? 0 : -EBADMSG;
		if (s->p >= s->end)
			return -EBADMSG;
		if (*s->p == ',') {
			s->p++;
			space(s);
			return object ? scan_key(s) : 0;
		}
		if (*s->p != (object ? '}' : ']'))
			return -EBADMSG;
		s->p++;
		s->depth--;
		value_ends(s);
	}
}

static int
scan_all(struct scan *s)
{
	int r;

	space(s);
	do {
		if (s->p >= s->end)
			return -EBADMSG;
		if (*s->p != '{' && *s->p != '[') {
			if ((r = scan_scalar(s)) < 0)
				return r;
		} else {
			bool object = *s->p == '{';

			if ((r = scan_open(s, object)) < 0)
				return r;
			if (s->p < s->end && *s->p != (object ? '}' : ']')) {
				if (object && (r = scan_key(s)) < 0)
					return r;
				continue;
			}
		}
		if ((r = scan_after(s)) < 0)
			return r;
	} while (s->depth > 0);
	return 0;
}

int
json_scan(const uint8_t *bytes, size_t len, struct json_message *ret)
{
	struct scan s;
	int r;

	s.p = bytes;
	s.end = bytes + len;
	s.m = ret;
	s.depth = 0;
	s.field[1] = s.field[2] = NULL;
	s.top = TOP_N;
	keys_begin();
	memset(s.object, 0, sizeof(s.object));
	memset(ret, 0, sizeof(*ret));
	r = scan_all(&s);
	ret->stop = (size_t)(s.p - bytes);
	return r;
}
