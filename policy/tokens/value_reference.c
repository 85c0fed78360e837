/*
 * The forms of references (value_reference.h). Which of them a client fills in is a
 * question of its own: supervisor/import/client_syntax.h.
 */
#include "policy/tokens/value_reference.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "shim/base/array.h"

#define SCHEME_WORD_MAX 8 /* Bearer, Basic, Token */

#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
#define DIGITS  "0123456789"

/* ---- variables, files, inputs ----------------------------------------------------- */

static size_t
name_len(const char *p)
{
	return isdigit((unsigned char)*p) ? 0 : strspn(p, LETTERS DIGITS "_");
}

/* What is in ${...} or {...}: a kind and a colon, as in env:X. */
static const struct {
	const char *prefix;
	enum value_reference is;
	bool bare; /* without the dollar too: OpenCode */
} kinds[] = {
    {"env:", VALUE_VARIABLE, true},
    {"file:", VALUE_FILE, true},
    {"input:", VALUE_INPUT, false},
    {"command:", VALUE_INPUT, false},
    {"config:", VALUE_INPUT, false},
    {"prompt:", VALUE_INPUT, false},
};

/* The bytes of a reference in braces at p, and its kind; 0: none. */
static size_t
braced(
    const char *p, enum value_reference *ret, const char **ret_default, size_t *ret_len)
{
	bool dollar = *p == '$';
	const char *in = p + dollar + 1, *end;

	if (p[dollar] != '{' || (end = strchr(in, '}')) == NULL || end == in)
		return 0;
	*ret_default = NULL;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if (strncmp(in, kinds[i].prefix, strlen(kinds[i].prefix)) != 0)
			continue;
		*ret = kinds[i].is;
		return dollar || kinds[i].bare ? (size_t)(end + 1 - p) : 0;
	}
	if (!dollar)
		return 0;
	in += name_len(in);
	/* ${workspaceFolder:name} of VS Code, ${X:-d}, ${X-d} of shells */
	if (in == p + 2 || (*in != '}' && *in != ':' && *in != '-'))
		return 0;
	if (*in != '}') {
		*ret_default = in + 1 + (in[0] == ':' && in[1] == '-');
		*ret_len = (size_t)(end - *ret_default);
	}
	*ret = islower((unsigned char)p[2]) ? VALUE_INPUT : VALUE_VARIABLE;
	return (size_t)(end + 1 - p);
}

/* {{ x }}, $(x), %X%, $X at p: the bytes, or 0. */
static size_t
unbraced(const char *p, enum value_reference *ret)
{
	const char *end = NULL;
	size_t n;

	*ret = VALUE_TEMPLATE;
	if (strncmp(p, "{{", 2) == 0 && (end = strstr(p + 2, "}}")) != NULL)
		return (size_t)(end + 2 - p);
	if (strncmp(p, "$(", 2) == 0 && (end = strchr(p, ')')) != NULL)
		return (size_t)(end + 1 - p);
	*ret = VALUE_VARIABLE;
	n = *p == '%' || *p == '$' ? name_len(p + 1) : 0;
	if (n == 0 || (*p == '%' && p[n + 1] != '%'))
		return 0;
	return n + 1 + (*p == '%');
}

/* ---- secret managers --------------------------------------------------------------- */

static bool
is_manager(const char *value)
{
	static const char *const scheme[] = {"op://", "bw://", "bws://", "vault://",
	    "vault:", "keychain://", "keychain:", "keyring://", "keyring:", "aws-sm://",
	    "aws-ssm://", "gcp-sm://", "azure-kv://", "doppler://", "infisical://",
	    "keepass://", "pass://", "arn:aws:secretsmanager:"};

	for (size_t i = 0; i < ARRAY_LEN(scheme); i++) {
		size_t n = strlen(scheme[i]);

		if (strncmp(value, scheme[i], n) == 0)
			return value[n] != '\0' &&
			       value[n + strspn(value + n,
					     LETTERS DIGITS " _./#:-?=&")] == '\0';
	}
	return false;
}

/* ---- what a person has still to write ---------------------------------------------- */

static bool
ends_with(const char *value, const char *end)
{
	size_t n = strlen(value), k = strlen(end);

	return n >= k && strcasecmp(value + n - k, end) == 0;
}

/* xxx, ***, ..., after a prefix such as sk- */
static bool
is_crossed_out(const char *value)
{
	const char *at = strrchr(value, '-');
	size_t n;

	at = at == NULL ? value : at + 1;
	n = strlen(at);
	return n >= 3 && strchr("xX*.", *at) != NULL && strspn(at, (char[]){*at, 0}) == n;
}

static bool
is_placeholder(const char *value)
{
	static const char *const begin[] = {"YOUR_", "YOUR-", "YOUR ", "REPLACE_",
	    "REPLACE-", "REPLACE ", "INSERT_", "INSERT-", "ENTER_", "ADD_YOUR", "<YOUR"};
	static const char *const whole[] = {
	    "changeme", "change-me", "change_me", "TODO", "placeholder"};
	size_t n = strlen(value);

	if (n > 2 && value[0] == '<' && value[n - 1] == '>')
		return strspn(value + 1, LETTERS DIGITS " _-./") == n - 2;
	for (size_t i = 0; i < ARRAY_LEN(begin); i++)
		if (strncasecmp(value, begin[i], strlen(begin[i])) == 0 &&
		    value[strspn(value, LETTERS " _-<>")] == '\0')
			return true;
	for (size_t i = 0; i < ARRAY_LEN(whole); i++)
		if (strcasecmp(value, whole[i]) == 0)
			return true;
	return is_crossed_out(value) || ends_with(value, "_HERE") ||
	       ends_with(value, "-HERE");
}

/* ---- all ---------------------------------------------------------------------------- */

/* After a word such as Bearer, which is no part of the value. */
static const char *
after_scheme(const char *value)
{
	size_t n = strspn(value, LETTERS);

	return n > 0 && n <= SCHEME_WORD_MAX && value[n] == ' ' ? value + n + 1 : value;
}

static enum value_reference
whole(const char *value, const char **ret_default, size_t *ret_len)
{
	enum value_reference is = VALUE_PLAIN;
	size_t n = braced(value, &is, ret_default, ret_len);

	if (n == 0)
		n = unbraced(value, &is);
	if (n > 0)
		return value[n] == '\0' ? is : VALUE_PLAIN;
	if (is_manager(value))
		return VALUE_MANAGER;
	return is_placeholder(value) ? VALUE_PLACEHOLDER : VALUE_PLAIN;
}

enum value_reference
value_reference(const char *value, const char **ret_default, size_t *ret_len)
{
	const char *text = NULL;
	enum value_reference is;
	size_t len = 0;

	is = whole(value, &text, &len);
	if (is == VALUE_PLAIN)
		is = whole(after_scheme(value), &text, &len);
	if (ret_default != NULL) {
		*ret_default = is == VALUE_PLAIN ? NULL : text;
		*ret_len = len;
	}
	return is;
}

bool
value_has_reference(const char *value)
{
	enum value_reference is;
	const char *text;
	size_t len;

	for (const char *p = value; *p != '\0'; p++) {
		if (braced(p, &is, &text, &len) > 0)
			return true;
		/* a dollar, or a per cent, is a common byte of other texts */
		if (unbraced(p, &is) > 0 && (is == VALUE_TEMPLATE || p == value))
			return true;
	}
	return false;
}
