/*
 * Credentials that are no value of ours but look like one of a known kind: a
 * fixed beginning and what must follow it.  Where the kind has a checksum it
 * is computed, so that nothing else is taken for it.
 *
 * The beginnings are found by their hooks, for which the sieve looks (sieve.h):
 * three bytes each, such that there are few of them in ordinary text.
 */
#include <stdlib.h>
#include <string.h>

#include "leash/scrub/private.h"
#include "shim/base/token_checksum.h"

#define TOKEN_MAX  4096  /* of one line; a longer run is no credential */
#define PREFIX_MAX 24    /* no beginning is longer */
#define PEM_MAX    16384 /* a key of RSA with 8192 bits has 6.4 KB */

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

bool
shapes_free(uint32_t number)
{
	return number < SHAPES && shapes[number].check == CHECK_PEM;
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

/* ---- where one may begin ----------------------------------------------------------- */

/* Each beginning has one of these in it.  Those of a group share its bit, so that
 * the sieve stops at any mixture of theirs: together stand such as make up few
 * words, and few names with underscores. */
static const struct {
	char three[SIEVE_HOOK + 1];
	uint8_t group;
} hooks[] = {
    {"hp_", 0},
    {"ho_", 0},
    {"hu_", 0},
    {"hs_", 0},
    {"hr_", 0},
    {"hf_", 0},
    {"b_p", 1},
    {"k_l", 1},
    {"p_v", 1},
    {"vs.", 2},
    {"SG.", 2},
    {"pm_", 2},
    {"xb-", 3},
    {"xp-", 3},
    {"xa-", 3},
    {"pp-", 3},
    {"sk-", 3},
    {"-BE", 4},
    {"-Ag", 4},
    {"-SE", 4},
    {"KIA", 5},
    {"SIA", 5},
    {"Iza", 6},
    {"lpa", 6},
    {"hpa", 6},
    {"eyJ", 7},
};
#define HOOKS (sizeof(hooks) / sizeof(hooks[0]))

void
shapes_hooks(struct net *net)
{
	size_t i, k;

	for (i = 0; i < HOOKS; i++)
		for (k = 0; k < SIEVE_HOOK; k++) {
			uint8_t c = (uint8_t)hooks[i].three[k];
			uint8_t group = (uint8_t)(1u << hooks[i].group);

			net->hook[k][c] |= group;
			net->hooks[k].low[c & 15] |= group;
			net->hooks[k].high[c >> 4] |= group;
		}
	for (i = 0; i < SHAPES; i++) {
		const char *at = NULL;

		for (k = 0; k < HOOKS && at == NULL; k++)
			at = strstr(shapes[i].prefix, hooks[k].three);
		if (at == NULL)
			abort(); /* it would never be found */
		net->hook_at[i] = (uint8_t)(at - shapes[i].prefix);
	}
}

/* The hook at text[place], of which all bytes are there: where one begins with it,
 * and *ret_which; SIZE_MAX if none does. */
static size_t
beginning(const struct net *net, const struct shaping *c, const uint8_t *text, size_t n,
    size_t place, size_t *ret_which)
{
	size_t i, len, from;

	for (i = 0; i < SHAPES; i++) {
		const char *prefix = shapes[i].prefix, *hook = prefix + net->hook_at[i];

		if (text[place] != (uint8_t)hook[0] ||
		    text[place + 1] != (uint8_t)hook[1] ||
		    text[place + 2] != (uint8_t)hook[2] || place < net->hook_at[i])
			continue;
		len = strlen(prefix);
		from = place - net->hook_at[i];
		if (n - from < len || memcmp(text + from, prefix, len) != 0 ||
		    !is_start(text, from, c->before))
			continue;
		*ret_which = i;
		return from;
	}
	return SIZE_MAX;
}

static int
find_one(const struct net *net, struct shaping *c, const uint8_t *text, size_t n,
    size_t place, struct hits *hits)
{
	size_t which, from = beginning(net, c, text, n, place, &which);
	int len;

	if (from == SIZE_MAX || from < c->done)
		return 0;
	len = follow(&shapes[which], text + from, n - from, c->last);
	if (len == OPEN && from < c->open)
		c->open = from;
	if (len <= 0)
		return 0;
	c->done = from + (size_t)len;
	return hits_add(hits, from, c->done, (uint32_t)which | HIT_SHAPE);
}

int
shapes_find(const struct net *net, struct shaping *c, const uint8_t *text, size_t n,
    size_t at, const uint64_t hook[static SIEVE_WORDS], struct hits *hits)
{
	uint64_t bits;
	int i, r = 0;

	for (i = 0; i < SIEVE_WORDS; i++)
		for (bits = hook[i]; bits != 0 && r == 0; bits &= bits - 1)
			r = find_one(net, c, text, n,
			    at + (size_t)i * 64 + (size_t)__builtin_ctzll(bits), hits);
	return r;
}

static bool
prefix_open(const uint8_t *text, size_t n)
{
	for (size_t i = 0; i < SHAPES; i++)
		if (text[0] == (uint8_t)shapes[i].prefix[0] &&
		    n < strlen(shapes[i].prefix) &&
		    memcmp(text, shapes[i].prefix, n) == 0)
			return true;
	return false;
}

size_t
shapes_tail(const struct shaping *c, const uint8_t *text, size_t n)
{
	size_t at = n > PREFIX_MAX ? n - PREFIX_MAX : 0;

	for (; at < n && at < c->open; at++)
		if (is_start(text, at, c->before) && prefix_open(text + at, n - at))
			return at;
	return c->open < n ? c->open : n;
}
