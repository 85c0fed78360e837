/*
 * The words of names (secret_name.h).
 */
#include "policy/tokens/secret_name.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "shim/base/array.h"

enum word_kind {
	WORD_OTHER,
	WORD_SECRET,
	WORD_SECRETS,   /* of many, or of none: MAX_TOKENS */
	WORD_SURE,      /* its value has any form: a PIN is a number */
	WORD_ATTRIBUTE, /* as the last word: what the value is, instead of a secret */
	WORD_QUANTITY,
	WORD_KNOWN, /* before KEY: one that is no secret */
};

static const struct {
	const char *text;
	enum word_kind is;
} words[] = {
    {"TOKEN", WORD_SECRET},
    {"KEY", WORD_SECRET},
    {"AUTH", WORD_SECRET},
    {"AUTHORIZATION", WORD_SECRET},
    {"DSN", WORD_SECRET},
    {"PWD", WORD_SECRET},
    {"PAT", WORD_SECRET},
    {"JWT", WORD_SECRET},
    {"BEARER", WORD_SECRET},
    {"COOKIE", WORD_SECRET},
    {"TOKENS", WORD_SECRETS},
    {"KEYS", WORD_SECRETS},
    {"SECRETS", WORD_SECRETS},
    {"PASSWORDS", WORD_SECRETS},
    {"APIKEYS", WORD_SECRETS},
    {"PASS", WORD_SURE},
    {"PASSCODE", WORD_SURE},
    {"PASSPHRASE", WORD_SURE},
    {"PIN", WORD_SURE},
    {"CRED", WORD_SURE},
    {"CREDS", WORD_SURE},
    {"CREDENTIAL", WORD_SURE},
    {"CREDENTIALS", WORD_SURE},
    {"TYPE", WORD_ATTRIBUTE},
    {"MODE", WORD_ATTRIBUTE},
    {"METHOD", WORD_ATTRIBUTE},
    {"SCHEME", WORD_ATTRIBUTE},
    {"NAME", WORD_ATTRIBUTE},
    {"FILE", WORD_ATTRIBUTE},
    {"PATH", WORD_ATTRIBUTE},
    {"DIR", WORD_ATTRIBUTE},
    {"URL", WORD_ATTRIBUTE},
    {"URI", WORD_ATTRIBUTE},
    {"HOST", WORD_ATTRIBUTE},
    {"PORT", WORD_ATTRIBUTE},
    {"ENDPOINT", WORD_ATTRIBUTE},
    {"ISSUER", WORD_ATTRIBUTE},
    {"AUDIENCE", WORD_ATTRIBUTE},
    {"SCOPE", WORD_ATTRIBUTE},
    {"SCOPES", WORD_ATTRIBUTE},
    {"USER", WORD_ATTRIBUTE},
    {"USERNAME", WORD_ATTRIBUTE},
    {"EMAIL", WORD_ATTRIBUTE},
    {"REGION", WORD_ATTRIBUTE},
    {"PROVIDER", WORD_ATTRIBUTE},
    {"ALGORITHM", WORD_ATTRIBUTE},
    {"FORMAT", WORD_ATTRIBUTE},
    {"PREFIX", WORD_ATTRIBUTE},
    {"LENGTH", WORD_ATTRIBUTE},
    {"SIZE", WORD_ATTRIBUTE},
    {"TTL", WORD_ATTRIBUTE},
    {"TIMEOUT", WORD_ATTRIBUTE},
    {"EXPIRY", WORD_ATTRIBUTE},
    {"LIMIT", WORD_QUANTITY},
    {"COUNT", WORD_QUANTITY},
    {"MAX", WORD_QUANTITY},
    {"MAXIMUM", WORD_QUANTITY},
    {"MIN", WORD_QUANTITY},
    {"MINIMUM", WORD_QUANTITY},
    {"NUM", WORD_QUANTITY},
    {"TOTAL", WORD_QUANTITY},
    {"PER", WORD_QUANTITY},
    {"PUBLIC", WORD_KNOWN},
    {"PRIMARY", WORD_KNOWN},
    {"FOREIGN", WORD_KNOWN},
    {"PARTITION", WORD_KNOWN},
    {"SORT", WORD_KNOWN},
};

/* Words that others are written in one with: GITHUBTOKEN, PGPASSWORD, apikey. Shorter ones
 * are the end of ordinary words, too: COMPASS, MONKEY. */
static const struct {
	const char *text;
	enum word_kind is;
} ends[] = {
    {"TOKEN", WORD_SECRET},
    {"APIKEY", WORD_SECRET},
    {"ACCESSKEY", WORD_SECRET},
    {"AUTHKEY", WORD_SECRET},
    {"PRIVATEKEY", WORD_SECRET},
    {"SECRETKEY", WORD_SECRET},
    {"SECRET", WORD_SURE},
    {"PASSWORD", WORD_SURE},
    {"PASSWD", WORD_SURE},
    {"PASSPHRASE", WORD_SURE},
};

static enum word_kind
kind_of(const char *word, size_t len)
{
	while (len > 1 && isdigit((unsigned char)word[len - 1]))
		len--; /* TOKEN2 */
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strlen(words[i].text) == len &&
		    strncasecmp(words[i].text, word, len) == 0)
			return words[i].is;
	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		size_t n = strlen(ends[i].text);

		if (len >= n && strncasecmp(word + len - n, ends[i].text, n) == 0)
			return ends[i].is;
	}
	return WORD_OTHER;
}

/* Does a word begin at i: apiKey, APIKey? */
static bool
begins_word(const char *name, size_t len, size_t i)
{
	unsigned char before = (unsigned char)name[i - 1], c = (unsigned char)name[i];

	if (!isupper(c))
		return false;
	return islower(before) || isdigit(before) ||
	       (isupper(before) && i + 1 < len && islower((unsigned char)name[i + 1]));
}

/* The length of the word at name. */
static size_t
word_len(const char *name, size_t len)
{
	size_t n = 1;

	while (n < len && isalnum((unsigned char)name[n]) && !begins_word(name, len, n))
		n++;
	return n;
}

enum secret_name
secret_name(const char *name, size_t len)
{
	enum word_kind is = WORD_OTHER, last = WORD_OTHER;
	bool one = false, many = false, quantity = false;

	for (size_t at = 0, n; at < len; at += n) {
		n = 1;
		if (!isalnum((unsigned char)name[at]))
			continue;
		n = word_len(name + at, len - at);
		is = kind_of(name + at, n);
		one |= is == WORD_SURE || (is == WORD_SECRET && last != WORD_KNOWN);
		many |= is == WORD_SECRETS;
		quantity |= is == WORD_QUANTITY;
		last = is;
	}
	if (last == WORD_SURE)
		return SECRET_NAME_SURE;
	if (last == WORD_ATTRIBUTE || (quantity && last == WORD_QUANTITY))
		return SECRET_NAME_NONE;
	return one || (many && !quantity) ? SECRET_NAME : SECRET_NAME_NONE;
}
