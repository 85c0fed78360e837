/*
 * Texts that look like a secret (secret_shaped.h).
 */
#include "policy/tokens/secret_shaped.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "policy/tokens/secret_name.h"
#include "policy/tokens/token_format.h"
#include "policy/tokens/value_reference.h"
#include "shim/base/array.h"

#define RUN_MIN      32 /* characters of base64 or hex */
#define SEGMENT_MIN  20 /* of a path, with digits and both cases */
#define NUMBER_MAX   15 /* digits: more are no quantity */
#define NAME_MAX_LEN 128
#define DEFAULT_MAX  256  /* bytes of a default in a reference */
#define URL_MAX      4096 /* bytes that are looked at */

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

/* ---- parameters --------------------------------------------------------------------- */

/* user:password@ after ://; in a URL of HTTP, a user alone is a token. */
static bool
has_password(const char *text)
{
	for (const char *p = text; (p = strstr(p, "://")) != NULL;) {
		bool http = (p - text >= 4 && strncasecmp(p - 4, "http", 4) == 0) ||
			    (p - text >= 5 && strncasecmp(p - 5, "https", 5) == 0);
		size_t len = strcspn(p += 3, "/?# \t\r\n\"'");
		const char *at = memrchr(p, '@', len), *colon;

		if (at == NULL || at == p)
			continue;
		colon = memchr(p, ':', (size_t)(at - p));
		if (colon == NULL ? http && *p != '$' : colon + 1 < at)
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

/* ---- URLs and paths ----------------------------------------------------------------- */

/* The bytes of the scheme, with its "://"; 0: this is no URL. */
static size_t
scheme_len(const char *text)
{
	size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				"0123456789+.-");

	return n > 0 && strncmp(text + n, "://", 3) == 0 ? n + 3 : 0;
}

/* A segment of a path that is long and mixed, as no name that people give. What has a dot or
 * an @ is a file or a revision. */
static bool
is_token_segment(const char *p, size_t len)
{
	bool lower = false, upper = false, digit = false, mark = false;

	for (size_t i = 0; i < len; i++) {
		if (!is_token_byte(p[i]) || p[i] == '.')
			return false;
		lower |= islower((unsigned char)p[i]) != 0;
		upper |= isupper((unsigned char)p[i]) != 0;
		digit |= isdigit((unsigned char)p[i]) != 0;
		mark |= !isalnum((unsigned char)p[i]);
	}
	if (is_known(p, len) || (len >= SEGMENT_MIN && lower && upper && digit))
		return true;
	return len >= RUN_MIN && !mark && digit;
}

static bool
has_token_segment(const char *path)
{
	size_t len;

	for (const char *p = path; *p != '\0'; p += len + (p[len] != '\0')) {
		len = strcspn(p, "/?&=#;");
		if (is_token_segment(p, len))
			return true;
	}
	return false;
}

/* After the host of a URL. */
static const char *
after_host(const char *url)
{
	url += scheme_len(url);
	return url + strcspn(url, "/?#");
}

/* ---- the form of a value ------------------------------------------------------------ */

static bool
is_number(const char *value)
{
	static const char *const unit[] = {"", "%", "ms", "s", "m", "h", "d", "k", "K",
	    "M", "G", "kB", "KB", "MB", "GB"};
	const char *p = value + (*value == '-' || *value == '+');
	size_t n = strspn(p, "0123456789.,_:");

	if (!isdigit((unsigned char)*p) || n > NUMBER_MAX)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(unit); i++)
		if (strcmp(p + n, unit[i]) == 0)
			return true;
	return false;
}

static bool
is_switch(const char *value)
{
	static const char *const word[] = {"true", "false", "yes", "no", "on", "off",
	    "null", "none", "enabled", "disabled"};

	for (size_t i = 0; i < ARRAY_LEN(word); i++)
		if (strcasecmp(value, word[i]) == 0)
			return true;
	return false;
}

/* Base64 may begin with a slash, too: no mark of a name, and all three kinds of bytes. */
static bool
is_base64(const char *value)
{
	bool lower = false, upper = false, digit = false;
	size_t n = strlen(value);

	for (const char *p = value; *p != '\0'; p++) {
		if (!isalnum((unsigned char)*p) && strchr("+/=", *p) == NULL)
			return false;
		lower |= islower((unsigned char)*p) != 0;
		upper |= isupper((unsigned char)*p) != 0;
		digit |= isdigit((unsigned char)*p) != 0;
	}
	return n >= SEGMENT_MIN && lower && upper && digit;
}

static bool
is_path(const char *value)
{
	static const char *const begin[] = {"/", "./", "../", "~/"};

	for (size_t i = 0; i < ARRAY_LEN(begin); i++)
		if (strncmp(value, begin[i], strlen(begin[i])) == 0)
			return !has_token_segment(value) && !is_base64(value);
	return false;
}

static bool
is_open_url(const char *value)
{
	size_t n = scheme_len(value);

	if (n == 0 || memchr(value + n, '@', strcspn(value + n, "/?#")) != NULL)
		return false;
	return !has_query(value) && !has_token_segment(after_host(value));
}

/* ---- values with a name --------------------------------------------------------------- */

/* Is it filled in later, as ${NAME} is? Not with a secret for the case that it is not. */
static bool
is_reference(const char *value)
{
	char text[DEFAULT_MAX + 1];
	const char *given;
	size_t len;

	if (value_reference(value, &given, &len) == VALUE_PLAIN)
		return false;
	if (given == NULL || len == 0)
		return true;
	if (len > DEFAULT_MAX)
		return false;
	(void)memcpy(text, given, len);
	text[len] = '\0';
	return is_number(text) || is_switch(text) || is_path(text) || is_open_url(text) ||
	       value_reference(text, NULL, NULL) != VALUE_PLAIN;
}

static bool
is_named_secret(const char *name, size_t len, const char *value)
{
	enum secret_name is = secret_name(name, len);

	if (is == SECRET_NAME_NONE || *value == '\0' || is_reference(value))
		return false;
	if (is == SECRET_NAME_SURE)
		return true;
	return !is_number(value) && !is_switch(value) && !is_path(value) &&
	       !is_open_url(value);
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

		if (n > 0) {
			const char *value = p + n + 1;

			if (p == text)
				value += strspn(value, " \t");
			else if (n + 1 >= end)
				value = "";
			if (is_named_secret(p, n, value))
				return true;
		}
		p += end;
		p += strspn(p, " \t\r\n");
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

/* A URL whose path or query has a token, as those of webhooks do. */
static bool
has_token_url(const char *text)
{
	for (const char *p = text; *p != '\0'; p += strcspn(p, " \t\r\n")) {
		char word[URL_MAX + 1];
		size_t len;

		p += strspn(p, " \t\r\n");
		len = strcspn(p, " \t\r\n");
		if (len > URL_MAX)
			continue;
		(void)memcpy(word, p, len);
		word[len] = '\0';
		if (scheme_len(word) > 0 && has_token_segment(after_host(word)))
			return true;
	}
	return false;
}

bool
secret_shaped(const char *text)
{
	return has_known(text) || has_password(text) || has_query(text) ||
	       has_named_value(text) || has_token_url(text) || has_long_run(text);
}

bool
secret_shaped_name(const char *name)
{
	return secret_name(name, strlen(name)) != SECRET_NAME_NONE;
}

bool
secret_shaped_value(const char *name, const char *value)
{
	return is_named_secret(name, strlen(name), value) || secret_shaped(value);
}

int
secret_shaped_args(const char *const *arg, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const char *before = i > 0 ? arg[i - 1] : "";

		/* --token VALUE; the value of --token=VALUE is in the same word */
		if (before[0] == '-' && strchr(before, '=') == NULL && arg[i][0] != '-' &&
		    is_named_secret(before, strlen(before), arg[i]))
			return (int)i;
		if (secret_shaped(arg[i]))
			return (int)i;
	}
	return -1;
}
