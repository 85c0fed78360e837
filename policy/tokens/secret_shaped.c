/*
 * Texts that look like a secret (secret_shaped.h).
 */
#include "policy/tokens/secret_shaped.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "policy/tokens/token_format.h"
#include "shim/base/array.h"

#define RUN_MIN      32 /* characters of base64 or hex */
#define NAME_MAX_LEN 128

/* What a token of any format consists of. */
static bool
is_token_byte(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

/* ---- known formats ---------------------------------------------------------------- */

/* Formats of kinds that no manifest can name: a prefix, and how many bytes follow. */
static const struct {
	const char *prefix;
	size_t min;
} more[] = {
    {"ghu_", 36},
    {"ghr_", 36},
    {"xoxa-", 20},
    {"rk_live_", 24},
    {"ASIA", 16},
    {"shpat_", 32},
    {"AGE-SECRET-KEY-1", 58},
    {"pypi-AgEI", 20},
};

/* header.payload.signature, the first two JSON objects in base64url. */
static bool
is_jwt(const char *run, size_t len)
{
	const char *dot = memchr(run, '.', len);

	if (len < 20 || strncmp(run, "eyJ", 3) != 0 || dot == NULL ||
	    strncmp(dot + 1, "ey", 2) != 0)
		return false;
	return memchr(dot + 1, '.', len - (size_t)(dot + 1 - run)) != NULL;
}

static bool
begins(const char *run, size_t len, const char *prefix, size_t min)
{
	return len >= strlen(prefix) + min && strncmp(run, prefix, strlen(prefix)) == 0;
}

/* Does a token begin at run, which has len bytes that a token may have? A wrong checksum
 * makes it no safer: it may be a real token with a typing error. */
static bool
is_known(const char *run, size_t len)
{
	const struct token_format *format;
	size_t n;

	/* the end of a sentence is no part of it */
	while (len > 0 && (run[len - 1] == '.' || run[len - 1] == '-'))
		len--;
	format = token_formats(&n);
	for (size_t i = 0; i < n; i++)
		if (begins(run, len, format[i].prefix, format[i].min))
			return true;
	for (size_t i = 0; i < ARRAY_LEN(more); i++)
		if (begins(run, len, more[i].prefix, more[i].min))
			return true;
	return is_jwt(run, len);
}

static bool
has_known(const char *text)
{
	size_t len;

	if (strstr(text, "-----BEGIN ") != NULL && strstr(text, "PRIVATE KEY") != NULL)
		return true;
	for (const char *p = text; *p != '\0'; p += len) {
		for (len = 0; is_token_byte(p[len]);)
			len++;
		/* a token may also follow a separator: prefix_ghp_..., x-ghp_... */
		for (size_t at = 0; at < len; at++)
			if ((at == 0 || !isalnum((unsigned char)p[at - 1])) &&
			    is_known(p + at, len - at))
				return true;
		len += len == 0;
	}
	return false;
}

/* ---- names -------------------------------------------------------------------------- */

/* AUTHOR, but not AUTHORIZATION: as in GIT_AUTHOR_NAME. */
static bool
is_author(const char *at, size_t len)
{
	return len >= 6 && strncasecmp(at, "AUTHOR", 6) == 0 &&
	       (len == 6 || strncasecmp(at + 6, "I", 1) != 0);
}

/* Is it, in any case, one of the parts that make a name the name of a secret? */
static bool
is_secret_name(const char *name, size_t len)
{
	static const char *const part[] = {
	    "TOKEN", "SECRET", "KEY", "PASS", "CREDENTIAL", "AUTH"};

	for (size_t i = 0; i < ARRAY_LEN(part); i++) {
		size_t n = strlen(part[i]);

		for (size_t at = 0; at + n <= len; at++)
			if (strncasecmp(name + at, part[i], n) == 0 &&
			    !is_author(name + at, len - at))
				return true;
	}
	return false;
}

/* ${NAME} or $NAME: it names a value and is none. A word such as "Bearer " may precede. */
static bool
is_variable(const char *value)
{
	const char *at = strrchr(value, ' ');
	size_t n;

	at = at == NULL ? value : at + 1;
	if ((size_t)(at - value) > strlen("Bearer ") || *at++ != '$')
		return false;
	if (*at != '{')
		return *at != '\0' && !isdigit((unsigned char)*at) &&
		       at[strspn(at, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789")] == '\0';
	n = strspn(
	    at + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_:0123456789");
	return n > 0 && strcmp(at + 1 + n, "}") == 0;
}

/* The length of NAME at the start of NAME=VALUE or NAME:VALUE, or 0. */
static size_t
name_len(const char *word)
{
	size_t n = 0;

	while (is_token_byte(word[n]))
		n++;
	/* "https://" is no value of a name */
	if (n == 0 || n > NAME_MAX_LEN || (word[n] != '=' && word[n] != ':') ||
	    strncmp(word + n, "://", 3) == 0)
		return 0;
	return n;
}

/* NAME=VALUE in one word, or "NAME: VALUE" as a whole text. */
static bool
has_named_value(const char *text)
{
	for (const char *p = text; *p != '\0';) {
		size_t n = name_len(p), end = strcspn(p, " \t\r\n");

		if (n > 0 && is_secret_name(p, n)) {
			const char *value = p + n + 1;

			if (p == text)
				value += strspn(value, " \t");
			else if (n + 1 >= end)
				value = "";
			if (*value != '\0' && !is_variable(value))
				return true;
		}
		p += end;
		p += strspn(p, " \t\r\n");
	}
	return false;
}

/* ---- URLs --------------------------------------------------------------------------- */

/* user:password@ after :// */
static bool
has_password(const char *text)
{
	for (const char *p = text; (p = strstr(p, "://")) != NULL;) {
		size_t len = strcspn(p += 3, "/?# \t\r\n\"'");
		const char *at = memrchr(p, '@', len), *colon;

		if (at == NULL)
			continue;
		colon = memchr(p, ':', (size_t)(at - p));
		if (colon != NULL && colon + 1 < at)
			return true;
	}
	return false;
}

static bool
is_secret_parameter(const char *name, size_t len)
{
	static const char *const part[] = {
	    "token", "secret", "passw", "credential", "signature"};
	static const char *const end[] = {"key", "sig", "auth", "pass"};

	for (size_t i = 0; i < ARRAY_LEN(part); i++)
		for (size_t at = 0; at + strlen(part[i]) <= len; at++)
			if (strncasecmp(name + at, part[i], strlen(part[i])) == 0)
				return true;
	for (size_t i = 0; i < ARRAY_LEN(end); i++)
		if (len >= strlen(end[i]) &&
		    strncasecmp(name + len - strlen(end[i]), end[i], strlen(end[i])) == 0)
			return true;
	return false;
}

/* ?key=value&... or #key=value in a URL */
static bool
has_query(const char *text)
{
	const char *p = strstr(text, "://");

	if (p == NULL)
		return false;
	while ((p = strpbrk(p, "?&;#")) != NULL) {
		size_t len = strcspn(++p, "=&;# \t\r\n");

		if (p[len] == '=' && strchr("&;# \t\r\n", p[len + 1]) == NULL &&
		    is_secret_parameter(p, len) && p[len + 1] != '$')
			return true;
	}
	return false;
}

/* ---- long runs ------------------------------------------------------------------------ */

/* Base64url and ordinary names in kebab case share an alphabet: only a run that mixes
 * cases and digits counts with `-` and `_`. */
static bool
is_random(const char *run, size_t len)
{
	bool lower = false, upper = false, digit = false, mark = false;

	for (size_t i = 0; i < len; i++) {
		lower |= islower((unsigned char)run[i]) != 0;
		upper |= isupper((unsigned char)run[i]) != 0;
		digit |= isdigit((unsigned char)run[i]) != 0;
		mark |= run[i] == '-' || run[i] == '_';
	}
	return !mark || (lower && upper && digit);
}

static bool
is_in_run(char c, const char *marks)
{
	return isalnum((unsigned char)c) || (c != '\0' && strchr(marks, c) != NULL);
}

static bool
has_run(const char *word, size_t len, const char *marks)
{
	size_t n;

	for (size_t at = 0; at < len; at += n + 1) {
		for (n = 0; at + n < len && is_in_run(word[at + n], marks);)
			n++;
		if (n >= RUN_MIN && is_random(word + at, n))
			return true;
	}
	return false;
}

static bool
has_long_run(const char *text)
{
	for (const char *p = text + strspn(text, " \t\r\n"); *p != '\0';) {
		size_t len = strcspn(p, " \t\r\n");

		if (memchr(p, '/', len) == NULL && memchr(p, '.', len) == NULL &&
		    (has_run(p, len, "+=") || has_run(p, len, "+-_")))
			return true;
		p += len;
		p += strspn(p, " \t\r\n");
	}
	return false;
}

/* ---- all ------------------------------------------------------------------------------ */

bool
secret_shaped(const char *text)
{
	return has_known(text) || has_password(text) || has_query(text) ||
	       has_named_value(text) || has_long_run(text);
}

bool
secret_shaped_value(const char *name, const char *value)
{
	if (is_secret_name(name, strlen(name)) && *value != '\0' && !is_variable(value))
		return true;
	return secret_shaped(value);
}

int
secret_shaped_args(const char *const *arg, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const char *before = i > 0 ? arg[i - 1] : "";

		/* --token VALUE; the value of --token=VALUE is in the same word */
		if (before[0] == '-' && strchr(before, '=') == NULL && arg[i][0] != '-' &&
		    arg[i][0] != '\0' && is_secret_name(before, strlen(before)) &&
		    !is_variable(arg[i]))
			return (int)i;
		if (secret_shaped(arg[i]))
			return (int)i;
	}
	return -1;
}
