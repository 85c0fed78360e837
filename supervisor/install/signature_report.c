/*
 * Reads the report of `npm audit signatures --json`. The registry's answers decide what is
 * in it, so only what npm itself says without an answer of the registry's excuses packages
 * that are not verified.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "shim/base/array.h"
#include "shim/base/log.h"
#include "supervisor/install/installer.h"
#include "supervisor/json/json.h"

#define REASON_MAX 200

/* Does the report list packages under this key? */
static bool
lists(struct json report, const char *key)
{
	struct json list, none, item;
	struct json_walk walk;
	int r = json_get(report, key, &list);

	/* twice, or no list: what it has is unknown */
	if (r < 0 || list.type != JSON_IS_ARRAY)
		return r != -ENOENT;
	json_walk(&walk, list);
	return json_next(&walk, &none, &item);
}

/* A text of npm's report of an error: "" if it is missing, "?" if it is too long. */
static void
text_of(struct json error, const char *key, char ret[REASON_MAX])
{
	struct json value = {.len = 0};
	size_t len;

	ret[0] = '\0';
	if (json_get(error, key, &value) != -ENOENT && value.type != JSON_IS_NULL &&
	    json_text(value, ret, REASON_MAX, &len) < 0)
		memcpy(ret, "?", 2);
}

static bool
is_one_of(const char *text, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(text, list[i]) == 0)
			return true;
	return false;
}

/* npm's own words, an error without a code: the registry has no keys, and its packages
 * no signatures. */
static bool
has_no_keys(const char *code, const char *summary)
{
	static const char *const said[] = {
	    "found no dependencies to audit that were installed from a supported "
	    "registry",
	    "found no installed dependencies to audit",
	};

	return code[0] == '\0' && is_one_of(summary, said, ARRAY_LEN(said));
}

/* The host of the keys does not answer. An error of the registry, which has just sent the
 * package, is none of these. */
static bool
has_no_host(const char *code, const char *summary)
{
	static const char *const network[] = {"EAI_AGAIN", "EAI_FAIL", "EAI_NODATA",
	    "ECONNREFUSED", "ECONNRESET", "EHOSTUNREACH", "ENETUNREACH", "ENOTFOUND",
	    "ETIMEDOUT"};
	static const char request[] = "request to https://" KEYS_NAME "/";

	return is_one_of(code, network, ARRAY_LEN(network)) &&
	       strncmp(summary, request, sizeof(request) - 1) == 0;
}

/* The report is between lines of kennel's own, on denials in the cell. */
static int
scan(const char *output, struct json_message *ret)
{
	const char *at = output, *end = output == NULL ? NULL : strrchr(output, '}');

	if (end != NULL && *at != '{') {
		at = strstr(output, "\n{");
		if (at != NULL)
			at++;
	}
	if (end == NULL || at == NULL || end < at)
		return -EINVAL;
	return json_scan((const uint8_t *)at, (size_t)(end + 1 - at), ret);
}

enum signatures
signatures_of(int status, const char *output, char ret_why[256])
{
	char code[REASON_MAX], summary[REASON_MAX], shown[REASON_MAX];
	struct json_message m;
	struct json error;

	if (status == 0)
		return SIGNATURES_VERIFIED;
	if (scan(output, &m) < 0) {
		(void)snprintf(ret_why, 256,
		    "npm gave no report on signatures (it exited with %d)",
		    status); /* fits */
		return SIGNATURES_WRONG;
	}
	(void)snprintf(
	    ret_why, 256, "a signature of the registry is invalid or missing"); /* fits */
	if (lists(m.root, "invalid") || lists(m.root, "missing") ||
	    json_get(m.root, "error", &error) < 0)
		return SIGNATURES_WRONG;
	text_of(error, "code", code);
	text_of(error, "summary", summary);
	(void)log_quote(shown, sizeof(shown), summary, strcspn(summary, "\n"));
	(void)snprintf(ret_why, 256, "npm verified none: %s", shown); /* fits */
	return has_no_keys(code, summary) || has_no_host(code, summary)
		   ? SIGNATURES_SKIPPED
		   : SIGNATURES_WRONG;
}
