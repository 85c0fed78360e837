/*
 * Finds credentials that are not values from the vault but have the format of a
 * known kind: a fixed prefix and what must follow it.  If the format has a checksum
 * it is verified, which excludes other text.
 *
 * The prefilter finds the prefixes by their hooks (prefilter.h): three bytes each,
 * chosen to be rare in ordinary text.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "leash/scrub/private.h"
#include "shim/base/array.h"
#include "shim/base/token_checksum.h"

#define TOKEN_MAX  4096 /* bytes on one line; a longer run is not a credential */
#define PREFIX_MAX 24   /* bytes; the longest prefix */

enum check { CHECK_NONE, CHECK_CRC, CHECK_JWT, CHECK_PEM };

/* A prefix, then min to max characters of the class, not followed by another. */
struct token {
	const char *name, *prefix;
	enum class { ALNUM, WORD, UPPER, HEX } class;
	uint16_t min, max;
	enum check check;
};

/* Formats as their makers document them.  The last six characters of GitHub's and
 * npm's tokens are the CRC32 of the thirty before, in base 62. */
static const struct token tokens[] = {
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
#define TOKENS (ARRAY_LEN(tokens))

_Static_assert(TOKENS <= SCRUB_CREDENTIALS_MAX, "scrub counts them");

const char *
scrub_credential(uint32_t number)
{
	return number < TOKENS ? tokens[number].name : NULL;
}

const char *
credentials_mask(uint32_t number)
{
	static char mask[64];

	(void)snprintf(mask, sizeof(mask), "[REDACTED:%s]", tokens[number].name);
	return mask;
}

bool
credentials_free(uint32_t number)
{
	return number < TOKENS && tokens[number].check == CHECK_PEM;
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

/* header.payload.signature at text[n]; the first two must be JSON objects. */
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

/* The credential at text[n], whose prefix matches: its length, NONE or OPEN. */
static int
follow(const struct token *s, const uint8_t *text, size_t n, bool last)
{
	size_t prefix = strlen(s->prefix), run;

	if (s->check == CHECK_JWT)
		return jwt(text, n, last);
	if (s->check == CHECK_PEM)
		return pem_key(text, n, last);
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

/* ---- what may precede --------------------------------------------------------- */

/* The k-th byte before text[at]; k is 1 for the nearest. */
static uint8_t
back(const struct credential_search *c, const uint8_t *text, size_t at, size_t k)
{
	if (k <= at)
		return text[at - k];
	return k - at <= CREDENTIAL_BEFORE ? c->before[CREDENTIAL_BEFORE - (k - at)] : 0;
}

/* Counts digits of a base, at most max, that end right before text[at]; their value is
 * in *ret. */
static size_t
digits_back(const struct credential_search *c, const uint8_t *text, size_t at,
    unsigned int base, size_t max, uint32_t *ret)
{
	uint32_t value = 0, one = 1;
	size_t k;
	int d;

	for (k = 0; k < max; k++, one *= base) {
		d = decode_hex_digit(back(c, text, at, k + 1));
		if (d < 0 || (unsigned int)d >= base)
			break;
		value += (uint32_t)d * one;
	}
	*ret = value;
	return k;
}

/* An escape: these bytes (given in reverse order), then this many digits.  True if it
 * encodes neither a letter nor a digit. */
static bool
is_escape(const struct credential_search *c, const uint8_t *text, size_t at,
    unsigned int base, size_t digits, const char *reversed)
{
	uint32_t value;
	size_t k;

	if (digits_back(c, text, at, base, digits, &value) < digits)
		return false;
	for (k = 0; reversed[k] != '\0'; k++)
		if (back(c, text, at, digits + 1 + k) != (uint8_t)reversed[k])
			return false;
	return value > 0x7f || !is_in(ALNUM, (uint8_t)value);
}

/* "%22", also as "%2522", with its percent sign escaped any number of times. */
static bool
is_percent(const struct credential_search *c, const uint8_t *text, size_t at)
{
	size_t k = 0;

	while (k < CREDENTIAL_BEFORE && back(c, text, at, k + 3) == '5' &&
	       back(c, text, at, k + 4) == '2')
		k += 2;
	return back(c, text, at, k + 3) == '%' && is_escape(c, text, at, 16, 2, "");
}

/* The end of a terminal's color sequence: "[0;31m". */
static bool
is_colour(const struct credential_search *c, const uint8_t *text, size_t at)
{
	size_t k = 2;
	uint8_t byte = back(c, text, at, k);

	while (k < CREDENTIAL_BEFORE && ((byte >= '0' && byte <= '9') || byte == ';' ||
					    byte == ':' || byte == '?'))
		byte = back(c, text, at, ++k);
	return byte == '[';
}

/* "&#34" and "&#x22", which browsers accept without a semicolon. */
static bool
is_entity(const struct credential_search *c, const uint8_t *text, size_t at)
{
	uint32_t value;
	size_t k = digits_back(c, text, at, 16, 6, &value);

	if (k > 0 && back(c, text, at, k + 1) == 'x' && back(c, text, at, k + 2) == '#' &&
	    back(c, text, at, k + 3) == '&')
		return value > 0x7f || !is_in(ALNUM, (uint8_t)value);
	k = digits_back(c, text, at, 10, 7, &value);
	return k > 0 && back(c, text, at, k + 1) == '#' &&
	       back(c, text, at, k + 2) == '&' &&
	       (value > 0x7f || !is_in(ALNUM, (uint8_t)value));
}

/* Is the letter or digit before text[at] the last one of an escape? */
static bool
is_after_escape(const struct credential_search *c, const uint8_t *text, size_t at)
{
	return back(c, text, at, 2) == '\\' || is_escape(c, text, at, 16, 4, "u\\") ||
	       is_escape(c, text, at, 16, 2, "x\\") ||
	       is_escape(c, text, at, 8, 3, "\\") ||
	       is_escape(c, text, at, 16, 8, "U\\") ||
	       is_escape(c, text, at, 16, 2, "=") || is_percent(c, text, at) ||
	       is_colour(c, text, at) || is_entity(c, text, at);
}

/* A credential cannot begin after a letter or digit, unless that byte ends an escape
 * or the prefix begins with dashes. */
static bool
is_start(const struct credential_search *c, const uint8_t *text, size_t at)
{
	return !is_in(ALNUM, back(c, text, at, 1)) || text[at] == '-' ||
	       is_after_escape(c, text, at);
}

void
credentials_bytes(bool byte[static 256])
{
	for (int c = 0; c < 256; c++)
		byte[c] |= is_in(WORD, (uint8_t)c);
	byte['.'] = true;
}

/* ---- where one may begin ----------------------------------------------------------- */

/* Each prefix contains one of these.  The hooks of a group share its bit, so the
 * prefilter also stops at any mixture of their bytes: a group combines hooks whose
 * mixtures are rare in words and in names with underscores. */
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
#define HOOKS (ARRAY_LEN(hooks))

void
credentials_hooks(struct net *net)
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
	for (i = 0; i < TOKENS; i++) {
		const char *at = NULL;

		for (k = 0; k < HOOKS && at == NULL; k++)
			at = strstr(tokens[i].prefix, hooks[k].three);
		if (at == NULL)
			abort(); /* a prefix without a hook would never be found */
		net->hook_at[i] = (uint8_t)(at - tokens[i].prefix);
	}
}

/* The offset at which a credential begins whose hook is at text[place], and its format
 * in *ret_which; SIZE_MAX if not found.  All bytes of the hook are in the text. */
static size_t
beginning(const struct net *net, const struct credential_search *c, const uint8_t *text,
    size_t n, size_t place, size_t *ret_which)
{
	size_t i, len, from;

	for (i = 0; i < TOKENS; i++) {
		const char *prefix = tokens[i].prefix, *hook = prefix + net->hook_at[i];

		if (text[place] != (uint8_t)hook[0] ||
		    text[place + 1] != (uint8_t)hook[1] ||
		    text[place + 2] != (uint8_t)hook[2] || place < net->hook_at[i])
			continue;
		len = strlen(prefix);
		from = place - net->hook_at[i];
		if (n - from < len || memcmp(text + from, prefix, len) != 0 ||
		    !is_start(c, text, from))
			continue;
		*ret_which = i;
		return from;
	}
	return SIZE_MAX;
}

static int
find_one(const struct net *net, struct credential_search *c, const uint8_t *text,
    size_t n, size_t place, struct hits *hits)
{
	size_t which, from = beginning(net, c, text, n, place, &which);
	int len;

	if (from == SIZE_MAX || from < c->done)
		return 0;
	c->key |= tokens[which].check == CHECK_PEM;
	len = follow(&tokens[which], text + from, n - from, c->last);
	if (len == OPEN && from < c->open)
		c->open = from;
	if (len <= 0)
		return 0;
	c->done = from + (size_t)len;
	return hits_add(hits, from, c->done, (uint32_t)which | HIT_CREDENTIAL);
}

int
credentials_find(const struct net *net, struct credential_search *c, const uint8_t *text,
    size_t n, size_t at, const uint64_t hook[static SIEVE_WORDS], struct hits *hits)
{
	uint64_t bits;
	int i, r = 0;

	for (i = 0; i < SIEVE_WORDS; i++)
		for (bits = hook[i]; bits != 0 && r == 0; bits &= bits - 1)
			r = find_one(net, c, text, n,
			    at + (size_t)i * 64 + (size_t)__builtin_ctzll(bits), hits);
	return r;
}

bool
credentials_whole(const uint8_t *text, size_t n)
{
	for (size_t i = 0; i < TOKENS; i++) {
		size_t len = strlen(tokens[i].prefix);

		if (n > len && memcmp(text, tokens[i].prefix, len) == 0 &&
		    follow(&tokens[i], text, n, true) == (int)n)
			return true;
	}
	return false;
}

static bool
prefix_open(const uint8_t *text, size_t n)
{
	for (size_t i = 0; i < TOKENS; i++)
		if (text[0] == (uint8_t)tokens[i].prefix[0] &&
		    n < strlen(tokens[i].prefix) &&
		    memcmp(text, tokens[i].prefix, n) == 0)
			return true;
	return false;
}

size_t
credentials_tail(const struct credential_search *c, const uint8_t *text, size_t n)
{
	size_t at = n > PREFIX_MAX ? n - PREFIX_MAX : 0;

	for (; at < n && at < c->open; at++)
		if (prefix_open(text + at, n - at) && is_start(c, text, at))
			return at;
	return c->open < n ? c->open : n;
}
