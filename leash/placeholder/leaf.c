/*
 * A text without lines or fields: what is drawn for it.
 */
#include <ctype.h>
#include <string.h>

#include "leash/placeholder/private.h"
#include "policy/tokens/token_format.h"
#include "shim/base/token_checksum.h"

#define TRIES      32 /* until each kind of character occurs again */
#define HEX_MIN    8  /* digits and letters up to f: below, they are any letters */
#define LABEL_MAX  20 /* characters of a host's label; a longer one may be a token */
#define UNREAD_LEN 40

static const char lower[] = "abcdefghijklmnopqrstuvwxyz";
static const char upper[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
static const char digit[] = "0123456789";
static const char base64[] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/";
/* none of them ends a string, a word or a comment anywhere */
static const char symbol[] = "!*^~";
static const char separators[] = " \t-_.:/@=,;&?+%";

enum kinds { LOWER = 1, UPPER = 2, DIGIT = 4, SYMBOL = 8, HIGH = 16 };

/* ---- what a text consists of -------------------------------------------------------- */

static bool
is_separator(uint8_t c)
{
	return c != '\0' && strchr(separators, c) != NULL;
}

static enum kinds
kind_of(uint8_t c)
{
	return c >= 0x80    ? HIGH
	       : islower(c) ? LOWER
	       : isupper(c) ? UPPER
	       : isdigit(c) ? DIGIT
			    : SYMBOL;
}

/* The kinds that occur, without separators, and their bytes. */
static unsigned int
kinds_of(const uint8_t *text, size_t len, size_t *ret_n)
{
	unsigned int kinds = 0;

	*ret_n = 0;
	for (size_t i = 0; i < len; i++) {
		if (is_separator(text[i]))
			continue;
		kinds |= kind_of(text[i]);
		*ret_n += 1;
	}
	return kinds;
}

/* Only digits and letters up to f, in one case? */
static bool
is_hex(const uint8_t *text, size_t len, unsigned int kinds, size_t n)
{
	if (n < HEX_MIN || (kinds != (LOWER | DIGIT) && kinds != (UPPER | DIGIT)))
		return false;
	for (size_t i = 0; i < len; i++)
		if (!is_separator(text[i]) && !isxdigit(text[i]))
			return false;
	return true;
}

/* ---- drawing ------------------------------------------------------------------------- */

#define ALPHABET_MAX 80

static void
add(char alphabet[ALPHABET_MAX], const char *more, size_t n)
{
	size_t len = strlen(alphabet);

	memcpy(alphabet + len, more, n);
	alphabet[len + n] = '\0';
}

static void
alphabet_of(unsigned int kinds, bool hex, char ret[ALPHABET_MAX])
{
	size_t letters = hex ? 6 : sizeof(lower) - 1;

	if (kinds == 0)
		kinds = LOWER | DIGIT;
	ret[0] = '\0';
	if ((kinds & LOWER) != 0)
		add(ret, lower, letters);
	if ((kinds & UPPER) != 0)
		add(ret, upper, letters);
	if ((kinds & DIGIT) != 0)
		add(ret, digit, sizeof(digit) - 1);
	if ((kinds & SYMBOL) != 0)
		add(ret, symbol, sizeof(symbol) - 1);
}

static uint8_t
draw_of(struct draw *d, const char *alphabet)
{
	return (uint8_t)alphabet[draw_below(d, (uint32_t)strlen(alphabet))];
}

/* The bytes of a valid character that is not ASCII, or 0. */
static size_t
high_len(const uint8_t *at, size_t left)
{
	size_t n = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : at[0] >= 0xc2 ? 2 : 0;

	if (n == 0 || at[0] > 0xf4 || n > left)
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((at[i] & 0xc0) != 0x80)
			return 0;
	return n;
}

/* Another character of as many bytes: Latin, Chinese, an emoji. */
static void
draw_high(struct draw *d, uint8_t *at, size_t n)
{
	static const uint8_t first[][3] = {
	    [2] = {0xc3}, [3] = {0xe4}, [4] = {0xf0, 0x9f, 0x98}};

	memcpy(at, first[n], n - 1 < 3 ? n - 1 : 3);
	if (n == 3)
		at[1] = (uint8_t)(0xb8 + draw_below(d, 8));
	at[n - 1] = (uint8_t)(0x80 + draw_below(d, n == 2 ? 55 : 64));
}

/* Draws all bytes, or all but separators; the number of drawn ones. */
static size_t
draw_all(struct draw *d, uint8_t *text, size_t len, const char *alphabet, bool whole)
{
	size_t n = 0, high;

	for (size_t i = 0; i < len; i++) {
		if (!whole && is_separator(text[i]))
			continue;
		high = high_len(text + i, len - i);
		if (high > 1) {
			draw_high(d, text + i, high);
			i += high - 1;
			n += high;
			continue;
		}
		text[i] = draw_of(d, alphabet);
		n++;
	}
	return n;
}

/* Only what a token of this format (NULL: any) may have. */
static void
keep(char alphabet[ALPHABET_MAX], const struct token_format *format)
{
	size_t n = 0;

	for (size_t i = 0; format != NULL && alphabet[i] != '\0'; i++)
		if (token_format_has(format, alphabet[i]))
			alphabet[n++] = alphabet[i];
	if (n > 0)
		alphabet[n] = '\0';
}

static void
opaque(struct draw *d, uint8_t *text, size_t len, const struct token_format *format,
    bool whole)
{
	char alphabet[ALPHABET_MAX];
	size_t n, drawn = 0, left;
	unsigned int kinds = kinds_of(text, len, &n), ascii = kinds & ~(unsigned int)HIGH;

	/* a text that is mostly separators has its secret in them */
	whole |= n < (len + 1) / 2;
	/* four symbols alone are too few */
	alphabet_of(ascii == SYMBOL ? SYMBOL | LOWER | DIGIT : ascii,
	    is_hex(text, len, kinds, n), alphabet);
	keep(alphabet, format);
	for (int i = 0; i < TRIES; i++) {
		drawn = draw_all(d, text, len, alphabet, whole);
		if ((kinds_of(text, len, &left) & ascii) == ascii)
			break;
	}
	/* a number has no leading zero */
	if (kinds == DIGIT && len > 1 && text[0] == '0')
		text[0] = (uint8_t)('1' + draw_below(d, 9));
	d->replaced += drawn;
}

void
leaf_whole(struct draw *d, uint8_t *text, size_t len)
{
	opaque(d, text, len, NULL, true);
}

void
leaf_digits(struct draw *d, uint8_t *text, size_t len)
{
	size_t zero = len > 0 && text[0] == '0'; /* it stays */

	for (size_t i = zero; i < len; i++)
		text[i] = (uint8_t)('0' + draw_below(d, 10));
	if (zero == 0 && len > 0)
		text[0] = (uint8_t)('1' + draw_below(d, 9));
	d->replaced += len - zero;
}

void
leaf_base64(struct draw *d, uint8_t *text, size_t len)
{
	while (len > 0 && text[len - 1] == '=')
		len--;
	for (size_t i = 0; i < len; i++)
		text[i] = draw_of(d, base64);
	d->replaced += len;
}

/* ---- tokens ------------------------------------------------------------------------- */

static bool
has_all(const struct token_format *format, const uint8_t *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!token_format_has(format, (char)text[i]))
			return false;
	return true;
}

/* The format with the longest prefix of this text, or NULL. */
static const struct token_format *
format_of(const uint8_t *text, size_t len)
{
	const struct token_format *all, *found = NULL;
	size_t n, longest = 0;

	all = token_formats(&n);
	for (size_t i = 0; i < n; i++) {
		size_t prefix = strlen(all[i].prefix);

		if (prefix <= longest || len < prefix + all[i].min ||
		    memcmp(text, all[i].prefix, prefix) != 0 ||
		    !has_all(&all[i], text + prefix, len - prefix))
			continue;
		found = &all[i];
		longest = prefix;
	}
	return found;
}

static bool
token(struct draw *d, uint8_t *text, size_t len)
{
	const struct token_format *format = format_of(text, len);
	size_t prefix;

	if (format == NULL)
		return false;
	prefix = strlen(format->prefix);
	opaque(d, text + prefix, len - prefix, format, false);
	if (format->sum == TOKEN_CRC32_BASE62)
		shape_sum_put(text + prefix, len - prefix);
	return true;
}

/* ---- URLs ----------------------------------------------------------------------------- */

/* NAME.TLD, an IPv4 address or localhost, with or without a port. */
static bool
is_host(const uint8_t *text, size_t len)
{
	const uint8_t *colon = memchr(text, ':', len);
	size_t label = 0, dots = 0;

	if (colon != NULL) {
		size_t port = len - (size_t)(colon + 1 - text);

		for (size_t i = 0; i < port; i++)
			if (!isdigit(colon[1 + i]))
				return false;
		if (port == 0 || port > 5)
			return false;
		len = (size_t)(colon - text);
	}
	for (size_t i = 0; i < len; i++) {
		if (text[i] != '.' && text[i] != '-' && !isalnum(text[i]))
			return false;
		dots += text[i] == '.';
		label = text[i] == '.' ? 0 : label + 1;
		if (label > LABEL_MAX)
			return false;
	}
	return (len == 9 && memcmp(text, "localhost", 9) == 0) || (dots > 0 && label > 0);
}

/* The parts between these marks. */
static void
parts(struct draw *d, uint8_t *text, size_t len, const char *marks)
{
	for (size_t from = 0, i = 0; i <= len; i++) {
		if (i < len && (text[i] == '\0' || strchr(marks, text[i]) == NULL))
			continue;
		opaque(d, text + from, i - from, NULL, false);
		from = i + 1;
	}
}

static bool
url(struct draw *d, uint8_t *text, size_t len)
{
	uint8_t *at = memmem(text, len, "://", 3), *user, *host, *end;

	if (at == NULL || at == text)
		return false;
	for (uint8_t *c = text; c < at; c++)
		if (!isalpha(*c) && *c != '+' && *c != '-' && *c != '.')
			return false;
	user = host = at + 3;
	for (end = host; end < text + len && strchr("/?#", *end) == NULL;)
		end++;
	at = memrchr(user, '@', (size_t)(end - user));
	if (at != NULL)
		host = at + 1;
	if (!is_host(host, (size_t)(end - host)))
		return false;
	if (at != NULL)
		parts(d, user, (size_t)(at - user), ":");
	parts(d, end, (size_t)(text + len - end), "/?#&=;");
	return true;
}

void
leaf(struct draw *d, uint8_t *text, size_t len)
{
	if (len > 0 && !token(d, text, len) && !url(d, text, len))
		opaque(d, text, len, NULL, false);
}

/* ---- without a value ------------------------------------------------------------------ */

size_t
placeholder_unread(const struct placeholder *p, const struct token_format *format,
    uint8_t ret[PLACEHOLDER_LEN_MAX])
{
	size_t prefix = 0, n = UNREAD_LEN;
	char alphabet[ALPHABET_MAX];
	struct draw d;

	draw_begin(&d, p);
	alphabet_of(LOWER | UPPER | DIGIT, false, alphabet);
	if (format != NULL) {
		prefix = strlen(format->prefix);
		n = n < format->min ? format->min : n > format->max ? format->max : n;
		memcpy(ret, format->prefix, prefix);
		keep(alphabet, format);
	}
	for (size_t i = 0; i < n; i++)
		ret[prefix + i] = draw_of(&d, alphabet);
	if (format != NULL && format->sum == TOKEN_CRC32_BASE62)
		shape_sum_put(ret + prefix, n);
	return prefix + n;
}
